"""Tests of the server's CPU time in a trial's measured part, and of its flow table before: scripted programs, rules on recorded data."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import Bench
from dpubench import schemas
from dpubench.studies.end_to_end import server_cpu, trials
from dpubench.studies.end_to_end.export import record
from dpubench.studies.end_to_end.model import PointSummary
from dpubench.studies.end_to_end.session import knows as table_knows
from dpubench.studies.end_to_end.summary import summaries

PLAN = """study: end-to-end
workloads: [flow-table]
frame_sizes: [64B]
rates: [100kpps]
trial: {ramp: 10ms, duration: 20ms, drain: 10ms}
search: {goals: []}
rounds: {min: 2, max: 2}
budget: 60s
"""
Start = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(bench: Bench) -> Start:
    """Return a function that runs the plan above as run ``r``, with options."""
    (bench.folder / "plan.yaml").write_text(PLAN)

    def start(*options: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = bench("run", "plan.yaml", "--name", "r", *options)
        assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
        assert not schemas.fault("run", bench.record("r"))
        return done

    return start


def points(bench: Bench) -> list[PointSummary]:
    return [p for p in summaries(bench.results / "r")[0].points if p.workload == "flow-table"]


def steps(bench: Bench) -> list[str]:
    """Return the commands that flow-table's programs got."""
    lines = (bench.folder / "log").read_text().splitlines()
    told = [line.split() for line in lines if line.split()[1] == "flow-table" and " job " not in line]
    return [" ".join([words[2], *words[4:]]) if words[2] == "begin" else words[2] for words in told]


# --------------------------------------------------------------------------- CPU


def test_the_cpu_time_is_that_of_the_measured_part(bench: Bench, run: Start) -> None:
    """The scripted server is busy for 40 of the 100 ms between begin and collect, and for half of the measured 20 ms."""
    shown = run().stdout
    (point,) = points(bench)
    assert point.server_cpu_share is not None and point.server_cpu_share.value == pytest.approx(0.5)
    assert point.server_application_share is not None and point.server_application_share.value == pytest.approx(0.5)
    assert point.server_receive_work_share is None, "memif's loops receive themselves"
    assert point.server_cpu_ns_per_packet is not None and point.server_cpu_ns_per_packet.value == pytest.approx(10e6 / 800)
    assert "50 %" in shown
    row = trials.read(bench.results / "r")[0]
    assert row["server_cpu"] == {
        "cores": 1, "core_ns": 20_000_000, "application_ns": 10_000_000, "receive_work_ns": None, "packets": 800, "is_in_kernel": False,
    }  # fmt: skip
    asked = bench("query", "SELECT server_cpu.application_ns AS busy FROM trials WHERE event = 'trial'", "--json")
    assert asked.returncode == 0 and {r["busy"] for r in json.loads(asked.stdout)} == {10_000_000}, asked.stdout + asked.stderr
    _is_of_before(bench)


def served(core_ms: float = 100, application_ms: float = 60, kernel_ms: float | None = None, packets: int = 1000, **more: Any) -> dict[str, Any]:
    part = {"cores": 1, "from_ns": 1, "core_ns": round(core_ms * 1e6), "application_ns": round(application_ms * 1e6), "packets": packets}
    part["idle_ns"] = part["core_ns"] - part["application_ns"] - round((kernel_ms or 0) * 1e6)
    return {"measured": part | ({"receive_work_ns": round(kernel_ms * 1e6)} if kernel_ms is not None else {}), **more}


MEMIF = {"kind": "memif", "kernel_receives": False}
PACKET = {"kind": "af_packet", "kernel_receives": True}


@pytest.mark.parametrize(
    ("events", "port", "shared", "words"),
    [
        ([served()], MEMIF, False, ""),
        ([served(kernel_ms=30)], PACKET, False, ""),
        ([served()], PACKET, False, "port af_packet: the kernel receives for it in threads that dpubench did not place"),
        ([served()], {"kind": "memif"}, False, ""),
        ([{}], MEMIF, False, "saw nothing of the measured part"),
        ([served(), {}], MEMIF, False, "saw nothing of the measured part"),
        ([served(), served()], MEMIF, True, "two servers share a CPU"),
        ([served(), served()], MEMIF, False, ""),
        ([served(core_ms=30)], MEMIF, False, "noted 30 % of the measured part"),
        ([served(core_ms=130)], MEMIF, False, "noted 130 % of the measured part"),
    ],
)
def test_where_the_cpu_time_is_not_known_there_is_a_reason(events: list[dict[str, Any]], port: dict[str, Any], shared: bool, words: str) -> None:
    why = server_cpu.why_not(events, 0.1, port, shared=shared)
    assert words in why and bool(why) == bool(words)


def test_servers_add_up_and_a_program_in_the_kernel_is_told_apart() -> None:
    both = server_cpu.account([served(kernel_ms=20), served(application_ms=30, packets=7)])
    assert both == {
        "cores": 2, "core_ns": 200_000_000, "application_ns": 90_000_000, "receive_work_ns": 20_000_000, "packets": 1000, "is_in_kernel": False,
    }  # fmt: skip
    elsewhere = {"flow_table": {"elsewhere": {"received": 900, "transmitted": 900, "dropped": 0}}}
    xdp = server_cpu.account([served(application_ms=0, kernel_ms=45, packets=0, workload=elsewhere)])
    assert xdp is not None and xdp["is_in_kernel"] and xdp["receive_work_ns"] == 45_000_000
    assert server_cpu.account([{}]) is None and server_cpu.account([]) is None


def _is_of_before(bench: Bench) -> None:
    """Check the same run as an earlier version stored it: its CPU time and its inserts are unknown, and the output says so."""
    for file in (bench.results / "r" / "rounds").glob("*.parquet"):
        pq.write_table(pq.read_table(file).drop_columns(["server_cpu", "prefill", "flow_table"]), file)
    (point,) = points(bench)
    assert point.throughput_pps is not None and point.server_cpu_share is None and point.server_cpu_ns_per_packet is None
    assert point.server_cpu_withheld == server_cpu.BEFORE and point.inserted_share is None
    assert point.params["start"] == "cold"
    assert bench("show", "r").stdout.count("the dpubench that made this run counted set-up and drain too (from begin to collect)") == 1
    assert bench("report", "r").returncode == 0
    page = (bench.results / "r" / "report.html").read_text()
    assert "but not the kernel" in page and "start=cold: the table was empty before each trial; the share of inserts is not known" in page
    flat = record(point, summaries(bench.results / "r")[0])
    assert flat["server_cpu_share"] is None and flat["server_cpu_withheld"] == server_cpu.BEFORE and "start=cold" in flat["params"]
    assert bench("compare", "r", "r").returncode == 0
    assert bench("query", "SELECT count(*) FROM trials WHERE server_cpu IS NULL").returncode == 0


# --------------------------------------------------------------------------- flow tables


def test_a_table_is_filled_before_the_first_trial_of_its_processes(bench: Bench, run: Start) -> None:
    bench.script(log=str(bench.folder / "log"), flows=5000)
    run("--set", "rates=50kpps,100kpps", "--rounds", "1")
    trial = ["trial", "collect", "check"]
    assert steps(bench) == ["begin", "fill", "begin keep_flows", *trial, "begin keep_flows", *trial]
    rows = [r for r in trials.read(bench.results / "r") if r["configuration"].startswith("flow-table")]
    assert [r["prefill"] for r in rows] == [{"flows": 5000, "known": 5000, "room": 100_000}] * 2
    assert [r["flow_table"] for r in rows] == [{"packets": 800, "inserted": 0, "flows": 5000}] * 2
    assert {p.inserted_share.value for p in points(bench) if p.inserted_share} == {0.0}
    assert {p.params["start"] for p in points(bench)} == {"prefilled"}


def test_both_starts_stand_side_by_side_with_their_share_of_inserts(bench: Bench, run: Start) -> None:
    bench.script(log=str(bench.folder / "log"), flows=5000)
    shown = run("--param", "start=prefilled,cold", "--rounds", "1").stdout
    trial = ["trial", "collect", "check"]
    assert sorted(steps(bench)) == sorted(["begin", "fill", "begin keep_flows", *trial, "begin", *trial]), "a cold table is not filled"
    prefilled, cold = sorted(points(bench), key=lambda p: p.params["start"], reverse=True)
    assert prefilled.throughput_pps is not None and prefilled.inserted_share is not None and prefilled.inserted_share.value == 0
    assert cold.inserted_share is not None and cold.inserted_share.value == pytest.approx(0.01)
    assert "cold" in shown and "1 %" in shown
    told = bench("show", "r").stdout
    assert "inserts" in told and "start=cold" in told and "start=prefilled" in told
    assert record(cold, summaries(bench.results / "r")[0])["inserted_share"] == pytest.approx(0.01)
    page = (bench.results / "r" / "report.html").read_text()
    assert "start=prefilled: the flows of the traffic were in the table before each trial; 0 % of the packets entered a flow." in page
    assert "start=cold: the table was empty before each trial; 1 % of the packets entered a flow." in page


@pytest.mark.parametrize(("option", "forgets"), [(("--set", "traffic.churn_per_s=1000"), 0), (("--param", "idle_ms=100"), 7)])
def test_flows_that_end_make_every_trial_fill_anew(bench: Bench, run: Start, option: tuple[str, str], forgets: int) -> None:
    """Some flows that are retired when idle may be gone before the trial begins. The run records how many are left."""
    bench.script(log=str(bench.folder / "log"), flows=5000, forgets=forgets)
    run("--set", "rates=50kpps,100kpps", "--rounds", "1", *option)
    assert {r["prefill"]["known"] for r in trials.read(bench.results / "r") if r["prefill"] is not None} == {5000 - forgets}
    trial = ["trial", "collect", "check"]
    assert steps(bench) == ["begin", "fill", "begin keep_flows", *trial] * 2


def test_a_table_that_does_not_know_the_flows_fails_the_point_with_the_numbers(bench: Bench, run: Start) -> None:
    bench.script(flows=5000, forgets=3)
    run("--rounds", "1", expect=4)  # the null workload alone is no result
    (point,) = points(bench)
    assert "the server's tables know 4997 of the traffic's 5000 flows" in point.failure and "start=cold" in point.failure


@pytest.mark.parametrize(
    ("known", "room", "flows", "knows"),
    [(5000, 100_000, 5000, True), (4999, 100_000, 5000, False), (5001, 100_000, 5000, False), (1000, 1000, 5000, True), (999, 1000, 5000, False),
     (0, 0, 5000, False)],
)  # fmt: skip
def test_a_table_knows_all_flows_or_is_full(known: int, room: int, flows: int, knows: bool) -> None:
    assert table_knows({"known": known, "room": room}, flows) is knows
