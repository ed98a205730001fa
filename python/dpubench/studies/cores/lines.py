"""Line rates from messages per second: the rate that a processor sustains, the lines that it sustains, and the cores that a line needs.

A message takes on the line a frame of its size (with FCS) and ``overhead_bytes`` more: 20 on Ethernet (preamble, delimiter, gap). The rate that a
processor sustains is messages per second times the sum of both, in bit/s. A processor sustains a line if it is at least as fast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from dpubench.analysis.model import Interval
from dpubench.studies.cores.model import CoresNeeded
from dpubench.studies.modelled.versus import bounds

Sustains = Literal["yes", "no", "undecided"]


def line_rate_gbps(messages_per_s: Interval, frame_bytes: float, overhead_bytes: int) -> Interval:
    """Return the rate in Gb/s of the line that ``messages_per_s`` fill."""
    factor = 8e-9 * (frame_bytes + overhead_bytes)
    return Interval(messages_per_s.value * factor, messages_per_s.low * factor, messages_per_s.high * factor)


def sustains(rate_gbps: Interval, line_gbps: float) -> Sustains:
    """Tell whether a processor sustains a line. The answer is undecided if its interval contains the line's rate."""
    low, high = bounds(rate_gbps)
    if low >= line_gbps:
        return "yes"
    return "no" if high < line_gbps else "undecided"


def cores_needed(line_gbps: float, simulated: Mapping[int, Interval]) -> CoresNeeded | None:
    """Return the number of cores that sustain a line, or None if nothing was simulated.

    ``simulated`` maps a number of cores to the rate in Gb/s that they sustain together. The result is the smaller of two numbers: the fewest
    simulated cores that sustain the line, and the number needed if each core is as fast as a core in the largest simulation, in which it shares
    caches and memory with the most others. The interval follows from the intervals of the rates. If the number, or the end of its interval, exceeds
    the largest simulation, the result is extrapolated by the same rule: it says so and has no interval.
    """
    if not simulated:
        return None
    most = max(simulated)

    def fewest(bound: int) -> int:
        rates = {n: (rate.value, *bounds(rate))[bound] for n, rate in simulated.items()}
        if not rates[most] > 0:
            return 0
        enough = min((n for n, rate in rates.items() if rate >= line_gbps), default=None)
        by_share = math.ceil(line_gbps * most / rates[most] - 1e-9)
        return by_share if enough is None else min(enough, by_share)

    value, high, low = fewest(0), fewest(1), fewest(2)
    if not (value and high and low):
        return None
    if max(value, high) > most:
        return CoresNeeded(value, None, None, most, extrapolated=True)
    return CoresNeeded(value, low, high, most, extrapolated=False)
