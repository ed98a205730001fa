"""What a plan of figures comes to: points and quantities. A study's subclass says where and how they are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpubench.analysis.model import Quantity
from dpubench.plans.model import MeasuredPlan
from dpubench.plans.quantities import spoken
from dpubench.run import record as records
from dpubench.run import session
from dpubench.run.record import Head, TargetInfo, check_same_machine
from dpubench.studies.measured.model import Point
from dpubench.studies.measured.rounds import FiguresWriter

WRITER = FiguresWriter


class MeasuredDraft(session.Draft):
    """A plan of figures on one target, or an interrupted run there."""

    writer = FiguresWriter
    plan: MeasuredPlan

    def __init__(
        self, plan: MeasuredPlan, target: TargetInfo, hello: Mapping[str, Any], points: Sequence[Point], quantities: Sequence[Quantity]
    ) -> None:  # fmt: skip
        """Describe a run of ``points``; ``hello`` is the greeting of the program at work. An interrupted run knows its points from its record."""
        self.plan, self.target, self.points, self.quantities = plan, target, list(points), list(quantities)
        self._hello = hello

    @property
    def inputs(self) -> set[str]:
        return set()

    def lack(self, kind: str, reason: str) -> None:
        """Do nothing: without inputs none can be missing."""

    def why_nothing(self) -> str:
        reasons = [point.unavailable for point in self.points]
        return "" if not all(reasons) else f"nothing that was asked for can run here: {[*reasons, 'the plan names nothing'][0]}"

    def described(self) -> dict[str, Any]:
        return {"points": [point.record() for point in self.points], "left_out": self.plan.omissions}

    def lines(self) -> list[str]:
        lines = [f"  {point.id}" + (f": cannot run here: {point.unavailable}" if point.unavailable else "") for point in self.points]
        rounds = f"{self.plan.rounds.min} to {self.plan.rounds.max} rounds"
        return [*lines, *(f"left out: {line}" for line in self.plan.omissions), f"{len(self.points)} points, {rounds} in {spoken(self.plan.budget)}"]

    def record(self, head: Head) -> dict[str, Any]:
        return records.new_record(head, self.plan, self.target, self._hello, self.plan.omissions) | {
            "points": [point.record() for point in self.points], "quantities": [quantity.record() for quantity in self.quantities],
        }  # fmt: skip

    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        check_same_machine(path, record, self._hello)
