"""The report of study ``stress``: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dpubench.analysis.digits import significant
from dpubench.report import frame
from dpubench.studies.stress import text
from dpubench.studies.stress.model import RunSummary
from dpubench.studies.stress.report import model
from dpubench.studies.stress.report.page import Page

HERE: Final = Path(__file__).parent


def write(runs: list[RunSummary], output: Path, baseline: str | None = None) -> None:
    """Write the report of ``runs`` to ``output``, replacing it atomically. ``baseline`` names the target or run that the others are compared with.

    Raises :class:`ValueError` without runs or with a baseline that is none of them, :class:`OSError` if ``output`` cannot be written.
    """
    frame.save(render(model.build(runs, baseline)), output)


def render(page: Page) -> str:
    """Return the page as HTML."""
    filters: dict[str, Callable[..., Any]] = {
        "remarks": text.remarks, "rank": text.rank_words, "relative": text.relative_text, "figure": lambda value: significant(value, 3),
    }  # fmt: skip
    return frame.render(page, page.all_runs[0].version, HERE, filters)
