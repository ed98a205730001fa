"""Pools the trials at one rate: adds counts and times, merges histograms.

A figure of several trials covers all their packets; it is never the figure of the best trial. Values that cannot be added (the place of a gap on a
trial's own time line, a percentile without its histogram) are left out. Each column is pooled by the kind of its values, so that a new count, time or
histogram in :func:`dpubench.studies.end_to_end.trials.schema` needs no change here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

Row = dict[str, Any]

#: Columns that name the trial, or that all trials at a rate share. The pool keeps the values of the first trial.
_SHARED: Final = frozenset({"event", "configuration", "load", "round", "attempt", "rate_pps", "loss_goal", "lower_pps", "upper_pps", "name"})
#: Columns that hold a maximum. The pool keeps the largest value.
_LARGEST: Final = frozenset({"lag_max_ns"})
#: Columns that make sense for a single trial only, since they cannot be added. The pool leaves them empty.
_OF_ONE_TRIAL: Final = frozenset({"lag_p50_ns", "lag_p99_ns", "lag_p99_9_ns", "gaps", "losses"})
#: Percentiles of a histogram, as ``dpubench::measure::Histogram`` gives them.
_RANKS: Final = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9}


def pooled(rows: Sequence[Row]) -> Row:
    """Return one row for all ``rows``, which are trials of one configuration at one rate. A single row is returned as it is."""
    return rows[0] if len(rows) == 1 else _together(rows)


def _together(rows: Sequence[Mapping[str, Any]]) -> Row:
    return {name: _column(name, [row.get(name) for row in rows]) for name in dict.fromkeys(name for row in rows for name in row)}


def _column(name: str, values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    if not known or name in _OF_ONE_TRIAL:
        return None
    if name in _SHARED:
        return values[0]
    if isinstance(known[0], str):
        return next((value for value in known if value), "")
    if isinstance(known[0], Mapping):
        return merged(known) if "p50" in known[0] else _together(known)
    if isinstance(known[0], (list, tuple)):
        return _list(known)
    if name in _LARGEST:
        return max(known)
    if isinstance(known[0], bool):
        return all(known)
    # If one of the trials lacks a count, the sum is not known.
    return sum(known) if len(known) == len(values) else None


def _list(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the lists as one: servers are pooled by their place on the way, stages by name, pairs (reason, packets) by reason."""
    entries = [entry for found in lists for entry in found]
    if not entries:
        return []
    if isinstance(entries[0], tuple):
        totals: Counter[Any] = Counter()
        for key, number in entries:
            totals[key] += number
        return list(totals.items())
    if "name" in entries[0]:
        names = dict.fromkeys(entry["name"] for entry in entries)
        return [_together([entry for entry in entries if entry["name"] == name]) for name in names]
    return [_together(parts) for parts in zip(*lists, strict=True)]


def merged(histograms: Sequence[Mapping[str, Any] | None]) -> Row | None:
    """Return the histogram of all packets of ``histograms``, with percentiles by nearest rank.

    Return None if all are empty, or if one of several filled ones kept no buckets.
    """
    filled = [h for h in histograms if h is not None and h.get("p50") is not None]
    if len(filled) <= 1:
        return dict(filled[0]) if filled else None
    if not all(h.get("buckets") for h in filled):
        return None
    counts: Counter[float] = Counter()
    for histogram in filled:
        for bucket in histogram["buckets"]:
            counts[bucket["ns"]] += bucket["packets"]
    ordered = sorted(counts.items())
    total = sum(counts.values())
    row: Row = {name: _at_rank(ordered, math.ceil(percent / 100 * total)) for name, percent in _RANKS.items()}
    row["max"] = max(h["max"] for h in filled)
    weights = [sum(bucket["packets"] for bucket in h["buckets"]) for h in filled]
    row["mean"] = None
    if all(h.get("mean") is not None for h in filled):
        row["mean"] = sum(h["mean"] * weight for h, weight in zip(filled, weights, strict=True)) / total
    return row | {"buckets": [{"ns": ns, "packets": packets} for ns, packets in ordered]}


def _at_rank(ordered: Sequence[tuple[float, int]], rank: int) -> float:
    """Return the least time that at least ``rank`` packets do not exceed."""
    seen = 0
    for ns, packets in ordered:
        seen += packets
        if seen >= rank:
            return ns
    return ordered[-1][0]
