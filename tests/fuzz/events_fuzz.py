#!/usr/bin/env python3
"""Reads lines of programs and frames of an agent. Each must be an event that can be kept and shown, or be refused in words.

The first byte selects the speaker.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import guided

#: Programs that speak to Python, by the contract of one of them.
SPEAKERS: Final = 7
#: The first byte of an agent's stream.
AGENT: Final = 0xA


def said(data: bytes) -> None:
    """Read one input: a line of a program, or bytes of an agent's stream."""
    from dpubench import terminal, wire
    from dpubench.studies.operators.rounds import windows_table
    from dpubench.workers import checks

    if not data:
        return
    if data[0] == AGENT:
        agent_said(data[1:])
        return
    line = data[1:].split(b"\n")[0]
    parsers = (
        checks.parse_event, checks.parse_datapath_event, checks.parse_cores_event, checks.parse_tool_event, checks.parse_link_event,
        checks.parse_headroom_event, checks.parse_offload_event,
    )  # fmt: skip
    try:
        event: dict[str, Any] = parsers[data[0] % SPEAKERS](line)
    except checks.Rubbish as refusal:
        assert str(refusal) and not guided.controls(terminal.shown(str(refusal))), refusal
    else:
        # An accepted event is kept as it is: as a line of a running round, and a window also as a row.
        assert wire.decoded(json.dumps(event).encode()) == event
        shown = terminal.shown(json.dumps(event, ensure_ascii=False))
        assert not guided.controls(shown), shown
        if event["event"] == "window":
            assert windows_table([event]).num_rows == 1
        listened(event)
    with contextlib.suppress(ValueError):
        value = wire.decoded(data[1:])
        assert wire.decoded(json.dumps(value).encode()) == value
    text = data[1:].decode("utf-8", "replace")
    assert len(wire.cut(text)) <= wire.LONGEST_MESSAGE


def agent_said(data: bytes) -> None:
    """Read bytes of an agent's stream: in pieces, of which the first byte tells the size, they say the same as at once."""
    if not data:
        return
    size, stream = data[0] % 16 + 1, data[1:]
    assert frames_of([stream[at : at + size] for at in range(0, len(stream), size)]) == frames_of([stream])


def frames_of(pieces: Sequence[bytes]) -> tuple[list[Any], bool]:
    """Return the frames in ``pieces``, those with documents and counts decoded, and whether the rest was refused."""
    from dpubench import terminal
    from dpubench.remote import frames

    reader, found = frames.Reader(), list[Any]()
    try:
        for piece in pieces:
            for kind, program, payload in reader.feed(piece):
                content = frames.document(payload) if kind in (frames.ANSWER, frames.FAULT) else payload
                found.append((kind, program, frames.count(payload) if kind == frames.TAKEN else content))
    except frames.NoFrame as refusal:
        assert str(refusal) and not guided.controls(terminal.shown(str(refusal))), refusal
        return found, True
    return found, False


def listened(event: dict[str, Any]) -> None:
    """Show an event to a person and to a program."""
    from dpubench.run.progress import JsonEvents

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        JsonEvents().event(event)
    assert json.loads(out.getvalue()) if out.getvalue().strip() else True


def imports() -> None:
    from dpubench.remote import frames  # noqa: F401
    from dpubench.workers import checks  # noqa: F401


def seeds() -> Iterator[tuple[str, bytes]]:
    """Yield events of every program: correct ones, and ones with a single fault."""
    window = {
        "event": "window", "point": "p", "group": "g", "round": 0, "cycle": 1, "half": 0, "operations": 5, "elapsed_ns": 9.5, "in_bytes": 1,
        "out_bytes": 1, "rate_bytes": 1, "bursts": 2, "ghz": 2.5, "core_cycles": 7, "energy_uj": 1.5, "metrics": {"ratio": 2.5},
    }  # fmt: skip
    wrongs: tuple[Any, ...] = (-1, 1 << 63, 1e300, "x", None, True, {})
    yield "window", b"\0" + json.dumps(window).encode()
    for key, value in window.items():
        yield f"window_without_{key}", b"\0" + json.dumps({k: v for k, v in window.items() if k != key}).encode()
        for i, wrong in enumerate(wrongs):
            if wrong != value:
                yield f"window_{key}_{i}", b"\0" + json.dumps(window | {key: wrong}).encode()
    yield "unknown", b"\0" + json.dumps(window | {"more": 1}).encode()
    cpu = dict.fromkeys(
        ("user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns", "at_ns"), 7
    )  # fmt: skip
    others = [
        {"event": "progress", "phase": "measure", "group": "g", "point": "p"},
        {"event": "failure", "phase": "measure", "message": "\x1b[2J\u202e", "group": "g", "point": "p"},
        {"event": "warning", "code": "c", "message": "m" * 5000},
        {"event": "verified", "group": "g", "point": "p", "known_answers": 1, "compared": 2, "how": "h"},
        {"event": "prepared", "group": "g", "point": "p", "build_ns": 1},
        {"event": "done", "failures": 0},
        {"event": "begun", "trial": 1},
        {"event": "started", "pid": 1},
        {"event": "listening", "port": 65535},
        {"event": "cpu"} | cpu,
        {"event": "ended", "status": 0, "signal": 0, "over_time": False, "elapsed_s": 0.5, "user_s": 0.1, "system_s": 0.1, "stdout": "\x1b[2J",
         "stderr": "", "cut": False, "files": {"f": "\u202e"}, "cpu_before": cpu, "cpu_after": cpu},
        {"event": "answered", "messages": 1, "elapsed_ns": 1, "cpu_ns": 1, "cpu_before": cpu, "cpu_after": cpu},
        {"event": "counted", "trial": 1, "packets": 2, "bytes": 128, "number_sum": "1", "other": 0, "stale": 0, "dropped": 0, "busy_ns": 1.5,
         "elapsed_ns": 9.5},
        {"event": "result", "contexts": [{"message_cycles": {"cycles": [1, 2]}, "phases": [{"a": {"b": 1}}, {"a": {"b": 2}}]}, 1]},
        {"event": "result", "contexts": [{"message_cycles": {"cycles": [-1]}, "phases": [{"a": 1}, {"b": 1}]}]},
        {"event": "result", "contexts": 1},
        {"event": "checked", "inputs": [{"invalid": ""}]},
        {"event": "nothing"},
        {"no": "event"},
        [1],
    ]  # fmt: skip
    for i, event in enumerate(others):
        for who in range(SPEAKERS):
            yield f"other{i}_{who}", bytes([who]) + json.dumps(event).encode()
    for i, text in enumerate((b'{"event": "done", "x": 1e999}', b'{"event": "\\ud800"}', b'{"a": NaN}', b"[" * 2000, b'{"event": "\xff"}', b"")):
        yield f"text{i}", b"\0" + text
    yield from agent_seeds()


def agent_seeds() -> Iterator[tuple[str, bytes]]:
    """Yield streams of an agent: whole ones, and ones with a single fault, in small and in large pieces."""
    from dpubench.remote import frames
    from dpubench.remote.scripts import AGENT_MARK

    hello = AGENT_MARK + b"%d\n" % frames.VERSION
    every = b"".join(
        [frames.encode(frames.ANSWER, b'{"a": [1, "\x1b[2J"]}'), frames.encode(frames.FAULT, b'{"message": "m"}'),
         frames.encode(frames.OUTPUT, b"x" * 40, 7), frames.encode(frames.ERRORS, b"", 7), frames.encode(frames.EXIT, b"\0\0\0\1", 7),
         frames.taken(40, 7)]
    )  # fmt: skip
    streams = {
        "whole": hello + every, "after_a_banner": b"Last login: today\n" + hello + every,
        "other_version": AGENT_MARK + b"999999\n", "no_agent": b"x" * 70_000,
        "no_frame": hello + b"R" + bytes(6), "too_long": hello + b"O\0\0\xff\xff\xff\xff", "no_json": hello + frames.encode(frames.ANSWER, b"{"),
        "no_object": hello + frames.encode(frames.FAULT, b"[1]"), "no_count": hello + frames.encode(frames.TAKEN, b"x"), "cut": (hello + every)[:-3],
    }  # fmt: skip
    for name, stream in streams.items():
        for size in (0, 2, 15):
            yield f"agent_{name}_{size}", bytes([AGENT, size]) + stream


FUZZER = guided.Fuzzer(
    "events", said, imports, watched=("dpubench",), covered=("dpubench.wire", "dpubench.workers.checks", "dpubench.remote.frames"),
    least_percent=85.0, seeds=seeds,
    dictionary=lambda: ("1e999", "\\\\ud800", "9223372036854775808", "NaN", "-0", '\\"event\\":', '\\"window\\"', '\\"failure\\"'), max_length=1024,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(guided.main(FUZZER, __file__))
