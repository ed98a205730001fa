"""Tests of embedded placement on the real programs: chains of shared memory and of namespaces, accounts, faults, interruption. Nothing is timed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dpubench import network, programs, schemas, targets
from dpubench.run.listener import Listener
from dpubench.studies.headroom import execute, links
from dpubench.studies.headroom.crossing import Crossed, Crossing, crossing_fault
from dpubench.studies.headroom.model import Selection, Tried
from dpubench.studies.headroom.session import SessionFault, Setting, Spec
from dpubench.studies.measured import rounds
from dpubench.workers.process import StopRequest
from own_folder import Run, environment, interrupted, programs_left, record_of

pytestmark = [
    pytest.mark.skipif(not (programs.directory() / programs.HEADROOM).is_file(), reason="dpubench-headroom was not built"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="sender and sink need a CPU beside the device's"),
]

needs_namespaces = pytest.mark.skipif(bool(network.unavailable()), reason=network.unavailable())

EMBEDDED = ["--set", "placement=embedded"]
SMALL = ["--set", "trial=1ms", "--set", "selection=1", "--burst", "8", "--size", "128B", "--rounds", "1", "--budget", "1s"]


@pytest.fixture
def setting() -> Iterator[Setting]:
    """Yield the setting of a run on this machine."""
    here = targets.find("local")
    here.open()
    try:
        with StopRequest() as stop:
            yield Setting(here, None, stop, Listener(), 30.0, 1, {}, "02:00:00:00:00:02", False)
    finally:
        here.close()


def test_both_placements_in_one_run(dpubench: Run, tmp_path: Path) -> None:
    plan = ["--set", "placement=separated,embedded", "--set", "backends=null,memif", "--set", "works=spin"]
    dpubench("run", "headroom", "--name", "r", *SMALL, *plan)
    record = record_of(tmp_path / "results/r")
    assert schemas.fault("run", record) == "" and record["status"] == "complete"
    assert {(s["placement"], s["backend"]) for s in record["selections"]} == {("separated", "null"), ("separated", "memif"), ("embedded", "memif")}
    crossed = next(s for s in record["selections"] if s["placement"] == "embedded")
    assert crossed["gbps"] > 0 and all(0 <= t["free"] <= 1 and 0 <= t["lost_in"] <= 1 and 0 <= t["dropped"] <= 1 for t in crossed["tried"])
    assert all(t["free"] is None for s in record["selections"] if s["placement"] == "separated" for t in s["tried"])
    assert record["links"]["memif (embedded)"].startswith("virtual links: shared memory") and record["links"]["memif"].startswith("virtual link: ")
    rows = list(csv.DictReader(io.StringIO(dpubench("export", "r", "--csv").stdout)))
    names = [f"{kind}/128B/spin/50%" for kind in ("null", "memif", "embedded/memif")]
    assert sorted(row["id"] for row in rows) == sorted(names)
    of: dict[str, dict[str, float]] = defaultdict(dict)
    for kept in rounds.read(tmp_path / "results/r"):
        of[kept["point"]][kept["quantity"]] = kept["value"]
    for name, found in of.items():
        assert abs(found["cpu_percent"] + found["left_percent"] - 100) < 1e-9
        assert ("idle_percent" in found) == name.startswith("embedded/") and 0 <= found.get("idle_percent", 0) <= 100
    shown = dpubench("show", "r").stdout
    assert "memif (embedded)" in shown and "in empty polls (%)" in shown
    page = (tmp_path / "results/r/report.html").read_text(encoding="utf-8")
    assert '"title":"memif (embedded), 128B, rate 50%"' in page and '"title":"memif, 128B, rate 50%"' in page
    again = dpubench("compare", "r", "r").stdout
    assert "embedded/memif/128B/spin/50%" in again


@needs_namespaces
def test_the_kernel_against_its_bypass(dpubench: Run, tmp_path: Path) -> None:
    dpubench("run", "headroom", "--name", "r", *EMBEDDED, *SMALL, "--set", "backends=kernel,af_xdp", "--set", "works=spin")
    record = record_of(tmp_path / "results/r")
    assert schemas.fault("run", record) == "" and not record["failures"]
    assert {s["backend"] for s in record["selections"]} == {"kernel", "af_xdp"}
    assert all(how.startswith("virtual links: veth between three namespaces") for how in record["links"].values())
    of: dict[str, dict[str, float]] = defaultdict(dict)
    for kept in rounds.read(tmp_path / "results/r"):
        of[kept["point"]][kept["quantity"]] = kept["value"]
    kernel = of["embedded/kernel/128B/spin/50%"]
    assert 0 < kernel["cpu_percent"] < 100.001 and "delay_us" not in kernel and "idle_percent" not in kernel
    assert kernel["left_percent"] == kernel["machine_left_percent"] and kernel["gbps"] > 0
    assert all(found["kernel_percent"] > 0 for found in of.values()), "the kernel receives in threads of its own"
    assert "kernel (embedded)" in dpubench("show", "r").stdout
    assert namespaces_of_the_dead() == []


def namespaces_of_the_dead() -> list[str]:
    """Return namespaces of processes that are gone. Other processes may have namespaces of theirs, as long as they live."""
    return [name.name for name in Path("/run/netns").glob("dpubench-*") if network.start_time(int(name.name.split("-")[1])) is None]


@pytest.mark.parametrize("is_shared", [True, False], ids=["one process at both ends", "sender and sink apart"])
def test_work_far_above_the_pacing_limit_does_not_survive(setting: Setting, monkeypatch: pytest.MonkeyPatch, is_shared: bool) -> None:
    monkeypatch.setattr(Setting, "shares_cpu", lambda *_: is_shared)
    with Crossing(setting, "memif", 1514, 1) as session:
        assert session.how == "virtual links: shared memory"
        free = Spec(128, 1, 8, 1, 0.01, due_ns=50_000)
        assert session.trial(free).packets > 0
        for work in ("spin", "spacing"):
            late = session.trial(Spec(128, 1, 8, 1, 0.01, work, 1e6, 50_000))
            # At most 8 packets pass in each ms, whatever the machine does.
            assert late.pps <= 8e3 / 0.9 < 0.1 * 8e9 / 50_000
            assert late.left_ns >= 0.9e6 * (work == "spin") and late.device["received"] == late.device["forwarded"] + late.device["dropped"]
        session.end()


@needs_namespaces
def test_a_kernel_whose_packets_do_not_cross_is_told(setting: Setting) -> None:
    with Crossing(setting, "kernel", 1514, 1) as session:
        assert session.trial(Spec(128, 1, 8, 1, 0.005, "spin", due_ns=100_000)).packets > 0
        assert session.alone(Spec(128, 1, 8, 1, 0.005, "spin")) > 0
        way_in = next(name for name in Path("/run/netns").iterdir() if name.name.startswith(f"dpubench-{os.getpid()}-") and "device" in name.name)
        subprocess.run(["ip", "netns", "exec", way_in.name, "sysctl", "-qw", "net.ipv4.ip_forward=0"], check=True)
        for size in (256, 128):  # also of a size whose packets crossed before
            with pytest.raises(SessionFault, match=re.escape("and forwarded none: see that its way out leads to the sink")):
                session.trial(Spec(size, 1, 8, 1, 0.005, due_ns=100_000))
    assert not list(Path("/run/netns").glob(f"dpubench-{os.getpid()}-*"))


def test_a_kernel_whose_packets_take_another_way_is_told(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Crossing, "_crossed", lambda *_, **__: crossed(received=0))
    session = Crossing(setting, "kernel", 1514, 1)
    session._verified, session._is_kernel = set(), True
    with pytest.raises(SessionFault, match=r"1000 packets arrived, but the device's way in counted 0: they take another way.*sink_namespace"):
        session.trial(Spec(128, 1, 8, 1, 0.001))


@needs_namespaces
def test_a_kernel_that_does_not_forward_is_refused() -> None:
    with network.veth_chain(1518, routed=False) as chain:
        side = {"kind": "kernel", "arguments": {"interface": chain.way_in.interface}}
        job = {"schema": schemas.HEADROOM_JOB, "role": "forwarder", "backend": side, "out": side}
        assert schemas.fault("headroom-job", job) == ""
        assert f"sysctl -w net.ipv4.conf.{chain.way_in.interface}.forwarding=1" in refused(job, chain.way_in.prefix)
        subprocess.run(["ip", "-n", chain.way_in.namespace, "link", "set", chain.way_in.interface, "down"], check=True)
        assert f"the interface {chain.way_in.interface} is down" in refused(job, chain.way_in.prefix)


def refused(job: dict[str, Any], prefix: list[str]) -> str:
    """Return the failure of the program for a job."""
    words = [*prefix, str(programs.directory() / programs.HEADROOM)]
    done = subprocess.run(words, input=json.dumps(job) + "\n", capture_output=True, text=True, timeout=60, check=False)
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["event"] == "failure" and schemas.fault("event", last) == ""
    return str(last["message"])


@needs_namespaces
def test_ctrl_c_leaves_nothing(dpubench: Run, tmp_path: Path) -> None:
    words = ("run", "headroom", "--name", "r", *EMBEDDED, *SMALL, "--set", "backends=kernel,memif", "--set", "works=spin")
    number, errors = interrupted(tmp_path, *words, begun="results/r/rounds/*", at_work=programs.HEADROOM)
    assert "dpubench resume r" in errors
    assert not list(Path("/run/netns").glob(f"dpubench-{number}-*")), "its namespaces are gone"
    assert programs_left(tmp_path, programs.HEADROOM) == []
    before = record_of(tmp_path / "results/r")["selections"]
    dpubench("resume", "r")
    record = record_of(tmp_path / "results/r")
    assert record["status"] == "complete" and record["selections"] == before, "step 1 is not repeated"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--set", "backends=udp"], "packets cannot cross a device by udp, for it has one side: choose among memif, af_packet, af_xdp, pci, kernel"),
        (["--set", "backends=kernel", "--set", "works=spacing"], "the kernel forwards packets as they come: choose spin, cache or memory"),
        (["--set", "backends=pci"], "name both sides of the device, --set arguments.pci.in_address=... and out_address=..."),
        (
            ["--set", "backends=kernel", "--set", "arguments.kernel.in_interface=lo"],
            "the device has two sides: --set arguments.kernel.out_interface=",
        ),
        (
            ["--set", "backends=kernel", "--set", "arguments.kernel.in_interface=lo", "--set", "arguments.kernel.out_interface=lo"],
            "the sender's address is missing: --set arguments.kernel.local=ADDRESS:PORT",
        ),
    ],
)
def test_what_cannot_be_is_told(tmp_path: Path, given: list[str], told: str) -> None:
    words = [sys.executable, "-m", "dpubench", "run", "headroom", "--dry-run", "--size", "128B", *EMBEDDED, *given]
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and told in done.stderr


def test_a_dry_run_says_who_runs_where(dpubench: Run) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    told = dpubench("run", "headroom", "--dry-run", "--plan", "embedded", "--set", "backends=memif").stdout
    assert "embedded/memif/128B/spin/50%\n" in told and f"and the sink CPU {cpus[-1]} of local" in told
    assert "packets that cross the device" not in told and "packets that cross the device" in dpubench("run", "headroom", "--dry-run").stdout


def test_the_kernel_is_no_way_out_of_an_endpoint() -> None:
    assert "is for packets that cross the device: --set placement=embedded" in links.unavailable("kernel", {}, 128, is_here=True)
    assert "a CPU beside the device's" in links.unavailable_embedded("memif", {}, 128, is_here=True, cpus=1)
    assert links.unavailable_embedded("memif", {}, 128, is_here=True, cpus=2) == ""
    assert "choose smaller ones, or back-end kernel" in links.unavailable_embedded("memif", {}, 10_000, is_here=True, cpus=2)
    joined = links.unavailable_embedded("memif", {}, 128, is_here=True, cpus=2, peer="far")
    assert "the peer far is joined by what is there: name both sides of the device" in joined
    assert "choose af_packet or kernel" in links.unavailable_embedded("memif", {}, 128, is_here=False, cpus=1, peer="local", is_joined=True)
    assert links.unavailable_embedded("kernel", {}, 128, is_here=False, cpus=1, peer="local", is_joined=True) == ""
    given = {"in_address": "0000:03:00.0", "out_address": "0000:03:00.1", "local": "10.0.0.1:7000", "peer": "10.0.0.2:7000", "buffer_kib": "64"}
    assert links.unavailable_embedded("pci", given, 128, is_here=False, cpus=8, peer="far") == ""
    with links.crossed("pci", given, 1514, 1) as chain:
        assert chain.how == "given" and chain.way_in == {"kind": "port", "port": "pci", "role": "server", "arguments": {"address": "0000:03:00.0"}}
        assert chain.way_out["arguments"] == {"address": "0000:03:00.1"}
        assert chain.sender == {"kind": "udp", "arguments": {"local": "10.0.0.1:7000", "peer": "10.0.0.2:7000", "buffer_kib": "64"}}
        assert chain.sink == {"kind": "udp", "arguments": {"local": "10.0.0.2:7000", "buffer_kib": "64"}}
        assert chain.sender_prefix == chain.sink_prefix == [] and chain.sink_namespace == ""
    with links.crossed("pci", {**given, "sink_namespace": "far"}, 1514, 1) as chain:
        assert chain.sink_prefix == ["nsenter", "--net=/run/netns/far", "--"] and chain.sink_namespace == "/run/netns/far"
        assert chain.sender_prefix == [] and "sink_namespace" not in chain.way_in["arguments"]


def test_accounts_along_the_way() -> None:
    sent = {"packets": 10, "number_sum": "45", "size": 100}
    device = {"polls": 7, "received": 10, "bytes": 1000, "forwarded": 9, "dropped": 1, "numbered": 10, "number_sum": "45"}
    counted = {"packets": 9}

    def fault(**changed: object) -> str:
        return crossing_fault(sent, {**device, **changed}, counted, is_private=True)

    assert fault() == ""
    assert "something else sends to it" in fault(received=11, dropped=2, bytes=1100)
    assert "forwarded 9 and dropped 0" in fault(dropped=0)
    assert "with 999 bytes" in fault(bytes=999)
    assert "the device forwarded 8" in fault(forwarded=8, dropped=2)
    assert "1 of 10 packets that came to the device have no valid number" in fault(numbered=9)
    assert "but not the same ones" in fault(number_sum="44")
    assert crossing_fault(sent, {**device, "received": 12, "dropped": 3}, counted, is_private=False) == "", "others send there too"
    assert crossing_fault(sent, {"received": 12, "forwarded": 3}, counted, is_private=True) == "", "the kernel's counters hold all that passes"


def crossed(**device: float) -> Crossed:
    sent = {"packets": 1000, "elapsed_ns": 1e6, "bursts": 100, "blocked_ns": 0.0}
    known = {"received": 1000, "forwarded": 1000, "dropped": 0, "cpu_ns": 9e5, "open_ns": 1e6, "elapsed_ns": 1e6, "inserted_ns": 0.0}
    polls = {"polls": 300, "bursts": 200, "busy_ns": 4e5, "idle_ns": 5e5, "waited_ns": 0.0}
    return Crossed(Spec(125, 1, 10, 1, 0.001), sent, {"packets": 1000}, {**known, **polls, **device}, 1, 5e4)


def test_figures_of_a_device() -> None:
    trial = crossed()
    assert trial.gbps == pytest.approx(1.0) and trial.free == 0.5 and trial.on_cpu == pytest.approx(0.95)
    assert trial.packets_per_burst == 5 and trial.period_ns == 5000 and trial.per_burst_ns("burst") == 2000 and trial.whole_burst_ns == 4000
    assert crossed(elapsed_ns=2e6).gbps == pytest.approx(0.5), "a device that is late forwards for longer than the sender sends"
    assert crossed(received=900, forwarded=800, dropped=100).lost_in == pytest.approx(0.1)
    tried = execute.tried_of(1, 10, [trial])
    assert tried.free == 0.5 and execute.limit_of(tried) == "generator"
    assert execute.limit_of(Tried(1, 8, 1.0, 0.0, 0.0, 0.01, 0.0, 0.0)) == "device", "it has no time left"
    assert execute.limit_of(Tried(1, 8, 1.0, 0.0, 0.2, 0.5, 0.2, 0.0)) == "device", "packets do not come in"
    assert execute.limit_of(Tried(1, 8, 1.0, 0.0, 0.2, 0.5, 0.0, 0.2)) == "sink"


def test_what_is_left_beside_the_kernel() -> None:
    beside = [
        Crossed(t.spec, t.sent, t.counted, {k: v for k, v in t.device.items() if k != "polls"}, 2, None) for t in [crossed(inserted_ns=6e5)] * 2
    ]
    found = execute.rest_figures(beside, [beside[0]] * 3, [0.6] * 3, 1.0, None, 2.0)
    # The work took 0.3 of the time of two CPUs, and 0.6 alone: half is left, which is 1 us for each of 1 M packets/s.
    assert found["left_percent"] == pytest.approx(50) and found["left_ns_per_packet"] == pytest.approx(1000) and found["survived_share"] == 1
    assert "kernel_percent" not in found, "no thread of the kernel is known"
    busy = [Crossed(t.spec, t.sent, t.counted, t.device, t.cpus, 1.5e6) for t in beside]
    assert execute.rest_figures(busy, busy[:1] * 3, [0.2] * 3, 1.0, None, 2.0)["cpu_percent"] == pytest.approx(75), "the kernel's threads had it"
    full = execute.rest_figures(beside, [beside[0]] * 3, [0.2] * 3, 1.0, None, 2.0)
    assert full["cpu_percent"] == pytest.approx(5), "no less than 50 us of 1 ms is told"


def test_runs_of_before_are_separated() -> None:
    old = {
        "backend": "memif", "size": 128, "reuse": 1, "threads": 1, "burst": 8, "gbps": 1.0, "limit": "device", "is_rising": False, "line_gbps": 0.0,
        "tried": [{"threads": 1, "burst": 8, "gbps": 1.0, "blocked": 0.0, "lost": 0.0}],
    }  # fmt: skip
    assert execute.key_of(Selection.of(old)) == ("separated", "memif", 128, 1)
