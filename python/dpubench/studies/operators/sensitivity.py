"""How far points follow the memory canary, learnt within runs, where only the machine changes: pure functions on logarithms.

A point that waits for memory becomes slower when others on the machine use memory; a point that does not wait stays as it is. Between two runs this
looks like a change of some points. The rounds of a run tell which points wait: their slow rounds are those in which the memory canary beside them is
slow too. The method is an analysis of covariance (Fisher, *Statistical Methods for Research Workers*, 4th edition, 1932): it corrects rounds as if
memory had been equally fast in all.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dpubench.analysis.statistics import FloatArray

#: Standard deviation of points' slopes before any data: slopes lie between 0 (all work in the core) and 1 (all time in memory).
PRIOR_DEVIATION: Final = 0.4
#: Scatter of the core canary itself from round to round. Rates and memory are both divided by it, so that movements of this size look like a slope.
CANARY_SCATTER: Final = 0.01
#: Huber's constant: residuals beyond this many deviations weigh less (95 % of the efficiency of least squares on normal values).
_HUBER: Final = 1.345
_ITERATIONS: Final = 10
_DEVIATION_PER_MAD: Final = 1.4826


class Slopes(NamedTuple):
    """The share of the memory canary's change (log) by which each point's rate changes."""

    values: FloatArray  #: 0 to 1
    errors: FloatArray  #: standard deviations, at most :data:`PRIOR_DEVIATION`


def slopes(rates: list[FloatArray], memory: list[FloatArray]) -> Slopes:
    """Return the slopes of points from the runs in ``rates`` and ``memory``: matrices of points by rounds, ``nan`` where a value is missing.

    The level of each run is subtracted, so that a change between runs has no influence. Disturbed rounds weigh less (Huber). Where a point's rounds
    are uninformative, its slope comes from the other points: from their median slope, and from the spread that slopes may have. Slopes are 0 where
    no point's rounds are informative.
    """
    parts = [_about_medians(y, x) for y, x in zip(rates, memory, strict=True)]
    y, x = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
    known = np.isfinite(y)
    y, x = np.where(known, y, 0.0), np.where(known, x, 0.0)
    weight = known.astype(np.float64)
    for _ in range(_ITERATIONS):
        squares, slope = _fit(weight, x, y)
        residual = np.where(known, np.abs(y - slope[:, None] * x), np.nan)
        limit = _HUBER * _DEVIATION_PER_MAD * medians(residual)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(known, np.minimum(1.0, np.where(residual > 0, limit / residual, 1.0)), 0.0)
    squares, slope = _fit(weight, x, y)
    free = weight.sum(axis=1) - len(rates) - 1
    spent = (weight * (y - slope[:, None] * x) ** 2).sum(axis=1)
    variance = np.where(free > 0, spent / np.maximum(free, 1e-9), np.inf)
    information = np.maximum(squares - weight.sum(axis=1) * CANARY_SCATTER**2, 0.0) / np.maximum(variance, 1e-12)
    least = 1 / PRIOR_DEVIATION**2
    told = information > least
    prior = float(np.clip(np.median(slope[told]), 0.0, 1.0)) if told.any() else 0.0
    found = np.clip((information * slope + least * prior) / (information + least), 0.0, 1.0)
    return Slopes(found, 1 / np.sqrt(information + least))


def _fit(weight: FloatArray, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weighted sums of squares of ``x``, and slopes through the origin (0 where ``x`` does not move)."""
    squares = (weight * x * x).sum(axis=1)
    return squares, np.divide((weight * x * y).sum(axis=1), squares, out=np.zeros_like(squares), where=squares > 0)


def _about_medians(y: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both without the medians of their rows; ``nan`` where either is."""
    known = np.isfinite(y) & np.isfinite(x)
    y, x = np.where(known, y, np.nan), np.where(known, x, np.nan)
    return y - medians(y)[:, None], x - medians(x)[:, None]


def medians(matrix: FloatArray) -> FloatArray:
    """Return the median of each row without its ``nan``; 0 for a row without values."""
    known = np.isfinite(matrix)
    nothing = ~np.any(known, axis=1, keepdims=True)
    filled = np.where(nothing, 0.0, matrix)
    found: FloatArray = np.nanmedian(filled, axis=1) if matrix.shape[1] else np.zeros(len(matrix))
    return found
