"""The entry point of study ``link``: TCP/IP between host CPU and device CPU (IPSJ SIG report on SmartNIC and CPU network performance, 2023)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpubench.studies.link.plan import Plan
from dpubench.studies.packaged import PackagedStudy

if TYPE_CHECKING:
    from dpubench.plans.model import StudyPlan


class Link(PackagedStudy):
    """Study ``link``: throughput over message size, latency, and file transfer in both directions between every pair of ends."""

    name = "link"
    question = "how fast do host CPU and device CPU talk over TCP/IP, and what does it cost both"
    plan_model: type[StudyPlan] = Plan
    inherits = "measured"
    chosen_by = "workload"

    def names_of(self, point: Any) -> Iterable[str]:
        return (point.id, point.parameters["test"])


STUDY = Link()
