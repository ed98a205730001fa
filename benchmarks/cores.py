"""The speed of the processor model (``cores.cpp``): simulated instructions per second of processor time."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import numpy as np
from dpubench.errors import EnvironmentFault

from benchmarks.common import Bench, Claim

LEAST_PER_S = 5e6
INSTRUCTIONS = 5_000_000
LIMIT_S = 120.0


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield one claim: the superscalar model with caches, TLBs and gshare, on a mix of instructions as in packet processing."""
    program = bench.build / "benchmarks" / "cores"
    if not program.is_file():
        yield Claim("cores", "speed of the superscalar model", "", f"at least {LEAST_PER_S / 1e6:g} M/s", "not run", {"why": "built without zstd"})
        return
    rates = []
    for _ in range(3 if bench.quick else 7):
        done = subprocess.run([program, str(INSTRUCTIONS)], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise EnvironmentFault(f"{program}: ended with status {done.returncode}: {done.stderr[-300:]}")
        said = json.loads(done.stdout)
        rates.append(said["instructions"] / said["cpu_s"])
    middle = float(np.median(rates))
    measured = f"{middle / 1e6:.1f} M/s ({min(rates) / 1e6:.1f} to {max(rates) / 1e6:.1f}, {len(rates)} times)"
    what = "speed of the superscalar model: simulated instructions per second"
    yield Claim("cores", what, measured, f"at least {LEAST_PER_S / 1e6:g} M/s", "pass" if middle >= LEAST_PER_S else "MISSED", {"rates": rates})
