"""The terminal summary at the end of a run: how much was counted, which counts do not repeat themselves, the next commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpubench.analysis.tables import table
from dpubench.run.console import SUMMARY_LINES, failure_lines, tail_lines
from dpubench.studies.counts import wording
from dpubench.studies.counts.model import RunSummary
from dpubench.studies.counts.text import FLUSH, HEADER, row_of


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """Return the summary of a finished run: how much was counted, and which counts do not repeat themselves.

    It has at most :data:`~dpubench.run.console.SUMMARY_LINES` lines, unless failures need more.
    """
    head = [f"{path.name}: {wording.counts_text(run)}", f"{wording.how_text(run)}; no times"]
    head += failure_lines(record["failures"][:2], 6, path)
    tail = [*tail_lines(path, report, len(run.left_out)), "gate: dpubench compare OLD NEW --fail-on regression"]
    rows = [row_of(p)[:5] for p in run.points if p.there and not p.exact] or [row_of(p)[:5] for p in run.points if p.there]
    room = max(SUMMARY_LINES - len(head) - len(tail) - 1, 3)
    more = [f"... and {len(rows) - room + 1} more"] if len(rows) > room else []
    shown = table(HEADER[:5], rows[: room - len(more)], FLUSH[:5]).splitlines() if rows else []
    return [*head, *shown, *more, *tail]
