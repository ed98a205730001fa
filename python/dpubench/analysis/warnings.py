"""The closed set of warning codes, with the meaning of each for the number beside it, and advice. Any other code is an error of the program."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, Protocol

from dpubench.analysis.model import Warning_

#: Codes at this share of the points or more have a common cause: the run tells them once.
SHARED: Final = 0.5
#: Fewer marked points than this keep their own warnings.
SHARED_POINTS: Final = 8
#: Codes that the figures of each point show by a mark: at :data:`SHARED_POINTS` points the run tells them once, whatever their share is.
_SHOWN: Final = ("few-rounds", "not-converged")


@dataclass(frozen=True, slots=True)
class WarningKind:
    """One code of the set."""

    code: str
    severity: int  #: how much it weakens a number, from 1 (hardly) to 9 (the number says something else)
    meaning: str  #: one clause on the effect on the number
    advice: str  #: one clause on what the reader can do


#: Kinds that programs of several studies emit. A study declares its own in the module ``warnings`` of its folder.
GENERAL: Final = (
    WarningKind(
        "input-skipped",
        2,
        "part of the input could not be used and was skipped",
        "the message tells how much; if it is a large share, give another input with --input",
    ),
    WarningKind(
        "not-converged",
        4,
        "the interval is wider than the precision that the plan asks for",
        "raise the time budget or the number of rounds, or ask for less precision",
    ),
    WarningKind(
        "few-rounds",
        4,
        "fewer rounds than inference needs: the interval is rough",
        "continue the run (dpubench resume) or raise rounds in the plan",
    ),
)


@cache
def kinds() -> Mapping[str, WarningKind]:
    """Return the closed set by code: those of all studies, and :data:`GENERAL`."""
    found = list(GENERAL)
    for folder in sorted(resources.files("dpubench").joinpath("studies").iterdir(), key=lambda folder: folder.name):
        if folder.joinpath("warnings.py").is_file():
            found += importlib.import_module(f"dpubench.studies.{folder.name}.warnings").KINDS
    return {kind.code: kind for kind in found}


class Marked(Protocol):
    """A point of any study, which can carry warnings."""

    id: str
    warnings: list[Warning_]
    precision: float  #: relative half width reached; ``nan`` where it is unknown


def of_the_run(found: Sequence[Warning_], points: Sequence[Marked]) -> list[Warning_]:
    """Return ``found`` (of the run, or of a point) with one warning of the run in place of each widespread code.

    A code is widespread at half of ``points`` or more, and at :data:`SHARED_POINTS` at least; a code that the figures show themselves needs the
    number only. The function removes widespread codes from the points, because a mark on every point distinguishes none. A point keeps what its
    figures show (its rounds, its precision).
    """
    kept = list(found)
    for code in dict.fromkeys(w.code for point in points for w in point.warnings):
        marked = [point for point in points if any(w.code == code for w in point.warnings)]
        if len(marked) < SHARED_POINTS or (code not in _SHOWN and len(marked) < SHARED * len(points)):
            continue
        worst = max(marked, key=lambda point: point.precision if point.precision == point.precision else -1.0)
        said = next(w.message for w in worst.warnings if w.code == code)
        everywhere = all(w.message == said for point in marked for w in point.warnings if w.code == code)
        example = said if everywhere else f"{said} ({worst.id}, the least precise of them)"
        kept = [w for w in kept if w.code != code or not w.point]
        kept.append(Warning_(code, f"at {len(marked)} of {len(points)} points: {example}"))
        for point in marked:
            point.warnings = [w for w in point.warnings if w.code != code]
    return kept


def advice(code: str) -> str:
    """Return the advice for ``code``; empty for an unknown code, so that an old reader still shows the message."""
    kind = kinds().get(code)
    return "" if kind is None else kind.advice
