"""Checks that a worker's line is an event of the contract. Windows come by the thousand and get a fast check, all others the full schema."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from dpubench import schemas, wire

Event = dict[str, Any]

#: Fields of a window that the Python half adds, and no program writes.
_ADDED = frozenset({"layout"})
#: Events of dpubench-server and dpubench-traffic.
_OF_THE_DATAPATH = frozenset({"hello", "progress", "warning", "failure", "ready", "begun", "filled", "trial", "served", "checked", "done"})
#: Events of dpubench-headroom.
_OF_HEADROOM: Final = frozenset({"hello", "progress", "warning", "failure", "opened", "begun", "sent", "forwarded", "counted", "done"})
#: Events of dpubench-offload, with the name of each in the schema.
_OF_OFFLOAD: Final = {
    "hello": "hello", "progress": "progress", "warning": "warning", "failure": "failure", "done": "done", "opened": "offload_opened",
    "trial": "offload_trial",
}  # fmt: skip
#: Events of dpubench-cores.
_OF_THE_MODEL = frozenset({"hello", "progress", "failure", "checked", "result", "done"})
#: Events of dpubench-tool.
_OF_TOOLS = frozenset({"hello", "failure", "started", "listening", "cpu", "ended"})
#: Events of dpubench-link.
_OF_LINKS = frozenset({"hello", "progress", "failure", "listening", "round_trips", "answered", "transferred", "received", "done"})


class _Window(NamedTuple):
    """What the schema says of a program's window, in the form that is quick to check."""

    required: frozenset[str]
    known: frozenset[str]
    texts: tuple[str, ...]
    numbers: tuple[tuple[str, tuple[type, ...], float, float], ...]  #: name, types, least, most


@cache
def _window() -> _Window:
    fields = [field for field in schemas.window_fields() if field.name not in _ADDED]
    return _Window(
        required=frozenset({"event", *(field.name for field in fields if field.is_required)}),
        known=frozenset({"event", *(field.name for field in fields)}),
        texts=tuple(field.name for field in fields if field.kind == "text"),
        numbers=tuple(
            (field.name, (int,) if field.kind == "count" else (int, float), field.least, field.most)
            for field in fields
            if field.kind in ("count", "number")
        ),
    )


@cache
def _metric_bounds() -> tuple[float, float]:
    return next((field.least, field.most) for field in schemas.window_fields() if field.name == "metrics")


class Rubbish(Exception):
    """A worker printed a line that is no event."""


def _why(error: ValueError) -> str:
    return "it holds a text that is not UTF-8" if isinstance(error, UnicodeError) else str(error)[:120]


def _shown(line: bytes) -> str:
    text = line[:60].decode("utf-8", "replace")
    return repr(text + ("..." if len(line) > 60 else ""))


def _window_fault(event: Event) -> str:
    """Return the fault of a window event, as the schema's ``window`` would; ``tests/python/test_workers.py`` compares both."""
    keys = event.keys()
    window = _window()
    if not keys >= window.required:
        return f"lacks {', '.join(sorted(window.required - keys))}"
    if not keys <= window.known:
        return f"has the unknown {', '.join(sorted(keys - window.known))}"
    for name, types, least, most in window.numbers:
        if name in event and not (type(event[name]) in types and least <= event[name] <= most):
            return f"{name} is not a {'count' if types == (int,) else 'number'} from {least:g} to {most:g}"
    if any(type(event[name]) is not str or not event[name] for name in window.texts):
        return f"{' or '.join(window.texts)} is not a name"
    metrics = event.get("metrics", {})
    least, most = _metric_bounds()
    if type(metrics) is not dict or any(type(v) not in (int, float) or not least <= v <= most for v in metrics.values()):
        return "metrics are not numbers"
    return ""


def parse_event(line: bytes) -> Event:
    """Return the event of ``dpubench-operators`` in a line.

    Raises:
        Rubbish: with the line's fault.
    """
    event = _decoded(line)
    kind = event["event"]
    if kind == "window":
        fault = _window_fault(event)
    elif kind in schemas.schema("event")["$defs"] and kind != "operator":
        fault = schemas.fault("event", event, kind)
    else:
        raise Rubbish(f"an event of unknown kind {kind[:40]!r}")
    if fault:
        raise Rubbish(f"a {kind} event that breaks the contract: {fault}")
    return event


def parse_datapath_event(line: bytes) -> Event:
    """Return the event of ``dpubench-server`` or ``dpubench-traffic`` in a line. @raises Rubbish with the line's fault"""
    return _one_of(_OF_THE_DATAPATH, line)


def parse_tool_event(line: bytes) -> Event:
    """Return the event of ``dpubench-tool`` in a line. @raises Rubbish with the line's fault"""
    return _one_of(_OF_TOOLS, line)


def parse_link_event(line: bytes) -> Event:
    """Return the event of ``dpubench-link`` in a line. @raises Rubbish with the line's fault"""
    return _one_of(_OF_LINKS, line)


def parse_headroom_event(line: bytes) -> Event:
    """Return the event of ``dpubench-headroom`` in a line. @raises Rubbish with the line's fault"""
    return _one_of(_OF_HEADROOM, line)


def parse_offload_event(line: bytes) -> Event:
    """Return the event of ``dpubench-offload`` in a line. @raises Rubbish with the line's fault"""
    return _one_of(_OF_OFFLOAD, line)


def _one_of(kinds: Collection[str], line: bytes) -> Event:
    event = _decoded(line)
    kind = event["event"]
    if kind not in kinds:
        raise Rubbish(f"an event of unknown kind {kind[:40]!r}")
    if fault := schemas.fault("event", event, kinds[kind] if isinstance(kinds, Mapping) else kind):
        raise Rubbish(f"a {kind} event that breaks the contract: {fault}")
    return event


def parse_cores_event(line: bytes) -> Event:
    """Return the event of ``dpubench-cores`` in a line. @raises Rubbish with the line's fault"""
    event = _decoded(line)
    kind = event["event"]
    if kind not in _OF_THE_MODEL:
        raise Rubbish(f"an event of unknown kind {kind[:40]!r}")
    # A result holds thousands of numbers in the start times of messages and in phases, and some dozens in the rest: the schema checks the rest
    # alone.
    seen = _without_lists(event) if kind == "result" else event
    if fault := schemas.fault("event", seen, kind):
        raise Rubbish(f"a {kind} event that breaks the contract: {fault}")
    return event


def _without_lists(result: Event) -> Event:
    """Return ``result`` with emptied lists of counts (``message_cycles``), and with the first only of phases that hold counts."""
    contexts = result.get("contexts")
    if type(contexts) is not list:
        return result
    seen: list[Any] = []
    for context in contexts:
        times: Any = context.get("message_cycles") if type(context) is dict else None
        cycles: Any = times.get("cycles") if type(times) is dict else None
        if type(cycles) is list and all(type(cycle) is int and cycle >= 0 for cycle in cycles):
            context = {**context, "message_cycles": {**times, "cycles": []}}
        phases: Any = context.get("phases") if type(context) is dict else None
        if type(phases) is list and phases and all(_is_like(phase, phases[0]) for phase in phases):
            context = {**context, "phases": phases[:1]}
        seen.append(context)
    return {**result, "contexts": seen}


def _is_like(phase: Any, first: Any) -> bool:
    """Return whether both have the same keys at every level, and ``phase`` has only counts at the ends."""
    if type(first) is not dict:
        return type(phase) is int and phase >= 0
    return type(phase) is dict and phase.keys() == first.keys() and all(_is_like(phase[key], first[key]) for key in first)


def _decoded(line: bytes) -> Event:
    try:
        event = wire.decoded(line)
    except json.JSONDecodeError:
        raise Rubbish(f"a line that is not JSON: {_shown(line)}") from None
    except ValueError as error:
        raise Rubbish(f"a line that cannot be stored, because {_why(error)}: {_shown(line)}") from None
    if type(event) is not dict or type(event.get("event")) is not str:
        raise Rubbish(f"a line that is not an event: {_shown(line)}")
    return event
