"""Runs of study ``offload`` as plain text for a terminal, a pipe or a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dpubench.analysis import tables
from dpubench.analysis.tables import section, table
from dpubench.studies.measured import text as measured
from dpubench.studies.measured.text import PointsTable
from dpubench.studies.offload import quantities
from dpubench.studies.offload.model import RunSummary
from dpubench.studies.offload.trends import Trend

#: Quantities of a terminal's tables: all others are in the page and in exports.
_SHOWN: Final = (
    quantities.EFFICIENCY, quantities.COMMUNICATION_GAIN, quantities.OVERLAP, quantities.STEP_GAIN, quantities.REFERENCE, quantities.COMMUNICATION,
    quantities.COMPUTE, quantities.OVERLAPPED, quantities.MPI_BLOCKING, quantities.MPI_NONBLOCKING,
)  # fmt: skip


def show(runs: Sequence[RunSummary]) -> str:
    """Return ``runs`` as text: every point, published trends beside a model, its parameters, warnings, failures, and omissions."""
    return tables.of_runs(runs, _shown)


def _shown(run: RunSummary) -> list[str]:
    return [
        tables.title(run),
        tables.origin(run) if run.cluster is None else f"{run.cluster.title}, dpubench {run.version}",
        measured.counts(run),
        *filter(None, [run.started_by]),
        *(line for found in tables_of(run) for line in ["", *measured.heading(found), measured.points_table(found)]),
        *section("Withheld", withheld_lines(run)),
        *section("Published trends (Michalowicz et al., PEARC 2023) beside the model", trend_lines(run)),
        *section("Parameters of the model", parameter_lines(run)),
        *tables.troubles(run),
    ]


def tables_of(run: RunSummary) -> list[PointsTable]:
    """Return the tables of a run, with the quantities that a terminal has room for."""
    return [_narrow(found) for found in measured.tables_of(run)]


def _narrow(found: PointsTable) -> PointsTable:
    shown = [q for q in found.quantities if q.name in _SHOWN]
    return PointsTable(found.title, found.fixed, found.parameters, found.points, shown or found.quantities, found.is_exact)


def withheld_lines(run: RunSummary) -> list[str]:
    """Return why efficiencies of some points are not shown, each reason once."""
    reasons: dict[str, int] = {}
    for point in run.points:
        for reason in set(point.withheld.values()):
            reasons[reason] = reasons.get(reason, 0) + 1
    return [f"efficiencies of {tables.count(number, 'point')}: {reason}" for reason, number in reasons.items()]


def trend_lines(run: RunSummary) -> list[str]:
    """Return each published trend with its verdict, the reason and the criterion."""
    return [line for trend in run.trends for line in _trend(trend)]


def _trend(trend: Trend) -> Iterator[str]:
    yield f"{trend.verdict}: {trend.claim}"
    yield f"    {trend.reason}"
    yield f"    criterion: {trend.criterion}; {without_words(trend)}"


def without_words(trend: Trend) -> str:
    """Return what the model says without its assumed contention."""
    return "the same without contention" if trend.without_contention == trend.verdict else f"without contention: {trend.without_contention}"


def parameter_lines(run: RunSummary) -> list[str]:
    """Return the values of a modelled cluster, each with its source or the word *assumed*."""
    if run.cluster is None:
        return []
    rows = [(s.name, f"{s.value:g}", s.unit, s.source or f"assumed: {s.assumed}") for s in run.cluster.sources]
    return table(("parameter", "value", "unit", "source"), rows, [False, True, False, False]).splitlines()
