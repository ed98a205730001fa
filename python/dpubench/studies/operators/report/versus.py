"""The comparison of a run with the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dpubench.analysis.model import Comparison, Interval
from dpubench.studies.operators.comparison import why_missing
from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.report.page import Versus
from dpubench.studies.operators.report.points import best, measured_points


def independent_ratio(new: Interval, old: Interval) -> Interval:
    """Return ``new / old`` of two estimates that did not alternate: half widths add in quadrature on the logarithm."""

    def half(interval: Interval) -> float:
        return math.log(interval.high / interval.low) / 2 if interval.low > 0 and interval.high > 0 else math.nan

    value = new.value / old.value if old.value else math.nan
    width = math.exp(math.hypot(half(new), half(old)))
    return Interval(value, value / width, value * width)


class Verdicts:
    """Rows of the comparison of a run with the baseline, indexed by their points."""

    def __init__(self, baseline: RunSummary, run: RunSummary, rows: Sequence[Comparison], same_rows: Sequence[Comparison] = ()) -> None:
        self.baseline, self.run = baseline, run
        self.of_best, self.of_same = _Found(rows), _Found(same_rows)

    def best(self, old: Sequence[PointSummary], new: Sequence[PointSummary]) -> Versus:
        """Return the comparison of the fastest engine of each side, for one configuration."""
        a, b = best(old), best(new)
        if a is None or b is None:
            return self._missing(old, new)
        return self.of_best.of(a, b)

    def same(self, old: Sequence[PointSummary], new: Sequence[PointSummary]) -> Versus:
        """Return the comparison of one engine on both sides: the baseline's fastest of those that both measured.

        The engine counts with its jobs in flight and its build.
        """
        theirs = {(p.engine_word, p.build): p for p in measured_points(new)}
        shared = [p for p in measured_points(old) if (p.engine_word, p.build) in theirs]
        a = best(shared)
        if a is not None:
            return self.of_same.of(a, theirs[a.engine_word, a.build])
        top = best(old)
        if top is None or not theirs:
            return self._missing(old, new)
        why = why_missing(self.run, top.operator, top.engine)
        here = f"{_where(self.run)} has {', '.join(sorted({p.engine for p in theirs.values()}))}"
        reason = (
            f"{top.engine} cannot run there: {why}; {here}"
            if why
            else f"{here}, {_where(self.baseline)} has {', '.join(sorted({p.engine for p in measured_points(old)}))}"
        )
        return Versus(None, "no engine in common", reason)

    def _missing(self, old: Sequence[PointSummary], new: Sequence[PointSummary]) -> Versus:
        """Return why a side has no figure for a configuration."""
        if not measured_points(old):
            return Versus(None, "not comparable", "not measured in the baseline")
        if self.run.lost and not any(p.failure or p.unavailable for p in new):
            return Versus(None, "not measured", f"the target was lost: {self.run.lost}")
        if failed := next((p for p in new if p.failure), None):
            return Versus(None, "failed there", f"{failed.engine}: {failed.failure}")
        operator = next(iter(old)).operator
        reasons = {p.engine: p.unavailable for p in new if p.unavailable}
        engines = [str(e["name"]) for e in self.run.operators.get(operator, {}).get("engines", [])]
        if not new and engines:
            missing = {name: why_missing(self.run, operator, name) for name in engines}
            reasons = missing if all(missing.values()) else {}
        if reasons:
            return Versus(None, "cannot run there", "; ".join(f"{engine}: {reason}" for engine, reason in reasons.items()))
        told = next((line for line in self.run.left_out if line.startswith(f"{operator}:")), "")
        return Versus(None, "not comparable", f"not measured in this run{f' ({told})' if told else ''}")


class _Found:
    """Rows of a comparison, indexed by their points."""

    def __init__(self, rows: Sequence[Comparison]) -> None:
        self.pairs = {(row.old, row.new): row for row in rows if row.old and row.new}
        self.alone: dict[str, Comparison] = {}
        for row in rows:
            for identifier in (row.old, row.new):
                if identifier and not (row.old and row.new):
                    self.alone.setdefault(identifier, row)

    def of(self, old: PointSummary, new: PointSummary) -> Versus:
        """Return the verdict on two points; points that the comparison could not pair are *not comparable*, with the reason."""
        row = self.pairs.get((old.id, new.id)) or self.alone.get(new.id) or self.alone.get(old.id)
        if row is None:
            return Versus(None, "not comparable", "the comparison did not pair these two points (several targets or builds)", old=old, new=new)
        return Versus(row.ratio, row.verdict, row.reason, old=old, new=new)


def _where(run: RunSummary) -> str:
    return run.target if run.run_set or run.target != "local" else run.name


def with_cores(versus: Versus, base: Iterable[PointSummary], run: Iterable[PointSummary]) -> Versus:
    """Return ``versus`` with the host-core equivalents of the points ``run``, if it has a ratio; all points share parameters."""
    return replace(versus, cores=core_equivalents(base, run)) if versus.verdict != "not comparable" and versus.ratio else versus


def core_equivalents(base: Iterable[PointSummary], run: Iterable[PointSummary]) -> Interval | None:
    """Return the best rate of ``run`` (any engine, any threads) over the best rate of one core of ``base``; the points share parameters."""
    core = best(p for p in base if p.threads == 1)
    whole = best(run)
    if core is None or whole is None or core.ops_per_s is None or whole.ops_per_s is None:
        return None
    return independent_ratio(whole.ops_per_s, core.ops_per_s)


def whole_machine(base: Iterable[PointSummary], run: Iterable[PointSummary]) -> Interval | None:
    """Return the best rate of ``run`` over the best rate of ``base``, each at its fastest number of threads; the points share parameters."""
    old, new = best(base), best(run)
    if old is None or new is None or old.ops_per_s is None or new.ops_per_s is None:
        return None
    return independent_ratio(new.ops_per_s, old.ops_per_s)
