"""Whole programs and their traces: applications from the first byte of an input to the last of their output, and end-to-end workloads.

The trace of an application (``dpubench-applications``) covers all of its work on one input, including reading files and building tables. The trace of
a workload (``dpubench-workloads``) covers its packet loop, with a mark for each burst of 32 frames. Both are verified outside the traced part
(docs/applications.md). Their traces are kept like those of kernels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dpubench import programs
from dpubench.errors import UserError, nearest
from dpubench.schemas import APPLICATION_JOB, WORKLOAD_JOB
from dpubench.simulation import _capture
from dpubench.simulation._capture import ArmPrograms, NotTraced, cache_folder
from dpubench.workers.checks import Event
from dpubench.workers.process import StopRequest

__all__ = ["Application", "NotTraced", "ProgramTrace", "Workload", "applications", "cache_folder", "refusals", "trace", "trace_all", "workloads"]

#: Frames of a workload in one message of its trace.
BURST: Final = 32
_FLOWS: Final = 1000
#: Kind of the port that brings the frames of a traced workload.
_PORT: Final = "ring"


@dataclass(frozen=True, slots=True)
class Application:
    """An application on its input."""

    name: str
    files: tuple[tuple[str, Path], ...]  #: (kind, file) pairs; several files of a kind in this order
    params: tuple[tuple[str, str], ...] = ()  #: parameters that differ from their defaults
    limit_bytes: int = 0  #: most bytes to read of the input that varies (the capture, the corpus); 0: all of it

    @property
    def label(self) -> str:
        """Return a name for people: ``ips, netflix.pcap, rules selective.rules``. The input that varies comes first, without its kind."""
        words = [self.name, *(f"{value}" if not value.isdigit() else f"{name.replace('_', ' ')} {value}" for name, value in self.params)]
        words += [file.name if kind in _VARIED else f"{kind} {file.name}" for kind, file in sorted(self.files, key=lambda f: f[0] not in _VARIED)]
        return ", ".join([*words, f"{self.limit_bytes} B"] if self.limit_bytes else words)


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload on frames of the traffic model: UDP in ``flows`` flows with Zipf popularity."""

    name: str
    engines: tuple[tuple[str, str], ...] = ()  #: (stage, engine) pairs; other stages use their default
    params: tuple[tuple[str, str], ...] = ()  #: parameters that differ from their defaults
    frame_bytes: int = 64  #: bytes of a frame with FCS
    frames: int = 3200  #: number of frames, rounded up to whole bursts
    seed: int = 1
    files: tuple[tuple[str, Path], ...] = ()  #: (kind, file) pairs that the workload or its traffic reads
    flows: int = _FLOWS

    @property
    def label(self) -> str:
        """Return a name for people: ``flow-table, lookup portable, 64 B``."""
        words = [self.name, *(f"{stage} {engine}" for stage, engine in self.engines)]
        words += [f"{name.replace('_', ' ')} {value}" for name, value in self.params]
        return ", ".join([*words, f"{self.frame_bytes} B"])


#: Input kinds of the data that an application processes: each file is a separate input. Files of other kinds set the application up.
_VARIED: Final = ("capture", "corpus")


@dataclass(frozen=True, slots=True)
class ProgramTrace:
    """The trace of a whole program."""

    folder: Path
    digest: str  #: SHA-256 over both files
    label: str
    about: Mapping[str, Any] = field(default_factory=dict)  #: the ``traced`` event, and ``program``: the program's SHA-256


def applications(arm: ArmPrograms) -> tuple[dict[str, Any], ...]:
    """Return the catalog of applications: name, summary, inputs, operators, parameters, and whether each can run.

    Raises:
        UserError: the programs were built without dpubench-applications. EnvironmentFault: it gave no answer.
    """
    return arm.catalog_of(programs.APPLICATIONS, "applications")


def workloads(arm: ArmPrograms) -> tuple[dict[str, Any], ...]:
    """Return the catalog of workloads: name, summary, parameters, stages with their engines, inputs.

    Raises:
        UserError: the programs were built without DPDK. EnvironmentFault: the program gave no answer.
    """
    return arm.catalog_of(programs.WORKLOADS, "workloads")


def refusals(wanted: Sequence[Application | Workload], arm: ArmPrograms) -> list[str]:
    """Return, per program, why it cannot run on any input (a parameter's value, an engine that cannot do it), or an empty string. Ask the program.

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


def trace(what: Application | Workload, arm: ArmPrograms, *, cache: Path, stop: StopRequest | None = None) -> ProgramTrace:
    """Return the trace of ``what``, from ``cache`` if it is there already. Several processes may ask at once: one captures, the others wait.

    Raises:
        UserError: there is no such application, workload, stage, engine or parameter, or an input is missing or cannot be read.
        NotTraced: the program cannot run, refused its input, failed its verification, crashed, or took longer than an hour.
        Interrupted: ``stop`` was set.
    """
    label = what.label

    def read(folder: Path, record: Mapping[str, Any]) -> ProgramTrace:
        return ProgramTrace(folder, str(record["digest"]), label, dict(record["about"]))

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
) -> Generator[tuple[Application | Workload, ProgramTrace | UserError], None, None]:
    """Trace each of ``wanted`` once, ``processes`` at a time; yield (program, its trace or the error) in order of finishing.

    ``tell`` gets the label of each finished program, the number finished, and the total.

    Raises:
        Interrupted: ``stop`` was set; finished traces are kept.
    """

    def one(what: Application | Workload, halt: StopRequest) -> ProgramTrace:
        return trace(what, arm, cache=cache, stop=halt)

    return _capture.all_of(wanted, one, processes=processes, stop=stop, tell=tell)


def _entry(kind: str, name: str, catalog: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the entry called ``name`` in ``catalog``. @raises UserError with the nearest name"""
    known = {str(entry["name"]): entry for entry in catalog}
    if name not in known:
        raise UserError(f"unknown {kind} '{name}'{nearest(name, known)}")
    return known[name]


def _parameters(label: str, entry: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Return the given parameters and the defaults of the others. @raises UserError with the nearest name"""
    parameters = {str(parameter["name"]): parameter for parameter in entry["parameters"]}
    for name in given:
        if name not in parameters:
            raise UserError(f"{label}: {entry['name']} has no parameter '{name}'{nearest(name, parameters)}")
    whole = {name: given.get(name, str(parameter["default"])) for name, parameter in parameters.items()}
    # Leave out a parameter that applies only with a certain value of another parameter, if that has a different value. But keep it if the caller
    # gave it: then the program reports the mistake.
    return {
        name: value
        for name, value in whole.items()
        if name in given or all(whole.get(key) == wanted for key, wanted in (parameters[name].get("only_with") or {}).items())
    }


def _files(label: str, files: Iterable[tuple[str, Path]], known: Sequence[str], required: Sequence[str]) -> dict[str, list[Path]]:
    """Return the files by kind. @raises UserError for an unknown kind, or a missing file or kind"""
    by_kind: dict[str, list[Path]] = {}
    for kind, file in files:
        if kind not in known:
            raise UserError(f"{label}: does not read the input {kind}{nearest(kind, known)}")
        if not file.is_file():
            raise UserError(f"{label}: {file}: there is no such file")
        by_kind.setdefault(kind, []).append(file)
    for kind in required:
        if kind not in by_kind:
            raise UserError(f"{label}: needs the input {kind}: give it a file")
    return dict(sorted(by_kind.items()))


def _application(what: Application, arm: ArmPrograms) -> _capture.Task:
    """Return the capture task of an application. @raises UserError, NotTraced"""
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
    """Return the capture task of a workload. @raises UserError, NotTraced"""
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
