"""Runs with a known truth: windows as a noisy machine would measure them, written as a run directory.

The noise is typical of shared virtual machines. Each process (round) has a lasting factor per point. Within a round all points share a slow
drift (a random walk), each window has correlated noise (AR(1)), and stalls with a heavy tail lower a window now and then.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dpubench.storage.runs import member_path
from dpubench.studies.operators.rounds import windows_schema
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

CATALOG: dict[str, dict[str, Any]] = {
    "checksum": {"name": "checksum", "processes_all_bytes": True, "primary_metric": "mops", "reference_engine": "portable", "version": 2},
    "aes": {"name": "aes", "processes_all_bytes": True, "primary_metric": "gbps", "reference_engine": "portable", "version": 2},
    "lpm": {"name": "lpm", "processes_all_bytes": False, "primary_metric": "mops", "reference_engine": "portable", "version": 2},
    "sha256": {"name": "sha256", "processes_all_bytes": True, "primary_metric": "gbps", "reference_engine": "portable", "version": 2},
}


@dataclass(frozen=True)
class Noise:
    """The noise of a machine; standard deviations are of logarithms."""

    process: float = 0.006  #: lasts for a round, separate for each point: memory layout
    machine: float = 0.08  #: lasts for a round, shared by all points
    drift: float = 0.01  #: step of the shared random walk from window to window
    window: float = 0.02  #: of each window, correlated with its neighbours by ``correlation``
    correlation: float = 0.5
    stall_share: float = 0.03  #: share of windows that a stall hits
    stall: float = 0.1  #: scale of a stall's cost (exponential)


@dataclass(frozen=True)
class SimulatedPoint:
    """A point and its true rate in operations per second."""

    operator: str
    engine: str
    rate: float
    params: dict[str, str] = field(default_factory=dict)
    build: str = ""
    threads: int = 1
    unavailable: str = ""
    cycles: float = 0  #: core cycles per operation from a hardware counter; 0: there is no counter
    energy_nj: float = 0  #: per operation; 0: there is no counter
    target: str = "local"
    in_flight: int = 0
    version: int = 2  #: of the operator
    input_sha256: str = "ab" * 32
    failure: str = ""
    path: dict[str, Any] = field(default_factory=dict)  #: entries that replace those of the usual path

    @property
    def configuration(self) -> str:
        params = ",".join(f"{k}={v}" for k, v in sorted(self.params.items())) or "-"
        return f"{self.operator}/{params}/t{self.threads}/b32/stream"

    @property
    def id(self) -> str:
        engine = self.engine + (f"~{self.in_flight}" if self.in_flight else "") + (f"@{self.target}" if self.target != "local" else "")
        return f"{self.configuration}/{engine}" + (f"#{self.build}" if self.build else "")


def log_rates(generator: np.random.Generator, truths: FloatArray, experiments: int, rounds: int, cycles: int, noise: Noise) -> FloatArray:
    """Return the logs of the windows' rates, shape ``(experiments, rounds, points, cycles, 2)``; points alternate in palindromic order."""
    points = len(truths)
    shape = (experiments, rounds, cycles * 2 * points)
    shared = noise.machine * generator.standard_normal((experiments, rounds, 1)) + np.cumsum(noise.drift * generator.standard_normal(shape), axis=2)
    white = generator.standard_normal(shape) * noise.window * np.sqrt(1 - noise.correlation**2)
    correlated = white
    correlated[..., 0] /= np.sqrt(1 - noise.correlation**2)
    for i in range(1, shape[2]):
        correlated[..., i] += noise.correlation * correlated[..., i - 1]
    stalls = (generator.random(shape) < noise.stall_share) * generator.exponential(noise.stall, shape)
    in_time = (shared + correlated - stalls).reshape(experiments, rounds, cycles, 2, points)
    in_time[..., 1, :] = in_time[..., 1, ::-1]
    lasting = noise.process * generator.standard_normal((experiments, rounds, 1, 1, points))
    by_point: FloatArray = np.moveaxis(in_time + lasting + np.log(truths), 4, 2)
    return by_point


def write_run(
    directory: Path,
    points: list[SimulatedPoint],
    *,
    rounds: int = 8,
    cycles: int = 6,
    seed: int = 1,
    noise: Noise | None = None,
    machine_shift: float = 0.0,
    memory_shift: float = 0.0,
    shift_scatter: float = 0.0,
    canaries: bool = True,
    changes: dict[str, Any] | None = None,
    unfinished: bool = False,
    own_clock: bool = True,
    layouts: int = 0,
    layout_deviation: float = 0.0,
) -> Path:
    """Write a run directory of ``points``; multiply rates by ``exp(machine_shift)`` and each by its own draw with ``shift_scatter``.

    With ``unfinished`` the last round stays a file of events whose last line is torn, as after a crash. ``changes`` replaces keys of run.json.
    Without ``own_clock`` only the core canary reports a clock, as with this project's own program. Rounds take ``layouts`` code layouts in turn, and
    each point scatters between them by ``layout_deviation``. With ``layouts`` 0 the program does not report its layout.
    """
    generator = np.random.default_rng(seed)
    placed = np.random.default_rng(seed + 1_000_000)
    noise = noise or Noise()
    (directory / "rounds").mkdir(parents=True)
    parts: list[list[dict[str, Any]]] = [[] for _ in range(rounds)]
    groups: dict[str, list[SimulatedPoint]] = {}
    for point in points:
        if not point.unavailable:
            groups.setdefault(point.configuration, []).append(point)
    for group, members in groups.items():
        names = [p.id for p in members] + (["canary-core", "canary-memory"] if canaries else [])
        sizes = [float(p.params.get("size", "64")) for p in members] + ([0.0, 0.0] if canaries else [])
        worked = [0.0 if p.params.get("mode") == "incremental" else size for p, size in zip(members, sizes, strict=False)] + sizes[len(members) :]
        truths = [p.rate * np.exp(machine_shift + shift_scatter * generator.standard_normal()) for p in members]
        truths += [4e8 * np.exp(machine_shift), 1e7 * np.exp(memory_shift)] if canaries else []
        logs = log_rates(generator, np.array(truths), 1, rounds, cycles, noise)[0]
        if layouts:
            effects = layout_deviation * placed.standard_normal((layouts, len(members)))
            logs[:, : len(members)] += effects[np.arange(rounds) % layouts][:, :, None, None]
        elapsed = 4_000_000.0
        cycles_of, energy_of = (
            np.array([getattr(p, n) or np.nan for p in members] + [np.nan] * (len(names) - len(members))) for n in ("cycles", "energy_nj")
        )
        for number in range(rounds):
            count = logs[number].size
            owner, cycle, half = (a.ravel() for a in np.indices(logs[number].shape))
            operations = np.maximum(1, np.round(np.exp(logs[number]).ravel() * elapsed / 1e9))
            parts[number].append(
                {
                    "point": np.array(names, dtype=object)[owner],
                    "group": np.full(count, group, dtype=object),
                    "round": np.full(count, number),
                    "cycle": cycle,
                    "half": half,
                    "operations": operations,
                    "elapsed_ns": np.full(count, elapsed),
                    "in_bytes": operations * np.array(sizes)[owner],
                    "out_bytes": operations * np.array(sizes)[owner],
                    "rate_bytes": operations * np.array(worked)[owner],
                    "bursts": np.ceil(operations / 32),
                    "ghz": np.full(count, 2.7) if own_clock else np.where(np.array(names)[owner] == "canary-core", 2.7, np.nan),
                    "core_cycles": np.round(operations * cycles_of[owner]),
                    "energy_uj": operations * energy_of[owner] / 1000,
                    "layout": np.full(count, number % layouts if layouts else np.nan),
                }
            )
    for number in range(rounds if groups else 0):
        merged = {name: np.concatenate([part[name] for part in parts[number]]) for name in parts[number][0]}
        _write_round(directory / "rounds" / f"{number:04}", merged, as_events=unfinished and number == rounds - 1)
    described = _run_json(directory.name, points)
    described.update(changes or {})
    (directory / "run.json").write_text(json.dumps(described, indent=1), encoding="utf-8")
    return directory


@dataclass(frozen=True)
class SimulatedTarget:
    """One target of a run: its points and its entries in ``run.json``."""

    name: str
    points: list[SimulatedPoint]
    label: str = ""
    lost: str = ""
    cpu: str = "Simulated CPU 3000"
    options: dict[str, Any] = field(default_factory=dict)  #: of :func:`write_run`


def write_set(directory: Path, members: list[SimulatedTarget], *, baseline: str = "", seed: int = 1, **options: Any) -> Path:
    """Write a run of several targets. A target that was lost without points has no run directory; other lost targets are interrupted."""
    entries = []
    for i, member in enumerate(members):
        status = "interrupted" if member.lost else "complete"
        path = member_path(member.name)
        entries.append({"name": member.name, "spec": member.name, "label": member.label, "path": path, "status": status, "lost": member.lost})
        points = [replace(p, target=member.name) for p in member.points]
        machine = {"host": f"host-{i}", "cpu": member.cpu, "cpus_online": 2 + i, "kernel": "6.1", "architecture": "x86_64", "os": "Linux"}
        machine["clock_estimate"] = CLOCK
        changes = {"name": f"{directory.name}@{member.name}", "target": member.name, "status": status, "machine": machine}
        changes["target_info"] = {"spec": member.name, "label": member.label}
        if points:
            write_run(directory / path, points, seed=seed + i, **({"changes": changes} | options | member.options))
    record = {
        "schema": "dpubench.run-set/1", "name": directory.name, "study": "operators", "plan": "quick", "started": "2026-01-01T10:00:00Z",
        "status": "interrupted" if any(m.lost for m in members) else "complete", "finished": "2026-01-01T10:03:00Z",
        "command": "dpubench run quick --target local --target bf2", "version": "0.1.0", "baseline": baseline, "targets": entries,
    }  # fmt: skip
    (directory / "run.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    return directory


def _write_round(stem: Path, columns: dict[str, Any], as_events: bool) -> None:
    integers = ("round", "cycle", "half", "operations", "elapsed_ns", "in_bytes", "out_bytes", "rate_bytes", "bursts", "core_cycles", "layout")
    events = [
        {"event": "window"} | {k: int(v[row]) if k in integers else v[row] for k, v in columns.items() if v[row] == v[row]} | {"metrics": {}}
        for row in range(len(columns["point"]) if as_events else 0)
    ]
    if not as_events:
        arrays = {k: pa.array(v.tolist()) if v.dtype == object else pa.array(v, from_pandas=True) for k, v in columns.items()}
        arrays["metrics"] = pa.array([[]] * len(columns["point"]), pa.map_(pa.string(), pa.float64()))
        pq.write_table(pa.table({name: arrays[name] for name in windows_schema().names}).cast(windows_schema()), stem.with_suffix(".parquet"))
        return
    lines = [json.dumps({"event": "progress", "group": "g", "phase": "measure", "done": 0, "of": 1}), *map(json.dumps, events)]
    stem.with_suffix(".ndjson").write_text("\n".join(lines) + '\n{"event": "window", "poi', encoding="utf-8")


#: A run's record of the processor whose clock it estimates.
CLOCK = {"multiply_cycles": 3, "processor": "Simulated", "source": "this file"}


def _run_json(name: str, points: list[SimulatedPoint]) -> dict[str, Any]:
    machine = {
        "host": "measuring-host", "cpu": "Simulated CPU 3000", "cpus_online": 2, "kernel": "6.1", "architecture": "x86_64", "os": "Linux",
        "clock_estimate": CLOCK,
    }  # fmt: skip
    return {
        "schema": "dpubench.run/1",
        "name": name,
        "study": "operators",
        "plan": "quick",
        "status": "complete",
        "started": "2026-01-01T10:00:00Z",
        "finished": "2026-01-01T10:03:00Z",
        "command": "dpubench run quick --program /home/alice/build",
        "version": "0.1.0",
        "precision_target": 0.05,
        "seed": 1,
        "target": "local",
        "spent_s": 180.0,
        "machine": machine,
        "build": {"compiler": "GCC 12", "flags": "-O3", "type": "release", "revision": "simulated"},
        "builds": {"": {"program": "dpubench-operators", "version": "0.1.0", "path": "/home/alice/build/dpubench-operators", "build": {}}},
        "inputs": {"corpus": {"name": "text", "sha256": "ab" * 32, "files": ["/home/alice/text"]}},
        "operators": CATALOG,
        "configurations": [],
        "points": [
            {
                "id": p.id,
                "configuration": p.configuration,
                "operator": p.operator,
                "operator_version": p.version,
                "params": p.params,
                "threads": p.threads,
                "burst": 32,
                "footprint": "stream",
                "engine": p.engine,
                "target": p.target,
                "build": p.build,
                **({"in_flight": p.in_flight} if p.in_flight else {}),
                "input": {"name": "text", "sha256": p.input_sha256},
                "path": {"isa": "avx2", "detail": "", "library": "", "is_hardware": False} | p.path,
                "verified": {"known_answers": 4, "compared": 256, "how": "identical"},
                "build_ns": [1000, 3000, 2000],
                "memory_bytes": 4096,
                "footprint_bytes": 1 << 23,
                "touched_bytes": 1 << 22,
                "distinct_messages": 512,
                "failure": p.failure,
                "unavailable": p.unavailable,
            }
            for p in points
        ],
        "rounds": [],
        "failures": [],
        "warnings": [],
        "left_out": ["multi-threaded points"],
    }
