"""The report of study ``cores``: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dpubench.analysis import warnings
from dpubench.analysis.model import Interval
from dpubench.report.frame import TABLES, Section
from dpubench.studies.cores import wording
from dpubench.studies.cores.model import CacheUse, PointSummary, RunSummary
from dpubench.studies.cores.report import model
from dpubench.studies.cores.report.page import Page
from dpubench.studies.modelled import report as shared

HERE: Final = Path(__file__).parent


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the run that comes first. @raises ValueError without runs, or if none has that name"""
    return section_of(model.build(runs, warnings.advice, baseline))


def section_of(page: Page) -> Section:
    return Section("cores", page, HERE, _FILTERS, shared.HERE, styles=(TABLES,))


def _value(interval: Interval | None) -> str:
    return "–" if interval is None else wording.interval_text(interval, 3)


def _millions(interval: Interval | None) -> str:
    return _value(None if interval is None else Interval(interval.value / 1e6, interval.low / 1e6, interval.high / 1e6))


def _misses(point: PointSummary, which: str) -> CacheUse | None:
    return point.cache(point.data_cache if which == "data" else point.instruction_cache)


_FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "percent": shared.percent,
    "value": _value,
    "millions": _millions,
    "figure": shared.figure,
    "misses": _misses,
    "organisation": wording.organisation_text,
    "kernel_words": wording.kernel_text,
    "frame_words": wording.frame_text,
    "cores": wording.cores_text,
    "capitalized": shared.capitalized,
}
