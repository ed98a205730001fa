"""The duration of a round, learnt from the times at which events arrive, and the number of cycles that fit a budget."""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from dpubench.plans.quantities import spoken
from dpubench.studies.operators.configuration import Expansion
from dpubench.studies.operators.plan import Plan

#: Guesses in seconds, used until a measurement replaces them: preparing and verifying a point, starting a process, a canary's window.
GUESS_PREPARE_S = 0.25
START_S = 0.3
CANARY_S = 0.003
#: Most engines that a selection round keeps: the best, the next best of another library, the reference.
KEPT = 3


class Costs:
    """Seconds of preparation per point and of a window per point.

    The time between two events of a worker is charged to the later event, because the work before it led to it. The harness prepares, verifies and
    measures one after another, so that no time is charged twice.
    """

    def __init__(self, plan: Plan, cpus: int) -> None:
        self._plan = plan
        self._cpus = cpus
        self._prepare: dict[str, list[float]] = defaultdict(list)
        self._shared: dict[str, list[float]] = defaultdict(list)
        self._pending: dict[str, float] = defaultdict(float)
        self._window: dict[str, list[float]] = defaultdict(list)
        self._canary: list[float] = []
        self._last: float | None = None

    def begin_worker(self) -> None:
        self._last = time.monotonic()

    def see(self, kind: str, group: str, point: str, elapsed_ns: float = 0) -> None:
        """Record the arrival of an event now."""
        now = time.monotonic()
        passed = now - self._last if self._last is not None else 0.0
        self._last = now
        if kind in ("prepared", "verified"):
            self._pending[point] += passed
            if kind == "verified":
                self._prepare[point].append(self._pending.pop(point))
        elif kind == "window":
            # A window's price includes the pause before it (poisoning, comparing outputs).
            (self._canary if point.startswith("canary-") else self._window[point]).append(max(passed, elapsed_ns / 1e9))
        elif kind == "progress" and group:
            self._pending[group] += passed
        if kind == "prepared" and group in self._pending:
            self._shared[group].append(self._pending.pop(group))

    @property
    def has_learnt(self) -> bool:
        """Return whether the price of preparation is measured and no guess: a selection measured some points, or a round measured all."""
        return bool(self._prepare)

    def prepare_s(self, group: str, points: Sequence[str]) -> float:
        """Return the seconds to read the inputs of ``group``, and to prepare and verify its points."""
        shared = statistics.median(self._shared[group]) if group in self._shared else 0.0
        known = [statistics.median(self._prepare[p]) for p in points if p in self._prepare]
        guess = statistics.mean(known) if known else GUESS_PREPARE_S
        return shared + sum(known) + (len(points) - len(known)) * guess

    def window_s(self, point: str, threads: int) -> float:
        if point in self._window:
            return statistics.median(self._window[point])
        return self._plan.window.threaded_min if threads > self._cpus else self._plan.window.min * 1.5

    def cycle_s(self, points: Sequence[str], threads: int) -> float:
        canary = statistics.median(self._canary) if self._canary else CANARY_S
        return 2 * sum(self.window_s(p, threads) for p in points) + 4 * canary

    def round_s(self, groups: Mapping[str, tuple[int, Sequence[str]]], cycles: int) -> float:
        """Return the seconds of a whole round of ``groups`` (id -> threads, points), including the warm-up cycle."""
        return START_S + self.windows_s(groups, cycles) + sum(self.prepare_s(g, points) for g, (_, points) in groups.items())

    def windows_s(self, groups: Mapping[str, tuple[int, Sequence[str]]], cycles: int) -> float:
        """Return the part of :meth:`round_s` that windows take."""
        return sum((cycles + 1) * self.cycle_s(points, threads) for threads, points in groups.values())

    def cycles_for(self, groups: Mapping[str, tuple[int, Sequence[str]]], seconds: float) -> int:
        """Return the number of cycles that fit a round of ``seconds``, within the plan's limits."""
        fixed = self.round_s(groups, -1)
        per_cycle = sum(self.cycle_s(points, threads) for threads, points in groups.values())
        fitting = int((seconds - fixed) / per_cycle) - 1 if per_cycle > 0 else self._plan.cycles.max
        return min(max(fitting, self._plan.cycles.min), self._plan.cycles.max)


def estimate(plan: Plan, expansion: Expansion, cpus: int, builds: int) -> tuple[int, float, int]:
    """Return an estimate of the points, seconds and bytes on disk of a run of ``plan``, before any measurement."""
    costs = Costs(plan, cpus)
    sizes, points = {}, 0
    for configuration in expansion.configurations:
        engines = list(configuration.candidates)
        if expansion.select_best:
            engines = engines[:KEPT]  # The selection round will choose which ones.
        points += len(engines) * builds
        sizes[configuration.id] = (configuration.threads, [f"{configuration.id}/{e}#{b}" for e in engines for b in range(builds)])
    least = plan.rounds.min * costs.round_s(sizes, plan.cycles.min)
    cycles = costs.cycles_for(sizes, plan.budget / plan.rounds.min)
    windows = plan.rounds.min * cycles * (2 * points + 4 * len(sizes))
    seconds = min(max(least, plan.rounds.min * costs.round_s(sizes, cycles)), max(plan.budget, least))
    return points, seconds if math.isfinite(seconds) else plan.budget, windows * 60 + 400_000


def describe_time(seconds: float, plan: Plan) -> str:
    """Return ``about 2 min 50 s (budget 3 min 00 s)``."""
    return f"about {spoken(seconds)} (budget {spoken(plan.budget)})"
