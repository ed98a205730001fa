"""Rates of simulated results with their intervals, and what several of them come to.

What was simulated whole has no sampling error: its interval has ``nan`` for ends. Of sampled messages the interval is that of
:mod:`dpubench.cores.sampling`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpubench.cores import sampling
from dpubench.results.model import Interval

Row = Mapping[str, Any]
_NONE = (math.nan, math.nan)


def messages_per_s(result: Row, bursts: Sequence[int], *, sampled: bool) -> Interval:
    """Of all contexts of a result; ``bursts``: the messages of each to one that the simulator counts."""
    return _interval(sampling.messages_per_s(result, exact=not sampled, bursts=bursts))


def cycles_per_message(result: Row, bursts: Sequence[int], *, sampled: bool) -> Interval:
    """Of one context: the mean over contexts."""
    contexts = result["contexts"]
    found = [_interval(sampling.cycles_per_message(c, exact=not sampled).scaled(1 / burst)) for c, burst in zip(contexts, bursts, strict=True)]
    total = sum_of(found)
    return Interval(*(v / len(found) for v in (total.value, total.low, total.high)))


def _interval(estimate: sampling.Estimate) -> Interval:
    """Without ends where there is no sampling error: such a figure has no interval."""
    return Interval(estimate.value, *((estimate.low, estimate.high) if estimate.batches else _NONE))


def sum_of(parts: Sequence[Interval]) -> Interval:
    """Of rates side by side on one chip: intervals are added, the widest that they can be (:func:`dpubench.cores.sampling.messages_per_s`)."""
    return Interval(sum(part.value for part in parts), sum(part.low for part in parts), sum(part.high for part in parts))


def mean_of(parts: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Weighted sum of estimates from simulations of their own; half widths in quadrature."""
    value = sum(w * part.value for w, part in zip(weights, parts, strict=True))
    half = math.sqrt(sum((w * (part.high - part.low) / 2) ** 2 for w, part in zip(weights, parts, strict=True)))
    return Interval(value, value - half, value + half)


def rate_of_mix(parts: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Messages per second of messages of several sizes, ``weights`` their shares: the times that they take add up, not their rates."""
    times = [Interval(*(1 / v if v else math.nan for v in (part.value, part.high, part.low))) for part in parts]
    mean = mean_of(times, weights)
    return Interval(*(1 / v if v and v > 0 else math.nan for v in (mean.value, mean.high, mean.low)))
