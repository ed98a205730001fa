"""Pairs of runs of one machine at two times, with a known truth. Rounds scatter as observed rounds do; there are no windows and no files.

Between the times the machine moves: all points together (``core``), points that wait for memory by a further ``memory``, and each point a little
by itself (``lasting``, heavy-tailed). Within a run, rounds scatter together and separately, and a few are disturbed. Standard deviations are of
logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from dpubench.analysis.model import Interval
from dpubench.studies.operators.model import PointSummary, RunSummary
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Scatter:
    """The scatter that appears without a change of the code."""

    rounds: float = 0.01  #: of each round of a point
    together: float = 0.01  #: of a round, in all points and canaries alike
    moment: float = 0.0  #: of a round of an operator, in its points and the canaries beside them
    disturbed: float = 0.05  #: share of a point's rounds that other work on the machine spoils, by 10 to 45 %
    waiting: float = 0.02  #: of a round, in the memory canary and in points that wait for memory
    core: float = 0.05  #: between the times, of everything
    memory: float = 0.02  #: between the times, added for points that wait for memory
    lasting: float = 0.01  #: between the times, of a point
    owner: float = 0.0  #: between the times, of an engine of an operator, at all its sizes


@dataclass(frozen=True)
class Place:
    """A point: its name, and the share of its time in which it waits for memory (0 to 1)."""

    operator: str
    engine: str
    size: int = 64
    waits: float = 0.0


def suite(operators: int, engines: int = 2, sizes: int = 2, waiting: float = 0.2) -> list[Place]:
    """Return points like those of a plan: engine 0 is ``portable``, the others take turns; a share of the operators waits for memory."""
    names = ["portable", "openssl", "isal", "dpdk", "ipsec-mb"]
    return [
        Place(f"op{o:02}", names[0] if e == 0 else names[1 + (o + e) % (len(names) - 1)], 64 << s, 1.0 if o < waiting * operators else 0.0)
        for o in range(operators)
        for e in range(engines)
        for s in range(sizes)
    ]


def pair(
    places: list[Place], seed: int, scatter: Scatter, changes: dict[int, float] | None = None, rounds: int = 8, canaries: bool = True
) -> tuple[RunSummary, RunSummary]:
    """Return an old and a new run of ``places``; ``changes`` maps a point's number to a factor on its rate in the new run."""
    generator = np.random.default_rng(seed)
    core, memory = generator.standard_normal(2) * (scatter.core, scatter.memory)
    own = scatter.lasting * generator.standard_t(5, len(places)) / np.sqrt(5 / 3)
    owners = {owner: scatter.owner * generator.standard_normal() for owner in dict.fromkeys((p.operator, p.engine) for p in places)}
    moved = np.array([core + memory * p.waits + o + owners[p.operator, p.engine] for p, o in zip(places, own, strict=True)])
    moved += np.log([(changes or {}).get(i, 1.0) for i in range(len(places))])
    old = _run("old", places, generator, scatter, np.zeros(len(places)), 0.0, 0.0, rounds, canaries)
    return old, _run("new", places, generator, scatter, moved, core, core + memory, rounds, canaries)


def _run(
    name: str, places: list[Place], generator: np.random.Generator, scatter: Scatter, moved: FloatArray, core: float, memory: float, rounds: int,
    canaries: bool,
) -> RunSummary:  # fmt: skip
    together = scatter.together * generator.standard_normal(rounds)
    hit = generator.random((len(places), rounds)) < scatter.disturbed
    noise = scatter.rounds * generator.standard_normal((len(places), rounds)) - hit * generator.uniform(0.1, 0.45, (len(places), rounds))
    moments = {operator: scatter.moment * generator.standard_normal(rounds) for operator in dict.fromkeys(p.operator for p in places)}
    waiting = {operator: scatter.waiting * generator.standard_normal(rounds) for operator in moments}
    shared = together + np.array([moments[p.operator] for p in places])
    memory_of = np.array([waiting[p.operator] for p in places])
    logs = moved[:, None] + shared + noise + memory_of * np.array([p.waits for p in places])[:, None]
    beside = memory - core + memory_of + 0.003 * generator.standard_normal(memory_of.shape)
    of_core = core + together + 0.001 * generator.standard_normal(rounds)
    of_memory = memory + together + 0.003 * generator.standard_normal(rounds)
    to_canary = logs - (core + shared + 0.002 * generator.standard_normal((len(places), rounds)))
    measured = Interval(1.0, 1.0, 1.0)  # only its presence matters
    points = [
        PointSummary(
            f"{p.operator}/size={p.size}/t1/b32/stream/{p.engine}", p.operator, {"size": str(p.size)}, 1, 32, "stream", p.engine, "local", "",
            1, "text", "ab" * 32, rounds=rounds, ops_per_s=measured, round_rates=list(np.exp(logs[i])),
            round_memory=list(np.exp(beside[i])) if canaries else [],
            round_canary_ratios=list(np.exp(to_canary[i])) if canaries else [],
        )
        for i, p in enumerate(places)
    ]  # fmt: skip
    watched = {"canary-core": list(np.exp(of_core)), "canary-memory": list(np.exp(of_memory))} if canaries else {}
    machine = {"cpu": "Simulated CPU 3000", "cpus_online": 2}
    return RunSummary(
        name=name, path=name, study="operators", plan="quick", status="complete", started="", finished="", command="", version="0",
        precision_target=0.05, machine=machine, build_info={}, inputs={}, operators={}, points=points, warnings=[], failures=[],
        left_out=[], canaries=watched,
    )  # fmt: skip


QUIET = replace(Scatter(), together=0.002, waiting=0.003, disturbed=0.0, core=0.0, memory=0.0, lasting=0.0)
