"""Tests of traces under the real emulator, of micro kernels whose instructions can be counted by hand, and of captures that go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from arm_kernels import assemble
from dpubench import programs, traces
from dpubench.errors import EnvironmentFault, UserError

ROOT = Path(__file__).resolve().parents[2]


def programs_of_tests() -> Path:
    """Return the folder of the helper programs that tests run."""
    return programs.directory().parent / "tests" if programs.directory().name == "native" else programs.directory() / "tests"


def inspect(folder: Path) -> dict[str, Any]:
    """Return the content of a trace; check that the trace does not contradict itself."""
    done = subprocess.run([programs_of_tests() / "cores-inspect", folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_instructions_are_counted_exactly_from_marker_to_marker(tmp_path: Path) -> None:
    program = assemble(tmp_path, "loop")
    done = traces.capture(program, ["a", "b, c=d"], tmp_path / "trace", kernel="four additions, n=1000")
    found = inspect(tmp_path / "trace")
    assert found["instructions"] == 1 + 1000 * 6 + 1
    assert found["kinds"] == {"integer": 1 + 1000 * 5, "branch": 1000, "nop": 1}
    assert (found["regions"], found["messages"], found["loads"], found["stores"]) == (1, 1000, 0, 0)
    assert found["kernel"] == "four additions, n=1000"
    assert found["cpu"] == "neoverse-n1"
    assert found["program_digest"] == done.program_digest
    assert sorted(p.name for p in (tmp_path / "trace").iterdir()) == ["blocks", "stream"]


def test_every_way_to_access_memory_is_seen(tmp_path: Path) -> None:
    traces.capture(assemble(tmp_path, "accesses"), [], tmp_path / "trace")
    found = inspect(tmp_path / "trace")
    assert found["kinds"] == {"load": 10, "store": 6, "atomic": 6, "integer": 1, "nop": 1, "branch": 3}
    atomics = 8 + 4 + 8 + 16 + 8 + 16
    assert found["loaded_bytes"] == 16 + 32 + 16 + 64 + 48 + 4 + 8 + 16 + 8 + 8 + atomics
    assert found["stored_bytes"] == 16 + 1 + 1 + 8 + 8 + atomics
    assert found["loads"] == 10 + 1 + 6  # a load of 48 bytes counts as two
    assert found["stores"] == 5 + 6  # DC ZVA is no store
    assert found["kernel"] == "accesses0"


def test_a_kernel_gives_the_same_bytes_twice_whatever_the_environment_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = assemble(tmp_path, "accesses")
    traces.capture(program, ["x"], tmp_path / "one")
    monkeypatch.setenv("SOMETHING_LONG", "y" * 5000)
    monkeypatch.setenv("QEMU_LOG", "in_asm")
    traces.capture(program, ["x"], tmp_path / "two")
    for name in ("blocks", "stream"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_only_the_thread_that_opens_the_region_is_recorded(tmp_path: Path) -> None:
    program = assemble(tmp_path, "threads")
    for name in ("one", "two"):
        traces.capture(program, [], tmp_path / name)
        found = inspect(tmp_path / name)
        assert found["kinds"] == {"nop": 2, "atomic": 1000, "load": 1000, "integer": 1000, "branch": 1000}
        assert (found["messages"], found["stores"]) == (1000, 1000)
    assert (tmp_path / "one" / "stream").read_bytes() == (tmp_path / "two" / "stream").read_bytes()


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        (1, ["ended by SIGSEGV", "in a region, after 2 messages"]),
        (2, ["ended by SIGSEGV", "before a region was opened"]),
        (3, ["no region was opened"]),
        (4, ["opened and never closed"]),
        (5, ["a region is opened while one is open", "0x4"]),
        (6, ["a region is closed while none is open", "0x4"]),
        (7, ["still running after its limit of 1 s", "in a region, after 1 messages"]),
        (8, ["exit status 3", "after its last region"]),
    ],
)
def test_a_program_that_goes_wrong_is_reported_and_leaves_nothing(tmp_path: Path, case: int, parts: list[str]) -> None:
    program = assemble(tmp_path / "programs", "faults", case)
    with pytest.raises(EnvironmentFault) as caught:
        traces.capture(program, [], tmp_path / "traces" / "trace", limit_s=1.0 if case == 7 else 60.0)
    for part in parts:
        assert part in str(caught.value)
    assert str(program) in str(caught.value)
    assert list((tmp_path / "traces").iterdir()) == []


def test_no_room_for_the_trace_is_an_error(tmp_path: Path) -> None:
    program = assemble(tmp_path / "programs", "faults", 9)
    # The capture runs in another process, because the limit on the size of files also applies to all that the process starts.
    script = (
        "import resource, sys; from pathlib import Path; from dpubench import traces\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
        "try: traces.capture(Path(sys.argv[1]), [], Path(sys.argv[2]))\n"
        "except traces.EnvironmentFault as fault: print(fault)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    folder = tmp_path / "traces" / "trace"
    done = subprocess.run([sys.executable, "-c", script, program, folder], capture_output=True, text=True, timeout=120, env=environment)
    assert "stream: cannot be written: File too large" in done.stdout, done
    assert list((tmp_path / "traces").iterdir()) == []
    # With enough room the capture succeeds.
    traces.capture(program, [], folder)
    assert inspect(folder)["stores"] == 2_000_000


def test_what_a_killed_capture_left_is_taken_over_by_the_next(tmp_path: Path) -> None:
    endless, loop = assemble(tmp_path / "programs", "faults", 7), assemble(tmp_path / "programs", "loop")
    folder = tmp_path / "traces" / "trace"
    script = "import sys; from pathlib import Path; from dpubench import traces; traces.capture(Path(sys.argv[1]), [], Path(sys.argv[2]))"
    process = subprocess.Popen([sys.executable, "-c", script, endless, folder], env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    partial = folder.with_name("trace.partial")
    try:
        until = time.monotonic() + 30
        while not (partial / "stream").exists() and time.monotonic() < until:
            time.sleep(0.05)
        with pytest.raises(EnvironmentFault, match="being captured by another process"):
            traces.capture(loop, [], folder)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert partial.exists()
    traces.capture(loop, [], folder)
    assert inspect(folder)["messages"] == 1000
    assert [p.name for p in folder.parent.iterdir()] == ["trace"]
    with pytest.raises(UserError, match="already exists"):
        traces.capture(loop, [], folder)


def test_what_cannot_be_traced_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = assemble(tmp_path, "loop")
    with pytest.raises(UserError, match="absent: cannot be traced: No such file"):
        traces.capture(tmp_path / "absent", [], tmp_path / "trace")
    with pytest.raises(UserError, match="is not a program for 64-bit Arm"):
        traces.capture(Path(sys.executable), [], tmp_path / "trace")
    with pytest.raises(EnvironmentFault, match=r"exit status 1 under qemu-aarch64, before a region was opened; it said: .*no-such-core"):
        traces.capture(program, [], tmp_path / "trace", cpu="no-such-core")
    program.chmod(0o644)
    with pytest.raises(UserError, match="is not executable"):
        traces.capture(program, [], tmp_path / "trace")
    program.chmod(0o755)
    with monkeypatch.context() as patch, pytest.raises(UserError, match="there is no tracing plugin"):
        patch.setenv("DPUBENCH_PROGRAMS", str(tmp_path))
        traces.capture(program, [], tmp_path / "trace")
    with monkeypatch.context() as patch, pytest.raises(UserError, match="install the package qemu-user"):
        patch.setenv("PATH", str(tmp_path))
        traces.capture(program, [], tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def plugin_says(arguments: str, emulator: str, program: Path) -> str:
    """Return the plugin's message when it is not loaded by capture()."""
    words = [emulator, "-plugin", f"{programs.trace_plugin()}{arguments}", str(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    return str(done.stderr)


def test_the_plugin_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    program = assemble(tmp_path, "loop")
    assert "give the folder for the trace" in plugin_says("", traces.EMULATOR, program)
    assert "there is no argument 'size=3': use folder=" in plugin_says(",size=3", traces.EMULATOR, program)
    assert "only programs under qemu-aarch64 and qemu-alpha are traced, but this QEMU emulates x86_64" in plugin_says(
        f",folder={tmp_path}", "qemu-x86_64", Path("/bin/true")
    )
    assert "progress: cannot be created: No such file" in plugin_says(f",folder={tmp_path}/none", traces.EMULATOR, program)
    (tmp_path / "stream").touch()
    assert "stream: cannot be created: File exists" in plugin_says(f",folder={tmp_path}", traces.EMULATOR, program)
