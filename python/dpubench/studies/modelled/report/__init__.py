"""Code shared by the pages of the studies of modelled processors: wording of numbers. Templates, script and style lie beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dpubench.analysis.digits import significant

HERE: Final = Path(__file__).parent


def percent(share: float | None) -> str:
    """Return a share in percent with three significant digits; zero as ``0 %``, None as a dash."""
    if share is None:
        return "–"
    return "0 %" if share == 0 else f"{significant(100 * share, 3)} %"


def figure(value: float | None) -> str:
    """Return ``value`` with three significant digits; None as a dash."""
    return "–" if value is None else significant(value, 3)


def capitalized(text: str) -> str:
    """Return ``text`` with its first letter in upper case."""
    return text[:1].upper() + text[1:]
