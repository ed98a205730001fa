"""Programs of others that speak the contract (docs/architecture.md), found in the folders of ``--engine-dir``; their engines beside our own.

Such a program is an executable regular file that is no shared object. It answers ``--list`` with its catalog. Engines of operators that both know, in
the same version, join the catalog; what cannot join is listed with the reason, because a program that silently takes no part looks like a slow day.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dpubench.errors import EnvironmentFault
from dpubench.targets.local import LocalTarget
from dpubench.workers.ask import ask as ask_program
from dpubench.workers.process import WorkerFault

#: A catalog is a few tables: a program that has not answered by then is not going to.
LIST_LIMIT_S: Final = 20.0
_SHARED_OBJECT: Final = re.compile(r"\.so(\.\d+)*$")


@dataclass
class ContractProgram:
    """A program of somebody else: what it said of itself, what of it can be measured, and why the rest cannot."""

    path: Path
    program: str = ""
    version: str = ""
    build: dict[str, Any] = field(default_factory=dict)
    reason: str = ""  #: why none of it can be measured; empty when it answered
    operators: list[dict[str, Any]] = field(default_factory=list)  #: its catalog
    engines: dict[str, list[str]] = field(default_factory=dict)  #: operator -> names under which its engines joined
    refused: list[tuple[str, str, str]] = field(default_factory=list)  #: (operator, engine, reason) of what did not join

    def record(self) -> dict[str, Any]:
        """For ``run.json``."""
        return {
            "path": str(self.path), "program": self.program, "version": self.version,
            "build": {k: v for k, v in self.build.items() if k != "layout"}, "reason": self.reason,
            "engines": self.engines, "refused": [{"operator": o, "engine": e, "reason": r} for o, e, r in self.refused],
        }  # fmt: skip


def find(directories: Iterable[Path]) -> list[Path]:
    """Executable regular files of ``directories`` that are no shared objects, by name; hidden files and what cannot be read are passed over."""
    found: dict[Path, None] = {}
    for directory in directories:
        if not directory.is_dir():
            continue  # the native program says so
        for path in sorted(directory.resolve().iterdir()):
            if path.is_file() and os.access(path, os.X_OK) and not path.name.startswith(".") and not _SHARED_OBJECT.search(path.name):
                found[path] = None
    return list(found)


def ask(path: Path) -> ContractProgram:
    """What the program ``path`` has. Never raises for what the program does: ``reason`` says it."""
    told = ContractProgram(path)
    try:
        events = ask_program(LocalTarget(), str(path), ["--list"], silence_s=LIST_LIMIT_S, limit_s=2 * LIST_LIMIT_S)
        if not events:
            raise WorkerFault("it ended without an answer", "crash")
        if len(events) > 1 or events[0]["event"] != "hello":
            raise WorkerFault(f"it printed a {events[-1]['event']} event besides its one hello event", "rubbish")
        hello = events[0]
        if "catalog" not in hello:
            raise WorkerFault("its hello event holds no catalog", "rubbish")
    except WorkerFault as fault:
        told.reason = f"{path} --list: {fault.reason}; it must answer as docs/architecture.md says"
    except EnvironmentFault as error:
        told.reason = str(error).replace("; build it with `make build`", "; is it built for this machine?")
    else:
        told.program, told.version, told.build = hello["program"], hello["version"], dict(hello["build"])
        told.operators = list(hello["catalog"]["operators"])
    return told


def join(hello: Mapping[str, Any], programs: Sequence[ContractProgram]) -> dict[str, Any]:
    """``hello`` with the engines of ``programs`` in its catalog; notes in each program what joined and what did not.

    An engine that joined has two keys more: ``program``, its path, and ``name_in_program``. It keeps its name unless the operator has one of that
    name: then it is ``<engine>@<file stem>``.
    """
    joined = copy.deepcopy(dict(hello))
    own = {o["name"]: o for o in joined["catalog"]["operators"]}
    for program in programs:
        for theirs in program.operators:
            ours = own.get(theirs["name"])
            if ours is None:
                reason = f"{program.path.name} speaks of an operator '{theirs['name']}', which is not known here"
                program.refused += [(theirs["name"], e["name"], reason) for e in theirs["engines"]]
            else:
                _join_operator(ours, theirs, program)
    return joined


def _join_operator(ours: dict[str, Any], theirs: Mapping[str, Any], program: ContractProgram) -> None:
    mismatch = _mismatch(ours, theirs, program.path.name)
    offered = {_modes(ours, c["params"]): c["engines"] for c in theirs["configurations"]} if not mismatch else {}
    for engine in theirs["engines"]:
        name = _free_name(engine["name"], program.path, {e["name"] for e in ours["engines"]})
        entry = {**engine, "name": name, "program": str(program.path), "name_in_program": engine["name"]}
        if mismatch:
            # It stays in the catalog as an engine that cannot run: naming it with --engine then tells why.
            entry |= {"available": False, "reason": mismatch}
            program.refused.append((ours["name"], name, mismatch))
        else:
            program.engines.setdefault(ours["name"], []).append(name)
        ours["engines"].append(entry)
        for configuration in ours["configurations"]:
            supported = offered.get(_modes(ours, configuration["params"]))
            if supported is None:
                configuration["engines"][name] = mismatch or f"{program.path.name} does not list this configuration"
            else:
                configuration["engines"][name] = supported.get(engine["name"], "")


def _mismatch(ours: Mapping[str, Any], theirs: Mapping[str, Any], name: str) -> str:
    """Why figures of the two would not be of the same work; empty when they are."""
    if ours["version"] != theirs["version"]:
        return f"{name} speaks of version {theirs['version']} of {ours['name']}, here it is version {ours['version']}: figures do not compare"
    mine, others = ({p["name"] for p in o["parameters"]} for o in (ours, theirs))
    if mine != others:
        return f"{name} gives {ours['name']} the parameters {', '.join(sorted(others)) or 'none'}, here they are {', '.join(sorted(mine)) or 'none'}"
    return ""


def _modes(operator: Mapping[str, Any], params: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What tells a listed configuration: its modes. Other parameters stand at their defaults, which need not agree."""
    return tuple((p["name"], params.get(p["name"], "")) for p in operator["parameters"] if p["is_mode"])


def _free_name(name: str, path: Path, taken: set[str]) -> str:
    if name not in taken:
        return name
    # What separates names in options and in the ids of points must not come from a file's name.
    wanted = f"{name}@{re.sub(r'[^A-Za-z0-9._-]', '-', path.stem)}"
    number, free = 1, wanted
    while free in taken:
        number += 1
        free = f"{wanted}-{number}"
    return free
