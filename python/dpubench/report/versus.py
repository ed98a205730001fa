"""A run against the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dpubench.report.page import Versus
from dpubench.report.points import best
from dpubench.results.model import Comparison, Interval, PointSummary


def independent_ratio(new: Interval, old: Interval) -> Interval:
    """``new / old`` of two estimates that were not taken in alternation: half widths add in quadrature on the logarithm."""

    def half(interval: Interval) -> float:
        return math.log(interval.high / interval.low) / 2 if interval.low > 0 and interval.high > 0 else math.nan

    value = new.value / old.value if old.value else math.nan
    width = math.exp(math.hypot(half(new), half(old)))
    return Interval(value, value / width, value * width)


class Verdicts:
    """Rows of the comparison of one run's best engines with the baseline's, found by their points."""

    def __init__(self, rows: Sequence[Comparison]) -> None:
        self.pairs = {(row.old, row.new): row for row in rows if row.old and row.new}
        self.alone: dict[str, Comparison] = {}
        for row in rows:
            for identifier in (row.old, row.new):
                if identifier and not (row.old and row.new):
                    self.alone.setdefault(identifier, row)

    def of(self, old: PointSummary | None, new: PointSummary | None) -> Versus:
        """The verdict on two points; what the comparison could not pair is *not comparable* with its reason."""
        if old is None or new is None:
            return Versus(None, "not comparable", f"not measured in {'the baseline' if old is None else 'this run'}")
        row = self.pairs.get((old.id, new.id)) or self.alone.get(new.id) or self.alone.get(old.id)
        if row is None:
            return Versus(None, "not comparable", "the comparison did not pair these two points (several targets or builds)")
        return Versus(row.ratio, row.verdict, row.reason)


def core_equivalents(base: Iterable[PointSummary], run: Iterable[PointSummary]) -> Interval | None:
    """Best rate of ``run`` (any engine, any threads) over the best rate of one core of ``base``; the points share parameters."""
    core = best(p for p in base if p.threads == 1)
    whole = best(run)
    if core is None or whole is None or core.ops_per_s is None or whole.ops_per_s is None:
        return None
    return independent_ratio(whole.ops_per_s, core.ops_per_s)
