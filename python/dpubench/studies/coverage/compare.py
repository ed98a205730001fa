"""Comparison of two runs of study ``coverage``, characteristic by characteristic (:mod:`dpubench.studies.modelled.versus`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpubench.analysis.model import Comparison, Interval, Verdict
from dpubench.errors import UserError
from dpubench.simulation.characteristics import CHARACTERISTICS
from dpubench.studies import Part
from dpubench.studies.coverage.model import PointSummary, RunSummary
from dpubench.studies.modelled.versus import ratio_of, verdict_of


def compared(old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """Return the comparisons, see :meth:`dpubench.studies.Study.compare`. @raises UserError"""
    if best:
        raise UserError("--best-engine: study coverage compares points with the same engines: remove the option")
    if new is None:
        raise UserError(f"{old[0].path}: has only one processor: name a second run to compare it with")
    return [Part("", compare(old[0].points, new[0].points, effect))]


def compare(old: Sequence[PointSummary], new: Sequence[PointSummary], effect: float) -> list[Comparison]:
    """Return a row per point of ``old`` and characteristic, compared with the point's partner in ``new``.

    Only IPC gives a verdict of faster or slower. If another characteristic differs, the row has no verdict, and its reason says more or less.
    """
    partners = {_key(p): p for p in new}
    rows = []
    for point in old:
        partner = partners.pop(_key(point), None)
        if partner is None:
            rows.append(_alone(point.id, point.id, None))
        elif not (point.there and partner.there):
            gone, which = (point, "old") if not point.there else (partner, "new")
            rows.append(Comparison(point.id, point.id, partner.id, None, "not comparable", None, f"{which}: {gone.failure}"))
        else:
            rows += [_row(point, partner, name, effect) for name in CHARACTERISTICS]
    return rows + [_alone(p.id, None, p.id) for p in partners.values()]


def _key(point: PointSummary) -> tuple[object, ...]:
    return (point.id, point.engine, tuple(sorted(point.params.items())), point.message_bytes)


def _alone(name: str, old: str | None, new: str | None) -> Comparison:
    return Comparison(name, old, new, None, "not comparable", None, "this point is not in the other run")


def _row(old: PointSummary, new: PointSummary, name: str, effect: float) -> Comparison:
    which = f"{new.id} {name}"
    before, after = (_value(point, name) for point in (old, new))
    if before is None or after is None:
        return Comparison(which, old.id, new.id, None, "not comparable", None, f"{'old' if before is None else 'new'}: not counted")
    if before.value == 0:
        verdict: Verdict = "same" if after.value == 0 else "not comparable"
        return Comparison(which, old.id, new.id, None, verdict, None, "" if verdict == "same" else f"0 before, {after.value:.3g} now: no ratio")
    ratio = ratio_of(before, after)
    verdict = verdict_of(ratio, effect)
    if verdict == "undecided":
        return Comparison(which, old.id, new.id, ratio, verdict, None, "the interval of sampled messages is too wide: use --exact or more messages")
    if name != "ipc" and verdict in ("faster", "slower"):
        return Comparison(which, old.id, new.id, ratio, "not comparable", None, "more now" if verdict == "faster" else "less now")
    return Comparison(which, old.id, new.id, ratio, verdict, None, "")


def _value(point: PointSummary, name: str) -> Interval | None:
    if name == "ipc" and point.ipc is not None:
        return point.ipc
    value = point.characteristics.get(name)
    return None if value is None else Interval(value, math.nan, math.nan)
