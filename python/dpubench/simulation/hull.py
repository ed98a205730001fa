"""Points in a space of characteristics, and the coverage of whole programs by a set of operators.

Every characteristic is **standardised**: its mean over the points of the scale (each counts once) becomes 0, their standard deviation (of the
population) 1. A characteristic that is the same everywhere has no deviation. It keeps its unit and is marked constant, and all points lie at 0.
Distances are Euclidean, in standard deviations.

All functions here are pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CONFIDENCE: Final = 0.95
#: Largest distance at which a point still counts as inside a hull, summed over the characteristics, in standard deviations. It allows for rounding.
TOLERANCE: Final = 1e-6
#: A spread below this, relative to a characteristic's size, is rounding.
_ROUNDING: Final = 1e-12
#: Fewest inputs of a program for an interval, which speaks of other inputs.
LEAST_INPUTS: Final = 3


@dataclass(frozen=True, slots=True)
class Scale:
    """The mean and deviation that standardise each characteristic."""

    mean: Floats  #: shape (characteristics,)
    deviation: Floats  #: shape (characteristics,); 1 where a characteristic is constant
    constant: Bools  #: shape (characteristics,)

    def standardised(self, points: Floats) -> Floats:
        """Return ``points``, shape (points, characteristics) or (characteristics,), on this scale."""
        return np.asarray((points - self.mean) / self.deviation, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Components:
    """Principal components, ordered by variance, largest first."""

    axes: Floats  #: shape (components, characteristics): unit vectors, the largest entry of each positive
    variance: Floats  #: shape (components,): share of the whole variance that each explains; zeros if there is no variance
    scores: Floats  #: shape (points, components): the points' coordinates


@dataclass(frozen=True, slots=True)
class Nearest:
    """The point of a convex hull that is nearest to another point."""

    distance: float
    weights: Floats  #: shape (hull's points,): the weights of its mixture, not negative, sum 1
    beyond: Floats  #: shape (characteristics,): vector from it to the other point


def scale_of(points: Floats) -> Scale:
    """Return the scale of ``points``, shape (points, characteristics)."""
    mean, deviation = points.mean(axis=0), points.std(axis=0)
    constant = deviation <= _ROUNDING * np.maximum(np.abs(mean), np.finfo(np.float64).tiny)
    return Scale(mean, np.where(constant, 1.0, deviation), constant)


def principal_components(standardised: Floats) -> Components:
    """Return the principal components of ``standardised`` points, shape (points, characteristics).

    There are as many as the smaller of both dimensions, including those without variance.
    """
    centred = standardised - standardised.mean(axis=0)
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    # The sign of a component has no meaning. Fix it, so that the same points always give the same sign.
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    axes = axes * np.where(largest < 0, -1.0, 1.0)[:, None]
    squares = singular**2
    variance = squares / squares.sum() if squares.sum() > 0 else squares
    return Components(axes, variance, centred @ axes.T)


def is_inside(hull: Floats, point: Floats) -> bool:
    """Tell whether ``point`` is a mixture of the points of ``hull``, shape (points, characteristics), up to :data:`TOLERANCE`.

    Solve a linear program: find weights, not negative and with sum 1, that minimise the sum of the mixture's absolute differences to ``point``.
    """
    from scipy.optimize import linprog  # the import takes 0.3 s; commands that compute nothing do not need it

    number, dimensions = hull.shape
    off = np.eye(dimensions)
    equal = np.block([[hull.T, off, -off], [np.ones((1, number)), np.zeros((1, 2 * dimensions))]])
    cost = np.concatenate([np.zeros(number), np.ones(2 * dimensions)])
    found = linprog(cost, A_eq=equal, b_eq=np.append(point, 1.0), bounds=(0, None), method="highs")
    if not found.success:
        raise ArithmeticError(f"the linear program of a hull of {number} points has no solution: {found.message}")
    return bool(found.fun <= TOLERANCE)


def nearest(hull: Floats, point: Floats) -> Nearest:
    """Return the point of the convex hull of ``hull``, shape (points, characteristics), that is nearest to ``point``.

    Solve (hull - point) u = 0 and sum(u) = 1 by least squares under u >= 0. For u = t w with weights w, the best t leaves the error d^2 / (1 + d^2),
    where d is the distance of the mixture by w. So the u with the least error belongs to the nearest mixture, and w = u / sum(u), exactly.
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
    """Return :func:`is_inside` of each of ``points``, shape (points, characteristics).

    The nearest mixture is much faster to find and nearly always decides: its difference to the point bounds the linear program's optimum, the sum
    over the characteristics, from both sides.
    """
    return np.array([_is_inside(hull, point) for point in points], dtype=bool)


def _is_inside(hull: Floats, point: Floats) -> bool:
    off = nearest(hull, point)
    if np.abs(off.beyond).sum() <= TOLERANCE / 2:
        return True
    # A mixture with a sum below the tolerance would be nearer than this distance.
    return False if off.distance > 2 * TOLERANCE else is_inside(hull, point)


def own_inside(hull: Floats) -> int:
    """Return how many points of ``hull``, shape (points, characteristics), are mixtures of the others; 0 if all are corners.

    The share of these points is about the probability that one more point of the same kind is inside. If it is small, a point outside the hull means
    little.
    """
    return sum(_is_inside(np.delete(hull, i, axis=0), point) for i, point in enumerate(hull)) if len(hull) > 1 else 0


def rank(points: Floats) -> int:
    """Return the number of dimensions that ``points``, shape (points, characteristics), span: at most one less than there are points."""
    return int(np.linalg.matrix_rank(points - points.mean(axis=0), tol=TOLERANCE))


def leave_one_out(hull: Floats, owners: Sequence[str], points: Floats, within: Bools) -> dict[str, Bools]:
    """Return, per owner, which of ``points`` are inside the hull without the owner's points.

    ``owners`` has the owner of each of the hull's points. ``within``: which of ``points`` are inside the whole hull. If there is only one owner, no
    hull is left without it, and no point is inside.
    """
    found = {}
    for owner in dict.fromkeys(owners):
        left = hull[[other != owner for other in owners]]
        now = np.zeros(len(points), dtype=bool)
        if len(left):
            now[within] = inside(left, points[within])  # a point outside the whole hull is outside a smaller one too
        found[owner] = now
    return found


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval. The ends are ``nan`` if there are too few inputs."""

    value: float
    low: float
    high: float


def share_inside(applications: Sequence[Sequence[tuple[int, int]]]) -> tuple[Share, list[Share]]:
    """Return the share of phases that are inside, over all ``applications`` with equal weight, and the share of each.

    An application is a list of inputs, an input is ``(phases inside, phases)``. An interval says how far other inputs of the same kinds may change
    the share. The method is by Korn and Graubard ("Confidence intervals for proportions with small expected number of positive counts estimated from
    survey data", Survey Methodology 24, 1998) for a proportion from few clusters: the exact binomial interval of Clopper and Pearson for an effective
    number of independent phases. That number of phases would scatter as the inputs do; the t quantile for few inputs lowers it further. It lies
    between the number of inputs (all phases of an input are alike) and the number of phases (no two are alike). An application with fewer than
    :data:`LEAST_INPUTS` inputs has no interval; the interval over all applications takes its share as certain.
    """
    counted = [np.array(inputs, dtype=np.float64).reshape(-1, 2) for inputs in applications]
    parts = [_Part.of(counts) for counts in counted]
    each = [_interval(part.value, [part], 1) if part.inputs >= LEAST_INPUTS else Share(part.value, np.nan, np.nan) for part in parts]
    if not parts:
        return Share(np.nan, np.nan, np.nan), []
    value = float(np.mean([part.value for part in parts]))
    known = [part for part in parts if part.inputs >= LEAST_INPUTS]
    return _interval(value, known, len(parts)) if known else Share(value, np.nan, np.nan), each


@dataclass(frozen=True, slots=True)
class _Part:
    """An application's share, with its variance and the number of its inputs and phases."""

    value: float
    variance: float  #: variance of the share, estimated from its inputs
    inputs: int
    phases: float

    @classmethod
    def of(cls, counts: Floats) -> _Part:
        """Return the part of an application with ``counts``, shape (inputs, 2): phases inside, phases."""
        inputs, (held, phases) = len(counts), counts.sum(axis=0)
        # This is the linearised variance of a ratio of sums (Cochran, Sampling Techniques, 1977, 6.4).
        off = counts[:, 0] - held / phases * counts[:, 1]
        variance = float((off**2).sum() * inputs / (inputs - 1) / phases**2) if inputs > 1 else np.nan
        return cls(float(held / phases), variance, inputs, float(phases))


def _interval(value: float, parts: Sequence[_Part], number: int) -> Share:
    """Return ``value``, the mean over ``number`` applications, with an interval. ``parts`` are those of them with enough inputs."""
    from scipy.special import betaincinv, stdtrit  # slow to import; commands that compute nothing do not need it

    variances = np.array([part.variance for part in parts]) / number**2
    variance = float(variances.sum())
    # Effective number of draws if every input (least), or every phase (most), is one independent draw of a mean with equal weights.
    least, most = (number**2 / float(np.sum(1 / np.array(sizes))) for sizes in ([p.inputs for p in parts], [p.phases for p in parts]))
    # Without variance between inputs: a share of 0 or 1 cannot show that an input's phases are independent. A share in between shows that they are.
    effective = least if value in (0, 1) else most
    if variance > 0:
        freedom = variance**2 / float(np.sum(variances**2 / np.array([part.inputs - 1 for part in parts])))
        normal, student = (float(stdtrit(degrees, (1 + CONFIDENCE) / 2)) for degrees in (np.inf, freedom))
        effective = min(max(value * (1 - value) / variance * (normal / student) ** 2, least), most)
    held = value * effective
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(held, effective - held + 1, tail)) if value > 0 else 0.0
    high = float(betaincinv(held + 1, effective - held, 1 - tail)) if value < 1 else 1.0
    return Share(value, low, high)
