"""Tests of outside programs on a target: ``dpubench-tool`` with the real stress-ng."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dpubench import programs, targets
from dpubench.errors import Interrupted
from dpubench.workers import tool
from dpubench.workers.process import StopRequest, WorkerFault
from dpubench.workers.tool import CpuTimes, Tool, busy_share

LONG = ["--cpu", "2", "--timeout", "60"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which outside programs get their working folders."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def here() -> Iterator[targets.Target]:
    target = targets.find("local")
    target.open()
    yield target
    target.close()


def in_session(session: int) -> list[int]:
    """Return the processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == session:
                found.append(int(entry.name))
        except ProcessLookupError:
            continue
    return found


def gone(session: int) -> bool:
    """Return whether a session's processes have ended, at the latest after some seconds."""
    given_up = time.monotonic() + 10
    while time.monotonic() < given_up:
        if not in_session(session):
            return True
        time.sleep(0.02)
    return False


def start(job: object) -> subprocess.Popen[bytes]:
    """Start dpubench-tool as nobody else does, without a worker around it, and give it a job."""
    program = subprocess.Popen([programs.find(programs.TOOL)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert program.stdin is not None
    program.stdin.write(json.dumps(job).encode() + b"\n")
    program.stdin.flush()
    return program


def started(program: subprocess.Popen[bytes]) -> int:
    """Return the process number of the outside program, which leads a session of its own."""
    assert program.stdout is not None
    while True:
        event = json.loads(program.stdout.readline())
        if event["event"] == "started":
            return int(event["pid"])


def test_the_catalog_says_what_is_there(here: targets.Target) -> None:
    found = tool.present(here)
    assert found.tools["stress-ng"].path == shutil.which("stress-ng") and found.lack("stress-ng") == ""
    assert found.tools["stress-ng"].version.split(".")[0] == "0"
    missing = [name for name, at in found.tools.items() if not at.path]
    assert all(found.lack(name) == f"{name} is not installed there: install package {found.tools[name].package}" for name in missing)
    assert found.root == (os.geteuid() == 0) and set(found.usable_cpus) == os.sched_getaffinity(0)
    assert found.hello["machine"]["cpus_online"] == found.online_cpus


def test_a_program_gives_its_files_and_its_times(here: targets.Target, place: Path) -> None:
    arguments = ["--cpu", "1", "--timeout", "1", "--metrics-brief", "--yaml", "out.yaml"]
    with Tool(here, "stress-ng", arguments, limit_s=30, collect=("out.yaml", "none.txt")) as running:
        before = running.cpu()
        done = running.result()
    assert done.good and done.why().startswith("it ended with status 0: ")
    assert "stressor: cpu" in done.files["out.yaml"] and "none.txt" not in done.files
    assert 1 <= done.elapsed_s < 30 and done.user_s + done.system_s > 0.1 and before.total_ns > 0
    assert list(place.iterdir()) == []


def test_a_reason_before_the_last_line_is_told(here: targets.Target, place: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = ["-s", "-1", "-B", "127.0.0.1", "-p", str(taken.getsockname()[1])]
        why = pytest.raises(WorkerFault, match=r"Address already in use; iperf3: exiting")
        with Tool(here, "iperf3", words, limit_s=30, ready="Server listening") as running, why:
            running.wait_ready()


def test_a_program_that_ends_instead_of_listening_says_why(here: targets.Target, place: Path) -> None:
    why = pytest.raises(WorkerFault, match=r"stress-ng: it ended with status 1: .*no-such-option")
    with Tool(here, "stress-ng", ["--no-such-option"], limit_s=30, ready="listening") as running, why:
        running.wait_ready()
    assert list(place.iterdir()) == []


def test_a_program_that_takes_too_long_is_ended(here: targets.Target) -> None:
    with Tool(here, "stress-ng", LONG, limit_s=0.3) as running:
        done = running.result()
    assert done.over_time and not done.good and done.why().startswith("it took longer than it may")


def test_processor_times_are_told_while_it_works(here: targets.Target) -> None:
    with Tool(here, "stress-ng", ["--cpu", "1", "--timeout", "60"], limit_s=90) as running:
        before = running.cpu()
        time.sleep(0.5)
        after = running.cpu()
    assert after.at_ns - before.at_ns >= 0.5e9
    assert 0 < busy_share(before, after) <= 1


def test_a_stop_ends_everything_that_was_started(here: targets.Target, place: Path) -> None:
    with StopRequest() as stop, pytest.raises(Interrupted), Tool(here, "stress-ng", LONG, limit_s=90, stop=stop) as running:
        running.cpu()
        held = [entry for entry in place.iterdir() if entry.name.startswith("dpubench-tool-")]
        assert len(held) == 1
        stop.set(signal.SIGINT)
        running.result()
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_it_is_killed(number: signal.Signals, place: Path) -> None:
    with start({"schema": "dpubench.tool-job/1", "tool": "stress-ng", "arguments": LONG, "time_limit_s": 90}) as program:
        session = started(program)
        assert in_session(session)
        os.killpg(program.pid, number)
        assert gone(session)
        program.wait(10)
    given_up = time.monotonic() + 10
    while list(place.iterdir()) and time.monotonic() < given_up:
        time.sleep(0.02)
    assert list(place.iterdir()) == []


def test_nothing_is_left_when_nobody_listens_any_more(place: Path) -> None:
    with start({"schema": "dpubench.tool-job/1", "tool": "stress-ng", "arguments": LONG, "time_limit_s": 90}) as program:
        session = started(program)
        assert program.stdout is not None
        program.stdout.close()
        assert gone(session)


def test_folders_of_killed_processes_are_removed_and_no_others(here: targets.Target, place: Path) -> None:
    left = place / "dpubench-tool-left"
    left.mkdir()
    (left / "file").write_text("x", encoding="utf-8")
    (place / "dpubench-tool-link").symlink_to(place)
    (place / "other").mkdir()
    with Tool(here, "stress-ng", ["--version"], limit_s=10) as running:
        running.result()
    assert sorted(entry.name for entry in place.iterdir()) == ["dpubench-tool-link", "other"]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"schema": "dpubench.tool-job/1", "tool": "bash"}, "'bash' is no program that can be run; there are: stress-ng"),
        ({"schema": "dpubench.tool-job/1", "tool": "../stress-ng"}, "is no program that can be run"),
        ({"schema": "dpubench.tool-job/1"}, "/tool: is missing"),
        ({"schema": "dpubench.job/1", "tool": "stress-ng"}, "must be dpubench.tool-job/1"),
        ({"schema": "dpubench.tool-job/1", "tool": "stress-ng", "collect": ["../x"]}, "/collect"),
        ({"schema": "dpubench.tool-job/1", "tool": "stress-ng", "arguments": ["a\0b"]}, "/arguments"),
        ({"schema": "dpubench.tool-job/1", "tool": "stress-ng", "time_limit_s": 0}, "/time_limit_s"),
        ({"schema": "dpubench.tool-job/1", "tool": "stress-ng", "shell": True}, "/shell"),
    ],
)
def test_a_wrong_job_is_refused(job: dict[str, object], words: str) -> None:
    done = subprocess.run([programs.find(programs.TOOL)], input=json.dumps(job).encode() + b"\n", capture_output=True, timeout=20, check=False)
    assert done.returncode == 2 and words in json.loads(done.stdout.splitlines()[-1])["message"]


def test_a_wrong_command_fails_and_ends_the_program() -> None:
    with start({"schema": "dpubench.tool-job/1", "tool": "stress-ng", "arguments": LONG, "time_limit_s": 90}) as program:
        session = started(program)
        assert program.stdin is not None and program.stdout is not None
        program.stdin.write(b'{"dance": true}\n')
        program.stdin.flush()
        assert "unknown command" in json.loads(program.stdout.readlines()[-1])["message"]
        assert program.wait(10) == 1 and gone(session)


def test_busy_time_is_what_programs_and_the_kernel_take() -> None:
    nothing = dict.fromkeys(("user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns", "at_ns"), 0)
    before = CpuTimes(**nothing)
    after = CpuTimes(
        **{**nothing, "user_ns": 1, "nice_ns": 2, "system_ns": 3, "irq_ns": 4, "softirq_ns": 5, "idle_ns": 20, "iowait_ns": 5, "steal_ns": 10}
    )
    assert busy_share(before, after) == 15 / 50
    assert busy_share(before, before) != busy_share(before, before)  # NaN: no tick passed
