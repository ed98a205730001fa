"""The report of study ``stress``: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dpubench.analysis.digits import significant
from dpubench.report.frame import TABLES, Section
from dpubench.studies.stress import text
from dpubench.studies.stress.model import RunSummary
from dpubench.studies.stress.report import model

HERE: Final = Path(__file__).parent


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the target or run that the others are compared with.

    Raises :class:`ValueError` without runs or with a baseline that is none of them.
    """
    return Section("stress", model.build(runs, baseline), HERE, _FILTERS, styles=(TABLES,))


_FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "remarks": text.remarks,
    "rank": text.rank_words,
    "relative": text.relative_text,
    "figure": lambda value: significant(value, 3),
}
