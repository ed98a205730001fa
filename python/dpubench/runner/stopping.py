"""When a point is known well enough."""

from __future__ import annotations

import math
import statistics
from typing import Final

from dpubench.runner.model import Point

#: Below this many rounds nothing is called converged, and a point says that it had few.
MINIMUM_ROUNDS: Final = 6


def round_medians(point: Point) -> list[float]:
    """Median rate of each round, operations per second, in round order."""
    return [statistics.median(rates) for _, rates in sorted(point.rates.items()) if rates]


def precision(point: Point) -> float:
    """Relative half width of the 95 % interval of the point's rate; ``nan`` below two rounds."""
    medians = round_medians(point)
    if len(medians) < 2:
        return math.nan
    try:
        from dpubench.results import statistics as intervals
    except ImportError:  # the statistics come with their own change
        from scipy.special import stdtrit

        logs = [math.log(m) for m in medians]
        return math.expm1(float(stdtrit(len(logs) - 1, 0.975)) * statistics.stdev(logs) / math.sqrt(len(logs)))
    return intervals.precision(intervals.interval_of_rounds(medians))


def has_converged(point: Point, target: float, minimum_rounds: int) -> bool:
    """Whether the point has enough rounds and its interval is within ``target``."""
    if len(round_medians(point)) < max(minimum_rounds, MINIMUM_ROUNDS):
        return False
    return precision(point) <= target
