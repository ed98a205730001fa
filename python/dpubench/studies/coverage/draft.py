"""What a plan of study ``coverage`` comes to: traces and simulations, or measurements of this machine."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from dpubench.catalog import Catalog
from dpubench.errors import PlanError, Problem, UserError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.run import session
from dpubench.run.listener import Listener
from dpubench.run.record import Head
from dpubench.run.work import Budget
from dpubench.simulation import applications as traced_programs
from dpubench.simulation.kernels import ArmPrograms
from dpubench.simulation.models import LABEL
from dpubench.studies import Request
from dpubench.studies.coverage import measure
from dpubench.studies.coverage.execute import Run, extent_of
from dpubench.studies.coverage.expand import Catalogs, Expansion, expand
from dpubench.studies.coverage.plan import LOCAL, NONE, Plan
from dpubench.studies.modelled import checked
from dpubench.studies.modelled.draft import SimulatedDraft, target_of
from dpubench.studies.modelled.execute import SimulatedRun
from dpubench.studies.modelled.models import described, load_models
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.workers.process import StopRequest

WRITER: Final = OutcomesWriter


class Draft(SimulatedDraft):
    """A plan, or an interrupted run of it."""

    plan: Plan

    def __init__(self, plan: Plan, expansion: Expansion, arm: ArmPrograms | None, known: Catalog | None = None) -> None:
        """Describe the simulations of ``expansion``, of traces of ``arm``; without ``arm``, measurements of this machine's program (``known``)."""
        self.plan, self.expansion, self._arm, self._known = plan, expansion, arm, known
        self.target = target_of(plan, LABEL if known is None else "")

    @property
    def inputs(self) -> set[str]:
        return self.expansion.inputs

    @property
    def refused(self) -> bool:
        return bool(self.expansion.refused)

    def lack(self, kind: str, reason: str) -> None:
        """Do nothing: the expansion depends on the files, and has taken out everything that lacks one."""

    def why_nothing(self) -> str:
        expansion, reasons = self.expansion, list(self.expansion.refused.values())
        if len(reasons) < len(expansion.cells) + len(expansion.unavailable):
            return ""
        return f"nothing that was asked for can be traced: {[*reasons, *expansion.left_out, 'the plan names nothing'][0]}"

    def described(self) -> dict[str, Any]:
        cells = [cell.record() for cell in self.expansion.cells.values()]
        return {"configurations": cells, "unavailable": self.expansion.refused, "left_out": self.expansion.left_out}

    def lines(self) -> list[str]:
        plan, expansion, lines = self.plan, self.expansion, []
        for use in expansion.uses:
            cannot = f": cannot run: {use.unavailable}" if use.unavailable else ""
            lines.append(f"  operator {use.id}: {use.operator}, {use.engine}, {use.messages} messages{cannot}")
        wholes = Counter((cell.kind, cell.name) for cell in expansion.cells.values() if cell.kind != "operator")
        lines += [f"  {kind} {name}: {number} input{'s' * (number > 1)}" for (kind, name), number in wholes.items()]
        lines += [f"  {what}: cannot run: {reason}" for what, reason in expansion.unavailable.items()]
        lines += [f"left out: {line}" for line in expansion.left_out]
        how = "whole traces" if plan.exact else f"{100 * plan.sample.share:g} % of each operator's trace, {plan.phases} phases of each input"
        return [*lines, f"{len(expansion.cells)} traces and simulations ({how}), on {', '.join(plan.target)}"]

    def record(self, head: Head) -> dict[str, Any]:
        expansion = self.expansion
        points: dict[str, list[str]] = {}
        for cell in expansion.cells.values():
            points.setdefault(cell.point, []).append(cell.id)
        return self._common_record(head, expansion.left_out, None if self._known is None else self._known.hello) | {
            "models": {model_name: described(model) for model_name, model in expansion.models.items()},
            "configurations": [cell.record() for cell in expansion.cells.values()],
            "points": [{"id": name, "configurations": cells} for name, cells in points.items()],
        }

    def _processors(self) -> dict[str, str]:
        return {cell.id: cell.record()["processor_digest"] for cell in self.expansion.cells.values()}

    def work(
        self, writer: OutcomesWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget
    ) -> SimulatedRun:  # fmt: skip
        if self._known is not None:
            return measure.MeasuredRun(writer, self.plan, self.expansion, record, files, self._known, stop, display, budget)
        assert self._arm is not None  # without it, this machine is measured
        return Run(writer, self.plan, self.expansion, record, files, self._arm, stop, display, budget)


def drafts(plan: Plan, where: Where, request: Request, opened: contextlib.ExitStack) -> list[session.Draft]:
    """Return what ``plan`` comes to. @raises UserError"""
    return [_draft(plan, where)]


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: contextlib.ExitStack) -> Draft:
    """Return what is needed to continue the run of ``record``. @raises UserError"""
    return _draft(plan, where)


def _draft(plan: Plan, where: Where) -> Draft:
    if plan.target == [LOCAL]:
        known, catalogs = measure.catalogs(plan)
        return Draft(plan, expand(plan, catalogs, where)[0], None, known)
    # Check the models first: a misspelt name is reported before programs are compiled.
    if unknown := load_models(plan.target, where, LOCAL)[1]:
        raise PlanError(where.source, unknown)
    arm = ArmPrograms.found()
    expansion, _ = expand(plan, catalogs_of(arm, plan), where)
    if problems := refused_by_simulator(plan, expansion, where):
        raise PlanError(where.source, problems)
    return Draft(plan, expansion, arm)


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
    for what, chosen, ask in (
        ("applications", plan.applications, traced_programs.applications),
        ("workloads", plan.workloads, traced_programs.workloads),
    ):
        try:
            found[what] = ask(arm) if chosen != NONE else ()
        except UserError as error:
            if not isinstance(chosen, str):
                raise
            found[what] = ()
            missing.append(f"all {what}: {error}")
    operators, refusals = arm.catalog()["catalog"]["operators"], partial(traced_programs.refusals, arm=arm)
    return Catalogs(operators, found["applications"], found["workloads"], tuple(missing), arm.check, refusals)
