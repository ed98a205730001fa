"""Builds the space of characteristics from counts: components, compositions, and the coverage of whole programs by operators.

The rules are those of docs/coverage-study.md:

- Scales come from all points of the run, operators and whole programs, each once.
- Mixtures consist of counts per instruction (cycles, misses, kinds). These add up by shares of instructions; ratios do not. These counts, each
  divided by its deviation, decide whether a point is a mixture. The seven characteristics of a mixture follow from its counts.
- A phase is inside the operators' hull if it is a mixture of operators' points. A program that does only the work of operators is inside.
- A composition is the mixture of an application's own operators that is nearest to it (least squares). No trace says which instruction belongs to
  which operator.
- The principal components are those of the seven characteristics.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from dpubench.analysis.model import Interval
from dpubench.simulation import hull as space
from dpubench.simulation.characteristics import CHARACTERISTICS, COSTS, Counts, mixed
from dpubench.simulation.hull import Floats, Scale
from dpubench.studies.coverage.model import Component, Composition, Counted, Covered, Hull, LeftOut, Outside, PointSummary, Space

#: Most phases of a whole program in a figure, spread evenly over the program.
SHOWN_PHASES: Final = 300
#: A phase counts as near the hull up to this distance, in standard deviations.
NEAR: Final = 1.0
#: Number of components whose coordinates are kept.
_SHOWN_COMPONENTS: Final = 3
#: A share of the variance below this is rounding.
_NO_VARIANCE: Final = 1e-12


def analysed(points: Sequence[PointSummary], counted: Mapping[str, Counted]) -> Space | None:
    """Return the space of the points that have characteristics.

    Return None without an operator, with fewer than two points, or if the points have no count in common.
    """
    there = [point for point in points if point.there]
    operators = [point for point in there if point.kind == "operator"]
    wholes = [point for point in there if point.kind != "operator"]
    if not operators or len(there) < 2:
        return None
    vectors = _Vectors([*operators, *wholes], counted)
    if not vectors.kept_costs:
        return None
    standardised = vectors.scale.standardised(vectors.points)
    scores, centre = space.principal_components(standardised), standardised.mean(axis=0)
    hull = vectors.costs([counted[point.id].counts for point in operators])
    phases = {point.id: [vectors.costs(of_input) for of_input in counted[point.id].phases] for point in wholes}
    held = {point.id: [space.inside(hull, of_input) for of_input in phases[point.id]] for point in wholes}
    covered = [
        _covered(point, hull, vectors, counted[point.id], phases[point.id], held[point.id])
        for point in wholes
        if any(len(rows) for rows in phases[point.id])
    ]
    shares = _shares(wholes, covered, held)
    kinds = {point.id: point.kind for point in wholes}
    applications = [entry for entry in covered if kinds[entry.point] == "application"]
    return Space(
        {point.id: point.name for point in [*operators, *wholes]},
        len({point.operators[0] for point in operators}),
        Hull(len(hull), vectors.dimensions, space.rank(hull), space.own_inside(hull)),
        vectors.kept, vectors.dropped, [name for name, constant in zip(vectors.kept, vectors.scale.constant, strict=True) if constant],
        dict(zip(vectors.kept, vectors.scale.mean.tolist(), strict=True)), dict(zip(vectors.kept, vectors.scale.deviation.tolist(), strict=True)),
        [
            Component(float(variance), dict(zip(vectors.kept, axis.tolist(), strict=True)))
            for variance, axis in zip(scores.variance, scores.axes, strict=True)
            if variance > _NO_VARIANCE
        ],
        {point.id: row[:_SHOWN_COMPONENTS].tolist() for point, row in zip([*operators, *wholes], scores.scores, strict=True)},
        {point.id: _thinned(vectors.phases(counted[point.id]) - centre, scores.axes) for point in wholes},
        [_composition(point, operators, vectors, counted) for point in wholes if point.operators],
        covered, shares["application"],
        float(np.mean([c.near / c.phases for c in applications])) if applications else None, shares["workload"],
        {p.id: n for p in wholes if p.kind == "application" and 0 < (n := sum(len(rows) > 0 for rows in phases[p.id])) < space.LEAST_INPUTS},
        _left_out(operators, wholes, hull, phases, held),
    )  # fmt: skip


class _Vectors:
    """The points as vectors of characteristics and of counts per instruction, with their scales. It keeps only columns that all points have."""

    def __init__(self, there: Sequence[PointSummary], counted: Mapping[str, Counted]) -> None:
        everything = [counts for point in there for counts in (counted[point.id].counts, *itertools.chain(*counted[point.id].phases))]
        self._columns = _counted([counts.characteristics() for counts in everything])
        self._cost_columns = _counted([counts.costs() for counts in everything])
        self.kept = [name for name, kept in zip(CHARACTERISTICS, self._columns, strict=True) if kept]
        self.kept_costs = [name for name, kept in zip(COSTS, self._cost_columns, strict=True) if kept]
        self.dropped = [name for name in CHARACTERISTICS if name not in self.kept]
        self.points: Floats = np.array([counted[point.id].counts.characteristics() for point in there])[:, self._columns]
        self.scale: Scale = space.scale_of(self.points)
        self._cost_scale = space.scale_of(np.array([counted[point.id].counts.costs() for point in there])[:, self._cost_columns])

    @property
    def dimensions(self) -> int:
        """Return the number of counts per instruction that differ between points."""
        return int((~self._cost_scale.constant).sum())

    def characteristics(self, counts: Sequence[Counts]) -> Floats:
        """Return the characteristics of ``counts``, standardised, shape (counts, characteristics)."""
        rows = np.array([one.characteristics() for one in counts]).reshape(-1, len(CHARACTERISTICS))
        return self.scale.standardised(rows[:, self._columns])

    def costs(self, counts: Sequence[Counts]) -> Floats:
        """Return the counts per instruction, standardised, shape (counts, costs)."""
        rows = np.array([one.costs() for one in counts]).reshape(-1, len(COSTS))
        return self._cost_scale.standardised(rows[:, self._cost_columns])

    def phases(self, counted: Counted) -> Floats:
        """Return the characteristics of at most :data:`SHOWN_PHASES` phases, standardised."""
        together = list(itertools.chain(*counted.phases))
        return self.characteristics(together[:: max(1, -(-len(together) // SHOWN_PHASES))])


def _counted(rows: Sequence[Sequence[float]]) -> space.Bools:
    """Return which columns are finite in every row."""
    return np.asarray(np.isfinite(np.array(rows)).all(axis=0), dtype=bool)


# --------------------------------------------------------------------------- coverage


def _covered(
    point: PointSummary, hull: Floats, vectors: _Vectors, counted: Counted, phases: Sequence[Floats], held: Sequence[space.Bools]
) -> Covered:  # fmt: skip
    for of_input, inside, shown in zip(phases, held, [i for i in point.inputs if not i.failure], strict=True):
        shown.phases, shown.inside = len(of_input), int(inside.sum())
    together, inside = np.vstack(phases), np.concatenate(held)
    beyond = [space.nearest(hull, phase) for phase in together[~inside]]
    distances = [off.distance for off in beyond]
    near = int(inside.sum()) + sum(distance <= NEAR for distance in distances)
    leading: Counter[tuple[str, bool]] = Counter()
    for off in beyond:
        farthest = int(np.abs(off.beyond).argmax())
        leading[(vectors.kept_costs[farthest], bool(off.beyond[farthest] > 0))] += 1
    whole = space.nearest(hull, vectors.costs([counted.counts])[0])
    return Covered(
        point.id, len(together), int(inside.sum()), Interval(float(inside.mean()), math.nan, math.nan), near, whole.distance <= space.TOLERANCE,
        whole.distance, float(np.median(distances)) if distances else math.nan, max(distances, default=math.nan),
        [Outside(name, above, number) for (name, above), number in sorted(leading.items(), key=lambda kv: (-kv[1], kv[0]))],
    )  # fmt: skip


def _shares(
    wholes: Sequence[PointSummary], covered: Sequence[Covered], held: Mapping[str, Sequence[space.Bools]]
) -> dict[str, Interval | None]:  # fmt: skip
    """Return the share of phases inside by kind of whole program. Write the share of each program into ``covered``."""
    found: dict[str, Interval | None] = {}
    by_id = {entry.point: entry for entry in covered}
    for kind in ("application", "workload"):
        own = [point.id for point in wholes if point.kind == kind and point.id in by_id]
        together, each = space.share_inside([[(int(h.sum()), len(h)) for h in held[name] if len(h)] for name in own])
        for name, share in zip(own, each, strict=True):
            by_id[name].share = Interval(share.value, share.low, share.high)
        found[kind] = Interval(together.value, together.low, together.high) if own else None
    return found


def _left_out(
    operators: Sequence[PointSummary], wholes: Sequence[PointSummary], hull: Floats, phases: Mapping[str, Sequence[Floats]],
    held: Mapping[str, Sequence[space.Bools]],
) -> list[LeftOut]:  # fmt: skip
    """Return the applications' share without each operator, first the operator whose absence lowers it most."""
    own = [point.id for point in wholes if point.kind == "application" and any(len(rows) for rows in phases[point.id])]
    owners = [point.operators[0] for point in operators]
    if not own or len(set(owners)) < 2:
        return []
    sizes = [sum(len(rows) for rows in phases[name]) for name in own]
    together = np.vstack([rows for name in own for rows in phases[name]])
    inside = np.concatenate([flags for name in own for flags in held[name]])
    ends = np.cumsum(sizes)[:-1]

    def share(flags: space.Bools) -> float:
        return float(np.mean([part.mean() for part in np.split(flags, ends)]))

    off = [space.nearest(hull, phase) for phase in together]
    near = np.array([entry.distance <= NEAR for entry in off])
    found = []
    for owner, now in space.leave_one_out(hull, owners, together, inside).items():
        mine = np.array([other == owner for other in owners])
        still = near.copy()
        for i in np.flatnonzero(near):
            # If the nearest mixture does not contain the operator, the phase is as near without it.
            if off[i].weights[mine].sum() > 0:
                still[i] = space.nearest(hull[~mine], together[i]).distance <= NEAR
        in_hull = bool(space.inside(hull[~mine], hull[mine]).all())
        found.append(LeftOut(owner, share(now), share(now) - share(inside), share(still) - share(near), in_hull))
    return sorted(found, key=lambda entry: (entry.change, entry.near_change, entry.operator))


def _thinned(centred: Floats, axes: Floats) -> list[list[float]]:
    """Return the coordinates of phases on the first two components."""
    rows: list[list[float]] = (centred @ axes[:2].T).tolist()
    return rows


# --------------------------------------------------------------------------- compositions


def _composition(point: PointSummary, operators: Sequence[PointSummary], vectors: _Vectors, counted: Mapping[str, Counted]) -> Composition:
    parts = [other for other in operators if other.operators[0] in point.operators]
    missing = [name for name in point.operators if name not in {other.operators[0] for other in parts}]
    if not parts:
        return Composition(point.id, {}, {}, {}, math.nan, missing)
    mixture = space.nearest(vectors.costs([counted[part.id].counts for part in parts]), vectors.costs([counted[point.id].counts])[0])
    weights: list[float] = mixture.weights.tolist()
    composed = mixed([counted[part.id].counts for part in parts], weights)
    apart = vectors.characteristics([counted[point.id].counts])[0] - vectors.characteristics([composed])[0]
    values = dict(zip(CHARACTERISTICS, composed.characteristics(), strict=True))
    return Composition(
        point.id, {part.id: weight for part, weight in zip(parts, weights, strict=True)}, {name: values[name] for name in vectors.kept},
        dict(zip(vectors.kept, apart.tolist(), strict=True)), mixture.distance, missing,
    )  # fmt: skip
