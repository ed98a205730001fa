"""Talking to ``dpubench-agent``: questions and files in a session, a program as a process."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import schemas
from dpubench.errors import EnvironmentFault, TargetLost, UserError
from dpubench.remote import channel, frames
from dpubench.remote.channel import Channel, Silence

#: An agent answers at once but for vendors' tools that it asks, and files that go to a slow disk.
ANSWER_S: Final = 120.0
#: A request and what goes before it must fit into an empty pipe, so that starting a program never waits.
_MAX_REQUEST: Final = 48 << 10
#: POSIX: a write of no more than this to a pipe is made whole or not at all, so that no frame is ever half sent.
_PIPE_BUF: Final = 4096
_CHUNK: Final = 1 << 18
_READ_BYTES: Final = 1 << 18
#: How long a program's connection may stand after the program has ended.
_LINGER_S: Final = 2.0

#: ssh's own exit status for a connection that failed.
CONNECTION_FAILED: Final = 255

#: What to say of a connection that is no more, given what ssh wrote.
Explain = Callable[[str], str]


class AgentFault(EnvironmentFault):
    """The agent could not do what it was asked; its message says why."""


class Session:
    """Requests and answers, one after another. A context manager.

    Args:
        words: the command with the agent at its other end
        preamble: what it reads before frames begin
        name: of the target, for messages
        explain: see :data:`Explain`
    """

    def __init__(self, words: Sequence[str], preamble: bytes, name: str, explain: Explain) -> None:
        self._name = name
        self._explain = explain
        self._reader = frames.Reader()
        self._frames: list[tuple[bytes, bytes]] = []
        self._channel = Channel(words)
        self._channel.send(preamble)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the other side is there, as far as this one knows."""
        return self._channel.popen.poll() is None

    def ask(self, what: str, **more: Any) -> Mapping[str, Any]:
        """The answer to a request.

        Raises:
            AgentFault: with the agent's message.
            TargetLost: the connection ended or went silent, or what came is no answer.
        """
        self._channel.send(frames.request(what, **more))
        return self._answer()

    def put(self, path: Path, what: Mapping[str, Any]) -> str:
        """Sends a file (``sha256``, ``name``, ``bytes``); its path there. @raises as :meth:`ask`, EnvironmentFault when it cannot be read here"""
        self._channel.send(frames.request("put", **what))
        try:
            with path.open("rb") as file:
                while block := file.read(_CHUNK):
                    self._channel.send(frames.encode(frames.DATA, block))
                    while self._channel.sending and not self._frames:
                        self._pump()
                    if self._frames:  # it says already what is wrong
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
        """Ends the agent."""
        self._channel.close()

    def _answer(self) -> Mapping[str, Any]:
        while not self._frames:
            self._pump()
        kind, payload = self._frames.pop(0)
        try:
            told = frames.document(payload)
        except frames.NoFrame as error:
            raise self._lost(str(error)) from None
        if kind == frames.FAULT:
            self.close()  # it ends after that
            raise AgentFault(f"target {self._name}: {_printable(told.get('message', 'its agent failed'))}")
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


class AgentProcess:
    """A program that an agent runs, as :class:`dpubench.targets.Process`.

    The pipes are those of the command that leads to the agent; its input and output are in frames, its standard error is the program's and the way's.
    """

    def __init__(self, words: Sequence[str], preamble: bytes, name: str, explain: Explain) -> None:
        if len(preamble) > _MAX_REQUEST:
            raise UserError(f"target {name}: the arguments of a program are too long")
        self._popen = channel.spawn(words)
        self._fds = channel.pipes(self._popen)
        self._name = name
        self._explain = explain
        self._reader = frames.Reader()
        self._errors = bytearray()  # the end of standard error
        self._unread_errors = bytearray()  # what the agent said, which did not come that way
        self._status: int | None = None
        self._broken = ""
        self.output_ended = False
        self.pid = self._popen.pid
        with contextlib.suppress(BrokenPipeError):  # it ended at once: its standard error says why
            os.write(self.stdin_fd, preamble)

    @property
    def stdin_fd(self) -> int:
        return self._fds[0]

    @property
    def stdout_fd(self) -> int:
        return self._fds[1]

    @property
    def stderr_fd(self) -> int:
        return self._fds[2]

    def write(self, data: bytes) -> int:
        piece = data[: _PIPE_BUF - frames.HEADER_BYTES]
        os.write(self.stdin_fd, frames.encode(frames.DATA, piece))
        return len(piece)

    def close_stdin(self) -> None:
        # The connection itself stays: its end is the program's.
        os.write(self.stdin_fd, frames.encode(frames.END))

    def read_output(self) -> bytes:
        if self.output_ended:
            return b""
        data = os.read(self.stdout_fd, _READ_BYTES)
        if not data:
            self.output_ended = True
            return b""
        output = bytearray()
        try:
            for kind, payload in self._reader.feed(data):
                if kind == frames.OUTPUT:
                    output += payload
                else:
                    self._end(kind, frames.document(payload))
                    break
        except frames.NoFrame as error:
            self._broken = str(error)
            self.output_ended = True
        return bytes(output)

    def read_errors(self) -> bytes:
        told, self._unread_errors = bytes(self._unread_errors), bytearray()
        try:
            data = os.read(self.stderr_fd, _READ_BYTES)
        except BlockingIOError:
            if not told:
                raise
            return told
        self._errors += data
        del self._errors[: -channel.ERRORS_KEPT_BYTES]
        return data + told

    def poll(self) -> int | None:
        return self._status if self._status is not None else self._popen.poll()

    def wait(self, timeout_s: float) -> int | None:
        if self._status is not None:
            return self._status
        if self._broken:  # whether it ends or not, there is no more to learn from it
            return CONNECTION_FAILED
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(timeout_s)
        return self._popen.returncode

    def lost(self) -> str:
        if self._status is not None:
            return ""
        if not self._broken:
            with contextlib.suppress(BlockingIOError):
                self.read_errors()
            self._broken = self._explain(self._errors.decode("utf-8", "replace"))
        return f"target {self._name}: {self._broken}"

    def kill(self) -> None:
        # The agent takes the end of its input as the end of everything, and ends when nothing is left: that the connection then closes in
        # good order is the proof that nothing runs there any more.
        was_told = self._status is not None
        if self._popen.returncode is not None or channel.end(self._popen, _LINGER_S if was_told else channel.END_S):
            self._status = self._status if self._status is not None or self._popen.returncode != 0 else -9
        elif not was_told:
            self._broken = self._broken or "it does not answer any more; what runs there ends when it notices, or at the time limit of its job"

    def close(self) -> None:
        if self._popen.returncode is None:
            self.kill()
        channel.close_pipes(self._popen)

    def _end(self, kind: bytes, told: Mapping[str, Any]) -> None:
        self.output_ended = True
        status, signal_number = told.get("status"), told.get("signal")
        if kind == frames.EXIT and type(status) is int and 0 <= status <= 255:
            self._status = status
        elif kind == frames.EXIT and type(signal_number) is int and 0 < signal_number <= 64:
            self._status = -signal_number
        elif kind == frames.FAULT:
            self._status = 2
            self._unread_errors += f"dpubench-agent: {_printable(told.get('message', ''))}\n".encode()
        else:
            raise frames.NoFrame("its agent did not say how the program ended")


def run_request(program: str, arguments: Sequence[str], environment: Mapping[str, str] | None) -> bytes:
    """The frame that starts ``program`` of the bundle."""
    return frames.request("run", program=program, arguments=list(arguments), environment=dict(environment or {}))


def _printable(text: object) -> str:
    """What another machine says, for this terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text)[:2000])


def described(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The answer to ``describe``, checked. @raises EnvironmentFault for what is no description"""
    if fault := schemas.fault("target", answer):
        raise EnvironmentFault(f"target {name}: what its agent says of it breaks the contract {schemas.TARGET}: {_printable(fault)}")
    return dict(answer)
