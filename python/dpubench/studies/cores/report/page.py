"""The content of the page of study ``cores``, as plain data.

Vocabulary of the page: a *case* is a kernel at a frame size. A *figure* belongs to a sweep of the plan; its series are the alternatives that the
sweep compares.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dpubench.report.page import Page as PageOfStudy
from dpubench.report.page import RunInfo
from dpubench.studies.cores.model import Claim, PointSummary
from dpubench.studies.modelled.models import ModelInfo


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel at a frame size."""

    kernel: str
    frame: str
    told: str  #: operator, engine, parameters
    frame_words: str


@dataclass(slots=True)
class LineRow:
    """The line rate that one core of each model sustains for a case, and the cores that each line needs."""

    case: Case
    cells: list[PointSummary | None]  #: one per model


@dataclass(slots=True)
class CountRow:
    """The number of configurations of a sweep that sustain each line."""

    sweep: str
    organisation: str
    model: str
    variant: str  #: empty: as described
    case: Case
    of: int
    sustained: list[int]  #: one per line
    undecided: list[int]
    failed: int
    labels: list[str]  #: labels of its model's figures


@dataclass(slots=True)
class Series:
    """A line of a figure."""

    name: str
    points: list[tuple[float, float, float | None, float | None, str]]  #: x, y, low, high, id of the point
    apart: list[tuple[float, float, float | None, float | None, str]] = field(default_factory=list)  #: marks that no line joins (IMIX)


@dataclass(slots=True)
class Figure:
    """One figure with all its data and words."""

    id: str
    title: str
    x: str  #: name of the axis
    y: str
    logarithmic_x: bool
    logarithmic_y: bool
    series: list[Series]
    references: list[tuple[str, float]]  #: horizontal lines: label and value
    gone: list[str]  #: points that are not drawn, with the reason
    labels: list[str]  #: labels printed beside it, on the page and in downloads
    note: str


@dataclass(slots=True)
class SweepPart:
    """A sweep with its figures."""

    name: str
    anchor: str
    title: str
    told: str  #: organisation, steps, clocks and number of points, in words
    figures: list[Figure]


@dataclass(frozen=True, slots=True)
class Trust:
    """Figures that show how far to trust the numbers."""

    points: int
    simulations: int
    million_instructions: float
    exact: bool
    not_converged: int
    failed: int
    warnings: int
    unknown_share: float  #: largest share of any point


@dataclass(slots=True)
class RunPart:
    """The part of the page about one run."""

    info: RunInfo
    labels: list[str]
    claims: list[Claim]
    verdicts: list[tuple[str, int]]
    kernels: list[PointSummary]  #: a point of each case on the smallest processor, which shows the nature of the kernel
    lines: list[tuple[str, str]]  #: key, words
    overhead: str
    models: list[ModelInfo]
    line_rows: list[LineRow]
    counts: list[CountRow]
    sweeps: list[SweepPart]
    points: list[PointSummary]
    trust: Trust
    table_2: str  #: the paper's own figures of its kernels, in words; empty without claims
    line_models: list[ModelInfo]  #: columns of ``line_rows``


@dataclass(slots=True, kw_only=True)
class Page(PageOfStudy):
    """The page of study ``cores``."""

    parts: list[RunPart]
    labels: list[str]  #: labels that every point of every run has
