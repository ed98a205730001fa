"""When a point is known well enough."""

from __future__ import annotations

from dpubench.runner.model import Point


def round_medians(point: Point) -> list[float]:
    """Median rate of each round, operations per second, in round order."""
    import statistics

    return [statistics.median(rates) for _, rates in sorted(point.rates.items()) if rates]


def precision(point: Point) -> float:
    """Relative half width of the 95 % interval of the point's rate; ``nan`` below two rounds."""
    from dpubench.results import statistics

    return statistics.precision(statistics.interval_of_rounds(round_medians(point)))


def has_converged(point: Point, target: float, minimum_rounds: int) -> bool:
    """Whether the point has enough rounds and its interval is within ``target``."""
    from dpubench.results import statistics

    return statistics.has_converged(round_medians(point), target, minimum_rounds)
