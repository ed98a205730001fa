"""What the pages of studies of modelled processors share: templates, script and style beside this file, and words for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

from dpubench.results.digits import significant

HERE: Final = Path(__file__).parent


def percent(share: float | None) -> str:
    """A share in percent; what is small keeps its digits, and zero is zero."""
    if share is None:
        return "–"
    return "0 %" if share == 0 else f"{significant(100 * share, 3)} %"


def figure(value: float | None) -> str:
    """Three digits, or a dash."""
    return "–" if value is None else significant(value, 3)


def capitalized(text: str) -> str:
    """As a sentence begins."""
    return text[:1].upper() + text[1:]


class _Named(Protocol):
    name: str
    path: str


_R = TypeVar("_R", bound=_Named)


def baseline_first(runs: Sequence[_R], baseline: str | None) -> list[_R]:
    """``runs``, the one that is called or lies at ``baseline`` first. @raises ValueError when it is none of them"""
    named = [run for run in runs if baseline in (run.name, run.path)]
    if baseline is not None and not named:
        known = ", ".join(run.name for run in runs)
        raise ValueError(f"baseline {baseline!r} is not among the runs of this report ({known}): name one of them with --baseline")
    first = named[0] if named else runs[0]
    return [first, *(run for run in runs if run is not first)]
