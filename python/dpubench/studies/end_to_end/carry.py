"""Runs a plan of study ``end-to-end`` in a new run directory, or resumes an interrupted run, and tells how it went."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import __version__, inputs, network, schemas, targets
from dpubench.catalog import check_given
from dpubench.cli import print_json
from dpubench.errors import Interrupted, NothingRan, PlanError, TargetLost, UserError, nearest
from dpubench.plans.load import Where, plan_text, read_plan
from dpubench.plans.quantities import spoken
from dpubench.run import console as telling
from dpubench.run.progress import listener
from dpubench.run.record import check_same_machine, gone_on_with, inputs_again, new_name, now_utc
from dpubench.storage.runs import RunDirectory
from dpubench.studies import Request
from dpubench.studies.end_to_end import calibrate, catalog, ceiling, links, possible, selection, trials
from dpubench.studies.end_to_end.catalog import DatapathCatalog
from dpubench.studies.end_to_end.execute import ATTEMPTS, RESERVE, Run
from dpubench.studies.end_to_end.expand import Configuration, Expansion, expand, link_end, max_frame
from dpubench.studies.end_to_end.pair import Setting
from dpubench.studies.end_to_end.plan import Plan
from dpubench.studies.end_to_end.trials import TrialsWriter
from dpubench.targets import Target
from dpubench.workers.process import StopRequest

#: Guesses in seconds for estimates before the run: the start of a pair of programs, and the overhead of a trial.
_START_S: Final = 2.0
_TRIAL_OVERHEAD_S: Final = 0.1
#: Approximate number of trials of a search.
_SEARCH_TRIALS: Final = 22


def run(plan: Plan, where: Where, request: Request) -> int:
    """Run ``plan`` in a new run directory, and return the exit status. @raises UserError"""
    if unknown := [k for k in plan.inputs if k not in inputs.KINDS]:
        raise PlanError(where.source, [where.problem(f"unknown kind '{k}'{nearest(k, inputs.KINDS)}", "inputs", k) for k in unknown])
    with contextlib.ExitStack() as opened:
        server, device = _opened(plan, where, opened)
        known = catalog.read(server)
        expansion = expand(plan, known, len(server.cpus()), where)
        possible.settle(plan, expansion, where, lambda combinations: catalog.check(server, combinations))
        _without_links(plan, expansion, remote=not device.spec.startswith("local"))
        of_traffic = _inputs_of_traffic(plan)
        kinds = expansion.inputs | of_traffic
        resolved = inputs.resolve(kinds, plan.inputs)
        inputs.refuse_unread(request.inputs, kinds)
        check_given(resolved)
        for kind, missing in resolved.missing.items():
            if kind in of_traffic:
                raise UserError(f"traffic: {missing.reason}")
            for configuration in expansion.configurations:
                if kind in configuration.inputs:
                    configuration.unavailable = configuration.unavailable or missing.reason
        if not any(not c.unavailable for c in expansion.configurations):
            raise NothingRan(f"nothing that was asked for can run here: {expansion.configurations[0].unavailable}")
        if request.dry_run:
            _dry_run(plan, expansion, as_json=request.as_json)
            return 0
        name = request.name or new_name(plan)
        with StopRequest() as stop, TrialsWriter.create(request.results, name, exact=bool(request.name)) as writer:
            record = new_record(writer.path.name, plan, expansion, known, server, {k: i.record() for k, i in resolved.inputs.items()})
            writer.write_plan(plan_text(plan))
            writer.write_record(record)
            writer.mark_latest()
            return _carry_out(writer, plan, record, (server, device), resolved.for_job(), stop, as_json=request.as_json)


def resume(found: RunDirectory, request: Request) -> int:
    """Resume the interrupted run ``found``, and return the exit status. @raises UserError it is complete, or cannot be resumed"""
    with StopRequest() as stop, contextlib.ExitStack() as opened:
        writer = opened.enter_context(TrialsWriter(found.path))
        record = gone_on_with(writer)
        files = inputs_again(writer, record)
        plan, lines = read_plan(writer.plan_file)
        assert isinstance(plan, Plan)  # the run belongs to this study
        with stop.at_once():
            server, device = _opened(plan, Where(str(writer.plan_file), lines), opened)
            check_same_machine(writer, record, catalog.read(server).hello)
        writer.settle()
        return _carry_out(writer, plan, record, (server, device), files.for_job(), stop, as_json=request.as_json)


def _opened(plan: Plan, where: Where, opened: contextlib.ExitStack) -> tuple[Target, Target]:
    """Return (target of client and server, target of the device), both open until ``opened`` closes. @raises UserError, PlanError"""
    if len(plan.target) > 1:
        raise PlanError(where.source, [where.problem("a run of study end-to-end has one target, and its `device` is another", "target")])
    server = targets.find(plan.target[0])
    if not server.spec.startswith("local"):
        raise PlanError(where.source, [where.problem(f"the client runs here: give {server.name} as `device` (--set device={server.name})", "target")])
    device = server if plan.device == plan.target[0] else targets.find(plan.device)
    for target in dict.fromkeys((server, device)):
        if target.times_mean_nothing:
            raise PlanError(where.source, [where.problem(f"{target.name} is {target.label}: packets are not sent through it", "device")])
        if reason := target.unavailable():
            raise UserError(f"target {target.name}: {reason}")
        opened.callback(target.close)
        target.open()
    if "all-device" in plan.placements and device.name == server.name:
        text = "all-device needs a device that is not the host: --set device=TARGET (`dpubench list targets`)"
        raise PlanError(where.source, [where.problem(text, "placements")])
    if len(server.cpus()) < 2:
        raise UserError(f"target {server.name}: a client and a server need a CPU each, and it has {len(server.cpus())}")
    return server, device


def _inputs_of_traffic(plan: Plan) -> set[str]:
    """Return the kinds of input from which the client makes its frames."""
    traffic = plan.traffic
    if traffic.source == "capture":
        return {"capture"}
    return ({traffic.payload.source} & {"capture", "corpus"}) | ({"rules"} if traffic.payload.signature_share > 0 else set())


def _without_links(plan: Plan, expansion: Expansion, *, remote: bool) -> None:
    """Mark the configurations that no link can reach as unavailable."""
    for configuration in expansion.configurations:
        end = link_end(configuration.placement)
        arguments = links.arguments_of(plan.port_arguments.get(configuration.port, {}), end)
        elsewhere = remote and configuration.placement == "all-device"
        reason = links.unavailable(configuration.port, arguments, end, remote=elsewhere, max_frame=max_frame(plan, configuration))
        if remote and configuration.placement == "split":
            reason = reason or "the parts of a split are joined by memif, which ends at this machine: --set device=local"
        configuration.unavailable = configuration.unavailable or reason


def new_record(name: str, plan: Plan, expansion: Expansion, known: DatapathCatalog, target: Target, files: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``run.json`` of a run that has not measured anything yet."""
    record: dict[str, Any] = {
        "schema": schemas.RUN, "name": name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": shlex.join(["dpubench", *sys.argv[1:]]), "version": __version__, "precision_target": plan.precision, "seed": plan.seed,
        "target": target.name, "target_info": {"spec": target.spec, "label": target.label}, "spent_s": 0.0, "machine": known.hello["machine"],
        "build": known.hello["build"], "builds": {}, "inputs": dict(files),
        "workloads": {w: known.workload(w) for w in dict.fromkeys(c.workload for c in expansion.configurations)},
        "ports": {p: known.port(p) for p in dict.fromkeys(c.port for c in expansion.configurations)},
        "configurations": [c.record() for c in expansion.configurations],
        "loads": {frame: [load.record() for load in loads] for frame, loads in expansion.loads.items()}, "points": [], "rounds": [],
        "selection": {"chosen": {}}, "failures": [], "warnings": [], "left_out": list(expansion.left_out),
    }  # fmt: skip
    for configuration in expansion.configurations:
        for load in expansion.loads[configuration.frame]:
            point = f"{configuration.id}/{load.name}"
            record["points"].append({"id": point, "configuration": configuration.id, "unavailable": configuration.unavailable, "failure": ""})
        if configuration.unavailable:
            _tell_unavailable(record, configuration.id, configuration.unavailable, named=bool(configuration.named))
    return record


def _tell_unavailable(record: dict[str, Any], configuration: str, reason: str, *, named: bool) -> None:
    """Record that a configuration cannot run: as a failure if the plan names one of its engines, else as left out."""
    if named:
        record["failures"].append({"phase": "prepare", "message": f"was asked for and cannot run here: {reason}", "group": configuration})
    else:
        record["left_out"].append(f"{configuration}: {reason}")


def _carry_out(
    writer: TrialsWriter, plan: Plan, record: dict[str, Any], places: tuple[Target, Target], files: Mapping[str, Sequence[str]], stop: StopRequest,
    *, as_json: bool,
) -> int:  # fmt: skip
    """Execute the run, tell how it went, and return its exit status."""
    from dpubench.studies.end_to_end.study import STUDY
    from dpubench.studies.end_to_end.summary import summaries
    from dpubench.studies.end_to_end.tell import summary

    server, device = places
    with listener(as_json) as display:
        for what in network.sweep():
            display.note(f"removed what a run that was killed had left: {what}")
        huge_pages = {target.name: _huge_pages(plan, target) for target in (server, device)}
        setting = Setting(server, server, device, stop, display, huge_pages, files, plan.seed)
        work = Run(writer, plan, setting, record, trials.read(writer.path))
        try:
            status = work.execute()
        except (Interrupted, TargetLost) as error:
            kept = f"{len(trials.read(writer.path))} trials are kept in {writer.path}"
            raise type(error)(f"{error}; {kept}; {telling.going_on(writer.path)}") from None
    analysed = summaries(writer.path)
    report = telling.write_report(STUDY, analysed, writer.path)
    event = telling.summary_event(writer.path, report, int(status), len(record["failures"]), len(analysed[0].points))
    telling.conclude(display, writer.path, event, summary(analysed[0], record, writer.path, report))
    return int(status)


def _huge_pages(plan: Plan, target: Target) -> bool:
    """Return whether programs on ``target`` use huge pages. If the plan leaves it open, they do if there are enough for all of them."""
    if plan.memory.huge_pages != "auto":
        return plan.memory.huge_pages == "yes"
    programs = 3 if "split" in plan.placements else 2
    if target.spec.startswith("local"):
        return _free_huge_bytes() >= programs * plan.memory.mb << 20
    free = sum(int(pages["bytes"]) * int(pages["free"]) for pages in target.describe()["huge_pages"])
    return free >= plan.memory.mb << 20  # only a server runs there


def _free_huge_bytes() -> int:
    """Return the free bytes in huge pages of this machine's default size."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    values = {k: int(v.split()[0]) for k, _, v in (line.partition(":") for line in lines) if v.split()}
    return values.get("HugePages_Free", 0) * values.get("Hugepagesize", 0) << 10


def estimate_s(plan: Plan, expansion: Expansion, attempts: int = 1) -> float:
    """Return the estimated seconds of one round if each trial takes so many ``attempts``. It needs no measurement."""
    trial_s = plan.trial.ramp + plan.trial.drain + _TRIAL_OVERHEAD_S
    total = 0.0
    for configuration in measured_of(expansion):
        loads = expansion.loads[configuration.frame]
        rates = sum(load.kind not in ("NDR", "PDR") for load in loads)
        total += _START_S + attempts * rates * (trial_s + plan.trial.duration)
        if rates < len(loads):
            total += min(plan.search.limit, attempts * _SEARCH_TRIALS * (trial_s + plan.search.last_trial))
    return total


def measured_of(expansion: Expansion) -> list[Configuration]:
    """Return the configurations of a round. While the best engines are not known yet, the default ones stand for them."""
    choices = selection.candidates_of(expansion.configurations)
    dropped = {c.id for candidates in choices for found in list(candidates.values())[1:] for c in found}
    return [c for c in expansion.configurations if not c.unavailable and c.id not in dropped]


def _dry_run(plan: Plan, expansion: Expansion, *, as_json: bool) -> None:
    points = sum(len(expansion.loads[c.frame]) for c in measured_of(expansion))
    round_s = estimate_s(plan, expansion)
    calibrated = ceiling.wanted(plan, measured_of(expansion), expansion.loads) if plan.calibration.processes else {}
    first_s = calibrate.estimate_s(plan, calibrated, _START_S, _TRIAL_OVERHEAD_S)
    rounds = max(min(int((plan.budget * (1 - RESERVE) - first_s) / round_s), plan.rounds.max), 1) if round_s > 0 else plan.rounds.min
    if as_json:
        rows = [c.record() for c in expansion.configurations]
        loads = {f: [load.record() for load in found] for f, found in expansion.loads.items()}
        calibration = {"links": len(calibrated), "processes": plan.calibration.processes, "seconds": round(first_s)}
        told = {"configurations": rows, "loads": loads, "points": points, "calibration": calibration}
        print_json({**told, "seconds": round(first_s + rounds * round_s), "left_out": expansion.left_out})
        return
    print(f"{plan.study}, plan {plan.plan}: {plan.summary}".rstrip(": "))
    kept = {c.id for c in measured_of(expansion)}
    for configuration in expansion.configurations:
        if configuration.unavailable:
            print(f"  {configuration.id}: cannot run here: {configuration.unavailable}")
        elif configuration.id in kept:
            print(f"  {configuration.id}: {', '.join(load.name for load in expansion.loads[configuration.frame])}")
    if choices := selection.candidates_of(expansion.configurations):
        numbers = " and ".join(str(len(candidates)) for candidates in choices)
        share = f"{100 * selection.SHARE:g} % of the budget"
        print(f"short floods choose between {numbers} sets of engines, in at most {share}; the default ones stand for them above")
    if calibrated:
        print(calibrate.dry_run_text(plan, calibrated, first_s))
    for line in expansion.left_out:
        print(f"left out: {line}")
    most_s = estimate_s(plan, expansion, ATTEMPTS)
    spoiled = f"up to {spoken(most_s)} where the machine stalls and trials are tried again, {ATTEMPTS} times at most"
    print(f"{points} points, about {spoken(round_s)} a round, {spoiled}; {rounds} rounds (budget {spoken(plan.budget)})")
