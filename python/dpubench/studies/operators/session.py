"""What running and resuming share: carrying a run out under signals, the report at its end, the summary on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpubench import programs
from dpubench.errors import Interrupted, TargetLost
from dpubench.progress import JsonEvents, listener
from dpubench.results import text
from dpubench.results.digits import percent
from dpubench.results.model import PointSummary, RunSummary
from dpubench.results.store import RunSetWriter, RunWriter
from dpubench.results.summary import summaries, summarize
from dpubench.runner.execute import Budget, Run
from dpubench.runner.measure import OTHER_BUILD
from dpubench.runner.setting import Listener, Setting
from dpubench.runner.telling import SUMMARY_LINES, failure_lines, named, summary_event, tail_lines, write_report
from dpubench.runner.together import RunSet, missing_text
from dpubench.studies.operators.plan import Plan
from dpubench.studies.operators.study import STUDY
from dpubench.targets import Target
from dpubench.workers.process import StopRequest

#: Lines that the table of operators keeps, however long the reasons of failures are.
TABLE_LINES = 6


@dataclass(frozen=True)
class Part:
    """What a run needs on one of its targets: where it is kept, what is measured there, on which inputs."""

    writer: RunWriter
    plan: Plan
    record: dict[str, Any]
    target: Target
    inputs: Mapping[str, Sequence[str]]  #: kind -> files of this machine

    def run(self, stop: StopRequest, display: Listener, budget: Budget | None = None) -> Run:
        """Ready to be executed; ``budget``: its share, as one of several."""
        given = self.record["setting"]
        against = Path(given["against"]) if given["against"] else None
        # An emulator tells right from wrong whatever lies where.
        layouts = {} if self.target.times_mean_nothing else {"": int(self.record["build"].get("layouts", 1))}
        if against is not None:
            layouts[OTHER_BUILD] = programs.layouts(against)
        setting = Setting(
            self.target, given["program"], self.target.cpus(), self.target.cache_directory(), stop, display,
            [Path(d) for d in given["engine_dirs"]], against, layouts,
            devices=given.get("devices", []), heading="" if budget is None else f"{self.target.name}: ",
        )  # fmt: skip
        return Run(self.writer, self.plan, setting, self.record, self.inputs, budget)


def carry_out(part: Part, stop: StopRequest, *, as_json: bool) -> int:
    """Executes the run and tells how it went; its exit status."""
    path = part.writer.path
    with listener(as_json) as display:
        run = part.run(stop, display)
        try:
            status = run.execute()
        except (Interrupted, TargetLost) as error:
            missing = "".join(f"; {text}" for text in [missing_text(run)] if text)
            again = f"continue with `dpubench resume {named(path)}`"
            raise type(error)(f"{error}; {_kept([run])} windows are kept in {path}{missing}; {again}") from None
    analysed = summarize(path)
    report = write_report(STUDY, [analysed], path)
    if as_json and isinstance(display, JsonEvents):
        display.emit(_summary_event(path, report, status, [run]))
    else:
        print("\n".join(summary(run, analysed, path, report)))
    return int(status)


def carry_out_together(
    writer: RunSetWriter, record: dict[str, Any], parts: Sequence[Part], seconds: float, stop: StopRequest, *, as_json: bool
) -> int:
    """Executes the runs of several targets in turns and tells how they went; the exit status. ``seconds``: their budget, together."""
    with listener(as_json) as display:
        share = seconds / len(record["targets"])
        runs = [part.run(stop, display, Budget(share, float(part.record["spent_s"]))) for part in parts]
        together = RunSet(writer, record, runs, display)
        again = f"continue with `dpubench resume {named(writer.path)}`"
        try:
            status = together.execute()
        except Interrupted as error:
            raise Interrupted(f"{error}; {_kept(runs)} windows are kept in {writer.path}; {again}") from None
    analysed = summaries(writer.path)
    report = write_report(STUDY, analysed, writer.path)
    if as_json and isinstance(display, JsonEvents):
        display.emit(_summary_event(writer.path, report, status, runs))
    else:
        owing = [entry["name"] for entry in record["targets"] if entry["status"] == "interrupted"]
        tail = [f"not complete: {', '.join(owing)}; {again}"] if owing else []
        tail += tail_lines(writer.path, report)
        failures = [failure for run in runs for failure in run.record["failures"]][:2]
        failed = failure_lines(failures, SUMMARY_LINES // 3, writer.path)
        print("\n".join([*text.targets(analysed, SUMMARY_LINES - len(tail) - len(failed)), *failed, *tail]))
    return int(status)


def _kept(runs: Sequence[Run]) -> int:
    return sum(len(r) for run in runs for p in run.points for r in p.rates.values())


def _summary_event(path: Path, report: Path | None, status: int, runs: Sequence[Run]) -> dict[str, Any]:
    return summary_event(path, report, int(status), sum(len(run.record["failures"]) for run in runs), sum(len(run.points) for run in runs))


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
    tail = tail_lines(path, report, len(run.record["left_out"]))
    cells = [_cell(analysed, operator, points) for operator in operators]
    if analysed.times_mean_nothing:
        head = text.targets([analysed])
    head += failure_lines(failures[:2], SUMMARY_LINES - len(head) - len(tail) - min(len(cells), TABLE_LINES), path)
    return head + _columns(cells, SUMMARY_LINES - len(head) - len(tail)) + tail


def _cell(analysed: RunSummary, operator: str, points: list[PointSummary]) -> str:
    """``aes  openssl 24.1 Gb/s ±2 %, 1.31 x portable``: the default configuration (else the first), its best engine."""
    own = [p for p in points if p.operator == operator and not p.build]
    defaults = {p["name"]: p["default"] for p in analysed.operators[operator]["parameters"]}
    shown = next((p for p in own if p.params == defaults), own[0])
    own = [p for p in own if p.configuration == shown.configuration]
    best = max(own, key=_rate)
    spread = f" ±{percent(best.precision, 2)}" if math.isfinite(best.precision) else ""
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
