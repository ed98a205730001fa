"""Two runs at different times, of builds that differ in one engine: the comparison must find that engine and no other regression.

The first run comes before all other parts, the second after them. In the second, the portable engine of sha256 does more work (a fixture). Without a
planted slowdown, even a blind comparison would pass.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from dpubench.analysis.model import Comparison
from dpubench.errors import EnvironmentFault
from dpubench.studies.operators.comparison import compare
from dpubench.studies.operators.summary import summarize

from benchmarks.common import Bench, Claim, Verdict
from benchmarks.instrument import EFFECT, slowed_copy

BUDGET: Final = "120s"
QUICK_BUDGET: Final = "30s"
#: Planted slowdown in per cent, which a comparison of different times should find in at least half of the cases (docs/methodology.md).
PLANTED_PERCENT: Final = 10
LEAST_FOUND: Final = 0.5
SLOWED: Final = ("sha256", "portable")
#: Operators with each kind of bottleneck that are quick to prepare.
OPERATORS: Final = ("sha256", "toeplitz", "memcpy", "crc", "checksum", "aes")


class Apart:
    """The two runs and their comparison."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._results = bench.scratch / "apart"
        self._begun = 0.0

    def first(self) -> None:
        """Make the first run."""
        self._run("first", {})
        self._begun = time.monotonic()

    def second(self, least_gap_s: float) -> Iterator[Claim]:
        """Wait for ``least_gap_s``, make the second run, and yield a claim on the unchanged engines and one on the changed engine."""
        time.sleep(max(0.0, self._begun + least_gap_s - time.monotonic()))
        gap_min = (time.monotonic() - self._begun) / 60
        slower = slowed_copy(self._bench, "apart-slower")
        environment = {"DPUBENCH_PROGRAMS": str(slower), "DPUBENCH_FIXTURE_NAME": SLOWED[1], "DPUBENCH_FIXTURE_PERCENT": str(PLANTED_PERCENT)}
        self._run("second", environment)
        yield from claims(compare(summarize(self._results / "first"), summarize(self._results / "second"), EFFECT), gap_min)

    def _run(self, name: str, environment: dict[str, str]) -> None:
        known = [o for o in OPERATORS if o in self._bench.catalog.names]
        # JSON is YAML.
        plan = {
            "operators": known,
            "engines": "all",
            "sizes": ["64B", "256B", "1024B", "4096B"],
            "budget": QUICK_BUDGET if self._bench.quick else BUDGET,
        }
        file = self._bench.scratch / "apart.yaml"
        file.write_text(json.dumps(plan), encoding="utf-8")
        done = self._bench.dpubench("run", file, "--name", name, "--results", self._results, environment=environment)
        if done.returncode not in (0, 1):  # 1: a point failed; the other points still count
            raise EnvironmentFault(f"dpubench run: ended with status {done.returncode}: {done.stderr[-300:]}")


def is_slowed(row: Comparison) -> bool:
    """Return whether ``row`` is of the engine with the planted slowdown."""
    words = row.configuration.split("/")
    return (words[0], words[-1]) == SLOWED


def claims(rows: Sequence[Comparison], gap_min: float) -> Iterator[Claim]:
    """Yield claims on a comparison with a planted slowdown: no other row is slower, and the planted rows are found."""
    others = [row for row in rows if not is_slowed(row)]
    counts = Counter(row.verdict for row in others)
    slower = [row.configuration for row in others if row.verdict == "slower"]
    compared = sum(counts[v] for v in ("faster", "slower", "same", "undecided"))
    text = f"{len(slower)} of {compared} called slower ({counts['same']} same, {counts['undecided']} undecided, {counts['faster']} faster)"
    verdict: Verdict = "MISSED" if slower else "pass" if compared else "not run"
    details = {"slower": slower, "gap_min": gap_min}
    yield Claim("apart", f"engines that did not change, {gap_min:.0f} min later: regressions", text, "none", verdict, details)

    planted = [row for row in rows if is_slowed(row) and row.ratio is not None]
    found = sum(row.verdict == "slower" for row in planted)
    verdict = "not run" if not planted else "pass" if found >= LEAST_FOUND * len(planted) else "MISSED"
    claim = f"an engine {PLANTED_PERCENT} % slower in the same run: points found"
    limit = f"at least {100 * LEAST_FOUND:g} %"
    yield Claim("apart", claim, f"{found} of {len(planted)}", limit, verdict, {"rows": [row.configuration for row in planted]})
