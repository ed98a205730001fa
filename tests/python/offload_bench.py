"""Benches for study ``offload``: the scripted program behind scripted launchers, or behind the real one of this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from conftest import Bench

HERE = Path(__file__).parent
LAUNCHERS = ("mpirun.openmpi", "mpirun", "mpiexec.hydra", "srun")


def one(
    *more: str, workload: str = "broadcast", paths: str = "staged", size: str = "4KiB", hosts: str = "2", workers: str = "1", rounds: str = "1"
) -> list[str]:
    """Return the words of a run of one point in one round, or of what is given."""
    return [
        "run", "offload", "--workload", workload, "--set", f"paths={paths}", "--size", size, "--set", f"hosts={hosts}", "--set", f"workers={workers}",
        "--rounds", rounds, *more,
    ]  # fmt: skip


def with_program(bench: Bench, *launchers: str) -> Bench:
    """Give ``bench`` the scripted program, and stand-ins for ``launchers`` in front of those of this machine."""
    program = bench.programs / "dpubench-offload"
    program.write_text(f'#!/bin/sh\nPROGRAM="$0" exec "{sys.executable}" -S -E "{HERE / "scripted_offload.py"}" "$@"\n')
    program.chmod(0o755)
    path = bench.folder / "path"
    path.mkdir()
    for name in launchers:
        (path / name).symlink_to(HERE / "scripted_launcher.py")
    bench.environment |= {"PATH": f"{path}:{bench.environment['PATH']}", "CALLS": str(bench.folder / "calls")}
    return bench


def calls(bench: Bench) -> list[dict[str, Any]]:
    """Return how the scripted launchers were called."""
    return [json.loads(line) for line in (bench.folder / "calls").read_text().splitlines()]


def left_in_memory(bench: Bench) -> list[str]:
    """Return the folders of sessions that runs of ``bench`` left in shared memory."""
    return [path.name for path in Path("/dev/shm").glob("dpubench-offload-*") if any(f"-{pid}-" in path.name for pid in bench.started)]
