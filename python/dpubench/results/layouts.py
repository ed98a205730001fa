"""Code layouts: rounds take the orders in which a build's functions were linked in turn, and what that does to a figure is told apart here.

Rounds of one layout share where the code lies. Where layouts repeat they are one value, so that an interval stands on independent ones; and only
then the scatter of rounds can be divided into that between layouts and that within them. docs/methodology.md, "Rounds".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from dpubench.results.model import Interval, RunSummary
from dpubench.results.statistics import CONFIDENCE, MINIMUM_ROUNDS, FloatArray
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from types import ModuleType

#: Of a round of a program that does not say which layout it has.
UNKNOWN: Final = -1
#: Robust standard deviations beyond which a round's distance from the median says nothing of its layout.
FAR: Final = 3.0
_DEVIATION_PER_MAD: Final = 1.4826  #: of a normal distribution


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the variance of single rounds is between code layouts, with its 95 % interval; and what that comes to."""

    share: Interval  #: 0 to 1
    deviation: float  #: relative standard deviation of a rate between layouts (0.01: 1 %)


def joined(logs: ArrayLike, layouts: ArrayLike) -> FloatArray:
    """``logs``, shape ``(points, rounds)``, ``nan`` where missing, with the rounds of a layout as one value where layouts repeat: their median.

    ``layouts``, of that shape or ``(rounds,)``: the layout of each round. A row stays as it is where its layouts are unknown or differ from round to
    round, and where they are fewer than the rounds that a converged point needs: then they are no sample of all possible ones.
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
    """Values of rounds as :func:`joined` joins their logarithms; as they are where ``layouts`` do not tell of each."""
    return cast("list[float]", joined_rounds(values, np.ones(len(values)), layouts)[0].tolist())


def joined_rounds(ratios: ArrayLike, cycles: ArrayLike, layouts: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The values of rounds and the cycles behind each, as :func:`joined` joins them: a layout has the cycles of its longest round."""
    values, counts, of = (np.asarray(a) for a in (ratios, cycles, layouts))
    numbers = np.unique(of)
    if of.size != values.size or UNKNOWN in numbers or not MINIMUM_ROUNDS <= numbers.size < values.size:
        return values.astype(np.float64), counts.astype(np.float64)
    return (
        np.array([math.exp(np.median(np.log(values[of == n]))) for n in numbers]),
        np.array([counts[of == n].max() for n in numbers], dtype=np.float64),
    )


def share(logs: ArrayLike, layouts: ArrayLike) -> Share | None:
    """What code layout has to do with the scatter of rounds, from their ``logs``; None where no layout repeats, or one is unknown.

    One-way analysis of variance with layouts as random groups. The estimate is (between - within) / (between + (n - 1) within) of the mean squares,
    cut at 0, with n the harmonic mean of the groups' sizes (Thomas and Hultquist, *Interval estimation for the unbalanced case of the one-way random
    effects model*, Annals of Statistics 6, 1978), and its interval that of their F ratio. Few rounds leave it wide, which is what they know. A round
    farther than :data:`FAR` robust standard deviations from the median was disturbed by something else, and is set to that distance.
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
    """What ``run`` says of its code layouts, in a sentence; empty where it has no rate."""
    measured = [p for p in run.points if p.ops_per_s is not None and not p.program]
    if not measured:
        return ""
    number = max(p.layouts for p in measured)
    if number == 0:
        return "one code layout in all rounds: what the place of the code does to a figure is in no interval"
    said = f"{number} code layouts, taken in turn by rounds"
    alone = sorted({p.build or "its own" for p in measured if p.layouts == 0})
    if alone:
        said += f"; one only of build {', '.join(alone)}, whose place is in no interval"
    known = [(p.layout_deviation, p.layout_share.value) for p in measured if p.layout_share is not None and p.layout_deviation is not None]
    if not known:
        return said + "; none came twice, so that its share of the scatter is not known apart"
    deviation, share_of = (100 * float(np.median([values[i] for values in known])) for i in (0, 1))
    differ = f"in the median of {len(known)} points rates differ between them by {deviation:.2g} % (standard deviation)"
    return f"{said}; {differ}, which is {share_of:.0f} % of the variance of rounds"


def _special() -> ModuleType:
    """SciPy's functions take a fifth of a second to import, which commands that compute nothing need not wait for."""
    from scipy import special

    return cast("ModuleType", special)
