"""Code shared by new and resumed runs of simulations: checks, the head of ``run.json``, the execution and its summary."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpubench import __version__, inputs, schemas
from dpubench.errors import Interrupted, OtherThingError, PlanError, UserError, nearest
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.plans.model import StudyPlan
from dpubench.run import console as telling
from dpubench.run.progress import Lines, listener
from dpubench.run.record import anyway, now_utc
from dpubench.simulation import simulator
from dpubench.simulation.models import LABEL
from dpubench.studies import Study
from dpubench.studies.modelled.execute import SimulatedRun
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.modelled.plan import MODEL_PREFIX, SimulatedPlan
from dpubench.studies.modelled.use import Use
from dpubench.targets.local import LocalTarget
from dpubench.workers.ask import ask
from dpubench.workers.checks import parse_cores_event
from dpubench.workers.process import WorkerFault

#: Time limit of a question to the simulator, in seconds.
_LIST_LIMIT_S = 30.0


def check_kinds(plan: SimulatedPlan, where: Where) -> None:
    """Check that the plan gives inputs of known kinds only. @raises PlanError"""
    if unknown := [k for k in plan.inputs if k not in inputs.KINDS]:
        raise PlanError(where.source, [where.problem(f"unknown kind '{k}'{nearest(k, inputs.KINDS)}", "inputs", k) for k in unknown])


def marked(use: Use, missing: Mapping[str, str]) -> Use:
    """Return ``use``, marked unavailable if it reads a kind of input that is ``missing`` (kind: reason)."""
    reason = next((missing[kind] for kind in use.inputs if kind in missing), "")
    return replace(use, unavailable=use.unavailable or reason)


def check_same(writer: OutcomesWriter, record: Mapping[str, Any], now: Mapping[str, str], files: Resolved) -> None:
    """Check that new outcomes fit to the run's earlier ones. ``now``: the digest of each simulation's processor. @raises OtherThingError"""
    anew = anyway(writer.path, record)
    if {entry["id"]: entry["processor_digest"] for entry in record["configurations"]} != now:
        raise OtherThingError(f"{writer.path}: this version makes other processors of the plan's models than the run began with: {anew}")
    for kind, entry in record["inputs"].items():
        if kind in files.inputs and files.inputs[kind].sha256 != entry["sha256"]:
            raise OtherThingError(f"{writer.path}: input {kind} is another than the run began with: put it back, or {anew}")


def record_head(
    name: str, plan: StudyPlan, files: Resolved, left_out: Sequence[str], hello: Mapping[str, Any] | None = None, label: str = LABEL
) -> dict[str, Any]:  # fmt: skip
    """Return the head of ``run.json`` for a run that has not simulated anything yet.

    ``hello``: the greeting of the program at work, by default the simulator's.
    """
    hello = simulator_hello() if hello is None else hello
    target = plan.target[0] if len(plan.target) == 1 else MODEL_PREFIX + ",".join(t.removeprefix(MODEL_PREFIX) for t in plan.target)
    return {
        "schema": schemas.RUN, "name": name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": shlex.join(["dpubench", *sys.argv[1:]]), "version": __version__, "precision_target": plan.precision, "seed": plan.seed,
        "target": target, "target_info": {"spec": target, "label": label}, "spent_s": 0.0, "machine": hello["machine"], "build": hello["build"],
        "builds": {}, "inputs": {kind: given.record() for kind, given in files.inputs.items()}, "rounds": [], "failures": [], "warnings": [],
        "left_out": list(left_out),
    }  # fmt: skip


def simulator_hello() -> dict[str, Any]:
    """Return the simulator's ``hello`` event. @raises UserError when the simulator is not there or does not answer"""
    program = simulator.program()
    try:
        events = ask(LocalTarget(), str(program), ["--list"], silence_s=_LIST_LIMIT_S, limit_s=_LIST_LIMIT_S, parse=parse_cores_event)
    except WorkerFault as fault:
        raise UserError(f"{program}: does not say what it is: {fault.reason}") from None
    return next(event for event in events if event["event"] == "hello")


def carry_out(
    make: Callable[[Lines], SimulatedRun], study: Study, summary: Callable[[Any, dict[str, Any], Path, Path | None], list[str]], *, as_json: bool
) -> int:
    """Execute the run that ``make`` returns for a display, write its report and print the outcome; return its exit status.

    @raises as the run's ``execute``
    """
    with listener(as_json) as display:
        work = make(display)
        path, record = work.writer.path, work.record
        try:
            status = work.execute()
        except Interrupted as error:
            kept = f"{len(work.outcomes)} of {len(work.names)} {work.what} are kept in {path}"
            raise Interrupted(f"{error}; {kept}; {telling.going_on(path, record.get('setting'))}") from None
    (analysed,) = study.summaries(path)
    report = telling.write_report(study, [analysed], path)
    event = telling.summary_event(path, report, int(status), len(record["failures"]), len(analysed.points))
    telling.conclude(display, path, event, summary(analysed, record, path, report))
    return int(status)
