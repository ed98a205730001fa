"""The instrument measured: does it call equal things different, find what is there, and mean what its intervals say?"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from dpubench.errors import EnvironmentFault
from dpubench.results import statistics
from dpubench.results.comparison import compare_builds
from dpubench.results.model import Interval
from dpubench.results.statistics import Difference, FloatArray
from dpubench.results.summary import summarize
from scipy.stats import kruskal

from benchmarks import common
from benchmarks.bare import SUFFIX
from benchmarks.common import Bench, Claim, Group

#: Of A/A and power alike: false findings and power belong to one setting. Below the planted 3 %, since at a minimum effect of 3 % (the default of
#: ``dpubench compare``) half of all true 3 % lie below by definition.
EFFECT: Final = 0.01
SLOWED: Final = 0.03  #: tests/fixtures/sha256/slowed.cpp
#: Of the power checks. A single cycle's ratio scatters by 2 to 5 % beside other load, the median of so many by a tenth of that; what then is left are
#: differences between processes (where stack and buffers lie), which only more rounds average.
CYCLES: Final = 50
POWER_ROUNDS: Final = 12
#: One message at a time: windows of large messages stay at the few milliseconds that drift cancels over best.
BURST: Final = 1
SIZES: Final = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


def measure(bench: Bench) -> Iterator[Claim]:
    """A line per check."""
    for check in CHECKS:
        yield check(bench)


def judged(pairs: Sequence[list[FloatArray]], minimum_effect: float) -> list[str]:
    """Verdicts of several pairs, with false-discovery control over all of them."""
    known: list[Difference] = [d for d in map(statistics.paired_difference, pairs) if d is not None]
    adjusted = statistics.benjamini_hochberg([d.p_value for d in known])
    return [statistics.verdict(d, float(q), minimum_effect) for d, q in zip(known, adjusted, strict=True)]


def _sizes(bench: Bench) -> tuple[int, ...]:
    return SIZES[1::3] if bench.quick else SIZES


def _power_rounds(bench: Bench) -> int:
    return bench.rounds if bench.quick else POWER_ROUNDS


def _sha256(engines: dict[str, str], size: int, threads: int = 1, name: str = "") -> Group:
    return common.group("sha256", {"size": str(size)}, engines, name=name, threads=threads, burst=BURST)


def _needed(measured: common.Measured) -> None:
    """@raises EnvironmentFault when something failed that should not: shares of what is left would mislead."""
    for where, reason in measured.failures.items():
        raise EnvironmentFault(f"{where}: {reason}")


# --------------------------------------------------------------------------- checks


def against_itself(bench: Bench) -> Claim:
    """A/A: each engine of each configuration of the quick plan, twice in one group."""
    groups = []
    for one in bench.configurations:
        for engine in (e for e in one.candidates if not e.endswith(SUFFIX)):
            key = f"{one.id}/{engine}"
            groups.append(
                common.group(one.operator, one.params, {f"{key}#a": engine, f"{key}#b": engine}, name=key, burst=one.burst, footprint=one.footprint)
            )
    if bench.quick:
        groups = groups[::5]
    measured = common.measure(bench, groups, range(bench.rounds), 3 if bench.quick else 6)
    pairs = {g["id"]: r for g in groups if len(r := common.ratios(measured.rates, f"{g['id']}#a", f"{g['id']}#b")) >= 2}
    if not pairs:
        _needed(measured)
    verdicts = judged(list(pairs.values()), EFFECT)
    found = [key for key, v in zip(pairs, verdicts, strict=True) if v in ("faster", "slower")]
    # Beside it what the bare test finds: the share that control of discoveries starts from.
    bare = [d.p_value <= 0.05 for d in map(statistics.paired_difference, pairs.values()) if d is not None]
    share = len(found) / len(pairs)
    details = {"points": len(pairs), "different": found, "bare_test_below_0.05": sum(bare), "failures": measured.failures}
    measured_text = f"{100 * share:.1f} % of {len(pairs)}" + (f"; {len(measured.failures)} failed" if measured.failures else "")
    return Claim("instrument", "A/A: points called different", measured_text, "at most 5 %", "pass" if share <= 0.05 else "MISSED", details)


def _power(claim: str, verdicts: Sequence[str], seen: Sequence[Interval]) -> Claim:
    share = verdicts.count("slower") / len(verdicts)
    truth = 1 / (1 + SLOWED)
    widths = [statistics.precision(i) for i in seen]
    details: dict[str, Any] = {"truth": truth, "holding_truth": sum(i.low <= truth <= i.high for i in seen), "ratios": [asdict(i) for i in seen]}
    text = f"{100 * share:.0f} % of {len(verdicts)} (ratios known to {100 * float(np.median(widths)):.2f} %)"
    return Claim("instrument", claim, text, "at least 90 %", "pass" if share >= 0.9 else "MISSED", details)


def planted_slowdown(bench: Bench) -> Claim:
    """Power: an engine with 3 % more work beside the one without."""
    groups = [_sha256({f"p{s}": "portable", f"p{s} slowed": "slowed"}, s) for s in _sizes(bench)]
    measured = common.measure(bench, groups, range(_power_rounds(bench)), CYCLES, [bench.programs / "fixtures"])
    _needed(measured)
    pairs = [common.ratios(measured.rates, f"p{s}", f"p{s} slowed") for s in _sizes(bench)]
    return _power("planted slowdown of 3 % found", judged(pairs, EFFECT), [statistics.ratio_interval(p) for p in pairs])


def live_slowdown(bench: Bench) -> Claim:
    """Power, live: a build whose portable engine does 3 % more work, by ``dpubench run --against`` the build without."""
    other = bench.scratch / "slower-build"
    (other / "engines").mkdir(parents=True)
    for name in ("dpubench-operators", "libdpubench-core.so"):
        shutil.copy2(bench.programs / name, other / name)
    shutil.copy2(bench.programs / "fixtures/sha256__slowed.so", other / "engines/sha256__portable.so")
    # JSON is YAML.
    plan = {
        "operators": ["sha256"], "engines": ["portable"], "sizes": [f"{s}B" for s in _sizes(bench)], "footprints": ["resident"], "budget": "30min",
        "rounds": {"min": _power_rounds(bench), "max": _power_rounds(bench)}, "cycles": {"min": CYCLES, "max": CYCLES}, "bursts": [BURST],
        "window": {"min": "3ms", "max": "5ms", "min_bursts": 20},
    }  # fmt: skip
    (bench.scratch / "live.yaml").write_text(json.dumps(plan), encoding="utf-8")
    words = ("run", bench.scratch / "live.yaml", "--against", bench.programs, "--name", "live", "--results", bench.scratch / "results")
    done = bench.dpubench(*words, environment={"DPUBENCH_PROGRAMS": str(other), "DPUBENCH_FIXTURE_NAME": "portable"})
    if done.returncode != 0:
        raise EnvironmentFault(f"dpubench run --against: ended with status {done.returncode}: {done.stderr[-300:]}")
    rows = compare_builds(summarize(bench.scratch / "results/live"), EFFECT)
    return _power(
        "the same, live: a slower build, run --against the other", [r.verdict for r in rows], [r.ratio for r in rows if r.ratio is not None]
    )


def coverage(bench: Bench) -> Claim:
    """Intervals of ratios, with stopping on, against the value of a run ten times as long.

    The value of the long run is what the tool would say of it: the trimmed mean of all its rounds. The long run is cut into ten runs, one after the
    other. On a machine that others use its state may drift from one to the next, by more than chance allows (Kruskal and Wallis, 1952, on ranks, so
    that no single disturbed round decides): then the short runs are not samples of the long one, and nothing can be said of their intervals. To see
    that the intervals are not at fault, the rounds are also dealt out to the ten runs like cards, so that each sees the whole time.
    """
    blocks, rounds = (3, 8) if bench.quick else (10, 12)
    sizes = _sizes(bench)
    measured = common.measure(bench, [_sha256({f"c{s}": "portable", f"c{s} openssl": "openssl"}, s) for s in sizes], range(blocks * rounds), 3)
    _needed(measured)
    in_turn, dealt, total, p_moved = 0, 0, blocks * len(sizes), 1.0
    for size in sizes:
        medians = np.array([float(np.median(np.log(r))) for r in common.ratios(measured.rates, f"c{size}", f"c{size} openssl")])
        in_turn += _held(medians.reshape(blocks, rounds))
        dealt += _held(medians.reshape(rounds, blocks).T)
        p_moved = min(p_moved, float(kruskal(*medians.reshape(blocks, rounds)).pvalue) * len(sizes))
    (low, high), (low_dealt, high_dealt) = wilson(in_turn, total), wilson(dealt, total)
    moved = p_moved < 0.01
    # With so many intervals the share itself is uncertain: the claim is missed when its own interval lies outside the limits.
    holds, holds_dealt = (a <= 0.97 and b >= 0.93 for a, b in ((low, high), (low_dealt, high_dealt)))
    verdict: common.Verdict = "MISSED" if not holds_dealt else "pass" if holds else "undecided" if moved else "MISSED"
    text = f"{100 * in_turn / total:.1f} % of {total} ({100 * low:.1f} to {100 * high:.1f} %)"
    if moved:
        text += f"; the machine moved meanwhile: {100 * dealt / total:.1f} % with rounds dealt out over the time"
    details = {"held": in_turn, "held_dealt": dealt, "intervals": total, "p_moved": p_moved}
    return Claim("instrument", "intervals that hold a 10 times longer run's value", text, "93 to 97 %", verdict, details)


def _held(runs: FloatArray) -> int:
    """How many of ``runs``, shape (runs, rounds), logarithms, give an interval that holds the value of all of them, stopping when precise enough.

    That value is of the estimator of the intervals, the trimmed mean over all rounds of ``runs``.
    """
    truth = statistics.interval_of_rounds(np.exp(runs)).value
    target = float(statistics.precision(statistics.interval_of_rounds(np.exp(runs[0])))) * 1.1  # stops somewhere before the end
    held = 0
    for one in runs:
        stop = next((n for n in range(statistics.MINIMUM_ROUNDS, one.size) if statistics.has_converged(np.exp(one[:n]), target)), one.size)
        interval = statistics.interval_of_rounds(np.exp(one[:stop]))
        held += interval.low <= truth <= interval.high
    return held


def wilson(held: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    share = held / total
    scale = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / scale
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total**2)) / scale
    return centre - half, centre + half


def crowded_cpu(bench: Bench) -> Claim:
    """Four threads on one CPU do together what one does."""
    cpu = [min(os.sched_getaffinity(0))]
    groups = [_sha256({f"n{n}": "portable"}, 1024, n, f"n{n}") for n in (1, 4)]
    measured = common.Measured()
    rounds = range(3 if bench.quick else bench.rounds)
    for number in rounds:
        measured.take(common.run(bench, common.job(bench, groups, number, 2, cpu)), number)
    _needed(measured)
    shares = [float(np.median(list(measured.rates["n4"][n].values())) / np.median(list(measured.rates["n1"][n].values()))) for n in rounds]
    ratio = statistics.interval_of_rounds(shares)
    verdict: common.Verdict = "pass" if 0.9 <= ratio.value <= 1.1 else "undecided" if ratio.low <= 1.1 and ratio.high >= 0.9 else "MISSED"
    return Claim("instrument", "four spinning threads on one CPU over one thread", common.span(ratio), "0.9 to 1.1", verdict, {"rounds": shares})


CHECKS: Final[tuple[Callable[[Bench], Claim], ...]] = (against_itself, planted_slowdown, live_slowdown, coverage, crowded_cpu)
