"""Runs of study ``end-to-end`` with everything that a page must cope with, made from the example."""

from __future__ import annotations

from dataclasses import replace

from dpubench.analysis.model import Interval
from dpubench.studies.end_to_end.model import SHORT_TRIALS, VIRTUAL_LINK, PointSummary, RunSummary
from end_to_end_fixtures import example_run

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</style>\u2028]]>"


def find(run: RunSummary, workload: str, frame: str, load: str, engine: str = "", placement: str = "all-host", virtual: bool = True) -> PointSummary:
    """Return the only point that matches."""
    (point,) = [
        p
        for p in run.points
        if (p.workload, p.frame, p.load, p.placement, p.is_virtual) == (workload, frame, load, placement, virtual)
        and (not engine or engine in p.engines.values())
    ]
    return point


def limited_run() -> RunSummary:
    """Return a run with points that have figures although the client or stalls limited them, CPU withheld, latency not measured."""
    run = example_run()
    client = find(run, "flow-table", "64", "interval 250 ns", "portable")
    client.limit, client.limits = "client-limited", {"": 1, "client-limited": 5}
    stalled = find(run, "flow-table", "64", "interval 500 ns", "dpdk-hash")
    stalled.limit, stalled.limits, stalled.loss_ratio = "stall-limited", {"": 2, "stall-limited": 4}, Interval(0.02, 0.01, 0.03)
    stalled.loss_by_place = {**stalled.loss_by_place, "server_receive": Interval(0.02, 0.01, 0.03)}
    search = find(run, "flow-table", "512", "NDR", "dpdk-hash")
    search.limit, search.limits = "client-limited", {"": 1, "client-limited": 6}
    for point in run.points:
        if point.frame == "512":
            point.server_cpu_share = point.server_application_share = point.server_cpu_ns_per_packet = None
            point.server_cpu_withheld = "the kernel's receive work runs on another CPU"
    find(run, "flow-table", "64", "interval 1000 ns", "dpdk-hash").latency = None
    return run


def mixed_run() -> RunSummary:
    """Return a run with software links and a hardware line, two software ports, a mix of frame sizes, a flood, and a capture's own times."""
    run = example_run("mixed")
    line = [
        replace(p, id=f"line/{p.id}", configuration=f"line/{p.configuration}", port="pci", port_driver="mlx5_pci", is_virtual=False,
                labels=[SHORT_TRIALS], floor=replace(p.floor, point=f"line/{p.floor.point}") if p.floor else None)
        for p in run.points if p.placement == "all-host" and p.frame != "512"
    ]  # fmt: skip
    vhost = [
        replace(p, id=f"vhost/{p.id}", configuration=f"vhost/{p.configuration}", port="vhost", port_driver="net_vhost",
                floor=replace(p.floor, point=f"vhost/{p.floor.point}") if p.floor else None)
        for p in run.points if p.workload in {"flow-table", "forward"} and "portable" not in p.engines.values()
    ]  # fmt: skip
    mix = [
        replace(p, id=f"imix/{p.id}", frame="imix", frame_bytes=353.8, floor=replace(p.floor, point=f"imix/{p.floor.point}") if p.floor else None)
        for p in run.points if p.workload in {"flow-table", "forward"} and p.frame == "512"
    ]  # fmt: skip
    flood = find(run, "flow-table", "64", "interval 250 ns", "dpdk-hash")
    more = [
        replace(flood, id="flood", load="flood", load_kind="flood", schedule="flood", offered_pps=None, latency=None),
        replace(flood, id="recorded", load="recorded", load_kind="recorded", schedule="recorded", offered_pps=None),
    ]
    run.points += line + vhost + mix + more
    run.labels = [SHORT_TRIALS]
    run.ports["pci"] = {"name": "pci", "summary": "a device by its address", "is_virtual": False}
    return run


def rates_only() -> RunSummary:
    """Return a run of a plan without a search: one frame size, one variant and the null workload."""
    run = example_run("rates")
    keep = [p for p in run.points if p.frame == "64" and p.load_kind == "rate" and (p.is_null or "dpdk-hash" in p.engines.values())]
    return replace(run, points=keep, warnings=[], failures=[])


def null_only() -> RunSummary:
    run = example_run("null")
    return replace(run, points=[p for p in run.points if p.is_null], warnings=[], failures=[])


def evil_run() -> RunSummary:
    """Return a run in which every text tries to become markup."""
    run = example_run()
    run.name = run.path = run.command = run.version = run.plan = run.study = run.spec = run.label = EVIL
    run.machine, run.build_info = {"cpu": EVIL, EVIL: EVIL}, {"revision": EVIL, EVIL: EVIL}
    run.inputs, run.left_out, run.labels = {EVIL: {"name": EVIL, "sha256": EVIL}}, [EVIL], [VIRTUAL_LINK, EVIL]
    for entry in (*run.workloads.values(), *run.ports.values()):
        entry["summary"] = EVIL
    for p in run.points:
        p.params, p.traffic = {EVIL: EVIL}, {EVIL: EVIL}
        p.engines = {stage + EVIL: engine + EVIL for stage, engine in p.engines.items()}
        p.port = p.port_driver = p.timestamp_source = EVIL
        p.labels = [VIRTUAL_LINK, EVIL]
        p.failure, p.unavailable, p.server_cpu_withheld = p.failure and EVIL, p.unavailable and EVIL, EVIL
        p.stages = [replace(s, name=s.name + EVIL, engine=EVIL, path={"isa": EVIL}, verified=EVIL) for s in p.stages]
        p.warnings = [replace(w, message=EVIL) for w in p.warnings]
    run.failures = [replace(f, message=EVIL, point=EVIL) for f in run.failures]
    return run
