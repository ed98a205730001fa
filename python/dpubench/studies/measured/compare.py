"""Comparison of two runs of figures, quantity by quantity, from the medians of independent rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpubench.analysis import statistics
from dpubench.analysis.model import Comparison, Quantity
from dpubench.analysis.verdicts import Tested, judged, logs_of
from dpubench.errors import UserError
from dpubench.studies import Part
from dpubench.studies.measured.model import PointSummary, RunSummary


def compared(old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """Return the comparisons, see :meth:`dpubench.studies.Study.compare`. @raises UserError"""
    if best:
        raise UserError(f"--best-engine: study {old[0].study} compares each point with itself: remove the option")
    if new is None:
        if len(old) < 2:
            raise UserError(f"{old[0].path}: holds one run: name a second run to compare it with")
        old, new = old[:1], old[1:]
    return [Part(_title(a, b), compare(a, b, effect), a.target != b.target) for a in old for b in new if len(old) == 1 or a.target == b.target]


def _title(old: RunSummary, new: RunSummary) -> str:
    return "" if old.target == new.target else f"{new.target} against {old.target}"


def compare(old: RunSummary, new: RunSummary, effect: float) -> list[Comparison]:
    """Return a row for every figure of ``old`` and its partner in ``new``. A ratio above one is a gain, whatever the quantity."""
    partners = {p.id: p for p in new.points}
    emulated = next((f"{run.target} is {run.label}" for run in (old, new) if run.origin == "emulated"), "")
    rows: list[Comparison | Tested] = []
    for point in old.points:
        partner = partners.pop(point.id, None)
        had = [quantity for quantity in old.quantities if any(quantity.name in p.figures for p in (point, partner) if p)]
        for quantity in had or old.quantities[:1]:
            row = _row(point, partner, quantity, len(old.quantities) > 1)
            rows.append(replace(row, reason=emulated) if emulated and partner is not None and isinstance(row, Comparison) else row)
    rows += [Comparison(p.id, None, p.id, None, "not comparable", None, "this point is not in the old run") for p in partners.values()]
    return judged(rows, effect)


def _row(old: PointSummary, new: PointSummary | None, quantity: Quantity, several: bool) -> Comparison | Tested:
    label = f"{old.id}, {quantity.title}" if several else old.id
    if new is None:
        return Comparison(label, old.id, None, None, "not comparable", None, "this point is not in the new run")
    sign = 1 if quantity.better == "more" else -1  # the logarithm of a gain
    before, after = (sign * logs_of(p.rounds.get(quantity.name, [])) for p in (old, new))
    difference = statistics.unpaired_difference(before, after)
    if difference is None:
        reason = next((p.failure or p.unavailable for p in (old, new) if p.failure or p.unavailable), "an interval needs two rounds in both runs")
        return Comparison(label, old.id, new.id, None, "not comparable", None, reason)
    return Tested(label, old.id, new.id, [difference])
