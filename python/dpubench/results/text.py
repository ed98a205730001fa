"""Runs and comparisons as text for a terminal, a pipe or a log: plain characters, columns aligned, nothing that depends on the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dpubench.results import comparison, layouts, warnings
from dpubench.results.digits import significant
from dpubench.results.export import engine_text, verified_text
from dpubench.results.model import COUNTED, ENERGY, Comparison, Interval, PointSummary, RunSummary, Verdict, Warning_


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> str:
    """Columns two spaces apart, as wide as their widest cell; those marked in ``right`` flush right. No trailing spaces."""
    right = right or [False] * len(header)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [cell.rjust(width) if flush else cell.ljust(width) for cell, width, flush in zip(row, widths, right, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def show(runs: Sequence[RunSummary]) -> str:
    """A run, or all targets of one: what it is, every point with its interval, and what weakens or is missing from it."""
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
    return f"{points}, {len(measured)} measured, {f'{loose} of them not converged' if loose else 'all converged'}"


def _points_table(run: RunSummary) -> str:
    counters = [counter for counter in _COUNTERS if any(counter.shown(p) for p in run.points)]
    header = ("operator", "parameters", "threads", "engine", "value", "unit", "interval", "of reference", *(c.title for c in counters), "remarks")
    flush = [False, False, True, False, True, False, False, True, *(True for _ in counters), False]
    text = table(header, [_point_row(p, counters, run.label) for p in run.points], flush)
    return "\n".join([text, "", *(c.note(run) for c in counters)] if counters else [text])


def _correctness_table(run: RunSummary) -> str:
    """An emulated target tells right from wrong: no time, no rate, no ratio."""
    rows = [(p.operator, _parameters(p), engine_text(p), verified_text(p)) for p in run.points]
    return table(("operator", "parameters", "engine", "result"), rows)


def _is_verified(point: PointSummary) -> bool:
    return bool(point.verified) and not point.failure and not point.unavailable


def compare(rows: Sequence[Comparison], min_effect: float, *, targets: bool = False) -> str:
    """A comparison: findings first, then the rest in the order given, then a count of verdicts. Of two ``targets`` with ratios, else with changes."""
    order: dict[Verdict, int] = {"slower": 0, "faster": 1, "undecided": 2, "same": 3, "not comparable": 4}
    listed = sorted(rows, key=lambda row: order[row.verdict])
    told = (_ratio, _interval_of_ratio) if targets else (_change, _interval_of_change)
    cells = [(row.verdict, row.configuration, told[0](row.ratio), told[1](row.ratio), row.reason) for row in listed]
    counts = Counter(row.verdict for row in rows)
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in order if counts[verdict]) or "nothing to compare"
    text = table(("verdict", "configuration", "ratio" if targets else "change", "95 % interval", "reason"), cells, [False, False, True, False, False])
    what = "rate against the baseline's" if targets else "new rate against old"
    return f"{text}\n\n{summary} ({what}; minimum effect {100 * min_effect:g} %)\n"


MIN_EFFECT: Final = 0.03


def targets(runs: Sequence[RunSummary], room: int = 20, width: int = 120) -> list[str]:
    """A run of several targets in at most ``room`` lines, of at most ``width`` characters as far as its names fit.

    Each target; then of every operator, in its default configuration, the best engine and its rate on each target, and the ratio to the baseline with
    its 95 % interval. An emulated target has neither rate nor ratio: its line says what was verified. Operators that find no room are counted.
    """
    base = next((run for run in runs if run.is_baseline), None)
    beside = f"; ratios to {base.target} with 95 % intervals" if base is not None else ""
    lines = [f"{runs[0].run_set or runs[0].name}: {count(len(runs), 'target')}{beside}", *(_target_line(run, run is base) for run in runs)]
    timed = [run for run in runs if any(p.primary is not None for p in run.points)]
    operators = list(dict.fromkeys(p.operator for run in timed for p in run.points))
    if base is None or not operators:
        return lines
    ordered = [base, *(run for run in timed if run is not base)]
    ratios = [{(r.old, r.new): r.ratio for r in comparison.compare(base, run, MIN_EFFECT, best_engine=True)} for run in ordered[1:]]
    cells = [_operator_cells(operator, ordered, ratios) for operator in operators]
    header = ("operator", *(f"{run.target}{f' [{run.label}]' if run.label else ''}" for run in ordered))
    left = room - len(lines)
    text = table(header, cells).splitlines()
    if len(text) > left:  # two operators a line, where the terminal is wide enough
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


def _operator_cells(
    operator: str, runs: Sequence[RunSummary], ratios: Sequence[Mapping[tuple[str | None, str | None], Interval | None]]
) -> list[str]:
    """The operator's name, the baseline's best engine, and of each other run its best engine with the ratio."""
    found = [[p for p in run.points if p.operator == operator and p.primary is not None and not p.build] for run in runs]
    defaults = {p["name"]: p["default"] for run in runs for p in run.operators.get(operator, {}).get("parameters", [])}
    everywhere = [{p.configuration: p for p in points} for points in found]
    known = {c: p for configurations in everywhere for c, p in reversed(configurations.items())}
    if not known:
        return [operator, *("-" for _ in runs)]
    chosen = min(known, key=lambda c: (known[c].params != defaults, -sum(c in configurations for configurations in everywhere), known[c].threads))
    best = [max((p for p in points if p.configuration == chosen), key=_rate, default=None) for points in found]
    cells = [operator, _best_text(best[0])]
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
    return "-" if point is None else f"{point.engine_word} {_rate(point):.3g} {point.primary_unit} {precision_text(point.precision)}"


def _rate(point: PointSummary) -> float:
    return point.primary.value if point.primary is not None else math.nan


def rows(found: Sequence[Mapping[str, Any]]) -> str:
    """Records with the same keys as a table; numbers flush right."""
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
    """A column that is there only where the machine counts."""

    title: str
    shown: Callable[[PointSummary], str]  #: "" where the point has none
    note: Callable[[RunSummary], str]


def _counted(point: PointSummary) -> bool:
    return point.cycles_source.startswith(COUNTED)


_COUNTERS: Final = (
    _Counter(
        "cycles/op",
        lambda p: significant(p.cycles_per_op.value) if p.cycles_per_op and _counted(p) else "",
        lambda run: f"cycles/op: core cycles of all threads, {' or '.join(sorted({p.cycles_source for p in run.points if _counted(p)}))}",
    ),
    _Counter("nJ/op", lambda p: significant(p.energy_nj_per_op.value) if p.energy_nj_per_op else "", lambda _: f"nJ/op: {ENERGY}"),
)


def _parameters(point: PointSummary) -> str:
    return ",".join(f"{k}={v}" for k, v in sorted(point.params.items()))


def _point_row(point: PointSummary, counters: Sequence[_Counter], label: str) -> tuple[str, ...]:
    head = (point.operator, _parameters(point), str(point.threads), engine_text(point))
    if point.primary is None:
        return (*head, "-", "", "", "", *("" for _ in counters), point.failure or point.unavailable or "not measured")
    ratio = point.ratio_to_reference
    remarks = " ".join([*(["failed"] if point.failure else []), *sorted({w.code for w in point.warnings})])
    ratio_text = significant(ratio.value, 3) + "x" if ratio else ""
    return (
        *head,
        significant(point.primary.value),
        point.primary_unit,
        precision_text(point.precision),
        ratio_text,
        *(c.shown(point) for c in counters),
        "; ".join(filter(None, [label, remarks])),
    )


def precision_text(precision: float) -> str:
    return f"±{100 * precision:.1f} %" if math.isfinite(precision) else "one round"


def warning_lines(found: Iterable[Warning_]) -> list[str]:
    counts = Counter(warning.code for warning in found)
    return [f"{code} ({times}): {_meaning(code)}" for code, times in counts.items()]


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


def _change(ratio: Interval | None) -> str:
    return "" if ratio is None else _percent(ratio.value)


def _interval_of_change(ratio: Interval | None) -> str:
    return "" if ratio is None else f"{_percent(ratio.low)} to {_percent(ratio.high)}"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else "-"
