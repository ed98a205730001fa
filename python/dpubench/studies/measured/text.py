"""Runs of figures as plain text for a terminal, a pipe or a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpubench.analysis import tables
from dpubench.analysis.digits import significant
from dpubench.analysis.export import words
from dpubench.analysis.model import Interval, Quantity
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
        *(line for found in tables_of(run) for line in ["", *heading(found), points_table(found)]),
        *tables.troubles(run),
    ]


def counts(run: RunSummary) -> str:
    """Return how many points were measured, and how many are less precise than the plan asks."""
    if run.origin == "emulated":
        work = sum(bool(p.verified) for p in run.points)
        return f"{count(len(run.points), 'point')}, {work} verified; {run.label}, so that no time or rate is shown"
    if run.origin == "modelled":
        return f"{count(len(run.points), 'point')}, {sum(bool(p.figures) for p in run.points)} with figures; {run.label or 'modelled'}"
    measured = [p for p in run.points if p.figures]
    loose = sum(not p.converged for p in measured)
    return f"{count(len(run.points), 'point')}, {len(measured)} measured in {count(run.rounds, 'round')}; {loose} did not converge"


@dataclass(frozen=True)
class PointsTable:
    """Points whose figures stand in one table."""

    title: str  #: empty if the run has only one table
    fixed: str  #: parameters that all its points share, in words
    parameters: Sequence[str]  #: names of the others
    points: Sequence[PointSummary]
    quantities: Sequence[Quantity]  #: those that one of the points has, or could have
    is_exact: bool = False  #: whether its figures are modelled, so that they have no intervals


def tables_of(run: RunSummary) -> list[PointsTable]:
    """Return the points of ``run`` in tables: one for each value of their parameter ``test``, for studies whose points measure different things."""
    by_test: dict[str, list[PointSummary]] = {}
    for point in run.points:
        by_test.setdefault(point.parameters.get("test", ""), []).append(point)
    quantities = [] if run.origin == "emulated" else run.quantities
    return [_table_of(test, points, quantities, is_exact=run.origin == "modelled") for test, points in by_test.items()]


def _table_of(test: str, points: Sequence[PointSummary], quantities: Sequence[Quantity], *, is_exact: bool) -> PointsTable:
    names = [name for name in dict.fromkeys(name for point in points for name in point.parameters) if name != "test"]
    varying = [name for name in names if len({point.parameters.get(name) for point in points}) > 1] or names
    fixed = words({name: points[0].parameters[name] for name in names if name not in varying})
    return PointsTable(test, fixed, varying, points, _had(quantities, points), is_exact)


def _had(quantities: Sequence[Quantity], points: Sequence[PointSummary]) -> Sequence[Quantity]:
    return [q for q in quantities if any(q.name in p.figures for p in points)] or quantities[:1]


def heading(shown: PointsTable) -> list[str]:
    """Return the line above a table; none where nothing needs to be said."""
    return [": ".join(filter(None, [shown.title, shown.fixed]))] if shown.title or shown.fixed else []


def points_table(shown: PointsTable) -> str:
    """Return a table: parameters, and each quantity with its interval."""
    header = (*shown.parameters, *(heading_of(q) for q in shown.quantities), "remarks")
    rows = [
        (*parameters_of(shown, p), *(figure_text(shown, p, q) for q in shown.quantities), remarks(p)) for p in shown.points
    ]  # fmt: skip
    return table(header, rows, [*(is_number_column(shown, n) for n in shown.parameters), *(True for _ in shown.quantities), False])


def heading_of(quantity: Quantity) -> str:
    """Return the head of a quantity's column: its title, with the unit if it has one."""
    return f"{quantity.title} ({quantity.unit})" if quantity.unit else quantity.title


def parameters_of(shown: PointsTable, point: PointSummary) -> list[str]:
    """Return the values of the table's parameters at a point; empty where it has none."""
    return [point.parameters.get(name, "") for name in shown.parameters]


def is_number_column(shown: PointsTable, name: str) -> bool:
    """Return whether a parameter has only numbers in a table."""
    return all(point.parameters.get(name, "").isdigit() for point in shown.points)


def figure_text(shown: PointsTable, point: PointSummary, quantity: Quantity) -> str:
    """Return a figure as a table shows it; ``-`` where there is none. A modelled one stands alone."""
    found = point.figures.get(quantity.name)
    return significant(found.value) if shown.is_exact and found is not None else interval_text(found)


def interval_text(interval: Interval | None) -> str:
    """Return a figure with its interval: ``12.3 [12.1, 12.5]``; ``-`` where there is none."""
    if interval is None:
        return "-"
    value = significant(interval.value)
    return f"{value} [{significant(interval.low)}, {significant(interval.high)}]" if math.isfinite(interval.low) else f"{value}, no interval"


def remarks(point: PointSummary) -> str:
    return point.failure or point.unavailable or " ".join(filter(None, [point.verified, *sorted({w.code for w in point.warnings})]))
