"""The frames of ``dpubench-agent``: a letter, a program (two bytes), a length (four bytes), then that many bytes; numbers are big-endian.

docs/architecture.md, "The agent", has their meaning.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dpubench import wire
from dpubench.remote.scripts import AGENT_MARK

#: The version of the frames, which an agent says in its first line.
VERSION: Final = 2
REQUEST, DATA, END, KILL = b"R", b"D", b"E", b"K"
ANSWER, FAULT, OUTPUT, ERRORS, EXIT = b"A", b"F", b"O", b"L", b"X"
#: In both directions: the receiver has taken that many bytes of the program's data (four bytes).
TAKEN: Final = b"T"
MAX_PAYLOAD: Final = 1 << 20
#: Most bytes of a program's input, and of its output and errors together, that are on their way and not yet taken.
WINDOW: Final = 1 << 18
#: Largest number of a program. Zero is the agent itself: its requests, answers and files.
MAX_PROGRAM: Final = (1 << 16) - 1
#: Most bytes that a login shell may print before the agent speaks.
_MAX_NOISE: Final = 1 << 16
_HEADER: Final = struct.Struct(">cHI")
_GREETING: Final = re.compile(re.escape(AGENT_MARK) + rb"(\d{1,6})\n")
_COUNT: Final = struct.Struct(">I")


class NoFrame(Exception):
    """The received bytes are no agent's output. The text describes them."""


def encode(kind: bytes, payload: bytes = b"", program: int = 0) -> bytes:
    """Return a frame."""
    return _HEADER.pack(kind, program, len(payload)) + payload


def request(what: str, **more: Any) -> bytes:
    """Return the frame of a request to the agent itself."""
    return encode(REQUEST, json.dumps({"do": what, **more}).encode())


def taken(count: int, program: int) -> bytes:
    """Return the frame that says that ``count`` bytes of a program's output were taken."""
    return encode(TAKEN, _COUNT.pack(count), program)


def count(payload: bytes) -> int:
    """Return the number of bytes in a frame of kind TAKEN. @raises NoFrame"""
    if len(payload) != _COUNT.size:
        raise NoFrame("its agent counts bytes in a frame of a wrong length")
    return int(_COUNT.unpack(payload)[0])


def document(payload: bytes) -> Mapping[str, Any]:
    """Return the JSON object in a frame. @raises NoFrame"""
    try:
        value = wire.decoded(payload)
    except ValueError:
        raise NoFrame("its agent's answer is not JSON") from None
    if not isinstance(value, dict):
        raise NoFrame("its agent's answer is not a JSON object")
    return value


class Reader:
    """A parser that assembles frames from bytes as they arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._greeted = False

    def feed(self, data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield kind, program and payload of every frame that ``data`` completes. @raises NoFrame"""
        self._buffer += data
        if not self._greeted:
            greeting = _GREETING.search(self._buffer)
            if greeting is None:
                if len(self._buffer) > _MAX_NOISE:
                    raise NoFrame(f"the program there is not dpubench-agent: it printed {bytes(self._buffer[:60])!r}...")
                return
            if (version := int(greeting[1])) != VERSION:
                raise NoFrame(
                    f"its agent speaks version {version} of the frames, and this dpubench version {VERSION}, because its bundle is of another build: "
                    "make one with `dpubench bundle`"
                )
            del self._buffer[: greeting.end()]
            self._greeted = True
        while len(self._buffer) >= _HEADER.size:
            kind, program, length = _HEADER.unpack_from(self._buffer)
            if kind not in (ANSWER, FAULT, OUTPUT, ERRORS, EXIT, TAKEN) or length > MAX_PAYLOAD:
                raise NoFrame(f"its agent sent bytes that are not a frame: {bytes(self._buffer[:20])!r}")
            if len(self._buffer) < _HEADER.size + length:
                return
            payload = bytes(self._buffer[_HEADER.size : _HEADER.size + length])
            del self._buffer[: _HEADER.size + length]
            yield kind, program, payload
