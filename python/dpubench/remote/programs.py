"""Programs that an agent runs, several on one connection: each is a :class:`dpubench.targets.Process`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final

from dpubench.errors import UserError
from dpubench.remote import channel, frames
from dpubench.remote.agent import Explain, printable

_READ_BYTES: Final = 1 << 18
#: Seconds that a connection may stay open after its last program has ended.
_LINGER_S: Final = 2.0
#: ssh's own exit status for a connection that failed.
CONNECTION_FAILED: Final = 255
#: Exit status of a program that the agent could not start.
_NOT_STARTED: Final = 2
_SILENT: Final = "it does not answer any more; its programs end when it notices, or at the time limit of their job"


def run_request(name: str, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None) -> bytes:
    """Return the request that starts ``program`` of the bundle on target ``name``. @raises UserError its arguments are too long"""
    request = json.dumps({"do": "run", "program": program, "arguments": list(arguments), "environment": dict(environment or {})}).encode()
    if len(request) > frames.MAX_PAYLOAD:
        raise UserError(f"target {name}: the arguments of a program are too long")
    return request


class Connection:
    """A command with an agent at its other end, and the programs that the agent runs. It ends with the last of them.

    Args:
        words: the command with the agent at its other end
        preamble: input that the other end reads before frames begin
        name: the target's name, for messages
        explain: returns why the connection ended, given the output of ssh
    """

    def __init__(self, words: Sequence[str], preamble: bytes, name: str, explain: Explain) -> None:
        self._popen = channel.spawn(words)
        self._stdin, self._stdout, self._stderr = channel.pipes(self._popen)
        self._name, self._explain = name, explain
        self._reader = frames.Reader()
        self._unsent = bytearray(preamble)
        self._errors = bytearray()  # the end of what ssh and the agent say themselves
        self._errors_open = True
        self._ended = False  # whether nothing comes from there any more
        self._broken = ""
        self._programs: dict[int, AgentProcess] = {}
        self._last = 0  # number of the latest program

    @property
    def is_open(self) -> bool:
        """Return whether more programs can be started on it, as far as this side knows."""
        return not self._ended and bool(self._programs) and self._last < frames.MAX_PROGRAM and self._popen.poll() is None

    def start(self, request: bytes) -> AgentProcess:
        """Start a program there, by the ``request`` of :func:`run_request`."""
        self._last += 1
        process = self._programs[self._last] = AgentProcess(self, self._last, self._popen.pid)
        self.send(frames.REQUEST, request, self._last)
        return process

    # --- for its programs

    @property
    def has_ended(self) -> bool:
        return self._ended

    def waits_for(self) -> Mapping[int, int]:
        """Return the descriptors that announce that it can go on, with their events of poll(2)."""
        if self._ended:
            return {}
        found = {self._stdout: select.POLLIN} | ({self._stderr: select.POLLIN} if self._errors_open else {})
        return found | ({self._stdin: select.POLLOUT} if self._unsent else {})

    def send(self, kind: bytes, payload: bytes = b"", program: int = 0) -> None:
        """Queue a frame, and send what can be sent now."""
        self._unsent += frames.encode(kind, payload, program)
        self._write()

    def took(self, count: int, program: int) -> None:
        """Say that ``count`` bytes of the program's output were taken, so that as many may follow."""
        self._unsent += frames.taken(count, program)
        self._write()

    def pump(self) -> None:
        """Move all data that can be moved now, to whichever program it belongs."""
        if self._ended:
            return
        self._write()
        self._read_errors()
        try:
            data = os.read(self._stdout, _READ_BYTES)
        except BlockingIOError:
            return
        try:
            for kind, number, payload in self._reader.feed(data):
                self._deliver(kind, number, payload)
        except frames.NoFrame as error:
            self._broken, self._ended = str(error), True
        self._ended = self._ended or not data

    def wait(self, limit_s: float, process: AgentProcess) -> None:
        """Move data until ``process`` has ended, the connection has, or the time is over."""
        given_up = time.monotonic() + limit_s
        while True:
            self.pump()
            left_s = given_up - time.monotonic()
            if process.has_ended or self._ended or left_s <= 0:
                return
            poll = select.poll()
            for fd, events in self.waits_for().items():
                poll.register(fd, events)
            poll.poll(1 + int(1000 * left_s))

    def why_lost(self) -> str:
        """Return why it ended, in words. Call it after the end."""
        if not self._broken:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(_LINGER_S)
            self._read_errors()
            self._broken = self._explain(self._errors.decode("utf-8", "replace"))
        return f"target {self._name}: {self._broken}"

    def end(self, patience_s: float) -> None:
        """End the connection, and with it all of its programs. A command that has not ended after ``patience_s`` is killed."""
        self._ended = True
        if self._popen.returncode is None:
            channel.end(self._popen, patience_s)

    def give_up(self) -> None:
        """End the connection, whose other end does not answer."""
        self._broken = _SILENT
        self.end(0.0)

    def release(self, number: int) -> None:
        """Forget a program. With the last one the connection ends: in good order that proves that nothing runs there any more."""
        del self._programs[number]
        if not self._programs:
            self.end(_LINGER_S)
            channel.close_pipes(self._popen)
            self._errors_open = False

    def _deliver(self, kind: bytes, number: int, payload: bytes) -> None:
        if number == 0 or number > self._last:
            what = printable(frames.document(payload).get("message", "")) if kind == frames.FAULT else "its agent speaks of an unknown program"
            raise frames.NoFrame(what)
        if number in self._programs:  # A program that was released may have had more to say.
            self._programs[number].deliver(kind, payload)

    def _write(self) -> None:
        try:
            while self._unsent and not self._ended:
                del self._unsent[: os.write(self._stdin, self._unsent[:_READ_BYTES])]
        except BlockingIOError:
            pass
        except OSError:  # It takes no more input: its output or its end tells why.
            self._unsent.clear()

    def _read_errors(self) -> None:
        if not self._errors_open:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._stderr, _READ_BYTES)
            self._errors_open = bool(data)
            self._errors += data
            del self._errors[: -channel.ERRORS_KEPT_BYTES]


class AgentProcess:
    """One program of a connection. Its input, output and errors are in frames."""

    def __init__(self, connection: Connection, number: int, pid: int) -> None:
        self.pid = pid  #: of the connection: the program's own number means nothing here
        self._connection, self._number = connection, number
        self._output, self._errors = bytearray(), bytearray()
        self._room = frames.WINDOW  # bytes of input that the agent takes now
        self._due = frames.WINDOW  # bytes of output and errors that may still come
        self._status: int | None = None
        self._is_killed = self._is_released = False
        self.output_ended = self.errors_ended = False

    @property
    def has_ended(self) -> bool:
        """Return whether the agent said how it ended. Nothing of it runs there any more then."""
        return self._status is not None

    @property
    def has_unread(self) -> bool:
        is_over = self.has_ended or self._connection.has_ended
        return bool(self._output or self._errors or (is_over and not (self.output_ended and self.errors_ended)))

    def set_nonblocking(self) -> None:
        """Do nothing: a connection never blocks."""

    def waits_for(self, *, sending: bool) -> Mapping[int, int]:
        # The agent says when it takes more input, so that room for it is announced as output is.
        return self._connection.waits_for()

    def write(self, data: bytes) -> int:
        self._connection.pump()
        if self.has_ended or self._connection.has_ended:
            raise BrokenPipeError
        if not self._room:
            raise BlockingIOError
        piece = data[: self._room]
        self._room -= len(piece)
        self._connection.send(frames.DATA, piece, self._number)
        return len(piece)

    def close_stdin(self) -> None:
        if not self.has_ended:
            self._connection.send(frames.END, program=self._number)

    def read_output(self) -> bytes:
        data, self.output_ended = self._read(self._output)
        return data

    def read_errors(self) -> bytes:
        data, self.errors_ended = self._read(self._errors)
        return data

    def poll(self) -> int | None:
        self._connection.pump()
        return self._status if self._status is not None else CONNECTION_FAILED if self._connection.has_ended else None

    def wait(self, timeout_s: float) -> int | None:
        self._connection.wait(timeout_s, self)
        return self.poll()

    def lost(self) -> str:
        return "" if self.has_ended else self._connection.why_lost()

    def kill(self) -> None:
        self._is_killed = True
        self._output.clear()
        if not self.has_ended and not self._connection.has_ended:
            self._connection.send(frames.KILL, program=self._number)
            self._connection.wait(channel.END_S, self)
            if not self.has_ended and not self._connection.has_ended:
                self._connection.give_up()
        if not self.has_ended:  # Whatever is left there ends with the connection.
            self._connection.end(channel.END_S)

    def close(self) -> None:
        if self._is_released:
            return
        self.kill()
        self._is_released = True
        self._connection.release(self._number)

    def deliver(self, kind: bytes, payload: bytes) -> None:
        """Take in a frame of this program. @raises frames.NoFrame it cannot be true"""
        if self.has_ended:
            raise frames.NoFrame("its agent speaks of a program that has ended")
        if kind in (frames.OUTPUT, frames.ERRORS):
            self._due -= len(payload)
            if self._due < 0:
                raise frames.NoFrame("its agent sent more of a program's output than was asked for")
            if not self._is_killed:
                (self._output if kind == frames.OUTPUT else self._errors).extend(payload)
        elif kind == frames.TAKEN:
            self._room += frames.count(payload)
            if self._room > frames.WINDOW:
                raise frames.NoFrame("its agent took more input than was sent")
        else:
            self._end(kind, frames.document(payload))

    def _read(self, buffer: bytearray) -> tuple[bytes, bool]:
        """Return (the data in ``buffer``, whether it was the last). @raises BlockingIOError there is none now"""
        self._connection.pump()
        data = bytes(buffer)
        buffer.clear()
        if not data and not (self.has_ended or self._connection.has_ended):
            raise BlockingIOError
        if data and not self.has_ended:
            self._due += len(data)
            self._connection.took(len(data), self._number)
        return data, not data

    def _end(self, kind: bytes, told: Mapping[str, object]) -> None:
        status, signal_number = told.get("status"), told.get("signal")
        if kind == frames.EXIT and type(status) is int and 0 <= status <= 255:
            self._status = status
        elif kind == frames.EXIT and type(signal_number) is int and 0 < signal_number <= 64:
            self._status = -signal_number
        elif kind == frames.FAULT:
            self._status = _NOT_STARTED
            self._errors += f"dpubench-agent: {printable(told.get('message', ''))}\n".encode()
        else:
            raise frames.NoFrame("its agent did not say how a program ended")
