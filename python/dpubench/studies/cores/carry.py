"""Runs a plan of study ``cores`` in a new run directory, goes on with one that was interrupted, and tells how it went."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpubench import __version__, inputs, schemas
from dpubench.cli import print_json
from dpubench.cores import simulator
from dpubench.cores.kernels import ArmPrograms
from dpubench.cores.models import LABEL, Model
from dpubench.errors import Interrupted, NothingRan, PlanError, UserError, nearest
from dpubench.inputs import Resolved
from dpubench.plans.load import Where, plan_text, read_plan
from dpubench.progress import JsonEvents, listener
from dpubench.results.store import RunDirectory
from dpubench.runner import telling
from dpubench.runner.record import gone_on_with, new_name, now_utc
from dpubench.studies import Request
from dpubench.studies.cores.execute import Run
from dpubench.studies.cores.expand import Expansion, expand
from dpubench.studies.cores.outcomes import OutcomesWriter
from dpubench.studies.cores.plan import MODEL_PREFIX, Plan
from dpubench.studies.cores.use import Use
from dpubench.targets.local import LocalTarget
from dpubench.workers.ask import ask
from dpubench.workers.checks import parse_cores_event
from dpubench.workers.process import StopRequest, WorkerFault

#: Of a question to the simulator.
_LIST_LIMIT_S = 30.0


def run(plan: Plan, where: Where, request: Request) -> int:
    """A new run of ``plan``; the exit status. @raises UserError"""
    if unknown := [k for k in plan.inputs if k not in inputs.KINDS]:
        raise PlanError(where.source, [where.problem(f"unknown kind '{k}'{nearest(k, inputs.KINDS)}", "inputs", k) for k in unknown])
    with StopRequest() as stop:
        with stop.at_once():
            arm = ArmPrograms.found()
            expansion = expand(plan, arm.catalog()["catalog"]["operators"], where)
            resolved = inputs.resolve(expansion.inputs, plan.inputs)
        _without_inputs(expansion, {kind: missing.reason for kind, missing in resolved.missing.items()})
        for kind in sorted(set(request.inputs) - expansion.inputs):
            print(f"dpubench: --input {kind}: no chosen kernel reads it: it changes nothing in this run", file=sys.stderr)
        if all(use.unavailable for use in expansion.uses.values()):
            raise NothingRan(f"nothing that was asked for can be traced: {next(iter(expansion.uses.values())).unavailable}")
        if request.dry_run:
            _dry_run(plan, expansion, as_json=request.as_json)
            return 0
        name = request.name or new_name(plan)
        with OutcomesWriter.create(request.results, name, exact=bool(request.name)) as writer:
            record = new_record(writer.path.name, plan, expansion, resolved)
            writer.write_plan(plan_text(plan))
            writer.write_record(record)
            writer.mark_latest()
            return _carry_out(writer, plan, expansion, record, resolved, arm, stop, as_json=request.as_json)


def resume(found: RunDirectory, request: Request) -> int:
    """Goes on with the interrupted run ``found``; the exit status. @raises UserError it is complete, or cannot be gone on with"""
    with StopRequest() as stop, OutcomesWriter(found.path) as writer:
        record, _ = gone_on_with(writer)
        plan, lines = read_plan(writer.plan_file)
        assert isinstance(plan, Plan)  # of a run of this study
        with stop.at_once():
            arm = ArmPrograms.found()
            expansion = expand(plan, arm.catalog()["catalog"]["operators"], Where(str(writer.plan_file), lines))
            resolved = inputs.resolve(expansion.inputs, plan.inputs)
        _without_inputs(expansion, {kind: missing.reason for kind, missing in resolved.missing.items()})
        _check_same(writer, record, expansion, resolved)
        writer.settle()
        return _carry_out(writer, plan, expansion, record, resolved, arm, stop, as_json=request.as_json)


def _without_inputs(expansion: Expansion, missing: Mapping[str, str]) -> None:
    """Marks what reads an input that is not there."""

    def marked(use: Use) -> Use:
        reason = next((missing[kind] for kind in use.inputs if kind in missing), "")
        return replace(use, unavailable=use.unavailable or reason)

    expansion.uses = {name: marked(use) for name, use in expansion.uses.items()}
    expansion.comparisons = [replace(w, use=None if w.use is None else marked(w.use)) for w in expansion.comparisons]


def _check_same(writer: OutcomesWriter, record: Mapping[str, Any], expansion: Expansion, files: Resolved) -> None:
    """That outcomes of now and of before belong together. @raises UserError"""
    anew = f"start anew with `dpubench run {writer.plan_file}`"
    before = {entry["id"]: entry["processor_digest"] for entry in record["configurations"]}
    now = {cell.id: cell.record()["processor_digest"] for cell in expansion.cells.values()}
    if before != now:
        raise UserError(f"{writer.path}: this version makes other processors of the plan's models than the run began with: {anew}")
    for kind, entry in record["inputs"].items():
        if kind in files.inputs and files.inputs[kind].sha256 != entry["sha256"]:
            raise UserError(f"{writer.path}: input {kind} is another than the run began with: put it back, or {anew}")


def new_record(name: str, plan: Plan, expansion: Expansion, files: Resolved) -> dict[str, Any]:
    """``run.json`` of a run that has not simulated anything yet."""
    hello = _simulator()
    target = plan.target[0] if len(plan.target) == 1 else MODEL_PREFIX + ",".join(t.removeprefix(MODEL_PREFIX) for t in plan.target)
    return {
        "schema": schemas.RUN, "name": name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": shlex.join(["dpubench", *sys.argv[1:]]), "version": __version__, "precision_target": plan.precision, "seed": plan.seed,
        "target": target, "target_info": {"spec": target, "label": LABEL}, "spent_s": 0.0, "machine": hello["machine"], "build": hello["build"],
        "builds": {}, "inputs": {kind: given.record() for kind, given in files.inputs.items()},
        "models": {model_name: described(model) for model_name, model in expansion.models.items()},
        "kernels": [use.record() for use in expansion.uses.values()], "configurations": [cell.record() for cell in expansion.cells.values()],
        "points": [point.record() for point in expansion.points.values()], "rounds": [], "failures": [], "warnings": [],
        "left_out": list(expansion.left_out),
    }  # fmt: skip


def described(model: Model) -> dict[str, Any]:
    """What a run keeps of a model: all that its page says of it, and the description itself."""
    return {
        "title": model.title, "year": model.year, "architecture": model.architecture, "labels": list(model.labels), "limits": list(model.limits),
        "cores": int(model.processor["organisation"]["cores"]), "clock_mhz": model.clock_mhz, "processor": model.processor,
        "sources": [[s.path, str(s.value), ", ".join(filter(None, (s.reference, s.at)))] for s in model.sources if not s.assumed],
        "assumed": [[s.path, str(s.value), s.assumed] for s in model.assumed],
        "comparisons": [
            [c.what, f"{'at most ' if c.at_most else ''}{c.value:g} {c.unit}", f"{c.source}, {c.at}; {c.machine}", "", ""] for c in model.comparisons
        ],
    }  # fmt: skip


def _simulator() -> dict[str, Any]:
    """What the simulator says of itself. @raises UserError when it is not there or does not answer"""
    program = simulator.program()
    try:
        events = ask(LocalTarget(), str(program), ["--list"], silence_s=_LIST_LIMIT_S, limit_s=_LIST_LIMIT_S, parse=parse_cores_event)
    except WorkerFault as fault:
        raise UserError(f"{program}: does not say what it is: {fault.reason}") from None
    return next(event for event in events if event["event"] == "hello")


def _carry_out(
    writer: OutcomesWriter, plan: Plan, expansion: Expansion, record: dict[str, Any], files: Resolved, arm: ArmPrograms, stop: StopRequest,
    *, as_json: bool,
) -> int:  # fmt: skip
    """Executes the run and tells how it went; its exit status."""
    from dpubench.studies.cores.study import STUDY
    from dpubench.studies.cores.summary import summaries
    from dpubench.studies.cores.tell import summary

    with listener(as_json) as display:
        work = Run(writer, plan, expansion, record, files, arm, stop, display)
        try:
            status = work.execute()
        except Interrupted as error:
            kept = f"{len(work.outcomes)} of {len(expansion.cells)} simulations are kept in {writer.path}"
            raise Interrupted(f"{error}; {kept}; continue with `dpubench resume {telling.named(writer.path)}`") from None
    analysed = summaries(writer.path)
    report = telling.write_report(STUDY, analysed, writer.path)
    if as_json and isinstance(display, JsonEvents):
        display.emit(telling.summary_event(writer.path, report, int(status), len(record["failures"]), len(analysed[0].points)))
    else:
        print("\n".join(summary(analysed[0], record, writer.path, report)))
    return int(status)


def _dry_run(plan: Plan, expansion: Expansion, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "kernels": [use.record() for use in expansion.uses.values()],
                "configurations": [cell.record() for cell in expansion.cells.values()],
                "points": len(expansion.points),
                "left_out": expansion.left_out,
            }
        )
        return
    print(f"{plan.study}, plan {plan.plan}: {plan.summary}".rstrip(": "))
    for use in expansion.uses.values():
        cannot = f": cannot run: {use.unavailable}" if use.unavailable else ""
        print(f"  trace {use.id}: {use.operator}, {use.engine}, {use.messages} messages{cannot}")
    for sweep in plan.sweeps:
        own = [cell for cell in expansion.cells.values() if sweep.name in cell.sweeps]
        print(f"  sweep {sweep.name}: {len(own)} simulations, {sweep.organisation}")
    for line in expansion.left_out:
        print(f"left out: {line}")
    sample = plan.sample
    pieces = f", {sample.measured} of every {sample.every} bursts" if sample.every > 1 else ""
    how = "whole traces" if plan.exact else f"{100 * sample.share:g} % of each trace{pieces}"
    if expansion.comparisons:
        print(f"  {len(expansion.comparisons)} simulations of what was published about the models' processors")
    print(f"{len(expansion.uses)} traces, {len(expansion.cells)} simulations ({how}), {len(expansion.points)} points")
