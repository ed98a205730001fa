"""Checks that a worker's line is an event of the contract. Windows come by the thousand and get a fast check, all others the full schema."""

from __future__ import annotations

import json
from typing import Any

from dpubench import schemas, wire

Event = dict[str, Any]

_COUNTS = ("round", "cycle", "operations", "in_bytes", "out_bytes", "rate_bytes", "bursts")
_WINDOW = frozenset({"event", "point", "group", "half", "elapsed_ns", *_COUNTS})
#: Events of dpubench-server and dpubench-traffic.
_OF_THE_DATAPATH = frozenset({"hello", "progress", "warning", "failure", "ready", "begun", "filled", "trial", "served", "checked", "done"})
#: Events of dpubench-cores.
_OF_THE_MODEL = frozenset({"hello", "progress", "failure", "checked", "result", "done"})
#: Events of dpubench-tool.
_OF_TOOLS = frozenset({"hello", "failure", "started", "listening", "cpu", "ended"})
#: Events of dpubench-link.
_OF_LINKS = frozenset({"hello", "progress", "failure", "listening", "round_trips", "answered", "transferred", "received", "done"})
_WINDOW_ALL = _WINDOW | {"ghz", "core_cycles", "energy_uj", "metrics"}


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
    if not keys >= _WINDOW:
        return f"lacks {', '.join(sorted(_WINDOW - keys))}"
    if not keys <= _WINDOW_ALL:
        return f"has the unknown {', '.join(sorted(keys - _WINDOW_ALL))}"
    for name in _COUNTS:
        if type(event[name]) is not int or not 0 <= event[name] <= wire.LARGEST_COUNT:
            return f"{name} is not a count"
    if type(event["elapsed_ns"]) not in (int, float) or not 1 <= event["elapsed_ns"] <= 1e15:
        return "elapsed_ns is not a time"
    if event["half"] not in (0, 1) or isinstance(event["half"], (bool, float)):
        return "half is neither 0 nor 1"
    if type(event["point"]) is not str or type(event["group"]) is not str or not event["point"] or not event["group"]:
        return "point or group is not a name"
    if "ghz" in event and not (type(event["ghz"]) in (int, float) and 0 < event["ghz"] <= 1000):
        return "ghz is not a frequency"
    if "core_cycles" in event and not (type(event["core_cycles"]) is int and 0 < event["core_cycles"] <= wire.LARGEST_COUNT):
        return "core_cycles is not a count of cycles"
    if "energy_uj" in event and not (type(event["energy_uj"]) in (int, float) and 0 <= event["energy_uj"] <= 1e15):
        return "energy_uj is not an energy"
    metrics = event.get("metrics", {})
    if type(metrics) is not dict or any(type(v) not in (int, float) or not -1e100 <= v <= 1e100 for v in metrics.values()):
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


def _one_of(kinds: frozenset[str], line: bytes) -> Event:
    event = _decoded(line)
    kind = event["event"]
    if kind not in kinds:
        raise Rubbish(f"an event of unknown kind {kind[:40]!r}")
    if fault := schemas.fault("event", event, kind):
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
