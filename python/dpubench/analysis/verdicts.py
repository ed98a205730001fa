"""Verdicts on pairs of points: the difference of two points of different times, and control of the false discovery rate over all pairs.

Each study pairs its points itself. ``docs/methodology.md`` has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from dpubench.analysis import statistics
from dpubench.analysis.model import Comparison, Interval
from dpubench.analysis.statistics import Difference, FloatArray

#: Advice to tell a change of all points from a slower machine.
ANCHOR_ADVICE = "alternate with the old build: `dpubench run --against anchor`"


@dataclass(frozen=True, slots=True)
class Watch:
    """The canary of two runs whose other points tell nothing of the machine (study end-to-end)."""

    name: str
    moved: float | None  #: its change (log); ``None``: not known


class Rates(NamedTuple):
    """The rates of one point, round by round."""

    plain: Sequence[float]
    over_canary: Sequence[float]  #: rates over the canary's rate in the same round; empty where a round lacks the canary


@dataclass(frozen=True, slots=True)
class Tested:
    """A pair with its differences, which must all show the same."""

    label: str
    old: str
    new: str
    differences: list[Difference]
    note: str = ""
    watch: Watch | None = None  #: set in study end-to-end only
    moved: str = ""  #: movement of the machine, in words
    unwatched: str = ""  #: reason why the pair stays undecided whatever its difference; empty without such a reason

    @property
    def p_value(self) -> float:
        return math.nan if self.unwatched else max(d.p_value for d in self.differences)


def tested(row: Tested, old: Rates, new: Rates) -> Tested | None:
    """Return ``row`` with the differences of two points of different times, beyond the movement of its ``watch``; ``None`` below two rounds a side.

    The plain ratio and the ratio of rates over the watch must both show a difference.
    """
    if row.watch is None:
        plain = statistics.unpaired_difference(logs_of(old.plain), logs_of(new.plain))
        return None if plain is None else replace(row, differences=[plain])
    watch = row.watch
    found = [_beside(logs_of(a), logs_of(b), watch) for a, b in ((old.over_canary, new.over_canary), (old.plain, new.plain))]
    if found[1] is None:
        return None
    unwatched = f"no {watch.name} watched the machine between the two runs" if watch.moved is None else ""
    moved = "" if watch.moved is None else f"{watch.name} {percent_of_log(watch.moved)}"
    return replace(row, differences=[d for d in found if d is not None], moved=moved, unwatched=unwatched)


def _beside(a: FloatArray, b: FloatArray, watch: Watch) -> Difference | None:
    if min(a.size, b.size) < 2:
        return None
    # The scatter between runs is unknown: assume that it equals the scatter between rounds.
    scatter = math.hypot(*(float(statistics.estimate_logs(side).scatter[0]) for side in (a, b)))
    return statistics.unpaired_difference(a, b, scatter, abs(watch.moved or 0.0))


def logs_of(values: Sequence[float]) -> FloatArray:
    rates = np.asarray(values, dtype=np.float64)
    return np.log(rates[np.isfinite(rates) & (rates > 0)])


def judged(rows: Sequence[Comparison | Tested], min_effect: float) -> list[Comparison]:
    """Return ``rows`` with a verdict each. Control of the false discovery rate covers all tested rows."""
    adjusted = iter(statistics.benjamini_hochberg([row.p_value for row in rows if isinstance(row, Tested)]))
    return [_row(row, float(next(adjusted)), min_effect) if isinstance(row, Tested) else row for row in rows]


def _row(tested: Tested, adjusted_p: float, min_effect: float) -> Comparison:
    """Return the row with its verdict: all differences must give the same one. The interval covers all of them, around the first."""
    intervals = [d.interval for d in tested.differences]
    ratio = Interval(intervals[0].value, min(i.low for i in intervals), max(i.high for i in intervals))
    verdicts = {statistics.verdict(d, adjusted_p, min_effect) for d in tested.differences}
    verdict = verdicts.pop() if len(verdicts) == 1 and not tested.unwatched else "undecided"
    reason = tested.note
    if verdict == "undecided":
        reason = "; ".join(filter(None, [tested.unwatched or _why_undecided(tested, adjusted_p, min_effect), tested.note]))
    return Comparison(tested.label, tested.old, tested.new, ratio, verdict, None if tested.unwatched else adjusted_p, reason)


def _why_undecided(tested: Tested, adjusted_p: float, min_effect: float) -> str:
    limit = math.log1p(min_effect)
    sizes = [d.log_ratio for d in tested.differences]
    if tested.moved and max(abs(s) for s in sizes) > limit:
        if any(d.moved_down <= d.log_ratio <= d.moved_up for d in tested.differences):
            return f"the difference is within what the machine itself moved ({tested.moved})"
        if min(sizes) < 0 < max(sizes) and tested.watch is not None:
            return f"the plain ratio ({percent_of_log(sizes[-1])}) and the one over the {tested.watch.name} ({percent_of_log(sizes[0])}) disagree"
    if min(abs(s) for s in sizes) > limit and adjusted_p > statistics.FALSE_DISCOVERY_RATE:
        return f"a difference this large arises by chance too often (p = {adjusted_p:.2g} after false-discovery control)"
    down, up = min(d.moved_down for d in tested.differences), max(d.moved_up for d in tested.differences)
    if tested.moved and up - down > limit:
        return f"the machine moved by more than the minimum effect of {100 * min_effect:g} % ({tested.moved})"
    return f"the interval reaches beyond the minimum effect of {100 * min_effect:g} %"


def percent_of_log(log_ratio: float) -> str:
    return f"{100 * math.expm1(log_ratio):+.1f} %"


MIN_EFFECT: Final = 0.03  #: the default of ``dpubench compare --min-effect``
