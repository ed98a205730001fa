"""Warnings as a page lists them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from dpubench.analysis import warnings
from dpubench.analysis.model import Warning_
from dpubench.report.page import WarningGroup

LISTED: Final = 1000  #: most entries of one list of failures or warnings on the page; the rest is counted

Advice = Callable[[str], str]  #: warning code -> advice, empty if unknown


def warning_groups(found: Iterable[tuple[str, Warning_]], advice: Advice) -> list[WarningGroup]:
    """Return warnings with their runs, grouped by code, the worst code first."""
    groups: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for name, w in found:
        groups[w.code].append((name, w.point or w.group or "", w.message))
    known = warnings.kinds()
    # An unknown code may weaken a number in any way.
    severity = {code: known[code].severity if code in known else math.inf for code in groups}
    return [
        WarningGroup(code, advice(code), items[:LISTED], max(0, len(items) - LISTED))
        for code, items in sorted(groups.items(), key=lambda entry: (-severity[entry[0]], entry[0]))
    ]
