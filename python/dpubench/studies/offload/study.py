"""The entry point of study ``offload``: how much communication a device's cores take over (DPU-Bench: Michalowicz et al., PEARC 2023)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpubench.studies.offload.plan import Plan
from dpubench.studies.packaged import PackagedStudy

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan


class Offload(PackagedStudy):
    """Study ``offload``: host ranks compute while worker ranks on the devices move their data with one-sided transfers."""

    name = "offload"
    question = "how much communication do a device's cores take over while the host computes"
    plan_model: type[StudyPlan] = Plan
    inherits = "measured"
    chosen_by = "workload"

    def names_of(self, point: Any) -> Iterable[str]:
        return (point.id, point.parameters["test"])


STUDY = Offload()
