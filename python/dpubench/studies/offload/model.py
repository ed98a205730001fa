"""The types of a run of study ``offload``."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpubench.studies.measured.model import PointSummary as MeasuredPoint
from dpubench.studies.measured.model import RunSummary as MeasuredSummary
from dpubench.studies.offload.cluster import Cluster
from dpubench.studies.offload.trends import Trend


@dataclass(slots=True)
class PointSummary(MeasuredPoint):
    """A pattern on a path, at a message size, with a number of workers."""

    withheld: dict[str, str] = field(default_factory=dict)  #: quantity -> why it is not shown although it was measured
    limits: list[str] = field(default_factory=list)  #: modelled: what limits each stage of pure communication


@dataclass(slots=True, kw_only=True)
class RunSummary(MeasuredSummary):
    """One analysed run."""

    points: list[PointSummary]  # type: ignore[assignment]  # each point of this study is one of its own
    cluster: Cluster | None = None  #: of a modelled run
    trends: list[Trend] = field(default_factory=list)  #: published trends beside the model
    started_by: str = ""  #: launcher, MPI library and transport of a measured run, in words
