"""Old against new, point by point, by the rules of :mod:`dpubench.results.comparison`: what the machine itself moved is no finding.

The null workload on the same link at the same load takes the place that canaries have there: a difference has to exceed by how much it moved.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dpubench.errors import UserError
from dpubench.results import statistics
from dpubench.results.model import Comparison
from dpubench.results.statistics import Difference
from dpubench.studies import Part
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PointSummary, RunSummary


@dataclass(frozen=True, slots=True)
class _Tested:
    label: str
    old: str
    new: str
    difference: Difference
    note: str


def compared(old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """See :meth:`dpubench.studies.Study.compare`. @raises UserError"""
    if new is None:
        raise UserError(f"{old[0].path}: a run of study end-to-end has one target and one build: name a second run")
    if best:
        raise UserError("--best-engine: study end-to-end compares points with the same engines")
    return [Part("", compare(old[0], new[0], effect))]


def compare(old: RunSummary, new: RunSummary, effect: float) -> list[Comparison]:
    """Every point of ``old`` against its partner in ``new``, by the rate that comes back; those without one are *not comparable*.

    ``effect`` is a share (0.03: 3 %). Rows come in the order of ``old``, then what only ``new`` has.
    """
    partners = {_key(p): p for p in new.points}
    rows: list[Comparison | _Tested] = []
    for point in old.points:
        partner = partners.pop(_key(point), None)
        rows.append(_alone(point, "new", old=True) if partner is None else _pair(point, partner, _same_machine(old, new)))
    rows += [_alone(point, "old", old=False) for point in partners.values()]
    adjusted = iter(statistics.benjamini_hochberg([row.difference.p_value for row in rows if isinstance(row, _Tested)]))
    return [row if isinstance(row, Comparison) else _judged(row, float(next(adjusted)), effect) for row in rows]


def _key(point: PointSummary) -> Hashable:
    words = (tuple(sorted(d.items())) for d in (point.params, point.engines, point.traffic))
    return (point.workload, *words, point.placement, point.port, point.server_cpus, point.frame, point.schedule, point.load)


def label_of(point: PointSummary) -> str:
    """A point in words."""
    return point.id


def _same_machine(old: RunSummary, new: RunSummary) -> bool:
    return all(old.machine.get(key) == new.machine.get(key) for key in ("cpu", "cpus_online"))


def _alone(point: PointSummary, where: str, *, old: bool) -> Comparison:
    reason = f"this point is not in the {where} run"
    return Comparison(label_of(point), point.id if old else None, None if old else point.id, None, "not comparable", None, reason)


def _pair(old: PointSummary, new: PointSummary, same_machine: bool) -> Comparison | _Tested:
    for which, point in (("old", old), ("new", new)):
        if why := wording.why_empty(point):
            return Comparison(label_of(new), old.id, new.id, None, "not comparable", None, f"{which} run: {why}")
        if not wording.says_of_the_server(point):
            return Comparison(label_of(new), old.id, new.id, None, "not comparable", None, f"{which} run: {point.limit}, no statement on the server")
    moved = _moved(old, new)
    difference = statistics.unpaired_difference(np.log(old.round_pps), np.log(new.round_pps), moved=moved or 0.0)
    if difference is None:
        return Comparison(label_of(new), old.id, new.id, None, "not comparable", None, "fewer than two rounds on a side")
    notes = [] if same_machine else ["different machines: the ratio includes the machine"]
    notes += [f"the null workload moved by {100 * math.expm1(moved):.1f} %"] if moved else []
    few = min(old.rounds, new.rounds)
    notes += [f"only {few} rounds"] if few < statistics.MINIMUM_ROUNDS else []
    return _Tested(label_of(new), old.id, new.id, difference, "; ".join(notes))


def _moved(old: PointSummary, new: PointSummary) -> float | None:
    """By how much (log) the null workload's rate moved between the runs; None where it is not known, or is the point itself."""
    floors = [p.floor.throughput_pps if p.floor is not None else None for p in (old, new)]
    if floors[0] is None or floors[1] is None or not (floors[0].value > 0 and floors[1].value > 0):
        return None
    return abs(math.log(floors[1].value / floors[0].value))


def _judged(row: _Tested, adjusted_p: float, effect: float) -> Comparison:
    verdict = statistics.verdict(row.difference, adjusted_p, effect)
    return Comparison(row.label, row.old, row.new, row.difference.interval, verdict, adjusted_p, row.note)
