"""Study ``stress``: see docs/stress-study.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpubench.studies.packaged import PackagedStudy
from dpubench.studies.stress.plan import Plan

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan
    from dpubench.studies.stress.model import PointSummary


class Stress(PackagedStudy):
    """Which kinds of operations are profitable on a device."""

    name = "stress"
    question = "which kinds of operations are profitable on the device (stress-ng)"
    plan_model: type[StudyPlan] = Plan
    inherits = "measured"
    chosen_by = "workload"

    def names_of(self, point: PointSummary) -> tuple[str, ...]:
        return (point.id, point.stressor)


STUDY = Stress()
