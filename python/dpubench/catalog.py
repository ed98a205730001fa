"""The catalog of the native program on a target: operators, valid configurations, engines, and reasons for those that cannot run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench import __version__, contract_programs, programs, schemas, scratch
from dpubench.contract_programs import ContractProgram
from dpubench.errors import EnvironmentFault, UserError, nearest
from dpubench.inputs import Resolved
from dpubench.targets import Target
from dpubench.targets.local import LocalTarget
from dpubench.workers.ask import ask
from dpubench.workers.process import WorkerFault

LIST_LIMIT_S = 60.0
#: Kinds of input with a syntax; in a corpus any file is valid.
_FORMED: Final = ("routes4", "routes6", "rules", "capture")
#: Assumed least reading speed; captures may be larger than memory.
_READ_BYTES_PER_S: Final = 20e6


class _NoAnswer(EnvironmentFault):
    """A program ended without an answer to a request."""


@dataclass(frozen=True)
class Catalog:
    """The ``hello`` event of ``dpubench-operators --list``, extended by the engines of other programs."""

    target: Target
    program: str  #: path on the target
    hello: dict[str, Any]
    others: tuple[ContractProgram, ...] = ()  #: programs found in ``--engine-dir``
    engine_dirs: tuple[Path, ...] = ()
    devices: tuple[str, ...] = ()  #: devices that device engines may use

    @property
    def operators(self) -> list[dict[str, Any]]:
        return list(self.hello["catalog"]["operators"])

    @property
    def names(self) -> list[str]:
        return [str(o["name"]) for o in self.operators]

    def operator(self, name: str, where: str = "") -> dict[str, Any]:
        """Return the entry of an operator. @raises UserError with the nearest name."""
        for entry in self.operators:
            if entry["name"] == name:
                return dict(entry)
        raise UserError(f"{where}unknown operator '{name}'{nearest(name, self.names)}")

    @property
    def options(self) -> list[str]:
        """Return the options of dpubench's program besides the request."""
        return programs.options(self.engine_dirs, self.devices)

    def refused(self) -> Iterator[tuple[ContractProgram, str, str, str]]:
        """Yield (program, operator, engine, reason) for engines of other programs that :meth:`engines` lacks; without names for a whole program."""
        for other in self.others:
            if other.reason:
                yield other, "", "", other.reason
            for operator, engine, reason in other.refused:
                if operator not in self.names:
                    yield other, operator, engine, reason

    def check(self, combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        """Ask the program whether each (operator, parameters) exists.

        Return why it does not (empty if it does), and per engine of its own why the engine cannot run it.
        """
        if not combinations:
            return []
        try:
            events = _answer(self.target, self.program, "--check", self.options, check_of(combinations))
        except _NoAnswer:
            events = []
        return checked(events, len(combinations), self.program)

    def engines(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield every (operator, engine)."""
        for operator in self.operators:
            for engine in operator["engines"]:
                yield operator, engine


def check_of(combinations: Sequence[tuple[str, dict[str, str]]]) -> bytes:
    """Return the input of a program that is started with ``--check``."""
    return json.dumps([{"operator": operator, "params": params} for operator, params in combinations]).encode()


def checked(events: Iterable[Mapping[str, Any]], count: int, program: str) -> list[tuple[str, dict[str, str]]]:
    """Return the answers of ``program`` to :func:`check_of` for ``count`` combinations. @raises EnvironmentFault when an answer is missing"""
    event = next((e for e in events if e["event"] == "checked"), None)
    if event is None:  # another program in the place of dpubench's may not know the request: then the measurement shows faults
        return [("", {})] * count
    if len(event["combinations"]) != count:
        raise _breaks_contract(program, "--check", f"{len(event['combinations'])} answers to {count} questions")
    return [(c["invalid"], c["engines"]) for c in event["combinations"]]


def check_inputs(target: Target, program: str, files: Sequence[tuple[str, str]], limit_s: float = LIST_LIMIT_S) -> list[str]:
    """Return, per (kind, file), why ``program`` cannot read it; empty where it can, or where it does not know the request.

    Raises:
        EnvironmentFault: the answer breaks the contract.
        TargetLost: the connection to the target broke.
    """
    asked = json.dumps([{"kind": kind, "file": file} for kind, file in files]).encode()
    try:
        events = _answer(target, program, "--check-inputs", (), asked, limit_s)
    except _NoAnswer:
        events = []
    event = next((e for e in events if e["event"] == "checked"), None)
    if event is None:
        return [""] * len(files)
    answers = event.get("inputs", [])
    if len(answers) != len(files):
        raise _breaks_contract(program, "--check-inputs", f"{len(answers)} answers to {len(files)} questions")
    return [str(answer["invalid"]) for answer in answers]


def check_given(files: Resolved) -> None:
    """Check that given files have the syntax of their kinds, with the code by which operators read them.

    Where this machine has no such program (all targets are elsewhere), the program that reads them reports faults.

    Raises:
        UserError: with each faulty file
    """
    given = [(kind, file) for kind, one in files.inputs.items() if one.given and kind in _FORMED for file in one.files]
    if not given:
        return
    try:
        program = programs.operators_program()
    except UserError:
        return
    limit_s = LIST_LIMIT_S + sum(file.stat().st_size for _, file in given) / _READ_BYTES_PER_S
    faults = check_inputs(LocalTarget(), str(program), [(kind, str(file)) for kind, file in given], limit_s)
    said = {kind: one.given[0] for kind, one in files.inputs.items() if len(one.given) == 1}  # the file may be a converted one
    wrong = [f"--input {kind}={said.get(kind, file)}: {fault}" for (kind, file), fault in zip(given, faults, strict=True) if fault]
    if wrong:
        raise UserError("\n".join(wrong))


def inputs_of(operator: Mapping[str, Any], params: Mapping[str, str]) -> set[str]:
    """Return the kinds of input that ``operator`` reads in the configuration ``params`` (complete: every parameter with its value)."""
    return {kind["name"] for kind in operator["inputs"] if all(params.get(k) == v for k, v in kind.get("only_with", {}).items())}


def read(target: Target, devices: Sequence[str] = (), engine_dirs: Sequence[Path] = ()) -> Catalog:
    """Return the catalog of the program on ``target``, which is open; ``devices`` are for device engines, ``engine_dirs`` are folders there.

    Raises:
        UserError: when the program cannot be run, does not speak the contract, or has no such device.
        TargetLost: the connection to the target broke.
    """
    program = target.program(programs.OPERATORS)
    hello = _ask(target, program, programs.options(engine_dirs, devices))
    return Catalog(target, program, hello, engine_dirs=tuple(engine_dirs), devices=tuple(devices))


def read_here(program: Path, engine_dirs: Sequence[Path] = (), devices: Sequence[str] = (), *, use_cache: bool = True) -> Catalog:
    """Return the catalog of ``program`` on this machine, with the programs in ``engine_dirs``.

    The cache keeps it until the program, its modules or the installed packages change.

    Raises:
        UserError: as :func:`read`; the programs in ``engine_dirs`` cannot make this fail.
    """
    target = LocalTarget()
    # A device's driver may be bound or unbound at any time, so that the cache is useless.
    options = programs.options(engine_dirs, devices)
    hello = _ask(target, str(program), options) if devices else _read_own(target, program, engine_dirs, use_cache)
    # Ask these each time: their dependencies are unknown.
    others = [contract_programs.ask(path) for path in contract_programs.find(engine_dirs)]
    joined = contract_programs.join(hello, others) if others else hello
    return Catalog(target, str(program), joined, tuple(others), tuple(engine_dirs), tuple(devices))


def _read_own(target: Target, program: Path, engine_dirs: Sequence[Path], use_cache: bool) -> dict[str, Any]:
    key = _key(program, engine_dirs)
    kept = programs.cache_directory() / "catalogs" / f"{key}.json"
    if use_cache and scratch.is_sealed(kept):
        with contextlib.suppress(OSError, ValueError, KeyError):
            hello = json.loads(kept.read_text(encoding="utf-8"))
            if not schemas.fault("event", hello, "hello") and "catalog" in hello:
                return dict(hello)
    hello = _ask(target, str(program), programs.options(engine_dirs, ()))
    with contextlib.suppress(OSError):
        scratch.sweep(kept.parent)  # removes files of killed runs
        scratch.write_sealed(kept, json.dumps(hello))
    return hello


def _ask(target: Target, program: str, options: Sequence[str]) -> dict[str, Any]:
    hello = _answer(target, program, "--list", options, b"")[0]
    if hello["event"] != "hello" or "catalog" not in hello:
        raise _breaks_contract(program, "--list", "its first event holds no catalog")
    return hello


def _answer(target: Target, program: str, question: str, options: Sequence[str], given: bytes, limit_s: float = LIST_LIMIT_S) -> list[dict[str, Any]]:
    """Return the events that ``program`` prints for ``question``: at least one."""
    try:
        events = ask(target, program, [question, *options], given, silence_s=limit_s, limit_s=limit_s)
    except WorkerFault as fault:
        said = fault.reason.partition("; it said: ")[2]
        if "--device" in options and said:  # it has no such device, and tells why
            raise UserError(said.partition(": ")[2] or said) from None
        if fault.kind == "rubbish":
            raise _breaks_contract(program, question, fault.reason) from None
        kind = _NoAnswer if fault.kind == "crash" else EnvironmentFault
        raise kind(f"{_there(target, program)} {question}: gave no answer: {fault.reason}: run it by hand to see why") from None
    if not events:
        raise _NoAnswer(f"{_there(target, program)} {question}: it ended without an answer: run it by hand to see why")
    return events


def _there(target: Target, program: str) -> str:
    return program if target.name == "local" else f"{target.name}: {program}"


def _breaks_contract(program: str, question: str, fault: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"{program} {question}: its answer breaks the contract {schemas.EVENT}: {fault}: build the program and the package from one revision"
    )


def _key(program: Path, engine_dirs: Sequence[Path]) -> str:
    """Return a key that changes with the answer: from the program, its modules, and the packages that modules load at run time."""
    digest = hashlib.sha256(__version__.encode())
    # Operators live in the library beside the program, which can be linked anew without the program.
    beside = [*sorted(program.parent.glob("*.so*")), *sorted((program.parent / "engines").glob("*"))]
    places = [program, *beside, Path("/var/lib/dpkg/status"), Path("/proc/cpuinfo")]
    for directory in engine_dirs:
        places += [directory, *sorted(directory.glob("*"))]
    for place in places:
        with contextlib.suppress(OSError):
            status = place.stat()
            # cpuinfo stands for the machine. Its times change, but its content tells machines apart that share a home and thus a cache.
            mark = _cpu_flags(place) if place.parts[1:2] == ("proc",) else f"{status.st_mtime_ns}/{status.st_size}"
            digest.update(f"{place}\0{mark}\n".encode())
    digest.update(repr(sorted((k, v) for k, v in os.environ.items() if k.startswith(("DPUBENCH_", "LD_")))).encode())
    return digest.hexdigest()[:32]


def _cpu_flags(cpuinfo: Path) -> str:
    lines = cpuinfo.read_text(encoding="ascii", errors="replace").splitlines()
    return "|".join(sorted({line for line in lines if line.lower().startswith(("flags", "features", "model name"))}))
