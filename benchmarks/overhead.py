"""The costs of the harness: an empty engine, the clock, and a lane beside the same kernel as a plain functor (``overhead.cpp``)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import numpy as np
from dpubench.analysis import statistics
from dpubench.errors import EnvironmentFault

from benchmarks import common
from benchmarks.common import Bench, Claim

LIMIT_S = 120


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield three claims: nanoseconds of an empty engine, share of clock readings, lane over functor."""
    program = bench.build / "benchmarks/overhead"
    if not program.is_file():
        raise EnvironmentFault(f"{program}: there is no such program: configure the build with -Dtests=true (`make build-tests`)")
    rounds = []
    for number in range(bench.rounds):
        done = subprocess.run([str(program), str(number), "8" if bench.quick else "48"], capture_output=True, text=True, check=False, timeout=LIMIT_S)
        if done.returncode != 0:
            raise EnvironmentFault(f"{program}: ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
        rounds.append(json.loads(done.stdout))

    empty = statistics.interval_of_rounds([float(np.median(r["empty"]["ns_per_operation"])) for r in rounds])
    text = f"{empty.value:.3f} ns ({empty.low:.3f} to {empty.high:.3f})"
    # Less is better here: the claim fails only where the whole interval is above.
    verdict: common.Verdict = "pass" if empty.value < 1 else "MISSED" if empty.low > 1 else "undecided"
    yield Claim("overhead", "empty engine, burst 32: time per operation", text, "below 1 ns", verdict, {"rounds": [r["empty"] for r in rounds]})

    shares = [float(np.median(r["empty"]["clock_share"])) for r in rounds]
    share = float(np.median(shares))
    measured = f"{100 * share:.4f} % (a reading takes {rounds[0]['clock']['overhead_ns']:.1f} ns)"
    verdict = "pass" if share < 0.001 else "MISSED"
    yield Claim("overhead", "clock readings in a window of an empty engine", measured, "below 0.1 %", verdict, {"rounds": shares})

    pairs = []
    for one in rounds:
        lane, functor = (np.asarray(one["rates"][side]) for side in ("lane", "functor"))
        pairs.append(statistics.palindromic_mean(lane[:, 0], lane[:, 1]) / statistics.palindromic_mean(functor[:, 0], functor[:, 1]))
    ratio = statistics.ratio_interval(pairs)
    row = common.at_least(ratio, 0.95)
    yield Claim(
        "overhead", "kernel of 64 B as a lane over a plain functor", common.span(ratio), "at least 0.95", row, {"rounds": [p.tolist() for p in pairs]}
    )
