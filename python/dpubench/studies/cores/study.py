"""The entry point of study ``cores``: the line rates that processor organisations sustain for packet-processing kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpubench.studies.cores.plan import Plan
from dpubench.studies.packaged import PackagedStudy

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan
    from dpubench.studies.cores.model import PointSummary


class Cores(PackagedStudy):
    """Study ``cores``: the line rates that modelled processors sustain."""

    name = "cores"
    question = "which processor organisation sustains which line rate for a packet-processing kernel (modelled)"
    plan_model: type[StudyPlan] = Plan

    def names_of(self, point: PointSummary) -> tuple[str, ...]:
        return (point.kernel, *point.operators)


STUDY = Cores()
