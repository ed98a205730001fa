"""The content of the page of study ``operators``, as plain data.

Vocabulary of the page: a *family* is an operator with its modes fixed (AES in GCM, encrypting, 128 bit). Its *default configuration* is the measured
one that is closest to the catalog's defaults, one thread, the default burst and the `stream` footprint. The first table has one row per operator
and, folded below it, one row per family.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dpubench.analysis.model import Comparison, Interval
from dpubench.report.page import Page as PageOfStudy
from dpubench.report.page import RunInfo
from dpubench.studies.operators.model import PointSummary
from dpubench.studies.operators.report.points import weakness

#: The pairing of engines: the fastest of each side, or the same one on both.
BEST: Final = "best"


SAME: Final = "same"


PAIRINGS: Final = {BEST: "best engine against best engine", SAME: "same engine on both"}


@dataclass(slots=True)
class Versus:
    """A run against the baseline, for one configuration."""

    ratio: Interval | None
    verdict: str  #: faster, slower, undecided, same, not comparable, not measured, cannot run there, failed there
    reason: str
    cores: Interval | None = None  #: host-core equivalents
    old: PointSummary | None = None  #: the baseline's point
    new: PointSummary | None = None


@dataclass(slots=True)
class Cell:
    """The figure of one run for one configuration: for its best engine, or for the engine that it shares with the baseline."""

    point: PointSummary | None
    engine: str = ""
    why_empty: str = ""  #: reason why there is no point
    versus: Versus | None = None  #: None for the baseline and for a single run
    same: Cell | None = None  #: the same for one engine on both sides; None where ``versus`` is None
    portable: PointSummary | None = None  #: the configuration on plain code, which a device without libraries runs

    @property
    def weak(self) -> str:
        """Return why this number deserves less trust; empty without a known reason."""
        return weakness(self.point) if self.point else ""


@dataclass(slots=True)
class Row:
    """One configuration over all runs."""

    operator: str
    label: str  #: modes in words
    at: str  #: the rest of the configuration in words
    unit: str
    cells: list[Cell]
    rerun: str  #: command that measures this row again
    spark: list[tuple[float, float]] = field(default_factory=list)  #: best engine's rate over the axis, both in 0..1 of log range
    spark_text: str = ""


@dataclass(slots=True)
class OperatorRow:
    """One operator: its default configuration and all its families."""

    name: str
    anchor: str
    scenarios: list[str]
    summary: str
    default: Row
    families: list[Row]
    reference: str
    nothing: str = ""  #: reason why nothing of it was measured


@dataclass(slots=True)
class HeatCell:
    """Ratio of a run to the baseline at one size."""

    versus: Versus | None
    shade: float = 0.0  #: -1 (4 times slower) .. 1 (4 times faster)


@dataclass(slots=True)
class HeatMap:
    """Operator x size of one run against the baseline."""

    run: int
    pairing: str
    sizes: list[int]
    rows: list[tuple[str, str, list[HeatCell | None], HeatCell | None]]  #: operator, modes, cell per size, cell without a size


@dataclass(slots=True)
class Verified:
    """The results of an emulated target for an operator: right or wrong only."""

    points: int
    verified: int
    known_answers: int  #: number passed, summed over points
    compared: int  #: number of items, summed over points
    engines: list[str]  #: verified engines
    wrong: list[str]  #: failures, as sentences
    unavailable: list[str]


@dataclass(slots=True)
class PathRow:
    """Configurations of an operator that took the same path in each run: one path per run, None where a run has none."""

    operator: str
    pairing: str
    modes: list[str]
    paths: list[tuple[str, str] | None]  #: engine; instruction set or driver, library, device


@dataclass(slots=True)
class Trust:
    """The counts for the line on how far to trust the numbers."""

    points: int
    windows: int
    rounds: str
    not_converged: int  #: number of rates that did not converge
    ratios: int  #: number of ratios of best engines to the next best
    ratios_not_converged: int
    widest: float  #: relative half width of the worst point, nan if none
    widest_where: str
    failed: int
    unavailable: int
    warnings: int
    worst: str  #: the worst warning in words
    worst_code: str


@dataclass(slots=True, kw_only=True)
class Page(PageOfStudy):
    """The page of study ``operators``."""

    trust: Trust
    runs: list[RunInfo]  #: runs with times
    emulated: list[RunInfo]  #: runs that only tell right from wrong
    absent: list[RunInfo]  #: targets without any measurement
    correctness: list[tuple[str, list[Verified | None]]]  #: operator, results of each emulated run
    paths: list[PathRow]
    pairing: str  #: the pairing shown at first
    targets: bool  #: whether all runs are targets of one run
    set_name: str  #: name of that run; "" without it
    set_path: str
    baseline: int | None  #: index of the baseline run; None with a single run
    common: str  #: properties that all default configurations share
    over_size: bool  #: whether any row has a curve over an axis
    scenarios: list[str]
    operators: list[OperatorRow]
    heat: list[HeatMap]
    builds: list[Comparison]  #: two builds that alternated within a run
    ratio_range: tuple[float, float]  #: range of the ratios to the next best, for the small plots of the table
