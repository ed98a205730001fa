"""What a plan of study ``cores`` comes to: traces and simulations."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dpubench.errors import PlanError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.run import session
from dpubench.run.listener import Listener
from dpubench.run.record import Head
from dpubench.run.work import Budget
from dpubench.simulation import crowley, models
from dpubench.simulation.kernels import ArmPrograms
from dpubench.simulation.models import LABEL
from dpubench.studies import Request
from dpubench.studies.cores import refused
from dpubench.studies.cores.execute import Run
from dpubench.studies.cores.expand import Expansion, expand
from dpubench.studies.cores.plan import Plan, without_asides
from dpubench.studies.modelled.draft import SimulatedDraft, target_of
from dpubench.studies.modelled.models import described
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.modelled.plan import ALL, MODEL_PREFIX
from dpubench.studies.modelled.planned import marked
from dpubench.workers.process import StopRequest

WRITER: Final = OutcomesWriter


class Draft(SimulatedDraft):
    """A plan, or an interrupted run of it."""

    plan: Plan

    def __init__(self, plan: Plan, expansion: Expansion, arm: ArmPrograms | None) -> None:
        """Describe the simulations of ``expansion``, of traces of the programs ``arm``. None: no kernel needs them."""
        self.plan, self.expansion, self._arm = plan, expansion, arm
        self.target = target_of(plan, LABEL)

    @property
    def inputs(self) -> set[str]:
        return self.expansion.inputs

    @property
    def refused(self) -> bool:
        return bool(self._reasons())

    def _reasons(self) -> list[str]:
        return [use.unavailable for use in self.expansion.uses.values() if use.unavailable]

    def lack(self, kind: str, reason: str) -> None:
        expansion, missing = self.expansion, {kind: reason}
        expansion.uses = {name: marked(use, missing) for name, use in expansion.uses.items()}
        expansion.comparisons = [replace(w, use=None if w.use is None else marked(w.use, missing)) for w in expansion.comparisons]

    def why_nothing(self) -> str:
        if len(reasons := self._reasons()) < len(self.expansion.uses):
            return ""
        return f"nothing that was asked for can be traced: {[*reasons, *self.expansion.left_out, 'the plan names nothing'][0]}"

    def described(self) -> dict[str, Any]:
        expansion = self.expansion
        return {
            "kernels": [use.record() for use in expansion.uses.values()], "configurations": [cell.record() for cell in expansion.cells.values()],
            "points": len(expansion.points), "left_out": expansion.left_out,
        }  # fmt: skip

    def lines(self) -> list[str]:
        plan, expansion, lines = self.plan, self.expansion, []
        for use in expansion.uses.values():
            cannot = f": cannot run: {use.unavailable}" if use.unavailable else ""
            lines.append(f"  trace {use.id}: {use.operator}, {use.engine}, {use.messages} messages{cannot}")
        for sweep in plan.sweeps:
            own = [cell for cell in expansion.cells.values() if sweep.name in cell.sweeps]
            lines.append(f"  sweep {sweep.name}: {len(own)} simulations, {sweep.organisation}")
        lines += [f"left out: {line}" for line in expansion.left_out]
        if expansion.comparisons:
            lines.append(f"  {len(expansion.comparisons)} simulations of what was published about the models' processors")
        sample = plan.sample
        pieces = f", {sample.measured} of every {sample.every} bursts" if sample.every > 1 else ""
        how = "whole traces" if plan.exact else f"{100 * sample.share:g} % of each trace{pieces}"
        return [*lines, f"{len(expansion.uses)} traces, {len(expansion.cells)} simulations ({how}), {len(expansion.points)} points"]

    def record(self, head: Head) -> dict[str, Any]:
        expansion = self.expansion
        return self._common_record(head, expansion.left_out) | {
            "models": {model_name: described(model) for model_name, model in expansion.models.items()},
            "kernels": [use.record() for use in expansion.uses.values()], "configurations": [cell.record() for cell in expansion.cells.values()],
            "points": [point.record() for point in expansion.points.values()],
        }  # fmt: skip

    def _processors(self) -> dict[str, str]:
        return {cell.id: cell.record()["processor_digest"] for cell in self.expansion.cells.values()}

    def work(self, writer: OutcomesWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget) -> Run:
        return Run(writer, self.plan, self.expansion, record, files, self._arm, stop, display, budget)


def drafts(plan: Plan, where: Where, request: Request, opened: contextlib.ExitStack) -> list[session.Draft]:
    """Return what ``plan`` comes to. @raises UserError"""
    return [_draft(plan, where)]


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: contextlib.ExitStack) -> Draft:
    """Return what is needed to continue the run of ``record``. @raises UserError"""
    return _draft(plan, where)


def _needs_arm(plan: Plan) -> bool:
    """Tell whether a plan needs the operators' programs for 64-bit Arm, which take minutes to compile."""
    operators = [kernel.operator for kernel in plan.kernels]
    targets = [*plan.target, *(model for sweep in plan.sweeps if sweep.models != ALL for model in sweep.models)]
    for target in targets if plan.comparisons else []:
        if (name := target.removeprefix(MODEL_PREFIX)) in models.names():  # expand() reports an unknown one
            operators += [comparison.kernel.operator for comparison in models.load(name).comparisons if comparison.kernel is not None]
    return any(operator not in crowley.NAMES for operator in operators)


def _draft(given: Plan, where: Where) -> Draft:
    plan = without_asides(given)
    arm = ArmPrograms.found() if _needs_arm(plan) else None

    def check(combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        own = iter(crowley.check([c for c in combinations if c[0] in crowley.NAMES]))
        others = iter(arm.check([c for c in combinations if c[0] not in crowley.NAMES]) if arm is not None else [])
        return [next(own if name in crowley.NAMES else others) for name, _ in combinations]

    operators = arm.catalog()["catalog"]["operators"] if arm is not None else []
    expansion = expand(plan, [*operators, *crowley.catalog()], where, check)
    if problems := refused.problems_of(plan, expansion, where):
        raise PlanError(where.source, problems)
    return Draft(plan, expansion, arm)
