"""Tests of study ``end-to-end`` with the native programs of this build: real packets between two processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dpubench import network, schemas
from dpubench.studies.end_to_end import trials
from dpubench.studies.end_to_end.summary import summaries
from kernel_programs import attached_in, held_by, loaded, xdp_reason
from real_program import BUILD, RealBench

pytestmark = [
    pytest.mark.skipif(not (BUILD / "dpubench-traffic").is_file(), reason="the programs of the datapath are not built: DPDK is not here"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a client and a server need a CPU each"),
]

PLAN = """study: end-to-end
frame_sizes: [64B, 1518B]
rates: [20kpps]
traffic: {flows: 100, payload: {source: random, signature_share: 20%}}
trial: {ramp: 20ms, duration: 100ms, drain: 100ms}
search: {goals: []}
calibration: {processes: 0}
rounds: {min: 1, max: 1}
budget: 300s
"""


def test_every_trial_of_both_workloads_is_accounted_for(real: RealBench) -> None:
    (real.folder / "plan.yaml").write_text(PLAN)
    done = real("run", "plan.yaml", "--name", "r", timeout=300)
    # On a busy machine the client may limit every trial. Then nothing is known of the server, but the accounts must still agree.
    assert done.returncode in (0, 4), (done.stdout, done.stderr)
    rows = trials.read(real.results / "r")
    assert {r["configuration"].split("/")[0] for r in rows} == {"forward", "flow-table", "application-recognition"}
    assert {r["configuration"].split("/memif/")[1] for r in rows} == {"64/c1", "1518/c1"}
    for row in rows:
        located = sum(row[f"lost_{place}"] for place in ("client_transmit", "server_receive", "server_drop", "server_transmit", "client_receive"))
        assert row["due"] == row["received"] + located and row["due"] > 0
        assert (row["wrong"], row["corrupted"], row["duplicates"], row["foreign"]) == (0, 0, 0, 0)
        assert row["flows_wrong"] == 0
        assert sum(b["packets"] for b in (row["latency_ns"] or {"buckets": []})["buckets"]) == row["received"]
    run = summaries(real.results / "r")[0]
    assert not schemas.fault("run", real.record("r"))
    assert run.failures == [] and all("virtual link" in p.labels for p in run.points)
    measured = [p for p in run.points if p.throughput_pps is not None]
    assert all(p.residence is not None and p.stages for p in measured)
    # On a busy machine a loop may lack its CPU for most of a trial. Then its CPU time is unknown, and the reason says so.
    assert all(p.server_cpu_share is not None or "other work kept them from their CPU" in p.server_cpu_withheld for p in measured)
    assert all(0 <= p.server_cpu_share.value <= 1 and p.server_receive_work_share is None for p in measured if p.server_cpu_share)
    _knows_its_flows(rows)
    assert real.left_on_the_machine() == []


def _knows_its_flows(rows: list[dict[str, Any]]) -> None:
    """Check that the flow table knew every flow of the traffic before each trial, so that none entered."""
    tables = [r for r in rows if r["configuration"].startswith("flow-table")]
    for row in tables:
        assert row["prefill"]["known"] == row["prefill"]["flows"] > 0
        assert row["flow_table"] is None or (row["flow_table"]["inserted"], row["flow_table"]["flows"]) == (0, row["prefill"]["flows"])
    assert tables


@pytest.mark.parametrize("program", ["dpubench-server", "dpubench-traffic"])
def test_a_killed_program_fails_its_point_and_the_rest_goes_on(real: RealBench, program: str) -> None:
    (real.folder / "plan.yaml").write_text(PLAN + "silence: 20s\n")
    process = real.start("run", "plan.yaml", "--name", "r", "--set", "frame_sizes=64B", "--set", "trial.duration=2s", "--set", "workloads=flow-table")
    victim = _wait_for(process.pid, program)
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=240)
    # On a busy machine the client may limit all trials of the fresh programs.
    assert process.returncode in (1, 4), (out, err)
    record = real.record("r")
    assert not schemas.fault("run", record)
    assert len(record["failures"]) == 1 and "SIGKILL" in record["failures"][0]["message"], record["failures"]
    assert len({r["configuration"] for r in trials.read(real.results / "r")}) == 1
    assert real.left_on_the_machine() == []


@pytest.mark.skipif(xdp_reason() != "", reason=xdp_reason())
def test_the_null_workload_is_the_floor_where_the_driver_answers(real: RealBench) -> None:
    (real.folder / "plan.yaml").write_text(PLAN.replace(", 1518B", "") + "workloads: [flow-table]\nports: [xdp]\n")
    done = real("run", "plan.yaml", "--name", "r", timeout=120)
    assert done.returncode in (0, 4), (done.stdout, done.stderr)
    rows = trials.read(real.results / "r")
    assert {r["configuration"].split("/")[0] for r in rows} == {"forward", "flow-table"}
    for row in rows:
        assert row["received"] > 0 and row["servers"][0]["received"] == 0
        assert (row["wrong"], row["corrupted"], row["duplicates"], row["foreign"]) == (0, 0, 0, 0)
    run = summaries(real.results / "r")[0]
    assert run.failures == [] and {tuple(p.engines.values()) for p in run.points} == {("xdp",)}
    _knows_its_flows(rows)
    for row in (r for r in rows if not r["cpu_withheld"]):
        # The program's work is receive work of the kernel, not of a loop.
        assert row["server_cpu"]["is_in_kernel"] and row["server_cpu"]["receive_work_ns"] > 0 and row["server_cpu"]["packets"] == 0
        assert row["server_cpu"]["receive_work_ns"] <= row["server_cpu"]["core_ns"]
    null, table = sorted(run.points, key=lambda p: not p.is_null)
    assert null.throughput_pps is None or table.floor is not None
    assert real.left_on_the_machine() == []


@pytest.mark.skipif(network.unavailable() != "", reason=network.unavailable())
@pytest.mark.parametrize(("port", "number"), [("xdp", signal.SIGINT), ("xdp", signal.SIGKILL), ("af_xdp", signal.SIGHUP)])
def test_a_run_over_veth_that_is_ended_leaves_nothing(real: RealBench, port: str, number: signal.Signals) -> None:
    """Namespaces, interfaces, BPF programs, sockets and processes are gone; after SIGKILL the next run removes them."""
    engine = "xdp" if port == "xdp" else "portable"
    plan = PLAN + f"workloads: [flow-table]\nports: [{port}]\nengines: [{engine}]\nsilence: 20s\n"
    (real.folder / "plan.yaml").write_text(plan.replace("duration: 100ms", "duration: 10s").replace(", 1518B", ""))
    process = real.start("run", "plan.yaml", "--name", "r", prefix=("env", "--default-signal=HUP"))  # the tests' own parent may ignore SIGHUP
    programs = {_wait_for(process.pid, name) for name in ("dpubench-server", "dpubench-traffic")}
    namespaces = [place.name for place in Path("/run/netns").glob(f"dpubench-{process.pid}-*")]
    in_kernel = set().union(*map(attached_in, namespaces), *map(held_by, programs))
    assert len(namespaces) == 2 and loaded(in_kernel) == in_kernel != set()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == (-number if number == signal.SIGKILL else 130), (out, err)
    if number == signal.SIGKILL:
        _await(lambda: not any(Path(f"/proc/{pid}").exists() for pid in programs))  # the programs notice that nobody talks to them
        real.left_on_the_machine()  # as the next run does; other runs may have done it before
    assert real.left_on_the_machine() == [] and not any((Path("/run/netns") / name).exists() for name in namespaces)
    assert not any(Path(f"/proc/{pid}").exists() for pid in programs)
    _await(lambda: not loaded(in_kernel))  # the kernel removes an interface's program after its last packet
    assert real.record("r")["status"] == ("running" if number == signal.SIGKILL else "interrupted")


def _await(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def _wait_for(parent: int, program: str) -> int:
    """Wait until a child of ``parent`` is ``program`` and in a trial; return its process number."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and program.encode() in (entry / "cmdline").read_bytes().split(b"\0")[0]:
                    fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                    if int(fields[1]) == parent and _others_are_there(parent):
                        time.sleep(1.0)
                        return int(entry.name)
            except OSError:
                continue
        time.sleep(0.05)
    raise AssertionError(f"{program} was not started")


def _others_are_there(parent: int) -> bool:
    """Return whether both programs of ``parent`` are at work."""
    found = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"dpubench-" in (entry / "cmdline").read_bytes().split(b"\0")[0]:
                found += int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1]) == parent
        except OSError:
            continue
    return found >= 2


def test_a_peer_that_never_comes_is_told(real: RealBench) -> None:
    """The client's server does not exist, so the link is up on one side only."""
    job = {
        "schema": "dpubench.traffic-job/1", "port": {"kind": "memif", "role": "client", "arguments": {"socket": str(real.folder / "nobody")}},
        "cpu": 0, "traffic": {"flows": 10, "frame_sizes": [[64, 1]]}, "workload": {"name": "forward"},
    }  # fmt: skip
    trial = {"trial": {"number": 1, "rate_pps": 1000, "duration_s": 0.1}}
    done = subprocess.run(
        [BUILD / "dpubench-traffic"], input=json.dumps(job) + "\n" + json.dumps(trial) + "\n", capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 4
    failures = [e for e in map(json.loads, done.stdout.splitlines()) if e["event"] == "failure"]
    assert len(failures) == 1 and "waited 10 s: start the server's side first" in failures[0]["message"], failures
