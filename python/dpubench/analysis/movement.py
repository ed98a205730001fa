"""The machine's movement between two runs, from everything that both measured: pure functions on logarithms (new minus old).

A build changes a few points, the machine moves all. The changes of a population of points are therefore the empirical null distribution of an
unchanged point (Efron, *Large-scale simultaneous hypothesis testing: the choice of a null hypothesis*, JASA 99, 2004). Its centre is the machine's
movement; its scatter is the further change of single points. The population for a point leaves out its own operator and, where enough points are
left, its own engine, so that a library that became slower everywhere does not look like a slower machine. docs/methodology.md, "Comparison",
explains each constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpubench.analysis.model import Interval
from dpubench.analysis.statistics import WIDENING, Difference, FloatArray, critical_value

BoolArray = NDArray[np.bool_]

#: Numbers of engines of operators ("owners") that a population needs to be used at all, and to be judged by robust estimators.
LEAST_OWNERS: Final = 3
ROBUST_OWNERS: Final = 6
#: Points of a machine have longer tails than normal values: with more freedom, the outermost of a hundred unchanged points would count as changed.
MOST_FREEDOM: Final = 5.0
#: Factor on Qn to estimate the standard deviation of many normal values (Rousseeuw and Croux, JASA 88, 1993).
_QN: Final = 2.2219
#: Standard error of a median of normal values, over the standard error of their mean.
_MEDIAN_ERROR: Final = 1.2533


@dataclass(frozen=True, slots=True)
class Null:
    """The movement of points that count as unchanged."""

    centre: float  #: common movement of the points, which is the machine's movement
    centre_error: float
    scatter: float  #: standard deviation of a point's change about the centre, including the scatter of its rounds
    freedom: float  #: degrees of freedom of ``scatter``
    rounds_error: float  #: part of ``scatter`` that the rounds of a typical point explain
    points: int
    owners: int  #: number of engines of operators behind the points


def null_of(changes: FloatArray, errors: FloatArray, owners: Sequence[str]) -> Null | None:
    """Return the null distribution of ``changes``; ``None`` with fewer than :data:`LEAST_OWNERS` owners.

    ``errors`` are the standard errors of ``changes`` from their rounds. Points of one owner share the fate of its code and its library, so that
    their number tells nothing: the centre is the median of the owners' medians, and the number of owners determines the precision of centre and
    scatter. With few owners the scatter is the standard deviation. A robust one would be mostly luck there; the standard deviation grows with one
    changed owner so far that the comparison finds nothing beside it.
    """
    known = np.isfinite(changes) & np.isfinite(errors)
    values, mine = changes[known], np.array([owner for owner, is_known in zip(owners, known, strict=True) if is_known], dtype=np.str_)
    medians = [float(np.median(values[mine == owner])) for owner in np.unique(mine)]
    count = len(medians)
    if count < LEAST_OWNERS:
        return None
    robust = count >= ROBUST_OWNERS
    scatter = qn(values) if robust else float(np.std(values, ddof=1))
    # These degrees of freedom give the quantiles of (value - median) / Qn within a few per cent (simulation with normal values).
    freedom = min(0.77 * count - 2.3, MOST_FREEDOM) if robust else count - 1
    centre_error = _MEDIAN_ERROR * scatter / math.sqrt(count)
    return Null(float(np.median(medians)), centre_error, scatter, freedom, math.sqrt(float(np.median(errors[known] ** 2))), len(values), count)


def qn(values: FloatArray) -> float:
    """Return the robust standard deviation Qn (Rousseeuw and Croux) of at least two ``values``, up to half of which may be arbitrary.

    Qn is a quarter-quantile of the distances of all pairs. The factor for few values fits its mean square, not its mean, to normal values, because
    Qn goes into a t statistic. From simulation: n / (n + 1.8) for odd and n / (n + 4.3) for even n.
    """
    n = len(values)
    first, second = np.triu_indices(n, 1)
    half = n // 2 + 1
    place = half * (half - 1) // 2 - 1
    distance = float(np.partition(np.abs(values[first] - values[second]), place)[place])
    return _QN * distance * n / (n + (1.8 if n % 2 else 4.3))


@dataclass(frozen=True, slots=True)
class Movement:
    """The movement of the machine, reported beside a comparison; changes are of plain rates."""

    null: Null | None  #: null distribution of all points, without the part that the memory canary explains; ``None``: too few points
    core: float | None  #: change of the core canary
    memory: float | None
    over_canary: bool  #: whether the comparison used rates over the core canary's
    owners: int  #: number of engines of operators in both runs
    remarks: tuple[str, ...] = ()

    @property
    def watched(self) -> bool:
        """Return whether a canary ran in both runs."""
        return self.core is not None or self.memory is not None

    @property
    def interval(self) -> Interval | None:
        """Return the factor by which the points moved together, with its 95 % interval; not widened, because no rounds stop on it."""
        if self.null is None:
            return None
        half = float(critical_value(self.null.freedom)) / WIDENING * self.null.centre_error
        return Interval(math.exp(self.null.centre), math.exp(self.null.centre - half), math.exp(self.null.centre + half))

    @property
    def together(self) -> float:
        """Return by how much (log) all points moved beyond the core canary; 0 where the centre's interval contains the canary's change."""
        interval = self.interval
        if self.null is None or interval is None or self.core is None or interval.low <= math.exp(self.core) <= interval.high:
            return 0.0
        return self.null.centre - self.core


@dataclass(slots=True)
class Machine:
    """The evidence on the machine's movement between two runs: all pairs of points in both, and two canaries."""

    operators: Sequence[str]
    engines: Sequence[str]
    changes: FloatArray  #: change of each pair; ``nan``: unknown
    errors: FloatArray  #: standard errors of ``changes`` from their rounds
    freedoms: FloatArray  #: degrees of freedom of ``errors``
    core: float | None  #: change of the core canary's plain rate
    memory: float | None
    zero: float | None = None  #: change of the core canary where ``changes`` are of rates over its rate; ``None``: they are of plain rates
    remarks: tuple[str, ...] = ()
    followed: FloatArray | None = None  #: standard errors of the part of ``changes`` that the memory canary explains; ``None``: nothing taken off
    as_measured: Machine | None = None  #: the same without anything taken off; ``None``: nothing was taken off
    _nulls: dict[tuple[str, str], Null | None] = field(default_factory=dict)
    _movement: Movement | None = None

    @property
    def owners(self) -> list[str]:
        """Return the owner of each pair: its operator and engine."""
        return [f"{operator}/{engine}" for operator, engine in zip(self.operators, self.engines, strict=True)]

    def movement(self) -> Movement:
        """Return the movement that all pairs together show."""
        if self._movement is None:
            null = null_of(self.changes + (self.zero or 0.0), self.errors, self.owners)
            self._movement = Movement(null, self.core, self.memory, self.zero is not None, len(set(self.owners)), self.remarks)
        return self._movement

    def null(self, pair: int) -> Null | None:
        """Return the null distribution for a pair: from other operators and engines, else other operators, else other owners.

        The first population needs enough owners for robust estimators.
        """
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
        """Return by how much a pair changed beyond the machine's movement; ``None`` where too few pairs show that movement.

        The core canary never changes with a build, so that the machine alone can move a point as far as this canary moved. A difference is therefore
        only what lies beyond both the others' centre and this canary, on the same side. ``changes`` no longer contains what the memory canary
        explains.
        """
        null = self.null(pair)
        if null is None or not math.isfinite(self.changes[pair]):
            return None
        # A pair whose rounds scatter more than a typical pair's is less certain than the null's scatter tells.
        own = max(0.0, float(self.errors[pair]) ** 2 - null.rounds_error**2)
        shared = null.scatter**2 + null.centre_error**2
        followed = 0.0 if self.followed is None else float(self.followed[pair]) ** 2
        scale = shared**2 / null.freedom + own**2 / max(float(self.freedoms[pair]), 1.0) + followed**2 / MOST_FREEDOM
        freedom = (shared + own + followed) ** 2 / scale if scale > 0 else null.freedom
        canary = 0.0 if self.core is None else self.core - (self.zero or 0.0) - null.centre
        # Nobody looked at the difference between the runs to decide the number of rounds, so that nothing is widened.
        beyond = float(self.changes[pair]) - null.centre
        return Difference(beyond, math.sqrt(shared + own + followed), freedom, min(0.0, canary), max(0.0, canary), widening=1.0)
