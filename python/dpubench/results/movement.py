"""What the machine did between two runs, as everything that both of them measured shows it: pure functions on logarithms (new minus old).

A build changes a few points, the machine moves all. How the points of a population changed is therefore the empirical null distribution (Efron,
*Large-scale simultaneous hypothesis testing: the choice of a null hypothesis*, JASA 99, 2004) of a point that the build did not change: its centre
is the machine's movement, its scatter what single points do besides. The population of a point leaves out its own operator and, where enough is left,
its own engine, so that a library that became slower everywhere does not pass for the machine. Why each constant is what it is: docs/methodology.md,
"Comparison".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from dpubench.results.model import Interval
from dpubench.results.statistics import WIDENING, Difference, FloatArray, critical_value
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]

#: Engines of operators ("owners") that a population must hold before it says anything, and before it is judged by robust estimators.
LEAST_OWNERS: Final = 3
ROBUST_OWNERS: Final = 6
#: Points of a machine scatter with longer tails than normal values: more freedom than this would call the outermost of a hundred changed.
MOST_FREEDOM: Final = 5.0
#: Qn times this estimates the standard deviation of many normal values (Rousseeuw and Croux, JASA 88, 1993).
_QN: Final = 2.2219
#: Standard error of a median of normal values over that of their mean.
_MEDIAN_ERROR: Final = 1.2533


@dataclass(frozen=True, slots=True)
class Null:
    """How points moved that are taken to be unchanged."""

    centre: float  #: what they moved together: the machine's movement
    centre_error: float
    scatter: float  #: standard deviation of a point's change about the centre; the scatter of its rounds is in it
    freedom: float  #: degrees of freedom of ``scatter``
    rounds_error: float  #: what of ``scatter`` a typical point's rounds explain
    points: int
    owners: int  #: engines of operators behind them


def null_of(changes: FloatArray, errors: FloatArray, owners: Sequence[str]) -> Null | None:
    """The null distribution that ``changes`` show; ``None`` where fewer than :data:`LEAST_OWNERS` owners are among them.

    ``errors`` are the standard errors of ``changes`` by their rounds. Points of an owner share what befalls its code and its library, so that their
    number says nothing: the centre is the median of the owners' medians, and centre and scatter are known as well as the number of owners allows. Of
    few owners the scatter is the standard deviation. A robust one would be mostly luck; one changed owner among few widens it so far that nothing is
    found beside it.
    """
    known = np.isfinite(changes) & np.isfinite(errors)
    values, mine = changes[known], np.array([owner for owner, is_known in zip(owners, known, strict=True) if is_known], dtype=np.str_)
    medians = [float(np.median(values[mine == owner])) for owner in np.unique(mine)]
    count = len(medians)
    if count < LEAST_OWNERS:
        return None
    robust = count >= ROBUST_OWNERS
    scatter = qn(values) if robust else float(np.std(values, ddof=1))
    # By simulation of normal values: these degrees of freedom give the quantiles of (value - median) / Qn within a few per cent.
    freedom = min(0.77 * count - 2.3, MOST_FREEDOM) if robust else count - 1
    centre_error = _MEDIAN_ERROR * scatter / math.sqrt(count)
    return Null(float(np.median(medians)), centre_error, scatter, freedom, math.sqrt(float(np.median(errors[known] ** 2))), len(values), count)


def qn(values: FloatArray) -> float:
    """Robust standard deviation of at least two ``values``, up to half of which may be anything: Qn of Rousseeuw and Croux.

    A quarter-quantile of the distances of all pairs. The factor for few values makes its mean square, not its mean, that of normal values: it goes
    into a t statistic. By simulation: n / (n + 1.8) for odd and n / (n + 4.3) for even n.
    """
    n = len(values)
    first, second = np.triu_indices(n, 1)
    half = n // 2 + 1
    place = half * (half - 1) // 2 - 1
    distance = float(np.partition(np.abs(values[first] - values[second]), place)[place])
    return _QN * distance * n / (n + (1.8 if n % 2 else 4.3))


@dataclass(frozen=True, slots=True)
class Movement:
    """What is said of the machine beside a comparison; changes are of plain rates."""

    null: Null | None  #: of all points, without what the memory canary explains; ``None``: too few of them
    core: float | None  #: change of the core canary
    memory: float | None
    over_canary: bool  #: whether points were judged by their rates over the core canary's
    owners: int  #: engines of operators in both runs
    remarks: tuple[str, ...] = ()

    @property
    def watched(self) -> bool:
        """Whether a canary ran in both."""
        return self.core is not None or self.memory is not None

    @property
    def interval(self) -> Interval | None:
        """By which factor the points moved together, with its 95 % interval (nothing is stopped on it: it is not widened)."""
        if self.null is None:
            return None
        half = float(critical_value(self.null.freedom)) / WIDENING * self.null.centre_error
        return Interval(math.exp(self.null.centre), math.exp(self.null.centre - half), math.exp(self.null.centre + half))

    @property
    def together(self) -> float:
        """By how much (log) all points moved beyond what the core canary did; 0 where the centre's interval holds that."""
        interval = self.interval
        if self.null is None or interval is None or self.core is None or interval.low <= math.exp(self.core) <= interval.high:
            return 0.0
        return self.null.centre - self.core


@dataclass(slots=True)
class Machine:
    """What watched the machine between two runs: all of the pairs that they share, and two canaries."""

    operators: Sequence[str]
    engines: Sequence[str]
    changes: FloatArray  #: of each pair; ``nan``: not known
    errors: FloatArray  #: of ``changes``, by their rounds
    freedoms: FloatArray  #: degrees of freedom of ``errors``
    core: float | None  #: change of the core canary, of its plain rate
    memory: float | None
    zero: float | None = None  #: change of the core canary where ``changes`` are of rates over its rate; ``None``: of plain rates
    remarks: tuple[str, ...] = ()
    followed: FloatArray | None = None  #: errors of what the memory canary is taken to explain of ``changes``; ``None``: nothing was taken off
    as_measured: Machine | None = None  #: the same without anything taken off; ``None``: nothing was
    _nulls: dict[tuple[str, str], Null | None] = field(default_factory=dict)
    _movement: Movement | None = None

    @property
    def owners(self) -> list[str]:
        """Of each pair the engine of an operator that it measures."""
        return [f"{operator}/{engine}" for operator, engine in zip(self.operators, self.engines, strict=True)]

    def movement(self) -> Movement:
        """What all pairs together say."""
        if self._movement is None:
            null = null_of(self.changes + (self.zero or 0.0), self.errors, self.owners)
            self._movement = Movement(null, self.core, self.memory, self.zero is not None, len(set(self.owners)), self.remarks)
        return self._movement

    def null(self, pair: int) -> Null | None:
        """What a pair's change is set against: pairs of other operators and engines; where they are few, of other operators; else of other owners."""
        own = (self.operators[pair], self.engines[pair])
        if own not in self._nulls:
            self._nulls[own] = self._null(*own)
        return self._nulls[own]

    def _null(self, operator: str, engine: str) -> Null | None:
        other_operator = np.array([o != operator for o in self.operators])
        other_engine = np.array([e != engine for e in self.engines])
        for population in (other_operator & other_engine, other_operator):
            found = self._of(population)
            if found is not None and found.owners >= ROBUST_OWNERS:
                return found
        return self._of(other_operator) or self._of(other_operator | other_engine)

    def _of(self, population: BoolArray) -> Null | None:
        owners = [owner for owner, inside in zip(self.owners, population, strict=True) if inside]
        return null_of(self.changes[population], self.errors[population], owners)

    def difference(self, pair: int) -> Difference | None:
        """By how much a pair changed beyond what the machine did; ``None`` where too little watched the machine.

        The core canary never changes with a build. A point that moved like it moved as the machine may have: only what is beyond the others' centre
        and this canary, to the same side, is a difference. What the memory canary explains is no longer in ``changes``.
        """
        null = self.null(pair)
        if null is None or not math.isfinite(self.changes[pair]):
            return None
        # A pair whose rounds scatter more than a typical one's is known worse than the null's scatter says.
        own = max(0.0, float(self.errors[pair]) ** 2 - null.rounds_error**2)
        shared = null.scatter**2 + null.centre_error**2
        followed = 0.0 if self.followed is None else float(self.followed[pair]) ** 2
        scale = shared**2 / null.freedom + own**2 / max(float(self.freedoms[pair]), 1.0) + followed**2 / MOST_FREEDOM
        freedom = (shared + own + followed) ** 2 / scale if scale > 0 else null.freedom
        canary = 0.0 if self.core is None else self.core - (self.zero or 0.0) - null.centre
        # Rounds were not counted by looking at how points differ between the runs: nothing is widened for that.
        beyond = float(self.changes[pair]) - null.centre
        return Difference(beyond, math.sqrt(shared + own + followed), freedom, min(0.0, canary), max(0.0, canary), widening=1.0)
