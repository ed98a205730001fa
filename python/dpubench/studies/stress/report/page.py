"""The content of the page of study ``stress``, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from dpubench.report.page import Page as PageOfStudy
from dpubench.report.page import RunInfo
from dpubench.studies.stress.model import PointSummary, RunSummary
from dpubench.studies.stress.ranking import ClassMean, Moved, Row


@dataclass(slots=True)
class RunPart:
    """The part of the page about one run."""

    info: RunInfo
    counts: str
    stress_ng: str
    run: RunSummary


@dataclass(slots=True)
class TargetPart:
    """What the comparison says of one target."""

    name: str
    label: str
    is_reference: bool
    distribution: list[int]  #: number of stressors at rank 1, 2, ...
    ranked: int
    median: float | None  #: of relative performance; None if there is none
    best: list[tuple[Row, PointSummary]]
    worst: list[tuple[Row, PointSummary]]


@dataclass(slots=True)
class ClassPart:
    """A class with its means on each target."""

    name: str
    count: int
    means: list[ClassMean]  #: in the order of the targets


@dataclass(slots=True, kw_only=True)
class Page(PageOfStudy):
    """The page of study ``stress``."""

    parts: list[RunPart]
    refused: str
    reference: str  #: empty without several targets
    targets: list[TargetPart]
    classes: list[ClassPart]
    too_noisy: list[str]
    moved: list[Moved]
    moved_of: int
    durations: tuple[str, str] | None
    imported: bool  #: whether all runs are imported
