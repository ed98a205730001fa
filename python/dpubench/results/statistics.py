"""Intervals, tests and verdicts: pure functions on arrays, no file and no clock.

Everything is computed on logarithms, because what a machine does to a rate multiplies it, and because the inverse of an interval of a ratio is then
the interval of the inverse ratio. Rounds (fresh processes) are the unit of inference: windows of one process share its memory layout and the state
that the machine had then, so that their number says nothing about how far the next process will be off. The reasoning, the simulations that fixed
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
#: Factor on the t quantile that pays for looking after every round and stopping when the interval is narrow enough (docs/methodology.md, "Stopping").
WIDENING: Final = 1.06
#: Rounds whose numbers of cycles differ by more than this factor are weighted and bootstrapped instead of taken as equals.
UNEQUAL: Final = 2.0
FALSE_DISCOVERY_RATE: Final = 0.05


@dataclass(frozen=True, slots=True)
class LogEstimates:
    """Estimates of many points at once, on logarithms; all arrays of shape ``(points,)``, ``nan`` where nothing is known."""

    mean: FloatArray  #: mean of the rounds' logs
    error: FloatArray  #: standard error of ``mean`` (not widened)
    rounds: NDArray[np.int64]  #: rounds with a value

    @property
    def half_width(self) -> FloatArray:
        """Half width of the 95 % interval of ``mean``, widened for stopping."""
        return critical_value(self.rounds) * self.error


def _special() -> ModuleType:
    """SciPy's functions take a fifth of a second to import, which commands that compute nothing need not wait for."""
    from scipy import special

    return cast("ModuleType", special)


def critical_value(rounds: ArrayLike, confidence: float = CONFIDENCE) -> FloatArray:
    """Multiple of the standard error that holds the truth with ``confidence`` although the number of rounds was decided while looking.

    The t quantile of ``rounds - 1`` degrees of freedom times :data:`WIDENING`; ``nan`` below two rounds. Element by element.
    """
    freedom = np.asarray(rounds, dtype=np.float64) - 1
    return np.where(freedom >= 1, WIDENING * _special().stdtrit(np.maximum(freedom, 1), 0.5 + confidence / 2), np.nan)


def estimate_logs(logs: ArrayLike) -> LogEstimates:
    """Mean and standard error over the last axis of ``logs``, shape ``(points, rounds)``; ``nan`` marks a round that lacks the point."""
    values = np.atleast_2d(np.asarray(logs, dtype=np.float64))
    known = np.isfinite(values)
    rounds = known.sum(axis=1)
    mean = np.divide(np.where(known, values, 0.0).sum(axis=1), rounds, out=np.full(len(values), np.nan), where=rounds > 0)
    squares = (np.where(known, values - mean[:, None], 0.0) ** 2).sum(axis=1)
    variance = np.divide(squares, rounds - 1, out=np.full(len(values), np.nan), where=rounds > 1)
    return LogEstimates(mean, np.sqrt(variance / np.maximum(rounds, 1)), rounds.astype(np.int64))


def intervals_of_logs(logs: ArrayLike) -> list[Interval]:
    """Intervals of the exponentials of the rows of ``logs`` (shape ``(points, rounds)``, ``nan``: missing), in the unit of the quantity."""
    estimates = estimate_logs(logs)
    half = estimates.half_width
    low, high = np.exp(estimates.mean - half), np.exp(estimates.mean + half)
    return [Interval(float(v), float(a), float(b)) for v, a, b in zip(np.exp(estimates.mean), low, high, strict=True)]


def interval_of_rounds(round_medians: ArrayLike) -> Interval:
    """95 % interval of a positive quantity from the medians of its rounds, any unit.

    A t interval on the logs of the medians, exponentiated, and widened for sequential stopping; its value is the geometric mean of the medians.
    Values that are not positive and finite count as missing. ``low`` and ``high`` are ``nan`` below two rounds, all three without a round.
    """
    medians = np.asarray(round_medians, dtype=np.float64).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(medians)
    return intervals_of_logs(np.where(np.isfinite(logs), logs, np.nan)[None, :])[0]


def linear_interval_of_rounds(round_medians: ArrayLike) -> Interval:
    """As :func:`interval_of_rounds` for a quantity that may be zero or negative (a count of matches, a share): no logarithm."""
    estimates = estimate_logs(np.asarray(round_medians, dtype=np.float64).ravel()[None, :])
    mean, half = float(estimates.mean[0]), float(estimates.half_width[0])
    return Interval(mean, mean - half, mean + half)


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
    if np.count_nonzero(np.isfinite(medians) & (medians > 0)) < max(minimum_rounds, 2):
        return False
    return precision(interval_of_rounds(medians)) <= target


def palindromic_mean(first_half: ArrayLike, second_half: ArrayLike) -> FloatArray:
    """Geometric mean of a point's two windows of a cycle (rates, same shape): drift that is linear over the cycle cancels in ratios of such means."""
    return np.sqrt(np.asarray(first_half, dtype=np.float64) * np.asarray(second_half, dtype=np.float64))


def ratio_interval(per_round_pair_ratios: Sequence[ArrayLike]) -> Interval:
    """95 % interval of a ratio from its values within cycles, one array per round.

    Per round the median of the logs of the pair ratios; over rounds a t interval (:func:`interval_of_rounds`). Where the numbers of cycles differ by
    more than :data:`UNEQUAL` (an interrupted round beside whole ones) a weighted mean with a hierarchical bootstrap takes its place.
    """
    rounds = _logs_of_rounds(per_round_pair_ratios)
    counts = [len(r) for r in rounds]
    if len(rounds) >= 2 and max(counts) > UNEQUAL * min(counts):
        return bootstrap_interval([np.exp(r) for r in rounds])
    return intervals_of_logs(np.array([[float(np.median(r)) for r in rounds]]) if rounds else np.full((1, 1), np.nan))[0]


def bootstrap_interval(per_round_ratios: Sequence[ArrayLike], resamples: int = 4000, seed: int = 1) -> Interval:
    """Hierarchical bootstrap of a ratio: rounds are drawn with replacement, each with all its cycles; the same answer for the same ``seed``.

    Cycles are not drawn again within the rounds: their noise is in the rounds' medians already, and would be counted twice (Davison and Hinkley 1997,
    section 3.8). A round weighs as much as its number of cycles, up to the median number: one that was cut short must not count like a whole one, and
    beyond that what differs between processes dominates. The percentiles are moved outwards to what a t interval of as many rounds would need
    (expanded percentile, Hesterberg 2015, section 5.3), because the plain percentile interval of six rounds holds the truth in less than 90 %.
    """
    rounds = _logs_of_rounds(per_round_ratios)
    if not rounds:
        return Interval(math.nan, math.nan, math.nan)
    medians = np.array([np.median(r) for r in rounds])
    counts = np.array([len(r) for r in rounds], dtype=np.float64)
    weights = np.minimum(counts, np.median(counts))
    centre = float(np.average(medians, weights=weights))
    number = len(rounds)
    if number < 2:
        return Interval(math.exp(centre), math.nan, math.nan)
    drawn = np.random.default_rng(seed).integers(0, number, (resamples, number))
    means = np.average(medians[drawn], axis=1, weights=weights[drawn])
    tail = float(_special().ndtr(-math.sqrt(number / (number - 1)) * float(critical_value(number))))
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(math.exp(centre), math.exp(min(low, centre)), math.exp(max(high, centre)))


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
    moved: float = 0.0  #: what the machine itself moved between the two sides (log, not negative): nothing below it is a finding

    @property
    def half_width(self) -> float:
        """Half width of the 95 % interval of ``log_ratio``: the widened quantile times the error, plus what the machine moved."""
        if not self.freedom > 0:
            return math.nan
        return WIDENING * float(_special().stdtrit(self.freedom, 0.5 + CONFIDENCE / 2)) * self.error + self.moved

    @property
    def interval(self) -> Interval:
        """95 % interval of the ratio."""
        half = self.half_width
        return Interval(math.exp(self.log_ratio), math.exp(self.log_ratio - half), math.exp(self.log_ratio + half))

    @property
    def p_value(self) -> float:
        """Two-sided p of "no difference beyond what the machine moved"; ``nan`` without degrees of freedom."""
        if not self.freedom > 0:
            return math.nan
        excess = max(0.0, abs(self.log_ratio) - self.moved)
        if excess == 0:
            return 1.0
        if self.error == 0:
            return 0.0
        return float(2 * _special().stdtr(self.freedom, -excess / (WIDENING * self.error)))


def paired_difference(per_round_pair_ratios: Sequence[ArrayLike]) -> Difference | None:
    """Difference of two points that alternated, from their ratios within cycles, one array per round; ``None`` below two rounds."""
    rounds = _logs_of_rounds(per_round_pair_ratios)
    return difference_of_rounds([math.exp(np.median(r)) for r in rounds], [len(r) for r in rounds])


def difference_of_rounds(round_ratios: ArrayLike, round_cycles: ArrayLike) -> Difference | None:
    """As :func:`paired_difference` from each round's median ratio and the number of cycles behind it.

    Where the numbers of cycles differ by more than :data:`UNEQUAL` the rounds are weighted as in :func:`bootstrap_interval`.
    """
    medians = np.log(np.asarray(round_ratios, dtype=np.float64))
    counts = np.asarray(round_cycles, dtype=np.float64)
    if medians.size < 2:
        return None
    weights = np.ones(medians.size) if counts.max() <= UNEQUAL * counts.min() else np.minimum(counts, np.median(counts))
    weights = weights / weights.sum()
    mean = float(weights @ medians)
    # Unbiased for equal weights; with unequal ones the effective number of rounds takes the place of their number.
    effective = 1 / float(weights @ weights)
    variance = float(weights @ (medians - mean) ** 2) / (effective - 1)
    return Difference(mean, math.sqrt(variance), effective - 1)


def unpaired_difference(old_logs: ArrayLike, new_logs: ArrayLike, spread: float = 0.0, moved: float = 0.0) -> Difference | None:
    """Difference of two points of different times, from the logs of their rounds' values (Welch); ``None`` below two rounds on a side.

    ``spread`` is a standard deviation (log) by which points of an unchanged build were seen to scatter between the two times; ``moved`` as in
    :class:`Difference`.
    """
    old, new = estimate_logs(np.atleast_2d(old_logs)), estimate_logs(np.atleast_2d(new_logs))
    if old.rounds[0] < 2 or new.rounds[0] < 2:
        return None
    a, b = float(old.error[0]) ** 2, float(new.error[0]) ** 2
    scale = a * a / (old.rounds[0] - 1) + b * b / (new.rounds[0] - 1)
    freedom = (a + b) ** 2 / scale if scale > 0 else float(old.rounds[0] + new.rounds[0] - 2)
    return Difference(float(new.mean[0] - old.mean[0]), math.sqrt(a + b + spread * spread), float(freedom), moved)


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
    if adjusted_p <= FALSE_DISCOVERY_RATE and abs(difference.log_ratio) > max(limit, difference.moved):
        return "faster" if difference.log_ratio > 0 else "slower"
    if abs(difference.log_ratio) + difference.half_width <= limit:
        return "same"
    return "undecided"
