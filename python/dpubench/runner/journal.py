"""What went wrong or deserves a warning in a run, each said once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dpubench.results.store import Event
from dpubench.runner.model import Point
from dpubench.runner.setting import Listener

MAX_WARNINGS: Final = 1000


class Journal:
    """Failures, warnings, machine, builds and clock in the record of a run, as its programs tell them."""

    def __init__(self, record: dict[str, Any], listener: Listener) -> None:
        self._record = record
        self._listener = listener
        self._warned = {_key(w) for w in record["warnings"]}

    @property
    def failures(self) -> int:
        return len(self._record["failures"])

    def fail(self, point: Point, phase: str, message: str) -> None:
        """Takes ``point`` out of the run; the first reason is kept."""
        if not point.failure:
            point.failure = f"{phase}: {message}"
            self.failure(phase, message, point=point.id, group=point.configuration.id)

    def failure(self, phase: str, message: str, **where: str) -> None:
        """A failure of a point, a configuration or (without ``where``) the run."""
        entry = {"phase": phase, "message": message, **where}
        if entry not in self._record["failures"]:
            self._record["failures"].append(entry)
            self._listener.note(f"failed: {where.get('point', 'the run')}: {message}")

    def warn(self, warning: dict[str, str]) -> None:
        """``warning`` has code, message, and point or group where it concerns one."""
        if _key(warning) not in self._warned and len(self._record["warnings"]) < MAX_WARNINGS:
            self._warned.add(_key(warning))
            self._record["warnings"].append(warning)

    def left_out(self, text: str) -> None:
        """What was planned and is not measured, and why."""
        self._record["left_out"].append(text)

    def hello(self, event: Event, build: str, program: str) -> None:
        """A program of ours began: ``build`` is empty, or the label of another build."""
        told = _described(event)
        if not build:
            self._record["machine"], self._record["build"] = event["machine"], told["build"]
        self._record["builds"][build] = {**told, "path": program}

    def hello_of_contract_program(self, event: Event, path: str) -> None:
        """A contract program began."""
        for entry in self._record.get("engine_programs", []):
            if entry["path"] == path:
                entry |= _described(event)

    def clock(self, event: Event) -> None:
        """One of our programs ended and says how its clock did."""
        self._record["clock"] = event["clock"]


def _described(event: Event) -> dict[str, Any]:
    """Return what a program says of itself without its code layout, which is the round's: builds are described with how many there are."""
    return _told(event) | {"build": {k: v for k, v in event["build"].items() if k != "layout"}}


def _told(event: Event) -> dict[str, Any]:
    return {k: event[k] for k in ("program", "version", "build")}


def _key(warning: Mapping[str, str]) -> tuple[str, ...]:
    # Two workers word a measured figure differently: one warning of a kind per point is enough.
    if "point" in warning:
        return (warning["code"], warning["point"])
    return (warning["code"], warning.get("group", ""), warning["message"])
