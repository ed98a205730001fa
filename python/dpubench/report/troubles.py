"""Warnings as a page lists them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from dpubench.analysis.model import Warning_
from dpubench.report.page import WarningGroup

LISTED: Final = 1000  #: most entries of one list of failures or warnings on the page; the rest is counted

#: Warning codes, from the one that weakens a number most.
SEVERITY: Final = (
    "superseded", "undecided", "canary-moved", "restarted", "link-down", "search-unfinished", "clock-drift", "not-pinned", "oversubscribed",
    "few-rounds",
    "not-converged", "clock-coarse", "few-bursts", "footprint-capped", "expansion", "input-skipped", "passthrough",
)  # fmt: skip

Advice = Callable[[str], str]  #: warning code -> advice, empty if unknown


def warning_groups(found: Iterable[tuple[str, Warning_]], advice: Advice) -> list[WarningGroup]:
    """Return warnings with their runs, grouped by code, the worst code first."""
    groups: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for name, w in found:
        groups[w.code].append((name, w.point or w.group or "", w.message))
    order = {code: i for i, code in enumerate(SEVERITY)}
    return [WarningGroup(code, advice(code), items[:LISTED], max(0, len(items) - LISTED))
            for code, items in sorted(groups.items(), key=lambda kv: (order.get(kv[0], -1), kv[0]))]  # fmt: skip
