"""Runs and comparisons as text for a terminal, a pipe or a log: plain characters, columns aligned, nothing that depends on the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dpubench.results import warnings
from dpubench.results.export import significant
from dpubench.results.model import COUNTED, ENERGY, Comparison, Interval, PointSummary, RunSummary, Verdict


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> str:
    """Columns two spaces apart, as wide as their widest cell; those marked in ``right`` flush right. No trailing spaces."""
    right = right or [False] * len(header)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [cell.rjust(width) if flush else cell.ljust(width) for cell, width, flush in zip(row, widths, right, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def show(run: RunSummary) -> str:
    """A run: what it is, every point with its interval, and what weakens or is missing from it."""
    measured = [p for p in run.points if p.ops_per_s is not None]
    counts = [
        _count(len(run.points), "point"),
        f"{len(measured)} measured",
        f"{sum(not p.converged for p in measured)} of them not converged" if any(not p.converged for p in measured) else "all converged",
    ]
    lines = [
        f"{run.name}: study {run.study}, plan {run.plan}, {run.status}, started {run.started}",
        ", ".join(filter(None, [str(run.machine.get("cpu", "")), _cpus(run), str(run.build_info.get("compiler", "")), f"dpubench {run.version}"])),
        ", ".join(counts),
        "",
    ]
    counters = [counter for counter in _COUNTERS if any(counter.shown(p) for p in run.points)]
    header = ("operator", "parameters", "threads", "engine", "value", "unit", "interval", "of reference", *(c.title for c in counters), "remarks")
    flush = [False, False, True, False, True, False, False, True, *(True for _ in counters), False]
    lines.append(table(header, [_point_row(p, counters) for p in run.points], flush))
    lines += ["", *(c.note(run) for c in counters)] if counters else []
    lines += _section("Warnings", _warning_lines(run)) + _section(
        "Failures", [_failure(f.point or f.group, f.phase, f.message) for f in run.failures]
    )
    return "\n".join(lines + _section("Left out", run.left_out)) + "\n"


def compare(rows: Sequence[Comparison], min_effect: float) -> str:
    """A comparison: findings first, then the rest in the order given, then a count of verdicts."""
    order: dict[Verdict, int] = {"slower": 0, "faster": 1, "undecided": 2, "same": 3, "not comparable": 4}
    listed = sorted(rows, key=lambda row: order[row.verdict])
    cells = [(row.verdict, row.configuration, _change(row.ratio), _interval_of_change(row.ratio), row.reason) for row in listed]
    counts = Counter(row.verdict for row in rows)
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in order if counts[verdict]) or "nothing to compare"
    text = table(("verdict", "configuration", "change", "95 % interval", "reason"), cells, [False, False, True, False, False])
    return f"{text}\n\n{summary} (new rate against old; minimum effect {100 * min_effect:g} %)\n"


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


def _point_row(point: PointSummary, counters: Sequence[_Counter]) -> tuple[str, ...]:
    params = ",".join(f"{k}={v}" for k, v in sorted(point.params.items()))
    engine = point.engine + (f"@{point.target}" if point.target != "local" else "") + (f"#{point.build}" if point.build else "")
    head = (point.operator, params, str(point.threads), engine)
    if point.primary is None:
        return (*head, "-", "", "", "", *("" for _ in counters), point.failure or point.unavailable or "not measured")
    ratio = point.ratio_to_reference
    remarks = " ".join([*(["failed"] if point.failure else []), *sorted({w.code for w in point.warnings})])
    ratio_text = significant(ratio.value, 3) + "x" if ratio else ""
    return (
        *head,
        significant(point.primary.value),
        point.primary_unit,
        _precision(point.precision),
        ratio_text,
        *(c.shown(point) for c in counters),
        remarks,
    )


def _precision(precision: float) -> str:
    return f"±{100 * precision:.1f} %" if math.isfinite(precision) else "one round"


def _warning_lines(run: RunSummary) -> list[str]:
    counts = Counter(warning.code for warning in run.all_warnings())
    return [f"{code} ({count}): {_meaning(code)}" for code, count in counts.items()]


def _meaning(code: str) -> str:
    kind = warnings.KINDS.get(code)
    return f"{kind.meaning}; {kind.advice}" if kind else "not known to this version"


def _failure(where: str | None, phase: str, message: str) -> str:
    return f"{where or 'run'}: {phase}: {message}"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _cpus(run: RunSummary) -> str:
    return _count(int(run.machine["cpus_online"]), "CPU") if run.machine.get("cpus_online") else ""


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _change(ratio: Interval | None) -> str:
    return "" if ratio is None else _percent(ratio.value)


def _interval_of_change(ratio: Interval | None) -> str:
    return "" if ratio is None else f"{_percent(ratio.low)} to {_percent(ratio.high)}"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else "-"
