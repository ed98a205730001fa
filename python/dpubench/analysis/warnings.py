"""The closed set of warning codes, with the meaning of each for the number beside it, and advice. Any other code is an error of the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    meaning: str  #: one clause on the effect on the number
    advice: str  #: one clause on what the reader can do


_KINDS: Final = (
    WarningKind(
        "few-bursts",
        "bursts are so slow that a window holds fewer than the plan asks for, so a single stall weighs more",
        "raise window.max_ms or lower the burst in the plan",
    ),
    WarningKind(
        "clock-coarse",
        "reading the clock costs more than 0.1 % of a window",
        "raise window.min_ms, or make the kernel use a finer clock source (tsc on x86)",
    ),
    WarningKind(
        "clock-drift",
        "the cycle counter and the kernel's clock disagree by more than the allowed share",
        "check the kernel's clock source; on a virtual machine ask for an invariant TSC",
    ),
    WarningKind(
        "not-pinned",
        "threads could not be bound to CPUs and may have migrated",
        "run where sched_setaffinity is allowed, or name CPUs of your cpuset with --cpus",
    ),
    WarningKind(
        "input-skipped",
        "part of the input could not be used and was skipped",
        "the message tells how much; if it is a large share, give another input with --input",
    ),
    WarningKind(
        "expansion",
        "the output is larger than the input",
        "compare at a size or with an input that compresses",
    ),
    WarningKind(
        "passthrough",
        "the input already fits, so the operator had nothing to do",
        "choose a size above the operator's limit",
    ),
    WarningKind(
        "footprint-capped",
        "the run used fewer buffers than the footprint asks for, so caches may hold more of them",
        "free memory, or judge the point by the cache that holds its buffers (touched_level), not by the footprint's name",
    ),
    WarningKind(
        "oversubscribed",
        "more threads than CPUs: the scheduler is part of the measurement",
        "use fewer threads, or read the point as a measurement of oversubscription",
    ),
    WarningKind(
        "canary-moved",
        "the machine's own speed changed by more than 5 %: beside most configurations of the run, or far more beside this point than beside others",
        "trust ratios more than absolute rates; stop other work on the machine or fix its frequency",
    ),
    WarningKind(
        "not-converged",
        "the interval is wider than the precision that the plan asks for",
        "raise the time budget or the number of rounds, or ask for less precision",
    ),
    WarningKind(
        "few-rounds",
        "fewer rounds than inference needs: the interval is rough",
        "continue the run (dpubench resume) or raise rounds in the plan",
    ),
    WarningKind(
        "restarted",
        "a worker ended before its round, and another process measured the rest",
        "see the run's failures for the cause",
    ),
    WarningKind(
        "search-unfinished",
        "a search for NDR and PDR had no time to narrow its bounds: its round says nothing about them",
        "stop other work on the machine, so that fewer trials are repeated; raise search.limit or search.width in the plan",
    ),
    WarningKind(
        "undecided",
        "an engine left part of its work undecided, so its rate is for less work: ratios to other engines are withheld",
        "give rules that every engine compiles and that need less backtracking, with --input rules=FILE",
    ),
    WarningKind(
        "superseded",
        "an earlier version of the operator did different work than its name says",
        "measure again; docs/methodology.md says how such figures mislead",
    ),
    WarningKind(
        "thin-hull",
        "the operators' hull has so few points that a place outside of it says little",
        "read the distances, and measure more points: --engine all, --size 64B,512B,1518B, or --plan full",
    ),
    WarningKind(
        "link-down",
        "the other side of a port went away during a trial",
        "see the run's failures for the cause",
    ),
)

KINDS: Final[dict[str, WarningKind]] = {kind.code: kind for kind in _KINDS}


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


class UnknownWarningError(ValueError):
    """A program emitted a warning code that is not in the set."""


def kind_of(warning: Warning_) -> WarningKind:
    """Return the kind of ``warning``. Raise :class:`UnknownWarningError` for a code outside the set."""
    try:
        return KINDS[warning.code]
    except KeyError:
        raise UnknownWarningError(
            f"warning code {warning.code!r} ({warning.message}) is not one of {', '.join(KINDS)}: the program that wrote this run is newer or broken"
        ) from None


def advice(code: str) -> str:
    """Return the advice for ``code``; empty for an unknown code, so that an old reader still shows the message."""
    return KINDS[code].advice if code in KINDS else ""
