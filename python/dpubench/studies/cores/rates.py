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


def of_context(context: Row, clock_mhz: float, *, sampled: bool) -> Interval:
    """Messages per second of one context."""
    if not sampled:
        return Interval(float(context["messages_per_s"]), *_NONE)
    cycles = sampling.cycles_per_message(context)
    per_second = clock_mhz * 1e6
    return Interval(*(per_second / v if v and math.isfinite(v) else math.nan for v in (cycles.value, cycles.high, cycles.low)))


def messages_per_s(result: Row, *, sampled: bool) -> Interval:
    """Of all contexts of a result."""
    return sum_of([of_context(context, float(result["clock_mhz"]), sampled=sampled) for context in result["contexts"]])


def cycles_per_message(result: Row, *, sampled: bool) -> Interval:
    """Of one context: the mean over contexts."""
    contexts = result["contexts"]
    if not sampled:
        messages = sum(c["messages"] for c in contexts)
        return Interval(sum(c["cycles"] for c in contexts) / messages if messages else math.nan, *_NONE)
    return mean_of([sampling.cycles_per_message(context) for context in contexts], [1 / len(contexts)] * len(contexts))


def sum_of(parts: Sequence[Interval]) -> Interval:
    """Of rates side by side: half widths in quadrature, as samples of different contexts are drawn independently."""
    return mean_of(parts, [1.0] * len(parts))


def mean_of(parts: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Weighted sum of independent estimates; half widths in quadrature."""
    value = sum(w * part.value for w, part in zip(weights, parts, strict=True))
    half = math.sqrt(sum((w * (part.high - part.low) / 2) ** 2 for w, part in zip(weights, parts, strict=True)))
    return Interval(value, value - half, value + half)


def rate_of_mix(parts: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Messages per second of messages of several sizes, ``weights`` their shares: the times that they take add up, not their rates."""
    times = [Interval(*(1 / v if v else math.nan for v in (part.value, part.high, part.low))) for part in parts]
    mean = mean_of(times, weights)
    return Interval(*(1 / v if v and v > 0 else math.nan for v in (mean.value, mean.high, mean.low)))
