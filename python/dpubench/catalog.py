"""What the native program can measure here: operators, engines with the reasons of those that cannot run, valid configurations."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpubench import __version__, contract_programs, programs, schemas
from dpubench.contract_programs import ContractProgram
from dpubench.errors import EnvironmentFault, Exit, UserError, nearest

LIST_LIMIT_S = 60.0


@dataclass(frozen=True)
class Catalog:
    """The ``hello`` event of ``dpubench-operators --list``, with the engines of other programs in it."""

    program: Path
    hello: dict[str, Any]
    others: tuple[ContractProgram, ...] = ()  #: programs found in ``--engine-dir``
    engine_dirs: tuple[Path, ...] = ()
    devices: tuple[str, ...] = ()  #: that device engines may use

    @property
    def operators(self) -> list[dict[str, Any]]:
        return list(self.hello["catalog"]["operators"])

    @property
    def names(self) -> list[str]:
        return [str(o["name"]) for o in self.operators]

    def operator(self, name: str, where: str = "") -> dict[str, Any]:
        """The entry of an operator. @raises UserError with the nearest name."""
        for entry in self.operators:
            if entry["name"] == name:
                return dict(entry)
        raise UserError(f"{where}unknown operator '{name}'{nearest(name, self.names)}")

    def refused(self) -> Iterator[tuple[ContractProgram, str, str, str]]:
        """(program, operator, engine, reason) of what other programs have and :meth:`engines` does not; one without a name for a whole program."""
        for other in self.others:
            if other.reason:
                yield other, "", "", other.reason
            for operator, engine, reason in other.refused:
                if operator not in self.names:
                    yield other, operator, engine, reason

    def check(self, combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        """Asks the program whether (operator, parameters) exist: why not (empty if they do), and per engine of its own why it cannot do them."""
        if not combinations:
            return []
        asked = json.dumps([{"operator": o, "params": p} for o, p in combinations]).encode()
        events = _answer(self.program, "--check", self.engine_dirs, asked, self.devices)
        event = next((e for e in events if e.get("event") == "checked"), None)
        if event is None:  # a program of somebody else's in the place of ours need not know this question: measuring shows it then
            return [("", {})] * len(combinations)
        fault = schemas.fault("event", event, "checked")
        if not fault and len(event["combinations"]) != len(combinations):
            fault = f"{len(event['combinations'])} answers to {len(combinations)} questions"
        if fault:
            raise _breaks_contract(self.program, "--check", fault)
        return [(c["invalid"], c["engines"]) for c in event["combinations"]]

    def engines(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Every (operator, engine)."""
        for operator in self.operators:
            for engine in operator["engines"]:
                yield operator, engine


def inputs_of(operator: Mapping[str, Any], params: Mapping[str, str]) -> set[str]:
    """Kinds of input that ``operator`` reads in the configuration ``params`` (complete: every parameter with its value)."""
    return {kind["name"] for kind in operator["inputs"] if all(params.get(k) == v for k, v in kind.get("only_with", {}).items())}


def read(program: Path, engine_dirs: Sequence[Path] = (), devices: Sequence[str] = (), *, use_cache: bool = True) -> Catalog:
    """Asks ``program`` what it has (kept until the program, its modules or the installed packages change), and those in ``engine_dirs``.

    Raises:
        UserError: when the program cannot be run or does not speak the contract. The others cannot make this fail.
    """
    # A device's driver may be bound or taken away at any time: what it can do is asked anew.
    hello = _ask(program, engine_dirs, devices) if devices else _read_own(program, engine_dirs, use_cache)
    # Asked anew each time: nobody knows what a program of somebody else depends on.
    others = [contract_programs.ask(path) for path in contract_programs.find(engine_dirs)]
    return Catalog(program, contract_programs.join(hello, others) if others else hello, tuple(others), tuple(engine_dirs), tuple(devices))


def _read_own(program: Path, engine_dirs: Sequence[Path], use_cache: bool) -> dict[str, Any]:
    key = _key(program, engine_dirs)
    kept = programs.cache_directory() / "catalogs" / f"{key}.json"
    if use_cache:
        with contextlib.suppress(OSError, ValueError, KeyError):
            hello = json.loads(kept.read_text(encoding="utf-8"))
            if not schemas.fault("event", hello, "hello") and "catalog" in hello:
                return dict(hello)
    hello = _ask(program, engine_dirs)
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=kept.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(hello, file)
        Path(name).replace(kept)
    return hello


def _ask(program: Path, engine_dirs: Sequence[Path], devices: Sequence[str] = ()) -> dict[str, Any]:
    events = _answer(program, "--list", engine_dirs, b"", devices)
    hello = events[0] if events else {}
    fault = schemas.fault("event", hello, "hello")
    if not fault and "catalog" not in hello:
        fault = "it holds no catalog"
    if fault:
        raise _breaks_contract(program, "--list", fault)
    return hello


def _answer(program: Path, question: str, engine_dirs: Sequence[Path], given: bytes, devices: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What ``program`` prints when it is asked ``question``."""
    arguments = [
        str(program),
        question,
        *(word for d in engine_dirs for word in ("--engine-dir", str(d))),
        *(word for d in devices for word in ("--device", d)),
    ]
    try:
        answer = subprocess.run(arguments, input=given, capture_output=True, timeout=LIST_LIMIT_S, check=False)
    except OSError as error:
        raise EnvironmentFault(f"{program}: cannot be started: {error.strerror or error}; build it with `make build`") from None
    except subprocess.TimeoutExpired:
        raise EnvironmentFault(f"{program} {question}: no answer within {LIST_LIMIT_S:.0f} s: run it by hand to see where it hangs") from None
    said = answer.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
    if devices and answer.returncode == Exit.USAGE and not answer.stdout:
        raise UserError(" / ".join(said).partition(": ")[2] or f"{program} does not take --device {' '.join(devices)}")
    try:
        return [dict(json.loads(line)) for line in answer.stdout.splitlines()]
    except (ValueError, TypeError):
        told = f"; it said: {' / '.join(said)}" if said else ""
        raise EnvironmentFault(f"{program} {question}: ended with status {answer.returncode} and without an answer{told}") from None


def _breaks_contract(program: Path, question: str, fault: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"{program} {question}: its answer breaks the contract {schemas.EVENT}: {fault}: build program and package from one revision"
    )


def _key(program: Path, engine_dirs: Sequence[Path]) -> str:
    """Whatever may change the answer: the program, its modules, and the packages that modules load at run time."""
    digest = hashlib.sha256(__version__.encode())
    # Operators live in the library beside the program, which is linked anew without it.
    beside = [*sorted(program.parent.glob("*.so*")), *sorted((program.parent / "engines").glob("*"))]
    places = [program, *beside, Path("/var/lib/dpkg/status"), Path("/proc/cpuinfo")]
    for directory in engine_dirs:
        places += [directory, *sorted(directory.glob("*"))]
    for place in places:
        with contextlib.suppress(OSError):
            status = place.stat()
            # cpuinfo stands for the machine: its times change, its content is what a cache on a shared home must not mix up.
            mark = _cpu_flags(place) if place.parts[1:2] == ("proc",) else f"{status.st_mtime_ns}/{status.st_size}"
            digest.update(f"{place}\0{mark}\n".encode())
    digest.update(repr(sorted((k, v) for k, v in os.environ.items() if k.startswith(("DPUBENCH_", "LD_")))).encode())
    return digest.hexdigest()[:32]


def _cpu_flags(cpuinfo: Path) -> str:
    lines = cpuinfo.read_text(encoding="ascii", errors="replace").splitlines()
    return "|".join(sorted({line for line in lines if line.lower().startswith(("flags", "features", "model name"))}))
