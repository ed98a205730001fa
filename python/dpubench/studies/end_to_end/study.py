"""Study ``end-to-end``: packets from a client through a server, for each placement of the application's stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpubench.studies.end_to_end.plan import Plan
from dpubench.studies.packaged import PackagedStudy

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan
    from dpubench.studies.end_to_end.model import PointSummary


class EndToEnd(PackagedStudy):
    """The study of the whole way of packets: from a client through a server and back."""

    name = "end-to-end"
    question = "what do whole applications gain: throughput, loss, server CPU and latency for each placement"
    plan_model: type[StudyPlan] = Plan
    chosen_by = "workload"
    views = ("trials",)
    page = "end-to-end.md"

    def names_of(self, point: PointSummary) -> tuple[str, ...]:
        return (point.workload,)


STUDY = EndToEnd()
