"""Code shared by new and resumed runs: executes a run under signals, writes its report, and prints its summary on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench import catalog, programs, terminal
from dpubench.analysis import formats, tables
from dpubench.analysis.digits import percent
from dpubench.analysis.model import Comparison
from dpubench.analysis.naming import layout_text, parameters_text
from dpubench.analysis.tables import LOOSE
from dpubench.errors import Exit, Interrupted, TargetLost
from dpubench.run.console import SUMMARY_LINES, conclude, failure_lines, going_on, summary_event, tail_lines, write_report
from dpubench.run.progress import listener
from dpubench.run.setting import Listener, Setting
from dpubench.run.turns import RunSet, missing_text
from dpubench.storage.runs import RunSetWriter, RunWriter
from dpubench.studies.operators import comparison, text
from dpubench.studies.operators.execute import Budget, Run
from dpubench.studies.operators.measure import OTHER_BUILD
from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.plan import Plan
from dpubench.studies.operators.study import STUDY
from dpubench.studies.operators.summary import summaries, summarize
from dpubench.studies.operators.text import beside_text, loose
from dpubench.targets import Target
from dpubench.workers.process import StopRequest

#: Lines reserved for the table of operators, however long the reasons of failures are.
TABLE_LINES = 6


@dataclass(frozen=True)
class Part:
    """Everything that a run needs on one of its targets: its directory, its plan, the target and the inputs."""

    writer: RunWriter
    plan: Plan
    record: dict[str, Any]
    target: Target
    inputs: Mapping[str, Sequence[str]]  #: kind -> files on this machine

    def run(self, stop: StopRequest, display: Listener, budget: Budget | None = None) -> Run:
        """Return the run, ready to execute. ``budget``: its share of the time, if it is one of several."""
        given = self.record["setting"]
        other = Path(given["against"]) if given["against"] else None
        # An emulator only checks results, and code layouts do not change them.
        layouts = {} if self.target.times_mean_nothing else {"": self._layouts(given["program"])}
        if other is not None:
            layouts[OTHER_BUILD] = programs.layouts(other)
        setting = Setting(
            self.target, given["program"], self.target.cpus(), self.target.cache_directory(), stop, display,
            [Path(d) for d in given["engine_dirs"]], other, {} if other is None else _lacking(self.record["operators"], other), layouts,
            devices=given.get("devices", []), heading="" if budget is None else f"{self.target.name}: ",
        )  # fmt: skip
        return Run(self.writer, self.plan, setting, self.record, self.inputs, budget)

    def _layouts(self, program: str) -> int:
        """Return the number of code layouts of ``program``. Count the files if it is on this machine: a foreign program may report any number."""
        here = Path(program)
        return programs.layouts(here) if here.is_file() else int(self.record["build"].get("layouts", 1))


def _lacking(operators: Mapping[str, dict[str, Any]], other: Path) -> dict[tuple[str, str], str]:
    """Return, per (operator, engine) without a partner in the build ``other``, the reason.

    An older build knows fewer operators and engines, and may mean other work by the same name.
    """
    theirs = {o["name"]: o for o in catalog.read_here(other).operators}
    found = {}
    for name, operator in operators.items():
        there = theirs.get(name)
        known = {e["name"]: e for e in there["engines"]} if there else {}
        for engine in (e["name"] for e in operator["engines"] if not e.get("program")):
            if there is None:
                found[name, engine] = "the other build does not have this operator"
            elif there["version"] != operator["version"]:
                versions = f"{operator['version']}, in the other build {there['version']}"
                found[name, engine] = f"the operator's version differs ({versions}): the same parameters mean other work"
            elif not known.get(engine, {}).get("available", False):
                found[name, engine] = f"the other build cannot run this engine: {known.get(engine, {}).get('reason') or 'it does not have it'}"
    return found


def carry_out(part: Part, stop: StopRequest, *, as_json: bool, effect: float | None = None) -> int:
    """Execute the run and print the outcome; return its exit status.

    If ``effect`` is given and a point is slower than the other build's by more than it, the status is :attr:`Exit.REGRESSION`, unless something
    failed.
    """
    path = part.writer.path
    with listener(as_json) as display:
        run = part.run(stop, display)
        try:
            status = run.execute()
        except (Interrupted, TargetLost) as error:
            missing = "".join(f"; {text}" for text in [missing_text(run)] if text)
            again = going_on(path, part.record["setting"])
            raise type(error)(f"{error}; {_kept([run])} windows are kept in {path}{missing}; {again}") from None
    analysed = summarize(path)
    report = write_report(STUDY, [analysed], path)
    rows = comparison.compare_builds(analysed, text.MIN_EFFECT if effect is None else effect)
    if effect is not None and status == Exit.DONE and any(row.verdict == "slower" for row in rows):
        status = Exit.REGRESSION
    found = {"comparison": formats.comparison_records(rows)} if rows else {}
    lines = [*summary(run, analysed, path, report), *_found(rows, part.record["setting"].get("anchor"), effect)]
    conclude(display, path, _summary_event(path, report, status, [run]) | found, lines)
    return int(status)


#: Changes against the other build that the summary lists one by one, at most.
FINDINGS: Final = 8


def _found(rows: Sequence[Comparison], anchor: Mapping[str, str] | None, effect: float | None) -> list[str]:
    """Return the comparison with the other build in a few lines; empty if there was no other build."""
    if not rows:
        return []
    effect = text.MIN_EFFECT if effect is None else effect
    name = "the other build" if anchor is None else f"anchor '{anchor['name']}' (saved {anchor['saved']})"
    changed = [row for verdict in ("slower", "faster") for row in rows if row.verdict == verdict]
    lines = [
        f"  {row.verdict}: {row.configuration} {tables.change(row.ratio)} ({tables.interval_of_change(row.ratio)})" for row in changed[:FINDINGS]
    ]
    more = [f"  ... and {len(changed) - FINDINGS} more: dpubench compare"] if len(changed) > FINDINGS else []
    return [f"against {name}: {tables.verdict_counts(rows)} (minimum effect {100 * effect:g} %)", *lines, *more]


def carry_out_together(
    writer: RunSetWriter, record: dict[str, Any], parts: Sequence[Part], seconds: float, stop: StopRequest, *, as_json: bool
) -> int:
    """Execute the runs of several targets in turns and print the outcome; return the exit status. ``seconds``: their common budget."""
    with listener(as_json) as display:
        share = seconds / len(record["targets"])
        runs = [part.run(stop, display, Budget(share, float(part.record["spent_s"]))) for part in parts]
        together = RunSet(writer, record, runs, display)
        again = going_on(writer.path, parts[0].record["setting"])
        try:
            status = together.execute()
        except Interrupted as error:
            raise Interrupted(f"{error}; {_kept(runs)} windows are kept in {writer.path}; {again}") from None
    analysed = summaries(writer.path)
    report = write_report(STUDY, analysed, writer.path)
    owing = [entry["name"] for entry in record["targets"] if entry["status"] == "interrupted"]
    tail = [f"not complete: {', '.join(owing)}; {again}"] if owing else []
    tail += tail_lines(writer.path, report)
    failures = [failure for run in runs for failure in run.record["failures"]][:2]
    failed = failure_lines(failures, SUMMARY_LINES // 3, writer.path)
    operators = {p.operator for found in analysed for p in found.points}
    room = max(SUMMARY_LINES - len(tail) - len(failed), len(analysed) + len(operators) + 2)  # room for a line per operator
    conclude(display, writer.path, _summary_event(writer.path, report, status, runs), [*text.targets(analysed, room), *failed, *tail])
    return int(status)


def _kept(runs: Sequence[Run]) -> int:
    return sum(len(r) for run in runs for p in run.points for r in p.rates.values())


def _summary_event(path: Path, report: Path | None, status: int, runs: Sequence[Run]) -> dict[str, Any]:
    return summary_event(path, report, int(status), sum(len(run.record["failures"]) for run in runs), sum(len(run.points) for run in runs))


def summary(run: Run, analysed: RunSummary, path: Path, report: Path | None) -> list[str]:
    """Return the summary: the number of points, how far to trust them, the best engine of each operator beside the next best, the next commands.

    It has at most :data:`SUMMARY_LINES` lines, unless the operators need more: it names each with its configuration.
    """
    points = [p for p in analysed.points if p.primary is not None]
    unsure = sum(not p.converged for p in points)
    rounds, failures = run.record["rounds"], run.record["failures"]
    operators = list(dict.fromkeys(p.operator for p in points))
    head = [
        f"{path.name}: {len(points)} points of {len(operators)} operators, {len(rounds)} rounds, {sum(r['windows'] for r in rounds)} windows",
        f"{unsure} of {len(points)} rates did not reach ±{100 * run.plan.precision:g} %; {len(failures)} failures; "
        + tables.warning_counts(analysed.all_warnings()),
    ]
    tail = tail_lines(path, report, len(run.record["left_out"]))
    head = text.targets([analysed]) if analysed.times_mean_nothing else [line for words in head for line in terminal.wrapped(words)]
    lines = _best_lines(analysed, _headlines(analysed))
    head += failure_lines(failures[:2], SUMMARY_LINES - len(head) - len(tail) - min(len(lines), TABLE_LINES), path)
    return head + lines + tail


def _headlines(analysed: RunSummary) -> list[PointSummary]:
    """Return the best engine of each operator in its default configuration, else in its first. Leave out an operator if all its points failed."""
    found: dict[str, list[PointSummary]] = {}
    for point in analysed.points:
        if point.is_best and not point.build:
            found.setdefault(point.operator, []).append(point)
    defaults = {name: {p["name"]: p["default"] for p in analysed.operators[name].get("parameters", [])} for name in found}
    ordered = [name for name in analysed.operators if name in found]
    return [next((p for p in found[name] if p.params == defaults[name]), found[name][0]) for name in ordered]


def _best_lines(analysed: RunSummary, best: Sequence[PointSummary]) -> list[str]:
    """Return a line per point of ``best`` in columns if the terminal is wide enough, else each point in words, wrapped."""
    if not best:
        return []
    layouts = {layout_text(p.threads, p.footprint) for p in best}
    common = layouts.pop() if len(layouts) == 1 else ""
    rows = []
    for point in best:
        where = [parameters_text(point.params, analysed.operators[point.operator])]
        where += [] if common else [layout_text(point.threads, point.footprint)]
        rate = f"{_rate(point):.3g} {point.primary_unit}"
        spread = f" ±{percent(point.precision, 2)}" if math.isfinite(point.precision) else ""
        rows.append((point.operator, ", ".join(filter(None, where)), point.engine_word, rate + spread + loose(point, "primary"), beside_text(point)))
    title = "best engine of each operator, beside the next best of another library" + (f"; {common}" if common else "")
    lines = tables.table(("operator", "configuration", "best", "rate", "beside"), rows).splitlines()[1:]
    if max(map(len, lines)) > terminal.columns():
        told = (f"{f'{operator} {where}'.rstrip()}: {engine} {rate}, {beside}" for operator, where, engine, rate, beside in rows)
        lines = [line for words in told for line in terminal.wrapped(words)]
    notes = [tables.loose_note(analysed.precision_target)] if any(LOOSE in line for line in lines) else []
    return [*terminal.wrapped(title), *lines, *notes]


def _rate(point: PointSummary) -> float:
    return point.primary.value if point.primary is not None else math.nan
