"""The entry point of study ``operators``: the speed of each basic operator on each engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpubench.studies.operators.plan import Plan
from dpubench.studies.packaged import PackagedStudy

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan
    from dpubench.report.frame import Section
    from dpubench.run.session import Ending, Told
    from dpubench.studies.operators.model import PointSummary


class Operators(PackagedStudy):
    """Study ``operators``."""

    name = "operators"
    question = "how fast is each basic operator, at which packet size and thread count"
    plan_model: type[StudyPlan] = Plan
    run_options = frozenset({"--engine-dir", "--device", "--against"})

    views = ("windows",)

    def summaries(self, path: Path, label: str = "") -> list[Any]:
        found: list[Any] = self._module("summary").summaries(path, label)
        return found

    def names_of(self, point: PointSummary) -> tuple[str, ...]:
        return (point.operator,)

    def ended(self, runs: list[Any], ending: Ending) -> Told:
        told: Told = self._module("tell").ended(runs, ending)
        return told

    def section(self, runs: list[Any], baseline: str | None = None, pairing: str = "best") -> Section:
        found: Section = self._module("report").section(runs, baseline, pairing)
        return found


STUDY = Operators()
