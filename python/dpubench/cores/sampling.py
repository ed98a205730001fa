"""What a sample of messages says about all of them: intervals by batch means.

Messages that follow one another are not independent: each finds caches and predictors as those before it left them. So the simulated messages of a
context are cut, in their order, into batches of equal number, and the means of batches are treated as independent; the interval of their mean is
Student's with one degree of freedom less than there are batches (Law, Simulation Modeling and Analysis, 9.5.3). From 30 batches on more of them gain
nothing, and with fewer than ten the quantile grows steeply (Schmeiser, Batch size effects in the analysis of simulation output, Operations Research
30, 1982). Of 30, 20, 15 and 10 batches the first are taken whose means show no correlation of neighbours.

A simulation of every message of its traces has no sampling error: it is the figure for those messages. A message is one of the trace, a burst.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

CONFIDENCE: Final = 0.95
#: Numbers of batches that are tried, in this order.
BATCHES: Final = (30, 20, 15, 10)
#: Above this many standard errors (of white noise, 1 / sqrt(batches)) neighbours count as correlated: one-sided, 95 %.
_CORRELATED: Final = 1.645


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval; ``nan`` bounds where there are too few messages for one."""

    value: float
    low: float
    high: float
    batches: int  #: 0: every message was simulated, and there is nothing to estimate; 1: too few messages for an interval

    @property
    def precision(self) -> float:
        """Half the interval's width in relation to the figure."""
        return (self.high - self.low) / 2 / self.value if self.value else math.nan

    def scaled(self, factor: float) -> Estimate:
        """The estimate of ``factor`` (above zero) times the quantity."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.batches)


def is_exact(extent: Mapping[str, Any]) -> bool:
    """Whether an extent (docs/cores.md) leaves no message out but those that warm up: what it gives is no sample."""
    every, measured = extent.get("every", 1), extent.get("measured", 1)
    return bool(every == measured) and not extent.get("messages") and not extent.get("instructions")


def cycles_per_message(context: Mapping[str, Any], *, exact: bool = False) -> Estimate:
    """Cycles between the ends of messages of a context, an entry of ``contexts`` of a ``result`` event.

    ``exact``: all messages that matter were simulated (:func:`is_exact`).
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
    """Messages per second of a whole chip, from its ``result`` event: the sum over its contexts.

    ``bursts`` is how many messages a message of the trace stands for, of all contexts or of each. Contexts share caches and memory, and nobody
    knows how far what happens to one happens to the others: their intervals are added, as if it were all the same. That is the widest they can be.
    """
    contexts = result["contexts"]
    each = [bursts] * len(contexts) if isinstance(bursts, int) else list(bursts)
    if len(each) != len(contexts):
        raise ValueError(f"there are {len(contexts)} contexts, and bursts of {len(each)}")
    per_s = float(result["clock_mhz"]) * 1e6
    parts = []
    for context, burst in zip(contexts, each, strict=True):
        cost = cycles_per_message(context, exact=exact)
        # Of a cost that may be nothing the rate has no bound.
        value, low, high = (per_s * burst / cycles if cycles else math.inf for cycles in (cost.value, cost.high, cost.low))
        parts.append(Estimate(value, low, high, cost.batches))
    # Without a sampling error (0) only where none of them has one; without an interval (1) where one of them has none.
    batches = min((part.batches for part in parts if part.batches), default=0)
    return Estimate(sum(part.value for part in parts), sum(part.low for part in parts), sum(part.high for part in parts), batches)


def _times(context: Mapping[str, Any]) -> tuple[NDArray[np.int64], int]:
    """When each ``every``-th message began, behind the last whole ``every`` messages the end; and ``every``."""
    told = context["message_cycles"]
    every = int(told["every"])
    times = np.asarray(told["cycles"], dtype=np.int64)
    return times[: int(context["messages"]) // every + 1], every


def _batch_means(times: NDArray[np.int64], every: int) -> NDArray[np.float64] | None:
    """Mean cycles per message of each batch, shape ``(batches,)``; None where there are too few messages."""
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
    """Of neighbours (lag 1); 0 where all are the same."""
    centred = values - values.mean()
    square = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / square if square > 0 else 0.0


def _quantile(batches: int) -> float:
    """Of Student's distribution for the mean of so many values."""
    from scipy import special  # a fifth of a second, which commands that compute nothing need not wait for

    return float(special.stdtrit(batches - 1, 0.5 + CONFIDENCE / 2))
