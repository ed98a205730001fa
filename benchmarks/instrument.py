"""The instrument measured: does it call equal things different, find what is there, and mean what its intervals say?

    python -m benchmarks.instrument --programs build --output DIR [--quick]

Prints a table of claim, measured figure and limit, writes the same to ``DIR/instrument.json``, and exits with status 1 if a limit is missed. The
checks drive the real program ``dpubench-operators`` and analyse with the package's own statistics.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from dpubench.results import statistics
from dpubench.results.statistics import Difference, FloatArray

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "dpubench-operators"
EFFECT_SOUGHT = 0.01  #: a planted 3 % is sought with a minimum effect below it: at 3 % half of all cases lie below by definition
SLOWED = 0.03  #: tests/fixtures/sha256/slowed.cpp
SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)

Event = dict[str, Any]
#: Per point and round: rate of each (cycle, half).
Rates = dict[str, dict[int, dict[tuple[int, int], float]]]


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    claim: str
    measured: str
    limit: str
    passed: bool
    details: dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """What every check needs."""

    programs: Path
    quick: bool  #: fewer points and rounds; for trying the bench itself
    scratch: Path

    @property
    def rounds(self) -> int:
        return statistics.MINIMUM_ROUNDS


# --------------------------------------------------------------------------- driving the program


def job(groups: list[dict[str, Any]], number: int, cycles: int, control: str = "auto", cpus: Sequence[int] | None = None) -> str:
    """A job as one line."""
    return json.dumps(
        {
            "schema": "dpubench.job/1",
            "seed": 1,
            "round": number,
            "control": control,
            "inputs": {},
            "cpus": list(cpus if cpus is not None else sorted(os.sched_getaffinity(0))),
            "window": {"min_ms": 3, "max_ms": 50, "min_bursts": 100, "threaded_min_ms": 200},
            "cycles": cycles,
            "canaries": True,
            "time_limit_s": 600,
            "groups": groups,
        }
    )


def group(name: str, engines: dict[str, str], size: int, threads: int = 1, footprint: str = "resident", operator: str = "sha256") -> dict[str, Any]:
    """A group of a job; ``engines`` maps point ids to engines."""
    points = [{"id": point, "engine": engine} for point, engine in engines.items()]
    params = {"size": str(size)}
    return {"id": name, "operator": operator, "params": params, "threads": threads, "burst": 32, "footprint": footprint, "points": points}


def run(programs: Path, line: str, engine_dir: Path | None = None) -> list[Event]:
    """Events of one job; a failed job is an error of the bench."""
    command = [str(programs / PROGRAM), *(["--engine-dir", str(engine_dir)] if engine_dir else [])]
    done = subprocess.run(command, input=line.encode(), capture_output=True, check=False)
    events = [json.loads(text) for text in done.stdout.splitlines()]
    if done.returncode != 0:
        failures = "; ".join(str(e.get("message")) for e in events if e["event"] == "failure")
        raise SystemExit(f"{command[0]} ended with status {done.returncode}: {failures or done.stderr.decode()[-400:]}")
    return events


def collect(rates: Rates, events: Sequence[Event], number: int) -> None:
    """Adds the windows of round ``number``; canaries are told apart by their group."""
    for event in events:
        if event["event"] == "window":
            name = event["point"] if not event["point"].startswith("canary") else f"{event['group']} {event['point']}"
            rates[name][number][(event["cycle"], event["half"])] = event["operations"] / event["elapsed_ns"] * 1e9


def measure(bench: Bench, groups: list[dict[str, Any]], rounds: int, cycles: int = 6, engine_dir: Path | None = None) -> Rates:
    """So many rounds of ``groups``, each a fresh process."""
    rates: Rates = defaultdict(lambda: defaultdict(dict))
    for number in range(rounds):
        collect(rates, run(bench.programs, job(groups, number, cycles), engine_dir), number)
    return rates


def ratios(rates: Rates, old: str, new: str) -> list[FloatArray]:
    """Per round the ratios new / old of the cycles that both have whole."""
    found = []
    for number in sorted(rates[old].keys() & rates[new].keys()):
        a, b = rates[old][number], rates[new][number]
        whole = sorted({c for c, _ in a} & {c for c, _ in b})
        keep = [c for c in whole if all((c, h) in side for side in (a, b) for h in (0, 1))]
        mean = [statistics.palindromic_mean([s[c, 0] for c in keep], [s[c, 1] for c in keep]) for s in (a, b)]
        found.append(mean[1] / mean[0])
    return found


def judged(pairs: list[list[FloatArray]], minimum_effect: float) -> list[str]:
    """Verdicts of several pairs, with false-discovery control over all of them."""
    differences = [statistics.paired_difference(pair) for pair in pairs]
    known: list[Difference] = [d for d in differences if d is not None]
    adjusted = statistics.benjamini_hochberg([d.p_value for d in known])
    return [statistics.verdict(d, float(q), minimum_effect) for d, q in zip(known, adjusted, strict=True)]


# --------------------------------------------------------------------------- checks


def against_itself(bench: Bench) -> Result:
    """A/A: each available engine of each operator at its defaults, twice in one group."""
    done = subprocess.run([str(bench.programs / PROGRAM), "--list"], capture_output=True, check=True)
    catalog = json.loads(done.stdout)["catalog"]["operators"]
    groups = []
    for operator in catalog:
        if operator["inputs"]:
            continue  # operators on real inputs need their files; those on generated ones show the same about the instrument
        for index, configuration in enumerate(operator["configurations"]):
            for engine, reason in configuration["engines"].items():
                if not reason:
                    name = f"{operator['name']}.{index}.{engine}"
                    one = group(name, {f"{name}.a": engine, f"{name}.b": engine}, 0, operator=operator["name"])
                    groups.append(one | {"params": configuration["params"], "burst": operator["default_burst"]})
    if bench.quick:
        groups = groups[:4]
    rates = measure(bench, groups, bench.rounds)
    pairs = [ratios(rates, f"{g['id']}.a", f"{g['id']}.b") for g in groups]
    # At the minimum effect of `dpubench compare`, and beside it what the bare test finds: the share that control of discoveries starts from.
    found = [v in ("faster", "slower") for v in judged(pairs, 0.03)]
    bare = [d.p_value <= 0.05 for d in map(statistics.paired_difference, pairs) if d is not None]
    share = sum(found) / len(found)
    details = {"points": len(found), "different": sum(found), "bare_test_below_0.05": sum(bare)}
    return Result("A/A: points called different", f"{100 * share:.1f} % of {len(found)}", "at most 5 %", share <= 0.05, details)


def planted_slowdown(bench: Bench) -> Result:
    """Power: an engine with 3 % more work beside the one without."""
    groups = [group(f"p{s}", {f"p{s}.plain": "portable", f"p{s}.slowed": "slowed"}, s) for s in SIZES[: 3 if bench.quick else None]]
    rates = measure(bench, groups, bench.rounds, cycles=8, engine_dir=bench.programs / "fixtures")
    return _power("power: planted 3 % found", [ratios(rates, f"{g['id']}.plain", f"{g['id']}.slowed") for g in groups])


def _power(claim: str, pairs: list[list[FloatArray]]) -> Result:
    verdicts = judged(pairs, EFFECT_SOUGHT)
    share = verdicts.count("slower") / len(verdicts)
    seen = [statistics.ratio_interval(pair) for pair in pairs]
    truth = 1 / (1 + SLOWED)
    details = {
        "points": len(verdicts),
        "ratios": [asdict(i) for i in seen],
        "truth": truth,
        "holding_truth": sum(i.low <= truth <= i.high for i in seen),
    }
    return Result(claim, f"{100 * share:.0f} % of {len(verdicts)}", "at least 90 %", share >= 0.9, details)


@contextmanager
def stepped(program: Path, line: str, environment: dict[str, str]) -> Iterator[Callable[[str], Event | None]]:
    """A program that runs windows on command; the function yields the window's event, or ``None`` where the program failed."""
    with subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdin is not None and process.stdout is not None  # both are pipes
        give, take = process.stdin, process.stdout

        def await_event(kind: str) -> Event | None:
            return next((event for event in map(json.loads, take) if event["event"] == kind), None)

        give.write(line + "\n")
        give.flush()
        if await_event("ready") is None:
            raise SystemExit(f"{program}: ended before it was ready")

        def window(point: str) -> Event | None:
            give.write(json.dumps({"window": point}) + "\n")
            give.flush()
            return await_event("window")

        yield window
        give.close()


def live_slowdown(bench: Bench) -> Result:
    """Power, live: two builds' programs alternate window by window; the second build's portable engine does 3 % more work."""
    other = bench.scratch / "slower-build"
    shutil.copytree(bench.programs, other, symlinks=True, ignore=lambda _, names: [n for n in names if not _belongs(n)])
    shutil.copyfile(bench.programs / "fixtures/sha256__slowed.so", other / "engines/sha256__portable.so")
    sizes = SIZES[: 3 if bench.quick else None]
    groups = [group(f"p{s}", {f"p{s}": "portable"}, s) for s in sizes]
    # Points of the new side are told apart by a suffix; to the programs both are the same job.
    rates: Rates = defaultdict(lambda: defaultdict(dict))
    for number in range(bench.rounds):
        line = job(groups, number, 1, control="stepped")
        with ExitStack() as both:
            plain = both.enter_context(stepped(bench.programs / PROGRAM, line, dict(os.environ)))
            slow = both.enter_context(stepped(other / PROGRAM, line, dict(os.environ) | {"DPUBENCH_FIXTURE_NAME": "portable"}))
            for size in sizes:
                for cycle in range(9):
                    for half, order in ((0, ((plain, ""), (slow, " slow"))), (1, ((slow, " slow"), (plain, "")))):
                        for window, suffix in order:
                            event = window(f"p{size}")
                            if event is None:
                                raise SystemExit("live comparison: a program ended early")
                            if cycle:  # the first warms up
                                rates[f"p{size}{suffix}"][number][(cycle, half)] = event["operations"] / event["elapsed_ns"] * 1e9
    return _power("power, live: slower build found", [ratios(rates, f"p{s}", f"p{s} slow") for s in sizes])


def _belongs(name: str) -> bool:
    return name in (PROGRAM, "engines") or name.endswith((".so", ".missing"))


def coverage(bench: Bench) -> Result:
    """Intervals of ratios, with stopping on, against the value of a run ten times as long."""
    blocks, rounds = (3, 8) if bench.quick else (10, 12)
    groups = [group(f"c{s}", {f"c{s}.a": "portable", f"c{s}.b": "openssl"}, s) for s in SIZES[: 2 if bench.quick else None]]
    rates = measure(bench, groups, blocks * rounds, cycles=3)
    held, total = 0, 0
    for one in groups:
        medians = np.array([float(np.median(np.log(r))) for r in ratios(rates, f"{one['id']}.a", f"{one['id']}.b")])
        truth = math.exp(float(medians.mean()))
        target = float(statistics.precision(statistics.interval_of_rounds(np.exp(medians[:rounds])))) * 1.1  # stops somewhere before the end
        for block in medians.reshape(blocks, rounds):
            stop = next((n for n in range(statistics.MINIMUM_ROUNDS, rounds) if statistics.has_converged(np.exp(block[:n]), target)), rounds)
            interval = statistics.interval_of_rounds(np.exp(block[:stop]))
            held += interval.low <= truth <= interval.high
            total += 1
    share = held / total
    # With so many intervals the share itself is uncertain; the claim is missed when its own 95 % interval (Wilson 1927) lies outside the limits.
    z = 1.96
    scale = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / scale
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total**2)) / scale
    text = f"{100 * share:.1f} % of {total} ({100 * (centre - half):.1f} to {100 * (centre + half):.1f} %)"
    passed = centre - half <= 0.97 and centre + half >= 0.93
    return Result("intervals that hold a 10 times longer run's value", text, "93 to 97 %", passed, {"held": held, "intervals": total})


def crowded_cpu(bench: Bench) -> Result:
    """Four threads on one CPU do together what one does."""
    cpu = [min(os.sched_getaffinity(0))]
    shares = []
    for number in range(2 if bench.quick else bench.rounds):
        groups = [group(f"n{n}", {f"n{n}": "portable"}, 1024, threads=n) for n in (1, 4)]
        rates: Rates = defaultdict(lambda: defaultdict(dict))
        collect(rates, run(bench.programs, job(groups, number, 2, cpus=cpu)), number)
        one, four = (float(np.median(list(rates[f"n{n}"][number].values()))) for n in (1, 4))
        shares.append(four / one)
    ratio = float(np.median(shares))
    return Result("4 threads on one CPU over one thread", f"{ratio:.3f}", "0.9 to 1.1", 0.9 <= ratio <= 1.1, {"rounds": shares})


def large_run(bench: Bench) -> Result:
    """A run of a million windows, from its directory to the report."""
    sys.path.insert(0, str(ROOT / "tests/python"))
    from simulation import SimulatedPoint, write_run

    sizes = range(64, 64 + (6 if bench.quick else 66))
    points = [SimulatedPoint(o, e, 1e6, {"size": str(s)}) for o in ("aes", "lpm", "sha256") for s in sizes for e in ("portable", "openssl")]
    results = bench.scratch / "results"
    path = write_run(results / "large", points, rounds=30, cycles=21)
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "dpubench", "report", str(path)], capture_output=True, text=True, check=False)
    elapsed = time.monotonic() - begin
    if done.returncode != 0:
        return Result("report of a million windows", f"status {done.returncode}", "at most 10 s", False, {"stderr": done.stderr[-400:]})
    return Result("report of a million windows", f"{elapsed:.1f} s", "at most 10 s", elapsed <= 10, {"points": len(points)})


CHECKS: tuple[Callable[[Bench], Result], ...] = (against_itself, planted_slowdown, live_slowdown, coverage, crowded_cpu, large_run)


# --------------------------------------------------------------------------- table


def table(results: Sequence[Result]) -> str:
    """The results as text."""
    from dpubench.results import text

    return text.table(("claim", "measured", "limit", ""), [(r.claim, r.measured, r.limit, "pass" if r.passed else "FAIL") for r in results])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the checks; 0 if all pass."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instrument", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--programs", type=Path, default=ROOT / "build", help="folder of the native programs, built with -Dtests=true")
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench", help="folder for instrument.json")
    parser.add_argument("--quick", action="store_true", help="few points and rounds, to try the bench itself")
    parser.add_argument("--only", action="append", choices=[check.__name__ for check in CHECKS], help="this check; may be repeated")
    given = parser.parse_args(arguments)
    if not (given.programs / PROGRAM).is_file():
        parser.error(f"--programs {given.programs}: holds no {PROGRAM}; run `make build-tests`")
    results = []
    with tempfile.TemporaryDirectory(prefix="dpubench-bench-") as scratch:
        bench = Bench(given.programs.resolve(), given.quick, Path(scratch))
        for check in CHECKS:
            if not given.only or check.__name__ in given.only:
                results.append(check(bench))
                print(f"{check.__name__}: {results[-1].measured}", file=sys.stderr, flush=True)
    given.output.mkdir(parents=True, exist_ok=True)
    content = {"schema": "dpubench.bench/1", "when": datetime.now(timezone.utc).isoformat(timespec="seconds"), "quick": given.quick}
    content |= {"results": [asdict(r) for r in results]}
    (given.output / "instrument.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(table(results))
    return 0 if all(r.passed for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
