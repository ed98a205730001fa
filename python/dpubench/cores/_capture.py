"""What traces of kernels and of whole programs have in common: the programs for 64-bit Arm, one capture under the emulator, and keeping it.

A trace is kept in a folder named by all that decides what is executed: the job, the inputs, the programs, the plugin, the emulator and the machine
that it shows. Several processes may want the same one at once: one captures, the others wait. A trace that was obtained is held, so that nobody
removes it, until :func:`release` or the end of the process.
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

from dpubench import bundle, catalog, programs, schemas, scratch, traces
from dpubench.cores import _cache
from dpubench.cores._machine import CPU, DESCRIPTION, Machine
from dpubench.errors import EnvironmentFault, UserError, nearest
from dpubench.targets import _bundles
from dpubench.workers.checks import Event, Rubbish, parse_event
from dpubench.workers.process import StopRequest

ARCHITECTURE: Final = "aarch64"
#: Names an archive of programs to use instead of those that are compiled here.
BUNDLE_VARIABLE: Final = "DPUBENCH_AARCH64_BUNDLE"
_COMPILER: Final = "aarch64-linux-gnu-g++"
#: Raised when the same job would give another trace for a reason that is in no file.
_VERSION: Final = 1
_RECORD: Final = "trace.json"
_SCHEMA: Final = "dpubench.trace/1"
#: What a traced program is given to end itself in, and to say so; what does not even do that is ended so much later.
LIMIT_S: Final = 3600.0
_GRACE_S: Final = 30.0
_LIST_LIMIT_S: Final = 120.0
_LOOK_S: Final = 0.2
#: Folders of traces that this process holds, with their descriptors.
_holds: Final[dict[Path, int]] = {}
_holding: Final = threading.Lock()
#: What traces may take on the disk beside those in use; those not used for longest go first.
CACHE_BYTES: Final = 4 << 30
#: The measuring thread is told to run on a CPU that is not there, so that it stays wherever the system puts it: captures beside each other would
#: share a CPU otherwise, and a number of this machine's would be in the trace's stead.
CPUS: Final = (1023,)
#: The libraries of engines read no file of this system's.
ENVIRONMENT: Final = {"OPENSSL_CONF": "/dev/null"}


class NotTraced(EnvironmentFault):
    """What has no trace: its program failed, crashed, cannot run, or took too long. Others may have theirs."""


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
        return _hello(self, programs.OPERATORS)

    def catalog_of(self, program: str, key: str) -> tuple[dict[str, Any], ...]:
        """What is listed as ``key`` in the catalog of ``program``.

        Raises:
            UserError: the programs were built without this one.
            EnvironmentFault: the program gave no answer.
        """
        if not (self.lib / program).is_file():
            raise UserError(f"the programs for 64-bit Arm hold no {program}: make the bundle anew, with all that README names installed")
        return tuple(_hello(self, program)["catalog"][key])

    def check(self, combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        """Of each operator with all its parameters why it does not exist (empty if it does), and per engine why it cannot do it, as its program says.

        Raises:
            EnvironmentFault: the program gave no answer.
        """
        return self.answers(programs.OPERATORS, catalog.check_of(combinations), len(combinations))

    def answers(self, program: str, question: bytes, count: int) -> list[tuple[str, dict[str, str]]]:
        """What ``program`` says to ``--check`` of so many combinations: why there is none (empty if there is), and per engine or stage why not.

        Raises:
            EnvironmentFault: it gave no answer.
        """
        if not count:
            return []
        return catalog.checked(_said(self, program, "--check", question), count, str(self.lib / program))

    def operator(self, name: str) -> dict[str, Any]:
        """The catalog's entry. @raises UserError with the nearest name"""
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
    with contextlib.suppress(OSError):  # then it is asked again next time
        scratch.sweep(kept.parent)
        _cache.write_json(kept, hello)
    return hello


def _said(arm: ArmPrograms, program: str, question: str, given: bytes) -> Iterator[Event]:
    """What ``program`` prints under the emulator when it is asked ``question`` and ``given`` on standard input. @raises EnvironmentFault"""
    with Machine(arm.lib) as machine:
        emulated = [traces.EMULATOR, "-cpu", CPU, "-L", str(machine.folder), str(machine.loader), *machine.words(program), question]
        words = ["setpriv", "--pdeathsig", "KILL", *emulated]  # it goes with this process, however that ends
        try:
            done = subprocess.run(
                words, cwd=machine.folder, input=given, capture_output=True, timeout=_LIST_LIMIT_S, check=False, env={**os.environ, **ENVIRONMENT}
            )
            yield from map(parse_event, done.stdout.splitlines())
        except (OSError, subprocess.TimeoutExpired, Rubbish) as error:
            raise EnvironmentFault(f"{arm.lib / program} {question}: gave no answer under {traces.EMULATOR}: {error}") from None


@memoized
def emulator(program: str = traces.EMULATOR) -> str:
    """What emulates: its version. @raises EnvironmentFault"""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_LIST_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"{program} --version: {error}") from None
    return done.stdout.partition("\n")[0]


def cache_folder() -> Path:
    """Where traces are kept."""
    return programs.cache_directory() / "traces"


class Spec(Protocol):
    """What is traced."""

    @property
    def label(self) -> str:
        """For people."""


S = TypeVar("S", bound=Spec)
T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """One program run that is traced."""

    label: str
    text: str  #: in the trace's head: what it is of
    program: str  #: of the bundle
    job: Callable[[Mapping[str, Sequence[str]]], bytes]  #: the job, given where the program finds its inputs, by kind
    files: Mapping[str, Sequence[Path]]  #: inputs by kind
    record: Callable[[Mapping[str, Event]], dict[str, Any]]  #: what is kept of the program's events (by name), beside the trace


def key_of(task: Task, arm: ArmPrograms) -> str:
    """Of everything that a trace is made of. @raises EnvironmentFault when an input cannot be read"""
    return _cache.digest_of(
        {
            "version": _VERSION,
            "job": task.job({kind: [file.name for file in of_kind] for kind, of_kind in task.files.items()}).decode(),
            "inputs": {kind: [_bundles.sha256(file) for file in of_kind] for kind, of_kind in task.files.items()},
            "programs": arm.digest,
            "plugin": _bundles.sha256(programs.trace_plugin()),
            "emulator": emulator(),
            "machine": DESCRIPTION,
            "environment": ENVIRONMENT,
        }
    )


def obtain(task: Task, arm: ArmPrograms, cache: Path, read: Callable[[Path, Mapping[str, Any]], T], stop: StopRequest | None) -> T:
    """What ``read`` makes of the trace's folder and record, from ``cache`` where it is there already.

    ``read`` raises ValueError, KeyError or TypeError where the record is not one of its own. The trace is held.

    Raises:
        NotTraced: the program failed, crashed, or took longer than an hour.
        EnvironmentFault: the trace cannot be kept.
        Interrupted: ``stop`` was set.
    """
    folder = cache / key_of(task, arm)
    captured = False
    while True:
        if (known := _held(folder, read)) is not None:
            if captured:
                _cache.prune(cache, CACHE_BYTES)
            return known
        if stop is not None:
            stop.check()
        try:
            _capture(task, arm, folder, stop)
            captured = True
        except traces.CaptureExists:  # another process had it meanwhile
            continue
        except traces.CaptureBusy:
            time.sleep(_LOOK_S)
        except traces.CaptureFault as fault:
            raise NotTraced(f"{task.label}: has no trace: {reason_of(fault)}") from None


def all_of(
    wanted: Sequence[S],
    trace: Callable[[S, StopRequest], T],
    *,
    processes: int,
    stop: StopRequest,
    tell: Callable[[str, int, int], None],
) -> Generator[tuple[S, T | UserError], None, None]:
    """Traces ``wanted``, so many at a time: each once, in order of finishing, with what kept it from having a trace in the trace's place.

    ``tell`` hears the label of each that is done, how many are, and of how many.

    Raises:
        Interrupted: ``stop`` was set; what was traced is kept.
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
    """@raises as traces.capture"""

    def accept(partial: Path, output: bytes) -> None:
        _cache.write_json(partial / _RECORD, _record(task, partial, output, arm))

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
    """What is kept beside a trace. @raises CaptureFault when the program did not do what it was asked"""
    said = {event["event"]: event for event in events_of(output)}
    if "traced" not in said or "failure" in said:
        raise traces.CaptureFault("the program ended well and did not say what it traced", output)
    files = [partial / traces.BLOCKS, partial / traces.STREAM]
    record = task.record(said)
    record.setdefault("about", {})["program"] = _bundles.sha256(arm.lib / task.program)
    return {
        "schema": _SCHEMA,
        "digest": _cache.digest_of_files(*files),
        "bytes": [file.stat().st_size for file in files],
        **record,
    }


def release(folders: Iterable[Path]) -> None:
    """Lets go of traces that were obtained; those that were not used for longest make room."""
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
    """As :func:`_kept`, and holds it. @raises EnvironmentFault when it cannot be locked"""
    try:
        descriptor = _cache.hold(folder)
    except OSError as error:
        raise EnvironmentFault(f"{folder}: this trace cannot be locked, which keeps others from removing it: {error.strerror}") from None
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
    """The trace in ``folder``; None, and nothing is there any more, when it is not what was captured. ``checked``: its content was looked at."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        files = [folder / name for name in (traces.BLOCKS, traces.STREAM)]
        same_size = record["schema"] == _SCHEMA and record["bytes"] == [file.stat().st_size for file in files]
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
    """@raises CaptureFault where a line is no event"""
    try:
        return [parse_event(line) for line in output.split(b"\n") if line]
    except Rubbish as rubbish:
        raise traces.CaptureFault(f"the program printed {rubbish}", output) from None


def reason_of(fault: traces.CaptureFault) -> str:
    """Why a program failed: it says so in an event, or what became of it has to do."""
    for line in fault.output.split(b"\n"):
        try:
            event = parse_event(line)
        except Rubbish:
            continue
        if event["event"] == "failure":
            return f"{event['phase']}: {event['message']}"
    return str(fault)
