"""Verdicts on claims: true, false or undecided conditions, and the verdict that follows from the parts of a claim.

A condition on a sampled figure is undecided if its interval holds the limit. A figure of whole traces has no interval and is always decided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpubench.analysis.model import Interval
from dpubench.studies.cores.model import Verdict
from dpubench.studies.modelled.versus import bounds

Truth = bool | None  #: None: undecided


@dataclass(frozen=True)
class Part:
    """A part of a claim."""

    name: str
    holds: Truth


@dataclass(frozen=True)
class Found:
    """A verdict with its figure, and in words which part holds if only a part does."""

    verdict: Verdict
    measured: str
    part: str = ""


def of_parts(parts: Sequence[Part], measured: str) -> Found:
    """Return the verdict that follows from the parts of a claim."""
    true, false, open_ = ([p.name for p in parts if p.holds is truth] for truth in (True, False, None))
    if true and false:
        told = [f"holds: {', '.join(true)}", f"does not hold: {', '.join(false)}", *([f"undecided: {', '.join(open_)}"] if open_ else [])]
        return Found("partly", measured, "; ".join(told))
    if open_:
        return Found("not decidable", measured, f"the intervals of the samples are too wide for: {', '.join(open_)}")
    return Found("holds" if true else "does not hold", measured)


def every(truths: Sequence[Truth]) -> Truth:
    """Tell whether all conditions are true; None if that is undecided."""
    if any(truth is False for truth in truths):
        return False
    return None if any(truth is None for truth in truths) else True


def within(value: Interval, low: float = -math.inf, high: float = math.inf) -> Truth:
    """Tell whether a figure lies between two limits, both included."""
    least, most = bounds(value)
    if low <= least and most <= high:
        return True
    return False if most < low or least > high else None


@dataclass(frozen=True)
class Count:
    """A number of configurations, and how many more may belong to it."""

    certain: int
    undecided: int
    of: int

    def within(self, low: float, high: float = math.inf) -> Truth:
        return within(Interval(self.certain, self.certain, self.certain + self.undecided), low, high)

    def __str__(self) -> str:
        return f"{self.certain}{f' to {self.certain + self.undecided}' if self.undecided else ''} of {self.of}"
