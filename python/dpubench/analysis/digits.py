"""Measured numbers as text with a given number of significant digits, never in exponent form."""

from __future__ import annotations

import math


def significant(value: float, digits: int = 4) -> str:
    """Return ``value`` with ``digits`` significant digits, never in exponent form; ``-`` for a value that is not finite."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def percent(share: float, digits: int = 3) -> str:
    """Return a share as ``2.5 %`` or ``100 %`` with at most ``digits`` significant digits, never in exponent form; ``-`` if it is not finite."""
    text = significant(100 * share, digits)
    if text == "-":
        return text
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"
