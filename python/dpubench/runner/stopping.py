"""When a point is known well enough."""

from __future__ import annotations

import statistics

from dpubench.results import layouts
from dpubench.results import statistics as intervals
from dpubench.runner.model import Point

#: Below this many rounds nothing is called converged, and a point says that it had few.
MINIMUM_ROUNDS = intervals.MINIMUM_ROUNDS


def round_medians(point: Point) -> list[float]:
    """Median rate of each round, operations per second, in round order."""
    return [statistics.median(rates) for _, rates in sorted(point.rates.items()) if rates]


def _independent(point: Point) -> list[float]:
    """:func:`round_medians`, of rounds with the same code layout as one where layouts repeat."""
    numbers = [number for number, rates in sorted(point.rates.items()) if rates]
    return layouts.joined_values(round_medians(point), [point.layouts.get(n, layouts.UNKNOWN) for n in numbers])


def precision(point: Point) -> float:
    """Relative half width of the 95 % interval of the point's rate; ``nan`` below two rounds."""
    return intervals.precision(intervals.interval_of_rounds(_independent(point)))


def has_converged(point: Point, target: float, minimum_rounds: int) -> bool:
    """Whether the point has enough rounds and its interval is within ``target``."""
    enough = len(round_medians(point)) >= max(minimum_rounds, MINIMUM_ROUNDS)
    return enough and intervals.has_converged(_independent(point), target, MINIMUM_ROUNDS)
