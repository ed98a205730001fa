"""Compares an old run with a new one by the rules of :mod:`dpubench.studies.operators.comparison`: a change of the machine itself is no finding.

Points are compared one by one. The null workload on the same link at the same load takes the place of the canaries. A difference counts only if the
plain ratio and the ratio of rates over the null workload's rate both show it, and only if it exceeds the change of the null workload. Other points
say nothing of the machine here: they belong to few workloads, and a change of the server's loop changes these together.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Final

from dpubench.analysis import statistics, verdicts
from dpubench.analysis.model import Comparison
from dpubench.analysis.verdicts import Rates, Tested, Watch
from dpubench.errors import UserError
from dpubench.studies import Part
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PointSummary, RunSummary

_WATCH: Final = "null workload"
#: Fields of ``Required`` that must be equal for two rates found to be the same quantity (RFC 9971). The way of the search to them does not matter.
_GOAL: Final = ("loss_ratio", "exceed_ratio", "last_trial_s", "duration_sum_s")


def compared(old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """Return the comparison that :meth:`dpubench.studies.Study.compare` asks for. @raises UserError"""
    if best:
        raise UserError("--best-engine: study end-to-end compares points with the same engines: remove the option")
    if new is None:
        if len(old) < 2:
            raise UserError(f"{old[0].path}: this run of study end-to-end has one target and one build: name a second run")
        base = next((run for run in old if run.is_baseline), old[0])
        return [_between_targets(base, run, effect) for run in old if run is not base]
    if len(old) == len(new) == 1:
        return [Part("", compare(old[0], new[0], effect))]
    pairs = [(a, b) for a in old for b in new if a.target == b.target]
    if not pairs:
        raise UserError(f"{old[0].path}, {new[0].path}: have no target in common: name one of each, as NAME@TARGET")
    return [Part(a.target, compare(a, b, effect)) for a, b in pairs]


def _between_targets(base: RunSummary, run: RunSummary, effect: float) -> Part:
    names = (f"the run on {base.target}", f"the run on {run.target}")
    return Part(f"{run.target} against {base.target}", compare(base, run, effect, names), between_targets=True)


def compare(old: RunSummary, new: RunSummary, effect: float, names: tuple[str, str] = ("the old run", "the new run")) -> list[Comparison]:
    """Return a row for every point of ``old`` against its partner in ``new``, by the rate that comes back.

    Points without a partner are *not comparable*. ``effect`` is a share (0.03: 3 %). ``names`` name the two runs in reasons. Rows come in the order
    of ``old``; points that only ``new`` has follow.
    """
    partners = {_key(p): p for p in new.points}
    rows: list[Comparison | None] = []
    pairs: list[tuple[PointSummary, PointSummary]] = []
    for point in old.points:
        partner = partners.pop(_key(point), None)
        row = _alone(point, names[1], old=True) if partner is None else _why_not(point, partner, names)
        rows.append(row)
        if row is None and partner is not None:
            pairs.append((point, partner))
    judged = iter(verdicts.judged(_tested(old, new, pairs), effect))
    alone = [_alone(point, names[0], old=False) for point in partners.values()]
    return [*(row if row is not None else next(judged) for row in rows), *alone]


def _key(point: PointSummary) -> Hashable:
    words = (tuple(sorted(d.items())) for d in (point.params, point.engines, point.traffic))
    return (point.workload, *words, point.placement, point.port, point.server_cpus, point.frame, point.schedule, point.load)


def _alone(point: PointSummary, where: str, *, old: bool) -> Comparison:
    reason = f"this point is not in {where}"
    return Comparison(point.id, point.id if old else None, None if old else point.id, None, "not comparable", None, reason)


def _why_not(old: PointSummary, new: PointSummary, names: tuple[str, str]) -> Comparison | None:
    """Return the *not comparable* row of two points, or None if they may be compared."""
    for which, point in zip(names, (old, new), strict=True):
        if why := wording.why_no_statement(point):
            return Comparison(new.id, old.id, new.id, None, "not comparable", None, f"{which.removeprefix('the ')}: {why}")
    if differing := _asked_differently(old, new):
        return Comparison(new.id, old.id, new.id, None, "not comparable", None, f"the searches have different goals: {differing}")
    if min(len(old.round_pps), len(new.round_pps)) < 2:
        return Comparison(new.id, old.id, new.id, None, "not comparable", None, "one side has fewer than two rounds")
    return None


def _asked_differently(old: PointSummary, new: PointSummary) -> str:
    """Return both goals of two searches in words, the old one first; empty if the rates found are the same quantity."""
    a, b = old.required, new.required
    if a is None or b is None or all(getattr(a, name) == getattr(b, name) for name in _GOAL):
        return ""
    return f"{wording.required_text(old.load, a)} | {wording.required_text(new.load, b)}"


def _tested(old: RunSummary, new: RunSummary, pairs: Sequence[tuple[PointSummary, PointSummary]]) -> list[Comparison | Tested]:
    """Return the differences of ``pairs``, whose points all say something of the server."""
    here = same_machine(old, new)
    rows: list[Comparison | Tested] = []
    for a, b in pairs:
        watch = Watch(_WATCH, _moved(a, b)) if here else None
        notes = [] if here else ["different machines: the ratio includes the machine"]
        few = min(a.rounds, b.rounds)
        notes += [f"only {few} rounds"] if few < statistics.MINIMUM_ROUNDS else []
        row = verdicts.tested(Tested(b.id, a.id, b.id, [], "; ".join(notes), watch), _rates(a, old), _rates(b, new))
        rows.append(row or Comparison(b.id, a.id, b.id, None, "not comparable", None, "one side has fewer than two rounds"))
    return rows


def same_machine(old: RunSummary, new: RunSummary) -> bool:
    """Return whether the null workload of two runs watched the same machine at two times, as far as is known."""
    alike = all(old.machine.get(key) == new.machine.get(key) for key in ("cpu", "cpus_online"))
    return alike and old.target == new.target


def _rates(point: PointSummary, run: RunSummary) -> Rates:
    """Return a point's rates by round, plain and over the null workload's rate. The latter are empty unless both have a rate of every round."""
    null = next((p for p in run.points if point.floor is not None and p.id == point.floor.point), None)
    whole = null is not None and len(point.round_pps) == len(null.round_pps) == run.rounds
    return Rates(point.round_pps, [a / b for a, b in zip(point.round_pps, null.round_pps, strict=True)] if whole and null is not None else [])


def _moved(old: PointSummary, new: PointSummary) -> float | None:
    """Return by how much (log) the null workload's rate moved between the runs; None if not known. A point of the null workload is its own floor."""
    floors = [p.throughput_pps if p.is_null else p.floor.throughput_pps if p.floor is not None else None for p in (old, new)]
    if floors[0] is None or floors[1] is None or not (floors[0].value > 0 and floors[1].value > 0):
        return None
    return math.log(floors[1].value / floors[0].value)
