"""Runs of study ``operators`` as plain text with aligned columns, the same for a terminal, a pipe or a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dpubench.analysis import statistics, tables
from dpubench.analysis.digits import percent, significant
from dpubench.analysis.model import COUNTED, Interval
from dpubench.analysis.naming import layout_text, parameters_text
from dpubench.analysis.tables import LOOSE, count, loose_note, precision_text, table
from dpubench.analysis.verdicts import MIN_EFFECT
from dpubench.studies.operators import comparison, layouts
from dpubench.studies.operators.export import engine_text, verified_text
from dpubench.studies.operators.model import ENERGY, PointSummary, RunSummary


def show(runs: Sequence[RunSummary]) -> str:
    """Return the text of a run, or of all its targets: its origin, every point with its interval, warnings, failures, and omissions."""
    return tables.of_runs(runs, _shown)


def _shown(run: RunSummary) -> list[str]:
    kept = "; its measurements are kept" if run.points else ""
    lines = [
        tables.title(run),
        tables.origin(run),
        *([f"the target was lost: {run.lost}{kept}; continue with `dpubench resume`"] if run.lost else []),
        _counts(run),
        *filter(None, [layouts.told(run)]),
    ]
    if run.points:
        lines += ["", _correctness_table(run) if run.times_mean_nothing else _points_table(run)]
    return lines + tables.troubles(run, run.all_warnings())


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
        text = [*text[: max(left - 1, 1)], f"... and {count(more, 'operator')} more: see the report or `dpubench show`"]
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
