"""Text output of a run of study ``counts`` for a terminal, a pipe or a log."""

from __future__ import annotations

from collections.abc import Sequence

from dpubench.analysis import tables
from dpubench.analysis.tables import section, table
from dpubench.studies.counts import wording
from dpubench.studies.counts.model import PointSummary, RunSummary

HEADER = ("operator", "parameters", "engine", "instructions/op", "repeats", "remarks")
FLUSH = (False, False, False, True, False, False)


def show(runs: Sequence[RunSummary]) -> str:
    """Return ``runs`` as text: every point with its count, the engines that cannot be counted, the failures."""
    return tables.of_runs(runs, _shown)


def _shown(run: RunSummary) -> list[str]:
    lines = [
        tables.title(run),
        f"{wording.how_text(run)}; {run.build_info.get('compiler', '')}; dpubench {run.version}",
        wording.counts_text(run),
    ]
    if run.points and run.model:
        rows = [(*row[:4], wording.cycles_text(p), *row[4:]) for p in run.points for row in [row_of(p)]]
        lines += [wording.model_text(run), "", table((*HEADER[:4], "modelled cycles/op", *HEADER[4:]), rows, (*FLUSH[:4], True, *FLUSH[4:]))]
    elif run.points:
        lines += ["", table(HEADER, [row_of(p) for p in run.points], FLUSH)]
    return [
        *lines,
        *section("Not counted", [f"{engine} of {name}: {reason}" for name, engine, reason in run.not_counted]),
        *tables.troubles(run),
    ]


def row_of(point: PointSummary) -> tuple[str, ...]:
    told = point.failure or "; ".join(filter(None, [wording.path_text(point), point.no_cycles and f"no cycles: {point.no_cycles}"]))
    return (
        point.operator, wording.parameters_text(point), point.engine, wording.per_op_text(point), wording.repeats_text(point), told,
    )  # fmt: skip
