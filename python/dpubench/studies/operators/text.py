"""Runs and comparisons as plain text with aligned columns, the same for a terminal, a pipe or a log."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dpubench.analysis import statistics, warnings
from dpubench.analysis.digits import percent, significant
from dpubench.analysis.movement import LEAST_OWNERS, Movement
from dpubench.analysis.naming import layout_text, parameters_text
from dpubench.studies.operators import comparison, layouts
from dpubench.studies.operators.export import engine_text, verified_text
from dpubench.studies.operators.model import COUNTED, ENERGY, Comparison, Interval, PointSummary, RunSummary, Verdict, Warning_


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> str:
    """Return aligned columns two spaces apart, without trailing spaces; the columns marked in ``right`` are flush right."""
    right = right or [False] * len(header)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [cell.rjust(width) if flush else cell.ljust(width) for cell, width, flush in zip(row, widths, right, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def show(runs: Sequence[RunSummary]) -> str:
    """Return the text of a run, or of all its targets: its origin, every point with its interval, warnings, failures, and omissions."""
    return "\n\n".join("\n".join(_shown(run)) for run in runs) + "\n"


def _shown(run: RunSummary) -> list[str]:
    kept = "; what was measured is kept" if run.points else ""
    lines = [
        f"{run.name}{f' [{run.label}]' if run.label else ''}: study {run.study}, plan {run.plan}, {run.status}, started {run.started}",
        ", ".join(
            filter(
                None, [str(run.machine.get("cpu", "")), cpus_text(run.machine), str(run.build_info.get("compiler", "")), f"dpubench {run.version}"]
            )
        ),
        *([f"the target was lost: {run.lost}{kept}; continue with `dpubench resume`"] if run.lost else []),
        _counts(run),
        *filter(None, [layouts.told(run)]),
    ]
    if run.points:
        lines += ["", _correctness_table(run) if run.times_mean_nothing else _points_table(run)]
    lines += section("Warnings", warning_lines(run.all_warnings())) + section(
        "Failures", [failure_line(f.point or f.group, f.phase, f.message) for f in run.failures]
    )
    return lines + section("Left out", run.left_out)


def _counts(run: RunSummary) -> str:
    if not run.points:
        return "nothing was measured"
    points = count(len(run.points), "point")
    if run.times_mean_nothing:
        return f"{points}, {sum(_is_verified(p) for p in run.points)} verified"
    measured = [p for p in run.points if p.ops_per_s is not None]
    loose = sum(not p.converged for p in measured)
    ratios = [p for p in measured if p.ratio_to_next_best is not None]
    wide = sum("ratio_to_next_best" in p.not_converged for p in ratios)
    told = f"{points}, {len(measured)} measured; {f'{loose} rates did not converge' if loose else 'all rates converged'}"
    if not ratios:
        return told
    of_ratios = f"{wide} of {count(len(ratios), 'ratio')} to the next best did not converge" if wide else "all ratios to the next best converged"
    return f"{told}; {of_ratios}"


def _points_table(run: RunSummary) -> str:
    counters = [counter for counter in _COUNTERS if any(counter.shown(p) for p in run.points)]
    best = any(p.is_best for p in run.points)
    header = ("operator", "parameters", "threads", "engine", "value", "unit", "interval", "of reference", *(c.title for c in counters))
    header += ("over the next best", "remarks") if best else ("remarks",)
    flush = [False, False, True, False, True, False, False, True, *(True for _ in counters), *([False] if best else []), False]
    text = table(header, [_point_row(p, counters, run.label, best) for p in run.points], flush)
    notes = [c.note(run) for c in counters] + ([loose_note(run.precision_target)] if any(p.not_converged for p in run.points) else [])
    return "\n".join([text, "", *notes] if notes else [text])


def _correctness_table(run: RunSummary) -> str:
    """Return the table of an emulated target: results of verification, and no time, rate or ratio."""
    rows = [(p.operator, _parameters(p), engine_text(p), verified_text(p)) for p in run.points]
    return table(("operator", "parameters", "engine", "result"), rows)


def _is_verified(point: PointSummary) -> bool:
    return bool(point.verified) and not point.failure and not point.unavailable


_VERDICTS: Final[tuple[Verdict, ...]] = ("slower", "more", "faster", "fewer", "undecided", "same", "not comparable")


def compare(rows: Sequence[Comparison], min_effect: float, *, targets: bool = False, what: str = "", moved: Movement | None = None) -> str:
    """Return a comparison as text: findings first, then the other rows in the given order, then a count of verdicts.

    With ``targets`` the rows show ratios, otherwise changes. ``what`` names the two sides where they are not rates. ``moved`` is the machine's
    movement between two runs of different times, which the changes exclude.
    """
    listed = sorted(rows, key=lambda row: _VERDICTS.index(row.verdict))
    told = (_ratio, _interval_of_ratio) if targets else (change, interval_of_change)
    cells = [(row.verdict, row.configuration, told[0](row.ratio), told[1](row.ratio), row.reason) for row in listed]
    text = table(("verdict", "configuration", "ratio" if targets else "change", "95 % interval", "reason"), cells, [False, False, True, False, False])
    what = what or ("rate against the baseline's" if targets else "new rate against old")
    what += "" if moved is None else " beyond what the machine moved"
    return "\n".join([text, "", f"{verdicts(rows)} ({what}; minimum effect {100 * min_effect:g} %)", *_machine_lines(moved, min_effect), ""])


def verdicts(rows: Sequence[Comparison]) -> str:
    """Return the number of rows with each verdict, findings first: ``2 slower, 40 same``."""
    counts = Counter(row.verdict for row in rows)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in _VERDICTS if counts[verdict]) or "nothing to compare"


def _machine_lines(moved: Movement | None, min_effect: float) -> list[str]:
    """Return lines on how the machine moved between the two runs, and on what the comparison therefore cannot tell."""
    if moved is None:
        return []
    canaries = [f"{name} {_percent(math.exp(c))}" for name, c in (("core canary", moved.core), ("memory canary", moved.memory)) if c is not None]
    together = moved.interval
    if together is None or moved.null is None:
        engines = f"{count(moved.owners, 'pair')} of operator and engine in both runs, and each point needs {LEAST_OWNERS} others beside it"
        seen = [f"not known ({engines})", *canaries]
    else:
        by = "rates over the core canary" if moved.over_canary else "plain rates"
        points = f"{count(moved.null.points, 'point')}, {by}"
        spread = f"{_percent(together.value)} ({_percent(together.low)} to {_percent(together.high)}; {points})"
        seen = [f"points moved by {spread}, single ones scatter about that by {100 * math.expm1(moved.null.scatter):.1f} %", *canaries]
    lines = [f"the machine between the two runs: {', '.join(seen)}", *moved.remarks]
    if abs(moved.together) > math.log1p(min_effect):
        lines.append("all points moved together, further than the core canary: either the machine did this, or the whole build changed")
    return [*lines, f"a change of all points together looks like another machine in two runs; to tell them apart, {comparison.ANCHOR_ADVICE}"]


MIN_EFFECT: Final = 0.03


def targets(runs: Sequence[RunSummary], room: int = 20, width: int = 120) -> list[str]:
    """Return a run of several targets in at most ``room`` lines, each of at most ``width`` characters if its names allow it.

    First comes a line for each target. Then each operator has a row for its default configuration: the best engine and its rate on each target, and
    the ratio to the baseline with its 95 % interval. An emulated target has neither rate nor ratio: its line tells what was verified. The last line
    counts the operators that find no room.
    """
    base = next((run for run in runs if run.is_baseline), None)
    beside = f"; ratios to {base.target} with 95 % intervals, best engine against best engine" if base is not None else ""
    lines = [f"{runs[0].run_set or runs[0].name}: {count(len(runs), 'target')}{beside}", *(_target_line(run, run is base) for run in runs)]
    timed = [run for run in runs if any(p.primary is not None for p in run.points)]
    operators = list(dict.fromkeys(p.operator for run in timed for p in run.points))
    if base is None or not operators:
        return lines
    ordered = [base, *(run for run in timed if run is not base)]
    ratios = [{(r.old, r.new): r.ratio for r in comparison.compare(base, run, MIN_EFFECT, best_engine=True)} for run in ordered[1:]]
    configurations = [_shown_configuration(operator, ordered) for operator in operators]
    layouts = {layout_text(c[2], c[4]) for c in configurations if c is not None}
    common = layouts.pop() if len(layouts) == 1 else ""
    lines[0] += f"; {common}" if common else ""
    cells = [_operator_cells(operator, c, ordered, ratios, bool(common)) for operator, c in zip(operators, configurations, strict=True)]
    lines[0] += f"; {loose_note(base.precision_target)}" if any(LOOSE in cell for row in cells for cell in row) else ""
    header = ("operator", *(f"{run.target}{f' [{run.label}]' if run.label else ''}" for run in ordered))
    left = room - len(lines)
    text = table(header, cells).splitlines()
    if len(text) > left:  # Put two operators on a line where the terminal is wide enough.
        half = -(-len(cells) // 2)
        blank = ("",) * len(header)
        twice = table((*header, "", *header), [(*a, "", *b) for a, b in zip(cells[:half], [*cells[half:], blank][:half], strict=True)]).splitlines()
        text = twice if max(map(len, twice)) <= width and len(twice) <= left else text
    if len(text) > left:
        more = len(text) - max(left - 1, 1)
        text = [*text[: max(left - 1, 1)], f"... and {count(more, 'operator')} more: the report, or `dpubench show`"]
    return lines + text


def _target_line(run: RunSummary, is_baseline: bool) -> str:
    name = f"  {run.target}{' (baseline)' if is_baseline else ''}{f' [{run.label}]' if run.label else ''}"
    measured = [p for p in run.points if p.primary is not None]
    if run.times_mean_nothing:
        verified = [p.verified for p in run.points if _is_verified(p)]
        answers, compared = (sum(int(v.get(key, 0)) for v in verified) for key in ("known_answers", "compared"))
        told = [f"{len(verified)} of {count(len(run.points), 'point')} verified ({answers} known answers, {compared} compared)"]
    else:
        unsure = sum(not p.converged for p in measured)
        told = [count(len(measured), "point"), *([f"{unsure} not converged"] if unsure else [])]
    failures = [count(len(run.failures), "failure")] if run.failures else []
    ended = [f"lost: {run.lost}"] if run.lost else [run.status] if run.status != "complete" else []
    return f"{name}: {', '.join(filter(None, [str(run.machine.get('cpu', '')), *told, *failures, *ended]))}"


_Configuration = tuple[str, tuple[tuple[str, str], ...], int, int, str]  #: as :attr:`~dpubench.studies.operators.model.PointSummary.configuration`


def _shown_configuration(operator: str, runs: Sequence[RunSummary]) -> _Configuration | None:
    """Return the operator's default configuration, else the one that most ``runs`` measured; None where no run measured any."""
    found = [_measured(run, operator) for run in runs]
    defaults = {p["name"]: p["default"] for run in runs for p in run.operators.get(operator, {}).get("parameters", [])}
    everywhere = [{p.configuration: p for p in points} for points in found]
    known = {c: p for configurations in everywhere for c, p in reversed(configurations.items())}
    return min(
        known,
        key=lambda c: (known[c].params != defaults, -sum(c in configurations for configurations in everywhere), known[c].threads),
        default=None,
    )


def _measured(run: RunSummary, operator: str) -> list[PointSummary]:
    return [p for p in run.points if p.operator == operator and p.primary is not None and not p.build]


def _operator_cells(
    operator: str, chosen: _Configuration | None, runs: Sequence[RunSummary],
    ratios: Sequence[Mapping[tuple[str | None, str | None], Interval | None]], same_layout: bool,
) -> list[str]:  # fmt: skip
    """Return a row: the operator with its configuration, the baseline's best engine, and each other run's best engine with its ratio."""
    if chosen is None:
        return [operator, *("-" for _ in runs)]
    entry = next((run.operators[operator] for run in runs if operator in run.operators), {})
    name = f"{operator} {parameters_text(dict(chosen[1]), entry)}".rstrip() + ("" if same_layout else f", {layout_text(chosen[2], chosen[4])}")
    best = [max((p for p in _measured(run, operator) if p.configuration == chosen), key=_rate, default=None) for run in runs]
    cells = [name, _best_text(best[0])]
    for point, known_ratios in zip(best[1:], ratios, strict=True):
        ratio = known_ratios.get((best[0].id, point.id)) if best[0] and point else None
        told = (
            f"  {significant(ratio.value, 3)}x [{significant(ratio.low, 3)}, {significant(ratio.high, 3)}]"
            if ratio
            else "  no ratio"
            if point
            else ""
        )
        cells.append(_best_text(point) + told)
    return cells


def _best_text(point: PointSummary | None) -> str:
    if point is None:
        return "-"
    return f"{point.engine_word} {_rate(point):.3g} {point.primary_unit} {precision_text(point.precision)}{loose(point, 'primary')}"


def _rate(point: PointSummary) -> float:
    return point.primary.value if point.primary is not None else math.nan


def rows(found: Sequence[Mapping[str, Any]]) -> str:
    """Return records with the same keys as a table, with numbers flush right."""
    if not found:
        return "no rows\n"
    names = list(found[0])
    right = [all(isinstance(row[name], (int, float)) or row[name] is None for row in found) for name in names]
    cells = [[_cell(row[name]) for name in names] for row in found]
    return table(names, cells, right) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class _Counter:
    """A column that appears only where the machine has the counter."""

    title: str
    shown: Callable[[PointSummary], str]  #: "" where the point has none
    note: Callable[[RunSummary], str]


def _counted(point: PointSummary) -> bool:
    return point.cycles_source.startswith(COUNTED)


_COUNTERS: Final = (
    _Counter(
        "cycles/op",
        lambda p: significant(p.cycles_per_op.value) + loose(p, "cycles_per_op") if p.cycles_per_op and _counted(p) else "",
        lambda run: f"cycles/op: core cycles of all threads, {' or '.join(sorted({p.cycles_source for p in run.points if _counted(p)}))}",
    ),
    _Counter(
        "nJ/op",
        lambda p: significant(p.energy_nj_per_op.value) + loose(p, "energy_nj_per_op") if p.energy_nj_per_op else "",
        lambda _: f"nJ/op: {ENERGY}",
    ),
)


def _parameters(point: PointSummary) -> str:
    return ",".join(f"{k}={v}" for k, v in sorted(point.params.items()))


def _point_row(point: PointSummary, counters: Sequence[_Counter], label: str, best: bool) -> tuple[str, ...]:
    head = (point.operator, _parameters(point), str(point.threads), engine_text(point))
    if point.primary is None:
        why = point.failure or point.unavailable or "not measured"
        return (*head, "-", "", "", "", *("" for _ in counters), *([""] if best else []), why)
    ratio = point.ratio_to_reference
    remarks = " ".join([*(["failed"] if point.failure else []), *sorted({w.code for w in point.warnings})])
    ratio_text = _ratio_with_interval(ratio) + loose(point, "ratio_to_reference") if ratio else ""
    return (
        *head,
        significant(point.primary.value),
        point.primary_unit,
        precision_text(point.precision) + loose(point, "primary"),
        ratio_text,
        *(c.shown(point) for c in counters),
        *([beside_text(point) if point.is_best else ""] if best else []),
        "; ".join(filter(None, [label, remarks])),
    )


def _ratio_with_interval(ratio: Interval) -> str:
    """Return ``1.31x [1.29, 1.33]``; ``1x`` for the reference itself, and ``no interval`` for a single round."""
    text = f"{significant(ratio.value, 3)}x"
    if ratio.value == 1 and not ratio.low < ratio.high:  # This is the reference itself.
        return text
    return f"{text} [{significant(ratio.low, 3)}, {significant(ratio.high, 3)}]" if math.isfinite(ratio.low) else f"{text}, no interval"


#: Mark behind every figure that is less precise than the plan asks, or comes from too few rounds.
LOOSE: Final = "*"


def loose_note(target: float) -> str:
    """Return the explanation of the mark for a precision of ``target``."""
    return f"{LOOSE} wider than the ±{100 * target:g} % that the plan asks for, or of fewer than {statistics.MINIMUM_ROUNDS} rounds"


def loose(point: PointSummary, name: str) -> str:
    """Return the mark behind a figure of ``point``, or an empty string; ``name`` is its field or its metric."""
    return LOOSE if name in point.not_converged else ""


def beside_text(point: PointSummary) -> str:
    """Return the ratio of the best engine to the next best, as ``5.70 x openssl ±1 %``, or why there is none."""
    ratio = point.ratio_to_next_best
    if ratio is None:
        return "no other engine measured"
    spread = statistics.precision(ratio)
    known = f" ±{percent(spread, 2)}" if math.isfinite(spread) else ""
    text = f"{significant(ratio.value, 3)} x {point.next_best}{known}{loose(point, 'ratio_to_next_best')}"
    if ratio.low <= 1 <= ratio.high:
        text += " (no difference seen)"
    return text + (f" (only {point.next_best} was measured beside it)" if point.next_best_unmeasured else "")


def precision_text(precision: float) -> str:
    return f"±{100 * precision:.1f} %" if math.isfinite(precision) else "one round"


def warning_lines(found: Sequence[Warning_]) -> list[str]:
    """Return a line per code with its number, meaning and advice, after the messages about the whole run."""
    of_the_run = [warning for warning in found if not warning.point and not warning.group]
    counts = Counter(warning.code for warning in found if warning.point or warning.group)
    lines = [f"{w.code}: {w.message}" for w in of_the_run]
    told = {w.code: "" for w in of_the_run} | {code: f" ({times})" for code, times in counts.items()}
    return lines + [f"{code}{times}: {_meaning(code)}" for code, times in told.items()]


def warning_counts(found: Sequence[Warning_]) -> str:
    """Return the warning codes of the run and of points: ``warnings: canary-moved (and at 2 points), few-bursts at 5 points``, or ``no warnings``."""
    at_points = Counter(warning.code for warning in found if warning.point)
    of_the_run = {warning.code for warning in found if not warning.point}
    told = []
    for code in dict.fromkeys(warning.code for warning in found):
        where = f"at {count(at_points[code], 'point')}"
        told.append(code if not at_points[code] else f"{code} (and {where})" if code in of_the_run else f"{code} {where}")
    return f"warnings: {', '.join(told)}" if told else "no warnings"


def _meaning(code: str) -> str:
    kind = warnings.KINDS.get(code)
    return f"{kind.meaning}; {kind.advice}" if kind else "not known to this version"


def failure_line(where: str | None, phase: str, message: str) -> str:
    return f"{where or 'run'}: {phase}: {message}"


def section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def cpus_text(machine: Mapping[str, Any]) -> str:
    return count(int(machine["cpus_online"]), "CPU") if machine.get("cpus_online") else ""


def count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _ratio(ratio: Interval | None) -> str:
    return "" if ratio is None else f"{significant(ratio.value, 3)}x"


def _interval_of_ratio(ratio: Interval | None) -> str:
    return "" if ratio is None else f"{significant(ratio.low, 3)}x to {significant(ratio.high, 3)}x"


def change(ratio: Interval | None) -> str:
    """Return the change as ``-3.1 %``, with one more digit where the ratio is exact; empty without a ratio."""
    if ratio is None:
        return ""
    return _percent(ratio.value) if math.isfinite(ratio.low) or not math.isfinite(ratio.value) else f"{100 * (ratio.value - 1):+.2f} %"


def interval_of_change(ratio: Interval | None) -> str:
    """Return the interval of the change as ``-4.0 % to -2.2 %``, or ``exact``; empty without a ratio."""
    if ratio is None:
        return ""
    return f"{_percent(ratio.low)} to {_percent(ratio.high)}" if math.isfinite(ratio.low) else "exact"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else "-"
