"""Points in a space of characteristics: what a set of operators covers of whole programs.

Every characteristic is **standardised**: its mean over the points that the scale is made of (each counts once) becomes 0, their standard deviation
(of the population) 1. One that is the same everywhere has no deviation: it keeps its unit and is said to be constant; all points lie at 0 of it then.
Distances are Euclidean, in standard deviations.

Everything here is a pure function of its arguments; what draws random numbers takes a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CONFIDENCE: Final = 0.95
#: A point is in a hull where it is at most so far off, the sum over the characteristics in standard deviations: what rounding leaves.
TOLERANCE: Final = 1e-6
#: Relative to a characteristic's size: a spread below this is rounding.
_ROUNDING: Final = 1e-12
RESAMPLES: Final = 2000


@dataclass(frozen=True, slots=True)
class Scale:
    """How characteristics are standardised."""

    mean: Floats  #: shape (characteristics,)
    deviation: Floats  #: likewise; 1 where a characteristic is constant
    constant: Bools  #: likewise

    def standardised(self, points: Floats) -> Floats:
        """``points``, shape (points, characteristics) or (characteristics,), on this scale."""
        return np.asarray((points - self.mean) / self.deviation, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Components:
    """Principal components, the one with most variance first."""

    axes: Floats  #: shape (components, characteristics): unit vectors, the largest entry of each positive
    variance: Floats  #: shape (components,): share of the whole variance that each explains; zeros where there is none
    scores: Floats  #: shape (points, components): the points' coordinates


@dataclass(frozen=True, slots=True)
class Nearest:
    """The point of a convex hull that is nearest to another point."""

    distance: float
    weights: Floats  #: shape (hull's points,): not negative, sum 1: the mixture that it is
    beyond: Floats  #: shape (characteristics,): from it to the other point


def scale_of(points: Floats) -> Scale:
    """The scale that ``points``, shape (points, characteristics), make."""
    mean, deviation = points.mean(axis=0), points.std(axis=0)
    constant = deviation <= _ROUNDING * np.maximum(np.abs(mean), np.finfo(np.float64).tiny)
    return Scale(mean, np.where(constant, 1.0, deviation), constant)


def principal_components(standardised: Floats) -> Components:
    """Of ``standardised`` points, shape (points, characteristics): as many components as have variance at all, at most."""
    centred = standardised - standardised.mean(axis=0)
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    # The sign of a component means nothing: the same points give the same one.
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    axes = axes * np.where(largest < 0, -1.0, 1.0)[:, None]
    squares = singular**2
    variance = squares / squares.sum() if squares.sum() > 0 else squares
    return Components(axes, variance, centred @ axes.T)


def is_inside(hull: Floats, point: Floats) -> bool:
    """Whether ``point`` is a mixture of the points of ``hull``, shape (points, characteristics), up to :data:`TOLERANCE`.

    A linear program: weights that are not negative and sum to 1, and the least sum of what their mixture is off.
    """
    from scipy.optimize import linprog  # a third of a second, which commands that compute nothing need not wait for

    number, dimensions = hull.shape
    off = np.eye(dimensions)
    equal = np.block([[hull.T, off, -off], [np.ones((1, number)), np.zeros((1, 2 * dimensions))]])
    cost = np.concatenate([np.zeros(number), np.ones(2 * dimensions)])
    found = linprog(cost, A_eq=equal, b_eq=np.append(point, 1.0), bounds=(0, None), method="highs")
    if not found.success:
        raise ArithmeticError(f"the linear program of a hull of {number} points has no solution: {found.message}")
    return bool(found.fun <= TOLERANCE)


def nearest(hull: Floats, point: Floats) -> Nearest:
    """The point of the hull of ``hull``, shape (points, characteristics), that is nearest to ``point``.

    Least squares under u >= 0 of (hull - point) u = 0 and sum(u) = 1: for u = t w with weights w the best t leaves d^2 / (1 + d^2), where d is the
    distance of the mixture by w; so the u with the least error is that of the nearest mixture, and w = u / sum(u), exactly.
    """
    from scipy.optimize import nnls

    rows = np.vstack([(hull - point).T, np.ones((1, len(hull)))])
    target = np.zeros(len(rows))
    target[-1] = 1.0
    found, _ = nnls(rows, target)
    weights = found / found.sum()
    beyond = point - weights @ hull
    return Nearest(float(np.linalg.norm(beyond)), weights, beyond)


def inside(hull: Floats, points: Floats) -> Bools:
    """:func:`is_inside` of each of ``points``, shape (points, characteristics).

    The nearest mixture is found much faster, and decides nearly always: what it is off bounds the program's optimum, the sum over the
    characteristics, from both sides.
    """
    return np.array([_is_inside(hull, point) for point in points], dtype=bool)


def _is_inside(hull: Floats, point: Floats) -> bool:
    off = nearest(hull, point)
    if np.abs(off.beyond).sum() <= TOLERANCE / 2:
        return True
    # A mixture whose sum is below the tolerance would be nearer than that.
    return False if off.distance > 2 * TOLERANCE else is_inside(hull, point)


def own_inside(hull: Floats) -> int:
    """How many of the points of ``hull``, shape (points, characteristics), are mixtures of the others: none of a hull that is all corners.

    So often about would one more point of the same kind be inside: where hardly any is, a hull says hardly anything of what is outside.
    """
    return sum(_is_inside(np.delete(hull, i, axis=0), point) for i, point in enumerate(hull)) if len(hull) > 1 else 0


def rank(points: Floats) -> int:
    """Dimensions of the flat that ``points``, shape (points, characteristics), span: at most one less than there are points."""
    return int(np.linalg.matrix_rank(points - points.mean(axis=0), tol=TOLERANCE))


def leave_one_out(hull: Floats, owners: Sequence[str], points: Floats, within: Bools) -> dict[str, Bools]:
    """For each of ``owners`` (of the hull's points, one each) which of ``points`` are inside without its points; ``within``: which are with all.

    Without the last owner there is no hull, and nothing in it.
    """
    found = {}
    for owner in dict.fromkeys(owners):
        left = hull[[other != owner for other in owners]]
        now = np.zeros(len(points), dtype=bool)
        if len(left):
            now[within] = inside(left, points[within])  # a smaller hull holds nothing that the whole one does not
        found[owner] = now
    return found


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval; the ends are ``nan`` where there is nothing to resample."""

    value: float
    low: float
    high: float


def share_inside(applications: Sequence[Sequence[tuple[int, int]]], seed: int) -> tuple[Share, list[Share]]:
    """The share of phases that are inside: of all ``applications``, which weigh alike, and of each.

    An application is its inputs, an input ``(phases inside, phases)``. Inputs are drawn anew within each application, with replacement, so many as it
    has (bootstrap, percentiles): an interval says how far other inputs of the same kinds may change the share. Of one input there is none.
    """
    generator = np.random.default_rng(seed)
    drawn = []
    for inputs in applications:
        counts = np.array(inputs, dtype=np.float64).reshape(-1, 2)
        chosen = generator.integers(0, len(counts), size=(RESAMPLES, len(counts)))
        sums = counts[chosen].sum(axis=1)
        drawn.append((float(counts[:, 0].sum() / counts[:, 1].sum()), sums[:, 0] / sums[:, 1], len(counts)))
    each = [_share(value, resampled, several=number > 1) for value, resampled, number in drawn]
    if not drawn:
        return Share(np.nan, np.nan, np.nan), []
    value = float(np.mean([value for value, _, _ in drawn]))
    together = np.mean([resampled for _, resampled, _ in drawn], axis=0)
    return _share(value, together, several=any(number > 1 for _, _, number in drawn)), each


def _share(value: float, resampled: Any, *, several: bool) -> Share:
    if not several:
        return Share(value, np.nan, np.nan)
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Share(value, float(low), float(high))
