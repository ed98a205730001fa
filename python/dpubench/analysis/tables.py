"""Tables, comparisons, warnings and failures as plain text with aligned columns, the same for a terminal, a pipe or a log."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from dpubench.analysis import statistics, verdicts, warnings
from dpubench.analysis.digits import significant
from dpubench.analysis.model import AnalysedRun, Comparison, Interval, Verdict, Warning_
from dpubench.analysis.movement import LEAST_OWNERS, Movement

_R = TypeVar("_R", bound=AnalysedRun)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> str:
    """Return aligned columns two spaces apart, without trailing spaces; the columns marked in ``right`` are flush right."""
    right = right or [False] * len(header)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [cell.rjust(width) if flush else cell.ljust(width) for cell, width, flush in zip(row, widths, right, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


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
    what += "" if moved is None else " beyond the machine's movement"
    return "\n".join([text, "", f"{verdict_counts(rows)} ({what}; minimum effect {100 * min_effect:g} %)", *_machine_lines(moved, min_effect), ""])


def verdict_counts(rows: Sequence[Comparison]) -> str:
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
        engines = f"{count(moved.owners, 'pair')} of operator and engine in both runs, but each point needs {LEAST_OWNERS} others beside it"
        seen = [f"not known ({engines})", *canaries]
    else:
        by = "rates over the core canary" if moved.over_canary else "plain rates"
        points = f"{count(moved.null.points, 'point')}, {by}"
        spread = f"{_percent(together.value)} ({_percent(together.low)} to {_percent(together.high)}; {points})"
        seen = [f"points moved by {spread}, single points scatter about that by {100 * math.expm1(moved.null.scatter):.1f} %", *canaries]
    lines = [f"the machine between the two runs: {', '.join(seen)}", *moved.remarks]
    if abs(moved.together) > math.log1p(min_effect):
        lines.append("all points moved together, further than the core canary: either the machine did this, or the whole build changed")
    return [*lines, f"in two runs, a change of all points together looks like another machine; to tell them apart, {verdicts.ANCHOR_ADVICE}"]


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


#: Mark behind every figure that is less precise than the plan asks, or comes from too few rounds.
LOOSE: Final = "*"


def loose_note(target: float) -> str:
    """Return the explanation of the mark for a precision of ``target``."""
    return f"{LOOSE} wider than the ±{100 * target:g} % that the plan asks for, or from fewer than {statistics.MINIMUM_ROUNDS} rounds"


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
    kind = warnings.kinds().get(code)
    return f"{kind.meaning}; {kind.advice}" if kind else "not known to this version"


def of_runs(runs: Sequence[_R], lines: Callable[[_R], Sequence[str]]) -> str:
    """Return ``runs`` as text, one below the other; ``lines`` gives the text of one."""
    return "\n\n".join("\n".join(lines(run)) for run in runs) + "\n"


def title(run: AnalysedRun) -> str:
    """Return the first line of a run's text: its name with its label, study, plan, status and start."""
    return f"{run.name}{f' [{run.label}]' if run.label else ''}: study {run.study}, plan {run.plan}, {run.status}, started {run.started}"


def origin(run: AnalysedRun) -> str:
    """Return the line on the machine and the build of a run."""
    told = [str(run.machine.get("cpu", "")), cpus_text(run.machine), str(run.build_info.get("compiler", "")), f"dpubench {run.version}"]
    return ", ".join(filter(None, told))


def troubles(run: AnalysedRun, found: Sequence[Warning_] | None = None) -> list[str]:
    """Return the last sections of a run's text: its warnings (or ``found``), its failures, and what its plan leaves out."""
    return [
        *section("Warnings", warning_lines(run.warnings if found is None else found)),
        *section("Failures", [failure_line(f.point or f.group, f.phase, f.message) for f in run.failures]),
        *section("Left out", run.left_out),
    ]


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
