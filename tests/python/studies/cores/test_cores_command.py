"""Tests of ``dpubench run cores`` as a user starts it, with the real emulator and simulator and under signals, and of commands that read the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from dpubench import schemas
from dpubench.simulation import models
from kernels_fixtures import CRASHES, arm_bundle
from real_program import RealBench

#: One kernel on four processors per clock.
PLAN = """
study: cores
plan: commanded
target: [model:alpha21264-1999]
kernels: [{name: look, operator: lookup, messages: 128}]
frame_sizes: [64B]
lines: [1Gb/s]
exact: true
comparisons: false
sweeps: [{name: smt, organisation: smt, steps: [1, 2, 3, 4], clocks: [CLOCKS]}]
"""


def plan_of(clocks: int) -> str:
    return PLAN.replace("CLOCKS", ", ".join(f"{100 + i}MHz" for i in range(clocks)))


@pytest.fixture
def cores(real: RealBench, tmp_path: Path) -> RealBench:
    """Return a bench whose kernels come from tests/cores/contract.S."""
    real.environment["DPUBENCH_AARCH64_BUNDLE"] = str(arm_bundle(tmp_path / "arm"))
    routes = tmp_path / "routes.csv"
    routes.write_text("1.0.0.0/8,1\n")
    real.environment["ROUTES"] = str(routes)
    (tmp_path / "plan.yaml").write_text(plan_of(10))
    return real.watched()


def arguments(bench: RealBench) -> list[str]:
    return ["run", "plan.yaml", "--name", "r", "--input", f"routes4={bench.environment['ROUTES']}", "--set", "processes=1"]


def started(bench: RealBench, outcomes: int) -> subprocess.Popen[str]:
    """Start a run of many processors; return its process once that many outcomes exist."""
    (bench.folder / "plan.yaml").write_text(plan_of(100))
    return bench.start_until("r", outcomes, *arguments(bench))


def test_a_run_and_the_commands_that_read_it(cores: RealBench) -> None:
    done = cores(*arguments(cores))
    assert done.returncode == 0, done.stderr
    assert "40 points, 40 with a result, from 40 simulations" in done.stdout and "modelled, general-purpose cores only" in done.stdout
    folder = cores.folder / "results/r"
    assert not schemas.fault("run", json.loads((folder / "run.json").read_text()))
    assert (folder / "report.html").is_file() and (cores.folder / "results/latest").resolve() == folder
    shown = cores("show", "r", "--operator", "lookup")
    assert shown.returncode == 0 and "SMT, 4 contexts" in shown.stdout and "A64 trace" in shown.stdout
    records = json.loads(cores("show", "r", "--json").stdout)["runs"][0]["points"]
    assert len(records) == 40 and all(r["labels"] == list(models.load("alpha21264-1999").labels) for r in records)
    exported = cores("export", "r", "--anonymous", "--csv")
    assert exported.returncode == 0 and len(exported.stdout.splitlines()) == 41
    assert cores("report", "r", "-o", "own.html").returncode == 0
    asked = cores("query", "SELECT count(*) AS n FROM points WHERE step = 4", "--json")
    assert asked.returncode == 0 and json.loads(asked.stdout)[0]["n"] == 10


def test_what_was_simulated_is_taken_from_the_cache_and_compares_as_the_same(cores: RealBench) -> None:
    assert cores(*arguments(cores)).returncode == 0
    again = cores("run", "plan.yaml", "--name", "again", "--input", f"routes4={cores.environment['ROUTES']}", "--json")
    assert again.returncode == 0
    events = [json.loads(line) for line in again.stdout.splitlines()]
    assert [e["cached"] for e in events if e["event"] == "outcome"] == [True] * 40
    assert events[-1] | {"run": "", "report": ""} == {"event": "summary", "run": "", "report": "", "status": 0, "failures": 0, "points": 40}
    compared = cores("compare", "r", "again", "--fail-on", "regression")
    assert compared.returncode == 0 and "40 same" in compared.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_resume_goes_on(cores: RealBench, number: signal.Signals) -> None:
    with started(cores, 3) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert cores.processes() == [] and cores.half_made() == []
    assert "of 400 simulations are kept in" in err and "continue with `dpubench resume r`" in err
    record = json.loads((cores.folder / "results/r/run.json").read_text())
    assert record["status"] == "interrupted" and not schemas.fault("run", record)
    resumed = cores("resume", "r", timeout=300)
    assert resumed.returncode == 0, resumed.stderr
    record = json.loads((cores.folder / "results/r/run.json").read_text())
    assert record["status"] == "complete" and sum(r["outcomes"] for r in record["rounds"]) == 400


def test_a_run_that_was_killed_loses_nothing_that_was_done(cores: RealBench) -> None:
    with started(cores, 5) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    cores.ended()
    before = cores.kept("r")
    assert before >= 5
    resumed = cores("resume", "r", timeout=300)
    assert resumed.returncode == 0, resumed.stderr
    assert cores.processes() == [] and cores.half_made() == []
    record = json.loads((cores.folder / "results/r/run.json").read_text())
    assert record["status"] == "complete" and record["rounds"] == [{"number": 1, "outcomes": 400 - before}]
    assert "400 points, 400 with a result" in cores("show", "r").stdout


def test_an_engine_that_crashes_is_a_failure_with_its_reason(cores: RealBench, tmp_path: Path) -> None:
    cores.environment["DPUBENCH_AARCH64_BUNDLE"] = str(arm_bundle(tmp_path / "crashing", CRASHES))
    done = cores(*arguments(cores))
    assert done.returncode == 4 and "nothing could be simulated" in done.stderr and "SIGSEGV" in done.stderr
    record = json.loads((cores.folder / "results/r/run.json").read_text())
    assert record["status"] == "failed" and record["failures"][0]["phase"] == "trace"


def test_without_its_bundle_or_cluster_it_says_what_to_do(cores: RealBench) -> None:
    cores.environment["DPUBENCH_AARCH64_BUNDLE"] = str(cores.folder / "none.tar.gz")
    done = cores(*arguments(cores))
    assert done.returncode == 2 and "there is no such file: make one with `dpubench bundle --arch aarch64`" in done.stderr
    assert not (cores.folder / "results/r").exists()


def test_a_cluster_that_is_not_there_leaves_a_run_that_can_be_gone_on_with(cores: RealBench) -> None:
    done = cores(*arguments(cores), "--dask", "tcp://127.0.0.1:9", timeout=180)
    assert done.returncode in (1, 2), done.stderr
    assert "dask" in done.stderr.lower()
    record = json.loads((cores.folder / "results/r/run.json").read_text())
    assert record["status"] == "failed"
    (cores.folder / "results/r/plan.yaml").write_text((cores.folder / "results/r/plan.yaml").read_text().replace("tcp://127.0.0.1:9", "''"))
    assert cores("resume", "r").returncode == 0


def test_the_sources_of_a_plan_are_where_the_package_is() -> None:
    assert {p.name for p in (ROOT / "python/dpubench/studies/cores").glob("*.yaml")} == {"quick.yaml", "paper.yaml"}
