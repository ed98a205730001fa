"""What a plan of study ``end-to-end`` comes to on its target, and what an interrupted run needs to continue."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpubench import network
from dpubench.errors import UserError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.plans.quantities import spoken
from dpubench.run import record as records
from dpubench.run import session
from dpubench.run.listener import Listener
from dpubench.run.record import Head, TargetInfo, check_same_machine
from dpubench.run.work import Budget
from dpubench.studies import Request
from dpubench.studies.end_to_end import calibrate, catalog, ceiling, links, places, possible, selection, trials
from dpubench.studies.end_to_end.catalog import DatapathCatalog
from dpubench.studies.end_to_end.execute import ATTEMPTS, RESERVE, Run
from dpubench.studies.end_to_end.expand import Configuration, Expansion, expand, link_end, max_frame
from dpubench.studies.end_to_end.places import Places, of_target
from dpubench.studies.end_to_end.plan import Plan, Rate
from dpubench.studies.end_to_end.session import Setting
from dpubench.studies.end_to_end.trials import TrialsWriter
from dpubench.targets import Target, machine
from dpubench.workers.process import StopRequest

WRITER: Final = TrialsWriter
#: Guesses in seconds for estimates before the run: the start of a session, and the overhead of a trial.
_START_S: Final = 2.0
_TRIAL_OVERHEAD_S: Final = 0.1
#: The load on an emulated machine for a plan that only searches: what comes to every link of one, and takes a moment.
_EMULATED_RATE: Final = Rate("100pps")
#: Approximate number of trials of a search.
_SEARCH_TRIALS: Final = 22


class Draft(session.Draft):
    """A plan on its targets, or an interrupted run there."""

    writer = TrialsWriter
    reserve = RESERVE
    plan: Plan

    def __init__(self, plan: Plan, places: Places, known: DatapathCatalog, expansion: Expansion) -> None:
        """Describe a run of ``expansion`` on ``places``. ``plan`` has one target, that of the server."""
        self.plan, self.expansion, self._known, self._places = plan, expansion, known, places
        self.target = _info(places.server, places.emulated)
        self._of_traffic = _inputs_of_traffic(plan)

    @property
    def inputs(self) -> set[str]:
        return self.expansion.inputs | self._of_traffic

    def lack(self, kind: str, reason: str) -> None:
        if kind in self._of_traffic:
            raise UserError(f"traffic: {reason}")
        for configuration in self.expansion.configurations:
            if kind in configuration.inputs:
                configuration.unavailable = configuration.unavailable or reason

    def why_nothing(self) -> str:
        if any(not c.unavailable for c in self.expansion.configurations):
            return ""
        return f"nothing that was asked for can run here: {self.expansion.configurations[0].unavailable}"

    def record(self, head: Head) -> dict[str, Any]:
        known, expansion = self._known, self.expansion
        record = records.new_record(head, self.plan, self.target, known.hello, expansion.left_out) | {
            "workloads": {w: known.workload(w) for w in dict.fromkeys(c.workload for c in expansion.configurations)},
            "ports": {p: known.port(p) for p in dict.fromkeys(c.port for c in expansion.configurations)},
            "configurations": [c.record() for c in expansion.configurations],
            "loads": {frame: [load.record() for load in loads] for frame, loads in expansion.loads.items()}, "points": [],
            "selection": {"chosen": {}},
        }  # fmt: skip
        if self._places.client is not self._places.server:
            record["client"] = {"name": self._places.client.name, **_info(self._places.client, None).record()}
        for configuration in expansion.configurations:
            for load in expansion.loads[configuration.frame]:
                point = f"{configuration.id}/{load.name}"
                record["points"].append({"id": point, "configuration": configuration.id, "unavailable": configuration.unavailable, "failure": ""})
            if configuration.unavailable:
                _tell_unavailable(record, configuration.id, configuration.unavailable, named=bool(configuration.named))
        return record

    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        check_same_machine(path, record, self._known.hello)

    def work(self, writer: TrialsWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget) -> Run:
        for what in network.sweep():
            display.note(f"removed leftovers of a killed run: {what}")
        found = self._places
        huge_pages = {target.name: _huge_pages(self.plan, found, target) for target in (found.client, found.server, found.device)}
        setting = Setting(found, stop, display, huge_pages, files.for_job(), self.plan.seed)
        return Run(writer, self.plan, setting, record, budget, trials.read(writer.path))

    def described(self) -> dict[str, Any]:
        points, calibrated, first_s, round_s, rounds = self._estimate()
        rows = [c.record() for c in self.expansion.configurations]
        loads = {f: [load.record() for load in found] for f, found in self.expansion.loads.items()}
        calibration = {"links": len(calibrated), "processes": self.plan.calibration.processes, "seconds": round(first_s)}
        told = {"configurations": rows, "loads": loads, "points": points, "calibration": calibration}
        return {**told, "seconds": round(first_s + rounds * round_s), "left_out": self.expansion.left_out}

    def lines(self) -> list[str]:
        plan, expansion, lines = self.plan, self.expansion, []
        points, calibrated, first_s, round_s, rounds = self._estimate()
        kept = {c.id for c in measured_of(expansion)}
        for configuration in expansion.configurations:
            if configuration.unavailable:
                lines.append(f"  {configuration.id}: cannot run here: {configuration.unavailable}")
            elif configuration.id in kept:
                lines.append(f"  {configuration.id}: {', '.join(load.name for load in expansion.loads[configuration.frame])}")
        if choices := selection.candidates_of(expansion.configurations):
            numbers = " and ".join(str(len(candidates)) for candidates in choices)
            share = f"{100 * selection.SHARE:g} % of the budget"
            lines.append(f"short floods choose between {numbers} sets of engines, in at most {share}; the list above shows the default ones")
        lines += [calibrate.dry_run_text(plan, calibrated, first_s)] if calibrated else []
        lines += [f"left out: {line}" for line in expansion.left_out]
        most_s = estimate_s(plan, expansion, ATTEMPTS)
        spoiled = f"up to {spoken(most_s)} if the machine stalls and trials are tried again, {ATTEMPTS} times at most"
        return [*lines, f"{points} points, about {spoken(round_s)} a round, {spoiled}; {rounds} rounds (budget {spoken(plan.budget)})"]

    def _estimate(self) -> tuple[int, dict[str, Any], float, float, int]:
        """Return (points, links to calibrate, seconds for that, seconds of a round, rounds)."""
        plan, expansion = self.plan, self.expansion
        points = sum(len(expansion.loads[c.frame]) for c in measured_of(expansion))
        round_s = estimate_s(plan, expansion)
        calibrated = ceiling.wanted(plan, measured_of(expansion), expansion.loads) if plan.calibration.processes else {}
        first_s = calibrate.estimate_s(plan, calibrated, _START_S, _TRIAL_OVERHEAD_S)
        rounds = max(min(int((plan.budget * (1 - RESERVE) - first_s) / round_s), plan.rounds.max), 1) if round_s > 0 else plan.rounds.min
        return points, calibrated, first_s, round_s, rounds


def drafts(plan: Plan, where: Where, request: Request, opened: contextlib.ExitStack) -> list[session.Draft]:
    """Return what ``plan`` comes to on each of its targets. They stay open until ``opened`` closes. @raises UserError"""
    return [_draft(of_target(plan, found.server.name), found, where, several=len(plan.target) > 1) for found in places.opened(plan, where, opened)]


def _draft(plan: Plan, found: Places, where: Where, *, several: bool) -> Draft:
    plan, told = _without_rates(plan) if found.emulated is not None else (plan, [])
    known = catalog.read(found.server)
    expansion = expand(plan, known, len(found.server.cpus()), where, client_is_apart=found.client_is_apart)
    possible.settle(plan, expansion, where, lambda combinations: catalog.check(found.server, combinations))
    _without_links(plan, expansion, found, several=several)
    expansion.left_out += told
    return Draft(plan, found, known, expansion)


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: contextlib.ExitStack) -> Draft:
    """Return what is needed to continue the run of ``record``. Its targets stay open until ``opened`` closes. @raises UserError"""
    (found,) = places.opened(plan, where, opened)
    return Draft(plan, found, catalog.read(found.server), Expansion([], {}, []))


def _info(target: Target, emulated: Target | None) -> TargetInfo:
    """Return what a record says of ``target``; times mean nothing if it or another one at work is ``emulated``."""
    return TargetInfo(target.name, target.spec, target.label if emulated is None else emulated.label, emulated is not None)


def _without_rates(plan: Plan) -> tuple[Plan, list[str]]:
    """Return ``plan`` for an emulated target, where the highest rate means nothing, and what is left out of it, as sentences."""
    told = [f"the search for {' and '.join(plan.search.goals)}: a rate found on an emulated machine means nothing"] if plan.search.goals else []
    rates = plan.rates if plan.rates or plan.intervals else [_EMULATED_RATE]
    more = {
        "rates": rates, "search": plan.search.model_copy(update={"goals": []}), "calibration": plan.calibration.model_copy(update={"processes": 0}),
    }  # fmt: skip
    return plan.model_copy(update=more), told


def _inputs_of_traffic(plan: Plan) -> set[str]:
    """Return the kinds of input from which the client makes its frames."""
    traffic = plan.traffic
    if traffic.source == "capture":
        return {"capture"}
    return ({traffic.payload.source} & {"capture", "corpus"}) | ({"rules"} if traffic.payload.signature_share > 0 else set())


def _without_links(plan: Plan, expansion: Expansion, found: Places, *, several: bool) -> None:
    """Mark the configurations that no link can reach as unavailable. ``several``: whether the plan names several targets."""
    for configuration in expansion.configurations:
        end, servers = link_end(configuration.placement), found.of_servers(configuration.placement)
        arguments = links.arguments_of(plan.port_arguments.get(configuration.port, {}), end, plan.target[0])
        elsewhere = "" if found.client.is_here and servers[0].is_here else "cannot reach another machine"
        if elsewhere and machine(found.client) == machine(servers[0]):
            elsewhere = f"is made on this machine, but client and server are on {servers[0].name}"
        key = plan.target[0] if several and end == "all-host" else end
        reason = links.unavailable(configuration.port, arguments, key, elsewhere=elsewhere, max_frame=max_frame(plan, configuration),
                                   is_tap=found.tap(configuration.placement) is not None)  # fmt: skip
        if not all(server.is_here for server in servers) and configuration.placement == "split":
            reason = reason or "memif joins the parts of a split, and only on this machine: --target local, --set device=local"
        configuration.unavailable = configuration.unavailable or reason


def _tell_unavailable(record: dict[str, Any], configuration: str, reason: str, *, named: bool) -> None:
    """Record that a configuration cannot run: as a failure if the plan names one of its engines, else as left out."""
    if named:
        record["failures"].append({"phase": "prepare", "message": f"was asked for and cannot run here: {reason}", "group": configuration})
    else:
        record["left_out"].append(f"{configuration}: {reason}")


def _huge_pages(plan: Plan, found: Places, target: Target) -> bool:
    """Return whether programs on ``target`` use huge pages. If the plan leaves it open, they do if there are enough for all of them."""
    if plan.memory.huge_pages != "auto":
        return plan.memory.huge_pages == "yes"
    needed = found.programs_on(target, list(plan.placements)) * plan.memory.mb << 20
    if target.is_here:
        return _free_huge_bytes() >= needed
    return sum(int(pages["bytes"]) * int(pages["free"]) for pages in target.describe()["huge_pages"]) >= needed


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
