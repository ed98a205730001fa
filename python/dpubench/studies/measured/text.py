"""Runs of figures as plain text for a terminal, a pipe or a log."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpubench.analysis import tables
from dpubench.analysis.digits import significant
from dpubench.analysis.export import words
from dpubench.analysis.model import Interval
from dpubench.analysis.tables import count, table
from dpubench.studies.measured.model import PointSummary, RunSummary


def show(runs: Sequence[RunSummary]) -> str:
    """Return ``runs`` as text: every point with its figures and their 95 % intervals, warnings, failures, and omissions."""
    return tables.of_runs(runs, _shown)


def _shown(run: RunSummary) -> list[str]:
    return [
        tables.title(run),
        tables.origin(run),
        counts(run),
        *(["", points_table(run, run.points)] if run.points else []),
        *tables.troubles(run),
    ]


def counts(run: RunSummary) -> str:
    """Return how many points were measured, and how many are less precise than the plan asks."""
    measured = [p for p in run.points if p.figures]
    loose = sum(not p.converged for p in measured)
    return f"{count(len(run.points), 'point')}, {len(measured)} measured in {count(run.rounds, 'round')}; {loose} did not converge"


def points_table(run: RunSummary, points: Sequence[PointSummary]) -> str:
    """Return a table of ``points``: parameters, and each quantity with its interval."""
    header = ("parameters", *(f"{q.title} ({q.unit})" for q in run.quantities), "remarks")
    rows = [(words(p.parameters), *(interval_text(p.figures.get(q.name)) for q in run.quantities), remarks(p)) for p in points]
    return table(header, rows, [False, *(True for _ in run.quantities), False])


def interval_text(interval: Interval | None) -> str:
    """Return a figure with its interval: ``12.3 [12.1, 12.5]``; ``-`` where there is none."""
    if interval is None:
        return "-"
    value = significant(interval.value)
    return f"{value} [{significant(interval.low)}, {significant(interval.high)}]" if math.isfinite(interval.low) else f"{value}, no interval"


def remarks(point: PointSummary) -> str:
    return point.failure or point.unavailable or " ".join(sorted({w.code for w in point.warnings}))
