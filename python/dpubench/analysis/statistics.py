"""Intervals, tests and verdicts: pure functions on arrays, without files or clocks.

All computations use logarithms, because a machine's influence multiplies a rate, and because the inverse of a ratio's interval is then the interval
of the inverse ratio. Rounds (fresh processes) are the unit of inference. The windows of one process share its memory layout and the machine's state
at that time, so that their number does not tell how far the next process will be off. A point's value is the trimmed mean of its rounds, because
other work on the machine spoils a few rounds by far more than the rest scatter. ``docs/methodology.md`` has the reasons, the simulations that fixed
:data:`WIDENING`, and a list of what is *not* claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpubench.analysis.model import Interval, Verdict

if TYPE_CHECKING:
    from types import ModuleType

FloatArray = NDArray[np.float64]

CONFIDENCE: Final = 0.95
#: Fewer rounds give an interval, but the point never counts as *converged*: the t quantile grows steeply below five degrees of freedom.
MINIMUM_ROUNDS: Final = 6
#: Share of the rounds that the trimmed mean drops at each end (docs/methodology.md, "Intervals").
TRIM: Final = 0.2
#: Factor on the t quantile. It pays for looking after every round and stopping once the interval is narrow (docs/methodology.md, "Stopping").
WIDENING: Final = 1.15
#: Rounds get weights where their numbers of cycles differ by more than this factor.
UNEQUAL: Final = 2.0
FALSE_DISCOVERY_RATE: Final = 0.05


@dataclass(frozen=True, slots=True)
class LogEstimates:
    """Estimates of many points at once, on logarithms; all arrays have the shape ``(points,)``, with ``nan`` where nothing is known."""

    location: FloatArray  #: trimmed mean of the rounds' logs
    error: FloatArray  #: standard error of ``location`` (not widened)
    freedom: FloatArray  #: degrees of freedom of ``error``; below one there is no interval
    rounds: NDArray[np.int64]  #: number of rounds with a value

    @property
    def half_width(self) -> FloatArray:
        """Return the half width of the 95 % interval of ``location``, widened for stopping."""
        return critical_value(self.freedom) * self.error

    @property
    def scatter(self) -> FloatArray:
        """Return the standard deviation of single rounds of equal weight that matches ``error``; trimmed values do not count."""
        return self.error * np.sqrt(self.rounds)


def _special() -> ModuleType:
    """Import SciPy's functions late: the import takes a fifth of a second, and many commands compute nothing."""
    from scipy import special

    return cast("ModuleType", special)


def critical_value(freedom: ArrayLike, confidence: float = CONFIDENCE) -> FloatArray:
    """Return the multiple of the standard error that holds the truth with ``confidence``, although looking decided the number of rounds.

    It is the t quantile for ``freedom`` degrees of freedom times :data:`WIDENING`, element by element, and ``nan`` below one degree.
    """
    known = np.asarray(freedom, dtype=np.float64)
    return np.where(known >= 1, WIDENING * _special().stdtrit(np.maximum(known, 1), 0.5 + confidence / 2), np.nan)


def estimate_logs(logs: ArrayLike, weights: ArrayLike = 1.0, trim: float = TRIM) -> LogEstimates:
    """Return the trimmed mean and standard error of each row of ``logs``, shape ``(points, rounds)``; ``nan`` marks a round without the point.

    Of n rounds, the g = floor(``trim`` n) smallest and the g largest are dropped; below five rounds this is the plain mean. The standard error is
    from Tukey and McLaughlin (1963): the winsorized standard deviation times sqrt((n - 1) / (h (h - 1))), where h = n - 2 g rounds are kept, with h
    - 1 degrees of freedom (Wilcox, *Introduction to Robust Estimation and Hypothesis Testing*, chapters 3 and 4).

    ``weights`` (not negative, broadcast to ``logs``) lower the influence of rounds that must not count like whole ones. Trimming drops whole rounds,
    whatever they weigh. The mean of the rest is weighted. In the standard error, n becomes the effective number of rounds: the squared sum of the
    weights over the sum of their squares (Kish, *Survey Sampling*, 1965). h becomes the kept share of it. Equal weights give the same result as no
    weights.
    """
    values = np.atleast_2d(np.asarray(logs, dtype=np.float64))
    known = np.isfinite(values)
    order = np.argsort(np.where(known, values, np.inf), axis=1)
    ordered = np.take_along_axis(np.where(known, values, 0.0), order, axis=1)
    weight = np.take_along_axis(np.where(known, np.broadcast_to(np.asarray(weights, dtype=np.float64), values.shape), 0.0), order, axis=1)
    weight = _effective(weight)

    rounds = known.sum(axis=1)
    trimmed = np.floor(trim * rounds).astype(np.int64)[:, None]
    place = np.arange(values.shape[1])
    inside = (place >= trimmed) & (place < rounds[:, None] - trimmed)
    kept = np.where(inside, weight, 0.0)
    left = kept.sum(axis=1)
    location = _over((kept * ordered).sum(axis=1), left)

    lowest = np.where(inside, ordered, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    highest = np.where(inside, ordered, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    winsorized = np.where(weight > 0, np.clip(ordered, lowest, highest), 0.0)
    centre = _over((weight * winsorized).sum(axis=1), weight.sum(axis=1))
    deviations = (weight * (winsorized - centre[:, None]) ** 2).sum(axis=1)  # n - 1 times the winsorized variance
    error = np.sqrt(_over(deviations, left * np.maximum(left - 1, 0.0)))
    return LogEstimates(location, error, np.maximum(left - 1, 0.0), rounds.astype(np.int64))


def _effective(weight: FloatArray) -> FloatArray:
    """Scale ``weight``, shape ``(points, rounds)``, so that a row sums to its effective number of rounds; equal weights become exactly 1."""
    relative = _over(weight, weight.max(axis=1, initial=0.0, keepdims=True), 0.0)
    return relative * _over(relative.sum(axis=1, keepdims=True), (relative**2).sum(axis=1, keepdims=True), 0.0)


def _over(numerator: FloatArray, denominator: FloatArray, otherwise: float = math.nan) -> FloatArray:
    """Return the quotient, or ``otherwise`` where the denominator is not above zero."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    quotient: FloatArray = np.divide(numerator, denominator, out=np.full(shape, otherwise), where=denominator > 0)
    return quotient


def intervals_of_logs(logs: ArrayLike, weights: ArrayLike = 1.0) -> list[Interval]:
    """Return the intervals of the rows of ``logs``, shape ``(points, rounds)``, exponentiated into the unit of the quantity.

    ``nan`` marks missing values; ``weights`` as in :func:`estimate_logs`.
    """
    estimates = estimate_logs(logs, weights)
    half = estimates.half_width
    low, high = np.exp(estimates.location - half), np.exp(estimates.location + half)
    return [Interval(float(v), float(a), float(b)) for v, a, b in zip(np.exp(estimates.location), low, high, strict=True)]


def interval_of_rounds(round_medians: ArrayLike) -> Interval:
    """Return the 95 % interval of a positive quantity, in its unit, from the medians of its rounds.

    It is the t interval of the trimmed mean of the medians' logs (:func:`estimate_logs`), widened for sequential stopping and exponentiated. Its
    value is the trimmed geometric mean of the medians. Values that are not positive and finite count as missing. ``low`` and ``high`` are ``nan``
    below two rounds, all three without a round.
    """
    medians = np.asarray(round_medians, dtype=np.float64).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(medians)
    return intervals_of_logs(np.where(np.isfinite(logs), logs, np.nan)[None, :])[0]


def linear_interval_of_rounds(round_medians: ArrayLike, trim: float = TRIM) -> Interval:
    """Return the interval of :func:`interval_of_rounds` without a logarithm, for a quantity that may be zero or negative (matches, a share).

    A ``trim`` of 0 takes the plain mean, for a quantity in which one odd round must show (losses).
    """
    estimates = estimate_logs(np.asarray(round_medians, dtype=np.float64).ravel()[None, :], trim=trim)
    location, half = float(estimates.location[0]), float(estimates.half_width[0])
    return Interval(location, location - half, location + half)


def precision(interval: Interval) -> float:
    """Return the relative half width of ``interval``: the factor by which the truth may be off, minus one (0.01: 1 %); ``nan`` if unknown.

    It is the square root of ``high / low`` minus one, because these intervals are symmetric in the logarithm.
    """
    if not (interval.low > 0 and interval.high > 0):
        return math.nan
    return math.sqrt(interval.high / interval.low) - 1


def has_converged(round_medians: ArrayLike, target: float, minimum_rounds: int = MINIMUM_ROUNDS) -> bool:
    """Return whether there are enough rounds and their interval is at most ``target`` (relative half width, 0.01: 1 %) wide on each side."""
    medians = np.asarray(round_medians, dtype=np.float64).ravel()
    known = int(np.count_nonzero(np.isfinite(medians) & (medians > 0)))
    return known >= max(minimum_rounds, 2) and is_known(interval_of_rounds(medians), target)


def is_known(interval: Interval, target: float) -> bool:
    """Return whether ``interval`` is at most ``target`` (0.01: 1 %) wide on each side of its value.

    A quantity that never varied is known, even if it is 0.
    """
    if interval.low > 0:
        return precision(interval) <= target
    return (interval.high - interval.low) / 2 <= target * abs(interval.value)


def palindromic_mean(first_half: ArrayLike, second_half: ArrayLike) -> FloatArray:
    """Return the geometric mean of a point's two windows of a cycle (rates, same shape).

    A drift that is linear over the cycle cancels in ratios of such means.
    """
    return np.sqrt(np.asarray(first_half, dtype=np.float64) * np.asarray(second_half, dtype=np.float64))


def ratio_interval(per_round_pair_ratios: Sequence[ArrayLike]) -> Interval:
    """Return the 95 % interval of a ratio from its values within cycles, one array per round.

    A round's value is the median of the logs of its pair ratios. The interval over rounds is as in :func:`interval_of_rounds`, with the weights of
    :func:`round_weights`.
    """
    rounds = _logs_of_rounds(per_round_pair_ratios)
    if not rounds:
        return Interval(math.nan, math.nan, math.nan)
    return intervals_of_logs(np.array([[float(np.median(r)) for r in rounds]]), round_weights([len(r) for r in rounds]))[0]


def round_weights(cycles: ArrayLike) -> FloatArray:
    """Return the weights of rounds, shape ``(rounds,)``, from the numbers of cycles behind them.

    All weights are equal, unless the numbers differ by more than :data:`UNEQUAL` (an interrupted round beside whole ones). Then a round weighs as
    much as its number of cycles, up to the median number. A round that was cut short must not count like a whole one; above the median, the
    differences between processes dominate.
    """
    counts = np.asarray(cycles, dtype=np.float64)
    return np.ones(counts.shape) if counts.max() <= UNEQUAL * counts.min() else np.minimum(counts, np.median(counts))


def _logs_of_rounds(per_round: Sequence[ArrayLike]) -> list[FloatArray]:
    logs = []
    for ratios in per_round:
        values = np.asarray(ratios, dtype=np.float64).ravel()
        values = values[np.isfinite(values) & (values > 0)]
        if values.size:
            logs.append(np.log(values))
    return logs


# --------------------------------------------------------------------------- tests and verdicts


@dataclass(frozen=True, slots=True)
class Difference:
    """The ratio new / old, with the inputs of a test; the ratio is ``exp(log_ratio)``."""

    log_ratio: float
    error: float  #: standard error of ``log_ratio``
    freedom: float  #: degrees of freedom of ``error``
    #: Range of the ratio that the machine alone may have caused (logs, around 0): a ratio within it is no finding.
    moved_down: float = 0.0
    moved_up: float = 0.0
    widening: float = WIDENING  #: 1 where nobody looked at ``error`` to decide the number of rounds

    @property
    def half_width(self) -> float:
        """Return the half width of the 95 % interval of ``log_ratio`` for a machine that did not change: the widened quantile times the error."""
        return float(critical_value(self.freedom)) / WIDENING * self.widening * self.error

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the 95 % interval on the log scale, for any effect of the machine between ``moved_down`` and ``moved_up``."""
        return self.log_ratio - self.half_width - self.moved_up, self.log_ratio + self.half_width - self.moved_down

    @property
    def interval(self) -> Interval:
        """Return the 95 % interval of the ratio."""
        low, high = self.bounds
        return Interval(math.exp(self.log_ratio), math.exp(low), math.exp(high))

    @property
    def p_value(self) -> float:
        """Return the two-sided p of "no difference beyond the machine's movement"; ``nan`` below one degree of freedom."""
        if not self.freedom >= 1:
            return math.nan
        excess = max(self.log_ratio - self.moved_up, self.moved_down - self.log_ratio, 0.0)
        if excess == 0:
            return 1.0
        if self.error == 0:
            return 0.0
        return float(2 * _special().stdtr(self.freedom, -excess / (self.widening * self.error)))


def paired_difference(per_round_pair_ratios: Sequence[ArrayLike]) -> Difference | None:
    """Return the difference of two points that alternated, from their ratios within cycles, one array per round.

    Return ``None`` below two rounds, and where weights leave less than two effective rounds (a whole round beside one that was cut short).
    """
    rounds = _logs_of_rounds(per_round_pair_ratios)
    return difference_of_rounds([math.exp(np.median(r)) for r in rounds], [len(r) for r in rounds])


def difference_of_rounds(round_ratios: ArrayLike, round_cycles: ArrayLike) -> Difference | None:
    """Return the same as :func:`paired_difference`, from each round's median ratio and its number of cycles, which gives its weight.

    :func:`round_weights` turns the numbers of cycles into weights.
    """
    medians = np.log(np.asarray(round_ratios, dtype=np.float64))
    if medians.size < 2:
        return None
    found = estimate_logs(medians, round_weights(round_cycles))
    if found.freedom[0] < 1:
        return None
    return Difference(float(found.location[0]), float(found.error[0]), float(found.freedom[0]))


def unpaired_difference(old_logs: ArrayLike, new_logs: ArrayLike, spread: float = 0.0, moved: float = 0.0) -> Difference | None:
    """Return the difference of two points of different times, from the logs of their rounds; ``None`` below two rounds on a side.

    Errors and degrees of freedom of trimmed means are combined after Yuen (*The two-sample trimmed t for unequal population variances*, Biometrika
    61, 1974); below five rounds a side this is Welch's test. ``spread`` is the standard deviation (log) of unchanged points between the two times.
    ``moved`` (log, not negative) is the largest movement of the machine in either direction.
    """
    logs, errors, freedoms = unpaired_differences(np.atleast_2d(old_logs), np.atleast_2d(new_logs))
    if not np.isfinite(logs[0]):
        return None
    return Difference(float(logs[0]), math.hypot(float(errors[0]), spread), float(freedoms[0]), -moved, moved)


def unpaired_differences(old_logs: ArrayLike, new_logs: ArrayLike, trim: float = TRIM) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log ratios, standard errors and degrees of freedom of many points (:func:`unpaired_difference`); ``nan``: unknown.

    The rows are the points' rounds.
    """
    old, new = estimate_logs(old_logs, trim=trim), estimate_logs(new_logs, trim=trim)
    known = (old.rounds >= 2) & (new.rounds >= 2)
    a, b = old.error**2, new.error**2
    scale = _over(a * a, old.freedom, 0.0) + _over(b * b, new.freedom, 0.0)
    freedom = np.where(scale > 0, _over((a + b) ** 2, scale), old.freedom + new.freedom)
    found = (np.where(known, values, np.nan) for values in (new.location - old.location, np.sqrt(a + b), freedom))
    log_ratio, error, freedoms = found
    return log_ratio, error, freedoms


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Return adjusted p values (Benjamini and Hochberg 1995): those at most q are findings at a false discovery rate of q.

    ``nan`` stays ``nan``.
    """
    p = np.asarray(p_values, dtype=np.float64).ravel()
    adjusted = np.full(p.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


def verdict(difference: Difference, adjusted_p: float, minimum_effect: float) -> Verdict:
    """Return the verdict on ``difference``; ``minimum_effect`` is a share (0.03: 3 %), the same factor up and down.

    *faster* or *slower* needs both: a ratio beyond the minimum effect, and a test that survives false-discovery control. *same* needs the whole
    interval within the minimum effect. All else is *undecided*: the data cannot tell, and this does not mean that nothing changed.
    """
    limit = math.log1p(minimum_effect)
    # A difference that passes the test lies beyond the machine's movement.
    if adjusted_p <= FALSE_DISCOVERY_RATE and abs(difference.log_ratio) > limit:
        return "faster" if difference.log_ratio > 0 else "slower"
    low, high = difference.bounds
    if -limit <= low and high <= limit:
        return "same"
    return "undecided"
