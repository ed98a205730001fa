"""Points whose engine left part of its work undecided, so that their rates are for less work than those of other engines."""

from __future__ import annotations

import re
from typing import Final

from dpubench.analysis.digits import percent
from dpubench.studies.operators.model import PointSummary

#: Above this share of undecided pairs of payload and rule, a rate is not compared with another engine's.
LIMIT: Final = 0.01
#: The message of earlier versions, which counts all engines of a configuration together.
_TOLD: Final = re.compile(r"(\d+) of (\d+) pairs of payload and rule were undecided")


def share_of(point: PointSummary) -> float:
    """Return the share of its work that the engine of ``point`` left undecided; 0 where it decided all, or decides nothing."""
    if (share := point.verified.get("undecided_share")) is not None:
        return float(share)
    told = (_TOLD.search(w.message) for w in point.warnings if w.code == "input-skipped")
    return max((int(m[1]) / int(m[2]) for m in told if m and int(m[2])), default=0.0)


def other_work(old: PointSummary, new: PointSummary) -> str:
    """Return why an engine did different work in two runs; empty where it did not, or where a program does not tell the share."""
    shares = [point.verified.get("undecided_share") for point in (old, new)]
    if None in shares or abs(share_of(old) - share_of(new)) <= LIMIT:
        return ""
    return f"the engine left {percent(share_of(old))} of its work undecided before and {percent(share_of(new))} now: the work differs"


def reason_of(point: PointSummary, other: PointSummary) -> str:
    """Return why a ratio of two engines' rates would compare different work; empty where it would not."""
    for one in (point, other):
        if (share := share_of(one)) > LIMIT:
            return f"{one.engine} left {percent(share)} of its work undecided: above {percent(LIMIT)} its rate is not compared with another engine's"
    return ""
