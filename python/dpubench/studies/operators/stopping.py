"""The rule that decides when a point is known well enough."""

from __future__ import annotations

import statistics

from dpubench.analysis import statistics as intervals
from dpubench.studies.operators import layouts
from dpubench.studies.operators.configuration import Point

#: With fewer rounds no point is converged, and it gets the warning few-rounds.
MINIMUM_ROUNDS = intervals.MINIMUM_ROUNDS


def round_medians(point: Point) -> list[float]:
    """Return the median rate of each round, operations per second, in round order."""
    return [statistics.median(rates) for _, rates in sorted(point.rates.items()) if rates]


def _independent(point: Point) -> list[float]:
    """Return :func:`round_medians` with the rounds of one code layout joined, where layouts repeat."""
    numbers = [number for number, rates in sorted(point.rates.items()) if rates]
    return layouts.joined_values(round_medians(point), [point.layouts.get(n, layouts.UNKNOWN) for n in numbers])


def precision(point: Point) -> float:
    """Return the relative half width of the 95 % interval of the point's rate; ``nan`` below two rounds."""
    return intervals.precision(intervals.interval_of_rounds(_independent(point)))


def has_converged(point: Point, target: float, minimum_rounds: int) -> bool:
    """Return whether the point has enough rounds and its interval is within ``target``."""
    enough = len(round_medians(point)) >= max(minimum_rounds, MINIMUM_ROUNDS)
    return enough and intervals.has_converged(_independent(point), target, MINIMUM_ROUNDS)
