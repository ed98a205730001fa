"""The times that a person waits: for the help, for the first window of a prepared plan, for the report of a large run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from dpubench.errors import EnvironmentFault

from benchmarks.common import ROOT, Bench, Claim

FIRST_WINDOW_LIMIT_S = 120


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield three claims, on wall times."""
    yield help_text(bench)
    yield first_window(bench)
    yield large_report(bench)


def _claim(what: str, times: list[float], limit_s: float) -> Claim:
    middle = float(np.median(times))
    measured = f"{middle:.2f} s ({min(times):.2f} to {max(times):.2f}, {len(times)} times)"
    return Claim("startup", what, measured, f"below {limit_s:g} s", "pass" if middle < limit_s else "MISSED", {"times_s": times})


def help_text(bench: Bench) -> Claim:
    """Return the claim on ``dpubench --help``, through the installed command if there is one."""
    installed = Path(sys.executable).parent / "dpubench"
    command = [str(installed)] if installed.is_file() else bench.command()
    times = []
    for number in range(4 if bench.quick else 8):
        begin = time.monotonic()
        done = subprocess.run([*command, "--help"], capture_output=True, env=bench.environment, cwd=bench.scratch, check=False)
        if done.returncode != 0:
            raise EnvironmentFault(f"{' '.join(command)} --help: ended with status {done.returncode}: {done.stderr.decode()[-300:]}")
        if number:  # The first one reads the files.
            times.append(time.monotonic() - begin)
    return _claim("dpubench --help", times, 0.5)


def first_window(bench: Bench) -> Claim:
    """Return the claim on the time from the start of ``dpubench run`` (quick plan) to its first window.

    The first run fills the cache and does not count.
    """
    times = [_until_first_window(bench, f"start-{n}") for n in range(2 if bench.quick else 6)]
    return _claim("first window of a prepared quick plan", times[1:], 2)


def _until_first_window(bench: Bench, name: str) -> float:
    command = bench.command("run", "--json", "--name", name, "--results", bench.scratch / "results")
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=bench.environment, cwd=bench.scratch) as process:
        assert process.stdout is not None  # a pipe
        try:
            for line in process.stdout:
                if b'"window"' in line and json.loads(line)["event"] == "window":
                    return time.monotonic() - begin
                if time.monotonic() - begin > FIRST_WINDOW_LIMIT_S:
                    break
        finally:
            process.send_signal(signal.SIGINT)
            for _ in process.stdout:  # Its remaining output must not block it.
                pass
    raise EnvironmentFault(f"{' '.join(command)}: printed no window within {FIRST_WINDOW_LIMIT_S} s")


def large_report(bench: Bench) -> Claim:
    """Return the claim on a run of a million simulated windows, from its directory to the report."""
    sys.path.insert(0, str(ROOT / "tests/python"))
    from simulated_runs import SimulatedPoint, write_run

    sizes = range(64, 64 + (6 if bench.quick else 66))
    points = [SimulatedPoint(o, e, 1e6, {"size": str(s)}) for o in ("aes", "lpm", "sha256") for s in sizes for e in ("portable", "openssl")]
    path = write_run(bench.scratch / "results/large", points, rounds=30, cycles=21)
    begin = time.monotonic()
    done = bench.dpubench("report", path)
    elapsed = time.monotonic() - begin
    if done.returncode != 0:
        raise EnvironmentFault(f"dpubench report: ended with status {done.returncode}: {done.stderr[-300:]}")
    windows = "100,000" if bench.quick else "a million"
    return _claim(f"report of {windows} windows", [elapsed], 10)
