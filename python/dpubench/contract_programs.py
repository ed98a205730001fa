"""Programs of others that speak the contract (docs/architecture.md), from the folders of ``--engine-dir``, and their engines.

Such a program is an executable regular file that is no shared object. It answers ``--list`` with its catalog. Engines of operators that both know,
in the same version, join the catalog. Others are listed with the reason, because a program that silently takes no part looks like a slow day.
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

#: A catalog is a few tables: a program that takes longer will never answer.
LIST_LIMIT_S: Final = 20.0
_SHARED_OBJECT: Final = re.compile(r"\.so(\.\d+)*$")


@dataclass
class ContractProgram:
    """A program of somebody else: its description, its usable engines, and the reasons for the rest."""

    path: Path
    program: str = ""
    version: str = ""
    build: dict[str, Any] = field(default_factory=dict)
    reason: str = ""  #: reason why none of it can be measured; empty when it answered
    operators: list[dict[str, Any]] = field(default_factory=list)  #: its catalog
    engines: dict[str, list[str]] = field(default_factory=dict)  #: operator -> names of its engines in the catalog
    refused: list[tuple[str, str, str]] = field(default_factory=list)  #: (operator, engine, reason) for engines that did not join

    def record(self) -> dict[str, Any]:
        """Return the record for ``run.json``."""
        return {
            "path": str(self.path), "program": self.program, "version": self.version,
            "build": {k: v for k, v in self.build.items() if k != "layout"}, "reason": self.reason,
            "engines": self.engines, "refused": [{"operator": o, "engine": e, "reason": r} for o, e, r in self.refused],
        }  # fmt: skip


def find(directories: Iterable[Path]) -> list[Path]:
    """Return executable regular files of ``directories`` that are no shared objects, by name, without hidden and unreadable ones."""
    found: dict[Path, None] = {}
    for directory in directories:
        if not directory.is_dir():
            continue  # The native program reports it.
        for path in sorted(directory.resolve().iterdir()):
            if path.is_file() and os.access(path, os.X_OK) and not path.name.startswith(".") and not _SHARED_OBJECT.search(path.name):
                found[path] = None
    return list(found)


def ask(path: Path) -> ContractProgram:
    """Return the program ``path`` with its catalog. It never raises for the program's faults: ``reason`` holds them."""
    told = ContractProgram(path)
    try:
        events = ask_program(LocalTarget(), str(path), ["--list"], silence_s=LIST_LIMIT_S, limit_s=2 * LIST_LIMIT_S)
        if not events:
            raise WorkerFault("it ended without an answer", "crash")
        if len(events) > 1 or events[0]["event"] != "hello":
            raise WorkerFault(f"it printed a {events[-1]['event']} event, but must print one hello event and nothing else", "rubbish")
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
    """Return ``hello`` with the engines of ``programs`` in its catalog; record in each program which joined and which did not.

    An engine that joined has two more keys: ``program``, its path, and ``name_in_program``. It keeps its name, unless the operator has one of that
    name already: then it becomes ``<engine>@<file stem>``.
    """
    joined = copy.deepcopy(dict(hello))
    own = {o["name"]: o for o in joined["catalog"]["operators"]}
    for program in programs:
        for theirs in program.operators:
            ours = own.get(theirs["name"])
            if ours is None:
                reason = f"{program.path.name} has the operator '{theirs['name']}', which dpubench does not know"
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
            # It stays in the catalog as an engine that cannot run, so that --engine with its name tells why.
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
    """Return why figures of the two would be for different work; empty when they would not."""
    if ours["version"] != theirs["version"]:
        return (
            f"{name} implements version {theirs['version']} of {ours['name']}, but dpubench implements version {ours['version']}: "
            "their figures cannot be compared"
        )
    mine, others = ({p["name"] for p in o["parameters"]} for o in (ours, theirs))
    if mine != others:
        return (
            f"parameters of {ours['name']} differ: {name} has {', '.join(sorted(others)) or 'none'}; dpubench has {', '.join(sorted(mine)) or 'none'}"
        )
    return ""


def _modes(operator: Mapping[str, Any], params: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the modes that identify a listed configuration. Other parameters have defaults, which need not agree."""
    return tuple((p["name"], params.get(p["name"], "")) for p in operator["parameters"] if p["is_mode"])


def _free_name(name: str, path: Path, taken: set[str]) -> str:
    if name not in taken:
        return name
    # A file's name must not add characters that separate names in options and point ids.
    wanted = f"{name}@{re.sub(r'[^A-Za-z0-9._-]', '-', path.stem)}"
    number, free = 1, wanted
    while free in taken:
        number += 1
        free = f"{wanted}-{number}"
    return free
