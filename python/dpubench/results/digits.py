"""Measured numbers as text: so many significant digits, and never in exponent form, however large or small."""

from __future__ import annotations

import math


def significant(value: float, digits: int = 4) -> str:
    """``value`` with so many significant digits, never in exponent form; ``-`` for what is not a number."""
    if not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def percent(share: float, digits: int = 3) -> str:
    """A share as ``2.5 %`` or ``100 %`` with at most so many significant digits, never in exponent form; ``-`` for what is not a number."""
    text = significant(100 * share, digits)
    if text == "-":
        return text
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"
