"""Two runs of an unchanged build, apart in time: nothing may be called a regression.

The first is made before all other parts, the second after them.
"""

from __future__ import annotations

import time
from collections import Counter

from dpubench.errors import EnvironmentFault
from dpubench.results.comparison import compare
from dpubench.results.summary import summarize

from benchmarks.common import Bench, Claim, Verdict
from benchmarks.instrument import EFFECT

BUDGET = "90s"
QUICK_BUDGET = "20s"


class Apart:
    """The two runs."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._results = bench.scratch / "apart"
        self._begun = 0.0

    def first(self) -> None:
        """Makes the first run."""
        self._run("first")
        self._begun = time.monotonic()

    def second(self, least_gap_s: float) -> Claim:
        """Waits until ``least_gap_s`` have passed, makes the second run, and compares."""
        time.sleep(max(0.0, self._begun + least_gap_s - time.monotonic()))
        gap_min = (time.monotonic() - self._begun) / 60
        self._run("second")
        rows = compare(summarize(self._results / "first"), summarize(self._results / "second"), EFFECT)
        counts = Counter(row.verdict for row in rows)
        slower = [row.configuration for row in rows if row.verdict == "slower"]
        compared = sum(counts[v] for v in ("faster", "slower", "same", "undecided"))
        text = f"{len(slower)} of {compared} called slower ({counts['same']} same, {counts['undecided']} undecided, {counts['faster']} faster)"
        verdict: Verdict = "MISSED" if slower else "pass" if compared else "not run"
        details = {"slower": slower, "gap_min": gap_min}
        return Claim("apart", f"an unchanged build {gap_min:.0f} min later: regressions", text, "none", verdict, details)

    def _run(self, name: str) -> None:
        # Operators of each kind of bottleneck that are quick to prepare.
        known = [o for o in ("sha256", "toeplitz", "memcpy", "crc", "checksum", "aes") if o in self._bench.catalog.names]
        budget = QUICK_BUDGET if self._bench.quick else BUDGET
        done = self._bench.dpubench("run", "--operator", ",".join(known), "--budget", budget, "--name", name, "--results", self._results)
        if done.returncode not in (0, 1):  # 1: a point failed; what was measured still tells
            raise EnvironmentFault(f"dpubench run: ended with status {done.returncode}: {done.stderr[-300:]}")
