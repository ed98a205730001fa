"""The types of an analysed run of stress-ng. They are plain data without behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dpubench.analysis.model import Interval, Quantity
from dpubench.studies.measured import model as measured

RATE: Final = "bogo_ops_per_s"
CPU_TIME: Final = "cpu_us_per_bogo_op"
QUANTITIES: Final = (
    Quantity(RATE, "operations", "bogo ops/s", "more"),
    Quantity(CPU_TIME, "CPU time", "us/bogo op", "less"),
)


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of a target among those that have a rate for a stressor; 1 is the highest rate."""

    value: int
    low: int | None  #: best and worst rank of the 95 % bootstrap interval; None below two repetitions on some target
    high: int | None
    of: int  #: number of targets with a rate
    missing: int  #: number of targets without one

    @property
    def decided(self) -> bool:
        """Return whether the interval holds this rank alone."""
        return self.low is not None and self.low == self.high


@dataclass(slots=True)
class PointSummary(measured.PointSummary):
    """A stressor that ran for a given time, with its figures."""

    stressor: str = ""
    duration_s: float = 0.0
    classes: list[str] = field(default_factory=list)
    spared: str = ""  #: why adaptive mode did not run it; empty if it ran, or should have
    relative: Interval | None = None  #: rate over the reference target's; None without one of the two
    rank: Rank | None = None  #: None if fewer than two targets have a rate
    too_noisy: bool = False  #: whether repetitions scatter so much that the targets cannot be ranked
    is_final: bool = False  #: whether targets are ranked at this duration, see :mod:`dpubench.studies.stress.ranking`


@dataclass(slots=True, kw_only=True)
class RunSummary(measured.RunSummary):
    """One analysed run of stress-ng on one target."""

    points: list[PointSummary]  # type: ignore[assignment]  # the study's own points
    stress_version: str
    instances: int  #: of each stressor; 0 if unknown
    wanted_reference: str = ""  #: reference target that the plan names; empty if it names none
    reference: str = ""  #: target that ``relative`` refers to; empty without one
    mixed_versions: bool = False  #: whether the plan insists on comparing versions
    refused: str = ""  #: why the targets are not compared; empty if they are, or if there is one alone
