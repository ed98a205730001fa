"""``dpubench`` with the real programs, in a folder of the test's own: its commands, their records, and the processes that they leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

_PACKAGE: Final = Path(__file__).resolve().parents[2] / "python"
#: Variable that marks the processes of a test: whoever started them may be gone.
_MARK: Final = "DPUBENCH_TEST_FOLDER"


def environment(folder: Path, package: Path = _PACKAGE) -> dict[str, str]:
    """Return the environment of commands in ``folder``, with the ``package`` that they run."""
    return {**os.environ, "PYTHONPATH": str(package), "NO_COLOR": "1", "COLUMNS": "200", _MARK: str(folder)}


def command_in(folder: Path, package: Path = _PACKAGE) -> Run:
    """Return a function that runs a command in ``folder`` and checks its exit status (``status``; default 0)."""

    def run(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "dpubench", *arguments]
        done = subprocess.run(words, cwd=folder, env=environment(folder, package), capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def dpubench(tmp_path: Path) -> Run:
    """Return a function that runs a command in a folder of its own, and checks its exit status (``status``; default 0)."""
    return command_in(tmp_path)


def interrupted(folder: Path, *arguments: str, begun: str, at_work: str = "", package: Path = _PACKAGE) -> tuple[int, str]:
    """Run a command in ``folder`` and interrupt it when a file that matches ``begun`` is there; return its process number and what it said.

    With the name of a program in ``at_work`` a process of it is at work then, so that a later test for such processes can fail.
    """
    words = [sys.executable, "-m", "dpubench", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=folder, env=environment(folder, package), text=True, **pipes) as process:  # type: ignore[call-overload]
        given_up = time.monotonic() + 60
        while not (there := list(folder.glob(begun)) and (not at_work or programs_left(folder, at_work))) and time.monotonic() < given_up:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        assert there
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    return process.pid, errors


def programs_left(folder: Path, name: str) -> list[str]:
    """Return the processes of the program ``name`` that commands in ``folder`` started and that still exist, whoever their parent is by now."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            first = (entry / "cmdline").read_bytes().split(b"\0")[0]
            marks = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if first.rpartition(b"/")[2] == name.encode() and f"{_MARK}={folder}".encode() in marks:
            found.append(entry.name)
    return found


def record_of(folder: Path) -> dict[str, Any]:
    """Return ``run.json`` of the run in ``folder``."""
    found: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return found
