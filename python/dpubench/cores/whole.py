"""Whole programs and their traces: applications from the first byte of an input to the last of their output, and end-to-end workloads.

An application (``dpubench-applications``) is traced around all that it does with one input, the reading of files and the building of tables
included. A workload (``dpubench-workloads``) is traced around its packet loop, with a mark for each burst of 32 frames. Both are verified outside
of what is traced (docs/applications.md). Their traces are kept as those of kernels are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dpubench import programs
from dpubench.cores import _capture
from dpubench.cores._capture import ArmPrograms, NotTraced, cache_folder
from dpubench.errors import UserError, nearest
from dpubench.schemas import APPLICATION_JOB, WORKLOAD_JOB
from dpubench.workers.checks import Event
from dpubench.workers.process import StopRequest

__all__ = ["Application", "NotTraced", "WholeTrace", "Workload", "applications", "cache_folder", "refusals", "trace", "trace_all", "workloads"]

#: Frames of a workload that are one message of its trace.
BURST: Final = 32
_FLOWS: Final = 1000
#: Kind of the port that a traced workload's frames come by.
_PORT: Final = "ring"


@dataclass(frozen=True, slots=True)
class Application:
    """An application on its input."""

    name: str
    files: tuple[tuple[str, Path], ...]  #: kind and file; several of a kind in this order
    params: tuple[tuple[str, str], ...] = ()  #: those that differ from their defaults
    limit_bytes: int = 0  #: of the input that varies (the capture, the corpus); 0: all of it

    @property
    def label(self) -> str:
        """For people: ``ips, netflix.pcap, rules selective.rules``. The input that varies stands first, and needs no name of its kind."""
        words = [self.name, *(f"{value}" if not value.isdigit() else f"{name.replace('_', ' ')} {value}" for name, value in self.params)]
        words += [file.name if kind in _VARIED else f"{kind} {file.name}" for kind, file in sorted(self.files, key=lambda f: f[0] not in _VARIED)]
        return ", ".join([*words, f"{self.limit_bytes} B"] if self.limit_bytes else words)


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload on frames of the traffic model: UDP of ``flows`` flows, whose popularity is Zipf's."""

    name: str
    engines: tuple[tuple[str, str], ...] = ()  #: stage and engine; of the others the default
    params: tuple[tuple[str, str], ...] = ()  #: those that differ from their defaults
    frame_bytes: int = 64  #: with FCS
    frames: int = 3200  #: rounded up to whole bursts
    seed: int = 1
    files: tuple[tuple[str, Path], ...] = ()  #: kind and file of what the workload or its traffic reads
    flows: int = _FLOWS

    @property
    def label(self) -> str:
        """For people: ``flow-table, lookup portable, 64 B``."""
        words = [self.name, *(f"{stage} {engine}" for stage, engine in self.engines)]
        words += [f"{name.replace('_', ' ')} {value}" for name, value in self.params]
        return ", ".join([*words, f"{self.frame_bytes} B"])


#: Kinds of which each file is an input of its own; the others are what applications are set up with.
_VARIED: Final = ("capture", "corpus")


@dataclass(frozen=True, slots=True)
class WholeTrace:
    """The trace of a whole program."""

    folder: Path
    digest: str  #: SHA-256 over both files
    label: str
    about: Mapping[str, Any] = field(default_factory=dict)  #: the ``traced`` event, and ``program``: SHA-256


def applications(arm: ArmPrograms) -> tuple[dict[str, Any], ...]:
    """The catalog of applications: name, summary, inputs, operators, parameters, and whether it can run.

    Raises:
        UserError: the programs were built without it. EnvironmentFault: it gave no answer.
    """
    return arm.catalog_of(programs.APPLICATIONS, "applications")


def workloads(arm: ArmPrograms) -> tuple[dict[str, Any], ...]:
    """The catalog of workloads: name, summary, parameters, stages with their engines, inputs.

    Raises:
        UserError: the programs were built without DPDK. EnvironmentFault: it gave no answer.
    """
    return arm.catalog_of(programs.WORKLOADS, "workloads")


def refusals(wanted: Sequence[Application | Workload], arm: ArmPrograms) -> list[str]:
    """Of each why there is no such thing whatever its input, as its program says: a value of a parameter, an engine that cannot do it; else empty.

    Raises:
        EnvironmentFault: a program gave no answer.
    """
    applied = [{"application": one.name, "params": dict(one.params)} for one in wanted if isinstance(one, Application)]
    of_applications = iter(arm.answers(programs.APPLICATIONS, _text(applied), len(applied)))
    lines = [
        _text(
            {
                "workload": one.name,
                "params": dict(one.params),
                "engines": dict(one.engines),
                "port": _PORT,
                "cpus": 1,
                "max_frame": _max_frame(one),
            }
        )
        for one in wanted
        if isinstance(one, Workload)
    ]
    of_workloads = iter(arm.answers(programs.WORKLOADS, b"".join(lines), len(lines)))
    answers = [next(of_applications if isinstance(one, Application) else of_workloads) for one in wanted]
    return [invalid or "; ".join(f"stage {stage}: {why}" for stage, why in stages.items() if why) for invalid, stages in answers]


def trace(what: Application | Workload, arm: ArmPrograms, *, cache: Path, stop: StopRequest | None = None) -> WholeTrace:
    """The trace of ``what``, from ``cache`` where it is there already. Several processes may ask at once: one captures, the others wait.

    Raises:
        UserError: there is no such application, workload, stage, engine or parameter, or an input is missing or cannot be read.
        NotTraced: it cannot run, refused its input, failed its verification, crashed, or took longer than an hour.
        Interrupted: ``stop`` was set.
    """
    label = what.label

    def read(folder: Path, record: Mapping[str, Any]) -> WholeTrace:
        return WholeTrace(folder, str(record["digest"]), label, dict(record["about"]))

    task = _application(what, arm) if isinstance(what, Application) else _workload(what, arm)
    return _capture.obtain(task, arm, cache, read, stop)


def trace_all(
    wanted: Sequence[Application | Workload],
    arm: ArmPrograms,
    *,
    cache: Path,
    processes: int,
    stop: StopRequest,
    tell: Callable[[str, int, int], None] = lambda _label, _done, _of: None,
) -> Generator[tuple[Application | Workload, WholeTrace | UserError], None, None]:
    """Traces ``wanted``, so many at a time: each once, in order of finishing, with what kept it from having a trace in the trace's place.

    ``tell`` hears the label of each that is done, how many are, and of how many.

    Raises:
        Interrupted: ``stop`` was set; what was traced is kept.
    """

    def one(what: Application | Workload, halt: StopRequest) -> WholeTrace:
        return trace(what, arm, cache=cache, stop=halt)

    return _capture.all_of(wanted, one, processes=processes, stop=stop, tell=tell)


def _entry(kind: str, name: str, catalog: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """@raises UserError with the nearest name"""
    known = {str(entry["name"]): entry for entry in catalog}
    if name not in known:
        raise UserError(f"unknown {kind} '{name}'{nearest(name, known)}")
    return known[name]


def _parameters(label: str, entry: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """All of them, defaults filled in. @raises UserError with the nearest name"""
    parameters = {str(parameter["name"]): parameter for parameter in entry["parameters"]}
    for name in given:
        if name not in parameters:
            raise UserError(f"{label}: {entry['name']} has no parameter '{name}'{nearest(name, parameters)}")
    whole = {name: given.get(name, str(parameter["default"])) for name, parameter in parameters.items()}
    # A parameter that belongs to one value of another is left out where that has another value, unless it was given: then the program says so.
    return {
        name: value
        for name, value in whole.items()
        if name in given or all(whole.get(key) == wanted for key, wanted in (parameters[name].get("only_with") or {}).items())
    }


def _files(label: str, files: Iterable[tuple[str, Path]], known: Sequence[str], required: Sequence[str]) -> dict[str, list[Path]]:
    """By kind. @raises UserError"""
    by_kind: dict[str, list[Path]] = {}
    for kind, file in files:
        if kind not in known:
            raise UserError(f"{label}: reads no input {kind}{nearest(kind, known)}")
        if not file.is_file():
            raise UserError(f"{label}: {file}: there is no such file")
        by_kind.setdefault(kind, []).append(file)
    for kind in required:
        if kind not in by_kind:
            raise UserError(f"{label}: needs the input {kind}: give it a file")
    return dict(sorted(by_kind.items()))


def _application(what: Application, arm: ArmPrograms) -> _capture.Task:
    """@raises UserError"""
    entry = _entry("application", what.name, applications(arm))
    params = _parameters(what.label, entry, dict(what.params))
    inputs = [entry for entry in entry["inputs"] if all(params.get(key) == wanted for key, wanted in (entry.get("only_with") or {}).items())]
    required = [str(kind["name"]) for kind in inputs if not kind.get("optional")]
    files = _files(what.label, what.files, [str(kind["name"]) for kind in inputs], required)
    if not entry["available"]:
        raise NotTraced(f"{what.label}: has no trace: {what.name} cannot run as 64-bit Arm code here: {entry['reason']}")

    def job(places: Mapping[str, Sequence[str]]) -> bytes:
        return _text(
            {
                "schema": APPLICATION_JOB,
                "application": what.name,
                "params": params,
                "inputs": {kind: list(of_kind) for kind, of_kind in places.items()},
                "limit_bytes": what.limit_bytes,
                "time_limit_s": _capture.LIMIT_S,
            }
        )

    return _capture.Task(what.label, what.label, programs.APPLICATIONS, job, files, _record)


def _workload(what: Workload, arm: ArmPrograms) -> _capture.Task:
    """@raises UserError, NotTraced"""
    entry = _entry("workload", what.name, workloads(arm))
    params = _parameters(what.label, entry, dict(what.params))
    stages = {str(stage["name"]): stage for stage in entry["stages"]}
    engines = {name: str(stage["default_engine"]) for name, stage in stages.items()}
    for stage, engine in what.engines:
        if stage not in stages:
            raise UserError(f"{what.label}: {what.name} has no stage '{stage}'{nearest(stage, stages)}")
        engines[stage] = engine
    for stage, engine in engines.items():
        of_stage = {str(known["name"]): known for known in stages[stage]["engines"]}
        if engine not in of_stage:
            raise UserError(f"{what.label}: the stage {stage} has no engine '{engine}'{nearest(engine, of_stage)}")
        if not of_stage[engine]["available"]:
            raise NotTraced(f"{what.label}: has no trace: {engine} cannot run as 64-bit Arm code here: {of_stage[engine]['reason']}")
    kinds = [str(kind["name"]) for kind in entry["inputs"]]
    required = [
        str(kind["name"]) for kind in entry["inputs"] if all(params.get(key) == wanted for key, wanted in (kind.get("only_with") or {}).items())
    ]
    files = _files(what.label, what.files, [*kinds, "corpus"], required)

    def job(places: Mapping[str, Sequence[str]]) -> bytes:
        return _text(
            {
                "schema": WORKLOAD_JOB,
                "control": "traced",
                "workload": {"name": what.name, "params": params, "engines": engines},
                "traffic": {
                    "flows": what.flows,
                    "frame_sizes": [[what.frame_bytes, 1]],
                    "payload": {"source": "corpus" if "corpus" in places else "random"},
                },
                "inputs": {kind: list(of_kind) for kind, of_kind in places.items()},
                "frames": what.frames,
                "burst": BURST,
                "seed": what.seed,
                "max_frame": _max_frame(what),
                "time_limit_s": _capture.LIMIT_S,
            }
        )

    text = f"{what.label}, bursts of {BURST}, {what.frames} frames, {what.flows} flows, seed {what.seed}"
    return _capture.Task(what.label, text, programs.WORKLOADS, job, files, _record)


def _max_frame(what: Workload) -> int:
    return max(1518, what.frame_bytes)


def _text(job: Any) -> bytes:
    return json.dumps(job, separators=(",", ":")).encode() + b"\n"


def _record(said: Mapping[str, Event]) -> dict[str, Any]:
    return {"about": dict(said["traced"])}
