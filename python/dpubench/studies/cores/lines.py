"""From messages per second to lines: which rate a processor sustains, which line, and how many cores a line needs.

A message is a frame of its size (with FCS) on the line, and takes ``overhead_bytes`` besides: 20 on Ethernet (preamble, delimiter, gap). The rate
that a processor sustains is messages per second times both, in bit/s; a line is sustained by what is at least as fast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from dpubench.results.model import Interval
from dpubench.studies.cores.model import CoresNeeded
from dpubench.studies.modelled.versus import bounds

Sustains = Literal["yes", "no", "undecided"]


def line_rate_gbps(messages_per_s: Interval, frame_bytes: float, overhead_bytes: int) -> Interval:
    """The line that so many messages fill, in Gb/s."""
    factor = 8e-9 * (frame_bytes + overhead_bytes)
    return Interval(messages_per_s.value * factor, messages_per_s.low * factor, messages_per_s.high * factor)


def sustains(rate_gbps: Interval, line_gbps: float) -> Sustains:
    """Whether a processor keeps up with a line; an interval that holds the line's rate leaves it undecided."""
    low, high = bounds(rate_gbps)
    if low >= line_gbps:
        return "yes"
    return "no" if high < line_gbps else "undecided"


def cores_needed(line_gbps: float, simulated: Mapping[int, Interval]) -> CoresNeeded | None:
    """Cores that sustain a line, of ``simulated``: cores to the rate in Gb/s that they sustain together. None where nothing was simulated.

    The fewest of those simulated that sustain it, or fewer: as many as it takes if each is as fast as one of the most that were simulated, which
    share caches and memory with the most others. The interval follows from that of the rates.
    What is, or by that interval may be, more than were simulated is extrapolated by the same rule: it says so, and has no interval.
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
