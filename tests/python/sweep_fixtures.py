"""Small simulations on real traces, and a list of the running simulators."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arm_kernels import assemble, processor
from dpubench import programs, schemas, traces
from dpubench.simulation.sweep import Context, Simulation


@dataclass(frozen=True)
class Files:
    """A trace of a micro kernel."""

    folder: Path
    digest: str


def make_traces(folder: Path) -> tuple[Files, Files]:
    """Return traces of tests/cores/loop.S (1000 messages) and accesses.S."""
    captured = [traces.capture(assemble(folder, name), [], folder / f"trace-{name}").folder for name in ("loop", "accesses")]
    return Files(captured[0], "a" * 64), Files(captured[1], "b" * 64)


def described(alus: int = 2, **more: Any) -> dict[str, Any]:
    """Return the description of a core that executes every kind of instruction in these traces, with ``alus`` arithmetic units."""
    description = processor() | more
    one = {"latency_cycles": 1, "every_cycles": 1}
    description["units"][0] |= {"count": alus, "executes": {"integer": one, "branch": one, "atomic": one}}
    return description


def sims(traces_: tuple[Files, Files], count: int = 12) -> list[Simulation]:
    """Return different configurations that use the two traces in turn."""
    return [Simulation(f"s{i}", described(1 + i % 8, clock={"mhz": 100 + i}), (Context(traces_[i % 2]),), {"repeat": False}) for i in range(count)]


def long(trace: Files, name: str, million_instructions: int, alus: int = 2) -> Simulation:
    """Return a simulation that takes about a quarter of a second for each million instructions."""
    extent = {"instructions": million_instructions * 1_000_000, "repeat": True}
    return Simulation(name, described(alus, clock={"mhz": 1 + sum(name.encode())}), (Context(trace),), extent)


def directly(simulation: Simulation) -> dict[str, Any]:
    """Return the program's own result of a simulation, run by hand."""
    job = {"schema": schemas.CORES_JOB, "configurations": [simulation.configuration()]}
    done = subprocess.run([programs.directory() / programs.CORES], input=json.dumps(job), capture_output=True, text=True, timeout=300, check=True)
    (result,) = [event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "result"]
    return dict(result)


def simulators(ancestor: int | None = None) -> list[int]:
    """Return the processes of dpubench-cores below ``ancestor`` (below this process when None)."""
    parents: dict[int, int] = {}
    named = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()
                if state[0] != "Z":
                    parents[int(entry.name)] = int(state[1])
                    if (entry / "cmdline").read_bytes().split(b"\0")[0].endswith(programs.CORES.encode()):
                        named.add(int(entry.name))
            except OSError:
                continue

    def is_below(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == (ancestor or os.getpid()):
                return True
        return False

    return sorted(pid for pid in named if is_below(pid))
