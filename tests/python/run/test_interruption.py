"""Tests of Ctrl-C, SIGTERM and a terminal that hangs up at any moment, two runs at once, full and read-only disks. Nothing measured is lost."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from conftest import Bench
from dpubench import schemas
from dpubench.errors import Interrupted
from dpubench.storage.runs import RunDirectory, read_ndjson
from dpubench.studies.operators.rounds import windows_of
from dpubench.targets._quota import hierarchy
from dpubench.workers.process import StopRequest

SLOW = {"window_s": 0.002}
RUN = ("run", "--name", "r", "--rounds", "6")


def measured(file: str, least: int) -> Callable[[Path], bool]:
    """Return a condition: the events of this part of run ``r`` hold so many windows, or the part is whole."""

    def condition(run: Path) -> bool:
        events = run / f"{file}.ndjson"
        return (run / f"{file}.parquet").exists() or (events.exists() and events.read_bytes().count(b'"window"') >= least)

    return condition


#: Moments of a run by what is there, each later than the one before. From the fourth on there are windows to keep.
MOMENTS: Final[dict[str, Callable[[Path], bool]]] = {
    "Python starts": lambda _: True,
    "a directory": Path.is_dir,
    "a record": lambda run: (run / "run.json").exists(),
    "a selection": measured("selection", 1),
    "between selection and rounds": lambda run: (run / "selection.parquet").exists(),
    "a round": measured("rounds/0000", 1),
    "within a round": measured("rounds/0000", 20),
    "between rounds": lambda run: (run / "rounds/0000.parquet").exists(),
    "a later round": measured("rounds/0001", 1),
    "within a later round": measured("rounds/0002", 20),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_keeps_every_window_and_resume_completes(bench: Bench, moment: str) -> None:
    bench.script(**SLOW)
    process = bench.start(*RUN)
    wait_for(lambda: MOMENTS[moment](bench.results / "r"), 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert bench.workers() == []
    has_windows = list(MOMENTS).index(moment) > list(MOMENTS).index("a record")
    if not has_windows and not (bench.results / "r" / "run.json").exists():
        # The run had not begun, so there is nothing to keep. Python itself ends with 1 when interrupted while it starts or looks for the package.
        is_pythons_own = process.returncode == 1 and ("runpy" in err or "init_import_site" in err)
        assert process.returncode in (130, -signal.SIGINT) or is_pythons_own, (out, err)
        return
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "dpubench resume r" in err
    record = bench.record("r")
    assert record["status"] == "interrupted"
    assert not schemas.fault("run", record)
    before = windows_of(RunDirectory(bench.results / "r")).to_pylist()
    assert before or "round" not in moment or moment == "between selection and rounds"
    bench.script()
    resumed = bench("resume", "r")
    assert resumed.returncode == 0, resumed.stderr
    after = windows_of(RunDirectory(bench.results / "r")).to_pylist()
    key = [(w["point"], w["group"], w["round"], w["cycle"], w["half"], w["operations"]) for w in after]
    assert len(key) == len(set(key))
    assert {(w["point"], w["round"], w["cycle"], w["half"], w["operations"]) for w in before} <= {(k[0], *k[2:]) for k in key}
    record = bench.record("r")
    assert record["status"] == "complete"
    for point in record["points"]:
        assert len({w["round"] for w in after if w["point"] == point["id"]}) >= 6, point["id"]


def test_sigterm_is_the_same(bench: Bench) -> None:
    bench.script(window_s=0.01)
    process = bench.start(*RUN)
    wait_for(lambda: [p for p in (bench.results / "r" / "rounds").glob("*.ndjson") if b'"window"' in p.read_bytes()])
    process.terminate()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "stopped by SIGTERM" in err
    kept = [e for p in (bench.results / "r" / "rounds").glob("*.ndjson") for e in read_ndjson(p)]
    assert any(e["event"] == "window" for e in kept)


def test_a_terminal_that_hangs_up_is_the_same(bench: Bench) -> None:
    bench.script(window_s=0.01)
    leader, terminal = os.openpty()
    # The run has its own session on this terminal. The kernel sends SIGHUP to the session's leader when the other end closes.
    # The tests' own parent may ignore SIGHUP, and programs inherit that.
    process = bench.start(
        *RUN, prefix=("env", "--default-signal=HUP", "setsid", "--ctty", "--wait"), stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    try:
        wait_for(lambda: [p for p in (bench.results / "r" / "rounds").glob("*.ndjson") if b'"window"' in p.read_bytes()])
    finally:
        os.close(leader)
    assert process.wait(timeout=20) == 130
    assert bench.workers() == [] and bench.record("r")["status"] == "interrupted"
    bench.script()
    assert bench("resume", "r").returncode == 0


def test_what_ignores_hang_ups_goes_on(bench: Bench) -> None:
    bench.script(window_s=0.002)
    with bench.start(*RUN, prefix=["nohup"], stdin=subprocess.DEVNULL) as process:
        wait_for(lambda: [p for p in (bench.results / "r" / "rounds").glob("*.ndjson") if b'"window"' in p.read_bytes()])
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert bench.record("r")["status"] == "complete"


def test_a_killed_dpubench_leaves_a_run_that_resumes(bench: Bench) -> None:
    bench.script(window_s=0.01)
    process = bench.start(*RUN)
    wait_for(lambda: [p for p in (bench.results / "r" / "rounds").glob("*.ndjson") if p.stat().st_size > 5000])
    process.kill()
    process.communicate(timeout=20)
    ndjson = next((bench.results / "r" / "rounds").glob("*.ndjson"))
    with ndjson.open("ab") as file:
        file.write(b'{"event":"window","point":"cut sho')
    bench.script()
    resumed = bench("resume")
    assert resumed.returncode == 0, resumed.stderr
    assert bench.record("r")["status"] == "complete"


def test_interrupting_two_builds(bench: Bench) -> None:
    bench.script(window_s=0.005)
    process = bench.start(*RUN, "--against", str(bench.programs))
    wait_for(lambda: [p for p in (bench.results / "r" / "rounds").glob("*.ndjson") if p.stat().st_size > 9000])
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert bench.workers() == []
    bench.script()
    assert bench("resume", "r", "--against", str(bench.programs)).returncode == 0
    assert {p["build"] for p in bench.record("r")["points"]} == {"", "against"}


def test_a_hanging_worker_can_be_interrupted(bench: Bench) -> None:
    bench.script(faults=[{"kind": "fork-hang", "phase": "prepare", "point": ""}])
    process = bench.start(*RUN)
    wait_for(lambda: len(bench.workers()) >= 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130
    assert bench.workers() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [("run", "--target", "local:quota=50%", "--name", "r"), ("target", "check", "local:quota=50%")])
def test_a_stop_before_anything_began_leaves_no_control_group(bench: Bench, command: tuple[str, ...], number: int) -> None:
    parent, reason = hierarchy()
    if parent is None:
        pytest.skip(f"no quota can be set here: {reason}")
    bench.script(list="hang")
    process = bench.start(*command)
    wait_for(lambda: list(parent.glob(f"dpubench-{process.pid}-*")) and bench.workers(), 60)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and re.search("dpubench: (interrupted|stopped by SIG)", err) and "Traceback" not in err, err
    assert bench.workers() == [] and not list(parent.glob(f"dpubench-{process.pid}-*")) and not (bench.results / "r").exists()


def test_a_stop_is_raised_at_once_where_that_was_asked_for() -> None:
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGTERM)  # the request notes the signal for later
        with pytest.raises(Interrupted, match="stopped by SIGTERM"), stop.at_once():
            pytest.fail("it was stopped before")
    with StopRequest() as stop:
        reached = False
        with pytest.raises(Interrupted, match="stopped by SIGINT"), stop.at_once():
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)  # a second signal does not disturb the clean-up
                reached = True
        assert reached


def test_two_runs_at_once_in_one_directory(bench: Bench) -> None:
    bench.script(window_s=0.01)
    first = bench.start(*RUN)
    wait_for(lambda: (bench.results / "r" / "run.json").exists())
    second = bench(*RUN)
    assert second.returncode == 2
    assert f"another dpubench (process {first.pid}) is writing this run" in second.stderr
    third = bench("resume", "r")
    assert third.returncode == 2
    assert "is writing this run" in third.stderr
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=20)
    fourth = bench(*RUN)
    assert fourth.returncode == 2
    assert "exists already" in fourth.stderr and "dpubench resume r" in fourth.stderr


def test_a_complete_run_is_not_resumed(bench: Bench) -> None:
    assert bench("run", "--name", "r", "--rounds", "1", "--operator", "crc").returncode == 0
    done = bench("resume")
    assert done.returncode == 2
    assert "is complete" in done.stderr
    assert "known: r" in resume_error(bench, "r22")


def resume_error(bench: Bench, run: str) -> str:
    return bench("resume", run).stderr


def test_a_results_directory_that_cannot_be_written(bench: Bench) -> None:
    target = bench.folder / "results"
    if os.geteuid() == 0:
        # Permissions do not stop root. A file in place of the directory does, and so does a file system that never takes writes.
        target.write_text("")
        words: tuple[str, ...] = ("no directory", "cannot be written", "File exists")
        done = bench("run", "--results", "/proc/dpubench", "--rounds", "1")
        assert done.returncode == 1, done.stderr
        assert "/proc/dpubench" in done.stderr and "Traceback" not in done.stderr
    else:
        target.mkdir(mode=0o555)
        words = ("no permission",)
    done = bench("run", "--rounds", "1")
    assert done.returncode == 1
    assert any(w in done.stderr for w in words) and "Traceback" not in done.stderr


def test_a_full_disk_keeps_what_was_measured(bench: Bench) -> None:
    place = bench.folder / "small"
    place.mkdir()
    mount = shutil.which("mount")
    mounted = (
        mount is not None
        and os.geteuid() == 0
        and subprocess.run([mount, "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(place)], capture_output=True, check=False).returncode == 0
    )
    if not mounted:
        pytest.skip("needs the right to mount a small tmpfs")
    try:
        done = bench("run", "--results", str(place), "--name", "r", "--rounds", "40")
        assert done.returncode == 1, done.stderr
        assert "the disk is full" in done.stderr and "dpubench resume" in done.stderr and "Traceback" not in done.stderr
        assert bench.workers() == []
        before = windows_of(RunDirectory(place / "r")).num_rows
        assert before > 0
        RunDirectory(place / "r").record()  # the record is whole although the disk is full
        subprocess.run([mount or "mount", "-o", "remount,size=8m", str(place)], check=True)
        resumed = bench("resume", str(place / "r"))
        assert resumed.returncode == 0, resumed.stderr
        assert windows_of(RunDirectory(place / "r")).num_rows >= before
    finally:
        subprocess.run(["umount", str(place)], check=False)


def wait_for(condition: object, limit_s: float = 15) -> None:
    assert callable(condition)
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.02)


def test_the_run_directory_can_be_copied_elsewhere(bench: Bench, tmp_path: Path) -> None:
    assert bench("run", "--name", "r", "--rounds", "2", "--operator", "crc").returncode == 0
    moved = tmp_path / "elsewhere" / "copy"
    shutil.copytree(bench.results / "r", moved)
    shutil.rmtree(bench.results)
    assert windows_of(RunDirectory(moved)).num_rows > 0
