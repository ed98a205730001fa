"""Intervals, tests and verdicts: pure functions on arrays, no file and no clock.

Everything is computed on logarithms, because what a machine does to a rate multiplies it, and because the inverse of an interval of a ratio is then
the interval of the inverse ratio. Rounds (fresh processes) are the unit of inference: windows of one process share its memory layout and the state
that the machine had then, so that their number says nothing about how far the next process will be off. A point's value is the trimmed mean of its
rounds: somebody else's work on the machine spoils a few of them by far more than the rest scatter. The reasoning, the simulations that fixed
:data:`WIDENING`, and what is *not* claimed are in ``docs/methodology.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from dpubench.results.model import Interval, Verdict
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from types import ModuleType

FloatArray = NDArray[np.float64]

CONFIDENCE: Final = 0.95
#: Fewer rounds than this give an interval, but never the word *converged*: the quantile of t grows steeply below five degrees of freedom.
MINIMUM_ROUNDS: Final = 6
#: Share of the rounds that the trimmed mean leaves out at each end (docs/methodology.md, "Intervals").
TRIM: Final = 0.2
#: Factor on the t quantile that pays for looking after every round and stopping when the interval is narrow enough (docs/methodology.md, "Stopping").
WIDENING: Final = 1.15
#: Rounds whose numbers of cycles differ by more than this factor are weighted instead of taken as equals.
UNEQUAL: Final = 2.0
FALSE_DISCOVERY_RATE: Final = 0.05


@dataclass(frozen=True, slots=True)
class LogEstimates:
    """Estimates of many points at once, on logarithms; all arrays of shape ``(points,)``, ``nan`` where nothing is known."""

    location: FloatArray  #: trimmed mean of the rounds' logs
    error: FloatArray  #: standard error of ``location`` (not widened)
    freedom: FloatArray  #: degrees of freedom of ``error``; below one there is no interval
    rounds: NDArray[np.int64]  #: rounds with a value

    @property
    def half_width(self) -> FloatArray:
        """Half width of the 95 % interval of ``location``, widened for stopping."""
        return critical_value(self.freedom) * self.error

    @property
    def scatter(self) -> FloatArray:
        """Standard deviation of single rounds that ``error`` stands for (rounds that weigh alike): what is trimmed does not count."""
        return self.error * np.sqrt(self.rounds)


def _special() -> ModuleType:
    """SciPy's functions take a fifth of a second to import, which commands that compute nothing need not wait for."""
    from scipy import special

    return cast("ModuleType", special)


def critical_value(freedom: ArrayLike, confidence: float = CONFIDENCE) -> FloatArray:
    """Multiple of the standard error that holds the truth with ``confidence`` although the number of rounds was decided while looking.

    The t quantile of ``freedom`` degrees of freedom times :data:`WIDENING`; ``nan`` below one. Element by element.
    """
    known = np.asarray(freedom, dtype=np.float64)
    return np.where(known >= 1, WIDENING * _special().stdtrit(np.maximum(known, 1), 0.5 + confidence / 2), np.nan)


def estimate_logs(logs: ArrayLike, weights: ArrayLike = 1.0, trim: float = TRIM) -> LogEstimates:
    """Trimmed mean and standard error over the last axis of ``logs``, shape ``(points, rounds)``; ``nan`` marks a round that lacks the point.

    Of n rounds the g = floor(``trim`` n) smallest and as many of the largest are left out, so that below five rounds it is the plain mean. The
    standard error is that of Tukey and McLaughlin (1963): the winsorized standard deviation times sqrt((n - 1) / (h (h - 1))), where h = n - 2 g
    rounds are kept, with h - 1 degrees of freedom (Wilcox, *Introduction to Robust Estimation and Hypothesis Testing*, chapters 3 and 4).

    ``weights`` (not negative, broadcast to ``logs``) are of rounds that must not count like whole ones. Rounds are trimmed whole whatever they weigh.
    What is left is a weighted mean; in the standard error the effective number of rounds, the squared sum of the weights over the sum of their
    squares (Kish, *Survey Sampling*, 1965), takes the place of n, and the share of it that was kept that of h. Equal weights give what none give.
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
    """``weight``, shape ``(points, rounds)``, scaled so that a row's sum is its effective number of rounds; equal weights become exactly 1."""
    relative = _over(weight, weight.max(axis=1, initial=0.0, keepdims=True), 0.0)
    return relative * _over(relative.sum(axis=1, keepdims=True), (relative**2).sum(axis=1, keepdims=True), 0.0)


def _over(numerator: FloatArray, denominator: FloatArray, otherwise: float = math.nan) -> FloatArray:
    """The quotient, and ``otherwise`` where the denominator is not above zero."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    quotient: FloatArray = np.divide(numerator, denominator, out=np.full(shape, otherwise), where=denominator > 0)
    return quotient


def intervals_of_logs(logs: ArrayLike, weights: ArrayLike = 1.0) -> list[Interval]:
    """Intervals of the exponentials of the rows of ``logs`` (shape ``(points, rounds)``, ``nan``: missing), in the unit of the quantity.

    ``weights`` as in :func:`estimate_logs`.
    """
    estimates = estimate_logs(logs, weights)
    half = estimates.half_width
    low, high = np.exp(estimates.location - half), np.exp(estimates.location + half)
    return [Interval(float(v), float(a), float(b)) for v, a, b in zip(np.exp(estimates.location), low, high, strict=True)]


def interval_of_rounds(round_medians: ArrayLike) -> Interval:
    """95 % interval of a positive quantity from the medians of its rounds, any unit.

    A t interval of the trimmed mean of the medians' logs (:func:`estimate_logs`), exponentiated, and widened for sequential stopping; its value is
    the trimmed geometric mean of the medians. Values that are not positive and finite count as missing. ``low`` and ``high`` are ``nan`` below two
    rounds, all three without a round.
    """
    medians = np.asarray(round_medians, dtype=np.float64).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(medians)
    return intervals_of_logs(np.where(np.isfinite(logs), logs, np.nan)[None, :])[0]


def linear_interval_of_rounds(round_medians: ArrayLike, trim: float = TRIM) -> Interval:
    """As :func:`interval_of_rounds` for a quantity that may be zero or negative (a count of matches, a share): no logarithm.

    With a ``trim`` of 0 it is of the plain mean: of what is an account of all rounds, in which the one that differs must show (losses).
    """
    estimates = estimate_logs(np.asarray(round_medians, dtype=np.float64).ravel()[None, :], trim=trim)
    location, half = float(estimates.location[0]), float(estimates.half_width[0])
    return Interval(location, location - half, location + half)


def precision(interval: Interval) -> float:
    """Relative half width of ``interval``: the factor by which the truth may be off, minus one (0.01: 1 %); ``nan`` if unknown.

    The square root of ``high / low``, because intervals here are symmetric in the logarithm.
    """
    if not (interval.low > 0 and interval.high > 0):
        return math.nan
    return math.sqrt(interval.high / interval.low) - 1


def has_converged(round_medians: ArrayLike, target: float, minimum_rounds: int = MINIMUM_ROUNDS) -> bool:
    """Whether enough rounds exist and their interval is at most ``target`` (relative half width, 0.01: 1 %) wide on each side."""
    medians = np.asarray(round_medians, dtype=np.float64).ravel()
    known = int(np.count_nonzero(np.isfinite(medians) & (medians > 0)))
    return known >= max(minimum_rounds, 2) and is_known(interval_of_rounds(medians), target)


def is_known(interval: Interval, target: float) -> bool:
    """Whether ``interval`` is at most ``target`` (0.01: 1 %) wide on each side of its value; True for a quantity that never varied, 0 included."""
    if interval.low > 0:
        return precision(interval) <= target
    return (interval.high - interval.low) / 2 <= target * abs(interval.value)


def palindromic_mean(first_half: ArrayLike, second_half: ArrayLike) -> FloatArray:
    """Geometric mean of a point's two windows of a cycle (rates, same shape): drift that is linear over the cycle cancels in ratios of such means."""
    return np.sqrt(np.asarray(first_half, dtype=np.float64) * np.asarray(second_half, dtype=np.float64))


def ratio_interval(per_round_pair_ratios: Sequence[ArrayLike]) -> Interval:
    """95 % interval of a ratio from its values within cycles, one array per round.

    Per round the median of the logs of the pair ratios; over rounds as :func:`interval_of_rounds`, with the weights of :func:`round_weights`.
    """
    rounds = _logs_of_rounds(per_round_pair_ratios)
    if not rounds:
        return Interval(math.nan, math.nan, math.nan)
    return intervals_of_logs(np.array([[float(np.median(r)) for r in rounds]]), round_weights([len(r) for r in rounds]))[0]


def round_weights(cycles: ArrayLike) -> FloatArray:
    """Weights of rounds, shape ``(rounds,)``, from the numbers of cycles behind them.

    All alike, unless the numbers differ by more than :data:`UNEQUAL` (an interrupted round beside whole ones): then a round weighs as much as its
    number of cycles, up to the median number. One that was cut short must not count like a whole one, and beyond the median what differs between
    processes dominates.
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
    """A ratio new / old with what a test needs; the ratio is ``exp(log_ratio)``."""

    log_ratio: float
    error: float  #: standard error of ``log_ratio``
    freedom: float  #: degrees of freedom of ``error``
    #: What the machine alone may have made of the ratio (logs, around 0): nothing in between is a finding.
    moved_down: float = 0.0
    moved_up: float = 0.0
    widening: float = WIDENING  #: 1 where no rounds were counted by looking at ``error``

    @property
    def half_width(self) -> float:
        """Half width of the 95 % interval of ``log_ratio`` for a machine that stood still: the widened quantile times the error."""
        return float(critical_value(self.freedom)) / WIDENING * self.widening * self.error

    @property
    def bounds(self) -> tuple[float, float]:
        """95 % interval on the log scale, whatever the machine did between ``moved_down`` and ``moved_up``."""
        return self.log_ratio - self.half_width - self.moved_up, self.log_ratio + self.half_width - self.moved_down

    @property
    def interval(self) -> Interval:
        """95 % interval of the ratio."""
        low, high = self.bounds
        return Interval(math.exp(self.log_ratio), math.exp(low), math.exp(high))

    @property
    def p_value(self) -> float:
        """Two-sided p of "no difference beyond what the machine moved"; ``nan`` below one degree of freedom."""
        if not self.freedom >= 1:
            return math.nan
        excess = max(self.log_ratio - self.moved_up, self.moved_down - self.log_ratio, 0.0)
        if excess == 0:
            return 1.0
        if self.error == 0:
            return 0.0
        return float(2 * _special().stdtr(self.freedom, -excess / (self.widening * self.error)))


def paired_difference(per_round_pair_ratios: Sequence[ArrayLike]) -> Difference | None:
    """Difference of two points that alternated, from their ratios within cycles, one array per round.

    ``None`` below two rounds, and where weights leave less than two of them (a whole round beside one that was cut short).
    """
    rounds = _logs_of_rounds(per_round_pair_ratios)
    return difference_of_rounds([math.exp(np.median(r)) for r in rounds], [len(r) for r in rounds])


def difference_of_rounds(round_ratios: ArrayLike, round_cycles: ArrayLike) -> Difference | None:
    """As :func:`paired_difference` from each round's median ratio and the number of cycles behind it, which weighs it (:func:`round_weights`)."""
    medians = np.log(np.asarray(round_ratios, dtype=np.float64))
    if medians.size < 2:
        return None
    found = estimate_logs(medians, round_weights(round_cycles))
    if found.freedom[0] < 1:
        return None
    return Difference(float(found.location[0]), float(found.error[0]), float(found.freedom[0]))


def unpaired_difference(old_logs: ArrayLike, new_logs: ArrayLike, spread: float = 0.0, moved: float = 0.0) -> Difference | None:
    """Difference of two points of different times, from the logs of their rounds' values; ``None`` below two rounds on a side.

    Errors and degrees of freedom of trimmed means are combined after Yuen (*The two-sample trimmed t for unequal population variances*, Biometrika
    61, 1974); below five rounds a side that is Welch's test. ``spread`` is a standard deviation (log) by which points of an unchanged build were
    seen to scatter between the two times; ``moved`` (log, not negative) is what the machine may have moved either way.
    """
    logs, errors, freedoms = unpaired_differences(np.atleast_2d(old_logs), np.atleast_2d(new_logs))
    if not np.isfinite(logs[0]):
        return None
    return Difference(float(logs[0]), math.hypot(float(errors[0]), spread), float(freedoms[0]), -moved, moved)


def unpaired_differences(old_logs: ArrayLike, new_logs: ArrayLike, trim: float = TRIM) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As :func:`unpaired_difference` of many points, whose rounds are the rows: log ratios, standard errors, degrees of freedom; ``nan``: unknown."""
    old, new = estimate_logs(old_logs, trim=trim), estimate_logs(new_logs, trim=trim)
    known = (old.rounds >= 2) & (new.rounds >= 2)
    a, b = old.error**2, new.error**2
    scale = _over(a * a, old.freedom, 0.0) + _over(b * b, new.freedom, 0.0)
    freedom = np.where(scale > 0, _over((a + b) ** 2, scale), old.freedom + new.freedom)
    found = (np.where(known, values, np.nan) for values in (new.location - old.location, np.sqrt(a + b), freedom))
    log_ratio, error, freedoms = found
    return log_ratio, error, freedoms


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Adjusted p values (Benjamini and Hochberg 1995): those at most q are findings at a false discovery rate of q. ``nan`` stays ``nan``."""
    p = np.asarray(p_values, dtype=np.float64).ravel()
    adjusted = np.full(p.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


def verdict(difference: Difference, adjusted_p: float, minimum_effect: float) -> Verdict:
    """What may be said of ``difference``; ``minimum_effect`` as a share (0.03: 3 %), the same factor up and down.

    *faster* or *slower* needs both: the ratio itself is beyond the minimum effect, and its test survives false-discovery control. *same* needs the
    whole interval within the minimum effect. Everything else is *undecided*: it says that the data cannot tell, not that nothing changed.
    """
    limit = math.log1p(minimum_effect)
    # A test that passed is beyond what the machine moved.
    if adjusted_p <= FALSE_DISCOVERY_RATE and abs(difference.log_ratio) > limit:
        return "faster" if difference.log_ratio > 0 else "slower"
    low, high = difference.bounds
    if -limit <= low and high <= limit:
        return "same"
    return "undecided"
