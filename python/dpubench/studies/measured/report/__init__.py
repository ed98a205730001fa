"""The report of a run of figures: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dpubench import studies
from dpubench.analysis import warnings
from dpubench.report.frame import TABLES, Section
from dpubench.report.machine import run_info
from dpubench.report.outline import baseline_first, outline
from dpubench.report.page import Page as PageOfStudy
from dpubench.report.page import RunInfo, Trouble
from dpubench.studies.measured import charts, text
from dpubench.studies.measured.model import RunSummary
from dpubench.studies.measured.text import PointsTable

HERE: Final = Path(__file__).parent


@dataclass(frozen=True)
class MoreTable:
    """A table of a study's own, below its figures."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass(slots=True)
class RunPart:
    """The part of the page about one run."""

    info: RunInfo
    counts: str
    run: RunSummary
    tables: list[PointsTable]
    better: list[tuple[str, str]]  #: quantity -> whether more or less of it is better
    more: list[MoreTable] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Page(PageOfStudy):
    """The page of a study of figures."""

    parts: list[RunPart]


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the run that comes first. @raises ValueError without runs, or if none has that name"""
    return section_of(build(runs, baseline), runs[0].study)


def section_of(page: Page, study: str) -> Section:
    """Return the section that ``page`` of ``study`` makes."""
    more = {"parameters_of": text.parameters_of, "is_number": text.is_number_column, "heading_of": text.heading_of}
    return Section(study, page, HERE, {"heading": text.heading, "remarks": text.remarks}, more=more, styles=(TABLES,))


def build(runs: list[RunSummary], baseline: str | None = None) -> Page:
    """Return the page of ``runs``, one below the other, ``baseline`` first. @raises ValueError"""
    runs = baseline_first(runs, baseline)
    infos = [run_info(run, run.name) for run in runs]
    unavailable = [Trouble(run.name, p.id, p.unavailable) for run in runs for p in run.points if p.unavailable]
    return Page(
        **outline(runs, infos, warnings.advice, note=[run.origin.capitalize() for run in runs], unavailable=unavailable),
        measured=_question(runs[0].study),
        parts=[RunPart(info, text.counts(run), run, text.tables_of(run), _better(run)) for run, info in zip(runs, infos, strict=True)],
        data={"study": runs[0].study, "charts": [_charts(run) for run in runs]},
    )


def _charts(run: RunSummary) -> list[dict[str, Any]]:
    """Return the charts of ``run`` as data, each with the run's name and label."""
    return [chart | {"run": run.name, "label": run.label} for chart in charts.drawn(run, charts.declared(run.study))]


def _better(run: RunSummary) -> list[tuple[str, str]]:
    seen = {q.name: (q.title, q.better) for found in text.tables_of(run) for q in found.quantities if q.better != "neither"}
    return list(seen.values())


def _question(study: str) -> str:
    """Return the headline: the question that a study answers."""
    question = studies.find(study).question
    return f"{question[0].upper()}{question[1:]}?"
