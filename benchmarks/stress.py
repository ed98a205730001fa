"""Adaptive mode of study ``stress``: the ranking of fixed runs of 60 s in at most a third of their time.

Recorded runs of others are replayed through the rule of :mod:`dpubench.studies.stress.schedule`: six platforms, six repetitions of 10 s and five of
60 s of each stressor (Liu et al. 2021, as tables in $DPUBENCH_SHARED_DATA/wu). Then both modes run here, on this machine and on a part of it.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench import studies
from dpubench.run.importing import File
from dpubench.studies.measured.rounds import FIGURE
from dpubench.studies.stress import imports
from dpubench.studies.stress.model import RATE, RunSummary
from dpubench.studies.stress.ranking import kendall_tau
from dpubench.studies.stress.schedule import Measured, Rule, wanted

from benchmarks.common import Bench, Claim

SHORT_S: Final = 10
LONG_S: Final = 60
#: Orders in which the recorded repetitions are replayed.
ORDERS: Final = 20
MOST_TIME: Final = 1 / 3
LEAST_TAU: Final = 0.95
#: Run here, in both modes, with a tenth of the times.
STRESSORS: Final = ("cpu", "crypt", "fork", "getdent", "memcpy", "mmap", "pipe", "qsort", "switch", "udp", "urandom", "zlib")
TARGETS: Final = ("local", "local:cpus=0")

#: stressor -> platform -> duration in seconds -> rates
Recorded = Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]]


@dataclass(frozen=True)
class Replay:
    """What a replay of all stressors took and found."""

    seconds: float
    fixed_s: float  #: all recorded long runs
    found: dict[str, list[float]]  #: stressor -> rate of each platform; nan where it has none
    all_long: dict[str, list[float]]  #: the same of all recorded long runs
    others: dict[str, list[float]]  #: the same of the long runs that the replay did not use

    @property
    def share(self) -> float:
        return self.seconds / self.fixed_s


def recorded(folder: Path) -> Recorded:
    """Return the recorded rates in the tables of ``folder``. @raises UserError"""
    found: dict[str, dict[str, dict[int, list[float]]]] = {}
    for member in imports.imported([File(folder / "stress_ng.csv"), File(folder / "stress_ng_runs.csv")]).members:
        seconds = {entry["id"]: (entry["parameters"]["stressor"], int(entry["seconds"])) for entry in member.record["points"]}
        for event in (event for events in member.rounds for event in events):
            if event["event"] == FIGURE and event["quantity"] == RATE:
                stressor, duration = seconds[event["point"]]
                found.setdefault(stressor, {}).setdefault(member.name, {}).setdefault(duration, []).append(event["value"])
    return found


def replay(runs: Recorded, rule: Rule, order: int) -> Replay:
    """Return what the rule makes of ``runs``, whose repetitions come in the ``order``-th of many random orders."""
    draw = random.Random(order)
    platforms = sorted({platform for of in runs.values() for platform in of})
    seconds = fixed_s = 0.0
    found, all_long, others = dict[str, list[float]](), dict[str, list[float]](), dict[str, list[float]]()
    for stressor in sorted(runs):
        both = {p: of for p in platforms if (of := runs[stressor].get(p, {})).get(SHORT_S) and of.get(LONG_S)}
        left = {p: {n: draw.sample(of[n], len(of[n])) for n in (SHORT_S, LONG_S)} for p, of in both.items()}
        measured = {p: Measured() for p in both}
        while lengths := wanted(measured, rule):
            for platform, length in lengths.items():
                target, duration = measured[platform], SHORT_S if length == "short" else LONG_S
                if not left[platform][duration]:  # The recordings have no more of them.
                    target.open = False
                    continue
                (target.short if length == "short" else target.long).append(left[platform][duration].pop())
                seconds += duration
        fixed_s += sum(LONG_S * len(of[LONG_S]) for of in both.values())
        found[stressor] = [measured[p].location if p in both else math.nan for p in platforms]
        all_long[stressor] = [_location(both[p][LONG_S]) if p in both else math.nan for p in platforms]
        others[stressor] = [_location(left[p][LONG_S]) if p in both and left[p][LONG_S] else math.nan for p in platforms]
    return Replay(seconds, fixed_s, found, all_long, others)


def _location(rates: Sequence[float]) -> float:
    return math.fsum(map(math.log, rates)) / len(rates)


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield claims on time and ranking of adaptive mode: of recorded runs, and of runs here."""
    folder = Path(os.environ.get("DPUBENCH_SHARED_DATA", "/nowhere")) / "wu"
    if (folder / "stress_ng.csv").is_file():
        yield from _of_recorded(recorded(folder))
    else:
        yield Claim("stress", "adaptive mode on recorded runs", "no recorded runs: set DPUBENCH_SHARED_DATA", "", "")
    yield from _of_runs_here(bench)


def _of_recorded(runs: Recorded) -> Iterator[Claim]:
    replays = [replay(runs, Rule(), order) for order in range(ORDERS)]
    shares = [r.share for r in replays]
    taus = [kendall_tau(r.found, r.all_long) for r in replays]
    unseen = [kendall_tau(r.found, r.others) for r in replays]
    once = [kendall_tau(r.found, r.all_long) for r in (replay(runs, Rule(shorts=0, longs=1, drift=math.inf), order) for order in range(ORDERS))]
    shorts = kendall_tau(_of_length(runs, SHORT_S), _of_length(runs, LONG_S))
    yield _most("adaptive mode, recorded runs: time over that of all 60 s runs", shares, MOST_TIME)
    yield _least("adaptive mode, recorded runs: Kendall's tau with the ranking by all 60 s runs", taus)
    yield _least("adaptive mode, recorded runs: Kendall's tau with the ranking by the 60 s runs that it did not use", unseen)
    told = f"one 60 s run of each stressor {_middle(once):.3f} in {1 / 5:.0%} of the time; all 10 s runs {shorts:.3f}"
    yield Claim("stress", "for orientation, Kendall's tau of other ways to save time", told, "", "", {"once": once, "shorts": shorts})


def _of_length(runs: Recorded, seconds: int) -> dict[str, list[float]]:
    platforms = sorted({platform for of in runs.values() for platform in of})
    return {s: [_location(rates) if (rates := of.get(p, {}).get(seconds)) else math.nan for p in platforms] for s, of in runs.items()}


def _of_runs_here(bench: Bench) -> Iterator[Claim]:
    """Yield the claims of both modes on this machine and on one CPU of it: times a tenth of the recorded ones, all else the same."""
    chosen = STRESSORS[:3] if bench.quick else STRESSORS
    adaptive = _run(bench, "adaptive", chosen, {"duration": "1s,6s", "adaptive": "true", "rounds.min": "2", "rounds.max": "3"})
    fixed = _run(bench, "fixed", chosen, {"duration": "6s", "rounds.min": "5", "rounds.max": "5"})
    if isinstance(adaptive, str) or isinstance(fixed, str):
        yield Claim("stress", "adaptive mode on this machine", str(adaptive if isinstance(adaptive, str) else fixed), "", "not run")
        return
    yield _most("adaptive mode, here: time over that of five runs of 6 s", [adaptive[1] / fixed[1]], MOST_TIME)
    of = f"the {len(fixed[0])} of {len(chosen)} stressors that these rank"
    claim = f"adaptive mode, here: Kendall's tau with the ranking by five runs of 6 s, over {of}"
    if len(fixed[0]) < len(chosen) / 2:
        excuse = "the rates of this machine scatter more than the targets differ: measure when it is idle"
        yield Claim("stress", claim, "too few", f"at least {LEAST_TAU}", "undecided", may_be_undecided=excuse)
        return
    ranked = {stressor: adaptive[0].get(stressor, [math.nan, math.nan]) for stressor in fixed[0]}
    # A stressor that adaptive mode could not rank agrees with nothing.
    share = sum(stressor in adaptive[0] for stressor in fixed[0]) / len(fixed[0])
    yield _least(claim, [share * kendall_tau(ranked, fixed[0])])


def _run(bench: Bench, name: str, stressors: Sequence[str], values: Mapping[str, str]) -> tuple[dict[str, list[float]], float] | str:
    """Return the rates of a run here and the seconds that its stressors took, or why there are none."""
    results = bench.scratch / "stress"
    values = {"adaptive": "false", **values}
    words: list[str | Path] = ["--plan", "adaptive", "--name", name, "--results", results, "--budget", "1h", "--workload", ",".join(stressors)]
    words += [word for target in TARGETS for word in ("--target", target)]
    words += [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    done = bench.dpubench("run", "stress", *words)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    runs: list[RunSummary] = studies.find("stress").summaries(results / name)
    rates = {stressor: [_final(run, stressor) for run in runs] for stressor in stressors if not _unsure(runs, stressor)}
    return rates, sum(_seconds(Path(run.path)) for run in runs)


def _unsure(runs: Sequence[RunSummary], stressor: str) -> bool:
    """Return whether the repetitions of a stressor scatter so much that the targets cannot be ranked."""
    return any(p.too_noisy for run in runs for p in run.points if p.stressor == stressor and p.is_final)


def _final(run: RunSummary, stressor: str) -> float:
    return next((p.figures[RATE].value for p in run.points if p.stressor == stressor and p.is_final and RATE in p.figures), math.nan)


def _seconds(path: Path) -> float:
    record: dict[str, Any] = json.loads((path / "run.json").read_text(encoding="utf-8"))
    return sum(float(entry["elapsed_s"]) for entry in record["rounds"])


def _most(claim: str, values: Sequence[float], limit: float) -> Claim:
    return _judged(claim, values, f"at most {limit:.3f}", max(values) <= limit)


def _least(claim: str, values: Sequence[float]) -> Claim:
    return _judged(claim, values, f"at least {LEAST_TAU}", min(values) >= LEAST_TAU)


def _judged(claim: str, values: Sequence[float], limit: str, holds: bool) -> Claim:
    return Claim("stress", claim, _spread(values), limit, "pass" if holds else "MISSED", {"values": list(values)})


def _spread(values: Sequence[float]) -> str:
    return f"{_middle(values):.3f}" + (f" ({min(values):.3f} to {max(values):.3f} in {len(values)} orders)" if len(values) > 1 else "")


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
