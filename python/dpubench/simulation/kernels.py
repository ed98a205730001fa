"""Kernels and their traces. A kernel is an operator on given input, with everything that decides which instructions it executes.

The traced program is the measured program, cross-compiled for 64-bit Arm. It verifies the engine as before any measurement, and the trace records one
run over the kernel's messages (docs/architecture.md, ``"control": "traced"``). The same kernel, programs and input give the same trace on any
machine, wherever the files lie. So a trace is captured once and kept under a digest of everything that it was made from. Public-key operators draw
random numbers as they run, so each capture of them is a different sample.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from dpubench import programs
from dpubench.catalog import inputs_of
from dpubench.errors import UserError, nearest
from dpubench.inputs import Resolved
from dpubench.simulation import _capture, crowley
from dpubench.simulation._capture import BUNDLE_VARIABLE, ArmPrograms, NotTraced, cache_folder, release
from dpubench.workers import job as jobs
from dpubench.workers.checks import Event
from dpubench.workers.process import StopRequest

__all__ = ["BUNDLE_VARIABLE", "ArmPrograms", "Catalogued", "Kernel", "NotTraced", "Trace", "cache_folder", "job_of", "release", "trace", "trace_all"]

#: The job format requires a description of the windows, although no window runs.
_WINDOW: Final[jobs.Window] = {"min_ms": 1, "max_ms": 20, "min_bursts": 60, "threaded_min_ms": 5}


@dataclass(frozen=True, slots=True)
class Kernel:
    """An operator with everything that decides its trace."""

    operator: str
    engine: str
    params: tuple[tuple[str, str], ...] = ()  #: parameters that differ from their defaults; without ``size``
    message_bytes: int | None = None  #: the parameter ``size`` of operators that have it; for others the bytes of a frame on a line
    footprint: str = "stream"  #: footprint of the buffers: ``stream`` or ``resident``
    messages: int = 1000  #: messages, at least; rounded up to whole bursts
    seed: int = 1  #: seed for drawing input and for the memory layout
    burst: int = 0  #: messages that the engine gets at once, which are one message of the trace; 0: the operator's default burst

    @property
    def label(self) -> str:
        """Return a name for people: ``lpm, patricia, prefixes 1000, 64 B``."""
        words = [self.operator, self.engine]
        # A number needs the name of its parameter, a word does not.
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
    burst: int  #: messages in one message of the trace
    in_bytes: int
    out_bytes: int
    #: The program's own ``input``, ``path``, ``verified`` and, if inputs lie at equal distances, ``input_ring``; ``program``: its SHA-256.
    about: Mapping[str, Any] = field(default_factory=dict)


def trace(kernel: Kernel, inputs: Resolved, arm: ArmPrograms | None, *, cache: Path, stop: StopRequest | None = None) -> Trace:
    """Return the trace of ``kernel``, from ``cache`` if it is there already. Several processes may ask at once: one captures, the others wait.

    ``inputs`` may hold more kinds than the kernel reads. ``arm`` may be None for a kernel of :mod:`dpubench.simulation.crowley`.

    Raises:
        UserError: there is no such operator, engine or parameter, or an input is missing.
        NotTraced: the engine cannot run, failed its verification, crashed, or took longer than an hour.
        Interrupted: ``stop`` was set.
    """

    def read(folder: Path, record: Mapping[str, Any]) -> Trace:
        counts = {key: int(record[key]) for key in ("messages", "burst", "in_bytes", "out_bytes")}
        return Trace(folder, kernel, str(record["digest"]), about=dict(record["about"]), **counts)

    if kernel.operator in crowley.NAMES:
        task = _like_the_papers(kernel, inputs)

        def capture(folder: Path) -> None:
            task.capture(folder, _capture.RECORD, _capture.SCHEMA, _capture.LIMIT_S, stop)

        return _capture.obtain_at(cache / task.key(), kernel.label, capture, read, stop)
    if arm is None:
        raise UserError(f"{kernel.label}: needs the programs for 64-bit Arm")
    plain = _complete(kernel, arm)
    return _capture.obtain(_task(plain, _files(plain, inputs, arm), kernel.label), arm, cache, read, stop)


def _like_the_papers(kernel: Kernel, inputs: Resolved) -> crowley.Task:
    """Return the capture task of a kernel of :mod:`dpubench.simulation.crowley`. @raises UserError, NotTraced"""
    params = dict(kernel.params)
    code = crowley.CODES[params.get(crowley.CODE, "a64")]
    if reason := crowley.lacking(code):
        raise NotTraced(f"{kernel.label}: has no trace: {reason}")
    burst = kernel.burst or 1
    words = crowley.arguments(kernel.operator, kernel.engine, params, kernel.message_bytes, kernel.messages, burst, kernel.seed)
    routes = None
    if kernel.operator == crowley.LOOKUP:
        if "routes4" not in inputs.inputs:
            missing = inputs.missing.get("routes4")
            raise UserError(f"{kernel.label}: needs the input routes4: {missing.reason if missing else 'give --input routes4=FILE'}")
        routes = inputs.inputs["routes4"].files[0]
    return crowley.Task(kernel.label, code, tuple(words), routes, burst)


def trace_all(
    kernels: Sequence[Kernel],
    inputs: Resolved,
    arm: ArmPrograms | None,
    *,
    cache: Path,
    processes: int,
    stop: StopRequest,
    tell: Callable[[str, int, int], None] = lambda _label, _done, _of: None,
) -> Generator[tuple[Kernel, Trace | UserError], None, None]:
    """Trace each of ``kernels`` once, ``processes`` at a time; yield (kernel, its trace or the error) in order of finishing.

    ``tell`` gets the label of each finished kernel, the number finished, and the total.

    Raises:
        Interrupted: ``stop`` was set; finished traces are kept.
    """

    def one(kernel: Kernel, halt: StopRequest) -> Trace:
        return trace(kernel, inputs, arm, cache=cache, stop=halt)

    return _capture.all_of(kernels, one, processes=processes, stop=stop, tell=tell)


class Catalogued(Protocol):
    """Programs with a catalog of operators."""

    def operator(self, name: str) -> dict[str, Any]:
        """Return the operator's entry in the catalog. @raises UserError with the nearest name"""


def job_of(kernel: Kernel, inputs: Resolved, known: Catalogued) -> bytes:
    """Return the job with which the program for operators verifies ``kernel`` and runs its messages once. @raises as :func:`trace`"""
    plain = _complete(kernel, known)
    return _job(plain, {kind: [str(file) for file in files] for kind, files in _files(plain, inputs, known).items()})


def _complete(kernel: Kernel, arm: Catalogued) -> Kernel:
    """Return ``kernel`` with every parameter that matters and the burst spelt out. @raises UserError, NotTraced"""
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
    """Return every parameter that matters in ``kernel``, with its value. ``operator``: the operator's entry in the catalog."""
    parameters = {entry["name"]: entry for entry in operator["parameters"]}
    given = dict(kernel.params)
    if "size" in parameters and kernel.message_bytes is not None:
        given.setdefault("size", str(kernel.message_bytes))
    whole = {name: given.get(name, str(entry["default"])) for name, entry in parameters.items()}
    # Leave out a parameter that applies only with a certain value of another parameter, if that has a different value. But keep it if the caller
    # gave it: then the program reports the mistake.
    return {
        name: value
        for name, value in whole.items()
        if name in dict(kernel.params) or all(whole.get(key) == wanted for key, wanted in (parameters[name].get("only_with") or {}).items())
    }


def _files(kernel: Kernel, inputs: Resolved, arm: Catalogued) -> dict[str, list[Path]]:
    """Return the files that a complete ``kernel`` reads, by kind. @raises UserError when one is missing"""
    files = {}
    for kind in sorted(inputs_of(arm.operator(kernel.operator), dict(kernel.params))):
        if kind not in inputs.inputs:
            missing = inputs.missing.get(kind)
            raise UserError(f"{kernel.label}: needs the input {kind}: {missing.reason if missing else f'give --input {kind}=FILE'}")
        files[kind] = list(inputs.inputs[kind].files)
    return files


def _task(kernel: Kernel, files: Mapping[str, Sequence[Path]], label: str) -> _capture.Task:
    """Return the capture task of a complete ``kernel``."""
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
    """Return the record kept beside a trace."""
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
