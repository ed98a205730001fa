"""Tests of targets on this machine: limits that hold and are gone afterwards, an emulated target, several targets in one run."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dpubench import schemas, targets
from dpubench.errors import UserError
from dpubench.plans.load import parse_plan
from dpubench.storage.runs import RunDirectory
from dpubench.studies.operators.draft import plan_for
from dpubench.studies.operators.plan import Plan
from dpubench.studies.operators.rounds import windows_of
from dpubench.targets import EMULATED, RESTRICTED, _quota

if TYPE_CHECKING:
    from conftest import Bench
    from real_program import RealBench

CPUS = sorted(os.sched_getaffinity(0))
NO_QUOTA = _quota.hierarchy()[1]
needs_quota = pytest.mark.skipif(bool(NO_QUOTA), reason=NO_QUOTA)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("locla", "did you mean 'local'?"), ("local:cpu=1", "did you mean 'cpus'?"), ("local:cpus", "write KEY=VALUE"),
        ("local:cpus=", "write KEY=VALUE"), ("local:cpus=1-0", "neither a CPU nor a range"), ("local:cpus=a", "neither a CPU nor a range"),
        ("local:cpus=0,cpus=0", "given twice"), ("local:quota=0%", "between 0% and 100%"), ("local:quota=101%", "between 0% and 100%"),
        ("local:quota=half", "quota"), ("local:cpus=99999", "this process may not use CPU 99999"), ("qemu", "cannot emulate the architecture ''"),
        ("qemu:arm64", "cannot emulate the architecture 'arm64'"), ("qemu:aarch64,cpus=1", "unknown setting 'cpus'"),
    ],
)  # fmt: skip
def test_wrong_targets_are_told(word: str, told: str) -> None:
    with pytest.raises(UserError, match=r"^--target") as raised:
        targets.find(word).open()
    assert told in str(raised.value)


def test_a_list_of_cpus_in_a_setting() -> None:
    assert targets.settings("local:cpus=0-1,3,quota=50%", ("cpus", "quota")) == {"cpus": "0-1,3", "quota": "50%"}


def run_there(target: targets.Target, *words: str) -> str:
    """Return the standard output of a command started on ``target``."""
    path = shutil.which(words[0])
    assert path is not None
    process = target.start(path, words[1:])
    try:
        process.close_stdin()
        said = b""
        while not process.output_ended:
            said += process.read_output()
        return said.decode()
    finally:
        process.kill()
        process.close()


def test_fewer_cpus_hold_for_everything_that_a_program_does() -> None:
    target = targets.find(f"local:cpus={CPUS[-1]}")
    target.open()
    assert target.label == RESTRICTED and target.cpus() == [CPUS[-1]]
    assert run_there(target, "nproc").strip() == "1"
    assert f"Cpus_allowed_list:\t{CPUS[-1]}\n" in run_there(target, "cat", "/proc/self/status")
    assert targets.find("local").label == ""


@needs_quota
def test_a_quota_holds_and_its_group_is_gone_afterwards() -> None:
    target = targets.find(f"local:cpus={CPUS[0]},quota=25%")
    target.open()
    folder = _quota.hierarchy()[0]
    assert folder is not None
    mine = f"dpubench-{os.getpid()}-*"
    assert len(list(folder.glob(mine))) == 1
    spinning = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nprint(time.process_time() / 1)"
    # This is an upper bound only; a busy machine may give less.
    assert float(run_there(target, "python3", "-c", spinning)) < 0.5
    target.close()
    assert list(folder.glob(mine)) == []


@needs_quota
def test_the_group_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    folder = _quota.hierarchy()[0]
    assert folder is not None
    script = (
        "import os, signal; from dpubench.targets import _quota; g = _quota.QuotaGroup(0.5, 1); print(g.path, flush=True); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "python")}
    killed = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    left = Path(killed.stdout.strip())
    assert killed.returncode == -signal.SIGKILL and left.is_dir()
    group = _quota.QuotaGroup(0.5, 1)
    assert not left.exists()
    group.close()
    assert not group.path.exists()


def test_no_control_groups_is_a_reason(tmp_path: Path) -> None:
    assert "no control groups" in _quota.hierarchy(tmp_path)[1]
    (tmp_path / "cgroup.controllers").write_text("memory")
    (tmp_path / "cgroup.subtree_control").write_text("memory")
    assert "echo +cpu >" in _quota.hierarchy(tmp_path)[1]


def test_windows_outlast_many_portions_of_a_quota() -> None:
    plan, _ = parse_plan("window: {min: 3ms, max: 50ms}\n", "plan.yaml")
    assert isinstance(plan, Plan)
    limited = plan_for(plan, targets.find("local:quota=50%"))
    assert limited.window.min == limited.window.max == _quota.PERIODS_IN_WINDOW * _quota.PERIOD_US / 1e6
    assert plan_for(plan, targets.find("local")).window == plan.window


def test_an_emulated_target_runs_every_engine_once() -> None:
    plan, _ = parse_plan("engines: best-and-reference\n", "plan.yaml")
    assert isinstance(plan, Plan)
    emulated = plan_for(plan, targets.find("qemu:aarch64"))
    assert emulated.engines == "all" and emulated.rounds.max == emulated.cycles.max == 1
    assert emulated.target == ["qemu:aarch64"]


def test_programs_in_an_emulator_are_verified_and_never_timed(real: RealBench) -> None:
    """The test emulates this machine's own architecture, because its programs exist; `make arm` tests the other one."""
    machine = platform.machine()
    assert shutil.which(f"qemu-{machine}"), "install the package qemu-user (scripts/packages.txt, group test)"
    done = real("run", "--operator", "crc,lz77", "--target", f"qemu:{machine}", "--name", "emulated", timeout=300)
    assert done.returncode == 0, done.stderr
    record = real.record("emulated")
    assert record["target_info"] == {"spec": f"qemu:{machine}", "label": EMULATED, "emulated": True}
    measured = [p for p in record["points"] if not p["unavailable"]]
    assert {p["operator"] for p in measured} == {"crc", "lz77"}
    assert all(p["verified"]["compared"] > 0 and not p["failure"] for p in measured)
    assert {p["engine"] for p in measured if p["operator"] == "lz77"} == {"portable", "lz4"}  # all engines: nothing is chosen by speed
    report = (real.results / "emulated" / "report.html").read_text(encoding="utf-8")
    assert EMULATED in report


TWO = ("run", "--name", "two", "--rounds", "6", "--target", "local", "--target", f"local:cpus={CPUS[0]}")
NAMES = ["local", f"local:cpus={CPUS[0]}"]


def rounds(bench: Bench, name: str) -> list[dict[str, Any]]:
    member = RunDirectory(bench.results / "two").member_of_target(name)
    assert member is not None
    return list(bench.record(str(member.path.relative_to(bench.results)))["rounds"])


def test_two_targets_take_turns(bench: Bench) -> None:
    done = bench(*TWO)
    assert done.returncode == 0, done.stderr
    record = bench.record("two")
    assert not schemas.fault("run-set", record)
    assert [(t["name"], t["label"], t["status"]) for t in record["targets"]] == [(NAMES[0], "", "complete"), (NAMES[1], RESTRICTED, "complete")]
    assert record["status"] == "complete" and record["baseline"] == "local"
    for member in RunDirectory(bench.results / "two").members():
        assert not schemas.fault("run", member.record())
        assert len(member.whole_rounds()) == 6
    report = (bench.results / "two" / "report.html").read_text(encoding="utf-8")
    assert RESTRICTED in report
    assert bench.workers() == []


def test_targets_alternate_round_by_round(bench: Bench) -> None:
    process = bench("run", "--json", *TWO[1:])
    assert process.returncode == 0, process.stderr
    order = [p["point"].endswith(f"@{NAMES[1]}") for line in process.stdout.splitlines() if (p := json.loads(line))["event"] == "verified"]
    turns = [here for i, here in enumerate(order) if i == 0 or here != order[i - 1]]
    # The order is first, second, second, first, first, ...; adjacent turns of one target count as one. Targets in sequence would give two turns.
    assert len(turns) >= 6


@pytest.mark.parametrize("rounds", [0, 1, 2, 4])
def test_ctrl_c_ends_every_target_and_resume_completes(bench: Bench, rounds: int) -> None:
    """The interruption comes when both targets together have begun so many rounds: before any, in the first of each, in a later turn."""
    bench.script(window_s=0.003)
    process = bench.start(*TWO)
    whole = bench.results / "two"
    given_up = time.monotonic() + 60
    while not ((whole / "run.json").exists() and len({file.with_suffix("") for file in whole.glob("targets/*/rounds/*")}) >= rounds):
        assert process.poll() is None and time.monotonic() < given_up
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert bench.workers() == []
    assert process.returncode == 130 and "dpubench resume two" in err
    assert {t["status"] for t in bench.record("two")["targets"]} == {"interrupted"}
    before = {m.path.name: windows_of(m).num_rows for m in RunDirectory(bench.results / "two").members()}
    bench.script()
    resumed = bench("resume", "two")
    assert resumed.returncode == 0, resumed.stderr
    assert bench.record("two")["status"] == "complete"
    for member in RunDirectory(bench.results / "two").members():
        assert member.record()["status"] == "complete"
        assert windows_of(member).num_rows > before[member.path.name]
    again = bench("resume", "two")
    assert again.returncode == 2 and "nothing is left to resume" in again.stderr


def test_a_target_whose_program_breaks_leaves_the_others(bench: Bench) -> None:
    bench.script(faults=[{"phase": "hello", "point": f"@{NAMES[1]}", "kind": "exit3"}])
    done = bench(*TWO)
    assert done.returncode == 1
    record = bench.record("two")
    assert [t["status"] for t in record["targets"]] == ["complete", "failed"]
    assert "before it measured anything" in record["targets"][1]["lost"]
    assert f"{NAMES[1]}: " in done.stderr and "the others go on" in done.stderr


def test_what_belongs_to_this_machine_is_refused_elsewhere(bench: Bench) -> None:
    for option in (("--engine-dir", str(bench.folder)), ("--against", str(bench.programs))):
        done = bench("run", "--target", "local", "--target", f"local:cpus={CPUS[0]}", *option)
        assert done.returncode == 2 and f"{option[0]} works only with target local: remove --target local:cpus={CPUS[0]}" in done.stderr
    done = bench("run", "--target", "local", "--target", "local")
    assert done.returncode == 2 and "--target local: is given twice" in done.stderr


def test_dry_run_of_two_targets(bench: Bench) -> None:
    done = bench(*TWO, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["targets"]
    assert set(told) == set(NAMES) and all(t["points"] > 0 for t in told.values())
    assert not (bench.results / "two").exists()
    text = bench(*TWO, "--dry-run").stdout
    assert f"target {NAMES[1]} ({RESTRICTED})" in text and "share the budget" in text
