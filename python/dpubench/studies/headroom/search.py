"""The search for the largest delay that a rate survives, and the smallest configuration that reaches the highest rate. Pure functions of samples.

A rate need not fall monotonically as the delay grows: it may dip at a small delay and recover at a larger one, because a delay also changes how
threads, rings and caches meet. A bisection from below would then stop at the dip. The search here looks at the whole range up to the pacing limit,
begins with what survives at the far end, and samples again what decides.

The pacing limit is the delay at which bursts that take no time at all would give exactly the wanted rate: no larger delay can survive.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

#: Delays of the first pass, as shares of the pacing limit: denser where inserted work of a busy thread ends, and at the limit.
_FIRST: Final = (1.0, 1 / 2, 3 / 4, 1 / 4, 1 / 8, 7 / 8, 3 / 8, 5 / 8, 1 / 16, 1 / 32)
#: Gaps between samples above the edge are no wider than this share of the limit: a recovery that is narrower may be missed.
_GAP: Final = 1 / 16
#: Samples at a delay that decides.
_CONFIRMED: Final = 3
#: An edge at this share of the pacing limit or more is set by the pacing, not by the CPU.
_PACED: Final = 0.97


@dataclass(frozen=True, slots=True)
class Edge:
    """The largest delay that a rate survives."""

    delay_ns: float  #: between ``survived_ns`` and ``fell_ns``, where the line between both crosses the threshold
    survived_ns: float  #: the largest sampled delay that the rate survived; 0: none did
    fell_ns: float | None  #: the next larger sampled delay, at which the rate was below the threshold; None: nothing larger was sampled
    first_fall_ns: float | None  #: the smallest sampled delay below the edge at which the rate was below the threshold; None: it fell once only
    is_paced: bool  #: whether the edge is the pacing limit itself

    @property
    def is_monotone(self) -> bool:
        """Return whether the rate survived every sampled delay up to the edge."""
        return self.first_fall_ns is None


def edge_of(rates: Mapping[float, float], threshold: float, limit_ns: float = math.inf) -> Edge:
    """Return the edge of ``rates`` (delay in ns -> rate) at ``threshold``, in the same unit.

    ``limit_ns`` is the pacing limit of the wanted rate. A delay of 0 that was not sampled counts as survived.
    """
    delays = sorted(rates)
    survived = [delay for delay in delays if rates[delay] >= threshold]
    top = survived[-1] if survived else 0.0
    fell = next((delay for delay in delays if delay > top), None)
    first_fall = next((delay for delay in delays if delay < top and rates[delay] < threshold), None)
    delay = top
    if fell is not None and top in rates:
        above, below = rates[top], rates[fell]
        delay = top + (above - threshold) / (above - below) * (fell - top)
    delay = min(delay, limit_ns)  # a threshold below the wanted rate allows for noise, not for a longer spacing
    return Edge(delay, top, fell, first_fall, delay >= _PACED * limit_ns)


@dataclass(slots=True)
class Search:
    """An adaptive search: :meth:`next` names the delay to sample, :meth:`add` takes its rate, until there is nothing to sample.

    The smaller delays of a first pass cost the most bursts and decide least: samples go to the far end first.
    """

    limit_ns: float  #: pacing limit of the wanted rate; nothing beyond is sampled
    threshold: float  #: rate that counts as survived, in the unit of the samples
    resolution: float = 0.02  #: width of the bracket around the edge to reach, as a share of the limit
    most: int = 50  #: samples after which the search ends, whatever is open
    samples: dict[float, list[float]] = field(default_factory=dict)  #: delay in ns -> rates

    def add(self, delay_ns: float, rate: float) -> None:
        """Take a sample."""
        self.samples.setdefault(delay_ns, []).append(rate)

    @property
    def means(self) -> dict[float, float]:
        """Return the mean rate at each sampled delay."""
        return {delay: fmean(rates) for delay, rates in self.samples.items()}

    def edge(self) -> Edge:
        """Return the edge as far as it is known."""
        return edge_of(self.means, self.threshold, self.limit_ns)

    def next(self) -> float | None:
        """Return the next delay to sample, in ns; None once the edge is known to the resolution, and what decides was sampled often enough."""
        if sum(map(len, self.samples.values())) >= self.most:
            return None
        for share in _FIRST:
            if share * self.limit_ns not in self.samples:
                return share * self.limit_ns
        edge = self.edge()
        known = sorted(delay for delay in self.samples if delay >= edge.survived_ns)
        for before, after in itertools.pairwise(known):
            if before > edge.survived_ns and after - before > _GAP * self.limit_ns * 1.001:
                return (before + after) / 2
        # One lucky sample must not make an edge, nor one unlucky sample hide it, nor a stall of the machine make a dip.
        for delay in (edge.survived_ns, edge.fell_ns, edge.first_fall_ns):
            if delay is not None and delay in self.samples and len(self.samples[delay]) < _CONFIRMED:
                return delay
        low, high = edge.survived_ns, edge.fell_ns
        if high is None or high - low <= self.resolution * self.limit_ns:
            return None
        return (low + high) / 2


def pacing_limit_ns(threads: int, burst: int, rate_pps: float) -> float:
    """Return the delay at which ``threads`` that send ``burst`` packets each time give ``rate_pps`` (packets/s) if bursts took no time."""
    return threads * burst / rate_pps * 1e9


@dataclass(frozen=True, slots=True)
class Configured:
    """A configuration of step 1 with its rate."""

    threads: int
    burst: int
    rate: float
    reuse: int = 1


def smallest_of_the_best(configurations: Iterable[Configured], tolerance: float) -> Configured:
    """Return the smallest configuration whose rate is within ``tolerance`` (a share) of the highest: fewest threads, then the smallest burst.

    @raises ValueError without configurations
    """
    found = list(configurations)
    highest = max(c.rate for c in found)
    return min((c for c in found if c.rate >= (1 - tolerance) * highest), key=lambda c: (c.threads, c.burst))


def rising(configurations: Sequence[Configured], tolerance: float) -> bool:
    """Return whether the highest rate of the most threads exceeds that of fewer by more than ``tolerance``: more threads might reach more."""
    most = max(c.threads for c in configurations)
    fewer = [c.rate for c in configurations if c.threads < most]
    return not fewer or max(c.rate for c in configurations if c.threads == most) > (1 + tolerance) * max(fewer)
