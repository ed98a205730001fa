"""The report of study ``coverage``: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dpubench.analysis import warnings
from dpubench.report.frame import TABLES, Section
from dpubench.studies.coverage import wording
from dpubench.studies.coverage.model import RunSummary
from dpubench.studies.coverage.report import model
from dpubench.studies.coverage.report.page import Page
from dpubench.studies.modelled import report as shared

HERE: Final = Path(__file__).parent


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the run that comes first. @raises ValueError without runs, or if none has that name"""
    return section_of(model.build(runs, warnings.advice, baseline))


def section_of(page: Page) -> Section:
    return Section("coverage", page, HERE, _FILTERS, shared.HERE, styles=(TABLES,))


_FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "percent": shared.percent,
    "variance": lambda share: f"{100 * share:.1f} %",
    "capitalized": shared.capitalized,
    "distance": lambda value: wording.distance_text(value).replace("-", "–"),
    "characteristic": lambda value, name: wording.value_text(name, value),
    "characteristic_of": wording.characteristic_text,
    "share_words": wording.share_text,
    "told": wording.told,
    "outside_words": wording.outside_text,
    "reasons": wording.reason_text,
}
