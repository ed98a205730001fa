"""Withholds latencies that may be the client's own lag: pure functions over figures.

A packet's lag is the time from its due time to the reading of the clock before it was offered to the port; it is part of the packet's latency. A
percentile of the latency is withheld if the same percentile of the lag is more than a tenth of it. docs/end-to-end.md has the rules.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final

from dpubench.analysis.digits import significant
from dpubench.analysis.model import Interval
from dpubench.studies.end_to_end.model import Percentiles

#: Largest share of a latency that the lag of the same percentile may be.
MOST: Final = 0.1
#: Figures that are checked, by the name of their field in an event, in a trial's row, and in :class:`Percentiles`.
CHECKED: Final = ("p50", "p90", "p99", "p99_9", "max", "mean")
_WITHHELD: Final = Interval(math.nan, math.nan, math.nan)


def is_known(lag: Mapping[str, Any] | None) -> bool:
    """Return whether a trial's ``lag_ns`` counts packets. Earlier programs counted the lag once a burst, and gave p50, p99 and max alone."""
    return lag is not None and lag.get("p99_9") is not None


def spoiled(latency: Mapping[str, Any], lag: Mapping[str, Any]) -> list[str]:
    """Return the names of the figures of a trial's latency that its lag may explain."""
    return [name for name in CHECKED if latency.get(name) is not None and lag.get(name) is not None and _is_too_much(lag[name], latency[name])]


def checked(latency: Percentiles, lag: Percentiles) -> tuple[Percentiles, dict[str, str]]:
    """Return ``latency`` without the figures that ``lag`` may explain, and why each of them is withheld."""
    why = {}
    for name in CHECKED:
        own, behind = getattr(latency, name), getattr(lag, name)
        if own is not None and behind is not None and _is_too_much(behind.value, own.value):
            why[name] = f"the client's own lag there is {significant(behind.value / 1e3, 3)} us, more than a tenth of the latency"
    withheld: dict[str, Any] = dict.fromkeys(why, _WITHHELD)
    return dataclasses.replace(latency, **withheld), why


def _is_too_much(lag_ns: float, latency_ns: float) -> bool:
    return lag_ns > MOST * latency_ns
