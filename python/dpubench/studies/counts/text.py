"""Text output of a run of study ``counts`` for a terminal, a pipe or a log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpubench.analysis.tables import failure_line, section, table, warning_lines
from dpubench.run.console import SUMMARY_LINES, failure_lines, tail_lines
from dpubench.studies.counts import wording
from dpubench.studies.counts.model import PointSummary, RunSummary

_HEADER = ("operator", "parameters", "engine", "instructions/op", "repeats", "remarks")
_FLUSH = (False, False, False, True, False, False)


def show(runs: Sequence[RunSummary]) -> str:
    """Return ``runs`` as text: every point with its count, the engines that cannot be counted, the failures."""
    return "\n\n".join("\n".join(_shown(run)) for run in runs) + "\n"


def _shown(run: RunSummary) -> list[str]:
    lines = [
        f"{run.name} [{run.label}]: study {run.study}, plan {run.plan}, {run.status}, started {run.started}",
        f"{wording.how_text(run)}; {run.build_info.get('compiler', '')}; dpubench {run.version}",
        wording.counts_text(run),
    ]
    if run.points and run.model:
        rows = [(*row[:4], wording.cycles_text(p), *row[4:]) for p in run.points for row in [_row(p)]]
        lines += [wording.model_text(run), "", table((*_HEADER[:4], "modelled cycles/op", *_HEADER[4:]), rows, (*_FLUSH[:4], True, *_FLUSH[4:]))]
    elif run.points:
        lines += ["", table(_HEADER, [_row(p) for p in run.points], _FLUSH)]
    return [
        *lines,
        *section("Not counted", [f"{engine} of {name}: {reason}" for name, engine, reason in run.not_counted]),
        *section("Warnings", warning_lines(run.warnings)),
        *section("Failures", [failure_line(f.point or f.group, f.phase, f.message) for f in run.failures]),
        *section("Left out", run.left_out),
    ]


def _row(point: PointSummary) -> tuple[str, ...]:
    told = point.failure or "; ".join(filter(None, [wording.path_text(point), point.no_cycles and f"no cycles: {point.no_cycles}"]))
    return (
        point.operator, wording.parameters_text(point), point.engine, wording.per_op_text(point), wording.repeats_text(point), told,
    )  # fmt: skip


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """Return the summary of a finished run: how much was counted, and which counts do not repeat themselves.

    It has at most :data:`~dpubench.run.console.SUMMARY_LINES` lines, unless failures need more.
    """
    head = [f"{path.name}: {wording.counts_text(run)}", f"{wording.how_text(run)}; no times"]
    head += failure_lines(record["failures"][:2], 6, path)
    tail = [*tail_lines(path, report, len(run.left_out)), "gate: dpubench compare OLD NEW --fail-on regression"]
    rows = [_row(p)[:5] for p in run.points if p.there and not p.exact] or [_row(p)[:5] for p in run.points if p.there]
    room = max(SUMMARY_LINES - len(head) - len(tail) - 1, 3)
    more = [f"... and {len(rows) - room + 1} more"] if len(rows) > room else []
    shown = table(_HEADER[:5], rows[: room - len(more)], _FLUSH[:5]).splitlines() if rows else []
    return [*head, *shown, *more, *tail]
