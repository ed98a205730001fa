"""The entry point of study ``coverage``: the behaviour of operators, and whether the set of them covers whole applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpubench.studies.coverage.plan import Plan
from dpubench.studies.packaged import PackagedStudy

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan
    from dpubench.studies.coverage.model import PointSummary


class Coverage(PackagedStudy):
    """Study ``coverage``: seven characteristics and their space. The space holds all points, even if only some are shown."""

    name = "coverage"
    question = "how do operators behave on a processor, and does the set of them cover whole applications (modelled)"
    plan_model: type[StudyPlan] = Plan

    def names_of(self, point: PointSummary) -> tuple[str, ...]:
        return (point.name, *point.operators)


STUDY = Coverage()
