"""The report of a run of figures: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpubench.analysis import warnings
from dpubench.analysis.export import words
from dpubench.report.frame import Section
from dpubench.report.machine import run_info
from dpubench.report.outline import baseline_first, outline
from dpubench.report.page import Page as PageOfStudy
from dpubench.report.page import RunInfo, Trouble
from dpubench.studies.measured import text
from dpubench.studies.measured.model import RunSummary

HERE: Final = Path(__file__).parent


@dataclass(slots=True)
class RunPart:
    """The part of the page about one run."""

    info: RunInfo
    counts: str
    run: RunSummary


@dataclass(slots=True, kw_only=True)
class Page(PageOfStudy):
    """The page of a study of figures."""

    parts: list[RunPart]


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the run that comes first. @raises ValueError without runs, or if none has that name"""
    page = build(runs, baseline)
    return Section(runs[0].study, page, HERE, {"words": words, "remarks": text.remarks})


def build(runs: list[RunSummary], baseline: str | None = None) -> Page:
    """Return the page of ``runs``, one below the other, ``baseline`` first. @raises ValueError"""
    runs = baseline_first(runs, baseline)
    infos = [run_info(run, run.name) for run in runs]
    unavailable = [Trouble(run.name, p.id, p.unavailable) for run in runs for p in run.points if p.unavailable]
    return Page(
        **outline(runs, infos, warnings.advice, note=runs[0].origin.capitalize(), unavailable=unavailable),
        measured=f"{', '.join(q.title for q in runs[0].quantities)}, {runs[0].origin}".capitalize(),
        parts=[RunPart(info, text.counts(run), run) for run, info in zip(runs, infos, strict=True)],
        data={"study": runs[0].study},
    )
