"""Tests of study ``end-to-end`` on several targets and with a client elsewhere: scripted programs here and behind a real sshd."""

from __future__ import annotations

import csv
import io
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench
from dpubench import network, schemas
from dpubench.storage.runs import RunDirectory
from dpubench.studies.end_to_end import links, trials
from dpubench.studies.end_to_end.summary import summaries
from sshd import Sshd, gone

PLAN = """study: end-to-end
workloads: [flow-table]
frame_sizes: [64B]
rates: [20kpps]
ports: [socket]
port_arguments:
  socket:
    ring: 2048
    local: {server_local: "10.0.0.1:1", server_peer: "10.0.0.2:2", client_local: "10.0.0.2:2", client_peer: "10.0.0.1:1"}
    dev: {server_local: "10.1.0.1:1", server_peer: "10.1.0.2:2", client_local: "10.1.0.2:2", client_peer: "10.1.0.1:1", ring: 512}
trial: {ramp: 1ms, duration: 20ms, drain: 1ms}
search: {goals: []}
rounds: {min: 2, max: 2}
budget: 120s
calibration: {processes: 0}
silence: 30s
"""
BOTH = ("--target", "local", "--target", "dev")


@pytest.fixture
def there(away: Bench) -> Bench:
    """Return the bench with the plan above; its programs know a kind of port that reaches another machine, and write a log."""
    away.script(ports=["socket", "af_packet"], log=str(away.folder / "log"))
    (away.folder / "plan.yaml").write_text(PLAN)
    return away


def jobs(bench: Bench) -> list[dict[str, Any]]:
    """Return the jobs that the programs got, in order."""
    lines = (bench.folder / "log").read_text().splitlines()
    return [json.loads(line.partition(" job ")[2]) for line in lines if " job " in line]


def members(bench: Bench) -> list[dict[str, Any]]:
    """Return ``run.json`` of each target of run ``r``, in the set's order."""
    return [member.record() for member in RunDirectory(bench.results / "r").members()]


def test_a_plan_runs_on_each_of_its_targets_in_turns(there: Bench, sshd: Sshd) -> None:
    done = there("run", "plan.yaml", "--name", "r", *BOTH)
    assert done.returncode == 0, done.stderr
    local, dev = members(there)
    for record, name in ((local, "local"), (dev, "dev")):
        assert record["status"] == "complete" and record["target"] == name and not schemas.fault("run", record)
        assert {e["round"] for e in trials.read(there.results / "r" / ("targets/" + name))} == {0, 1}
    assert "client" not in local
    assert dev["client"] == {"name": "local", "spec": "local", "label": ""}
    # Each link has the addresses of its own target; the client is here for both, and a round of each comes before the next one of either.
    servers = [job for job in jobs(there) if job["schema"].startswith("dpubench.server-job")]
    locals_ = [job["ports"][0]["arguments"]["local"] for job in servers]
    turns = [address for i, address in enumerate(locals_) if i == 0 or locals_[i - 1] != address]
    assert turns == ["10.0.0.1:1", "10.1.0.1:1", "10.0.0.1:1"]  # dev's two rounds touch: the order turns round
    assert {job["ports"][0]["arguments"]["ring"] for job in servers} == {"2048", "512"}
    assert gone(sshd)


def test_readers_set_the_targets_beside_each_other(there: Bench, sshd: Sshd) -> None:
    assert there("run", "plan.yaml", "--name", "r", *BOTH).returncode == 0
    local, dev = summaries(there.results / "r")
    assert (local.is_baseline, dev.is_baseline) == (True, False)
    assert "client on local" in dev.labels and not any("client on" in label for label in local.labels)
    assert {p.server_target for p in dev.points} == {"dev"}
    shown = there("show", "r").stdout
    assert "r@local" in shown and "r@dev" in shown and "all-host on dev" in shown and "client on local" in shown
    one = there("show", "r@dev").stdout
    assert "r@dev" in one and "r@local" not in one
    rows = list(csv.DictReader(io.StringIO(there("export", "r", "--csv").stdout)))
    assert {row["server_target"] for row in rows} == {"local", "dev"}
    compared = there("compare", "r")
    assert compared.returncode == 0 and "dev against local" in compared.stdout and "different machines" in compared.stdout, compared.stdout
    assert there("compare", "r", "r").returncode == 0
    assert there("report", "r").returncode == 0
    page = (there.results / "r" / "report.html").read_text()
    assert "r@dev against r@local" in page and "r@dev @dev" not in page
    queried = there("query", "select run, count(*) from trials group by run order by run", "--json")
    assert "r@dev" in queried.stdout and "r@local" in queried.stdout, queried.stdout + queried.stderr


def test_a_dry_run_tells_each_target(there: Bench, sshd: Sshd) -> None:
    done = there("run", "plan.yaml", *BOTH, "--dry-run")
    assert done.returncode == 0 and "target local" in done.stdout and "target dev" in done.stdout, done.stdout + done.stderr
    assert "the targets share the budget of" in done.stdout
    told = json.loads(there("run", "plan.yaml", *BOTH, "--dry-run", "--json").stdout)
    assert set(told["targets"]) == {"local", "dev"}
    assert not there.results.exists() and gone(sshd)


def test_the_client_runs_where_the_plan_says_and_finds_its_files_there(there: Bench, sshd: Sshd) -> None:
    corpus = there.folder / "corpus.txt"
    corpus.write_text("some text " * 1000)
    options = ("--set", "client=dev", "--set", "traffic.payload.source=corpus", "--input", f"corpus={corpus}")
    done = there("run", "plan.yaml", "--name", "r", *options)
    assert done.returncode == 0, done.stderr
    record = there.record("r")
    assert record["target"] == "local" and record["client"]["name"] == "dev" and not schemas.fault("run", record)
    for job in jobs(there):
        if job["schema"].startswith("dpubench.traffic-job"):
            (placed,) = job["inputs"]["corpus"]
            assert Path(placed).is_relative_to(sshd.home) and Path(placed).read_bytes() == corpus.read_bytes()
            assert Path(job["cache_dir"]).is_relative_to(sshd.home)
            assert job["cpu"] == 0
        else:
            assert job["cpus"] == [0]  # it shares its machine with no client
    (run,) = summaries(there.results / "r")
    assert "client on dev" in run.labels
    (point,) = [p for p in run.points if p.workload == "flow-table"]
    assert point.latency is not None and point.residence is not None  # each by one clock
    assert gone(sshd)


def test_client_and_server_on_one_other_machine_share_its_cpus(there: Bench, sshd: Sshd) -> None:
    done = there("run", "plan.yaml", "--name", "r", "--target", "dev", "--set", "client=dev")
    assert done.returncode == 0, done.stderr
    assert {(job.get("cpu"), tuple(job.get("cpus", ()))) for job in jobs(there)} == {(0, ()), (None, (1,))}
    assert there.record("r")["client"]["name"] == "dev" if "client" in there.record("r") else True
    assert gone(sshd)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "client=dev", "--set", "ports=memif"], "a port of kind memif cannot reach another machine: choose pci, socket"),
        (
            ["--target", "dev", "--set", "client=dev", "--set", "ports=memif"],
            "a port of kind memif is made on this machine, but client and server are on dev: choose pci, socket",
        ),
        (
            ["--target", "dev", "--set", "client=dev", "--set", "ports=af_packet"],
            "port af_packet needs the interfaces of both ends: --set port_arguments.af_packet.all-host.server_interface=INTERFACE",
        ),
        (
            [*BOTH, "--set", "client=dev", "--set", "ports=af_packet"],
            "port af_packet needs the interfaces of both ends: --set port_arguments.af_packet.local.server_interface=INTERFACE",
        ),
        ([*BOTH, "--set", "placements=all-device"], "with several targets the server is on each of them in turn: name the device as a target"),
        (["--target", "dev", "--set", "placements=all-device", "--set", "device=dev"], "all-device needs a device that is not the host"),
        (["--set", "client=nowhere"], "unknown target 'nowhere'"),
        (["--set", "client=qemu:aarch64"], "no packets reach it: choose vm:aarch64, a whole machine"),
        (
            ["--target", "dev", "--set", "workloads=application-recognition", "--set", "placements=split", "--set", "device=dev"],
            "memif joins the parts of a split, and only on this machine: --target local, --set device=local",
        ),
        ([*BOTH, "--set", "port_arguments.socket.dve.ring=3"], "unknown placement or target 'dve'; did you mean 'dev'?"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(there: Bench, sshd: Sshd, options: list[str], words: str) -> None:
    done = there("run", "plan.yaml", "--dry-run", *options)
    assert words in (done.stdout + done.stderr).replace("\n", " "), done.stdout + done.stderr
    assert done.returncode in ((0,) if "placements=split" in options else (2, 4))  # with a split the null workload is left, on its own link
    assert not there.results.exists() and gone(sshd)


def test_a_target_that_is_lost_is_completed_later_and_the_others_go_on(there: Bench, sshd: Sshd) -> None:
    there.script(ports=["socket"], trial_s=0.4)
    process = there.start("run", "plan.yaml", "--name", "r", *BOTH, "--set", "rates=20kpps,10kpps,5kpps")
    slug = there.results / "r" / "targets" / "dev" / "rounds"
    end = time.monotonic() + 60
    while not any(path.stat().st_size for path in slug.glob("0000.ndjson")):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)
    assert sshd.signal_sessions(signal.SIGKILL)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 1, errors
    assert "the others go on" in errors and "server: target dev" in errors.replace("\n", " "), errors
    local, dev = members(there)
    assert (local["status"], dev["status"]) == ("complete", "interrupted")
    assert there.workers() == [] and gone(sshd)
    there.script(ports=["socket"])
    resumed = there("resume", "r")
    assert resumed.returncode == 0, resumed.stderr
    assert [record["status"] for record in members(there)] == ["complete", "complete"]
    assert all(p.rounds == 2 for run in summaries(there.results / "r") for p in run.points)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_of_a_client_elsewhere(there: Bench, sshd: Sshd, number: int) -> None:
    there.script(ports=["socket"], trial_s=0.5)
    process = there.start("run", "plan.yaml", "--name", "r", "--set", "client=dev")
    end = time.monotonic() + 60
    while not any(path.stat().st_size for path in (there.results / "r").glob("rounds/0000.ndjson")):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 130), errors
    assert gone(sshd)
    end = time.monotonic() + 10
    while there.workers() and time.monotonic() < end:  # a server here ends when its input does
        time.sleep(0.02)
    assert there.workers() == []


@pytest.mark.parametrize("client_is_here", [True, False])
def test_a_link_to_an_emulated_machine_has_addresses_for_both_ends(client_is_here: bool) -> None:
    tap = network.TapLink(network.Side("space", "tap0", "198.18.0.1", "02:00:00:00:00:01"), "198.18.0.2/24", "eth1", "02:00:00:00:00:02", 9216)
    assert "cannot reach an emulated machine: choose socket or af_packet" in links.unavailable("memif", {}, "all-host", is_tap=True)
    assert links.unavailable("socket", {}, "all-host", elsewhere="cannot reach another machine", is_tap=True) == ""
    given = {"server_local": "10.0.0.1:1", "server_peer": "10.0.0.2:1", "client_local": "10.0.0.2:1"}
    assert "needs the addresses of both ends" in links.unavailable("socket", given, "all-host", elsewhere="x", is_tap=True)
    here, there = {"local": "198.18.0.1:7000", "peer": "198.18.0.2:7000"}, {"local": "198.18.0.2:7000", "peer": "198.18.0.1:7000"}
    with links.joined("socket", {}, 1518, tap, client_is_here=client_is_here) as ends:
        inside, outside = (ends.client, ends.server) if client_is_here else (ends.server, ends.client)
        assert (inside["arguments"], outside["arguments"]) == (here, there)
        assert (ends.client_prefix, ends.server_prefix) == ((tap.here.prefix, []) if client_is_here else ([], tap.here.prefix))
    with links.joined("af_packet", {}, 1518, tap, client_is_here=client_is_here) as ends:
        assert {ends.client["arguments"]["interface"], ends.server["arguments"]["interface"]} == {"tap0", "eth1"}
        assert (ends.client["arguments"]["interface"] == "tap0") == client_is_here
