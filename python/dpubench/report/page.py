"""What the report's page shows, as plain data.

Vocabulary of the page: a *family* is an operator with its modes fixed (AES in GCM, encrypting, 128 bit); its *default configuration* is the measured
one that is closest to the catalog's defaults, one thread, the default burst and the `stream` footprint. The first table has one row per operator and,
folded below it, one per family.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from dpubench.report.points import weakness
from dpubench.results.model import Comparison, Interval, PointSummary

#: Which engines meet: the fastest of each side, or the same one on both.
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
    """What one run says about one configuration: its best engine, or the engine that it shares with the baseline."""

    point: PointSummary | None
    engine: str = ""
    why_empty: str = ""  #: why there is no point
    versus: Versus | None = None  #: None for the baseline and for a single run
    same: Cell | None = None  #: the same with one engine on both sides; None where ``versus`` is
    portable: PointSummary | None = None  #: the configuration on plain code: what a device without libraries does

    @property
    def weak(self) -> str:
        """Why this number deserves less trust; empty if nothing is known against it."""
        return weakness(self.point) if self.point else ""


@dataclass(slots=True)
class Row:
    """One configuration over all runs."""

    operator: str
    label: str  #: modes in words
    at: str  #: the rest of the configuration in words
    unit: str
    cells: list[Cell]
    rerun: str  #: the command that measures this row again
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
    nothing: str = ""  #: why nothing of it was measured


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
    rows: list[tuple[str, str, list[HeatCell | None], HeatCell | None]]  #: operator, modes, per size, and without a size


@dataclass(slots=True)
class WarningGroup:
    """All warnings of one code."""

    code: str
    advice: str
    items: list[tuple[str, str, str]]  #: run, where, message
    more: int


@dataclass(slots=True)
class Trouble:
    """A failure or an unavailable engine."""

    run: str
    where: str
    reason: str
    count: int = 1


@dataclass(slots=True)
class Verified:
    """What an emulated target says about an operator: nothing but right and wrong."""

    points: int
    verified: int
    known_answers: int  #: passed, summed over points
    compared: int  #: items, summed over points
    engines: list[str]  #: that were verified
    wrong: list[str]  #: what failed, in words
    unavailable: list[str]


@dataclass(slots=True)
class PathRow:
    """Configurations of an operator whose figures came about in the same way: one entry a run, None where it has none."""

    operator: str
    pairing: str
    modes: list[str]
    paths: list[tuple[str, str] | None]  #: engine; instruction set or driver, library, device


@dataclass(slots=True)
class RunInfo:
    """What the page says about a run itself."""

    name: str  #: how it is called on this page: the target, where all runs are of one set
    full_name: str
    target: str
    spec: str
    label: str  #: stands beside every figure of it
    lost: str
    cpu: str
    logical: int | None
    physical: int | None
    started: str
    status: str
    study: str
    plan: str
    command: str
    version: str
    revision: str
    build: str
    machine: list[tuple[str, str]]
    inputs: list[tuple[str, str, str]]
    left_out: list[str]
    path: str
    precision: float
    layouts: str = ""  #: what it says of its code layouts


@dataclass(slots=True)
class Trust:
    """The line on how far to trust the numbers."""

    points: int
    windows: int
    rounds: str
    not_converged: int  #: rates
    ratios: int  #: of best engines to the next best
    ratios_not_converged: int
    widest: float  #: relative half width of the worst point, nan if none
    widest_where: str
    failed: int
    unavailable: int
    warnings: int
    worst: str  #: the worst warning in words
    worst_code: str


@dataclass(slots=True)
class Page:
    """Everything the template needs."""

    title: str
    measured: str
    trust: Trust
    runs: list[RunInfo]  #: those with times
    emulated: list[RunInfo]  #: those that tell right from wrong only
    absent: list[RunInfo]  #: targets of which nothing was measured
    correctness: list[tuple[str, list[Verified | None]]]  #: operator, what each emulated run says of it
    paths: list[PathRow]
    pairing: str  #: what is shown at first
    targets: bool  #: whether all runs are targets of one run
    set_name: str  #: that run's name, and where it is; "" otherwise
    set_path: str
    baseline: int | None  #: index of the baseline run; None with a single run
    common: str  #: what all default configurations share
    over_size: bool  #: whether any row has a curve over an axis
    scenarios: list[str]
    operators: list[OperatorRow]
    heat: list[HeatMap]
    builds: list[Comparison]  #: two builds that alternated within a run
    ratio_range: tuple[float, float]  #: of the ratios to the next best, for the little plots of the table
    warnings: list[WarningGroup]
    failures: list[Trouble]
    failures_more: int
    unavailable: list[Trouble]
    bibtex: str
    data: dict[str, Any]  #: for the figures; see :func:`chart_data`

    @property
    def all_runs(self) -> list[RunInfo]:
        return [*self.runs, *self.emulated, *self.absent]
