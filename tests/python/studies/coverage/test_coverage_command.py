"""Tests of ``dpubench run coverage`` as a user starts it, with the real emulator and simulator, and of the commands that read the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT
from dpubench import schemas
from dpubench.simulation import hardware
from kernels_fixtures import ENDLESS, arm_bundle
from real_program import RealBench

SIZES = [f"{64 * i}B" for i in range(1, 13)]


@pytest.fixture
def bench(real: RealBench, tmp_path: Path) -> RealBench:
    """Return a bench whose operators come from tests/cores/contract.S. Its bundle has neither applications nor workloads."""
    real.environment["DPUBENCH_AARCH64_BUNDLE"] = str(arm_bundle(tmp_path / "arm"))
    (tmp_path / "routes.csv").write_text("1.0.0.0/8,1\n")
    (tmp_path / "p.yaml").write_text("study: coverage\nplan: commanded\ntarget: model:neoverse-n1\nmessages: 128\n")
    return real.watched()


def arguments(bench: RealBench, *more: str) -> list[str]:
    routes = [] if any("crc" in word for word in more) else ["--input", f"routes4={bench.folder / 'routes.csv'}"]  # crc does not read routes
    return ["run", "p.yaml", "--name", "r", *routes, *more]


def many(bench: RealBench) -> list[str]:
    """Return the arguments of a run with one simulation per size, one after the other."""
    return arguments(bench, "--operator", "crc/portable", "--size", ",".join(SIZES), "--set", "processes=1")


def kept_of(bench: RealBench, status: str) -> int:
    """Return the number of outcomes in the record of run ``r``; check that its status is ``status``."""
    record = json.loads((bench.folder / "results/r/run.json").read_text())
    assert record["status"] == status and not schemas.fault("run", record)
    return sum(int(r["outcomes"]) for r in record["rounds"])


def test_a_run_and_the_commands_that_read_it(bench: RealBench) -> None:
    done = bench(*arguments(bench))
    assert done.returncode == 0, done.stderr
    assert "3 points, 3 with a result, from 3 simulations" in done.stdout and "modelled, general-purpose cores only" in done.stdout
    folder = bench.folder / "results/r"
    record = json.loads((folder / "run.json").read_text())
    assert not schemas.fault("run", record) and (folder / "report.html").is_file()
    assert any(line.startswith("all applications: the programs for 64-bit Arm do not include dpubench-applications") for line in record["left_out"])
    shown = bench("show", "r", "--operator", "lookup")
    assert shown.returncode == 0 and "lookup" in shown.stdout and "Principal components explain" in shown.stdout
    records = json.loads(bench("show", "r", "--json").stdout)["runs"][0]["points"]
    assert [r["name"] for r in records] == ["aes", "crc", "lookup"] and all(0 < r["characteristics"]["ipc"] < 4 for r in records)
    exported = bench("export", "r", "--anonymous", "--csv")
    assert exported.returncode == 0 and len(exported.stdout.splitlines()) == 4
    assert bench("report", "r", "-o", "own.html").returncode == 0
    asked = bench("query", "SELECT count(*) AS n FROM points WHERE ipc > 0", "--json")
    assert asked.returncode == 0 and json.loads(asked.stdout)[0]["n"] == 3
    again = bench(*["again" if word == "r" else word for word in arguments(bench)], "--json")
    events = [json.loads(line) for line in again.stdout.splitlines()]
    assert [e["cached"] for e in events if e["event"] == "outcome"] == [True] * 3 and events[-1]["event"] == "summary"
    compared = bench("compare", "r", "again", "--fail-on", "regression")
    assert compared.returncode == 0 and "21 same" in compared.stdout
    complete = bench("resume", "r")
    assert complete.returncode == 2 and "is complete" in complete.stderr


def test_options_choose_and_errors_name_their_place(bench: RealBench) -> None:
    dry = bench(*arguments(bench, "--operator", "crc/isal", "--size", "64B,1518B", "--exact", "--dry-run"))
    assert dry.returncode == 0 and "operator crc/isal/1518: crc, isal" in dry.stdout and "2 traces and simulations (whole traces)" in dry.stdout
    wrong = bench(*arguments(bench, "--operator", "crx", "--engine", "portble"))
    assert wrong.returncode == 2
    assert "--operator: unknown operator 'crx'; did you mean 'crc'?" in wrong.stderr
    assert "--engine: no operator has an engine 'portble'; did you mean 'portable'?" in wrong.stderr
    other = bench(*arguments(bench, "--target", "model:neoverse-n2"))
    assert other.returncode == 2 and "did you mean 'neoverse-n1'" in other.stderr
    unknown = bench(*arguments(bench, "--set", "phasis=3"))
    assert unknown.returncode == 2 and "have no such key; did you mean 'phases'?" in unknown.stderr
    assert not (bench.folder / "results/r").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_resume_goes_on(bench: RealBench, number: signal.Signals) -> None:
    with bench.start_until("r", 3, *many(bench)) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert bench.processes() == [] and bench.half_made() == []
    assert f"of {len(SIZES)} simulations are kept in" in err and "continue with `dpubench resume r`" in err
    assert kept_of(bench, "interrupted") >= 3
    resumed = bench("resume", "r", timeout=300)
    assert resumed.returncode == 0, resumed.stderr
    assert kept_of(bench, "complete") == len(SIZES)


def test_a_run_that_was_killed_loses_nothing_that_was_done(bench: RealBench) -> None:
    with bench.start_until("r", 3, *many(bench)) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    bench.ended()
    before = bench.kept("r")
    resumed = bench("resume", "r", timeout=300)
    assert resumed.returncode == 0, resumed.stderr
    assert bench.processes() == [] and bench.half_made() == []
    assert 3 <= before < len(SIZES) == kept_of(bench, "complete") + before


def tracing(bench: RealBench, tmp_path: Path) -> subprocess.Popen[str]:
    """Start a run; return its process once its first kernel is being traced, which never ends."""
    bench.environment["DPUBENCH_AARCH64_BUNDLE"] = str(arm_bundle(tmp_path / "endless", ENDLESS))
    process = bench.start(*many(bench))
    until = time.monotonic() + 60
    while not any((path / "stream").exists() for path in bench.half_made()):
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_kernel_is_traced_leaves_nothing(bench: RealBench, tmp_path: Path, number: signal.Signals) -> None:
    with tracing(bench, tmp_path) as process:
        assert any("qemu-aarch64" in words for words in bench.processes())
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert bench.processes() == [] and bench.half_made() == []
    assert kept_of(bench, "interrupted") == 0


def test_what_a_kill_while_a_kernel_is_traced_leaves_goes_with_the_next_run(bench: RealBench, tmp_path: Path) -> None:
    with tracing(bench, tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    bench.ended()
    assert {path.name.partition("-traced-")[0] for path in bench.half_made() if path.suffix != ".partial"} == {"dpubench"}
    bench.environment["DPUBENCH_AARCH64_BUNDLE"] = str(tmp_path / "arm/bundle.tar.gz")
    resumed = bench("resume", "r", timeout=300)
    assert resumed.returncode == 0, resumed.stderr
    assert bench.processes() == [] and bench.half_made() == []
    assert kept_of(bench, "complete") == len(SIZES)


def test_what_a_kill_left_goes_with_a_run_that_finds_everything_in_the_cache(bench: RealBench) -> None:
    assert bench(*arguments(bench, "--operator", "crc")).returncode == 0
    cache = Path(bench.environment["XDG_CACHE_HOME"]) / "dpubench"
    for place in ("simulations", "traces"):
        (cache / place / ".torn").write_text("{")  # as a process leaves it that is killed while it writes
    again = bench(*["again" if word == "r" else word for word in arguments(bench, "--operator", "crc")])
    assert again.returncode == 0, again.stderr
    assert bench.half_made() == []


def test_this_machine_is_measured_or_says_why_not(bench: RealBench) -> None:
    done = bench("run", "coverage", "--target", "local", "--operator", "md5", "--name", "here")
    try:
        hardware.check()
    except hardware.NoCounters:
        assert done.returncode == 1 and "target local: no hardware counters here" in done.stderr and "--target model:NAME" in done.stderr
        assert not (bench.folder / "results/here").exists()
    else:
        assert done.returncode == 0 and "measured by hardware counters" in done.stdout


def test_the_plans_of_the_study_are_where_the_package_is() -> None:
    assert {p.name for p in (ROOT / "python/dpubench/studies/coverage").glob("*.yaml")} == {"quick.yaml", "full.yaml"}
