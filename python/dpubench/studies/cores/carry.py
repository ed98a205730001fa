"""Runs a plan of study ``cores`` in a new run directory, and continues an interrupted run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpubench import inputs
from dpubench.catalog import check_given
from dpubench.cli import print_json
from dpubench.errors import Exit, NothingRan, PlanError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where, plan_text, read_plan
from dpubench.run.record import gone_on_with, new_name
from dpubench.simulation.kernels import ArmPrograms
from dpubench.storage.runs import RunDirectory
from dpubench.studies import Request
from dpubench.studies.cores import refused
from dpubench.studies.cores.execute import Run
from dpubench.studies.cores.expand import Expansion, expand
from dpubench.studies.cores.plan import Plan
from dpubench.studies.modelled import carry as shared
from dpubench.studies.modelled.models import described
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.workers.process import StopRequest


def run(plan: Plan, where: Where, request: Request) -> int:
    """Make a new run of ``plan``; return its exit status. @raises UserError"""
    shared.check_kinds(plan, where)
    with StopRequest() as stop:
        with stop.at_once():
            arm, expansion, resolved = _prepared(plan, where)
        inputs.refuse_unread(request.inputs, expansion.inputs)
        reasons = [use.unavailable for use in expansion.uses.values() if use.unavailable]
        if len(reasons) == len(expansion.uses):
            raise NothingRan(f"nothing that was asked for can be traced: {[*reasons, *expansion.left_out, 'the plan names nothing'][0]}")
        if request.dry_run:
            _dry_run(plan, expansion, as_json=request.as_json)
            return Exit.FAILED if reasons else Exit.DONE
        name = request.name or new_name(plan)
        with OutcomesWriter.create(request.results, name, exact=bool(request.name)) as writer:
            record = new_record(writer.path.name, plan, expansion, resolved)
            writer.write_plan(plan_text(plan))
            writer.write_record(record)
            writer.mark_latest()
            return _carry_out(writer, plan, expansion, record, resolved, arm, stop, as_json=request.as_json)


def resume(found: RunDirectory, request: Request) -> int:
    """Continue the interrupted run ``found``; return its exit status. @raises UserError it is complete, or cannot be continued"""
    with StopRequest() as stop, OutcomesWriter(found.path) as writer:
        record = gone_on_with(writer)
        plan, lines = read_plan(writer.plan_file)
        assert isinstance(plan, Plan)  # the run is of this study
        with stop.at_once():
            arm, expansion, resolved = _prepared(plan, Where(str(writer.plan_file), lines))
        shared.check_same(writer, record, {cell.id: cell.record()["processor_digest"] for cell in expansion.cells.values()}, resolved)
        writer.settle()
        return _carry_out(writer, plan, expansion, record, resolved, arm, stop, as_json=request.as_json)


def _prepared(plan: Plan, where: Where) -> tuple[ArmPrograms, Expansion, Resolved]:
    """Return the programs to trace, the plan's simulations with them, and the available inputs. @raises UserError"""
    arm = ArmPrograms.found()
    expansion = expand(plan, arm.catalog()["catalog"]["operators"], where, arm.check)
    resolved = inputs.resolve(expansion.inputs, plan.inputs)
    if problems := refused.problems_of(plan, expansion, where):
        raise PlanError(where.source, problems)
    check_given(resolved)
    _without_inputs(expansion, {kind: missing.reason for kind, missing in resolved.missing.items()})
    return arm, expansion, resolved


def _without_inputs(expansion: Expansion, missing: Mapping[str, str]) -> None:
    """Mark the uses that read a missing input as unavailable."""
    expansion.uses = {name: shared.marked(use, missing) for name, use in expansion.uses.items()}
    expansion.comparisons = [replace(w, use=None if w.use is None else shared.marked(w.use, missing)) for w in expansion.comparisons]


def new_record(name: str, plan: Plan, expansion: Expansion, files: Resolved) -> dict[str, Any]:
    """Return the content of ``run.json`` for a run that has not simulated anything yet."""
    return shared.record_head(name, plan, files, expansion.left_out) | {
        "models": {model_name: described(model) for model_name, model in expansion.models.items()},
        "kernels": [use.record() for use in expansion.uses.values()], "configurations": [cell.record() for cell in expansion.cells.values()],
        "points": [point.record() for point in expansion.points.values()],
    }  # fmt: skip


def _carry_out(
    writer: OutcomesWriter, plan: Plan, expansion: Expansion, record: dict[str, Any], files: Resolved, arm: ArmPrograms, stop: StopRequest,
    *, as_json: bool,
) -> int:  # fmt: skip
    """Execute the run and print the outcome; return its exit status."""
    from dpubench.studies.cores.study import STUDY
    from dpubench.studies.cores.tell import summary

    return shared.carry_out(
        lambda display: Run(writer, plan, expansion, record, files, arm, stop, display), STUDY, summary, as_json=as_json
    )  # fmt: skip


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
