"""The types of a run whose points are figures measured in rounds. They are plain data without behaviour."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from dpubench.analysis.model import AnalysedRun, Interval, Origin, Quantity, Warning_


@dataclass(frozen=True)
class Point:
    """A configuration to measure."""

    id: str
    parameters: dict[str, str]
    unavailable: str = ""  #: why it cannot be measured here

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "failure": ""}


@dataclass(slots=True)
class PointSummary:
    """A point with its figures as intervals over rounds."""

    id: str
    parameters: dict[str, str]
    figures: dict[str, Interval] = field(default_factory=dict)  #: quantity -> interval; empty: see ``failure`` and ``unavailable``
    rounds: dict[str, list[float]] = field(default_factory=dict)  #: quantity -> the value of each round
    converged: bool = False  #: whether the first of its quantities is as precise as the plan asks
    precision: float = float("nan")  #: relative half width of the first of its quantities
    failure: str = ""
    unavailable: str = ""
    verified: str = ""  #: what was right at a point of an emulated target, in words; it has no figures, since its times mean nothing
    warnings: list[Warning_] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class RunSummary(AnalysedRun):
    """One analysed run."""

    quantities: list[Quantity]  #: the first one that a point has decides when it is known well enough
    points: list[PointSummary]
    rounds: int
    origin: Origin
