"""How points of study ``end-to-end`` are worded, on the terminal and in the report alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from dpubench.results.digits import percent
from dpubench.results.model import Interval
from dpubench.studies.end_to_end.model import PLACES, SHARED_CPUS, PointSummary

PLACE_WORDS: Final = {
    "client_transmit": "client transmit",
    "server_receive": "server receive",
    "server_drop": "server drop",
    "server_transmit": "server transmit",
    "client_receive": "client receive",
}
#: Limits that say nothing of the server: the client missed its schedule, or the scheduler took a CPU away.
NOT_THE_SERVER: Final = ("client-limited", "stall-limited")


def assignments(values: dict[str, str], between: str = ",") -> str:
    """``a=1,b=2``, by name."""
    return between.join(f"{k}={v}" for k, v in sorted(values.items()))


def engines_text(point: PointSummary) -> str:
    """The engine of each stage, in the stages' order; of a single stage the engine alone."""
    if len(point.engines) == 1:
        return next(iter(point.engines.values()))
    return ", ".join(f"{stage} {engine}" for stage, engine in point.engines.items())


def placement_text(point: PointSummary) -> str:
    """Where the stages ran: the targets are named where they are not this machine."""
    if point.placement == "split":
        where = f"{point.server_target} + {point.device_target}"
        return "split" if where == "local + local" else f"split {where}"
    return point.placement if point.server_target == "local" else f"{point.placement} on {point.server_target}"


def frame_text(point: PointSummary) -> str:
    """Frame size with FCS."""
    if point.frame.isdigit():
        return f"{point.frame} B"
    return f"{point.frame.upper()} (mean {point.frame_bytes:.4g} B)"


def says_of_the_server(point: PointSummary) -> bool:
    """Whether the point's figures are a statement on the server at all."""
    return point.limit not in NOT_THE_SERVER


def proves_correctness_only(point: PointSummary) -> bool:
    """Whether the point's times mean nothing: parts of a split that share CPUs."""
    return SHARED_CPUS in point.labels


def limit_text(point: PointSummary) -> str:
    """What limited how many of the rounds; empty where nothing did."""
    if not point.limit:
        return ""
    return f"{point.limit} ({point.limits.get(point.limit, 0)} of {sum(point.limits.values())} rounds)"


def why_empty(point: PointSummary) -> str:
    """Why a point has no throughput; empty where it has one."""
    if point.throughput_pps is not None and math.isfinite(point.throughput_pps.value):
        return ""
    if point.failure:
        return f"failed: {point.failure}"
    if point.unavailable:
        return f"cannot run here: {point.unavailable}"
    if point.limit in NOT_THE_SERVER:
        return f"{limit_text(point)}: no statement on the server"
    return "no valid trial" if point.trials else "not measured: the run ended before its turn"


def why_no_statement(point: PointSummary) -> str:
    """Why a point's figures are no statement on the server; empty where they are one."""
    if why := why_empty(point):
        return why
    if not says_of_the_server(point):
        return f"{limit_text(point)}: no statement on the server"
    return f"{point.placement} on too few CPUs: proves correctness only" if proves_correctness_only(point) else ""


def remarks(point: PointSummary) -> list[str]:
    """What weakens a point that was measured."""
    looked_for = point.load_kind in {"NDR", "PDR"} and point.limit == "server-limited"  # what the search was for
    said = [limit_text(point) + ("" if says_of_the_server(point) else ": not the server's limit")] if point.limit and not looked_for else []
    told = ((point.duplicates, "duplicated"), (point.reordered, "reordered"), (point.corrupted, "corrupted"), (point.wrong, "wrong"))
    said += [f"{number:,} {word}" for number, word in told if number]
    return said + sorted({w.code for w in point.warnings})


def tables(points: Iterable[PointSummary]) -> list[str]:
    """For each way in which a trial's flow table began: which share of the packets entered a flow, over all points."""
    told = []
    by_start: dict[str, list[PointSummary]] = {}
    for point in points:
        if "start" in point.params and not why_empty(point):
            by_start.setdefault(point.params["start"], []).append(point)
    for start, found in by_start.items():
        shares = [p.inserted_share.value for p in found if p.inserted_share is not None]
        begins = "the flows of the traffic were in the table" if start == "prefilled" else "the table was empty"
        if not shares:
            told.append(f"start={start}: {begins} before each trial; the share of inserts is not known, for the run was made before it was told.")
            continue
        low, high = percent(min(shares), 2), percent(max(shares), 2)
        told.append(f"start={start}: {begins} before each trial; {low if low == high else f'{low} to {high}'} of the packets entered a flow.")
    return told


def cpu_parts(point: PointSummary) -> list[str]:
    """What the server's CPU time consists of, where the kernel has a part of it."""
    kernel, application = point.server_receive_work_share, point.server_application_share
    if kernel is None or point.server_cpu_share is None:
        return []
    if application is None:
        return ["the CPU time is the kernel's receive work, with the eBPF program in it"]
    return [f"CPU: application {100 * application.value:.1f} %, kernel's receive work {100 * kernel.value:.1f} %"]


def weakness(point: PointSummary, few_rounds: int) -> str:
    """Why the interval of a point is not what was asked for; empty if it is."""
    said = []
    if not point.converged:
        said.append(f"not converged (±{100 * point.precision:.1f} %)" if math.isfinite(point.precision) else "not converged")
    if point.rounds < few_rounds:
        said.append(f"only {point.rounds} round{'' if point.rounds == 1 else 's'}")
    return ", ".join(said)


def located_loss(point: PointSummary) -> list[tuple[str, Interval]]:
    """(place, share of what was due) in the order of a packet's way, of all places where it is known; nothing where it is not."""
    return [(place, point.loss_by_place[place]) for place in PLACES if place in point.loss_by_place]


def main_place(point: PointSummary) -> str:
    """Where most was lost, in words; empty without loss."""
    found = [(interval.value, place) for place, interval in located_loss(point) if interval.value > 0]
    return PLACE_WORDS[max(found)[1]] if found else ""


def common(values: Iterable[dict[str, str]]) -> dict[str, str]:
    """What all of ``values`` agree on."""
    found = list(values)
    return {k: v for k, v in found[0].items() if all(other.get(k) == v for other in found)} if found else {}
