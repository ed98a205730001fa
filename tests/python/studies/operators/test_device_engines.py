"""Tests of asynchronous engines and devices: jobs in flight from the command line to the export, engines left out, devices by name."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest
from conftest import Bench
from dpubench import schemas
from dpubench.studies.operators.configuration import engine_word, split_engine_word
from dpubench.studies.operators.export import record
from dpubench.studies.operators.summary import summarize
from real_program import FIXTURES, RealBench, by_hand, job, kinds

#: tests/fixtures/sha256/asynchronous.cpp: a lane that completes late, in batches and out of order; 100 jobs in flight by default, 512 at most.
BATCHES = ("--operator", "sha256", "--size", "64B", "--engine-dir", str(FIXTURES))


@pytest.mark.parametrize(("engine", "jobs", "word"), [("cryptodev", 128, "cryptodev~128"), ("openssl", 0, "openssl"), ("x@y", 1, "x@y~1")])
def test_words_of_engines(engine: str, jobs: int, word: str) -> None:
    assert engine_word(engine, jobs) == word
    assert split_engine_word(word) == (engine, jobs)


@pytest.mark.parametrize("name", ["odd~name", "~", "a~", "a~1x", "a~٣"])
def test_names_that_only_look_like_words_stay_whole(name: str) -> None:
    assert split_engine_word(name) == (name, 0)


def dry_run(bench: Bench, *arguments: str) -> dict[str, Any]:
    done = bench("run", *arguments, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_in_flight_is_an_axis_of_asynchronous_engines_alone(real: RealBench) -> None:
    found = dry_run(real, *BATCHES, "--engine", "portable,batches", "--burst", "1,32", "--in-flight", "64,8,32,8")
    candidates = {c["burst"]: c["candidates"] for c in found["configurations"]}
    assert candidates == {1: ["portable", "batches~8", "batches~32", "batches~64"], 32: ["portable", "batches~32", "batches~64"]}
    assert "8 jobs in flight with bursts of 32: too few, a burst is submitted whole" in found["left_out"]
    found = dry_run(real, *BATCHES, "--engine", "portable,batches", "--burst", "32", "--in-flight", "8")
    [only] = found["configurations"]
    assert only["candidates"] == ["portable"] and only["not_measured"]["batches"].startswith("8 jobs in flight with bursts of 32")
    assert dry_run(real, *BATCHES, "--engine", "batches")["configurations"][0]["candidates"] == ["batches"]


def test_software_drivers_are_measured_where_they_are_asked_for(real: RealBench) -> None:
    usual = dry_run(real, *BATCHES)
    assert "batches" not in usual["configurations"][0]["candidates"]
    assert any(line.startswith("batches: a software driver of a device API: measure it with plan device") for line in usual["left_out"])
    assert "batches" in dry_run(real, *BATCHES, "--engine", "all")["configurations"][0]["candidates"]
    devices = dry_run(real, *BATCHES, "--engine", "devices")["configurations"][0]
    assert {"portable", "batches", "loses-later"} <= set(devices["candidates"]) and "honest" not in devices["candidates"]
    plan = dry_run(real, "--plan", "device", *BATCHES)
    assert {c["burst"] for c in plan["configurations"]} == {1, 32}
    assert all({"portable", "batches~32", "batches~512"} <= set(c["candidates"]) for c in plan["configurations"])


def test_operators_without_a_device_engine_are_no_part_of_engines_devices(real: RealBench) -> None:
    assert {c["operator"] for c in dry_run(real, "--engine", "devices", "--operator", "sha256,crc", *BATCHES[2:])["configurations"]} == {"sha256"}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("0", "--in-flight"), ("5000", "4096"), ("many", "--in-flight"), ("8,-1", "--in-flight"),
        ("64", "none of the chosen engines keeps jobs in flight"),
    ],
)  # fmt: skip
def test_jobs_in_flight_that_cannot_be(bench: Bench, value: str, says: str) -> None:
    done = bench("run", "--operator", "aes", "--in-flight", value, "--dry-run")
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_a_run_over_jobs_in_flight(real: RealBench) -> None:
    done = real("run", real.plan(in_flight=[32, 96, 1024], engines=["portable", "batches"]), "--name", "r", *BATCHES)
    assert done.returncode == 0, done.stderr
    run = real.record("r")
    assert not schemas.fault("run", run)
    assert [p["id"].rpartition("/")[2] for p in run["points"]] == ["portable", "batches~32", "batches~96", "batches~1024"]
    assert [p["in_flight"] for p in run["points"]] == [0, 32, 96, 1024]
    assert [p["path"].get("in_flight") for p in run["points"]] == [None, 32, 96, 512], "the last as far as the device goes"
    analysed = summarize(real.results / "r")
    points = analysed.points
    assert [p.in_flight for p in points] == [0, 32, 96, 1024] and [p.jobs_in_flight for p in points] == [0, 32, 96, 512]
    assert all(p.primary is not None and p.ratio_to_reference is not None for p in points), "each has figures of its own"
    rows = [record(p, analysed) for p in points]
    assert [(r["driver"], r["device"], r["in_flight"]) for r in rows] == [("", "", 0)] + [("batch-driver", "batch0", n) for n in (32, 96, 512)]
    assert real("compare", "r", "r").returncode == 0
    # The stored plan repeats the run.
    assert dry_run(real, str(real.results / "r/plan.yaml"), *BATCHES[4:])["configurations"][0]["candidates"][1:] == [
        "batches~32", "batches~96", "batches~1024"
    ]  # fmt: skip


def test_resume_finds_its_points_again(real: RealBench) -> None:
    plan = real.plan(in_flight=[32, 96], engines=["portable", "batches"], rounds={"min": 3, "max": 3}, cycles={"min": 40, "max": 40})
    with real.start("run", plan, "--name", "r", *BATCHES) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list(real.results.glob("r/rounds/*.parquet")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    before = real.record("r")
    assert real("resume", "r", *BATCHES[BATCHES.index("--engine-dir") :][:2]).returncode == 0
    after = real.record("r")
    assert [p["id"] for p in after["points"]] == [p["id"] for p in before["points"]]
    assert all(p.rounds == 3 for p in summarize(real.results / "r").points)


@pytest.mark.parametrize(
    ("device", "says"),
    [
        ("eth0", "device 'eth0' is not a device name: give a PCI address (0000:03:00.0), or a DPDK virtual device"),
        ("ffff:ff:1f.7", "device ffff:ff:1f.7: this machine has no PCI device with this address"),
        ("; rm -rf /", "give a PCI address"),
    ],
)
def test_devices_that_are_none(real: RealBench, device: str, says: str) -> None:
    for command in (["run", "--operator", "sha256", "--dry-run"], ["list", "engines"], ["describe", "sha256"]):
        done = real(*command, "--device", device)
        assert done.returncode == 2 and says in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    status, events, told = by_hand(job("portable"), "--device", device)
    assert status == 2 and not events and says in told


def cryptodev_here() -> bool:
    """Return whether this build has DPDK and DPDK has its driver over OpenSSL."""
    _, [hello], _ = by_hand("", "--list")
    [sha256] = [o for o in hello["catalog"]["operators"] if o["name"] == "sha256"]
    return any(e["name"] == "cryptodev-openssl" and e["available"] for e in sha256["engines"])


def test_a_named_device_from_the_command_line_to_the_run(real: RealBench) -> None:
    if not cryptodev_here():
        pytest.skip("no cryptodev engine can run here")
    words = ("--operator", "sha256", "--size", "64B", "--engine", "cryptodev")
    done = real("run", real.plan(), *words)
    assert done.returncode == 4 and "dpubench list engines" in done.stderr, done.stderr
    assert "no device was named: give --device" in real.record()["failures"][0]["message"]
    done = real("run", real.plan(), "--name", "r", *words, "--in-flight", "32,64", "--device", "crypto_openssl3")
    assert done.returncode == 0, done.stderr
    run = real.record("r")
    assert run["setting"]["devices"] == ["crypto_openssl3"]
    assert [(p["path"]["driver"], p["path"]["device"], p["path"]["in_flight"]) for p in run["points"]] == [
        ("crypto_openssl", "crypto_openssl3", n) for n in (32, 64)
    ]
    assert all(p["path"]["is_hardware"] is False for p in run["points"])
    listed = real("list", "engines", "--json", "--device", "crypto_openssl3")
    assert all(e["available"] for e in json.loads(listed.stdout) if e["engine"] == "cryptodev")


def test_a_lost_burst_is_a_failure_of_its_point(real: RealBench) -> None:
    window = {"min_ms": 1, "max_ms": 20, "min_bursts": 60, "threaded_min_ms": 5}
    status, events, _ = by_hand(job("loses-later", "portable", window=window, cycles=20), "--engine-dir", str(FIXTURES))
    assert status == 1
    [failure] = kinds(events, "failure")
    assert failure["point"] == "loses-later" and "still in flight: the device lost them, or hangs" in failure["message"]
    assert len([w for w in kinds(events, "window") if w["point"] == "portable"]) == 40
