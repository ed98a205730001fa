"""Points whose engine left part of its work undecided: their rates are of less work than those of engines that decide it."""

from __future__ import annotations

import re
from typing import Final

from dpubench.results.digits import percent
from dpubench.results.model import PointSummary

#: Above this share of pairs of payload and rule, a rate is set against no other engine's.
LIMIT: Final = 0.01
#: How programs of earlier versions told it, of all engines of a configuration together.
_TOLD: Final = re.compile(r"(\d+) of (\d+) pairs of payload and rule were undecided")


def share_of(point: PointSummary) -> float:
    """Return the share of its work that the engine of ``point`` left undecided; 0 where it decided all, or where deciding is no question."""
    if (share := point.verified.get("undecided_share")) is not None:
        return float(share)
    told = (_TOLD.search(w.message) for w in point.warnings if w.code == "input-skipped")
    return max((int(m[1]) / int(m[2]) for m in told if m and int(m[2])), default=0.0)


def reason_of(point: PointSummary, other: PointSummary) -> str:
    """Return why a ratio of the rates of two engines would be one of different work; empty where it would not."""
    for one in (point, other):
        if (share := share_of(one)) > LIMIT:
            return f"{one.engine} left {percent(share)} of its work undecided: above {percent(LIMIT)} a rate is not set against another engine's"
    return ""
