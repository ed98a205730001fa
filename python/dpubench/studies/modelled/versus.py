"""Comparison of two simulated figures. Nothing is measured: the same simulation gives the same cycles, so every difference has a cause.

The cause is the program's code (its trace), the model, or the simulator. A difference of sampled figures has to exceed the sampling error. Two
figures that are equal to the last digit, with equal intervals, have no sampling error between them: they are the same simulation of the same
messages, and the other messages would have changed both in the same way.
"""

from __future__ import annotations

import math

from dpubench.analysis.model import Interval, Verdict


def bounds(interval: Interval) -> tuple[float, float]:
    """Return the ends of an interval. A whole simulation has no sampling error: its value is both ends."""
    low, high = interval.low, interval.high
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (interval.value, interval.value)


def ratio_of(old: Interval, new: Interval) -> Interval:
    """Return new over old. Relative half widths add in quadrature, as for figures from different messages. Equal figures give 1, exactly."""
    if old.value == new.value and old.value and bounds(old) == bounds(new):
        return Interval(1.0, math.nan, math.nan)
    value = new.value / old.value if old.value else math.nan
    spreads = [(b - a) / (2 * i.value) for i in (old, new) for a, b in [bounds(i)] if i.value]
    half = value * math.hypot(*spreads)
    return Interval(value, value - half, value + half) if half > 0 else Interval(value, math.nan, math.nan)


def verdict_of(ratio: Interval, effect: float) -> Verdict:
    """Return the verdict on a ratio. Differences below ``effect`` do not count."""
    low, high = bounds(ratio)
    least, most = 1 / (1 + effect), 1 + effect
    if low >= least and high <= most:
        return "same"
    if low > most or high < least:
        return "faster" if low > most else "slower"
    return "undecided"
