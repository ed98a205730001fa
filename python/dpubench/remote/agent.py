"""The client of ``dpubench-agent``: requests and files in a session, a program as a process."""

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

#: An agent answers at once, except while it asks vendors' tools or writes files to a slow disk.
ANSWER_S: Final = 120.0
#: A request and its preamble must fit into an empty pipe, so that starting a program never blocks.
_MAX_REQUEST: Final = 48 << 10
#: POSIX: a write of up to this size to a pipe is atomic, so that no frame is ever half sent.
_PIPE_BUF: Final = 4096
_CHUNK: Final = 1 << 18
_READ_BYTES: Final = 1 << 18
#: Seconds that a program's connection may stay open after the program has ended.
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
        self._frames: list[tuple[bytes, bytes]] = []
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
        kind, payload = self._frames.pop(0)
        try:
            told = frames.document(payload)
        except frames.NoFrame as error:
            raise self._lost(str(error)) from None
        if kind == frames.FAULT:
            self.close()  # The agent ends after a fault.
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

    The pipes belong to the command that leads to the agent. Input and output are in frames; standard error carries messages of the program and of
    the connection.
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
        self._unread_errors = bytearray()  # messages of the agent, which did not come through that pipe
        self._status: int | None = None
        self._broken = ""
        self.output_ended = False
        self.pid = self._popen.pid
        with contextlib.suppress(BrokenPipeError):  # It ended at once: its standard error tells why.
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
        # The connection stays open, because its end would end the program.
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
        if self._broken:  # Nothing more can be learnt from it, whether it ends or not.
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
        # When its input ends, the agent ends everything, and exits when nothing is left. A connection that then closes in good order proves that
        # nothing runs there any more.
        was_told = self._status is not None
        if self._popen.returncode is not None or channel.end(self._popen, _LINGER_S if was_told else channel.END_S):
            self._status = self._status if self._status is not None or self._popen.returncode != 0 else -9
        elif not was_told:
            self._broken = self._broken or "it does not answer any more; its programs end when it notices, or at the time limit of their job"

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
    """Return the frame that starts ``program`` of the bundle."""
    return frames.request("run", program=program, arguments=list(arguments), environment=dict(environment or {}))


def _printable(text: object) -> str:
    """Return text from another machine, made safe for this terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text)[:2000])


def described(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the checked answer to ``describe``. @raises EnvironmentFault when it is no description"""
    if fault := schemas.fault("target", answer):
        raise EnvironmentFault(f"target {name}: its agent's description breaks the contract {schemas.TARGET}: {_printable(fault)}")
    return dict(answer)
