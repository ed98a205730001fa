"""Which figures of a point are known as precisely as the plan asks: each is judged by itself.

The plan's precision decides when a run stops, by the throughput alone: a latency's tail would never end one. What else is shown has an interval of
its own, and is held against the same precision here, so that a percentile that two rounds disagree about is not taken for one that is known because
the throughput beside it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpubench.results import statistics
from dpubench.results.model import Interval
from dpubench.studies.end_to_end.model import Percentiles, PointSummary

PERCENTILES = ("p50", "p90", "p99", "p99_9", "max", "mean")


def not_converged(point: PointSummary, target: float) -> list[str]:
    """Names of the figures of ``point`` whose interval is wider than ``target``, or that too few rounds stand behind.

    Names are those of the fields, as ``latency.p99_9`` or ``stage lookup``.
    """
    return [
        name
        for name, interval, rounds in _figures(point)
        # What is withheld is no figure that could be known.
        if interval is not None
        and not math.isnan(interval.value)
        and not (rounds >= statistics.MINIMUM_ROUNDS and statistics.is_known(interval, target))
    ]


def _figures(point: PointSummary) -> Iterator[tuple[str, Interval | None, int]]:
    """(name, interval, rounds behind it) of everything that has an interval."""
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
