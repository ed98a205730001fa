"""Runs a plan of study ``coverage`` in a new run directory, and continues an interrupted run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpubench import inputs
from dpubench.catalog import Catalog, check_given
from dpubench.cli import print_json
from dpubench.errors import Exit, NothingRan, PlanError, Problem, UserError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where, plan_text, read_plan
from dpubench.run.progress import Lines
from dpubench.run.record import gone_on_with, new_name
from dpubench.simulation import applications as whole
from dpubench.simulation.kernels import ArmPrograms
from dpubench.storage.runs import RunDirectory
from dpubench.studies import Request
from dpubench.studies.coverage import measure
from dpubench.studies.coverage.execute import Run, extent_of
from dpubench.studies.coverage.expand import Catalogs, Expansion, expand
from dpubench.studies.coverage.plan import LOCAL, NONE, Plan
from dpubench.studies.modelled import carry as shared
from dpubench.studies.modelled import checked
from dpubench.studies.modelled.execute import SimulatedRun
from dpubench.studies.modelled.models import described, load_models
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.workers.process import StopRequest


@dataclass
class Prepared:
    """Everything that a run needs, prepared from its plan."""

    expansion: Expansion
    files: Resolved
    arm: ArmPrograms | None  #: None: this machine is measured
    known: Catalog | None = None  #: catalog of this machine's program if this machine is measured


def run(plan: Plan, where: Where, request: Request) -> int:
    """Make a new run of ``plan``; return its exit status. @raises UserError"""
    shared.check_kinds(plan, where)
    with StopRequest() as stop:
        with stop.at_once():
            made = _prepared(plan, where)
        expansion = made.expansion
        inputs.refuse_unread(request.inputs, expansion.inputs)
        reasons = list(expansion.refused.values())
        if len(reasons) == len(expansion.cells) + len(expansion.unavailable):
            raise NothingRan(f"nothing that was asked for can be traced: {[*reasons, *expansion.left_out, 'the plan names nothing'][0]}")
        if request.dry_run:
            _dry_run(plan, expansion, as_json=request.as_json)
            return Exit.FAILED if reasons else Exit.DONE
        name = request.name or new_name(plan)
        with OutcomesWriter.create(request.results, name, exact=bool(request.name)) as writer:
            record = new_record(writer.path.name, plan, made)
            writer.write_plan(plan_text(plan))
            writer.write_record(record)
            writer.mark_latest()
            return _carry_out(writer, plan, made, record, stop, as_json=request.as_json)


def resume(found: RunDirectory, request: Request) -> int:
    """Continue the interrupted run ``found``; return its exit status. @raises UserError it is complete, or cannot be continued"""
    with StopRequest() as stop, OutcomesWriter(found.path) as writer:
        record = gone_on_with(writer)
        plan, lines = read_plan(writer.plan_file)
        assert isinstance(plan, Plan)  # the run is of this study
        with stop.at_once():
            made = _prepared(plan, Where(str(writer.plan_file), lines))
        shared.check_same(writer, record, {cell.id: cell.record()["processor_digest"] for cell in made.expansion.cells.values()}, made.files)
        writer.settle()
        return _carry_out(writer, plan, made, record, stop, as_json=request.as_json)


def _prepared(plan: Plan, where: Where) -> Prepared:
    """Return the plan's simulations with the available programs, and their inputs. @raises UserError"""
    if plan.target == [LOCAL]:
        known, catalogs = measure.catalogs(plan)
        expansion, files = expand(plan, catalogs, where)
        check_given(files)
        return Prepared(expansion, files, None, known)
    # Check the models first: a misspelt name is reported before programs are compiled.
    if unknown := load_models(plan.target, where, LOCAL)[1]:
        raise PlanError(where.source, unknown)
    arm = ArmPrograms.found()
    expansion, files = expand(plan, catalogs_of(arm, plan), where)
    if problems := refused_by_simulator(plan, expansion, where):
        raise PlanError(where.source, problems)
    check_given(files)
    return Prepared(expansion, files, arm)


def refused_by_simulator(plan: Plan, expansion: Expansion, where: Where) -> list[Problem]:
    """Return the simulator's faults in the processors and extents of ``expansion``, at their places in the plan. @raises as its ``check``"""
    cells = list(expansion.cells.values())
    faults = checked.faults_of([{"processor": cell.processor, "extent": extent_of(cell, plan)} for cell in cells])
    found: dict[tuple[tuple[str, ...], str], None] = {}
    for cell, of_cell in zip(cells, faults, strict=True):
        for fault in of_cell:
            section, _, key = fault.at.partition("/")
            at = ("target",) if section == "processor" else checked.EXTENT.get(key, ("phases",) if key == "instructions" else ())
            found[at, checked.told(cell.processor, fault)] = None
    return [where.problem(what, *at) for at, what in found]


def catalogs_of(arm: ArmPrograms, plan: Plan) -> Catalogs:
    """Return the catalogs of ``arm``. @raises UserError when ``plan`` names something that the programs were built without"""
    found: dict[str, tuple[dict[str, Any], ...]] = {}
    missing = []
    for what, chosen, ask in (("applications", plan.applications, whole.applications), ("workloads", plan.workloads, whole.workloads)):
        try:
            found[what] = ask(arm) if chosen != NONE else ()
        except UserError as error:
            if not isinstance(chosen, str):
                raise
            found[what] = ()
            missing.append(f"all {what}: {error}")
    operators, refusals = arm.catalog()["catalog"]["operators"], partial(whole.refusals, arm=arm)
    return Catalogs(operators, found["applications"], found["workloads"], tuple(missing), arm.check, refusals)


def new_record(name: str, plan: Plan, made: Prepared) -> dict[str, Any]:
    """Return the content of ``run.json`` for a run that has not simulated anything yet."""
    expansion = made.expansion
    points: dict[str, list[str]] = {}
    for cell in expansion.cells.values():
        points.setdefault(cell.point, []).append(cell.id)
    here = (made.known.hello, "") if made.known is not None else ()
    return shared.record_head(name, plan, made.files, expansion.left_out, *here) | {
        "models": {model_name: described(model) for model_name, model in expansion.models.items()},
        "configurations": [cell.record() for cell in expansion.cells.values()],
        "points": [{"id": name, "configurations": cells} for name, cells in points.items()],
    }


def _carry_out(writer: OutcomesWriter, plan: Plan, made: Prepared, record: dict[str, Any], stop: StopRequest, *, as_json: bool) -> int:
    """Execute the run and print the outcome; return its exit status."""
    from dpubench.studies.coverage.study import STUDY
    from dpubench.studies.coverage.tell import summary

    def work(display: Lines) -> SimulatedRun:
        if made.known is not None:
            return measure.MeasuredRun(writer, plan, made.expansion, record, made.files, made.known, stop, display)
        assert made.arm is not None  # either ``known`` or ``arm`` is set
        return Run(writer, plan, made.expansion, record, made.files, made.arm, stop, display)

    return shared.carry_out(work, STUDY, summary, as_json=as_json)


def _dry_run(plan: Plan, expansion: Expansion, *, as_json: bool) -> None:
    if as_json:
        cells = [cell.record() for cell in expansion.cells.values()]
        print_json({"configurations": cells, "unavailable": expansion.refused, "left_out": expansion.left_out})
        return
    print(f"{plan.study}, plan {plan.plan}: {plan.summary}".rstrip(": "))
    for use in expansion.uses:
        cannot = f": cannot run: {use.unavailable}" if use.unavailable else ""
        print(f"  operator {use.id}: {use.operator}, {use.engine}, {use.messages} messages{cannot}")
    wholes = Counter((cell.kind, cell.name) for cell in expansion.cells.values() if cell.kind != "operator")
    for (kind, name), number in wholes.items():
        print(f"  {kind} {name}: {number} input{'s' * (number > 1)}")
    for what, reason in expansion.unavailable.items():
        print(f"  {what}: cannot run: {reason}")
    for line in expansion.left_out:
        print(f"left out: {line}")
    how = "whole traces" if plan.exact else f"{100 * plan.sample.share:g} % of each operator's trace, {plan.phases} phases of each input"
    print(f"{len(expansion.cells)} traces and simulations ({how}), on {', '.join(plan.target)}")
