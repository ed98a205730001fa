"""The choice of a configuration's best engine, from several cycles, and from further rounds where these do not decide.

The windows of the selection only choose; they enter no interval. A choice by the reported windows would flatter the chosen engine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpubench.analysis.model import Interval
from dpubench.analysis.statistics import palindromic_mean

#: Cycles in a round of the selection.
CYCLES: Final = 3
#: Rounds at most, each of fresh processes, while earlier ones leave a best engine undecided.
ROUNDS: Final = 3
#: Share of the remaining time that a further round may take.
SHARE: Final = 0.1
#: Share of the remaining time after which the first round ends. Six rounds with the chosen engines take longer than one with all of them.
FIRST_SHARE: Final = 0.4
#: An engine that may be slower than the best by only this share counts as tied: the linker and the process's memory move ratios as much.
TIE: Final = 0.03
#: Engines that are kept where they are tied.
KEPT: Final = 2
_CONFIDENCE: Final = 0.95


@dataclass(frozen=True)
class Choice:
    """The result of the cycles so far for the engines of a configuration."""

    best: str
    behind: Mapping[str, Interval]  #: other engine -> the best engine's rate over its rate; the ends are ``nan`` without a second cycle
    cycles: int  #: number of cycles in which the best engine was measured

    @property
    def tied(self) -> list[str]:
        """Return the engines tied with the best, the fastest first."""
        return sorted((e for e, ratio in self.behind.items() if not ratio.low > 1 + TIE), key=lambda e: self.behind[e].value)

    @property
    def kept(self) -> list[str]:
        """Return the best engine, and the nearest engine tied with it, if any."""
        return [self.best, *self.tied[: KEPT - 1]]

    @property
    def second(self) -> str:
        """Return the engine that is nearest to the best; "" where there is none."""
        return min((e for e, ratio in self.behind.items() if math.isfinite(ratio.value)), key=lambda e: self.behind[e].value, default="")

    @property
    def relative_rates(self) -> dict[str, float]:
        """Return each engine's rate over the best one's, the best first."""
        return {self.best: 1.0} | {e: min(1 / ratio.value, 1.0) for e, ratio in self.behind.items() if math.isfinite(ratio.value)}

    def reason(self, engine: str) -> str:
        """Return why ``engine`` is not measured further."""
        ratio = self.behind[engine]
        if not math.isfinite(ratio.low):
            return f"slower than {self.best} in the one cycle of the selection, which has no interval"
        interval = f"95 % interval {ratio.low:.2f} to {ratio.high:.2f} over {self.cycles} cycles of the selection"
        how = f"{ratio.value:.2f} times slower than {self.best} ({interval})"
        return how if engine not in self.tied else f"{how}: may be as fast, but only {KEPT} such engines are kept"


def choice_of(rates: Mapping[str, Sequence[Sequence[float]]]) -> Choice | None:
    """Return the choice from ``rates``; None without a whole cycle.

    ``rates`` maps an engine to its rounds, and a round has operations per second of its windows, two per cycle. Engines alternate, so that ratios
    are taken cycle by cycle. Their interval is a t interval over the logs of all cycles.
    """
    cycles = {engine: [_cycles(of_round) for of_round in rounds] for engine, rounds in rates.items()}
    known = {engine: np.concatenate(of) for engine, of in cycles.items() if sum(len(c) for c in of)}
    if not known:
        return None
    best = max(known, key=lambda engine: float(known[engine].mean()))
    behind = {}
    for engine in known:
        if engine != best:
            pairs = [(a[: len(b)], b[: len(a)]) for a, b in zip(cycles[best], cycles[engine], strict=False)]
            behind[engine] = _interval(np.concatenate([a - b for a, b in pairs]))
    return Choice(best, behind, len(known[best]))


def _cycles(rates: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the log of the rate in each whole cycle."""
    whole = np.asarray(rates[: len(rates) // 2 * 2], dtype=np.float64).reshape(-1, 2)
    return np.log(palindromic_mean(whole[:, 0], whole[:, 1]))


def _interval(logs: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Interval:
    from scipy.special import stdtrit

    if len(logs) == 0:
        return Interval(math.nan, math.nan, math.nan)
    mean = float(logs.mean())
    if len(logs) < 2:
        return Interval(math.exp(mean), math.nan, math.nan)
    half = float(stdtrit(len(logs) - 1, (1 + _CONFIDENCE) / 2)) * float(logs.std(ddof=1)) / math.sqrt(len(logs))
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
