"""Shared code of the parts of `make bench`: claims, jobs for dpubench's own workers, ratios of points that alternated."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from dpubench import catalog, inputs, programs, studies, targets
from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.analysis.statistics import FloatArray
from dpubench.errors import EnvironmentFault
from dpubench.plans.load import Where, read_plan
from dpubench.studies.operators.configuration import Configuration, Expansion
from dpubench.studies.operators.expand import expand
from dpubench.studies.operators.plan import Plan
from dpubench.workers.ask import ask
from dpubench.workers.process import WorkerFault

ROOT: Final = Path(__file__).resolve().parents[1]
#: Constant over rounds: all use the same messages and differ in process and memory layout only (the job's ``round`` moves the buffers).
SEED: Final = 1
#: Shorter than in a run where bursts are slow: a ratio needs many windows rather than long ones.
WINDOW: Final = {"min_ms": 3, "max_ms": 20, "min_bursts": 20, "threaded_min_ms": 200}
SILENCE_S: Final = 120.0
LIMIT_S: Final = 600.0

#: Folders of a build from which ``dpubench-operators`` loads files at run time.
BUILD_FOLDERS: Final = ("engines", programs.LAYOUTS)

Event = dict[str, Any]
Group = dict[str, Any]
#: Point -> round -> rate of each (cycle, half), in operations per second.
Rates = defaultdict[str, dict[int, dict[tuple[int, int], float]]]
Verdict = Literal["pass", "undecided", "MISSED", "not run", ""]


@dataclass(frozen=True)
class Claim:
    """One row of the table; an empty verdict marks a figure for orientation."""

    part: str
    claim: str
    measured: str
    limit: str
    verdict: Verdict
    details: dict[str, Any] = field(default_factory=dict)
    may_be_undecided: str = ""  #: reason why *undecided* is an answer here; without a reason it is a failure

    @property
    def failed(self) -> bool:
        """Return whether this claim makes the bench fail."""
        return self.verdict in ("MISSED", "not run") or (self.verdict == "undecided" and not self.may_be_undecided)


@dataclass(frozen=True)
class Bench:
    """The data that every part needs."""

    build: Path  #: build folder, configured with -Dtests=true
    quick: bool  #: fewer points, cycles and repeats, to see within minutes that everything works; figures are rougher
    scratch: Path  #: folder that is removed when the bench ends

    @property
    def program(self) -> Path:
        return programs.operators_program(self.build)

    @property
    def programs(self) -> Path:
        """Return the folder of ``dpubench-operators``, with ``engines``, ``bare`` and ``fixtures`` beside it."""
        return self.program.parent

    @property
    def rounds(self) -> int:
        return statistics.MINIMUM_ROUNDS

    @cached_property
    def catalog(self) -> catalog.Catalog:
        """Return the operators and engines of the build, bare loops included."""
        bare = self.programs / "bare"
        return catalog.read_here(self.program, [bare] if bare.is_dir() else [], use_cache=False)

    @cached_property
    def inputs(self) -> inputs.Resolved:
        """Return the default inputs of every operator, on which ``dpubench run`` measures."""
        return inputs.resolve(self._expansion.inputs, {})

    @cached_property
    def _expansion(self) -> Expansion:
        path = studies.plan_path("operators", "quick")
        plan, lines = read_plan(path)
        assert isinstance(plan, Plan)  # of study operators
        cpus = len(os.sched_getaffinity(0))
        return expand(plan, self.catalog, cpus, Where(str(path), lines))

    @cached_property
    def configurations(self) -> list[Configuration]:
        """Return the configurations of the quick plan of study ``operators`` here, with all their engines, bare loops included."""
        return [c for c in self._expansion.configurations if c.candidates and not c.inputs & set(self.inputs.missing)]

    @cached_property
    def excluded(self) -> dict[tuple[str, str], str]:
        """Return the engines that the quick plan leaves out, by operator and name, with the reason."""
        plan, _ = read_plan(studies.plan_path("operators", "quick"))
        assert isinstance(plan, Plan)  # of study operators
        return {(rule.operator, rule.engine): rule.reason for rule in plan.exclude if rule.engine}

    def command(self, *arguments: str | Path) -> list[str]:
        """Return a ``dpubench`` command line of this Python."""
        return [sys.executable, "-m", "dpubench", *map(str, arguments)]

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment for :meth:`command`, which finds this build's programs."""
        return {**os.environ, "DPUBENCH_PROGRAMS": str(self.programs)}

    def copy(self, name: str) -> Path:
        """Copy the programs and engines that ``dpubench run --against`` needs to a scratch folder, and return it."""
        other = self.scratch / name
        other.mkdir()
        for part in self.programs.iterdir():
            if part.is_dir() and part.name in BUILD_FOLDERS:
                shutil.copytree(part, other / part.name, ignore=shutil.ignore_patterns("*.p"))
            elif part.is_file() and (part.name == programs.OPERATORS or part.suffix == ".so"):
                shutil.copy2(part, other / part.name)
        return other

    def dpubench(self, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a ``dpubench`` command to its end."""
        return subprocess.run(
            self.command(*arguments), env={**self.environment, **(environment or {})}, capture_output=True, text=True, check=False, cwd=self.scratch
        )


# --------------------------------------------------------------------------- jobs


def group(
    operator: str,
    params: Mapping[str, str],
    engines: Mapping[str, str],
    *,
    name: str = "",
    burst: int = 32,
    footprint: str = "resident",
    threads: int = 1,
) -> Group:
    """Return a group of a job, named after its operator and parameters or ``name``; ``engines`` maps point ids to engines."""
    points = [{"id": point, "engine": engine} for point, engine in engines.items()]
    head = {"id": name or f"{operator}/{label(params)}", "operator": operator, "params": dict(params)}
    return head | {"threads": threads, "burst": burst, "footprint": footprint, "points": points}


def job(
    bench: Bench,
    groups: Sequence[Group],
    number: int,
    cycles: int,
    cpus: Sequence[int] | None = None,
    window: Mapping[str, int] = WINDOW,
) -> bytes:
    """Return round ``number`` of ``groups`` as a job."""
    content = {
        "schema": "dpubench.job/1",
        "seed": SEED,
        "round": number,
        "control": "auto",
        "inputs": bench.inputs.for_job(),
        "cache_dir": str(programs.cache_directory() / "prepared"),
        "cpus": list(cpus if cpus is not None else sorted(os.sched_getaffinity(0))),
        "window": window,
        "cycles": cycles,
        "canaries": False,
        "time_limit_s": LIMIT_S,
        "groups": list(groups),
    }
    return json.dumps(content).encode() + b"\n"


def loops(bench: Bench, name: str, folders: Sequence[Path]) -> Callable[[bytes], list[Event]]:
    """Return a function that runs a job with a program of ``benchmarks/``, which times engines in its own loops, on ``folders`` of engines.

    The function raises WorkerFault when the program died, hung or printed no event. @raises EnvironmentFault when there is no such program
    """
    program = bench.build / "benchmarks" / name
    if not program.is_file():
        raise EnvironmentFault(f"{program}: there is no such program: configure the build with -Dtests=true (`make build-tests`)")

    def carry_out(line: bytes) -> list[Event]:
        try:
            done = subprocess.run([program, *folders], input=line, capture_output=True, check=False, timeout=LIMIT_S)
            events = [json.loads(text) for text in done.stdout.splitlines()]
        except subprocess.TimeoutExpired:
            raise WorkerFault(f"{program}: did not end within {LIMIT_S:g} s", "hang") from None
        except ValueError as error:
            raise WorkerFault(f"{program}: printed what is no event: {error}", "rubbish") from None
        if done.returncode not in (0, 1):  # 1: an event names the failure
            raise WorkerFault(f"{program}: ended with status {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-300:]}", "crash")
        return events

    return carry_out


def run(bench: Bench, line: bytes, engine_dirs: Iterable[Path] = ()) -> list[Event]:
    """Return the events of one job. @raises WorkerFault when the program died, hung or broke the contract."""
    arguments = [word for directory in engine_dirs for word in ("--engine-dir", str(directory))]
    return ask(targets.find("local"), str(bench.program), arguments, line, silence_s=SILENCE_S, limit_s=LIMIT_S)


@dataclass
class Measured:
    """Windows of several rounds, and failures."""

    rates: Rates = field(default_factory=lambda: defaultdict(lambda: defaultdict(dict)))
    failures: dict[str, str] = field(default_factory=dict)  #: point -> reason
    prepared: dict[str, Event] = field(default_factory=dict)  #: point -> its event

    def take(self, events: Iterable[Event], number: int) -> None:
        """Add the events of round ``number``."""
        for event in events:
            if event["event"] == "window" and event["operations"]:
                self.rates[event["point"]][number][(event["cycle"], event["half"])] = event["operations"] / event["elapsed_ns"] * 1e9
            elif event["event"] == "failure":
                self.failures.setdefault(event.get("point") or event.get("group") or "job", f"{event['phase']}: {event['message']}")
            elif event["event"] == "prepared":
                self.prepared[event["point"]] = event


def measure(
    bench: Bench, groups: Sequence[Group], rounds: Iterable[int], cycles: int, engine_dirs: Sequence[Path] = (), into: Measured | None = None
) -> Measured:
    """Measure rounds of ``groups`` with dpubench-operators."""
    return measure_with(lambda line: run(bench, line, engine_dirs), bench, groups, rounds, cycles, into)


def measure_with(
    carry_out: Callable[[bytes], Iterable[Event]],
    bench: Bench,
    groups: Sequence[Group],
    rounds: Iterable[int],
    cycles: int,
    into: Measured | None = None,
    window: Mapping[str, int] = WINDOW,
) -> Measured:
    """Measure rounds of ``groups``, each operator in its own fresh processes, so that a broken one does not affect the others.

    ``carry_out`` returns a job's events. If it raises WorkerFault, the job's operator has failed.
    """
    measured = into or Measured()
    by_operator: dict[str, list[Group]] = defaultdict(list)
    for one in groups:
        by_operator[one["operator"]].append(one)
    for number in rounds:
        for operator, own in by_operator.items():
            if operator in measured.failures:
                continue
            try:
                measured.take(carry_out(job(bench, own, number, cycles, window=window)), number)
            except WorkerFault as fault:
                measured.failures[operator] = fault.reason
    return measured


# --------------------------------------------------------------------------- ratios


def ratios(rates: Rates, old: str, new: str) -> list[FloatArray]:
    """Return, per round, the ratios new / old of the cycles that are whole in both."""
    found = []
    for number in sorted(rates[old].keys() & rates[new].keys()):
        a, b = rates[old][number], rates[new][number]
        whole = sorted({c for c, _ in a} & {c for c, _ in b})
        keep = [c for c in whole if all((c, h) in side for side in (a, b) for h in (0, 1))]
        mean = [statistics.palindromic_mean([s[c, 0] for c in keep], [s[c, 1] for c in keep]) for s in (a, b)]
        found.append(mean[1] / mean[0])
    return [r for r in found if r.size]


def rate(rates: Rates, point: str) -> Interval:
    """Return operations per second over the rounds' medians."""
    return statistics.interval_of_rounds([float(np.median(list(windows.values()))) for windows in rates[point].values()])


def at_least(interval: Interval, limit: float) -> Verdict:
    """Return *MISSED* if the whole interval lies below ``limit``, *undecided* if only its value and a part of it do."""
    if not math.isfinite(interval.value):
        return "not run"
    if interval.value >= limit:
        return "pass"
    return "MISSED" if interval.high < limit else "undecided"


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a claim that covers several measurements."""
    order: tuple[Verdict, ...] = ("MISSED", "not run", "undecided", "pass")
    found = set(verdicts)
    return next((v for v in order if v in found), "not run")


def span(interval: Interval) -> str:
    """Return ``0.994 (0.988 to 1.001)``."""
    return f"{interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"


def label(params: Mapping[str, str]) -> str:
    """Return ``mode=gcm,size=1024``."""
    return ",".join(f"{k}={v}" for k, v in sorted(params.items())) or "-"
