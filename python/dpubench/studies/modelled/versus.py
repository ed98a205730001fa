"""A simulated figure against another. Nothing was measured: the same simulation gives the same cycles, and a difference has a cause.

The cause is the program's code (its trace), the model, or the simulator. Of sampled figures the difference has to exceed what sampling leaves open.
Sampling leaves nothing open between two figures that are equal to the last digit, their intervals too: they are the same simulation of the same
messages, and what the other messages would have changed they would have changed in both.
"""

from __future__ import annotations

import math

from dpubench.results.model import Interval, Verdict


def bounds(interval: Interval) -> tuple[float, float]:
    """Ends of an interval; what was simulated whole has no sampling error, and is both."""
    low, high = interval.low, interval.high
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (interval.value, interval.value)


def ratio_of(old: Interval, new: Interval) -> Interval:
    """New over old; relative half widths in quadrature, as of figures from different messages. Of one and the same figure it is 1, and exact."""
    if old.value == new.value and old.value and bounds(old) == bounds(new):
        return Interval(1.0, math.nan, math.nan)
    value = new.value / old.value if old.value else math.nan
    spreads = [(b - a) / (2 * i.value) for i in (old, new) for a, b in [bounds(i)] if i.value]
    half = value * math.hypot(*spreads)
    return Interval(value, value - half, value + half) if half > 0 else Interval(value, math.nan, math.nan)


def verdict_of(ratio: Interval, effect: float) -> Verdict:
    """What a ratio says where differences below ``effect`` are none."""
    low, high = bounds(ratio)
    least, most = 1 / (1 + effect), 1 + effect
    if low >= least and high <= most:
        return "same"
    if low > most or high < least:
        return "faster" if low > most else "slower"
    return "undecided"
