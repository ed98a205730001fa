"""Tests of study link with real programs: between two namespaces, over loopback, and with the other end behind a real sshd."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest
from dpubench import network, schemas, targets
from dpubench.studies.link import measure
from dpubench.studies.link.ends import End
from dpubench.studies.link.plan import Plan
from dpubench.workers import tool
from dpubench.workers.process import StopRequest
from real_program import BUILD, RealBench
from sshd import Sshd, small_bundle

needs_root = pytest.mark.skipif(network.unavailable() != "", reason=network.unavailable())
ONCE = ("--rounds", "1", "--set", "duration=1s", "--set", "file=1MiB", "--set", "directions=forward")


@needs_root
def test_both_ends_on_one_machine(real: RealBench) -> None:
    done = real(
        "run", "link", "--name", "r", *ONCE, "--set", "sizes=64KiB", "--set", "latency_sizes=64B", "--set", "latency_tools=dpubench-link,sockperf"
    )
    assert done.returncode == 0, done.stderr
    assert "virtual link between two namespaces of one machine" in real("show", "r").stdout
    record = real.record("r")
    assert schemas.fault("run", record) == ""
    assert [end["address"] for end in record["ends"]] == ["198.18.0.1", "198.18.0.2"] and record["path"] == "veth"
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(real("export", "r", "--csv").stdout))}
    rate = rows["throughput/local-a>local-b/bytes=65536,streams=1"]
    assert float(rate["goodput_gbps"]) > 0 and 0 < float(rate["both_cpus"]) <= 2 * (os.cpu_count() or 1)
    for program in ("dpubench-link", "sockperf"):
        times = rows[f"latency/local-a>local-b/bytes=64,tool={program}"]
        values = [float(times[name]) for name in ("rtt_p50_us", "rtt_p90_us", "rtt_p99_us", "rtt_p999_us", "rtt_max_us")]
        assert values == sorted(values) and values[0] > 0
    plain, tls = (rows[f"transfer/local-a>local-b/file=1MiB,protection={kind}"] for kind in ("plain", "tls"))
    assert float(plain["goodput_gbps"]) > 0 and float(tls["goodput_gbps"]) > 0
    for kind in ("ktls", "ktls-nic"):
        row = rows[f"transfer/local-a>local-b/file=1MiB,protection={kind}"]
        assert row["goodput_gbps"] or row["unavailable"] or row["failure"]
    page = (real.results / "r" / "report.html").read_text(encoding="utf-8")
    assert "Throughput over message size" in page and "virtual link between two namespaces" in page
    assert real.left_on_the_machine() == []


def test_loopback_says_that_there_is_no_network(real: RealBench) -> None:
    done = real("run", "link", "--name", "r", *ONCE, "--set", "path=loopback", "--workload", "throughput", "--size", "64KiB")
    assert done.returncode == 0, done.stderr
    assert "loopback of one machine: no network" in real("show", "r").stdout


def test_runs_at_the_same_time_take_ports_of_their_own(real: RealBench) -> None:
    words = (*ONCE, "--set", "path=loopback", "--workload", "throughput", "--size", "64KiB")
    running = [real.start("run", "link", "--name", name, *words) for name in ("one", "two", "three")]
    for process in running:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors


def test_a_taken_port_is_left_for_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    here = targets.find("local")
    here.open()
    try:
        with socket.socket() as taken, socket.socket() as other, StopRequest() as stop:
            for port in (taken, other):
                port.bind(("127.0.0.1", 0))
            taken.listen()
            ports = [str(port.getsockname()[1]) for port in (taken, other)]
            other.close()
            monkeypatch.setattr(measure, "_any_port", iter(ports).__next__)
            end = End("local", here, "127.0.0.1", tool.present(here), {}, "local")
            found = measure.Pair(Plan.model_validate({"study": "link", "duration": "1s"}), end, end, stop).throughput(65536, 1)
            assert found.figures["goodput_gbps"] > 0
    finally:
        here.close()


@needs_root
def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing(real: RealBench) -> None:
    running = real.start("run", "link", "--name", "r", "--rounds", "3", "--workload", "throughput", "--size", "64KiB", "--json")
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line)["event"] == "figure":
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, out + err
    assert "kept" in err and real.left_on_the_machine() == []
    given_up = time.monotonic() + 10
    while real.left_on_the_machine() and time.monotonic() < given_up:
        time.sleep(0.05)
    assert real.left_on_the_machine() == []
    again = real("resume", "r")
    assert again.returncode == 0 and real.record("r")["status"] == "complete"


def test_an_end_behind_ssh(real: RealBench, sshd: Sshd, tmp_path: Path) -> None:
    programs = {name: f'#!/bin/sh\nexec "{BUILD / name}" "$@"\n' for name in ("dpubench-tool", "dpubench-link")}
    archive = small_bundle(tmp_path / "bundle.tar.gz", BUILD / "dpubench-agent", "#!/bin/sh\n", more=programs)
    real.environment |= {"DPUBENCH_SSH_CONFIG": str(sshd.config), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert real("target", "add", "dev", sshd.spec, "--bundle", str(archive)).returncode == 0
    words = ("run", "link", "--target", "local", "--target", "dev", "--name", "r", "--rounds", "1", "--set", "duration=1s", "--set", "file=1MiB")
    refused = real(*words)
    assert refused.returncode == 2 and "127.0.0.1 is this machine's own: give the addresses of both ends" in refused.stderr
    ends = ("--set", "addresses.local=127.0.0.1", "--set", "addresses.dev=127.0.0.2")
    done = real(*words, *ends, "--size", "64KiB", "--set", "latency_sizes=64B", "--set", "protections=plain")
    assert done.returncode == 0, done.stderr
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(real("export", "r", "--csv").stdout))}
    for sender, receiver in (("local", "dev"), ("dev", "local")):
        rate = rows[f"throughput/{sender}>{receiver}/bytes=65536,streams=1"]
        assert float(rate["goodput_gbps"]) > 0 and float(rate["sender_cpus"]) > 0 and float(rate["receiver_cpus"]) > 0 and not rate["both_cpus"]
        assert float(rows[f"latency/{sender}>{receiver}/bytes=64,tool=dpubench-link"]["rtt_p50_us"]) > 0
        assert float(rows[f"transfer/{sender}>{receiver}/file=1MiB,protection=plain"]["goodput_gbps"]) > 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--set", "path=network"), "needs two targets"),
        (("--set", "addresses.elsewhere=10.0.0.1"), "is no target of this plan"),
        (("--set", "addresses.local=here"), "'here' is not an IP address"),
        (("--size", "2MiB"), "messages have 1 B to 1 MiB"),
        (("--set", "duration=100ms"), "a measurement lasts from 1s to 1h"),
        (("--set", "file=1KiB"), "a file has 4 KiB to 16 GiB"),
        (("--set", "streams=0"), "streams"),
        (("--workload", "bandwidth"), "bandwidth"),
        (("--target", "local", "--target", "local"), "names a target twice"),
        (("--target", "local", "--target", "local:cpus=0"), "are both this machine"),
        (("--target", "qemu:aarch64"), "an emulated processor without a network"),
        (("--target", "ssh://nowhere.invalid"), "a link has two ends"),
    ],
)
def test_a_wrong_plan_is_refused(real: RealBench, words: tuple[str, ...], says: str) -> None:
    done = real("run", "link", *words, "--dry-run")
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_a_dry_run_names_what_cannot_be_measured(real: RealBench) -> None:
    done = real("run", "link", "--set", "path=loopback", "--workload", "rdma", "--size", "64B", "--dry-run")
    if any(Path("/sys/class").glob("infiniband/*")):
        pytest.skip("this machine has a device for RDMA verbs")
    assert "has no device for RDMA verbs" in done.stdout + done.stderr
