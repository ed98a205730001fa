"""The capture of a kernel's instructions: it runs a program for 64-bit Arm or Alpha under QEMU with the tracing plugin (docs/cores.md, "Traces").

A capture is reproducible: addresses, environment, the emulator's CPU and its random numbers are fixed. Captures differ only by what the program
itself reads: the time, its process number, and the path that started it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from dpubench import programs
from dpubench.errors import EnvironmentFault, UserError
from dpubench.workers.process import StopRequest

EMULATOR: Final = "qemu-aarch64"
#: The plugin's files (native/cores/trace/format.h).
BLOCKS: Final = "blocks"
STREAM: Final = "stream"
_PROGRESS: Final = "progress"
#: Names of plugins, which begin their messages on standard error, and the verb for a message on each.
_PLUGINS: Final = {"dpubench-trace": "traced", "dpubench-count": "counted"}
#: States in the plugin's progress file; two more come after them.
_BEFORE, _INSIDE = 0, 1
#: ELF: class 64, little-endian; the machine and its name by emulator (System V ABI, "ELF header"; ELF for the Arm 64-bit architecture, 5.1).
_ELF_IDENT: Final = b"\x7fELF\x02\x01"
_ELF_MACHINE_AT: Final = 18
_ELF_MACHINES: Final = {EMULATOR: (183, "64-bit Arm", "aarch64"), "qemu-alpha": (0x9026, "Alpha", "alpha")}
_STACK_BYTES: Final = 8 << 20
#: The whole environment of a program, besides its own variables.
FIXED_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_OUTPUT_SHOWN: Final = 2000
#: Longest time in seconds until a requested stop is noticed.
_LOOK_S: Final = 0.2


class CaptureFault(EnvironmentFault):
    """A capture failed. ``output`` is the program's standard output so far, which may tell why."""

    def __init__(self, message: str, output: bytes = b"") -> None:
        super().__init__(message)
        self.output = output


class CaptureBusy(EnvironmentFault):
    """Another process captures into the same folder."""


class CaptureExists(UserError):
    """The folder of the trace already exists."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A captured trace."""

    folder: Path
    program_digest: str  #: SHA-256 of the program file, in hexadecimal
    output: bytes  #: standard output of the program


def capture(
    program: Path,
    arguments: Sequence[str],
    folder: Path,
    cpu: str = "neoverse-n1",
    *,
    kernel: str = "",
    sysroot: Path | None = None,
    environment: Mapping[str, str] | None = None,
    standard_input: bytes = b"",
    limit_s: float = 600.0,
    start_in: Path | None = None,
    traced: Path | None = None,
    accept: Callable[[Path, bytes], None] | None = None,
    stop: StopRequest | None = None,
    emulator: str = EMULATOR,
) -> Capture:
    """Run ``program`` and write the trace of its regions into ``folder``, which exists afterwards only when all went well.

    ``kernel`` describes the traced work in one line; empty means the command line. ``sysroot`` holds the libraries of a program that is not static:
    the program finds its files at the same absolute paths. ``environment`` is all that the program gets besides a fixed locale and path. The program
    begins in the folder ``start_in``; the path ``program`` may be relative to it, so that the trace does not depend on its place. ``traced`` is the
    program that the trace is about, where ``program`` only loads it. ``accept`` checks the capture before it gets its place, and the output. It may
    add a file to the capture; if it raises, the capture ends without a trace. ``emulator``: ``qemu-aarch64`` or ``qemu-alpha``.

    Raises:
        UserError: there is no such program, emulator or plugin, or the program is of another architecture.
        CaptureExists: ``folder`` already exists.
        CaptureFault: the program crashed, failed or did not end within ``limit_s`` seconds, its regions are not opened and closed in turn, or there
            is no room for the trace.
        CaptureBusy: another process works on this folder.
        EnvironmentFault: the folder cannot be made.
        Interrupted: ``stop`` was set.
    """
    file = (start_in or Path()) / program
    _check_program(file, emulator)
    words = emulator_words(cpu, sysroot, emulator)
    digest = sha256((traced or file).read_bytes()).hexdigest()
    text = kernel or shlex.join([program.name, *arguments])
    with _partial(folder) as partial:
        plugin = {"folder": str(partial), "kernel": text, "cpu": cpu, "digest": digest}
        command = [*words, "-plugin", plugin_words(programs.trace_plugin(), plugin), str(program), *arguments]
        given = {**FIXED_ENVIRONMENT, **(environment or {})}
        output = Running(command, given, start_in, traced or program, partial / _PROGRESS, emulator).end(standard_input, limit_s, stop)
        (partial / _PROGRESS).unlink()
        if accept is not None:
            accept(partial, output)
        partial.rename(folder)
    return Capture(folder, digest, output)


def _check_program(program: Path, emulator: str) -> None:
    try:
        with program.open("rb") as file:
            head = file.read(20)
    except OSError as error:
        raise UserError(f"{program}: cannot be traced: {error.strerror}") from None
    machine, named, target = _ELF_MACHINES[emulator]
    if not head.startswith(_ELF_IDENT) or head[_ELF_MACHINE_AT:] != struct.pack("<H", machine):
        raise UserError(f"{program}: is not a program for {named}: cross-compile it for {target}")
    if not os.access(program, os.X_OK):
        raise UserError(f"{program}: is not executable: chmod +x it")


def emulator_words(cpu: str, sysroot: Path | None, emulator: str = EMULATOR) -> list[str]:
    """Return the emulator's command: without random addresses and core files, and ended with this process. @raises UserError when it is not there"""
    if shutil.which(emulator) is None:
        raise UserError(f"{emulator}, which runs kernels for traces, is not installed: install the package qemu-user")
    limits = ["prlimit", "--core=0", f"--stack={_STACK_BYTES}", "setpriv", "--pdeathsig", "KILL", "setarch", "-R"]
    # The seed fixes the random bytes that the program gets from the emulator.
    return [*limits, emulator, "-cpu", cpu, "-seed", "1", "-s", str(_STACK_BYTES), *(["-L", str(sysroot)] if sysroot else [])]


def plugin_words(plugin: Path, arguments: Mapping[str, str]) -> str:
    """Return an option list in the emulator's form, in which a comma within a value is doubled."""
    return ",".join([str(plugin), *(f"{key}={value.replace(',', ',,')}" for key, value in arguments.items())])


@contextlib.contextmanager
def _partial(folder: Path) -> Iterator[Path]:
    """Yield a folder beside ``folder`` for unfinished files, and remove it afterwards; one left by a killed capture is reused."""
    partial = folder.absolute().with_name(f"{folder.name}.partial")
    lock = _locked(partial, folder)
    try:
        # Check under the lock: its last holder may have finished just now.
        if folder.exists():
            raise CaptureExists(f"{folder}: already exists: remove it, or give the trace another name")
        for left in partial.iterdir():
            left.unlink()
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(lock)


def _locked(partial: Path, folder: Path) -> int:
    """Make ``partial`` and return a descriptor that holds its lock. @raises CaptureBusy, EnvironmentFault"""
    while True:
        try:
            partial.mkdir(parents=True, exist_ok=True)
            lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # its last holder removed it between the two calls
            continue
        except OSError as error:
            raise EnvironmentFault(f"{partial}: cannot be made: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), partial.stat()):
                    return lock
        except BlockingIOError:
            os.close(lock)
            raise CaptureBusy(f"{folder}: is being captured by another process: wait for it, or give the trace another name") from None
        os.close(lock)


class Running:
    """The emulated program at work. The plugin writes its progress to the file ``progress``."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], start_in: Path | None, program: Path, progress: Path, emulator: str = EMULATOR
    ) -> None:  # fmt: skip
        self._program = program
        self._progress = progress
        self._emulator = emulator
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=start_in,
            start_new_session=True,
        )

    def end(self, standard_input: bytes, limit_s: float, stop: StopRequest | None) -> bytes:
        """Return its output. @raises CaptureFault when there is no usable trace; Interrupted"""
        with self._process:
            try:
                output, errors = self._communicate(standard_input, limit_s, stop)
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
        self._judge(output, errors.decode("utf-8", "replace"))
        return output

    def _communicate(self, standard_input: bytes, limit_s: float, stop: StopRequest | None) -> tuple[bytes, bytes]:
        until = time.monotonic() + limit_s
        given: bytes | None = standard_input
        while True:
            if stop is not None:
                stop.check()
            left_s = until - time.monotonic()
            try:
                return self._process.communicate(given, timeout=max(min(left_s, _LOOK_S) if stop is not None else left_s, 0.0))
            except subprocess.TimeoutExpired as error:
                given = None  # the input is on its way
                if time.monotonic() < until:
                    continue
                raise CaptureFault(
                    f"{self._program}: was still running after its limit of {limit_s:g} s, {_where(self._progress)}: give it less work or more time",
                    error.stdout or b"",
                ) from None

    def _judge(self, output: bytes, errors: str) -> None:
        """Raise CaptureFault when it did not end well."""
        for line in errors.splitlines():
            plugin, colon, what = line.partition(": ")
            if colon and plugin in _PLUGINS:
                raise CaptureFault(f"{self._program}: cannot be {_PLUGINS[plugin]}: {what}", output)
        said = f"; it said: {errors.strip()[-_OUTPUT_SHOWN:]}" if errors.strip() else ""
        status = self._process.returncode
        if status < 0:
            name = signal.Signals(-status).name
            raise CaptureFault(f"{self._program}: was ended by {name} under {self._emulator}, {_where(self._progress)}{said}", output)
        if status != 0:
            raise CaptureFault(f"{self._program}: failed with exit status {status} under {self._emulator}, {_where(self._progress)}{said}", output)


def _where(progress: Path) -> str:
    """Return how far a capture came, in words."""
    try:
        state, messages = struct.unpack_from("<QQ", progress.read_bytes())
    except (OSError, struct.error):
        return "before it began"
    if state == _INSIDE:
        return f"in a region, after {messages} messages had begun"
    return "before a region was opened" if state == _BEFORE else "after its last region"
