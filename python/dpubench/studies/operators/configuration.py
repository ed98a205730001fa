"""Configurations and points, which a run measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

#: Fields of a point's ``prepared`` event that the record keeps, as far as the program sends them.
PREPARED: Final = ("input", "path", "memory_bytes", "footprint_bytes", "touched_bytes", "distinct_messages", "distinct_keys")


def configuration_id(operator: str, params: Mapping[str, str], threads: int, burst: int, footprint: str) -> str:
    """Return ``aes/mode=gcm,size=1024/t1/b32/stream``: parameters in name order, or ``-`` where an operator has none."""
    words = ",".join(f"{k}={params[k]}" for k in sorted(params)) or "-"
    return f"{operator}/{words}/t{threads}/b{burst}/{footprint}"


def engine_word(engine: str, in_flight: int) -> str:
    """Return an engine with its jobs in flight, ``cryptodev~128``, or the engine alone where the plan gives no number."""
    return f"{engine}~{in_flight}" if in_flight else engine


def split_engine_word(word: str) -> tuple[str, int]:
    """Return the engine and the jobs in flight that :func:`engine_word` joined."""
    engine, tilde, jobs = word.rpartition("~")
    return (engine, int(jobs)) if tilde and jobs.isascii() and jobs.isdigit() else (word, 0)


@dataclass
class Configuration:
    """Operator, parameters, threads, burst, footprint, and the engines that can run it here."""

    operator: str
    params: dict[str, str]
    threads: int
    burst: int
    footprint: str
    reference: str
    candidates: list[str]  #: engines to measure, in catalog order, with the jobs in flight where the plan gives them (:func:`engine_word`)
    not_measured: dict[str, str] = field(default_factory=dict)  #: engine -> reason
    next_best: str | None = None  #: engine of another library that the selection kept beside the best; "" if there is none, None without a selection
    inputs: frozenset[str] = frozenset()  #: kinds of input that it reads; known while a plan is expanded, not in a record

    @property
    def id(self) -> str:
        return configuration_id(self.operator, self.params, self.threads, self.burst, self.footprint)

    def record(self) -> dict[str, Any]:
        return {
            "id": self.id, "operator": self.operator, "params": self.params, "threads": self.threads, "burst": self.burst,
            "footprint": self.footprint, "reference": self.reference, "candidates": self.candidates, "not_measured": self.not_measured,
            **({} if self.next_best is None else {"next_best": self.next_best}),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Configuration:
        return cls(
            record["operator"], dict(record["params"]), record["threads"], record["burst"], record["footprint"],
            record["reference"], list(record["candidates"]), dict(record["not_measured"]), record.get("next_best"),
        )  # fmt: skip


@dataclass
class Point:
    """A configuration on one engine, target and build, with the results that are known of it.

    ``program`` is the path of the contract program that has the engine, empty for ``dpubench-operators``. ``name_in_program`` is the engine's name
    there.
    """

    configuration: Configuration
    engine: str
    target: str
    build: str
    operator_version: int
    prepared: dict[str, Any] = field(default_factory=dict)  #: fields :data:`PREPARED` of the last `prepared` event
    build_ns: list[float] = field(default_factory=list)
    verified: dict[str, Any] = field(default_factory=dict)
    failure: str = ""
    unavailable: str = ""
    rates: dict[int, list[float]] = field(default_factory=dict)  #: round -> operations per second of its windows
    layouts: dict[int, int] = field(default_factory=dict)  #: round -> its code layout; programs of earlier versions do not tell it
    program: str = ""
    name_in_program: str = ""
    in_flight: int = 0  #: jobs that the plan gives; 0: a synchronous engine, or the engine's default (``prepared["path"]`` has the number)

    @property
    def side(self) -> str:
        """Return the program that measures it: "" for dpubench's own, the label of another build, or the path of a contract program."""
        return self.program or self.build

    @property
    def id(self) -> str:
        return point_id(self.configuration.id, engine_word(self.engine, self.in_flight), self.target, self.build)

    def record(self) -> dict[str, Any]:
        c = self.configuration
        return {
            "id": self.id, "configuration": c.id, "operator": c.operator, "operator_version": self.operator_version, "params": c.params,
            "threads": c.threads, "burst": c.burst, "footprint": c.footprint, "engine": self.engine, "in_flight": self.in_flight,
            "target": self.target, "build": self.build,
            **({"program": self.program} if self.program else {}), **self.prepared,
            "build_ns": self.build_ns, "verified": self.verified, "failure": self.failure, "unavailable": self.unavailable,
        }  # fmt: skip


def point_id(configuration: str, engine: str, target: str, build: str) -> str:
    """Return ``<configuration>/<engine>[~jobs in flight][@target][#build]``; ``engine`` is a word of :func:`engine_word`."""
    return f"{configuration}/{engine}" + (f"@{target}" if target != "local" else "") + (f"#{build}" if build else "")


@dataclass
class Expansion:
    """The configurations of a plan on this machine."""

    configurations: list[Configuration]
    select_best: bool  #: after the selection, measure only the best engine, the next best of another library and the reference
    unavailable: list[tuple[Configuration, str, str]] = field(default_factory=list)  #: (configuration, engine, reason): named, but cannot run
    left_out: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> set[str]:
        """Return the kinds of input that measurable configurations read."""
        return {kind for configuration in self.configurations if configuration.candidates for kind in configuration.inputs}
