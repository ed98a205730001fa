"""Kernels like those of Crowley et al. 1999: look-ups in a trie and MD5, compiled for 64-bit Arm or for Alpha, and their traces.

They are a program of their own (``native/crowley``), not an operator: one loop over all messages, without the harness of a measurement, as the
paper's kernels are. So one short compilation is enough for each instruction set. The program verifies every result before it ends. A plan names the
kernels like operators.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from dpubench import programs, scratch, terminal, traces
from dpubench.errors import EnvironmentFault, UserError
from dpubench.simulation import _cache
from dpubench.workers.process import StopRequest

LOOKUP: Final = "ip4lookup"
MD5: Final = "md5_bytewise"
NAMES: Final = (LOOKUP, MD5)
#: The parameter that names the instruction set of a kernel, and its values.
CODE: Final = "code"
_SOURCES: Final = ("crowley/kernels.cpp", "inputs/prefixes.cpp", "inputs/file.cpp", "inputs/random.cpp")
_HEADERS: Final = ("crowley/*.hpp", "inputs/*.hpp", "base/error.hpp", "measure/region.hpp", "measure/marks.h", "operators/lpm/patricia_trie.hpp",
                   "operators/md5/md5.hpp", "operators/support/hashes/merkle_damgard.hpp")  # fmt: skip
#: Without ``-fno-schedule-insns`` GCC 12 reads the words of an MD5 block ahead and spills them: 26,000 instructions with 18 % loads and stores a
#: message of 1500 B on Alpha, instead of 22,000 with 9 %. The paper has 23,000 with 10.3 % (Table 2).
_FLAGS: Final = ("-std=c++20", "-O2", "-fno-schedule-insns", "-DNDEBUG")
_COMPILE_S: Final = 600.0
_PROGRAM: Final = "kernels"


@dataclass(frozen=True)
class Code:
    """An instruction set that kernels are compiled for."""

    name: str  #: as in a plan
    architecture: str  #: as models name it
    compiler: str
    package: str
    flags: tuple[str, ...]
    emulator: str
    cpu: str
    is_static: bool  #: a program without libraries; else the emulator gets those of the compiler


#: A static program for Alpha crashes in the C library's start under QEMU 7.2. ``-z now``: no symbol is looked up while a region is recorded.
CODES: Final = {
    "a64": Code("a64", "A64", "aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", ("-static",), "qemu-aarch64", "neoverse-n1", True),
    "alpha": Code("alpha", "Alpha", "alpha-linux-gnu-g++", "g++-alpha-linux-gnu", ("-mcpu=ev6", "-Wl,-z,now"), "qemu-alpha", "ev67", False),
}


def catalog() -> list[dict[str, Any]]:
    """Return the entries of these kernels, in the form of the catalog of operators."""

    def parameter(name: str, values: Sequence[str], **more: Any) -> dict[str, Any]:
        return {"name": name, "default": values[0], "values": list(values), "is_mode": False, **more}

    def engine(name: str) -> dict[str, Any]:
        return {"name": name, "available": True, "reason": ""}

    code = parameter(CODE, list(CODES))
    return [
        {
            "name": LOOKUP, "reference_engine": "patricia", "inputs": [{"name": "routes4"}], "default_burst": 32,
            "engines": [engine("patricia"), engine("level-compressed")],
            "parameters": [parameter("keys", ["packets", "array"]), parameter("prefixes", ["1000"]), code],
        },
        {
            "name": MD5, "reference_engine": "reference", "inputs": [], "default_burst": 1, "engines": [engine("reference")],
            "parameters": [{"name": "size", "default": "1500", "unit": "B", "min": 1, "max": 65536, "is_mode": False}, code],
        },
    ]  # fmt: skip


def check(combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """Return, per (kernel, its parameters), why it does not exist (empty if it does), and per engine why it cannot be traced here."""
    engines = {entry["name"]: [e["name"] for e in entry["engines"]] for entry in catalog()}
    answers = []
    for name, params in combinations:
        fault = _fault(name, params)
        reason = "" if fault else lacking(CODES[params.get(CODE, "a64")])
        answers.append((fault, {engine: reason for engine in engines[name] if reason}))
    return answers


def _fault(name: str, params: Mapping[str, str]) -> str:
    entry = next(entry for entry in catalog() if entry["name"] == name)
    for parameter in entry["parameters"]:
        value = params.get(parameter["name"], parameter["default"])
        allowed = parameter.get("values", [])
        if parameter["name"] in ("prefixes", "size"):
            if not value.isdecimal() or int(value) == 0:
                return f"{name}: {parameter['name']} is '{value}': give a number of at least 1"
        elif value not in allowed:
            return f"{name}: {parameter['name']} is '{value}': give one of {', '.join(allowed)}"
    return ""


def code_of(operator: str, params: Mapping[str, str]) -> str:
    """Return the instruction set of a kernel's trace, as models name it."""
    return CODES[params.get(CODE, "a64")].architecture if operator in NAMES else CODES["a64"].architecture


def lacking(code: Code) -> str:
    """Return what has to be installed here to trace kernels in ``code``, or an empty string."""
    for tool, package in ((code.compiler, code.package), (code.emulator, "qemu-user")):
        if shutil.which(tool) is None:
            return f"{tool} is not installed here: install the package {package}"
    return ""


def arguments(operator: str, engine: str, params: Mapping[str, str], message_bytes: int | None, messages: int, burst: int, seed: int) -> list[str]:
    """Return the arguments of the program for a kernel; ``ROUTES`` stands for the routing table."""
    if operator == LOOKUP:
        return ["lookup", engine, params.get("keys", "packets"), "ROUTES", params.get("prefixes", "1000"), str(messages), str(burst), str(seed)]
    return ["md5", str(message_bytes or 1500), str(messages), str(seed)]


@dataclass(frozen=True)
class Task:
    """A kernel to trace."""

    label: str
    code: Code
    words: tuple[str, ...]  #: arguments of the program
    routes: Path | None
    burst: int

    def key(self) -> str:
        """Return the digest of everything that the trace is made from. @raises UserError, EnvironmentFault"""
        routes = [] if self.routes is None else [_cache.digest_of_files(self.routes)]
        return _cache.digest_of(
            {
                "kernels": _sources_digest(), "code": self.code.name, "compiler": _version(self.code.compiler), "flags": [*_FLAGS, *self.code.flags],
                "words": self.words, "routes": routes, "plugin": _cache.digest_of_files(programs.trace_plugin()),
                "emulator": _version(self.code.emulator), "cpu": self.code.cpu,
            }
        )  # fmt: skip

    def capture(self, folder: Path, record: str, schema: str, limit_s: float, stop: StopRequest | None) -> None:
        """Capture the trace into ``folder``. @raises as :func:`dpubench.traces.capture`"""
        program = self._program()

        def accept(partial: Path, output: bytes) -> None:
            said = json.loads(output.splitlines()[-1]) if output.strip() else {}
            if said.get("event") != "traced":
                raise traces.CaptureFault("the program ended without an error but reported no trace", output)
            files = [partial / traces.BLOCKS, partial / traces.STREAM]
            _cache.write_json(partial / record, {
                "schema": schema, "digest": _cache.digest_of_files(*files), "bytes": [file.stat().st_size for file in files],
                "messages": said["operations"], "burst": self.burst, "in_bytes": said["in_bytes"], "out_bytes": said["out_bytes"],
                "about": {"program": _cache.digest_of_files(program), "path": {"isa": self.code.architecture, "routine": " ".join(self.words[:2])},
                          "verified": {"known_answers": 0, "compared": said["compared"], "how": "every result"}},
            })  # fmt: skip

        words = list(self.words)
        with scratch.folder(Path("/tmp"), "dpubench-traced-") as machine:
            # The program sees the same paths everywhere.
            (machine / _PROGRAM).symlink_to(program)
            if self.routes is not None:
                (machine / "routes").symlink_to(self.routes.resolve())
                words = ["routes" if word == "ROUTES" else word for word in words]
            traces.capture(
                Path(_PROGRAM), words, folder, self.code.cpu, kernel=self.label, sysroot=None if self.code.is_static else _sysroot(self.code),
                limit_s=limit_s, start_in=machine, accept=accept, stop=stop, emulator=self.code.emulator,
            )  # fmt: skip

    def _program(self) -> Path:
        """Return the program, compiled if it is not kept yet. @raises UserError, EnvironmentFault"""
        if reason := lacking(self.code):
            raise UserError(f"{self.label}: {reason}")
        version = _version(self.code.compiler)
        folder = programs.cache_directory() / "kernels"
        kept = folder / f"{self.code.name}-{_cache.digest_of([_sources_digest(), version, _FLAGS, self.code.flags])[:32]}"
        if kept.is_file():
            return kept
        terminal.note(f"compiling kernels for {self.code.architecture} with {self.code.compiler} (some seconds)")
        native = programs.repository() / "native"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            scratch.sweep(folder)
            with scratch.folder(folder) as half:
                made = half / _PROGRAM
                words = [self.code.compiler, *_FLAGS, *self.code.flags, "-I.", "-o", str(made), *_SOURCES]
                done = subprocess.run(words, cwd=native, capture_output=True, text=True, timeout=_COMPILE_S, check=False)
                if done.returncode != 0:
                    raise EnvironmentFault(f"{' '.join(words)}: failed: {done.stderr.strip()[-1000:]}")
                made.replace(kept)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EnvironmentFault(f"{folder}: the kernels cannot be compiled there: {error}") from None
        return kept


def _sources_digest() -> str:
    """Return the digest of the program's sources. @raises UserError without sources"""
    native = programs.repository() / "native"
    files = sorted({*(native / name for name in _SOURCES), *(file for pattern in _HEADERS for file in native.glob(pattern))})
    if missing := [file for file in files if not file.is_file()]:
        raise UserError(f"{missing[0]}: the source of the kernels is missing: run this from a clone of the repository")
    return sha256("".join(f"{file.relative_to(native)} {_cache.digest_of_files(file)}\n" for file in files).encode()).hexdigest()


def _version(tool: str) -> str:
    """Return the first line of a tool's version. @raises EnvironmentFault"""
    try:
        done = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"{tool} --version: {error}") from None
    return done.stdout.partition("\n")[0]


def _sysroot(code: Code) -> Path:
    """Return the folder of the compiler's libraries, below which the loader lies in ``lib``. @raises EnvironmentFault"""
    try:
        done = subprocess.run([code.compiler, "-print-file-name=libc.so"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"{code.compiler}: {error}") from None
    folder = Path(done.stdout.strip()).resolve().parent
    if folder.name != "lib" or not any(folder.glob("ld-linux*")):
        raise EnvironmentFault(f"{folder}: holds no loader for {code.architecture}: install the package {code.package}")
    return folder.parent
