"""The report of a run of figures: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench.analysis import warnings
from dpubench.analysis.export import words
from dpubench.report.frame import Section
from dpubench.report.machine import bibtex, run_info
from dpubench.report.page import RunInfo, Trouble, WarningGroup
from dpubench.report.troubles import LISTED, warning_groups
from dpubench.studies.measured import text
from dpubench.studies.measured.model import RunSummary

HERE: Final = Path(__file__).parent


@dataclass(slots=True)
class RunPart:
    """The part of the page about one run."""

    info: RunInfo
    counts: str
    run: RunSummary


@dataclass(slots=True)
class Page:
    """Everything the template needs."""

    title: str
    measured: str
    all_runs: list[RunInfo]
    parts: list[RunPart]
    warnings: list[WarningGroup]
    failures: list[Trouble]
    failures_more: int
    unavailable: list[Trouble]
    bibtex: str
    data: dict[str, Any]


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the run that comes first. @raises ValueError without runs, or if none has that name"""
    page = build(runs, baseline)
    return Section(runs[0].study, page, HERE, {"words": words, "remarks": text.remarks})


def build(runs: list[RunSummary], baseline: str | None = None) -> Page:
    """Return the page of ``runs``, one below the other, ``baseline`` first. @raises ValueError"""
    if not runs:
        raise ValueError("a report needs at least one run")
    if baseline is not None:
        if baseline not in (known := [name for run in runs for name in (run.name, run.target, run.path)]):
            raise ValueError(f"baseline {baseline!r} is not among the runs of this report ({', '.join(known)}): name one of them with --baseline")
        runs = sorted(runs, key=lambda run: baseline not in (run.name, run.target, run.path))
    infos = [run_info(run, run.name) for run in runs]
    failures = [Trouble(run.name, f.point or f.group or "", f"{f.phase}: {f.message}") for run in runs for f in run.failures]
    unavailable = [Trouble(run.name, p.id, p.unavailable) for run in runs for p in run.points if p.unavailable]
    return Page(
        title=f"dpubench {runs[0].study}: {', '.join(run.name for run in runs)}",
        measured=f"{', '.join(q.title for q in runs[0].quantities)}, measured".capitalize(),
        all_runs=infos,
        parts=[RunPart(info, text.counts(run), run) for run, info in zip(runs, infos, strict=True)],
        warnings=warning_groups(((run.name, w) for run in runs for w in run.warnings), warnings.advice),
        failures=failures[:LISTED],
        failures_more=max(0, len(failures) - LISTED),
        unavailable=unavailable,
        bibtex=bibtex(runs, infos),
        data={"study": runs[0].study},
    )
