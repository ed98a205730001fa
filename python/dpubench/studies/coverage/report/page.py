"""The content of the page of study ``coverage``, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from dpubench.report.page import Page as PageOfStudy
from dpubench.report.page import RunInfo
from dpubench.studies.coverage.model import Composition, Covered, PointSummary, Space
from dpubench.studies.modelled.models import ModelInfo


@dataclass(slots=True)
class CoveredRow:
    """A whole program and its coverage by operators."""

    point: PointSummary
    covered: Covered | None  #: None: no phase of it was simulated


@dataclass(slots=True)
class ComposedRow:
    """An application and the nearest mixture of its operators."""

    point: PointSummary
    composition: Composition
    weights: list[tuple[str, float]]  #: name of the operator, share of the instructions; the largest first


@dataclass(frozen=True, slots=True)
class Trust:
    """Figures that show how far to trust the numbers."""

    points: int
    simulations: int
    million_instructions: float
    how: str  #: how much of the traces was simulated
    failed: int
    warnings: int
    unknown_share: float  #: largest share of any point


@dataclass(slots=True)
class RunPart:
    """The part of the page about one run."""

    info: RunInfo
    labels: list[str]
    origins: list[str]
    answer: list[str]
    characteristics: list[tuple[str, str]]  #: key, words
    largest: dict[str, list[str]]  #: characteristic -> ids of the points with its largest value
    covered: list[CoveredRow]
    composed: list[ComposedRow]
    space: Space | None
    hull: str  #: number of points in the hull, and how many are mixtures of the others; empty without a whole program
    thin: str  #: warning if the points are too few; else empty
    phase_instructions: int
    models: list[ModelInfo]
    points: list[PointSummary]
    trust: Trust


@dataclass(slots=True, kw_only=True)
class Page(PageOfStudy):
    """The page of study ``coverage``."""

    parts: list[RunPart]
    labels: list[str]  #: labels that every point of every run has
    modelled: bool  #: whether all runs are modelled; else some are measured
    least_inputs: int  #: fewest inputs of a program for an interval of its share
