"""Rates of simulated results with their intervals, and sums and means of several rates.

A whole simulation has no sampling error: both ends of its interval are ``nan``. For sampled messages :mod:`dpubench.simulation.sampling` gives the
interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpubench.analysis.model import Interval
from dpubench.simulation import sampling

Row = Mapping[str, Any]
_NONE = (math.nan, math.nan)


def messages_per_s(result: Row, bursts: Sequence[int], *, sampled: bool) -> Interval:
    """Return messages per second over all contexts of ``result``.

    ``bursts``: per context, the messages in a burst. The simulator counts a burst as one message.
    """
    return _interval(sampling.messages_per_s(result, exact=not sampled, bursts=bursts))


def cycles_per_message(result: Row, bursts: Sequence[int], *, sampled: bool) -> Interval:
    """Return cycles per message of one context: the mean over the contexts of ``result``."""
    contexts = result["contexts"]
    found = [_interval(sampling.cycles_per_message(c, exact=not sampled).scaled(1 / burst)) for c, burst in zip(contexts, bursts, strict=True)]
    total = sum_of(found)
    return Interval(*(v / len(found) for v in (total.value, total.low, total.high)))


def _interval(estimate: sampling.Estimate) -> Interval:
    """Return ``estimate`` as an interval; its ends are ``nan`` if there is no sampling error."""
    return Interval(estimate.value, *((estimate.low, estimate.high) if estimate.batches else _NONE))


def sum_of(parts: Sequence[Interval]) -> Interval:
    """Return the sum of rates side by side on one chip.

    Their intervals are added, which gives the widest possible interval (:func:`dpubench.simulation.sampling.messages_per_s`).
    """
    return Interval(sum(part.value for part in parts), sum(part.low for part in parts), sum(part.high for part in parts))


def mean_of(parts: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Return the weighted sum of estimates from independent simulations; half widths add in quadrature."""
    value = sum(w * part.value for w, part in zip(weights, parts, strict=True))
    half = math.sqrt(sum((w * (part.high - part.low) / 2) ** 2 for w, part in zip(weights, parts, strict=True)))
    return Interval(value, value - half, value + half)


def rate_of_mix(parts: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Return messages per second of a mix of message sizes with shares ``weights``. The times of the messages add up, not their rates."""
    times = [Interval(*(1 / v if v else math.nan for v in (part.value, part.high, part.low))) for part in parts]
    mean = mean_of(times, weights)
    return Interval(*(1 / v if v and v > 0 else math.nan for v in (mean.value, mean.high, mean.low)))
