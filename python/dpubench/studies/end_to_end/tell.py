"""The end of a run on the terminal: what was measured, how far to trust it, where to go on; and its report."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

from dpubench.errors import UserError
from dpubench.results.export import significant
from dpubench.results.text import table
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PointSummary, RunSummary

SUMMARY_LINES: Final = 20


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """At most :data:`SUMMARY_LINES` lines, unless failures need more."""
    measured = [p for p in run.points if p.throughput_pps is not None]
    silent = sum(not wording.says_of_the_server(p) for p in run.points)
    unsure = sum(not p.converged for p in measured)
    head = [
        f"{path.name}: {len(measured)} of {len(run.points)} points, {run.rounds} rounds, {run.trials} trials ({'; '.join(run.labels)})",
        f"{unsure} of {len(measured)} points did not reach ±{100 * run.precision_target:g} %; {silent} limited by the client or by stalls; "
        f"{len(record['failures'])} failures",
    ]
    head += _failures(record["failures"][:2], path)
    tail = [f"left out: {len(run.left_out)} things, listed in the report and in run.json"] if run.left_out else []
    tail += [f"report: {report}"] if report is not None else [f"results: {path}"]
    tail += [f"next: dpubench show {named(path)}"]
    rows = [_row(p) for p in measured]
    room = max(SUMMARY_LINES - len(head) - len(tail) - 1, 3)
    if len(rows) > room:
        rows = [*rows[: room - 1], (f"... and {len(rows) - room + 1} more", "", "", "", "", "", "")]
    return [*head, *(table(_HEADER, rows, [False, False, False, True, True, True, True]).splitlines() if rows else []), *tail]


_HEADER: Final = ("workload", "frame", "load", "Mpps", "loss", "CPU", "p99 us")


def _row(point: PointSummary) -> tuple[str, ...]:
    assert point.throughput_pps is not None  # only such points are shown
    at_least = "" if wording.says_of_the_server(point) else ">= "
    loss = "" if point.loss_ratio is None else f"{100 * point.loss_ratio.value:.2g} %"
    share = "" if point.server_cpu_share is None else f"{100 * point.server_cpu_share.value:.0f} %"
    p99 = "" if point.latency is None else significant(point.latency.p99.value / 1e3, 3)
    engines = f" {'+'.join(point.engines.values())}" if point.engines else ""
    name = f"{point.workload}{engines}" + ("" if point.placement == "all-host" else f", {wording.placement_text(point)}")
    return name, wording.frame_text(point), point.load, at_least + significant(point.throughput_pps.value / 1e6, 3), loss, share, p99


def _failures(failures: list[dict[str, Any]], path: Path) -> list[str]:
    width = max(shutil.get_terminal_size((120, 24)).columns, 60)
    lines: list[str] = []
    for failure in failures:
        told = " ".join(f"failed: {failure.get('point', failure.get('group', 'the run'))}: {failure['message']}".split())
        wrapped = textwrap.wrap(told, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        lines += wrapped[:4] + ([f"  ... the rest of it: dpubench show {named(path)}"] if len(wrapped) > 4 else [])
    return lines


def named(path: Path) -> str:
    """How a command names this run: by name where it is found by name, else by path."""
    default = Path(os.environ.get("DPUBENCH_RESULTS", "results"))
    return path.name if path.parent.resolve() == default.resolve() else str(path)


def write_report(analysed: list[RunSummary], path: Path) -> Path | None:
    """The run's HTML report; None, with the reason on standard error, when it cannot be written."""
    from dpubench.studies.end_to_end.study import STUDY

    file = path / "report.html"
    try:
        STUDY.write_report(analysed, file)
    except (UserError, ValueError, OSError) as error:
        # The measurement is done and kept: a report that cannot be written must not make it look lost.
        print(f"dpubench: no report: {error}; try `dpubench report {named(path)}`", file=sys.stderr)
        return None
    return file
