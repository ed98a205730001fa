"""What the page of study ``coverage`` shows, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpubench.report.page import RunInfo, Trouble, WarningGroup
from dpubench.studies.coverage.model import Composition, Covered, PointSummary, Space
from dpubench.studies.modelled.models import ModelInfo


@dataclass(slots=True)
class CoveredRow:
    """A whole program and what operators cover of it."""

    point: PointSummary
    covered: Covered | None  #: None: nothing of it was simulated


@dataclass(slots=True)
class ComposedRow:
    """An application and the mixture of its operators that is nearest to it."""

    point: PointSummary
    composition: Composition
    weights: list[tuple[str, float]]  #: name of the operator, share of the instructions; the largest first


@dataclass(frozen=True, slots=True)
class Trust:
    """How far to trust the numbers."""

    points: int
    simulations: int
    million_instructions: float
    how: str  #: how much of the traces was simulated
    failed: int
    warnings: int
    unknown_share: float  #: the largest


@dataclass(slots=True)
class RunPart:
    """What the page says of one run."""

    info: RunInfo
    labels: list[str]
    origins: list[str]
    answer: list[str]
    characteristics: list[tuple[str, str]]  #: key, words
    largest: dict[str, list[str]]  #: characteristic -> ids of the points that have most of it
    covered: list[CoveredRow]
    composed: list[ComposedRow]
    space: Space | None
    hull: str  #: how many points the hull has, and how much that holds; empty without a whole program
    thin: str  #: what that means where they are few; else empty
    phase_instructions: int
    models: list[ModelInfo]
    points: list[PointSummary]
    trust: Trust


@dataclass(slots=True)
class Page:
    """Everything the template needs."""

    title: str
    measured: str
    all_runs: list[RunInfo]
    parts: list[RunPart]
    labels: list[str]  #: that every point of every run has
    warnings: list[WarningGroup]
    failures: list[Trouble]
    failures_more: int
    unavailable: list[Trouble]
    bibtex: str
    modelled: bool  #: else measured
    least_inputs: int  #: of a program whose share has an interval
    data: dict[str, Any]
