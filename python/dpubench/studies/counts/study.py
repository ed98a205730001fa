"""The entry point of study ``counts``: instructions that each engine executes per operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpubench.studies.counts.plan import Plan
from dpubench.studies.packaged import PackagedStudy

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan
    from dpubench.studies.counts.model import PointSummary


class Counts(PackagedStudy):
    """Study ``counts``. Counts that repeat themselves are exact: it finds a change of half a per cent on any machine, however noisy."""

    name = "counts"
    question = "how many instructions does each engine execute per operation (`dpubench run operators --count`)"
    plan_model: type[StudyPlan] = Plan
    run_options = frozenset({"--engine-dir"})
    default_effect = "0.5%"
    page = "counts.md"

    def names_of(self, point: PointSummary) -> tuple[str, ...]:
        return (point.operator,)


STUDY = Counts()
