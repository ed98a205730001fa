"""The report of a run of figures: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench.analysis import warnings
from dpubench.report import frame
from dpubench.report.machine import bibtex, run_info
from dpubench.report.page import RunInfo, Trouble, WarningGroup
from dpubench.report.troubles import LISTED, warning_groups
from dpubench.studies.measured import figures, text
from dpubench.studies.measured.model import RunSummary
from dpubench.studies.measured.text import PointsTable

HERE: Final = Path(__file__).parent


@dataclass(slots=True)
class RunPart:
    """The part of the page about one run."""

    info: RunInfo
    counts: str
    tables: list[PointsTable]
    better: list[tuple[str, str]]  #: quantity -> whether more or less of it is better


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


def write(runs: list[RunSummary], output: Path, baseline: str | None = None) -> None:
    """Write the report of ``runs`` to ``output``, replacing it atomically. ``baseline`` names the run that comes first.

    Raises :class:`ValueError` without runs or with a baseline that is none of them, :class:`OSError` if ``output`` cannot be written.
    """
    page = build(runs, baseline)
    frame.save(
        frame.render(
            page,
            page.all_runs[0].version,
            HERE,
            {"heading": text.heading, "remarks": text.remarks},
            None,
            parameters_of=text.parameters_of,
            is_number=text.is_number_column,
        ),
        output,
    )


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
        measured=_measured(runs[0]),
        all_runs=infos,
        parts=[RunPart(info, text.counts(run), text.tables(run), _better(run)) for run, info in zip(runs, infos, strict=True)],
        warnings=warning_groups(((run.name, w) for run in runs for w in run.warnings), warnings.advice),
        failures=failures[:LISTED],
        failures_more=max(0, len(failures) - LISTED),
        unavailable=unavailable,
        bibtex=bibtex(runs, infos),
        data={"study": runs[0].study, "figures": [_figures(run) for run in runs]},
    )


def _figures(run: RunSummary) -> list[dict[str, Any]]:
    """Return the figures of ``run`` as data, each with the run's name and label."""
    return [figure | {"run": run.name, "label": run.label} for figure in figures.drawn(run, figures.declared(run.study))]


def _better(run: RunSummary) -> list[tuple[str, str]]:
    seen = {q.name: (q.title, q.better) for found in text.tables(run) for q in found.quantities}
    return list(seen.values())


def _measured(run: RunSummary) -> str:
    """Return the headline: what was measured."""
    seen = [q.title for q in run.quantities if any(q.name in p.figures for p in run.points)] or [q.title for q in run.quantities]
    text = f"{', '.join(dict.fromkeys(title.split(',')[0] for title in seen))}, measured"
    return text[0].upper() + text[1:]
