"""Captures what a kernel executes: runs a program for 64-bit Arm under ``qemu-aarch64`` with the tracing plugin (docs/cores.md, "Traces").

What is captured is the same every time: no address is random, the environment is fixed, and so are the emulator's CPU and what it gives as
random numbers. What differs between captures is the program's doing: the time it reads, its process number, the path that it is started by.
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
#: Plugins, as they begin what they say on standard error, and what they do.
_PLUGINS: Final = {"dpubench-trace": "traced", "dpubench-count": "counted"}
#: States that the last of them tells; two more come after them.
_BEFORE, _INSIDE = 0, 1
#: ELF: class 64, little-endian, for AArch64 (System V ABI, "ELF header"; ELF for the Arm 64-bit architecture, 5.1).
_ELF_IDENT: Final = b"\x7fELF\x02\x01"
_ELF_MACHINE: Final = (18, 183)
_STACK_BYTES: Final = 8 << 20
#: All that a program gets, beside what it is given for its own.
FIXED_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_OUTPUT_SHOWN: Final = 2000
#: How long a stop that was asked for may go unnoticed.
_LOOK_S: Final = 0.2


class CaptureFault(EnvironmentFault):
    """A capture that failed. ``output`` is what the program had written to standard output: it may say why."""

    def __init__(self, message: str, output: bytes = b"") -> None:
        super().__init__(message)
        self.output = output


class CaptureBusy(EnvironmentFault):
    """Another process captures into the same folder."""


class CaptureExists(UserError):
    """The folder of the trace is there already."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A trace that was captured."""

    folder: Path
    program_digest: str  #: SHA-256 of the program file, in hexadecimal
    output: bytes  #: what the program wrote to standard output


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
) -> Capture:
    """Runs ``program`` and writes the trace of its regions into ``folder``, which is there afterwards only when all went well.

    ``kernel`` says what is traced, in one line, and is the command line when empty. ``sysroot`` holds the libraries of a program that is
    not static; what is in there the program finds at the same absolute path. ``environment`` is all that the program gets beside a fixed
    locale and path. ``start_in`` is the folder that the program begins in and that the path ``program`` may be relative to: a relative path
    keeps where that folder lies out of the trace. ``traced`` is the program that the trace is of, where ``program`` only loads it.
    ``accept`` looks at what was captured, before it has its place, and at the output: it may put a file beside it, and what it raises ends
    the capture without a trace.

    Raises:
        UserError: there is no such program, emulator or plugin, or the program is of another architecture.
        CaptureExists: ``folder`` is there already.
        CaptureFault: the program crashed, failed or did not end within ``limit_s`` seconds, its regions are not opened and closed in turn,
            or there is no room for the trace.
        CaptureBusy: another process is at work on this folder.
        EnvironmentFault: the folder cannot be made.
        Interrupted: ``stop`` was set.
    """
    file = (start_in or Path()) / program
    _check_program(file)
    words = emulator_words(cpu, sysroot)
    digest = sha256((traced or file).read_bytes()).hexdigest()
    text = kernel or shlex.join([program.name, *arguments])
    with _partial(folder) as partial:
        plugin = {"folder": str(partial), "kernel": text, "cpu": cpu, "digest": digest}
        command = [*words, "-plugin", plugin_words(programs.trace_plugin(), plugin), str(program), *arguments]
        given = {**FIXED_ENVIRONMENT, **(environment or {})}
        output = Running(command, given, start_in, traced or program, partial / _PROGRESS).end(standard_input, limit_s, stop)
        (partial / _PROGRESS).unlink()
        if accept is not None:
            accept(partial, output)
        partial.rename(folder)
    return Capture(folder, digest, output)


def _check_program(program: Path) -> None:
    try:
        with program.open("rb") as file:
            head = file.read(20)
    except OSError as error:
        raise UserError(f"{program}: cannot be traced: {error.strerror}") from None
    offset, machine = _ELF_MACHINE
    if not head.startswith(_ELF_IDENT) or head[offset:] != struct.pack("<H", machine):
        raise UserError(f"{program}: is no program for 64-bit Arm: cross-compile it for aarch64")
    if not os.access(program, os.X_OK):
        raise UserError(f"{program}: is not executable: chmod +x it")


def emulator_words(cpu: str, sysroot: Path | None, emulator: str = EMULATOR) -> list[str]:
    """How the emulator is started: without random addresses, core files or outliving this process. @raises UserError when it is not there"""
    if shutil.which(emulator) is None:
        raise UserError(f"there is no {emulator} here, which kernels are traced under: install the package qemu-user")
    limits = ["prlimit", "--core=0", f"--stack={_STACK_BYTES}", "setpriv", "--pdeathsig", "KILL", "setarch", "-R"]
    # The seed is of what the program gets as random bytes from the emulator.
    return [*limits, emulator, "-cpu", cpu, "-seed", "1", "-s", str(_STACK_BYTES), *(["-L", str(sysroot)] if sysroot else [])]


def plugin_words(plugin: Path, arguments: Mapping[str, str]) -> str:
    """The emulator's own list of options: a comma within a value is doubled."""
    return ",".join([str(plugin), *(f"{key}={value.replace(',', ',,')}" for key, value in arguments.items())])


@contextlib.contextmanager
def _partial(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder`` for what is not finished, removed afterwards; one that a killed capture left is taken over."""
    partial = folder.absolute().with_name(f"{folder.name}.partial")
    lock = _locked(partial, folder)
    try:
        # Seen under the lock: whoever had it before may have finished just now.
        if folder.exists():
            raise CaptureExists(f"{folder}: is there already: remove it, or give the trace another name")
        for left in partial.iterdir():
            left.unlink()
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(lock)


def _locked(partial: Path, folder: Path) -> int:
    """A descriptor that holds the lock on ``partial``, which is made. @raises CaptureBusy, EnvironmentFault"""
    while True:
        try:
            partial.mkdir(parents=True, exist_ok=True)
            lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # removed by whoever had it, between the two
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
    """The emulated program at work. ``progress`` is the file in which the plugin says how far it came."""

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
        """Its output. @raises CaptureFault when there is no trace that can be used; Interrupted"""
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
                given = None  # it is on its way
                if time.monotonic() < until:
                    continue
                raise CaptureFault(
                    f"{self._program}: was still running after its limit of {limit_s:g} s, {_where(self._progress)}: give it less work or more time",
                    error.stdout or b"",
                ) from None

    def _judge(self, output: bytes, errors: str) -> None:
        """@raises CaptureFault when it did not end well"""
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
    """How far a capture came."""
    try:
        state, messages = struct.unpack_from("<QQ", progress.read_bytes())
    except (OSError, struct.error):
        return "before it began"
    if state == _INSIDE:
        return f"in a region, after {messages} messages had begun"
    return "before a region was opened" if state == _BEFORE else "behind its last region"
