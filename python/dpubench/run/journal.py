"""The failures and warnings of a run, each recorded once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dpubench import wire
from dpubench.run.listener import Listener
from dpubench.storage.runs import Event

#: Most failures, and most warnings, that are listed per point (or per configuration, or for the run); further ones are counted.
MOST_LISTED: Final = 1000


def enlist(entries: list[dict[str, Any]], entry: Mapping[str, Any]) -> bool:
    """Add a failure or a warning to a record's list, with its message cut, unless it is there. Return whether it was added.

    Beyond :data:`MOST_LISTED` entries for its point, the last entry counts the further ones (``unlisted``).
    """
    added = {**entry, "message": wire.cut(str(entry["message"]))}
    if added in entries:
        return False
    where = _where(added)
    own = [e for e in entries if _where(e) == where]
    if len(own) < MOST_LISTED:
        entries.append(added)
        return True
    last = own[-1]
    if "unlisted" not in last:
        last = {**added, "unlisted": 0}
        entries.append(last)
    last["unlisted"] += 1
    last["message"] = f"{last['unlisted']} more, which are not listed"
    return False


def _where(entry: Mapping[str, Any]) -> str:
    return str(entry.get("point") or entry.get("group") or "")


class Journal:
    """Failures, warnings, machine, builds and clock in the record of a run, as its programs report them."""

    def __init__(self, record: dict[str, Any], listener: Listener) -> None:
        self._record = record
        self._listener = listener
        self._warned = {_key(w) for w in record["warnings"]}

    @property
    def failures(self) -> int:
        return len(self._record["failures"])

    def failure(self, phase: str, message: str, **where: str) -> None:
        """Record a failure of a point, a configuration or (without ``where``) the run."""
        if enlist(self._record["failures"], {"phase": phase, "message": message, **where}):
            self._listener.note(f"failed: {where.get('point') or where.get('group') or 'the run'}: {message}")

    def warn(self, warning: dict[str, str]) -> None:
        """Record ``warning``, which has a code, a message, and a point or group where it concerns one."""
        if _key(warning) not in self._warned:
            self._warned.add(_key(warning))
            enlist(self._record["warnings"], warning)

    def left_out(self, text: str) -> None:
        """Record what the plan contains but the run does not measure, and why."""
        self._record["left_out"].append(text)

    def hello(self, event: Event, build: str, program: str) -> None:
        """Record the start of dpubench's own program; ``build`` is empty, or the label of another build."""
        told = _described(event)
        if not build:
            self._record["machine"], self._record["build"] = event["machine"], told["build"]
        self._record["builds"][build] = {**told, "path": program}

    def hello_of_contract_program(self, event: Event, path: str) -> None:
        """Record the start of a contract program."""
        for entry in self._record.get("engine_programs", []):
            if entry["path"] == path:
                entry |= _described(event)

    def clock(self, event: Event) -> None:
        """Record the clock's check from one of dpubench's programs at its end."""
        self._record["clock"] = event["clock"]


def _described(event: Event) -> dict[str, Any]:
    """Return a program's description of itself without its code layout, which belongs to the round, not to the build."""
    return _told(event) | {"build": {k: v for k, v in event["build"].items() if k != "layout"}}


def _told(event: Event) -> dict[str, Any]:
    return {k: event[k] for k in ("program", "version", "build")}


def _key(warning: Mapping[str, str]) -> tuple[str, ...]:
    # Two workers report different numbers for one fact: one warning of a kind per point is enough.
    if "point" in warning:
        return (warning["code"], warning["point"])
    return (warning["code"], warning.get("group", ""), warning["message"])
