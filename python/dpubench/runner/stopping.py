"""When a point is known well enough."""

from __future__ import annotations

import statistics

from dpubench.results import statistics as intervals
from dpubench.runner.model import Point

#: Below this many rounds nothing is called converged, and a point says that it had few.
MINIMUM_ROUNDS = intervals.MINIMUM_ROUNDS


def round_medians(point: Point) -> list[float]:
    """Median rate of each round, operations per second, in round order."""
    return [statistics.median(rates) for _, rates in sorted(point.rates.items()) if rates]


def precision(point: Point) -> float:
    """Relative half width of the 95 % interval of the point's rate; ``nan`` below two rounds."""
    return intervals.precision(intervals.interval_of_rounds(round_medians(point)))


def has_converged(point: Point, target: float, minimum_rounds: int) -> bool:
    """Whether the point has enough rounds and its interval is within ``target``."""
    return intervals.has_converged(round_medians(point), target, max(minimum_rounds, MINIMUM_ROUNDS))
