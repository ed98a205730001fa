"""The report of study ``counts``: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench.analysis import warnings
from dpubench.report.frame import TABLES, Section
from dpubench.report.machine import run_info
from dpubench.report.outline import baseline_first, outline
from dpubench.report.page import Page as PageOfStudy
from dpubench.report.page import RunInfo
from dpubench.studies.counts import wording
from dpubench.studies.counts.model import PointSummary, RunSummary
from dpubench.studies.modelled import report as shared

HERE: Final = Path(__file__).parent


@dataclass(slots=True)
class OperatorPart:
    """The points of an operator."""

    name: str
    points: list[PointSummary]


@dataclass(slots=True)
class RunPart:
    """The part of the page about one run."""

    info: RunInfo
    how: str
    model: str  #: sentence about the processor model of the cycles; empty if no cycles are modelled
    counts: str
    operators: list[OperatorPart]
    not_counted: list[tuple[str, list[tuple[str, str]]]]  #: reason -> (configuration, engine)


@dataclass(slots=True, kw_only=True)
class Page(PageOfStudy):
    """The page of study ``counts``."""

    parts: list[RunPart]


def section(runs: Sequence[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the run that comes first. @raises ValueError without runs, or if none has that name"""
    filters: dict[str, Callable[..., Any]] = {
        "per_op": wording.per_op_text, "repeats": wording.repeats_text, "cycles": wording.cycles_text, "parameters": wording.parameters_text,
        "path": wording.path_text, "capitalized": shared.capitalized,
    }  # fmt: skip
    return Section("counts", build(runs, baseline), HERE, filters, shared.HERE, styles=(TABLES,))


def build(all_runs: Sequence[RunSummary], baseline: str | None = None) -> Page:
    """Return the page of ``all_runs``, one below the other, ``baseline`` first. @raises ValueError"""
    runs = baseline_first(all_runs, baseline)
    infos = [run_info(run, run.name) for run in runs]
    return Page(
        **outline(runs, infos, warnings.advice, note="Instructions counted"),
        measured="Counted instructions per operation of each engine, no times",
        parts=[_part(run, info) for run, info in zip(runs, infos, strict=True)],
        data={"study": runs[0].study},
    )


def _part(run: RunSummary, info: RunInfo) -> RunPart:
    names = dict.fromkeys(p.operator for p in run.points)
    reasons: dict[str, list[tuple[str, str]]] = {}
    for configuration, engine, reason in run.not_counted:
        reasons.setdefault(reason, []).append((configuration, engine))
    operators = [OperatorPart(name, [p for p in run.points if p.operator == name]) for name in names]
    return RunPart(info, wording.how_text(run), wording.model_text(run), wording.counts_text(run), operators, list(reasons.items()))
