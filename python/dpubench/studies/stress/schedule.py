"""Adaptive mode: which stressors still need a run, and how long a run. Pure functions; benchmarks/stress.py replays recorded runs through them.

The rule, per stressor:

1. Every target runs it for the short time, ``shorts`` times.
2. Two targets are *apart* if their rates differ by more than two standard errors, and after short runs alone also by more than ``drift``: a rate may
   change when the stressor runs longer, as caches fill, files grow and queues settle. If all pairs of targets are apart, the rank is decided, and
   nobody runs the stressor for the long time.
3. Otherwise every target runs it for the long time once. Targets of a pair that is not apart run it again, until the pair is apart, the rates of
   both are known to ``precision``, or each has ``longs`` long runs.

4. Long runs are repeated only while all runs of a target together take at most a third of :data:`FIXED` long runs of each stressor. Short runs and
   the first long ones stay below that.

One target alone has no ranks: it runs a stressor for the long time until its rate is known to ``precision``, or ``longs`` times.

The standard error is that of the mean of the runs at hand, from the scatter of short and long runs about their own means. It decides what to run next
and nothing else: intervals in reports are those of :mod:`dpubench.analysis.statistics`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Length = Literal["short", "long"]

#: Long runs of each stressor in the paper's plan. Adaptive mode may take a third of their time.
FIXED: Final = 5
#: Standard errors that two rates have to be apart.
ERRORS: Final = 2.0
#: Least scatter (standard deviation of the logarithm) that is believed: two runs may agree by chance.
LEAST_SCATTER: Final = 0.005


@dataclass(frozen=True)
class Rule:
    """The numbers of the rule."""

    precision: float = 0.02  #: relative
    drift: float = 0.2  #: relative
    shorts: int = 2
    longs: int = 3


@dataclass
class Measured:
    """The rates of one stressor on one target so far, in any unit."""

    short: list[float] = field(default_factory=list)
    long: list[float] = field(default_factory=list)
    open: bool = True  #: whether it can still run there: it has not failed, and its target is at work

    @property
    def at(self) -> Sequence[float]:
        """Return the rates that count: of long runs if there are any."""
        return self.long or self.short

    @property
    def location(self) -> float:
        """Return the mean of the logarithms of the rates that count."""
        return _mean([math.log(rate) for rate in self.at])

    @property
    def error(self) -> float:
        """Return the standard error of :attr:`location`; infinite without two runs of one length."""
        squares, freedom = 0.0, 0
        for rates in (self.short, self.long):
            logs = [math.log(rate) for rate in rates]
            if len(logs) > 1:
                squares += sum((value - _mean(logs)) ** 2 for value in logs)
                freedom += len(logs) - 1
        if not freedom:
            return math.inf
        return max(math.sqrt(squares / freedom), LEAST_SCATTER) / math.sqrt(len(self.at))

    def is_known(self, precision: float) -> bool:
        """Return whether the rate of long runs is known to ``precision``."""
        return bool(self.long) and ERRORS * self.error <= math.log1p(precision)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def wanted(stressor: Mapping[str, Measured], rule: Rule) -> dict[str, Length]:
    """Return what each target has to run next for one stressor; a target that is not in it has to run nothing now."""
    at_work = {name: of for name, of in stressor.items() if of.open}
    if short := {name for name, of in at_work.items() if len(of.short) < rule.shorts}:
        return dict.fromkeys(short, "short")
    ranked = {name: of for name, of in stressor.items() if of.at}
    if len(ranked) < 2:
        again = [name for name, of in at_work.items() if len(of.long) < rule.longs and not of.is_known(rule.precision)]
        return dict.fromkeys(again, "long")
    if not any(of.long for of in ranked.values()):
        return dict.fromkeys(at_work, "long") if not_apart(ranked, math.log1p(rule.drift)) else {}
    if first := [name for name, of in at_work.items() if not of.long]:
        return dict.fromkeys(first, "long")
    close = not_apart({name: of for name, of in ranked.items() if of.long}, 0.0)
    again = [name for name in at_work if name in close and len(at_work[name].long) < rule.longs and not at_work[name].is_known(rule.precision)]
    return dict.fromkeys(again, "long")


def may_repeat(spent_s: float, stressors: int, long_s: float) -> bool:
    """Return whether a target that has spent ``spent_s`` seconds in runs of ``stressors`` stressors may repeat one of ``long_s`` seconds."""
    return 3 * (spent_s + long_s) <= FIXED * long_s * stressors


def not_apart(ranked: Mapping[str, Measured], least: float) -> set[str]:
    """Return the targets that are not apart from another one; ``least``: least distance of logarithms, besides that of the errors."""
    close = set()
    for (name, of), (other, theirs) in itertools.combinations(ranked.items(), 2):
        if abs(of.location - theirs.location) <= max(ERRORS * math.hypot(of.error, theirs.error), least):
            close |= {name, other}
    return close
