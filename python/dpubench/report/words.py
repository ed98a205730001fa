"""Numbers, sizes and counts as text for the page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from dpubench.analysis.model import Interval


def _decimals(value: float, half_width: float) -> int:
    """Return decimal places for three digits of ``value``, plus one where the interval is narrower than they show."""
    if not (math.isfinite(value) and value):
        return 2
    places = 2 - math.floor(math.log10(abs(value)))
    if math.isfinite(half_width) and half_width > 0:
        places = max(places, min(places + 1, -math.floor(math.log10(half_width))))
    return max(places, 0)


def number(value: float) -> str:
    """Return ``value`` with three significant digits and separated thousands."""
    return "–" if not math.isfinite(value) else f"{value:,.{_decimals(value, math.nan)}f}"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An interval as text, with the same decimal places for value and limits.

    ``low`` and ``high`` are empty where there is no interval.
    """

    value: str
    low: str
    high: str

    @property
    def range(self) -> str:
        """Return the interval, or ``no interval``."""
        return f"{self.low}–{self.high}" if self.low else "no interval"


def quantity(interval: Interval) -> Quantity:
    """Return ``interval`` rounded for reading."""
    places = _decimals(interval.value, (interval.high - interval.low) / 2)
    if not math.isfinite(interval.value):
        return Quantity("–", "", "")
    text = f"{interval.value:,.{places}f}"
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return Quantity(text, "", "")
    return Quantity(text, f"{interval.low:,.{places}f}", f"{interval.high:,.{places}f}")


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return ``1 point``, ``2 points``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def anchor(kind: str, name: str) -> str:
    """Return an id for a fragment: only letters, digits and hyphens, whatever the name holds."""
    return f"{kind}-" + "".join(c if c.isascii() and c.isalnum() else "-" for c in name)


FEW_ROUNDS: Final = 6  #: fewer rounds give a rough interval (docs/methodology.md)
