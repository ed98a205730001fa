"""What ``run`` and ``resume`` share: carrying a run out under signals, the report at its end, the summary on the terminal."""

from __future__ import annotations

import os
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpubench import targets
from dpubench.cli._progress import JsonEvents, listener
from dpubench.errors import Interrupted, UserError
from dpubench.plans.model import Plan
from dpubench.results.store import RunWriter
from dpubench.runner import stopping
from dpubench.runner.execute import Run, Setting
from dpubench.runner.model import Point
from dpubench.workers.process import StopRequest

SUMMARY_LINES = 20


def cpus() -> list[int]:
    """CPUs that may be used, one of each physical core first: threads are pinned to them in this order."""
    usable = sorted(os.sched_getaffinity(0))
    first, second = [], []
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


def carry_out(writer: RunWriter, plan: Plan, record: dict[str, Any], program: Path, inputs: Mapping[str, list[str]], stop: StopRequest, *, as_json: bool) -> int:
    """Executes the run and tells how it went; its exit status."""
    setting = record["setting"]
    against = Path(setting["against"]) if setting["against"] else None
    with listener(as_json) as display:
        run = Run(
            writer, plan,
            Setting(program, targets.find(plan.target), cpus(), stop, display, [Path(d) for d in setting["engine_dirs"]], against),
            record, inputs,
        )  # fmt: skip
        try:
            status = run.execute()
        except Interrupted as error:
            kept = sum(len(r) for p in run.points for r in p.rates.values())
            raise Interrupted(f"{error}; {kept} windows are kept in {writer.path}; continue with `dpubench resume {_named(writer.path)}`") from None
    report = write_report(writer.path)
    if as_json and isinstance(display, JsonEvents):
        failed = [f for f in record["failures"]]
        display.emit({"event": "summary", "run": str(writer.path), "report": str(report or ""), "status": int(status), "failures": len(failed), "points": len(run.points)})
    else:
        print("\n".join(summary(run, writer.path, report)))
    return int(status)


def write_report(path: Path) -> Path | None:
    """The run's HTML report; None where this installation has none."""
    try:
        from dpubench import report
    except ImportError:
        return None
    file = path / "report.html"
    try:
        report.write([path], file)
    except UserError as error:
        # The measurement is done and kept: a report that cannot be written must not make it look lost.
        print(f"dpubench: no report: {error}; try `dpubench report {_named(path)}`")
        return None
    return file


def _named(path: Path) -> str:
    """How a command names this run: by name where it is found by name, else by path."""
    default = Path(os.environ.get("DPUBENCH_RESULTS", "results"))
    return path.name if path.parent.resolve() == default.resolve() else str(path)


def summary(run: Run, path: Path, report: Path | None) -> list[str]:
    """At most :data:`SUMMARY_LINES` lines: what was measured, how far to trust it, the best engine of each operator, where to go on."""
    points = [p for p in run.points if p.rates]
    known = [p for p in points if stopping.has_converged(p, run.plan.precision, run.plan.rounds.min)]
    rounds, failures = run.record["rounds"], run.record["failures"]
    operators = list(dict.fromkeys(p.configuration.operator for p in points))
    head = [
        f"{path.name}: {len(points)} points of {len(operators)} operators, {len(rounds)} rounds, {sum(r['windows'] for r in rounds)} windows",
        f"{len(points) - len(known)} of {len(points)} points did not reach ±{100 * run.plan.precision:g} %; {len(run.record['warnings'])} warnings; {len(failures)} failures",
    ]
    head += [f"failed: {f.get('point', 'the run')}: {f['message'].splitlines()[0]}"[:160] for f in failures[:2]]
    tail = [f"left out: {len(run.record['left_out'])} things, listed in the report and in run.json"] if run.record["left_out"] else []
    tail += [f"report: {report}"] if report is not None else [f"results: {path}"]
    tail += [f"next: dpubench show {_named(path)}"]
    cells = [_cell(run, operator, points) for operator in operators]
    room = SUMMARY_LINES - len(head) - len(tail)
    return head + _columns(cells, room) + tail


def _cell(run: Run, operator: str, points: list[Point]) -> str:
    """``aes  openssl 24.1 Gb/s ±2 %, 1.31 x portable``: the operator's first configuration, its best engine."""
    entry = run.record["operators"][operator]
    own = [p for p in points if p.configuration.operator == operator and not p.build]
    own = [p for p in own if p.configuration.id == own[0].configuration.id]
    rates = {p.engine: statistics.median(stopping.round_medians(p)) for p in own}
    best = max(own, key=lambda p: rates[p.engine])
    size = best.configuration.params.get("size")
    rate = rates[best.engine]
    if entry["primary_metric"] == "gbps" and size:
        shown = f"{rate * int(size) * 8 / 1e9:.3g} Gb/s"
    else:
        shown = f"{rate / 1e6:.3g} Mops/s" if entry["primary_metric"] != "kops" else f"{rate / 1e3:.3g} kops/s"
    precision = stopping.precision(best)
    spread = f" ±{100 * precision:.2g} %" if precision == precision else ""
    reference = entry["reference_engine"]
    ratio = f", {rate / rates[reference]:.2f} x {reference}" if reference in rates and reference != best.engine else ""
    return f"{operator:<12} {best.engine} {shown}{spread}{ratio}"


def _columns(cells: list[str], room: int) -> list[str]:
    """``cells`` in as many columns as ``room`` lines need."""
    if not cells:
        return []
    columns = -(-len(cells) // max(room, 1))
    lines = -(-len(cells) // columns)
    width = max(map(len, cells)) + 3
    return ["".join(c.ljust(width) for c in cells[i::lines]).rstrip() for i in range(lines)]


