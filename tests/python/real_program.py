"""``dpubench`` as a real subprocess with the real native program in its own folder, and that program started by hand."""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from conftest import ROOT, Bench
from dpubench import scratch

BUILD = Path(os.environ.get("DPUBENCH_PROGRAMS", ROOT / "build/native"))
PROGRAM = BUILD / "dpubench-operators"
FIXTURES = BUILD / "fixtures"

#: The windows are so short that a run of two engines takes about a second. They still hold enough bursts for the faults of tests/fixtures, which
#: begin after 250.
PLAN = "study: operators\nsilence: {silence}\nwindow: {{min: 1ms, max: 20ms, min_bursts: 60, threaded_min: 5ms}}\n"


class RealBench(Bench):
    """A folder in which the real program runs, with its processes told from all others."""

    def plan(self, name: str = "p.yaml", silence: str = "20s", **more: Any) -> str:
        """Write a plan with short windows and two rounds; return its name."""
        lines = {"cycles": {"min": 3, "max": 3}, "rounds": {"min": 2, "max": 2}, "budget": "60s", "engines": "all"} | more
        text = PLAN.format(silence=silence) + "".join(f"{key}: {json.dumps(value)}\n" for key, value in lines.items())
        (self.folder / name).write_text(text)
        return name

    def workers(self, program: str = "dpubench-operators") -> list[int]:
        """Return the processes of a native program started from this folder that still exist (without those that ended and wait for their parent)."""
        mark = f"XDG_CACHE_HOME={self.environment['XDG_CACHE_HOME']}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    named = program.encode() in (entry / "cmdline").read_bytes().split(b"\0")[0]
                    if named and mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def processes(self) -> list[str]:
        """Return the command lines of all processes started from this folder that still exist: dpubench, programs, emulators."""
        mark = f"XDG_CACHE_HOME={self.environment['XDG_CACHE_HOME']}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    words = (entry / "cmdline").read_bytes()
                    # A traced program has its own environment, but its emulator's command line names folders here.
                    if mark in (entry / "environ").read_bytes().split(b"\0") or f"{self.folder}/".encode() in words:
                        found.append(words.replace(b"\0", b" ").decode("utf-8", "replace"))
        return found

    def watched(self) -> RealBench:
        """Give the bench its own folder for temporary files and return the bench. The folder's path is too long for sockets."""
        place = self.folder / "tmp"
        place.mkdir()
        self.environment["TMPDIR"] = str(place)
        return self

    def half_made(self) -> list[Path]:
        """Return the files and folders of unfinished work, in all places where runs of a :meth:`watched` bench make them."""
        cache = Path(self.environment["XDG_CACHE_HOME"])
        patterns = (*scratch.HALF_MADE, "tmp*")
        # Path.rglob raises when a running program renames a folder under it; os.walk goes on with the other folders.
        entries = (Path(folder, name) for folder, folders, files in os.walk(cache) for name in (*folders, *files))
        places = [path for path in entries if any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)]
        # Only a traced program's machine lies outside the cache; its `lib` leads to programs in the cache.
        machines = [path for path in Path("/tmp").glob("dpubench-traced-*") if os.path.realpath(path / "lib").startswith(f"{cache.resolve()}/")]
        return sorted([*places, *machines, *Path(self.environment["TMPDIR"]).iterdir()])

    def ended(self) -> None:
        """Wait until no process started from this folder exists any more."""
        until = time.monotonic() + 30
        while left := self.processes():
            assert time.monotonic() < until, left
            time.sleep(0.05)

    def kept(self, run: str) -> int:
        """Return the number of simulation outcomes in the rounds of ``run``."""
        return sum(len(file.read_bytes().splitlines()) for file in (self.folder / "results" / run / "rounds").glob("*.ndjson"))

    def start_until(self, run: str, outcomes: int, *arguments: str) -> subprocess.Popen[str]:
        """Start ``dpubench`` with ``arguments`` and wait until ``run`` has that many outcomes; return the process."""
        process = self.start(*arguments)
        end = time.monotonic() + 120
        while self.kept(run) < outcomes:
            assert process.poll() is None and time.monotonic() < end, process.communicate()
            time.sleep(0.02)
        return process


def job(*engines: str, operator: str = "sha256", params: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Return a job of one group; its points have the names of their engines."""
    group = {
        "id": "g", "operator": operator, "params": params if params is not None else {"size": "256"}, "threads": 1, "burst": 32,
        "footprint": "resident", "points": [{"id": e, "engine": e} for e in engines],
    }  # fmt: skip
    return {
        "schema": "dpubench.job/1", "seed": 1, "round": 0, "control": "auto", "inputs": {}, "cpus": sorted(os.sched_getaffinity(0)),
        "window": {"min_ms": 1, "max_ms": 20, "min_bursts": 60, "threaded_min_ms": 5}, "cycles": 2, "canaries": True, "time_limit_s": 60,
        "groups": [group],
    } | more  # fmt: skip


def by_hand(given: str | bytes | dict[str, Any], *arguments: str, timeout: float = 60) -> tuple[int, list[dict[str, Any]], str]:
    """Run the program on a job; return its exit status, its events and its standard error."""
    text = json.dumps(given) if isinstance(given, dict) else given
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run([PROGRAM, *arguments], input=data, capture_output=True, timeout=timeout, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode("utf-8", "replace")


def kinds(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the events of a kind."""
    return [e for e in events if e["event"] == kind]


@contextmanager
def session(given: dict[str, Any], *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the program with its pipes open; kill it at the end."""
    with subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(given).encode() + b"\n")
        process.stdin.flush()
        try:
            yield process
        finally:
            process.kill()
