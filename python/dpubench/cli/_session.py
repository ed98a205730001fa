"""What ``run`` and ``resume`` share: carrying a run out under signals, the report at its end, the summary on the terminal."""

from __future__ import annotations

import math
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpubench import targets
from dpubench.cli._progress import JsonEvents, listener
from dpubench.errors import Interrupted, UserError
from dpubench.plans.model import Plan
from dpubench.results.model import PointSummary, RunSummary
from dpubench.results.store import RunWriter
from dpubench.results.summary import summarize
from dpubench.runner.execute import Run
from dpubench.runner.setting import Setting
from dpubench.workers.process import StopRequest

SUMMARY_LINES = 20
#: Lines that the table of operators keeps, however long the reasons of failures are.
TABLE_LINES = 6


def cpus() -> list[int]:
    """CPUs that may be used, one of each physical core first: threads are pinned to them in this order."""
    usable = sorted(os.sched_getaffinity(0))
    first: list[int] = []
    second: list[int] = []
    seen: set[str] = set()
    for cpu in usable:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            core = siblings.read_text(encoding="ascii").strip()
        except OSError:
            core = str(cpu)
        (second if core in seen else first).append(cpu)
        seen.add(core)
    return first + second


def carry_out(
    writer: RunWriter, plan: Plan, record: dict[str, Any], program: Path, inputs: Mapping[str, list[str]], stop: StopRequest, *, as_json: bool
) -> int:
    """Executes the run and tells how it went; its exit status."""
    setting = record["setting"]
    against = Path(setting["against"]) if setting["against"] else None
    with listener(as_json) as display:
        run = Run(
            writer, plan,
            Setting(program, targets.find(plan.target), cpus(), stop, display, [Path(d) for d in setting["engine_dirs"]], against,
                    devices=setting.get("devices", [])),
            record, inputs,
        )  # fmt: skip
        try:
            status = run.execute()
        except Interrupted as error:
            kept = sum(len(r) for p in run.points for r in p.rates.values())
            raise Interrupted(f"{error}; {kept} windows are kept in {writer.path}; continue with `dpubench resume {_named(writer.path)}`") from None
    analysed = summarize(writer.path)
    report = write_report(analysed, writer.path)
    if as_json and isinstance(display, JsonEvents):
        failed = list(record["failures"])
        display.emit(
            {
                "event": "summary",
                "run": str(writer.path),
                "report": str(report or ""),
                "status": int(status),
                "failures": len(failed),
                "points": len(run.points),
            }
        )
    else:
        print("\n".join(summary(run, analysed, writer.path, report)))
    return int(status)


def write_report(analysed: RunSummary, path: Path) -> Path | None:
    """The run's HTML report; None, with the reason on standard error, when it cannot be written."""
    from dpubench import report

    file = path / "report.html"
    try:
        report.write([analysed], file)
    except (UserError, ValueError, OSError) as error:
        # The measurement is done and kept: a report that cannot be written must not make it look lost.
        print(f"dpubench: no report: {error}; try `dpubench report {_named(path)}`", file=sys.stderr)
        return None
    return file


def _named(path: Path) -> str:
    """How a command names this run: by name where it is found by name, else by path."""
    default = Path(os.environ.get("DPUBENCH_RESULTS", "results"))
    return path.name if path.parent.resolve() == default.resolve() else str(path)


def summary(run: Run, analysed: RunSummary, path: Path, report: Path | None) -> list[str]:
    """At most :data:`SUMMARY_LINES` lines: what was measured, how far to trust it, the best engine of each operator, where to go on."""
    points = [p for p in analysed.points if p.primary is not None]
    unsure = sum(not p.converged for p in points)
    rounds, failures = run.record["rounds"], run.record["failures"]
    operators = list(dict.fromkeys(p.operator for p in points))
    head = [
        f"{path.name}: {len(points)} points of {len(operators)} operators, {len(rounds)} rounds, {sum(r['windows'] for r in rounds)} windows",
        f"{unsure} of {len(points)} points did not reach ±{100 * run.plan.precision:g} %; "
        f"{len(analysed.all_warnings())} warnings; {len(failures)} failures",
    ]
    tail = [f"left out: {len(run.record['left_out'])} things, listed in the report and in run.json"] if run.record["left_out"] else []
    tail += [f"report: {report}"] if report is not None else [f"results: {path}"]
    tail += [f"next: dpubench show {_named(path)}"]
    cells = [_cell(analysed, operator, points) for operator in operators]
    head += failure_lines(failures[:2], SUMMARY_LINES - len(head) - len(tail) - min(len(cells), TABLE_LINES), path)
    return head + _columns(cells, SUMMARY_LINES - len(head) - len(tail)) + tail


def failure_lines(failures: list[dict[str, Any]], room: int, path: Path) -> list[str]:
    """What failed and why, wrapped to the terminal; where even ``room`` lines do not hold it, where the rest is."""
    width = max(shutil.get_terminal_size((120, 24)).columns, 60)
    lines: list[str] = []
    for failure in failures:
        text = f"failed: {failure.get('point', 'the run')}: {failure['message']}"
        # A point's name and paths are copied from here: they are not broken.
        lines += textwrap.wrap(" ".join(text.split()), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], f"  ... the rest of the reasons: dpubench show {_named(path)}"]


def _cell(analysed: RunSummary, operator: str, points: list[PointSummary]) -> str:
    """``aes  openssl 24.1 Gb/s ±2 %, 1.31 x portable``: the default configuration (else the first), its best engine."""
    own = [p for p in points if p.operator == operator and not p.build]
    defaults = {p["name"]: p["default"] for p in analysed.operators[operator]["parameters"]}
    shown = next((p for p in own if p.params == defaults), own[0])
    own = [p for p in own if p.configuration == shown.configuration]
    best = max(own, key=_rate)
    spread = f" ±{100 * best.precision:.2g} %" if math.isfinite(best.precision) else ""
    reference = analysed.operators[operator]["reference_engine"]
    ratio = best.ratio_to_reference
    beside = f", {ratio.value:.2f} x {reference}" if ratio is not None and best.engine != reference else ""
    return f"{operator:<12} {best.engine} {_rate(best):.3g} {best.primary_unit}{spread}{beside}"


def _rate(point: PointSummary) -> float:
    return point.primary.value if point.primary is not None else math.nan


def _columns(cells: list[str], room: int) -> list[str]:
    """``cells`` in as many columns as ``room`` lines need."""
    if not cells:
        return []
    columns = -(-len(cells) // max(room, 1))
    lines = -(-len(cells) // columns)
    width = max(map(len, cells)) + 3
    return ["".join(c.ljust(width) for c in cells[i::lines]).rstrip() for i in range(lines)]
