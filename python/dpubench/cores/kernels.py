"""Kernels: operators on given input, with all that decides what they execute, and their traces.

A trace is of the program that is measured, cross-compiled for 64-bit Arm: it verifies the engine as before any measurement, and is recorded while it
runs the kernel's messages once (docs/architecture.md, ``"control": "traced"``). The same kernel of the same programs on the same input gives the same
trace, wherever the files lie and whatever this machine is; so it is captured once and kept by what it was made of. Public-key operators draw random
numbers as they go, and of them every capture is another sample.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cache as memoized
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from dpubench import bundle, programs, schemas, traces
from dpubench.catalog import inputs_of
from dpubench.cores import _cache
from dpubench.cores._machine import CPU, DESCRIPTION, Machine
from dpubench.errors import EnvironmentFault, UserError, nearest
from dpubench.inputs import Resolved
from dpubench.targets import _bundles
from dpubench.workers import job as jobs
from dpubench.workers.checks import Event, Rubbish, parse_event
from dpubench.workers.process import StopRequest

ARCHITECTURE: Final = "aarch64"
#: Names an archive of programs to use instead of those that are compiled here.
BUNDLE_VARIABLE: Final = "DPUBENCH_AARCH64_BUNDLE"
_COMPILER: Final = "aarch64-linux-gnu-g++"
#: Raised when the same kernel would give another trace for a reason that is in no file.
_VERSION: Final = 1
_RECORD: Final = "trace.json"
_SCHEMA: Final = "dpubench.trace/1"
_LIMIT_S: Final = 3600.0
#: The program ends itself at its limit and says so; what does not even do that is ended so much later.
_GRACE_S: Final = 30.0
_LIST_LIMIT_S: Final = 120.0
_LOOK_S: Final = 0.2
#: What traces may take on the disk; those not used for longest go first.
CACHE_BYTES: Final = 4 << 30
#: The measuring thread is told to run on a CPU that is not there, so that it stays wherever the system puts it: captures beside each other would
#: share a CPU otherwise, and a number of this machine's would be in the trace's stead.
_CPUS: Final = (1023,)
#: No window is run; the program wants them described all the same.
_WINDOW: Final[jobs.Window] = {"min_ms": 1, "max_ms": 20, "min_bursts": 60, "threaded_min_ms": 5}
#: The libraries of engines read no file of this system's.
_ENVIRONMENT: Final = {"OPENSSL_CONF": "/dev/null"}


class NotTraced(EnvironmentFault):
    """A kernel that has no trace: its engine failed, crashed, cannot run, or took too long. Others may have theirs."""


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


@dataclass(frozen=True)
class ArmPrograms:
    """The native programs for 64-bit Arm, with all that they need: a bundle, unpacked."""

    folder: Path
    digest: str  #: SHA-256 of its manifest, which names every file with its digest

    @classmethod
    def found(cls) -> ArmPrograms:
        """Those of the archive that ``$DPUBENCH_AARCH64_BUNDLE`` names, else of this installation: compiled first where they are not up to date.

        Raises:
            UserError, EnvironmentFault: there are none, saying what to install or run.
        """
        if shutil.which(traces.EMULATOR) is None:
            raise UserError(f"there is no {traces.EMULATOR} here, which kernels are traced under: install the package qemu-user")
        programs.trace_plugin()
        if given := os.environ.get(BUNDLE_VARIABLE):
            if not Path(given).is_file():
                raise UserError(f"{BUNDLE_VARIABLE}={given}: there is no such file: make one with `dpubench bundle --arch {ARCHITECTURE}`")
            return cls.of(Path(given))
        if bundle.host_architecture() != ARCHITECTURE and shutil.which(_COMPILER) is None:
            raise UserError(
                f"kernels are traced as 64-bit Arm executes them, and there is no {_COMPILER} here to compile them: install the package "
                f"g++-aarch64-linux-gnu, or set {BUNDLE_VARIABLE} to an archive of `dpubench bundle --arch {ARCHITECTURE}` from another machine"
            )
        return cls.of(_bundles.archive(ARCHITECTURE))

    @classmethod
    def of(cls, archive: Path) -> ArmPrograms:
        """Those of ``archive``. @raises UserError, EnvironmentFault when it is no bundle for 64-bit Arm"""
        folder = _bundles.unpacked(archive)
        manifest = (folder / "manifest.json").read_bytes()
        try:
            architecture = json.loads(manifest)["architecture"]
        except (ValueError, KeyError, TypeError):
            raise EnvironmentFault(f"{archive}: its manifest cannot be read: make it again with `dpubench bundle --arch {ARCHITECTURE}`") from None
        if architecture != ARCHITECTURE:
            raise UserError(f"{archive}: holds programs for {architecture}, and traces are of {ARCHITECTURE}: give a bundle of that")
        return cls(folder, sha256(manifest).hexdigest())

    @property
    def lib(self) -> Path:
        """Programs, libraries and the loader."""
        return self.folder / "lib"

    @property
    def operators_program(self) -> Path:
        return self.lib / programs.OPERATORS

    def catalog(self) -> dict[str, Any]:
        """The ``hello`` event with the catalog: operators and engines, and why some cannot run under the emulator. Kept; asked once.

        Raises:
            EnvironmentFault: the program gave no answer.
        """
        return _hello(self)

    def operator(self, name: str) -> dict[str, Any]:
        """The catalog's entry. @raises UserError with the nearest name"""
        operators = {entry["name"]: entry for entry in self.catalog()["catalog"]["operators"]}
        if name not in operators:
            raise UserError(f"unknown operator '{name}'{nearest(name, operators)}")
        return dict(operators[name])


@memoized
def _hello(arm: ArmPrograms) -> dict[str, Any]:
    kept = programs.cache_directory() / "catalogs" / f"{ARCHITECTURE}-{_cache.digest_of([arm.digest, _emulator(), DESCRIPTION])[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError):
        hello = json.loads(kept.read_text(encoding="utf-8"))
        if not schemas.fault("event", hello, "hello") and "catalog" in hello:
            return dict(hello)
    with Machine(arm.lib) as machine:
        words = [traces.EMULATOR, "-cpu", CPU, "-L", str(machine.folder), str(machine.loader), *machine.words(programs.OPERATORS), "--list"]
        try:
            done = subprocess.run(
                words, cwd=machine.folder, capture_output=True, timeout=_LIST_LIMIT_S, check=False, env={**os.environ, **_ENVIRONMENT}
            )
            hello = parse_event(done.stdout.split(b"\n")[0])
        except (OSError, subprocess.TimeoutExpired, Rubbish) as error:
            raise EnvironmentFault(f"{arm.operators_program} --list: gave no catalog under {traces.EMULATOR}: {error}") from None
    if hello["event"] != "hello" or "catalog" not in hello:
        raise EnvironmentFault(f"{arm.operators_program} --list: its first event holds no catalog: build programs and package from one revision")
    with contextlib.suppress(OSError):  # then it is asked again next time
        _cache.write_json(kept, hello)
    return hello


@memoized
def _emulator() -> str:
    """What emulates: its version. @raises EnvironmentFault"""
    try:
        done = subprocess.run([traces.EMULATOR, "--version"], capture_output=True, text=True, timeout=_LIST_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"{traces.EMULATOR} --version: {error}") from None
    return done.stdout.partition("\n")[0]


def cache_folder() -> Path:
    """Where traces are kept."""
    return programs.cache_directory() / "traces"


def trace(kernel: Kernel, inputs: Resolved, arm: ArmPrograms, *, cache: Path, stop: StopRequest | None = None) -> Trace:
    """The trace of ``kernel``, from ``cache`` where it is there already. Several processes may ask at once: one captures, the others wait.

    ``inputs`` may hold more kinds than the kernel reads.

    Raises:
        UserError: there is no such operator, engine or parameter, or an input is missing.
        NotTraced: the engine cannot run, failed its verification, crashed, or took longer than an hour.
        Interrupted: ``stop`` was set.
    """
    plain = _complete(kernel, arm)
    files = _files(plain, inputs, arm)
    key = _key(plain, files, arm)
    folder = cache / key
    while True:
        if known := _kept(folder, kernel):
            _cache.used(folder)
            return known
        if stop is not None:
            stop.check()
        try:
            _capture(plain, files, arm, folder, stop)
            _cache.prune(cache, CACHE_BYTES)
        except traces.CaptureExists:  # another process had it meanwhile
            continue
        except traces.CaptureBusy:
            time.sleep(_LOOK_S)
        except traces.CaptureFault as fault:
            raise NotTraced(f"{kernel.label}: has no trace: {_reason(fault)}") from None


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
    halt = StopRequest()
    pool = ThreadPoolExecutor(max(1, processes))
    try:
        waited = {pool.submit(trace, kernel, inputs, arm, cache=cache, stop=halt): kernel for kernel in dict.fromkeys(kernels)}
        of = len(waited)
        while waited:
            done, _ = wait(waited, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            stop.check()
            for future in done:
                kernel = waited.pop(future)
                try:
                    outcome: Trace | UserError = future.result()
                except UserError as error:
                    outcome = error
                tell(kernel.label, of - len(waited), of)
                yield kernel, outcome
    finally:
        halt.set(signal.SIGTERM)
        pool.shutdown(cancel_futures=True)
        halt.close()


def _complete(kernel: Kernel, arm: ArmPrograms) -> Kernel:
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
    if "size" in parameters and kernel.message_bytes is not None:
        given.setdefault("size", str(kernel.message_bytes))
    whole = {name: given.get(name, str(entry["default"])) for name, entry in parameters.items()}
    # A parameter that belongs to one value of another is left out where that has another value, unless it was given: then the program says so.
    held = {
        name: value
        for name, value in whole.items()
        if name in dict(kernel.params) or all(whole.get(key) == wanted for key, wanted in (parameters[name].get("only_with") or {}).items())
    }
    burst = kernel.burst or int(operator["default_burst"])
    return replace(kernel, params=tuple(sorted(held.items())), message_bytes=None, burst=burst)


def _files(kernel: Kernel, inputs: Resolved, arm: ArmPrograms) -> dict[str, list[Path]]:
    """Kind -> files that ``kernel``, which is complete, reads. @raises UserError when one is missing"""
    files = {}
    for kind in sorted(inputs_of(arm.operator(kernel.operator), dict(kernel.params))):
        if kind not in inputs.inputs:
            missing = inputs.missing.get(kind)
            raise UserError(f"{kernel.label}: needs the input {kind}: {missing.reason if missing else f'give --input {kind}=FILE'}")
        files[kind] = list(inputs.inputs[kind].files)
    return files


def _key(kernel: Kernel, files: Mapping[str, Sequence[Path]], arm: ArmPrograms) -> str:
    """Of everything that a trace is made of. @raises EnvironmentFault when an input cannot be read"""
    return _cache.digest_of(
        {
            "version": _VERSION,
            "job": _job(kernel, {kind: [file.name for file in of_kind] for kind, of_kind in files.items()}).decode(),
            "inputs": {kind: [_bundles.sha256(file) for file in of_kind] for kind, of_kind in files.items()},
            "programs": arm.digest,
            "plugin": _bundles.sha256(programs.trace_plugin()),
            "emulator": _emulator(),
            "machine": DESCRIPTION,
            "environment": _ENVIRONMENT,
        }
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
        cpus=_CPUS,
        window=_WINDOW,
        cycles=1,
        canaries=False,
        limit_s=_LIMIT_S,
        operations=kernel.messages,
    )


def _capture(kernel: Kernel, files: Mapping[str, Sequence[Path]], arm: ArmPrograms, folder: Path, stop: StopRequest | None) -> None:
    """Captures ``kernel``, which is complete, into ``folder``. @raises as traces.capture"""

    def accept(partial: Path, output: bytes) -> None:
        _cache.write_json(partial / _RECORD, _record(kernel, partial, output, arm))

    with Machine(arm.lib) as machine:
        traces.capture(
            machine.loader,
            machine.words(programs.OPERATORS),
            folder,
            CPU,
            kernel=f"{kernel.label}, bursts of {kernel.burst}, {kernel.messages} messages, seed {kernel.seed}",
            sysroot=machine.folder,
            environment=_ENVIRONMENT,
            standard_input=_job(kernel, {kind: machine.place(kind, of_kind) for kind, of_kind in files.items()}),
            limit_s=_LIMIT_S + _GRACE_S,
            start_in=machine.folder,
            traced=arm.operators_program,
            accept=accept,
            stop=stop,
        )


def _record(kernel: Kernel, partial: Path, output: bytes, arm: ArmPrograms) -> dict[str, Any]:
    """What is kept beside a trace. @raises CaptureFault when the program did not do what it was asked"""
    events = _events(output)
    said = {event["event"]: event for event in events}
    if "traced" not in said or "failure" in said:
        raise traces.CaptureFault("the program ended well and did not say what it traced", output)
    files = [partial / traces.BLOCKS, partial / traces.STREAM]
    traced, prepared = said["traced"], said.get("prepared", {})
    return {
        "schema": _SCHEMA,
        "digest": _cache.digest_of_files(*files),
        "bytes": [file.stat().st_size for file in files],
        "messages": traced["operations"],
        "burst": kernel.burst,
        "in_bytes": traced["in_bytes"],
        "out_bytes": traced["out_bytes"],
        "about": {
            "program": _bundles.sha256(arm.operators_program),
            **{key: prepared[key] for key in ("input", "path", "footprint_bytes") if key in prepared},
            **{key: traced[key] for key in ("input_ring",) if key in traced},
            "verified": {key: said["verified"][key] for key in ("known_answers", "compared", "how")} if "verified" in said else {},
        },
    }


def _events(output: bytes) -> list[Event]:
    """@raises CaptureFault where a line is no event"""
    try:
        return [parse_event(line) for line in output.split(b"\n") if line]
    except Rubbish as rubbish:
        raise traces.CaptureFault(f"the program printed {rubbish}", output) from None


def _kept(folder: Path, kernel: Kernel) -> Trace | None:
    """The trace in ``folder``; None, and nothing is there any more, when it is not whole."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        if record["schema"] == _SCHEMA and record["bytes"] == [(folder / name).stat().st_size for name in (traces.BLOCKS, traces.STREAM)]:
            counts = {key: int(record[key]) for key in ("messages", "burst", "in_bytes", "out_bytes")}
            return Trace(folder, kernel, str(record["digest"]), about=dict(record["about"]), **counts)
    except FileNotFoundError:
        if not folder.exists():
            return None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    _cache.remove(folder)
    return None


def _reason(fault: traces.CaptureFault) -> str:
    """Why a program failed: it says so in an event, or what became of it has to do."""
    for line in fault.output.split(b"\n"):
        try:
            event = parse_event(line)
        except Rubbish:
            continue
        if event["event"] == "failure":
            return f"{event['phase']}: {event['message']}"
    return str(fault)
