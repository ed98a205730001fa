"""The last lines of a run on the terminal: the results, how far to trust them, where to go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from dpubench.analysis.digits import percent, significant
from dpubench.analysis.tables import table
from dpubench.run.console import SUMMARY_LINES, failure_lines, tail_lines
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PointSummary, RunSummary

#: Largest number of lines for the reasons of failures.
FAILURE_LINES: Final = 8


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """Return at most :data:`SUMMARY_LINES` lines, unless failures need more."""
    if run.times_mean_nothing:
        return [
            f"{path.name}{'' if run.target == 'local' else f' on {run.target}'}: {wording.verified_text(run)}",
            *failure_lines(record["failures"][:2], FAILURE_LINES, path),
            *(f"{point.id}: {point.verified}" for point in [p for p in run.points if p.verified][:SUMMARY_LINES]),
            *tail_lines(path, report, len(run.left_out)),
        ]
    measured = [p for p in run.points if p.throughput_pps is not None]
    silent = sum(not wording.says_of_the_server(p) for p in run.points)
    unsure = sum(not p.converged for p in measured)
    head = [
        f"{path.name}{'' if run.target == 'local' else f' on {run.target}'}: {len(measured)} of {len(run.points)} points, {run.rounds} rounds, "
        f"{run.trials} trials ({'; '.join(run.labels)})",
        f"{unsure} of {len(measured)} points did not reach ±{100 * run.precision_target:g} %; {silent} limited by the client or by stalls; "
        f"{len(record['failures'])} failures",
        *filter(None, [_trials(run)]),
        *wording.requirements(run.points),
    ]
    tail = tail_lines(path, report, len(run.left_out))
    head += failure_lines(record["failures"][:2], FAILURE_LINES, path)
    rows = [_row(p) for p in measured]
    room = max(SUMMARY_LINES - len(head) - len(tail) - 1, 3)
    if len(rows) > room:
        rows = [*rows[: room - 1], (f"... and {len(rows) - room + 1} more", *[""] * (len(_HEADER) - 1))]
    return [*head, *(table(_HEADER, rows, [False, False, False, *[True] * 5]).splitlines() if rows else []), *tail]


_HEADER: Final = ("workload", "frame", "load", "Mpps", "loss", "CPU", "inserts", "p99 us (client's lag)")


def _trials(run: RunSummary) -> str:
    """Return which trials were discarded, and how many points were left out beforehand."""
    above = sum(bool(p.left_out) for p in run.points)
    left = f"{above} points lie above the client's ceiling and were left out" if above else ""
    tried = wording.discarded(run.tried, run.tried_again)
    return "; ".join(filter(None, [f"of {run.trials} trials, {tried}" if tried else "", left]))


def _row(point: PointSummary) -> tuple[str, ...]:
    assert point.throughput_pps is not None  # only measured points have a row
    at_least = "" if wording.says_of_the_server(point) else ">= "
    loss = "" if point.loss_ratio is None else wording.loss_text(point, 2)
    share = "" if point.server_cpu_share is None else f"{100 * point.server_cpu_share.value:.0f} %"
    inserts = "" if point.inserted_share is None else percent(point.inserted_share.value, 2)
    p99 = "" if point.latency is None else wording.latency_text(point, "p99")
    engines = f" {'+'.join(point.engines.values())}" if point.engines else ""
    start = f" {point.params['start']}" if "start" in point.params else ""
    name = f"{point.workload}{engines}{start}" + ("" if point.placement == "all-host" else f", {wording.placement_text(point)}")
    return name, wording.frame_text(point), point.load, at_least + significant(point.throughput_pps.value / 1e6, 3), loss, share, inserts, p99
