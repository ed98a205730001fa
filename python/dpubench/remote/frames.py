"""The frames of ``dpubench-agent``: a letter, a length (big-endian, four bytes), then that many bytes. docs/architecture.md, "The agent"."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dpubench import wire
from dpubench.remote.scripts import AGENT_MARK

REQUEST, DATA, END = b"R", b"D", b"E"
ANSWER, FAULT, OUTPUT, EXIT = b"A", b"F", b"O", b"X"
MAX_PAYLOAD: Final = 1 << 20
#: Most bytes that a login shell may print before the agent speaks.
_MAX_NOISE: Final = 1 << 16
_HEADER: Final = struct.Struct(">cI")
HEADER_BYTES: Final = _HEADER.size


class NoFrame(Exception):
    """The received bytes are no agent's output. The text describes them."""


def encode(kind: bytes, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return _HEADER.pack(kind, len(payload)) + payload


def request(what: str, **more: Any) -> bytes:
    """Return the frame of a request."""
    return encode(REQUEST, json.dumps({"do": what, **more}).encode())


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

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield kind and payload of every frame that ``data`` completes. @raises NoFrame"""
        self._buffer += data
        if not self._greeted:
            at = self._buffer.find(AGENT_MARK)
            if at < 0:
                if len(self._buffer) > _MAX_NOISE:
                    raise NoFrame(f"the program there is not dpubench-agent: it printed {bytes(self._buffer[:60])!r}...")
                return
            del self._buffer[: at + len(AGENT_MARK)]
            self._greeted = True
        while len(self._buffer) >= HEADER_BYTES:
            kind, length = _HEADER.unpack_from(self._buffer)
            if kind not in (ANSWER, FAULT, OUTPUT, EXIT) or length > MAX_PAYLOAD:
                raise NoFrame(f"its agent sent bytes that are not a frame: {bytes(self._buffer[:20])!r}")
            if len(self._buffer) < HEADER_BYTES + length:
                return
            payload = bytes(self._buffer[HEADER_BYTES : HEADER_BYTES + length])
            del self._buffer[: HEADER_BYTES + length]
            yield kind, payload
