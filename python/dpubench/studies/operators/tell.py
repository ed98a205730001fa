"""The terminal summary at the end of a run: the best engine of each operator, how far to trust it, the other build, the next commands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from dpubench import terminal
from dpubench.analysis import formats, tables
from dpubench.analysis.digits import percent
from dpubench.analysis.model import Comparison
from dpubench.analysis.naming import layout_text, parameters_text
from dpubench.analysis.tables import LOOSE
from dpubench.analysis.verdicts import MIN_EFFECT
from dpubench.errors import Exit
from dpubench.run.console import SUMMARY_LINES, failure_lines, going_on, tail_lines
from dpubench.run.session import Ending, Told
from dpubench.studies.operators import comparison, text
from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.text import beside_text, loose

#: Lines reserved for the table of operators, however long the reasons of failures are.
TABLE_LINES: Final = 6


def ended(runs: list[RunSummary], ending: Ending) -> Told:
    """Return the last lines of a run.

    If the user set a smallest slowdown and a point is slower than the other build's by more than it, the status is :attr:`Exit.REGRESSION`, unless
    something failed.
    """
    if ending.targets:
        return Told(_of_targets(runs, ending), ending.status, {})
    [run], [record] = runs, ending.records
    rows = comparison.compare_builds(run, MIN_EFFECT if ending.effect is None else ending.effect)
    slower = ending.effect is not None and any(row.verdict == "slower" for row in rows)
    status = Exit.REGRESSION if slower and ending.status == Exit.DONE else ending.status
    lines = [*summary(run, ending), *_against(rows, record["setting"].get("anchor"), ending.effect)]
    return Told(lines, status, {"comparison": formats.comparison_records(rows)} if rows else {})


def _of_targets(runs: Sequence[RunSummary], ending: Ending) -> list[str]:
    """Return the summary of a run of several targets."""
    owing = [entry["name"] for entry in ending.targets if entry["status"] == "interrupted"]
    again = going_on(ending.path, ending.records[0]["setting"])
    tail = [f"not complete: {', '.join(owing)}; {again}"] if owing else []
    tail += tail_lines(ending.path, ending.report)
    failures = [failure for record in ending.records for failure in record["failures"]][:2]
    failed = failure_lines(failures, SUMMARY_LINES // 3, ending.path)
    operators = {p.operator for found in runs for p in found.points}
    room = max(SUMMARY_LINES - len(tail) - len(failed), len(runs) + len(operators) + 2)  # room for a line per operator
    return [*text.targets(runs, room), *failed, *tail]


#: Changes against the other build that the summary lists one by one, at most.
FINDINGS: Final = 8


def _against(rows: Sequence[Comparison], anchor: Mapping[str, str] | None, effect: float | None) -> list[str]:
    """Return the comparison with the other build in a few lines; empty if there was no other build."""
    if not rows:
        return []
    effect = MIN_EFFECT if effect is None else effect
    name = "the other build" if anchor is None else f"anchor '{anchor['name']}' (saved {anchor['saved']})"
    changed = [row for verdict in ("slower", "faster") for row in rows if row.verdict == verdict]
    lines = [
        f"  {row.verdict}: {row.configuration} {tables.change(row.ratio)} ({tables.interval_of_change(row.ratio)})" for row in changed[:FINDINGS]
    ]
    more = [f"  ... and {len(changed) - FINDINGS} more: dpubench compare"] if len(changed) > FINDINGS else []
    return [f"against {name}: {tables.verdict_counts(rows)} (minimum effect {100 * effect:g} %)", *lines, *more]


def summary(run: RunSummary, ending: Ending) -> list[str]:
    """Return the summary: the number of points, how far to trust them, the best engine of each operator beside the next best, the next commands.

    It has at most :data:`SUMMARY_LINES` lines, unless the operators need more: it names each with its configuration.
    """
    points = [p for p in run.points if p.primary is not None]
    unsure = sum(not p.converged for p in points)
    [record] = ending.records
    rounds, failures = record["rounds"], record["failures"]
    operators = list(dict.fromkeys(p.operator for p in points))
    head = [
        f"{ending.path.name}: {len(points)} points of {len(operators)} operators, {len(rounds)} rounds, {sum(r['windows'] for r in rounds)} windows",
        f"{unsure} of {len(points)} rates did not reach ±{100 * run.precision_target:g} %; {len(failures)} failures; "
        + tables.warning_counts(run.all_warnings()),
    ]
    tail = tail_lines(ending.path, ending.report, len(record["left_out"]))
    head = text.targets([run]) if run.times_mean_nothing else [line for words in head for line in terminal.wrapped(words)]
    lines = _best_lines(run, _headlines(run))
    head += failure_lines(failures[:2], SUMMARY_LINES - len(head) - len(tail) - min(len(lines), TABLE_LINES), ending.path)
    return head + lines + tail


def _headlines(analysed: RunSummary) -> list[PointSummary]:
    """Return the best engine of each operator in the configuration that differs least from its default, unless all its points failed."""
    found: dict[str, list[PointSummary]] = {}
    for point in analysed.points:
        if point.is_best and not point.build:
            found.setdefault(point.operator, []).append(point)
    defaults = {name: {p["name"]: p["default"] for p in analysed.operators[name].get("parameters", [])} for name in found}
    ordered = [name for name in analysed.operators if name in found]
    return [min(found[name], key=lambda p: sum(p.params.get(key) != value for key, value in defaults[p.operator].items())) for name in ordered]


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
