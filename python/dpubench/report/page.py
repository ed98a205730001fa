"""Facts that the pages of all studies show beside their figures, as plain data: runs, warnings, failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
class RunInfo:
    """The facts about a run itself."""

    name: str  #: its name on this page: the target, where all runs are of one set
    full_name: str
    target: str
    spec: str
    label: str  #: shown beside every figure of it
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
    layouts: str = ""  #: sentence on its code layouts


@dataclass(slots=True, kw_only=True)
class Page:
    """What the page of every study has. A study's subclass adds its own parts."""

    title: str
    measured: str  #: the headline
    all_runs: list[RunInfo]
    warnings: list[WarningGroup]
    failures: list[Trouble]
    failures_more: int
    unavailable: list[Trouble]
    bibtex: str
    data: dict[str, Any]  #: JSON-safe values for the figures
