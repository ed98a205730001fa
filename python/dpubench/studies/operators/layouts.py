"""The effect of code layouts on figures. Rounds take turns among the orders in which a build's functions are linked.

Rounds of one layout share the place of the code, so that they are not independent. Where layouts repeat, each layout counts as one value. Only
repeated layouts allow to divide the scatter of rounds into a part between layouts and a part within them. See docs/methodology.md, "Rounds".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from numpy.typing import ArrayLike

from dpubench.analysis.model import Interval
from dpubench.analysis.statistics import CONFIDENCE, MINIMUM_ROUNDS, FloatArray
from dpubench.studies.operators.model import RunSummary

if TYPE_CHECKING:
    from types import ModuleType

#: Layout of a round whose program does not tell its layout.
UNKNOWN: Final = -1
#: A round farther than this many robust standard deviations from the median tells nothing of its layout.
FAR: Final = 3.0
_DEVIATION_PER_MAD: Final = 1.4826  #: for a normal distribution


@dataclass(frozen=True, slots=True)
class Share:
    """The share of code layouts in the variance of single rounds, with its 95 % interval, and the deviation that this means."""

    share: Interval  #: 0 to 1
    deviation: float  #: relative standard deviation of a rate between layouts (0.01: 1 %)


def joined(logs: ArrayLike, layouts: ArrayLike) -> FloatArray:
    """Return ``logs`` with the rounds of each layout joined into their median, where layouts repeat.

    ``logs`` has the shape ``(points, rounds)``, with ``nan`` where a value is missing. ``layouts`` has that shape or ``(rounds,)`` and gives the
    layout of each round. A row stays unchanged where its layouts are unknown, where no layout repeats, and where there are fewer layouts than a
    converged point needs rounds: so few are no sample of all possible layouts.
    """
    values = np.atleast_2d(np.asarray(logs, dtype=np.float64))
    of = np.broadcast_to(np.asarray(layouts, dtype=np.int64), values.shape)
    result: FloatArray = values.copy()
    for i in np.flatnonzero((of != UNKNOWN).any(axis=1)):
        known = np.isfinite(values[i])
        numbers = np.unique(of[i][known])
        if UNKNOWN in numbers or not MINIMUM_ROUNDS <= numbers.size < np.count_nonzero(known):
            continue
        result[i] = np.nan
        result[i, : numbers.size] = [np.median(values[i][known & (of[i] == n)]) for n in numbers]
    return result


def joined_values(values: Sequence[float], layouts: Sequence[int]) -> list[float]:
    """Return the values of rounds, joined as :func:`joined` joins their logarithms; unchanged where ``layouts`` does not cover every round."""
    return cast("list[float]", joined_rounds(values, np.ones(len(values)), layouts)[0].tolist())


def joined_rounds(ratios: ArrayLike, cycles: ArrayLike, layouts: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the values of rounds and their numbers of cycles, joined as by :func:`joined`: a layout has the cycles of its longest round."""
    values, counts, of = (np.asarray(a) for a in (ratios, cycles, layouts))
    numbers = np.unique(of)
    if of.size != values.size or UNKNOWN in numbers or not MINIMUM_ROUNDS <= numbers.size < values.size:
        return values.astype(np.float64), counts.astype(np.float64)
    return (
        np.array([math.exp(np.median(np.log(values[of == n]))) for n in numbers]),
        np.array([counts[of == n].max() for n in numbers], dtype=np.float64),
    )


def share(logs: ArrayLike, layouts: ArrayLike) -> Share | None:
    """Return how much of the scatter of rounds comes from code layout; None where no layout repeats, or one is unknown.

    ``logs`` are the logarithms of the rounds. The method is a one-way analysis of variance with layouts as random groups. With the mean squares, the
    estimate is (between - within) / (between + (n - 1) within), cut at 0, where n is the harmonic mean of the groups' sizes (Thomas and Hultquist,
    *Interval estimation for the unbalanced case of the one-way random effects model*, Annals of Statistics 6, 1978). Its interval comes from the F
    ratio, and is wide for few rounds. A round farther than :data:`FAR` robust standard deviations from the median was disturbed by something else:
    it is moved to that distance.
    """
    values, of = np.asarray(logs, dtype=np.float64).ravel(), np.asarray(layouts, dtype=np.int64).ravel()
    known = np.isfinite(values)
    values, of = values[known], of[known]
    numbers, group = np.unique(of, return_inverse=True)
    if values.size < 3 or UNKNOWN in numbers or not 2 <= numbers.size < values.size:
        return None
    centre = float(np.median(values))
    far = FAR * _DEVIATION_PER_MAD * float(np.median(np.abs(values - centre)))
    values = np.clip(values, centre - far, centre + far)
    sizes = np.bincount(group)
    means = np.bincount(group, values) / sizes
    size = numbers.size / float((1 / sizes).sum())
    between_freedom, within_freedom = numbers.size - 1, values.size - numbers.size
    between = size * float(means.var(ddof=1))
    within = float(((values - means[group]) ** 2).sum()) / within_freedom
    if between == 0 and within == 0:
        return None
    ratio = between / within if within > 0 else math.inf
    quantile = _special().fdtri
    tail = (1 - CONFIDENCE) / 2
    low = ratio / float(quantile(between_freedom, within_freedom, 1 - tail))
    high = ratio / float(quantile(between_freedom, within_freedom, tail))
    found = Interval(*(_share_of(r, size) for r in (ratio, low, high)))
    return Share(found, math.sqrt(max(0.0, between - within) / size))


def _share_of(ratio: float, size: float) -> float:
    return 1.0 if math.isinf(ratio) else max(0.0, (ratio - 1) / (ratio - 1 + size))


def told(run: RunSummary) -> str:
    """Return a sentence on the code layouts of ``run``; empty where it has no rate."""
    measured = [p for p in run.points if p.ops_per_s is not None and not p.program]
    if not measured:
        return ""
    number = max(p.layouts for p in measured)
    if number == 0:
        return "one code layout in all rounds: no interval holds the effect of code placement"
    said = f"{number} code layouts, which rounds take in turn"
    alone = sorted({p.build or "its own" for p in measured if p.layouts == 0})
    if alone:
        said += f"; build {', '.join(alone)} has only one, so no interval holds the effect of its placement"
    known = [(p.layout_deviation, p.layout_share.value) for p in measured if p.layout_share is not None and p.layout_deviation is not None]
    if not known:
        return said + "; none came twice, so their share of the scatter is not known"
    deviation, share_of = (100 * float(np.median([values[i] for values in known])) for i in (0, 1))
    differ = f"in the median of {len(known)} points, rates differ between layouts by {deviation:.2g} % (standard deviation)"
    return f"{said}; {differ}, which is {share_of:.0f} % of the variance of rounds"


def _special() -> ModuleType:
    """Import SciPy's functions late: the import takes a fifth of a second, and many commands compute nothing."""
    from scipy import special

    return cast("ModuleType", special)
