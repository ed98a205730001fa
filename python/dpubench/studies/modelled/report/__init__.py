"""Code shared by the pages of the studies of modelled processors: wording of numbers. Templates, script and style lie beside this file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

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


class _Named(Protocol):
    name: str
    path: str


_R = TypeVar("_R", bound=_Named)


def baseline_first(runs: Sequence[_R], baseline: str | None) -> list[_R]:
    """Return ``runs``, first the one with name or path ``baseline``. @raises ValueError when it is none of them"""
    named = [run for run in runs if baseline in (run.name, run.path)]
    if baseline is not None and not named:
        known = ", ".join(run.name for run in runs)
        raise ValueError(f"baseline {baseline!r} is not among the runs of this report ({known}): name one of them with --baseline")
    first = named[0] if named else runs[0]
    return [first, *(run for run in runs if run is not first)]
