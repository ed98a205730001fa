"""Scripted grids of the paper's configurations, and the claims of study ``cores`` judged on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cores_fixtures import PAPER, plan_of, point
from dpubench.simulation import models
from dpubench.studies.cores import claims
from dpubench.studies.cores.model import CacheUse, Claim, PointSummary
from dpubench.studies.cores.plan import Plan

CLOCKS = (100.0, 200.0, 300.0, 400.0, 500.0)
STEPS = range(1, 8)
PLAN = plan_of(PAPER)

#: Shares of the kinds of instructions, by kernel.
KINDS = {"lookup": {"integer": 0.69, "load": 0.19, "branch": 0.12}, "md5": {"integer": 0.9, "load": 0.09, "branch": 0.01}}

Rate = Callable[[str, str, int, float], float]


def paper_rate(kernel: str, organisation: str, step: int, clock_mhz: float) -> float:
    """Return the messages per second of a processor that does what the paper claims."""
    cycles = {"lookup": 67.0, "md5": 18_500.0}[kernel]
    if organisation == "smt":
        return step * clock_mhz * 1e6 / cycles
    useful = min(step, {"lookup": 6, "md5": 3}[kernel])
    more = 1.02 if organisation == "fgmt" and kernel == "lookup" else 1.0
    return more * clock_mhz * 1e6 / cycles * (1 + (0.2 if kernel == "lookup" else 0.1) * (useful - 1))


def paper_ipc(kernel: str) -> float:
    return {"lookup": 5.6, "md5": 2.0}[kernel]


def grid(rate: Rate = paper_rate, ipc: Callable[[str], float] = paper_ipc, **more: str) -> list[PointSummary]:
    """Return points of every configuration of the paper, and of 32 KiB caches with few misses at three associativities."""
    points = [
        point(kernel, organisation, step, clock, rate(kernel, organisation, step, clock), ipc=ipc(kernel), kinds=KINDS[kernel], **more)
        for kernel in ("lookup", "md5") for organisation in ("superscalar", "fgmt", "smt") for step in STEPS for clock in CLOCKS
    ]  # fmt: skip
    return points + caches(0.004)


def caches(misses: float, size_bytes: int = 32 << 10, md5_misses: float | None = None) -> list[PointSummary]:
    found = []
    for kernel, share in (("lookup", misses), ("md5", misses if md5_misses is None else md5_misses)):
        for ways in (1, 2, 4):
            settings = {"first_caches/size_bytes": f"{size_bytes >> 10}KiB", "first_caches/ways": ways}
            made = point(kernel, "superscalar", 1, 500.0, 1e6, variant=f"caches {ways}", settings=settings)
            made.instruction_cache, made.data_cache, made.instructions = "l1i", "l1d", 40_000
            made.caches = [CacheUse("l1i", size_bytes, ways, 10_000, 1), CacheUse("l1d", size_bytes, ways, 10_000, round(10_000 * share))]
            found.append(made)
    return found


PROCESSOR = models.load("alpha21264-1999").processor


def judged(points: Iterable[PointSummary], plan: Plan = PLAN, processor: Mapping[str, Any] = PROCESSOR) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims.evaluate(list(points), plan, processor)}


def only(points: Iterable[PointSummary], keep: Callable[[PointSummary], bool]) -> list[PointSummary]:
    return [p for p in points if keep(p)]


def changed(rate: Rate) -> dict[str, Claim]:
    return judged(grid(rate))


def gaining_to(lookup: int, md5: int) -> Rate:
    """Return rates that gain with so many unit sets in all, by kernel, and with no further ones."""

    def rate(kernel: str, organisation: str, step: int, clock: float) -> float:
        return clock * 1e3 * (1 + 0.1 * (min(step, {"lookup": lookup, "md5": md5}[kernel]) - 1))

    return rate
