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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from dpubench import programs
from dpubench.errors import EnvironmentFault, UserError

EMULATOR: Final = "qemu-aarch64"
#: The plugin's files (native/cores/trace/format.h).
BLOCKS: Final = "blocks"
STREAM: Final = "stream"
_PROGRESS: Final = "progress"
#: States that the last of them tells; two more come after them.
_BEFORE, _INSIDE = 0, 1
#: ELF: class 64, little-endian, for AArch64 (System V ABI, "ELF header"; ELF for the Arm 64-bit architecture, 5.1).
_ELF_IDENT: Final = b"\x7fELF\x02\x01"
_ELF_MACHINE: Final = (18, 183)
_STACK_BYTES: Final = 8 << 20
_OUTPUT_SHOWN: Final = 2000


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
) -> Capture:
    """Runs ``program`` and writes the trace of its regions into ``folder``, which is there afterwards only when all went well.

    ``kernel`` says what is traced, in one line, and is the command line when empty. ``sysroot`` holds the libraries of a program that is
    not static. ``environment`` is all that the program gets beside a fixed locale and path.

    Raises:
        UserError: there is no such program, emulator or plugin, the program is of another architecture, or ``folder`` is there already.
        EnvironmentFault: the capture failed: the program crashed, failed or did not end within ``limit_s`` seconds, its regions are
            not opened and closed in turn, or there is no room for the trace.
    """
    _check_program(program)
    words = _emulator(cpu, sysroot)
    digest = sha256(program.read_bytes()).hexdigest()
    text = kernel or shlex.join([program.name, *arguments])
    with _partial(folder) as partial:
        plugin = {"folder": str(partial), "kernel": text, "cpu": cpu, "digest": digest}
        # The emulator's own list of options: a comma within a value is doubled.
        options = ",".join([str(programs.trace_plugin()), *(f"{key}={value.replace(',', ',,')}" for key, value in plugin.items())])
        command = [*words, "-plugin", options, str(program), *arguments]
        output = _run(command, partial, program, {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **(environment or {})}, standard_input, limit_s)
        (partial / _PROGRESS).unlink()
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


def _emulator(cpu: str, sysroot: Path | None) -> list[str]:
    """How the emulator is started: without random addresses, core files or outliving this process."""
    if shutil.which(EMULATOR) is None:
        raise UserError(f"there is no {EMULATOR} here, which kernels are traced under: install the package qemu-user")
    limits = ["prlimit", "--core=0", f"--stack={_STACK_BYTES}", "setpriv", "--pdeathsig", "KILL", "setarch", "-R"]
    # The seed is of what the program gets as random bytes from the emulator.
    return [*limits, EMULATOR, "-cpu", cpu, "-seed", "1", "-s", str(_STACK_BYTES), *(["-L", str(sysroot)] if sysroot else [])]


@contextlib.contextmanager
def _partial(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder`` for what is not finished, removed afterwards; one that a killed capture left is taken over."""
    if folder.exists():
        raise UserError(f"{folder}: is there already: remove it, or give the trace another name")
    partial = folder.absolute().with_name(f"{folder.name}.partial")
    try:
        partial.mkdir(parents=True, exist_ok=True)
        lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise EnvironmentFault(f"{partial}: cannot be made: {error.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EnvironmentFault(f"{folder}: is being captured by another process: wait for it, or give the trace another name") from None
        for left in partial.iterdir():
            left.unlink()
        try:
            yield partial
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    finally:
        os.close(lock)


def _run(command: Sequence[str], partial: Path, program: Path, environment: Mapping[str, str], standard_input: bytes, limit_s: float) -> bytes:
    """Runs it to its end and returns its output. @raises EnvironmentFault when there is no trace that can be used"""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environment), start_new_session=True
    ) as process:
        try:
            output, errors = process.communicate(standard_input, timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise EnvironmentFault(
                f"{program}: was still running after its limit of {limit_s:g} s, {_where(partial)}: give it less work or more time"
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    text = errors.decode("utf-8", "replace")
    for line in text.splitlines():
        if line.startswith("dpubench-trace: "):
            raise EnvironmentFault(f"{program}: cannot be traced: {line.removeprefix('dpubench-trace: ')}")
    said = f"; it said: {text.strip()[-_OUTPUT_SHOWN:]}" if text.strip() else ""
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        raise EnvironmentFault(f"{program}: was ended by {name} under {EMULATOR}, {_where(partial)}{said}")
    if process.returncode != 0:
        raise EnvironmentFault(f"{program}: failed with exit status {process.returncode} under {EMULATOR}, {_where(partial)}{said}")
    return output


def _where(partial: Path) -> str:
    """How far a capture came."""
    try:
        state, messages = struct.unpack("<QQ", (partial / _PROGRESS).read_bytes())
    except (OSError, struct.error):
        return "before it began"
    if state == _INSIDE:
        return f"in a region, after {messages} messages had begun"
    return "before a region was opened" if state == _BEFORE else "behind its last region"
