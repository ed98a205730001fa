"""Finds the figures of a point that are not as precise as the plan asks. Each figure is judged by itself.

The plan's precision decides when a run stops, by the throughput alone: the tail of a latency would never let a run end. Every other figure has an
interval of its own, which this module holds against the same precision. Otherwise a percentile on which two rounds disagree would count as known
because the throughput beside it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.studies.end_to_end.model import Percentiles, PointSummary

PERCENTILES = ("p50", "p90", "p99", "p99_9", "max", "mean")


def not_converged(point: PointSummary, target: float) -> list[str]:
    """Return the names of the figures of ``point`` whose interval is wider than ``target``, or that rest on too few rounds.

    The names are those of the fields, such as ``latency.p99_9`` or ``stage lookup``.
    """
    return [
        name
        for name, interval, rounds in _figures(point)
        # A withheld figure is nan and cannot be known at all.
        if interval is not None
        and not math.isnan(interval.value)
        and not (rounds >= statistics.MINIMUM_ROUNDS and statistics.is_known(interval, target))
    ]


def _figures(point: PointSummary) -> Iterator[tuple[str, Interval | None, int]]:
    """Yield (name, interval, rounds behind it) for every figure that has an interval."""
    for name in (
        "throughput_pps", "throughput_gbps", "loss_ratio", "server_cpu_share", "server_application_share", "server_receive_work_share",
        "server_cpu_ns_per_packet", "inserted_share",
    ):  # fmt: skip
        yield name, getattr(point, name), point.rounds
    for name, times in (("latency", point.latency), ("residence", point.residence)):
        yield from _percentiles(name, times, point.latency_rounds if name == "latency" else point.rounds)
    for stage in point.stages:
        yield f"stage {stage.name}", stage.ns_per_packet, point.rounds


def _percentiles(of: str, times: Percentiles | None, rounds: int) -> Iterator[tuple[str, Interval | None, int]]:
    for name in PERCENTILES:
        yield f"{of}.{name}", None if times is None else getattr(times, name), rounds
