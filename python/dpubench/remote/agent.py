"""Requests to ``dpubench-agent``, and the files that it takes in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import schemas
from dpubench.errors import EnvironmentFault, TargetLost
from dpubench.remote import frames
from dpubench.remote.channel import Channel, Silence

#: An agent answers at once, except while it asks vendors' tools or writes files to a slow disk.
ANSWER_S: Final = 120.0
_CHUNK: Final = 1 << 18
#: Seconds that the command may go on after its output has ended.
_LINGER_S: Final = 2.0

#: ssh's own exit status for a connection that failed.
CONNECTION_FAILED: Final = 255

#: Explains a lost connection, given the output of ssh.
Explain = Callable[[str], str]


class AgentFault(EnvironmentFault):
    """The agent could not carry out a request; its message tells why."""


class Session:
    """Requests and answers, one after another. A context manager.

    Args:
        words: the command with the agent at its other end
        preamble: input that the other end reads before frames begin
        name: the target's name, for messages
        explain: see :data:`Explain`
    """

    def __init__(self, words: Sequence[str], preamble: bytes, name: str, explain: Explain) -> None:
        self._name = name
        self._explain = explain
        self._reader = frames.Reader()
        self._frames: list[tuple[bytes, int, bytes]] = []
        self._channel = Channel(words)
        self._channel.send(preamble)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Return whether the other side is alive, as far as this side knows."""
        return self._channel.popen.poll() is None

    def ask(self, what: str, **more: Any) -> Mapping[str, Any]:
        """Send a request and return its answer.

        Raises:
            AgentFault: with the agent's message.
            TargetLost: the connection ended or went silent, or the output is no answer.
        """
        self._channel.send(frames.request(what, **more))
        return self._answer()

    def put(self, path: Path, what: Mapping[str, Any]) -> str:
        """Send a file (``sha256``, ``name``, ``bytes``); return its path there. @raises as :meth:`ask`, EnvironmentFault it cannot be read here"""
        self._channel.send(frames.request("put", **what))
        try:
            with path.open("rb") as file:
                while block := file.read(_CHUNK):
                    self._channel.send(frames.encode(frames.DATA, block))
                    while self._channel.sending and not self._frames:
                        self._pump()
                    if self._frames:  # The agent already reports a fault.
                        break
        except OSError as error:
            raise EnvironmentFault(f"{path}: {error.strerror}") from None
        if not self._frames:
            self._channel.send(frames.encode(frames.END))
        answer = self._answer().get("path")
        if not isinstance(answer, str):
            raise TargetLost(f"target {self._name}: its agent gave no path for a file")
        return answer

    def close(self) -> None:
        """End the agent."""
        self._channel.close()

    def _answer(self) -> Mapping[str, Any]:
        while not self._frames:
            self._pump()
        kind, _, payload = self._frames.pop(0)
        try:
            told = frames.document(payload)
        except frames.NoFrame as error:
            raise self._lost(str(error)) from None
        if kind == frames.FAULT:
            self.close()  # The agent ends after a fault.
            raise AgentFault(f"target {self._name}: {printable(told.get('message', 'its agent failed'))}")
        return told

    def _pump(self) -> None:
        try:
            self._channel.pump(ANSWER_S)
            self._frames += self._reader.feed(bytes(self._channel.received))
        except Silence:
            raise self._lost(f"it did not answer within {ANSWER_S:.0f} s") from None
        except frames.NoFrame as error:
            raise self._lost(str(error)) from None
        self._channel.received.clear()
        if self._channel.ended and not self._frames:
            self._channel.finish(_LINGER_S)
            raise self._lost(self._explain(self._channel.errors.decode("utf-8", "replace")))

    def _lost(self, why: str) -> TargetLost:
        self.close()
        return TargetLost(f"target {self._name}: {why}")


def printable(text: object) -> str:
    """Return text from another machine, made safe for this terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text)[:2000])


def described(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the checked answer to ``describe``. @raises EnvironmentFault when it is no description"""
    if fault := schemas.fault("target", answer):
        raise EnvironmentFault(f"target {name}: its agent's description breaks the contract {schemas.TARGET}: {printable(fault)}")
    return dict(answer)
