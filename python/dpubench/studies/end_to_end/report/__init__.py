"""The report of study ``end-to-end``: one offline HTML file, in the frame that the pages of all studies share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench.analysis import warnings
from dpubench.analysis.model import Interval
from dpubench.analysis.verdicts import MIN_EFFECT
from dpubench.report.frame import Section
from dpubench.report.words import FEW_ROUNDS, number
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import RunSummary
from dpubench.studies.end_to_end.report import model
from dpubench.studies.end_to_end.report.page import Page, Part, Ratio

HERE: Final = Path(__file__).parent


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; the variants of the run called ``baseline`` come first.

    Raises :class:`ValueError` without runs, or if none has that name.
    """
    return section_of(model.build(runs, warnings.advice, MIN_EFFECT, baseline))


def section_of(page: Page) -> Section:
    return Section("end-to-end", page, HERE, _FILTERS, more={"min_effect": MIN_EFFECT})


def _mega(interval: Interval | None) -> Interval:
    """Return a rate in millions."""
    return Interval(math.nan, math.nan, math.nan) if interval is None else Interval(interval.value / 1e6, interval.low / 1e6, interval.high / 1e6)


def _ratio_limits(part: Part) -> tuple[float, float]:
    """Return the ends of the axis for the ratios of a part; they lie on both sides of one."""
    bounds = [b for r in part.all_ratios if r.ratio is not None for b in (r.ratio.value, r.ratio.low, r.ratio.high) if math.isfinite(b) and b > 0]
    return min([*bounds, 0.8]), max([*bounds, 1.25])


def _not_compared(part: Part, rows: Sequence[Ratio]) -> list[tuple[str, str, str]]:
    """Return (variant, reason, where) for the pairs that could not be compared."""
    found: dict[tuple[str, str], list[str]] = {}
    for r in rows:
        if r.ratio is None:
            where = f"{part.frame_words[part.frames.index(r.frame)]} {r.load}"
            found.setdefault((part.variants[r.variant].label, r.reason), []).append(where)
    return [
        (variant, reason, ", ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else ""))
        for (variant, reason), where in found.items()
    ]


_FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "mega": _mega,
    "weakness": lambda point: wording.weakness(point, FEW_ROUNDS),
    "why_empty": wording.why_empty,
    "silent": lambda point: not wording.says_of_the_server(point),
    "limit": wording.limit_text,
    "lost_brief": wording.lost_brief,
    "seen_text": wording.seen_text,
    "over_goal": wording.over_goal_text,
    "ratio_limits": _ratio_limits,
    "ratio_low": lambda part: number(_ratio_limits(part)[0]),
    "ratio_high": lambda part: number(_ratio_limits(part)[1]),
    "not_compared": _not_compared,
}
