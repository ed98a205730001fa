"""Tests of study ``stress`` with the real stress-ng: a run, a stressor that dies, Ctrl-C, adaptive mode, targets, faults of a plan."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from dpubench import programs, schemas, studies, targets
from dpubench.studies.stress import listing
from dpubench.studies.stress.model import CPU_TIME, RATE
from dpubench.workers import tool
from real_program import BUILD

pytestmark = [
    pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed"),
    pytest.mark.skipif(not (BUILD / programs.TOOL).exists(), reason=f"the build has no {programs.TOOL}"),
]
#: Set in the environment of every process of a test, to tell its processes from others.
MARK = "DPUBENCH_TEST_MARK"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts ``dpubench`` in a folder of its own; ``scratch`` there is where outside programs have their working folders."""
    scratch = Path(tempfile.mkdtemp(prefix="dpubench-test-"))
    scratch.chmod(0o711)  # Root's stress-ng runs as nobody, who may not enter pytest's folders.
    (tmp_path / "scratch").symlink_to(scratch)
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "python"), "DPUBENCH_PROGRAMS": str(BUILD), "TMPDIR": str(scratch), "NO_COLOR": "1",
        "COLUMNS": "200", MARK: str(tmp_path),
    }  # fmt: skip

    def run(*words: str) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([sys.executable, "-m", "dpubench", *words], cwd=tmp_path, env=environment, text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    yield run
    shutil.rmtree(scratch, ignore_errors=True)


def ended(process: subprocess.Popen[str], status: int = 0) -> tuple[str, str]:
    out, errors = process.communicate(timeout=100)
    assert process.returncode == status, out + errors
    return out, errors


def processes(folder: Path, name: bytes = b"") -> list[int]:
    """Return the processes of a test, or those of them whose command begins with ``name``."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0") and (entry / "cmdline").read_bytes().split(b"\0")[0].endswith(name):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def await_stressor(folder: Path) -> int:
    """Return the process of stress-ng that measures, as soon as there is one: not one that lists what it can do."""
    until = time.monotonic() + 60
    while not list(folder.glob("results/r/rounds/0000.*")) or not (found := processes(folder, b"stress-ng")):
        assert time.monotonic() < until, "no stressor began"
        time.sleep(0.02)
    return min(found)


def nothing_left(folder: Path) -> bool:
    """Return whether all processes and working folders of a test are gone, at the latest after some seconds."""
    until = time.monotonic() + 10
    while (processes(folder) or any((folder / "scratch").iterdir())) and time.monotonic() < until:
        time.sleep(0.05)
    return not processes(folder) and not any((folder / "scratch").iterdir())


def record(folder: Path, run: str = "r") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results" / run / "run.json").read_text(encoding="utf-8"))
    return found


def test_a_run(start: Start, tmp_path: Path) -> None:
    out, _ = ended(start("run", "stress", "--name", "r", "--workload", "cpu,pipe", "--rounds", "2"))
    assert "2 points, 2 measured in 2 rounds" in out and "next: dpubench show" in out
    told = record(tmp_path)
    assert schemas.fault("run", told) == "" and told["status"] == "complete"
    assert told["stress_ng"]["version"] and told["stress_ng"]["instances"] == len(os.sched_getaffinity(0)) and "origin" not in told
    assert told["stress_ng"]["classes"]["cpu"] == ["cpu"]
    (run,) = studies.find("stress").summaries(tmp_path / "results/r")
    for point in run.points:
        assert len(point.rounds[RATE]) == 2 and all(rate > 0 for rate in point.rounds[RATE]) and all(us > 0 for us in point.rounds[CPU_TIME])
    assert "stress-ng" in (tmp_path / "results/r/report.html").read_text(encoding="utf-8")
    assert nothing_left(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
def test_root_runs_only_those_stressors_as_root_that_need_it(start: Start, tmp_path: Path) -> None:
    # stress-ng refuses `exec` to root, and `chroot` to everybody else.
    out, _ = ended(start("run", "stress", "--name", "r", "--workload", "chroot,exec", "--rounds", "1"))
    assert "2 points, 2 measured in 1 round" in out
    assert record(tmp_path)["stress_ng"]["as_root"] == ["chroot"]
    assert nothing_left(tmp_path)


def test_a_stressor_that_dies_fails_alone(start: Start, tmp_path: Path) -> None:
    process = start("run", "stress", "--name", "r", "--workload", "cpu,vm", "--rounds", "1", "--set", "duration=3s")
    os.kill(await_stressor(tmp_path), signal.SIGKILL)
    out, _ = ended(process, 1)
    assert "2 points, 1 measured" in out
    (failure,) = record(tmp_path)["failures"]
    assert failure["point"] in ("cpu,3s", "vm,3s") and "signal 9" in failure["message"]
    assert nothing_left(tmp_path)


def test_a_stressor_that_runs_over_its_time_is_ended(start: Start, tmp_path: Path) -> None:
    process = start("run", "stress", "--name", "r", "--workload", "cpu", "--rounds", "1", "--set", "duration=1s", "--set", "overtime=1s")
    os.kill(await_stressor(tmp_path), signal.SIGSTOP)
    out, errors = ended(process, 4)
    assert "it was ended 1 s after the 1 s that it was to run" in out + errors
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_and_the_run_goes_on(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    process = start("run", "stress", "--name", "r", "--workload", "cpu,pipe", "--rounds", "2", "--set", "duration=2s")
    await_stressor(tmp_path)
    process.send_signal(number)
    _, errors = ended(process, 130)
    assert "dpubench resume r" in errors and nothing_left(tmp_path)
    assert record(tmp_path)["status"] == "interrupted"
    out, _ = ended(start("resume", "r"))
    assert "2 points, 2 measured" in out and record(tmp_path)["status"] == "complete" and nothing_left(tmp_path)


def test_adaptive_mode_spares_long_runs_where_ranks_are_decided(start: Start, tmp_path: Path) -> None:
    words = ["--target", "local", "--target", "local:cpus=0", "--workload", "cpu,urandom", "--budget", "2min"]
    values = ["duration=1s,2s", "rounds.min=2", "rounds.max=2", "drift=5%"]
    ended(start("run", "stress", "--plan", "adaptive", "--name", "r", *words, *(word for value in values for word in ("--set", value))))
    runs = studies.find("stress").summaries(tmp_path / "results/r")
    assert [run.target for run in runs] == ["local", "local:cpus=0"]
    points = {(run.target, p.id): p for run in runs for p in run.points}
    for run in runs:
        for stressor in ("cpu", "urandom"):
            short, long = points[run.target, f"{stressor},1s"], points[run.target, f"{stressor},2s"]
            assert len(short.rounds[RATE]) == 2
            assert bool(long.spared) != bool(long.rounds) and len(long.rounds.get(RATE, [])) <= 2
    if len(os.sched_getaffinity(0)) > 1:
        assert all(p.rank is not None for (_, name), p in points.items() if name.endswith(",1s"))
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["--workload", "cpuu"], 2, "stress-ng has no stressor 'cpuu'; did you mean 'cpu'?"),
        (["--set", "classes=memry"], 2, "stress-ng has no class 'memry'"),
        (["--set", "exclude=cpuu"], 2, "stress-ng has no stressor 'cpuu'"),
        (["--workload", "cpu", "--set", "classes=vm"], 2, "leaves no stressor"),
        (["--set", "duration=1.5s"], 2, "whole seconds"),
        (["--set", "duration=1s,1s"], 2, "named twice"),
        (["--set", "adaptive=true"], 2, "--set adaptive: adaptive mode needs two durations"),
        (["--set", "reference=bf2"], 2, "'bf2' is none of the run's targets (local)"),
        (["--operator", "aes"], 2, "has no such option"),
        (["--target", "local", "--target", "local"], 2, "given twice"),
    ],
)
def test_faults_of_a_plan(start: Start, tmp_path: Path, words: list[str], status: int, why: str) -> None:
    _, errors = ended(start("run", "stress", *words), status)
    assert why in errors and not (tmp_path / "results").exists()


def test_a_dry_run_names_what_cannot_run_and_no_pathological_stressor(start: Start, tmp_path: Path) -> None:
    told = json.loads(ended(start("run", "stress", "--dry-run", "--json", "--set", "stressors=all"))[0])
    names = [entry["parameters"]["stressor"] for entry in told["points"]]
    assert len(names) > 150 and not {"oom-pipe", "sysinval", "watchdog"} & set(names)
    named = json.loads(ended(start("run", "stress", "--dry-run", "--json", "--workload", "oom-pipe"))[0])
    assert [entry["parameters"]["stressor"] for entry in named["points"]] == ["oom-pipe"]
    (tmp_path / "only.yaml").write_text("study: stress\nclasses: [pipe]\nexclude: [fifo]\n", encoding="utf-8")
    chosen = json.loads(ended(start("run", "only.yaml", "--dry-run", "--json"))[0])["points"]
    assert "pipe" in [entry["parameters"]["stressor"] for entry in chosen] and "fifo" not in [e["parameters"]["stressor"] for e in chosen]
    assert nothing_left(tmp_path)


def test_targets_with_different_versions_are_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dpubench.__main__ import status

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPUBENCH_PROGRAMS", str(BUILD))
    read = listing.read

    def other_version(target: targets.Target, version: str, *, root: bool) -> listing.Listing:
        return read(target, version if target.name == "local" else "0.12.01", root=root)

    monkeypatch.setattr(listing, "read", other_version)
    words = ["run", "stress", "--target", "local", "--target", "local:cpus=0", "--dry-run"]
    assert status(words) == 2
    assert "different versions of stress-ng" in capsys.readouterr().err
    assert status([*words, "--set", "mixed_versions=true"]) == 0


def test_a_target_without_stress_ng_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from dpubench.__main__ import status

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPUBENCH_PROGRAMS", str(BUILD))
    present = tool.present

    def without(target: targets.Target) -> tool.Present:
        found = present(target)
        return tool.Present(**{**vars(found), "tools": {**found.tools, "stress-ng": tool.Found("", "", "stress-ng")}})

    monkeypatch.setattr(tool, "present", without)
    assert status(["run", "stress"]) == 4
    assert "target local: stress-ng is not installed there: install package stress-ng" in capsys.readouterr().err
