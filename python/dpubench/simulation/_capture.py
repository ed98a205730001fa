"""Code shared by traces of kernels and of whole programs: the programs for 64-bit Arm, a capture under the emulator, and the cache of traces.

A trace lies in a folder named by a digest of everything that decides the executed instructions: the job, the inputs, the programs, the plugin, the
emulator and the machine that it shows. If several processes want the same trace at once, one captures and the others wait. A process holds each trace
that it obtained against removal, until :func:`release` or its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache as memoized
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from dpubench import catalog, programs, schemas, scratch, traces
from dpubench.bundles import archive as bundle
from dpubench.bundles import cache as bundle_cache
from dpubench.errors import EnvironmentFault, UserError, nearest
from dpubench.simulation import _cache
from dpubench.simulation._machine import CPU, DESCRIPTION, Machine
from dpubench.workers.checks import Event, Rubbish, parse_event
from dpubench.workers.process import StopRequest

ARCHITECTURE: Final = "aarch64"
#: Environment variable: an archive of programs to use instead of those compiled here.
BUNDLE_VARIABLE: Final = "DPUBENCH_AARCH64_BUNDLE"
_COMPILER: Final = "aarch64-linux-gnu-g++"
#: Increased when the same job would give another trace, and no file shows the difference.
_VERSION: Final = 1
RECORD: Final = "trace.json"
SCHEMA: Final = "dpubench.trace/1"
#: Time limit of a traced program, which it enforces itself; and seconds after that until the capture kills it.
LIMIT_S: Final = 3600.0
_GRACE_S: Final = 30.0
_LIST_LIMIT_S: Final = 120.0
_LOOK_S: Final = 0.2
#: Folders of traces that this process holds, with their descriptors.
_holds: Final[dict[Path, int]] = {}
_holding: Final = threading.Lock()
#: Most bytes of traces on disk; the least recently used are removed first, and those in use stay.
CACHE_BYTES: Final = 4 << 30
#: A CPU that does not exist, for the measuring thread, so that the system places it. A real CPU would be shared by concurrent captures. And its
#: number, which depends on this machine, would enter the trace.
CPUS: Final = (1023,)
#: Keeps the libraries of engines from reading files of this system.
ENVIRONMENT: Final = {"OPENSSL_CONF": "/dev/null"}


class NotTraced(EnvironmentFault):
    """The error that something has no trace: its program failed, crashed, cannot run, or took too long. It does not affect other traces."""


@dataclass(frozen=True)
class ArmPrograms:
    """The native programs for 64-bit Arm, with everything that they need: an unpacked bundle."""

    folder: Path
    digest: str  #: SHA-256 of the bundle's manifest, which names every file with its digest

    @classmethod
    def found(cls) -> ArmPrograms:
        """Return the programs of the archive in ``$DPUBENCH_AARCH64_BUNDLE``, else those of this installation, compiled if they are out of date.

        Raises:
            UserError, EnvironmentFault: there are no programs; the message says what to install or run.
        """
        if shutil.which(traces.EMULATOR) is None:
            compiler = "" if os.environ.get(BUNDLE_VARIABLE) or shutil.which(_COMPILER) else " and g++-aarch64-linux-gnu"
            raise UserError(
                f"kernels are traced under {traces.EMULATOR}, which is not installed here: install the package qemu-user{compiler} "
                "(`make deps` does); then the first run compiles the programs for 64-bit Arm, about ten minutes on two CPUs"
            )
        programs.trace_plugin()
        if given := os.environ.get(BUNDLE_VARIABLE):
            if not Path(given).is_file():
                raise UserError(f"{BUNDLE_VARIABLE}={given}: there is no such file: make one with `dpubench bundle --arch {ARCHITECTURE}`")
            return cls.of(Path(given))
        if bundle.host_architecture() != ARCHITECTURE and shutil.which(_COMPILER) is None:
            raise UserError(
                f"kernels are traced as 64-bit Arm code, and their compiler {_COMPILER} is not installed here: install the package "
                f"g++-aarch64-linux-gnu, or set {BUNDLE_VARIABLE} to an archive of `dpubench bundle --arch {ARCHITECTURE}` from another machine"
            )
        return cls.of(bundle_cache.archive(ARCHITECTURE))

    @classmethod
    def of(cls, archive: Path) -> ArmPrograms:
        """Return the programs of ``archive``. @raises UserError, EnvironmentFault when it is no bundle for 64-bit Arm"""
        folder = bundle_cache.unpacked(archive)
        manifest = (folder / "manifest.json").read_bytes()
        try:
            architecture = json.loads(manifest)["architecture"]
        except (ValueError, KeyError, TypeError):
            raise EnvironmentFault(f"{archive}: its manifest cannot be read: make it again with `dpubench bundle --arch {ARCHITECTURE}`") from None
        if architecture != ARCHITECTURE:
            raise UserError(f"{archive}: holds programs for {architecture}, but only programs for {ARCHITECTURE} are traced: give a bundle of those")
        return cls(folder, sha256(manifest).hexdigest())

    @property
    def lib(self) -> Path:
        """Return the folder of programs, libraries and the loader."""
        return self.folder / "lib"

    @property
    def operators_program(self) -> Path:
        return self.lib / programs.OPERATORS

    def catalog(self) -> dict[str, Any]:
        """Return the ``hello`` event with the catalog: operators and engines, and why some cannot run under the emulator. Ask only once; keep it.

        Raises:
            EnvironmentFault: the program gave no answer.
        """
        return _hello(self, programs.OPERATORS)

    def catalog_of(self, program: str, key: str) -> tuple[dict[str, Any], ...]:
        """Return the list under ``key`` in the catalog of ``program``.

        Raises:
            UserError: the programs were built without this one.
            EnvironmentFault: the program gave no answer.
        """
        if not (self.lib / program).is_file():
            raise UserError(f"the programs for 64-bit Arm do not include {program}: install everything that README names, then make the bundle again")
        return tuple(_hello(self, program)["catalog"][key])

    def check(self, combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        """Return, per (operator, all its parameters), why it does not exist (empty if it does), and per engine why it cannot do it. Ask the program.

        Raises:
            EnvironmentFault: the program gave no answer.
        """
        return self.answers(programs.OPERATORS, catalog.check_of(combinations), len(combinations))

    def answers(self, program: str, question: bytes, count: int) -> list[tuple[str, dict[str, str]]]:
        """Return the answers of ``program`` to ``--check`` about ``count`` combinations.

        An answer is why the combination does not exist (empty if it does), and per engine or stage why it cannot do it.

        Raises:
            EnvironmentFault: the program gave no answer.
        """
        if not count:
            return []
        return catalog.checked(_said(self, program, "--check", question), count, str(self.lib / program))

    def operator(self, name: str) -> dict[str, Any]:
        """Return the operator's entry in the catalog. @raises UserError with the nearest name"""
        operators = {entry["name"]: entry for entry in self.catalog()["catalog"]["operators"]}
        if name not in operators:
            raise UserError(f"unknown operator '{name}'{nearest(name, operators)}")
        return dict(operators[name])


@memoized
def _hello(arm: ArmPrograms, program: str) -> dict[str, Any]:
    kept = programs.cache_directory() / "catalogs" / f"{ARCHITECTURE}-{_cache.digest_of([arm.digest, program, emulator(), DESCRIPTION])[:32]}.json"
    with contextlib.suppress(OSError, ValueError, KeyError):
        hello = json.loads(kept.read_text(encoding="utf-8"))
        if not schemas.fault("event", hello, "hello") and "catalog" in hello:
            return dict(hello)
    hello = next(_said(arm, program, "--list", b""), {"event": ""})
    if hello["event"] != "hello" or "catalog" not in hello:
        raise EnvironmentFault(f"{arm.lib / program} --list: its first event holds no catalog: build programs and package from one revision")
    with contextlib.suppress(OSError):  # on an error the next call asks again
        scratch.sweep(kept.parent)
        _cache.write_json(kept, hello)
    return hello


def _said(arm: ArmPrograms, program: str, question: str, given: bytes) -> Iterator[Event]:
    """Yield the events that ``program`` prints under the emulator, with the option ``question`` and ``given`` on standard input.

    @raises EnvironmentFault
    """
    with Machine(arm.lib) as machine:
        emulated = [traces.EMULATOR, "-cpu", CPU, "-L", str(machine.folder), str(machine.loader), *machine.words(program), question]
        words = ["setpriv", "--pdeathsig", "KILL", *emulated]  # the kernel kills it when this process ends, however that ends
        try:
            done = subprocess.run(
                words, cwd=machine.folder, input=given, capture_output=True, timeout=_LIST_LIMIT_S, check=False, env={**os.environ, **ENVIRONMENT}
            )
            yield from map(parse_event, done.stdout.splitlines())
        except (OSError, subprocess.TimeoutExpired, Rubbish) as error:
            raise EnvironmentFault(f"{arm.lib / program} {question}: gave no answer under {traces.EMULATOR}: {error}") from None


@memoized
def emulator(program: str = traces.EMULATOR) -> str:
    """Return the version line of the emulator. @raises EnvironmentFault"""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_LIST_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"{program} --version: {error}") from None
    return done.stdout.partition("\n")[0]


def cache_folder() -> Path:
    """Return the folder in which traces are kept."""
    return programs.cache_directory() / "traces"


class Spec(Protocol):
    """Something to trace."""

    @property
    def label(self) -> str:
        """Return a name for people."""


S = TypeVar("S", bound=Spec)
T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """One run of a program to trace."""

    label: str
    text: str  #: description in the head of the trace
    program: str  #: name of the program in the bundle
    job: Callable[[Mapping[str, Sequence[str]]], bytes]  #: returns the job; gets the paths at which the program finds its inputs, by kind
    files: Mapping[str, Sequence[Path]]  #: inputs by kind
    record: Callable[[Mapping[str, Event]], dict[str, Any]]  #: returns the record to keep beside the trace; gets the program's events, by name


def key_of(task: Task, arm: ArmPrograms) -> str:
    """Return the digest of everything that a trace is made from. @raises EnvironmentFault when an input cannot be read"""
    return _cache.digest_of(
        {
            "version": _VERSION,
            "job": task.job({kind: [file.name for file in of_kind] for kind, of_kind in task.files.items()}).decode(),
            "inputs": {kind: [bundle_cache.sha256(file) for file in of_kind] for kind, of_kind in task.files.items()},
            "programs": arm.digest,
            "plugin": bundle_cache.sha256(programs.trace_plugin()),
            "emulator": emulator(),
            "machine": DESCRIPTION,
            "environment": ENVIRONMENT,
        }
    )


def obtain(task: Task, arm: ArmPrograms, cache: Path, read: Callable[[Path, Mapping[str, Any]], T], stop: StopRequest | None) -> T:
    """Return ``read(folder, record)`` of the trace, from ``cache`` if it is there already; else capture it. Hold the trace.

    ``read`` raises ValueError, KeyError or TypeError if the record is of another kind.

    Raises:
        NotTraced: the program failed, crashed, or took longer than an hour.
        EnvironmentFault: the trace cannot be kept.
        Interrupted: ``stop`` was set.
    """
    return obtain_at(cache / key_of(task, arm), task.label, lambda folder: _capture(task, arm, folder, stop), read, stop)


def obtain_at(
    folder: Path, label: str, capture: Callable[[Path], None], read: Callable[[Path, Mapping[str, Any]], T], stop: StopRequest | None
) -> T:  # fmt: skip
    """Return ``read(folder, record)`` of the trace in ``folder``; if it is not there, let ``capture`` make it. @raises as :func:`obtain`"""
    cache, captured = folder.parent, False
    while True:
        if (known := _held(folder, read)) is not None:
            if captured:
                _cache.prune(cache, CACHE_BYTES)
            return known
        if stop is not None:
            stop.check()
        try:
            capture(folder)
            captured = True
        except traces.CaptureExists:  # another process captured it meanwhile
            continue
        except traces.CaptureBusy:
            time.sleep(_LOOK_S)
        except traces.CaptureFault as fault:
            raise NotTraced(f"{label}: has no trace: {reason_of(fault)}") from None


def all_of(
    wanted: Sequence[S],
    trace: Callable[[S, StopRequest], T],
    *,
    processes: int,
    stop: StopRequest,
    tell: Callable[[str, int, int], None],
) -> Generator[tuple[S, T | UserError], None, None]:
    """Call ``trace`` once for each of ``wanted``, ``processes`` at a time; yield (item, its outcome or the error) in order of finishing.

    ``tell`` gets the label of each finished item, the number finished, and the total.

    Raises:
        Interrupted: ``stop`` was set; finished traces are kept.
    """
    halt = StopRequest()
    pool = ThreadPoolExecutor(max(1, processes))
    try:
        waited = {pool.submit(trace, what, halt): what for what in dict.fromkeys(wanted)}
        of = len(waited)
        while waited:
            done, _ = wait(waited, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            stop.check()
            for future in done:
                what = waited.pop(future)
                try:
                    outcome: T | UserError = future.result()
                except UserError as error:
                    outcome = error
                tell(what.label, of - len(waited), of)
                yield what, outcome
    finally:
        halt.set(signal.SIGTERM)
        pool.shutdown(cancel_futures=True)
        halt.close()


def _capture(task: Task, arm: ArmPrograms, folder: Path, stop: StopRequest | None) -> None:
    """Capture the trace of ``task`` into ``folder``. @raises as traces.capture"""

    def accept(partial: Path, output: bytes) -> None:
        _cache.write_json(partial / RECORD, _record(task, partial, output, arm))

    with Machine(arm.lib) as machine:
        traces.capture(
            machine.loader,
            machine.words(task.program),
            folder,
            CPU,
            kernel=task.text,
            sysroot=machine.folder,
            environment=ENVIRONMENT,
            standard_input=task.job({kind: machine.place(kind, of_kind) for kind, of_kind in task.files.items()}),
            limit_s=LIMIT_S + _GRACE_S,
            start_in=machine.folder,
            traced=arm.lib / task.program,
            accept=accept,
            stop=stop,
        )


def _record(task: Task, partial: Path, output: bytes, arm: ArmPrograms) -> dict[str, Any]:
    """Return the record kept beside a trace. @raises CaptureFault when the program failed or reported no trace"""
    said = {event["event"]: event for event in events_of(output)}
    if "traced" not in said or "failure" in said:
        raise traces.CaptureFault("the program ended without an error but reported no trace", output)
    files = [partial / traces.BLOCKS, partial / traces.STREAM]
    record = task.record(said)
    record.setdefault("about", {})["program"] = bundle_cache.sha256(arm.lib / task.program)
    return {
        "schema": SCHEMA,
        "digest": _cache.digest_of_files(*files),
        "bytes": [file.stat().st_size for file in files],
        **record,
    }


def release(folders: Iterable[Path]) -> None:
    """Release obtained traces, then remove the least recently used ones until the rest fits the cache."""
    caches = set()
    for folder in folders:
        with _holding:
            descriptor = _holds.pop(folder, None)
        if descriptor is not None:
            os.close(descriptor)
            caches.add(folder.parent)
    for cache in caches:
        _cache.prune(cache, CACHE_BYTES)


def _held(folder: Path, read: Callable[[Path, Mapping[str, Any]], T]) -> T | None:
    """Return the trace as :func:`_kept` does, and hold it. @raises EnvironmentFault when it cannot be locked"""
    try:
        descriptor = _cache.hold(folder)
    except OSError as error:
        raise EnvironmentFault(f"{folder}: this trace cannot be locked against removal by other processes: {error.strerror}") from None
    if descriptor is None:
        return None
    with _holding:
        checked = folder in _holds
    known = _kept(folder, read, checked=checked)
    with _holding:
        keep = known is not None and folder not in _holds
        if keep:
            _holds[folder] = descriptor
    if not keep:
        os.close(descriptor)
    if known is not None:
        _cache.used(folder)
    return known


def _kept(folder: Path, read: Callable[[Path, Mapping[str, Any]], T], *, checked: bool) -> T | None:
    """Return the trace in ``folder``, or None. Remove a trace that differs from its record. ``checked``: its content was verified before."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        files = [folder / name for name in (traces.BLOCKS, traces.STREAM)]
        same_size = record["schema"] == SCHEMA and record["bytes"] == [file.stat().st_size for file in files]
        if same_size and (checked or record["digest"] == _cache.digest_of_files(*files)):
            return read(folder, record)
    except FileNotFoundError:
        if not folder.exists():
            return None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    _cache.remove(folder)
    return None


def events_of(output: bytes) -> list[Event]:
    """Return the events in ``output``. @raises CaptureFault when a line is no event"""
    try:
        return [parse_event(line) for line in output.split(b"\n") if line]
    except Rubbish as rubbish:
        raise traces.CaptureFault(f"the program printed {rubbish}", output) from None


def reason_of(fault: traces.CaptureFault) -> str:
    """Return why a program failed: the message of its ``failure`` event, else the fault itself."""
    for line in fault.output.split(b"\n"):
        try:
            event = parse_event(line)
        except Rubbish:
            continue
        if event["event"] == "failure":
            return f"{event['phase']}: {event['message']}"
    return str(fault)
