"""Study ``headroom``: see docs/headroom-study.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpubench.studies.headroom.plan import Plan
from dpubench.studies.packaged import PackagedStudy

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan


class Headroom(PackagedStudy):
    """How much CPU time is left on a device while it transmits."""

    name = "headroom"
    question = "how much CPU time is left on the device while it transmits at a given rate"
    plan_model: type[StudyPlan] = Plan
    inherits = "measured"
    views = ("samples",)


STUDY = Headroom()
