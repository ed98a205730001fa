"""Data of the figures and downloads, as JSON-safe values."""

from __future__ import annotations

import math

from dpubench.analysis.model import Interval


def rounded(value: float | None) -> float | None:
    """Return six significant digits, to keep JSON short; ``None`` for a value that JSON has no number for."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


def triple(interval: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if interval is None else (rounded(interval.value), rounded(interval.low), rounded(interval.high))
