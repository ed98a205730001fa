"""Estimates for all messages from a sample of them: intervals by batch means.

Consecutive messages are not independent: each finds caches and predictors as the previous ones left them. So the simulated messages of a context are
cut, in their order, into batches of equal size, and the means of the batches are treated as independent. The interval of their mean is Student's with
one degree of freedom less than there are batches (Law, Simulation Modeling and Analysis, 9.5.3). More than 30 batches gain nothing, and with fewer
than ten the quantile grows steeply (Schmeiser, Batch size effects in the analysis of simulation output, Operations Research 30, 1982). Of 30, 20, 15
and 10 batches the first number is taken for which neighbouring means show no correlation.

A simulation of every message of its traces has no sampling error: it gives the figure for exactly these messages. A message here is a message of the
trace, which is a burst.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

CONFIDENCE: Final = 0.95
#: Numbers of batches to try, in this order.
BATCHES: Final = (30, 20, 15, 10)
#: Neighbours count as correlated above this many standard errors (of white noise, 1 / sqrt(batches)): one-sided, 95 %.
_CORRELATED: Final = 1.645


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval. The bounds are ``nan`` if there are too few messages for an interval."""

    value: float
    low: float
    high: float
    batches: int  #: number of batches; 0: every message was simulated, so nothing is estimated; 1: too few messages for an interval

    @property
    def precision(self) -> float:
        """Return half the interval's width, relative to the figure."""
        return (self.high - self.low) / 2 / self.value if self.value else math.nan

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate of ``factor`` (above zero) times the quantity."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.batches)


def is_exact(extent: Mapping[str, Any]) -> bool:
    """Tell whether an extent (docs/cores.md) counts every message except those that warm up. Then the result is not a sample."""
    every, measured = extent.get("every", 1), extent.get("measured", 1)
    return bool(every == measured) and not extent.get("messages") and not extent.get("instructions")


def cycles_per_message(context: Mapping[str, Any], *, exact: bool = False) -> Estimate:
    """Return the cycles from the end of one message to the end of the next, for a context: an entry of ``contexts`` of a ``result`` event.

    ``exact``: every message that matters was simulated (:func:`is_exact`).
    """
    messages, cycles = int(context["messages"]), int(context["cycles"])
    if messages == 0:
        return Estimate(math.nan, math.nan, math.nan, 1)
    value = cycles / messages
    if exact:
        return Estimate(value, value, value, 0)
    times, every = _times(context)
    means = _batch_means(times, every)
    if means is None:
        return Estimate(value, math.nan, math.nan, 1)
    half = _quantile(len(means)) * float(np.std(means, ddof=1)) / math.sqrt(len(means))
    return Estimate(value, max(value - half, 0.0), value + half, len(means))


def messages_per_s(result: Mapping[str, Any], *, exact: bool = False, bursts: Sequence[int] | int = 1) -> Estimate:
    """Return messages per second of a whole chip, from its ``result`` event: the sum over its contexts.

    ``bursts`` is the number of messages in a message of the trace, one number for all contexts or one for each. Contexts share caches and memory, and
    the correlation between them is unknown. So their intervals are added, as if they were fully correlated: the widest possible interval.
    """
    contexts = result["contexts"]
    each = [bursts] * len(contexts) if isinstance(bursts, int) else list(bursts)
    if len(each) != len(contexts):
        raise ValueError(f"there are {len(contexts)} contexts, but bursts for {len(each)}")
    per_s = float(result["clock_mhz"]) * 1e6
    parts = []
    for context, burst in zip(contexts, each, strict=True):
        cost = cycles_per_message(context, exact=exact)
        # A cost that may be zero gives a rate without an upper bound.
        value, low, high = (per_s * burst / cycles if cycles else math.inf for cycles in (cost.value, cost.high, cost.low))
        parts.append(Estimate(value, low, high, cost.batches))
    # The sum has no sampling error (0) only if no context has one. It has no interval (1) if one context has none.
    batches = min((part.batches for part in parts if part.batches), default=0)
    return Estimate(sum(part.value for part in parts), sum(part.low for part in parts), sum(part.high for part in parts), batches)


def _times(context: Mapping[str, Any]) -> tuple[NDArray[np.int64], int]:
    """Return the times at which each ``every``-th message began, with the end of the last whole ``every`` messages; and ``every``."""
    told = context["message_cycles"]
    every = int(told["every"])
    times = np.asarray(told["cycles"], dtype=np.int64)
    return times[: int(context["messages"]) // every + 1], every


def _batch_means(times: NDArray[np.int64], every: int) -> NDArray[np.float64] | None:
    """Return the mean cycles per message of each batch, shape ``(batches,)``; None with too few messages."""
    intervals = len(times) - 1
    fitting = [count for count in BATCHES if count <= intervals]
    means = None
    for count in fitting:
        size = intervals // count
        ends = times[: count * size + 1 : size]
        means = np.diff(ends) / (size * every)
        if _correlation(means) <= _CORRELATED / math.sqrt(count):
            break
    return means


def _correlation(values: NDArray[np.float64]) -> float:
    """Return the correlation of neighbours (lag 1); 0 if all values are equal."""
    centred = values - values.mean()
    square = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / square if square > 0 else 0.0


def _quantile(batches: int) -> float:
    """Return the quantile of Student's distribution for the mean of ``batches`` values."""
    from scipy import special  # the import takes 0.2 s; commands that compute nothing do not need it

    return float(special.stdtrit(batches - 1, 0.5 + CONFIDENCE / 2))
