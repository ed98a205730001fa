"""The terminal summary at the end of a run of figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dpubench.run.console import SUMMARY_LINES, failure_lines, tail_lines
from dpubench.studies.measured import text
from dpubench.studies.measured.model import RunSummary

#: Most lines for the reasons of failures.
FAILURE_LINES: Final = 6


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """Return the summary: at most :data:`SUMMARY_LINES` lines, unless failures need more."""
    head = [f"{path.name}{'' if run.target == 'local' else f' on {run.target}'}: {text.counts(run)}"]
    head += failure_lines(record["failures"][:2], FAILURE_LINES, path)
    tail = tail_lines(path, report, len(run.left_out))
    room = max(SUMMARY_LINES - len(head) - len(tail) - 2, 3)
    lines = [line for found in text.tables_of(run) for line in _table(found)]
    more = [f"... and {len(lines) - room} more lines: dpubench show {path}"] if len(lines) > room else []
    return [*head, *lines[:room], *more, *tail]


def _table(found: text.PointsTable) -> list[str]:
    """Return a table with only the points that have figures or were verified, under its title; nothing without any."""
    measured = [point for point in found.points if point.figures or point.verified]
    shown = text.points_table(replace(found, points=measured)).splitlines() if measured else []
    return [*text.heading(found), *shown] if shown else []
