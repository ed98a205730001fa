"""An analysed run of study ``end-to-end`` with made-up figures, for the tests of the report, the export and the text."""

from __future__ import annotations

import math
import random

from dpubench.analysis.model import Failure, Interval, Warning_
from dpubench.studies.end_to_end import convergence
from dpubench.studies.end_to_end.lag import checked
from dpubench.studies.end_to_end.model import (
    NULL_WORKLOAD,
    PLACES,
    SHARED_CPUS,
    SHORT_TRIALS,
    VIRTUAL_LINK,
    CeilingSummary,
    Floor,
    LoadKind,
    Percentiles,
    Placement,
    PointSummary,
    Required,
    RunSummary,
    StageCost,
)

#: workload -> (stage -> engine, ns per packet, further ns per byte of the frame)
_WORK: dict[str, tuple[dict[str, str], float, float]] = {
    "forward": ({}, 90, 0.02),
    "flow-table": ({"table": "dpdk-hash"}, 160, 0.02),
    "application-recognition": ({"scan": "hyperscan", "hash": "openssl", "compress": "isal"}, 700, 1.6),
}
_INTERVALS_NS = (250, 500, 1000, 2000, 5000)
_GOALS = {"NDR": 0.0, "PDR": 0.005}
_REQUIRED = {"NDR": Required(0.0, 0.0, 0.2, 0.5, 1.0, 0.02), "PDR": Required(0.005, 0.5, 0.2, 0.5, 1.0, 0.02)}
_FRAMES = (64, 512, 1518)


def _interval(value: float, share: float) -> Interval:
    return Interval(value, value / (1 + share), value * (1 + share))


def _percentiles(median_ns: float, share: float, tail: float = 1) -> Percentiles:
    """Return percentiles around a median; ``tail`` multiplies p99.9 and the maximum."""
    buckets = tuple((median_ns * 1.2**i, max(int(40_000 * math.exp(-abs(i) / 1.5)), 1)) for i in range(-4, 12))
    p50, p90, p99, p99_9, most = (_interval(median_ns * k, share) for k in (1, 1.6, 3.2, 7 * tail, 20 * tail))
    return Percentiles(p50, p90, p99, p99_9, most, _interval(median_ns * 1.15, share), buckets)


def _stages(engines: dict[str, str], cost_ns: float, packets: int) -> list[StageCost]:
    own = [StageCost(n, "", _interval(c, 0.04), packets, packets // 16) for n, c in (("parse", 12.0), ("transmit", 31.0))]
    shared = cost_ns / max(len(engines), 1)
    path = {"isa": "avx2", "detail": "scripted", "library": "none", "is_hardware": False}
    middle = [
        StageCost(name, engine, _interval(shared * (1 + 0.5 * i), 0.03), packets, packets // 16, path, 1e6, 1 << 20, "12 known answers")
        for i, (name, engine) in enumerate(engines.items())
    ]
    return [own[0], *middle, own[1]]


def _point(workload: str, frame: int, load: str, offered: float | None, placement: Placement, engine: str = "", seed: int = 0) -> PointSummary:
    chance = random.Random(f"{workload}/{frame}/{load}/{placement}/{engine}/{seed}")
    engines, base_ns, byte_ns = _WORK[workload]
    if engine:
        engines = {**engines, next(iter(engines)): engine}
    cost = (base_ns * (1.8 if engine == "portable" else 1) + byte_ns * frame) * (1.4 if placement == "split" else 1)
    limit_pps = 1e9 / cost
    kind: LoadKind = "NDR" if load == "NDR" else "PDR" if load == "PDR" else "rate"
    sent = offered if offered is not None else limit_pps * (0.97 if kind == "NDR" else 1.0)
    through = min(sent, limit_pps)
    loss = 1 - through / sent if kind != "PDR" else 0.004
    share = chance.uniform(0.01, 0.05)
    busy = min(1.0, through * cost / 1e9)
    rest = placement != "all-host"
    configuration = f"{workload}/{','.join(f'{s}={e}' for s, e in engines.items()) or '-'}/{placement}/memif/{frame}"
    labels = [VIRTUAL_LINK, SHORT_TRIALS] + ([SHARED_CPUS] if placement == "split" else [])
    limit = "server-limited" if loss > 0.005 else ""
    # At intervals of 500 ns the client stalls now and then.
    lag = _percentiles(150, share, tail=1000 if load == "interval 500 ns" else 1)
    latency, withheld = checked(_percentiles((4000 + 8 * cost) * (1 + 3 * busy), share), lag)
    lost = {"server_receive": 0.9 * loss, "server_transmit": 0.1 * loss}
    return PointSummary(
        f"{configuration}/{load}", configuration, workload, {"flows": "100000", "start": "prefilled"} if workload == "flow-table" else {}, engines,
        placement, "local", "local" if placement == "split" else "", "memif", "net_memif", True, 1, str(frame), frame,
        {"flows": "10000", "popularity": "zipf", "zipf_exponent": "1", "payload": "random", "signature_share": "0.1"},
        "interval" if load.startswith("interval") else "constant", load, kind, offered, _GOALS.get(kind), workload == NULL_WORKLOAD,
        rounds=6, trials=7 if kind == "rate" else 70, tried={"": 5, "server-limited": 1, "stall-limited": 1} if kind == "rate" else {"": 70},
        tried_again=int(kind == "rate"), counted=6 if kind == "rate" else 18, counted_s=3.0 if kind == "rate" else 9.0, due=int(sent * 3),
        lost=round(loss * int(sent * 3)), required=_REQUIRED.get(kind),
        trial_s=0.5, converged=share < 0.04, precision=share,
        throughput_pps=_interval(through, share), throughput_gbps=_interval(through * frame * 8 / 1e9, share),
        loss_ratio=Interval(loss, max(loss - 0.01, 0) if loss else 0, loss + (0.01 if loss else 0)),
        loss_by_place={place: Interval(lost.get(place, 0.0), lost.get(place, 0.0), lost.get(place, 0.0)) for place in PLACES},
        server_cpu_share=_interval(busy, 0.02), server_application_share=_interval(busy, 0.02),
        server_cpu_ns_per_packet=_interval(1e9 * busy / through, 0.02),
        inserted_share=Interval(0.0, 0.0, 0.0) if workload == "flow-table" else None, latency=latency, lag=lag, latency_withheld=withheld,
        latency_rounds=6, latency_packets=int(through * 3), latency_packets_least=int(through / 2),
        timestamp_source="client's clock, read once per burst",
        residence=_percentiles(1000 + 20 * cost, share),
        stages=_stages(engines, cost, int(through * 3)) if not rest or placement == "split" else [],
        reordered=chance.randrange(2), flows_checked=60_000,
        limits={"": 5, "server-limited": 1} if limit else {"": 6}, limit="server-limited" if limit else "", labels=labels,
        round_pps=[through * (1 + share * chance.gauss(0, 0.4)) for _ in range(6)], round_p50_ns=[4000.0 + 8 * cost] * 6,
        round_p99_ns=[12800.0 + 25 * cost] * 6,
    )  # fmt: skip


def example_run(name: str = "end-to-end-paper-example") -> RunSummary:
    """Return a run with two workloads beside the null one, three frame sizes, five intervals, NDR and PDR, and two placements.

    One point failed, one cannot run, one has only trials that the client limited, and one has a warning.
    """
    points = []
    for frame in _FRAMES:
        loads: list[tuple[str, float | None]] = [(f"interval {ns} ns", 1e9 / ns) for ns in _INTERVALS_NS]
        loads += [("NDR", None), ("PDR", None)]
        for load, offered in loads:
            for workload in _WORK:
                points.append(_point(workload, frame, load, offered, "all-host"))
            points.append(_point("flow-table", frame, load, offered, "all-host", "portable"))
            points.append(_point("application-recognition", frame, load, offered, "split"))
    floors = {(p.frame, p.load): p for p in points if p.is_null}
    for point in points:
        floor = floors[(point.frame, point.load)]
        if point is not floor:
            point.floor = Floor(floor.id, floor.throughput_pps, floor.latency, floor.residence, floor.server_cpu_share)
    _with_troubles(points)
    for point in points:
        point.not_converged = convergence.not_converged(point, 0.04)  # follows each point's own `converged`
    catalog = {
        n: {"name": n, "summary": f"scripted {n}", "definition": "every packet is sent back", "parameters": [], "inputs": [], "sources": [],
            "stages": [{"name": s, "summary": f"the {s}", "operator": "", "engines": []} for s in e]}
        for n, (e, _, _) in _WORK.items()
    }  # fmt: skip
    ports = {"memif": {"name": "memif", "summary": "shared memory of two processes", "arguments": [], "available": True, "reason": "", "remedy": "",
                       "is_virtual": True}}  # fmt: skip
    machine = {"host": "scripted", "cpu": "none", "cpus_online": 2, "kernel": "6.1", "os": "none", "architecture": "x86_64"}
    return RunSummary(
        name=name, path=f"results/{name}", study="end-to-end", plan="paper", summary="Figures 13 to 16 of DPUBench", status="complete",
        started="2026-01-02T03:04:05Z", finished="2026-01-02T03:34:05Z", command="dpubench run end-to-end --plan paper", version="0",
        precision_target=0.05, machine=machine, build_info={"compiler": "none", "flags": "", "revision": "", "type": "scripted"},
        inputs={"rules": {"name": "selective", "sha256": "00" * 32}}, workloads=catalog, ports=ports, points=points,
        warnings=[Warning_("few-rounds", "4 of at least 6 rounds", points[3].id)],
        failures=[Failure("trial", points[-1].failure, points[-1].id, points[-1].configuration)],
        left_out=["hardware ports: none was at hand"], labels=[VIRTUAL_LINK, SHORT_TRIALS], rounds=6, trials=6 * len(points),
        ceilings=[CeilingSummary("memif", "64", 1, "all-host", "interval", 5e6, 4.1e6, 4.5e6, 5.625e6, 0.25, 3, 20, 8.4, 0)],
        tried={"": 5 * len(points), "stall-limited": len(points) - 1, "client-limited": 1}, tried_again=len(points),
    )  # fmt: skip


def _with_troubles(points: list[PointSummary]) -> None:
    """Change the last points so that they tell nothing about the server."""
    failed, missing, client = points[-1], points[-2], points[-3]
    failed.failure = "trial: the server was killed by SIGKILL"
    missing.unavailable = "xdp: needs root"
    client.limits, client.limit = {"client-limited": 6}, "client-limited"
    for point in (failed, missing, client):
        point.throughput_pps = point.throughput_gbps = point.loss_ratio = point.server_cpu_share = point.latency = point.residence = None
        point.server_application_share = point.server_cpu_ns_per_packet = point.inserted_share = None
        point.loss_by_place, point.stages, point.round_pps, point.floor = {}, [], [], None
        point.lag, point.latency_withheld, point.latency_packets, point.latency_packets_least = None, {}, 0, 0
        point.rounds, point.converged, point.precision = 0, False, math.nan
        point.due = point.lost = point.counted = 0
    points[3].warnings.append(Warning_("few-rounds", "4 of at least 6 rounds", points[3].id))
