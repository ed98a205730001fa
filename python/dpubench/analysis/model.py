"""Parts of an analysed run that every study has: intervals, warnings, failures, rows of a comparison. They hold data and no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

#: Sources of cycle counts: a counter of the core, named as the counting program names it (the name may add "user mode only"), or an estimate from
#: the core canary beside the point.
COUNTED: Final = ("hardware counter", "counter of the virtual machine")


ESTIMATED: Final = "estimated"


#: Label of a target whose outputs can be checked but whose times mean nothing.
EMULATED: Final = "emulated: correctness only"


def is_emulated(target: Mapping[str, Any]) -> bool:
    """Return whether the times of a target mean nothing, from its entry in a record. Earlier versions told it by the label alone."""
    return bool(target.get("emulated", target.get("label") == EMULATED))


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate (over rounds, a trimmed mean) with its 95 % interval, in the unit of the quantity.

    Below two rounds ``low`` and ``high`` are ``nan``.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Warning_:
    """A warning with a code of the closed set in :mod:`dpubench.analysis.warnings`, shown beside the number that it weakens."""

    code: str
    message: str
    point: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a point, a group or the run."""

    phase: str
    message: str
    point: str | None = None
    group: str | None = None


#: The verdict of a comparison. ``more`` and ``fewer`` compare counts, the other words compare rates.
Verdict = Literal["faster", "slower", "more", "fewer", "undecided", "same", "not comparable"]


@dataclass(slots=True)
class Comparison:
    """One row of a comparison: old against new, or a run against the baseline run."""

    configuration: str
    old: str | None  #: point id
    new: str | None
    ratio: Interval | None  #: new rate / old rate
    verdict: Verdict
    p_value: float | None
    reason: str  #: why undecided or not comparable; else ""
