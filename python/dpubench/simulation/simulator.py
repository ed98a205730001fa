"""Runs the program ``dpubench-cores``: takes jobs, returns results. This machine and the workers of a Dask cluster call the same functions.

No function here keeps state of a sweep, because a worker of a cluster calls it with nothing but a job.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from dpubench import programs, schemas
from dpubench.errors import EnvironmentFault, UserError
from dpubench.simulation import _cache
from dpubench.targets.local import LocalTarget
from dpubench.workers.ask import ask
from dpubench.workers.checks import Event, parse_cores_event
from dpubench.workers.process import StopRequest, Worker, WorkerFault

#: A simulator that is silent for this many seconds hangs: it reports progress every four million cycles.
SILENCE_S: Final = 600.0
#: Time limit of a configuration, in seconds: longer than any that makes sense.
LIMIT_S: Final = 1e6
#: Time limit of a question that needs no simulation, in seconds.
_CHECK_LIMIT_S: Final = 60.0
#: Most bytes of an output line. Lines are long because each context reports when up to 2048 of its messages began.
_MOST_LINE_BYTES: Final = 64 << 20


def program() -> Path:
    """Return the path of the program ``dpubench-cores`` of this installation. @raises UserError when it is not there or not executable"""
    return programs.installed(programs.CORES, "libzstd")


def digest_of_program(path: Path) -> str:
    """Return the SHA-256 of the program. @raises EnvironmentFault when it cannot be read"""
    try:
        status = path.stat()
        return _digest(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise EnvironmentFault(f"{path}: {error.strerror}") from None


@cache
def _digest(path: Path, _size: int, _changed_ns: int) -> str:
    return _cache.digest_of_files(path)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a configuration."""

    at: str  #: path in the configuration: ``processor/caches/l1d/ways``; elements of lists by their numbers
    what: str


def check(configurations: Sequence[Mapping[str, Any]]) -> list[list[Fault]]:
    """Return the faults of each of ``configurations`` (``processor`` and optionally ``extent``). The simulator checks them with its own reader.

    Raises:
        UserError: there is no program ``dpubench-cores``, or it refuses the question as a whole.
        EnvironmentFault: it did not answer for each configuration.
    """
    if not configurations:
        return []
    path = program()
    question = json.dumps(list(configurations), separators=(",", ":")).encode()
    try:
        events = ask(
            LocalTarget(), str(path), ["--check"], question, silence_s=_CHECK_LIMIT_S, limit_s=_CHECK_LIMIT_S, parse=parse_cores_event,
            most_line_bytes=_MOST_LINE_BYTES,
        )  # fmt: skip
    except WorkerFault as fault:
        raise EnvironmentFault(f"{path} --check: gave no answer: {fault.reason}: build program and package from one revision") from None
    if refused := next((event["message"] for event in events if event["event"] == "failure"), ""):
        raise UserError(f"the plan's processors: {refused}")
    answers: list[dict[str, Any]] = next((event["configurations"] for event in events if event["event"] == "checked"), [])
    if len(answers) != len(configurations):
        raise EnvironmentFault(
            f"{path} --check: gave {len(answers)} answers to {len(configurations)} questions: build program and package from one revision"
        )
    return [[Fault(fault["at"].removeprefix("/"), fault["what"]) for fault in answer["faults"]] for answer in answers]


def job(configurations: Sequence[Mapping[str, Any]]) -> str:
    """Return the job of these configurations as JSON."""
    return json.dumps({"schema": schemas.CORES_JOB, "time_limit_s": LIMIT_S, "configurations": list(configurations)}, separators=(",", ":"))


def simulate_one(job_json: str, program: str, stop: StopRequest | None = None) -> Event:
    """Return the outcome of a job of one configuration: its ``result`` event, or a ``failure`` event with the reason.

    Raises:
        Interrupted: ``stop`` was set.
    """
    (configuration,) = json.loads(job_json)["configurations"]
    (outcome,) = simulate([configuration], program, stop)
    return outcome


def simulate(
    configurations: Sequence[Mapping[str, Any]], program: str, stop: StopRequest | None = None, tell: Callable[[Event], None] = lambda _event: None
) -> Iterator[Event]:
    """Yield the ``result`` or ``failure`` event of each configuration as soon as it arrives; ``tell`` gets ``progress`` events.

    The configurations share a process while it lives. If it dies or hangs, the configuration at work fails, and the others continue in a new process.

    Raises:
        Interrupted: ``stop`` was set.
    """
    left = {str(configuration["id"]): configuration for configuration in configurations}
    while left:
        process = _Process(left, program)
        for event in process.outcomes(stop, tell):
            del left[event["group"]]
            yield event
        if not left:
            return
        if process.refused and len(left) > 1:
            # One wrong description makes the simulator refuse the whole job. Run each configuration alone to find it.
            for configuration in left.values():
                yield from simulate([configuration], program, stop, tell)
            return
        guilty = process.at_work if process.at_work in left else next(iter(left))
        del left[guilty]
        yield failure(guilty, process.refused or process.fault or "the simulator ended without a result or a reason")


def failure(name: str, message: str) -> Event:
    """Return a ``failure`` event for the configuration ``name``."""
    return {"event": "failure", "group": name, "phase": "simulate", "message": message}


class _Process:
    """One process of the simulator, from its job to its end, however it ends."""

    def __init__(self, configurations: Mapping[str, Mapping[str, Any]], program: str) -> None:
        self._configurations = configurations
        self._program = program
        self.at_work = ""  #: the configuration last seen at work
        self.refused = ""  #: why the simulator refused the whole job
        self.fault = ""  #: what ended the process early

    def outcomes(self, stop: StopRequest | None, tell: Callable[[Event], None]) -> Iterator[Event]:
        wanted = set(self._configurations)
        try:
            with Worker(
                LocalTarget(),
                self._program,
                [],
                stop=stop,
                silence_s=SILENCE_S,
                limit_s=LIMIT_S,
                parse=parse_cores_event,
                most_line_bytes=_MOST_LINE_BYTES,
            ) as worker:
                worker.send(job(list(self._configurations.values())).encode() + b"\n", last=True)
                while (event := worker.next_event()) is not None:
                    kind, group = event["event"], event.get("group", "")
                    if kind in ("result", "failure") and group in wanted:
                        wanted.remove(group)
                        yield event
                    elif kind == "failure":
                        self.refused = event["message"].replace("/configurations/0/", "")
                    elif kind == "progress":
                        self.at_work = group
                        tell(event)
        except (WorkerFault, EnvironmentFault) as fault:
            self.fault = f"the simulator: {fault.reason if isinstance(fault, WorkerFault) else fault}"
