"""The catalog of ``dpubench-server`` on a target: workloads with their stages and engines, kinds of ports, and why some of them cannot run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench import programs
from dpubench.errors import EnvironmentFault, UserError, nearest
from dpubench.studies.end_to_end.model import NULL_WORKLOAD
from dpubench.targets import Target
from dpubench.workers.ask import ask
from dpubench.workers.checks import parse_datapath_event
from dpubench.workers.process import WorkerFault

_LIST_LIMIT_S: Final = 60.0


@dataclass(frozen=True)
class DatapathCatalog:
    """The ``hello`` event of ``dpubench-server --list``."""

    hello: dict[str, Any]

    @property
    def workloads(self) -> list[dict[str, Any]]:
        return list(self.hello["catalog"]["workloads"])

    @property
    def ports(self) -> list[dict[str, Any]]:
        return list(self.hello["catalog"]["ports"])

    def workload(self, name: str) -> dict[str, Any]:
        """Return the entry of a workload. @raises UserError with the nearest name"""
        return _entry(self.workloads, name, "workload")

    def port(self, kind: str) -> dict[str, Any]:
        """Return the entry of a kind of port. @raises UserError with the nearest name"""
        return _entry(self.ports, kind, "kind of port")

    def names(self, *, null: bool = True) -> list[str]:
        """Return the names of the workloads; ``null`` tells whether the null workload is among them."""
        return [str(w["name"]) for w in self.workloads if null or w["name"] != NULL_WORKLOAD]


@dataclass(frozen=True)
class Verdict:
    """The server's verdict on a combination of workload, parameters, engines and port."""

    invalid: str  #: why its parameters do not exist; empty if they do
    engines: Mapping[str, str]  #: stage -> why its engine cannot do this; empty if it can

    @property
    def is_possible(self) -> bool:
        return not self.invalid and not any(self.engines.values())


def _entry(entries: Sequence[dict[str, Any]], name: str, what: str) -> dict[str, Any]:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise UserError(f"unknown {what} '{name}'{nearest(name, [str(e['name']) for e in entries])}")


def read(target: Target, program: Path | None = None) -> DatapathCatalog:
    """Return the catalog of the server's program on ``target``.

    @raises UserError when the program is not there or does not speak the contract
    """
    path = str(program or target.program(programs.SERVER))
    events = _ask(target, path, "--list")
    if events[0]["event"] != "hello" or "catalog" not in events[0]:
        raise EnvironmentFault(f"{path} --list: its first event holds no catalog: build program and package from one revision")
    return DatapathCatalog(events[0])


def check(target: Target, combinations: Iterable[Mapping[str, Any]], program: Path | None = None) -> list[Verdict]:
    """Ask the server's program on ``target`` whether combinations are possible; return a verdict on each.

    Args:
        combinations: each with ``workload``, ``params``, ``engines`` (stage -> engine), ``port`` (kind), ``cpus``, ``max_frame`` (bytes with FCS)

    Raises:
        UserError: when the program is not there or does not speak the contract.
    """
    asked = list(combinations)
    if not asked:
        return []
    path = str(program or target.program(programs.SERVER))
    lines = b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in asked)
    event = next((e for e in _ask(target, path, "--check", lines) if e["event"] == "checked"), None)
    if event is None or len(event.get("combinations", ())) != len(asked):
        raise EnvironmentFault(f"{path} --check: it did not answer every question: build program and package from one revision")
    return [Verdict(answer["invalid"], answer["engines"]) for answer in event["combinations"]]


def _ask(target: Target, path: str, question: str, given: bytes = b"") -> list[dict[str, Any]]:
    """Return the answer of the program at ``path``: at least one event. @raises EnvironmentFault"""
    try:
        events = ask(target, path, [question], given, silence_s=_LIST_LIMIT_S, limit_s=_LIST_LIMIT_S, parse=parse_datapath_event)
    except WorkerFault as fault:
        raise EnvironmentFault(f"{path} {question}: it gave no answer, {fault.reason}: run it by hand to see why") from None
    if not events:
        raise EnvironmentFault(f"{path} {question}: it ended without an answer: run it by hand to see why")
    return events
