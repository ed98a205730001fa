"""Points in a space of characteristics: what a set of operators covers of whole programs.

Every characteristic is **standardised**: its mean over the points that the scale is made of (each counts once) becomes 0, their standard deviation
(of the population) 1. One that is the same everywhere has no deviation: it keeps its unit and is said to be constant; all points lie at 0 of it then.
Distances are Euclidean, in standard deviations.

Everything here is a pure function of its arguments.
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
#: A point is in a hull where it is at most so far off, the sum over the characteristics in standard deviations: what rounding leaves.
TOLERANCE: Final = 1e-6
#: Relative to a characteristic's size: a spread below this is rounding.
_ROUNDING: Final = 1e-12
#: Inputs of a program below which nothing is said of other inputs.
LEAST_INPUTS: Final = 3


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
    """A share with its interval; the ends are ``nan`` where too few inputs stand behind it."""

    value: float
    low: float
    high: float


def share_inside(applications: Sequence[Sequence[tuple[int, int]]]) -> tuple[Share, list[Share]]:
    """Return the share of phases that are inside, over all ``applications``, which weigh alike, and of each.

    An application is its inputs, an input ``(phases inside, phases)``. An interval says how far other inputs of the same kinds may change the share:
    that of Korn and Graubard ("Confidence intervals for proportions with small expected number of positive counts estimated from survey data", Survey
    Methodology 24, 1998) for a proportion of which few clusters were drawn. It is the exact binomial interval of Clopper and Pearson for as many
    independent phases as would scatter like the inputs do, fewer by what the t quantile of few inputs asks for. That number lies between the inputs
    (the phases of each are all alike) and the phases (none is like another). Below :data:`LEAST_INPUTS` inputs there is no interval; in the one over
    all applications those with fewer count as they are.
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
    """An application's share, and what stands behind it."""

    value: float
    variance: float  #: of the share, estimated from its inputs
    inputs: int
    phases: float

    @classmethod
    def of(cls, counts: Floats) -> _Part:
        """``counts``, shape (inputs, 2): phases inside, phases."""
        inputs, (held, phases) = len(counts), counts.sum(axis=0)
        # The variance of a ratio of sums, linearised (Cochran, Sampling Techniques, 1977, 6.4).
        off = counts[:, 0] - held / phases * counts[:, 1]
        variance = float((off**2).sum() * inputs / (inputs - 1) / phases**2) if inputs > 1 else np.nan
        return cls(float(held / phases), variance, inputs, float(phases))


def _interval(value: float, parts: Sequence[_Part], number: int) -> Share:
    """Return ``value``, the mean over ``number`` applications, with the interval that the inputs of ``parts`` (some of them) leave."""
    from scipy.special import betaincinv, stdtrit  # as above: commands that compute nothing need not wait

    variances = np.array([part.variance for part in parts]) / number**2
    variance = float(variances.sum())
    # As many as would be there if every input, or every phase, were one draw of a mean over applications that weigh alike.
    least, most = (number**2 / float(np.sum(1 / np.array(sizes))) for sizes in ([p.inputs for p in parts], [p.phases for p in parts]))
    effective = least if value in (0, 1) else most  # what no input tells apart may be each one's own, and what all share is not
    if variance > 0:
        freedom = variance**2 / float(np.sum(variances**2 / np.array([part.inputs - 1 for part in parts])))
        normal, student = (float(stdtrit(degrees, (1 + CONFIDENCE) / 2)) for degrees in (np.inf, freedom))
        effective = min(max(value * (1 - value) / variance * (normal / student) ** 2, least), most)
    held = value * effective
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(held, effective - held + 1, tail)) if value > 0 else 0.0
    high = float(betaincinv(held + 1, effective - held, 1 - tail)) if value < 1 else 1.0
    return Share(value, low, high)
