"""Sweeps: many simulations, on all cores of this machine or on a Dask cluster, each kept as soon as it is done.

A simulation is a pure function of its description, its traces and the program, so the place of computation does not change its result. The result is
kept under their digest. So an interrupted sweep continues where it stopped, and two sweeps with a common configuration compute it once.
"""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from dpubench import programs
from dpubench.errors import UserError
from dpubench.simulation import _cache, simulator
from dpubench.workers.checks import Event
from dpubench.workers.process import StopRequest

#: Most bytes of kept results on disk; the least recently used are removed first.
CACHE_BYTES: Final = 1 << 30
_SCHEMA: Final = "dpubench.simulation/1"
#: Longest time until a requested stop is noticed, in seconds.
_LOOK_S: Final = 0.2
#: Most configurations given to a process at once. Towards the end of a sweep it gets fewer, so that all processes end together.
_MOST_AT_ONCE: Final = 16
_SHARES: Final = 3


class Traced(Protocol):
    """A trace: its folder and the digest of its content."""

    @property
    def folder(self) -> Path: ...
    @property
    def digest(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Context:
    """The work of one hardware context. Contexts of one trace share address spaces, unless the numbers of the spaces differ."""

    trace: Traced
    skip_messages: int = 0  #: messages of the trace (bursts) to skip
    code_space: int | None = None
    data_space: int | None = None


@dataclass(frozen=True, slots=True)
class Simulation:
    """A configuration of ``dpubench-cores`` (docs/cores.md)."""

    id: str
    processor: Mapping[str, Any]
    contexts: tuple[Context, ...]  #: one for each context of the chip, those of core 0 first
    extent: Mapping[str, Any] = field(default_factory=dict)  #: part to simulate, in messages of the trace (bursts)
    frame_buffers: tuple[Mapping[str, Any], ...] = ()

    @property
    def digest(self) -> str:
        """Return the digest of everything that decides the result, including the content of program and traces, but not names and paths.

        Raises:
            UserError, EnvironmentFault: there is no program ``dpubench-cores``, or it cannot be read.
        """
        program = simulator.digest_of_program(simulator.program())
        return _cache.digest_of([_SCHEMA, program, self._described(lambda trace: trace.digest)])

    def configuration(self) -> dict[str, Any]:
        """Return the configuration in the form of a job."""
        # Give traces with equal content the same folder, because the simulator lets contexts of the same folder share address spaces.
        places = {context.trace.digest: str(context.trace.folder) for context in reversed(self.contexts)}
        return {"id": self.id, **self._described(lambda trace: places[trace.digest])}

    def _described(self, name: Callable[[Traced], str]) -> dict[str, Any]:
        contexts = []
        for context in self.contexts:
            spaces = {"code_space": context.code_space, "data_space": context.data_space}
            given = {key: value for key, value in spaces.items() if value is not None}
            contexts.append({"trace": name(context.trace), "skip_messages": context.skip_messages, **given})
        buffers = {"frame_buffers": [dict(b) for b in self.frame_buffers]} if self.frame_buffers else {}
        return {"processor": dict(self.processor), "contexts": contexts, "extent": dict(self.extent), **buffers}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a simulation: a result, or the failure."""

    id: str
    result: dict[str, Any] | None  #: the ``result`` event
    failure: str = ""
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a sweep."""

    done: int
    of: int
    cached: int  #: finished simulations that came from the cache
    failed: int  #: finished simulations that failed
    instructions: int = 0  #: instructions simulated in this sweep; updated every few million, on a cluster at the end of each simulation
    at_work: str = ""  #: the simulation of the last event


def cache_folder() -> Path:
    """Return the folder in which results are kept."""
    return programs.cache_directory() / "simulations"


def simulate(
    simulations: Sequence[Simulation],
    *,
    processes: int,
    dask: str = "",
    cache: Path | None,
    stop: StopRequest,
    tell: Callable[[Progress], None] = lambda _progress: None,
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each simulation once, in order of finishing. Results from ``cache`` come first. Failures are never kept.

    ``processes`` simulators run at a time on this machine. With ``dask``, the address of a scheduler, its workers run them instead; they must see the
    folders of the traces under the same paths. If a worker dies, another one starts its simulation again.

    Raises:
        UserError: there is no program ``dpubench-cores``, two simulations have the same name, or Dask is not installed here.
        EnvironmentFault: the cluster cannot be reached or went away; finished results are kept.
        Interrupted: ``stop`` was set; finished results are kept.
    """
    if len({s.id for s in simulations}) != len(simulations):
        raise UserError("two simulations of a sweep have the same name: give each its own")
    sweep = _Sweep(simulations, cache, tell)
    yield from sweep.kept()
    if not sweep.owed:
        return
    if dask:
        from dpubench.simulation import cluster

        events = cluster.simulate(sweep.configurations(), dask, stop)
    else:
        events = _here(sweep.configurations(), processes, stop)
    # Close the generator however the loop ends, so that no simulation keeps running.
    with contextlib.closing(events):
        for event in events:
            yield from sweep.take(event)
    if cache is not None:
        _cache.prune(cache, CACHE_BYTES)


class _Sweep:
    """The state of a sweep: the owed simulations and the progress. Simulations that differ only in their names are simulated once."""

    def __init__(self, simulations: Sequence[Simulation], cache: Path | None, tell: Callable[[Progress], None]) -> None:
        self._cache = cache
        self._tell = tell
        self._progress = Progress(0, len(simulations), 0, 0)
        self._under_way: dict[str, int] = {}  # digest -> instructions
        self._finished = 0  # instructions
        self.owed: dict[str, list[Simulation]] = {}  #: simulations without an outcome, by digest
        for simulation in simulations:
            self.owed.setdefault(simulation.digest, []).append(simulation)

    def configurations(self) -> list[dict[str, Any]]:
        """Return the configurations of the owed simulations, named by their digests."""
        return [{**same[0].configuration(), "id": digest} for digest, same in self.owed.items()]

    def kept(self) -> Iterator[Outcome]:
        """Yield the outcomes from the cache."""
        for digest in list(self.owed):
            if (result := self._read(digest)) is not None:
                yield from self._outcomes(digest, result, cached=True)

    def take(self, event: Event) -> Iterator[Outcome]:
        """Record an event of a simulator, and yield the outcomes that it decides."""
        digest = event.get("group", "")
        if digest not in self.owed:
            return
        if event["event"] == "result":
            self._write(digest, event)
            self._finished += max(int(event["instructions"]), self._under_way.pop(digest, 0))
            yield from self._outcomes(digest, event)
        elif event["event"] == "failure":
            self._finished += self._under_way.pop(digest, 0)
            yield from self._outcomes(digest, None, event["message"])
        else:
            self._under_way[digest] = event.get("instructions", 0)
            self._tell_now(at_work=self.owed[digest][0].id)

    def _outcomes(self, digest: str, result: Mapping[str, Any] | None, failure: str = "", cached: bool = False) -> Iterator[Outcome]:
        for simulation in self.owed.pop(digest):
            was = self._progress
            self._progress = replace(was, done=was.done + 1, cached=was.cached + cached, failed=was.failed + (result is None))
            self._tell_now(at_work=simulation.id)
            yield Outcome(simulation.id, None if result is None else {**result, "group": simulation.id}, failure, cached)

    def _tell_now(self, at_work: str) -> None:
        self._progress = replace(self._progress, instructions=self._finished + sum(self._under_way.values()), at_work=at_work)
        self._tell(self._progress)

    # --- cache

    def _read(self, digest: str) -> dict[str, Any] | None:
        if self._cache is None:
            return None
        file = self._cache / f"{digest}.json"
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            whole = kept["seal"] == _cache.digest_of(kept["result"])
            if whole and kept["schema"] == _SCHEMA and kept["digest"] == digest and kept["result"]["event"] == "result":
                _cache.used(file)
                return dict(kept["result"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def _write(self, digest: str, result: Mapping[str, Any]) -> None:
        if self._cache is None:
            return
        with contextlib.suppress(OSError):  # a full disk only costs the cached result: the outcome itself is still reported
            sealed = {"schema": _SCHEMA, "digest": digest, "seal": _cache.digest_of(result), "result": dict(result)}
            _cache.write_json(self._cache / f"{digest}.json", sealed)


# --- on this machine


def _here(configurations: Sequence[Mapping[str, Any]], processes: int, stop: StopRequest) -> Generator[Event, None, None]:
    """Yield the events of the simulators, ``processes`` at a time. @raises Interrupted"""
    batches = _Batches(configurations, processes)
    events: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    halt = StopRequest()
    program = str(simulator.program())

    def work() -> None:
        try:
            while batch := batches.next():
                for event in simulator.simulate(batch, program, halt, events.put):
                    events.put(event)
        except BaseException as error:  # pass it to the waiting thread, which raises it
            events.put(error)
        else:
            events.put(None)

    threads = [threading.Thread(target=work, name=f"simulator-{i}", daemon=True) for i in range(min(max(1, processes), len(configurations)))]
    try:
        for thread in threads:
            thread.start()
        working = len(threads)
        while working:
            stop.check()
            with contextlib.suppress(queue.Empty):
                event = events.get(timeout=_LOOK_S)
                if isinstance(event, BaseException):
                    raise event
                if event is None:
                    working -= 1
                else:
                    yield event
    finally:
        halt.set(signal.SIGTERM)
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        halt.close()


class _Batches:
    """Configurations in portions. All of one portion have the same traces, so that a process finds them in memory."""

    def __init__(self, configurations: Sequence[Mapping[str, Any]], processes: int) -> None:
        groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        for configuration in configurations:
            groups.setdefault(tuple(dict.fromkeys(context["trace"] for context in configuration["contexts"])), []).append(configuration)
        self._groups = list(groups.values())
        self._left = len(configurations)
        self._processes = max(1, processes)
        self._lock = threading.Lock()

    def next(self) -> list[Mapping[str, Any]]:
        """Return the next portion; empty if nothing is left."""
        with self._lock:
            while self._groups and not self._groups[0]:
                self._groups.pop(0)
            if not self._groups:
                return []
            most = min(_MOST_AT_ONCE, max(1, self._left // (_SHARES * self._processes)))
            portion, self._groups[0] = self._groups[0][:most], self._groups[0][most:]
            self._left -= len(portion)
            return portion
