"""Kernels: operators on given input, with all that decides what they execute, and their traces.

A trace is of the program that is measured, cross-compiled for 64-bit Arm: it verifies the engine as before any measurement, and is recorded while it
runs the kernel's messages once (docs/architecture.md, ``"control": "traced"``). The same kernel of the same programs on the same input gives the same
trace, wherever the files lie and whatever this machine is; so it is captured once and kept by what it was made of. Public-key operators draw random
numbers as they go, and of them every capture is another sample.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from dpubench import programs
from dpubench.catalog import inputs_of
from dpubench.cores import _capture
from dpubench.cores._capture import BUNDLE_VARIABLE, ArmPrograms, NotTraced, cache_folder, release
from dpubench.errors import UserError, nearest
from dpubench.inputs import Resolved
from dpubench.workers import job as jobs
from dpubench.workers.checks import Event
from dpubench.workers.process import StopRequest

__all__ = ["BUNDLE_VARIABLE", "ArmPrograms", "Catalogued", "Kernel", "NotTraced", "Trace", "cache_folder", "job_of", "release", "trace", "trace_all"]

#: No window is run; the program wants them described all the same.
_WINDOW: Final[jobs.Window] = {"min_ms": 1, "max_ms": 20, "min_bursts": 60, "threaded_min_ms": 5}


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is traced."""

    operator: str
    engine: str
    params: tuple[tuple[str, str], ...] = ()  #: those that differ from their defaults; without ``size``
    message_bytes: int | None = None  #: the parameter ``size`` of operators that have it; of others it says what a frame takes on a line
    footprint: str = "stream"  #: of the buffers; or ``resident``
    messages: int = 1000  #: at least; rounded up to whole bursts
    seed: int = 1  #: of input drawing and of memory layout
    burst: int = 0  #: messages that the engine is given at once, which are one message of the trace; 0: as the operator's studies do

    @property
    def label(self) -> str:
        """For people: ``lpm, patricia, prefixes 1000, 64 B``."""
        words = [self.operator, self.engine]
        # A number says nothing without its name, and a word needs none.
        words += [f"{name.replace('_', ' ')} {value}" if value.isascii() and value.isdigit() else value for name, value in self.params]
        words += [f"{self.message_bytes} B"] if self.message_bytes is not None else []
        words += [self.footprint] if self.footprint != "stream" else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Trace:
    """A kernel's trace. A message of the trace, and so of every simulation of it, is a burst."""

    folder: Path
    kernel: Kernel
    digest: str  #: SHA-256 over both files
    messages: int
    burst: int  #: messages in one of the trace's
    in_bytes: int
    out_bytes: int
    #: ``input``, ``path``, ``verified`` and, where inputs lie at equal distances, ``input_ring`` as the program said them; ``program``: SHA-256
    about: Mapping[str, Any] = field(default_factory=dict)


def trace(kernel: Kernel, inputs: Resolved, arm: ArmPrograms, *, cache: Path, stop: StopRequest | None = None) -> Trace:
    """The trace of ``kernel``, from ``cache`` where it is there already. Several processes may ask at once: one captures, the others wait.

    ``inputs`` may hold more kinds than the kernel reads.

    Raises:
        UserError: there is no such operator, engine or parameter, or an input is missing.
        NotTraced: the engine cannot run, failed its verification, crashed, or took longer than an hour.
        Interrupted: ``stop`` was set.
    """
    plain = _complete(kernel, arm)

    def read(folder: Path, record: Mapping[str, Any]) -> Trace:
        counts = {key: int(record[key]) for key in ("messages", "burst", "in_bytes", "out_bytes")}
        return Trace(folder, kernel, str(record["digest"]), about=dict(record["about"]), **counts)

    return _capture.obtain(_task(plain, _files(plain, inputs, arm), kernel.label), arm, cache, read, stop)


def trace_all(
    kernels: Sequence[Kernel],
    inputs: Resolved,
    arm: ArmPrograms,
    *,
    cache: Path,
    processes: int,
    stop: StopRequest,
    tell: Callable[[str, int, int], None] = lambda _label, _done, _of: None,
) -> Generator[tuple[Kernel, Trace | UserError], None, None]:
    """Traces ``kernels``, so many at a time: each once, in order of finishing, with what kept it from having a trace in the trace's place.

    ``tell`` hears the label of each that is done, how many are, and of how many.

    Raises:
        Interrupted: ``stop`` was set; what was traced is kept.
    """

    def one(kernel: Kernel, halt: StopRequest) -> Trace:
        return trace(kernel, inputs, arm, cache=cache, stop=halt)

    return _capture.all_of(kernels, one, processes=processes, stop=stop, tell=tell)


class Catalogued(Protocol):
    """Programs that say what they have."""

    def operator(self, name: str) -> dict[str, Any]:
        """The catalog's entry. @raises UserError with the nearest name"""


def job_of(kernel: Kernel, inputs: Resolved, known: Catalogued) -> bytes:
    """The job by which the program for operators verifies ``kernel`` and runs its messages once. @raises as :func:`trace`"""
    plain = _complete(kernel, known)
    return _job(plain, {kind: [str(file) for file in files] for kind, files in _files(plain, inputs, known).items()})


def _complete(kernel: Kernel, arm: Catalogued) -> Kernel:
    """``kernel`` with every parameter and the burst spelt out, and nothing in it that decides nothing. @raises UserError"""
    operator = arm.operator(kernel.operator)
    parameters = {entry["name"]: entry for entry in operator["parameters"]}
    given = dict(kernel.params)
    if unknown := [name for name in given if name not in parameters]:
        raise UserError(f"{kernel.label}: the operator {kernel.operator} has no parameter '{unknown[0]}'{nearest(unknown[0], parameters)}")
    engines = {entry["name"]: entry for entry in operator["engines"]}
    if kernel.engine not in engines:
        raise UserError(f"{kernel.label}: the operator {kernel.operator} has no engine '{kernel.engine}'{nearest(kernel.engine, engines)}")
    if not engines[kernel.engine]["available"]:
        raise NotTraced(f"{kernel.label}: has no trace: {kernel.engine} cannot run as 64-bit Arm code here: {engines[kernel.engine]['reason']}")
    burst = kernel.burst or int(operator["default_burst"])
    return replace(kernel, params=tuple(sorted(parameters_of(kernel, operator).items())), message_bytes=None, burst=burst)


def parameters_of(kernel: Kernel, operator: Mapping[str, Any]) -> dict[str, str]:
    """Every parameter that decides something in ``kernel``, with its value; ``operator`` is its operator's entry in the catalog."""
    parameters = {entry["name"]: entry for entry in operator["parameters"]}
    given = dict(kernel.params)
    if "size" in parameters and kernel.message_bytes is not None:
        given.setdefault("size", str(kernel.message_bytes))
    whole = {name: given.get(name, str(entry["default"])) for name, entry in parameters.items()}
    # A parameter that belongs to one value of another is left out where that has another value, unless it was given: then the program says so.
    return {
        name: value
        for name, value in whole.items()
        if name in dict(kernel.params) or all(whole.get(key) == wanted for key, wanted in (parameters[name].get("only_with") or {}).items())
    }


def _files(kernel: Kernel, inputs: Resolved, arm: Catalogued) -> dict[str, list[Path]]:
    """Kind -> files that ``kernel``, which is complete, reads. @raises UserError when one is missing"""
    files = {}
    for kind in sorted(inputs_of(arm.operator(kernel.operator), dict(kernel.params))):
        if kind not in inputs.inputs:
            missing = inputs.missing.get(kind)
            raise UserError(f"{kernel.label}: needs the input {kind}: {missing.reason if missing else f'give --input {kind}=FILE'}")
        files[kind] = list(inputs.inputs[kind].files)
    return files


def _task(kernel: Kernel, files: Mapping[str, Sequence[Path]], label: str) -> _capture.Task:
    """Of a kernel that is complete."""
    return _capture.Task(
        label=label,
        text=f"{kernel.label}, bursts of {kernel.burst}, {kernel.messages} messages, seed {kernel.seed}",
        program=programs.OPERATORS,
        job=lambda inputs: _job(kernel, inputs),
        files=files,
        record=lambda said: _record(kernel, said),
    )


def _job(kernel: Kernel, inputs: Mapping[str, Sequence[str]]) -> bytes:
    group = jobs.group(
        "kernel",
        kernel.operator,
        dict(kernel.params),
        [jobs.point(kernel.engine, kernel.engine)],
        threads=1,
        burst=kernel.burst,
        footprint=kernel.footprint,
    )
    return jobs.job(
        [group],
        seed=kernel.seed,
        number=0,
        control="traced",
        inputs=inputs,
        cpus=_capture.CPUS,
        window=_WINDOW,
        cycles=1,
        canaries=False,
        limit_s=_capture.LIMIT_S,
        operations=kernel.messages,
    )


def _record(kernel: Kernel, said: Mapping[str, Event]) -> dict[str, Any]:
    """What is kept beside a trace."""
    traced, prepared = said["traced"], said.get("prepared", {})
    return {
        "messages": traced["operations"],
        "burst": kernel.burst,
        "in_bytes": traced["in_bytes"],
        "out_bytes": traced["out_bytes"],
        "about": {
            **{key: prepared[key] for key in ("input", "path", "footprint_bytes") if key in prepared},
            **{key: traced[key] for key in ("input_ring",) if key in traced},
            "verified": {key: said["verified"][key] for key in ("known_answers", "compared", "how")} if "verified" in said else {},
        },
    }
