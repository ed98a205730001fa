"""One native program at work: this class feeds its standard input, reads its events line by line, and ends it when it breaks a limit."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final

from dpubench import signals
from dpubench.errors import Interrupted, TargetLost
from dpubench.targets import Target
from dpubench.workers.checks import Event, Rubbish, parse_event

MAX_LINE_BYTES: Final = 1 << 20
MAX_EVENTS_PER_S: Final = 100_000
#: A flood of events that are checked more slowly than they come never reaches the rate above. No honest program sends so many between results.
MAX_EVENTS_WITHOUT_RESULT: Final = 20_000
#: Events that are the result of some work.
RESULTS: Final = ("window", "trial", "served", "checked", "result", "cpu", "ended")
STDERR_KEPT_BYTES: Final = 8192
#: Exit statuses of a program that reported its failures by events.
_GOOD_STATUSES: Final = (0, 1, 4)
#: Seconds to wait for the rest of standard error after a program ended by itself: a process that it started may hold the pipe open.
_LAST_WORDS_S: Final = 2.0
_WRITE_BYTES: Final = 1 << 16


class WorkerFault(Exception):
    """A worker that died, hung or printed rubbish. ``reason`` is for people."""

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind  #: "crash", "hang", "rubbish", "limit"


class StopRequest:
    """A request to stop, set by the signals that end this process. It can be waited for as a file descriptor, along with events."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.signal_number = 0
        self._raises = False

    def fileno(self) -> int:
        return self._read

    def set(self, signal_number: int) -> None:
        self.signal_number = signal_number
        with contextlib.suppress(OSError):
            os.write(self._write, b"x")
        if self._raises:
            self._raises = False  # only once: another signal must not disturb the cleanup
            self.check()

    def check(self) -> None:
        """Raise Interrupted when a stop was requested."""
        if self.signal_number:
            raise Interrupted(f"stopped by {signal.Signals(self.signal_number).name}")

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise a stop at the moment of the signal within the block, for work that does not wait for :meth:`fileno`.

        Raises:
            Interrupted: a stop was requested, before or within.
        """
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False

    def __enter__(self) -> StopRequest:
        self._former = {n: signal.signal(n, signals.handler(self.set)) for n in signals.ending()}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self.close()

    def close(self) -> None:
        """Close the pipe of a request that is no context and that no signal sets."""
        os.close(self._read)
        os.close(self._write)


class Worker:
    """A started program. As a context manager, it kills the program's process group on exit, whatever happened."""

    def __init__(
        self,
        target: Target,
        program: str,
        arguments: Sequence[str],
        *,
        stop: StopRequest | None = None,
        silence_s: float,
        limit_s: float,
        environment: Mapping[str, str] | None = None,
        parse: Callable[[bytes], Event] = parse_event,
        most_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        """Start ``program``. ``parse`` reads a line of it, and raises Rubbish for a line that is no event.

        A line of more than ``most_line_bytes`` is rubbish too.
        """
        self._process = target.start(program, arguments, environment)
        self._parse = parse
        self._most_line_bytes = most_line_bytes
        self._program = program
        self._stop = stop
        self._silence_s = silence_s
        self._limit_s = limit_s
        self._started = self._heard = time.monotonic()
        self._to_send = bytearray()
        self._close_after_sending = False
        self._stdin_open = True
        self._partial = bytearray()
        self._events: deque[Event] = deque()
        self._stderr = bytearray()
        self._errors_open = True
        self._ended = False
        self._fault: WorkerFault | None = None
        self._second, self._in_second = 0, 0
        self._without_result = 0
        self._selector = selectors.DefaultSelector()
        self._stdin_fd = self._process.stdin_fd
        for fd in (self._process.stdin_fd, self._process.stdout_fd, self._process.stderr_fd):
            os.set_blocking(fd, False)
        self._selector.register(self._process.stdout_fd, selectors.EVENT_READ, "stdout")
        self._selector.register(self._process.stderr_fd, selectors.EVENT_READ, "stderr")
        if stop is not None:
            self._selector.register(stop.fileno(), selectors.EVENT_READ, "stop")

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._selector.close()
        self._process.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, data: bytes, *, last: bool = False) -> None:
        """Queue ``data`` for the program's standard input, which closes after ``last``."""
        if not self._stdin_open:
            return
        self._heard = time.monotonic()  # The wait for its answer begins now.
        self._to_send += data
        self._close_after_sending = self._close_after_sending or last
        self._flush()

    def next_event(self) -> Event | None:
        """Return the next event; None once the program ended its output with a good exit status (a failure is an event, not a fault).

        Raises:
            WorkerFault: it died, hung, or printed rubbish.
            TargetLost: the connection to it broke.
            Interrupted: a stop was requested.
        """
        while not self._events:
            if self._fault is not None:
                raise self._fault
            if self._ended:
                return self._finish()
            self._wait()
        if self._stop is not None:
            self._stop.check()
        return self._events.popleft()

    def let_end(self, limit_s: float) -> None:
        """End the program's input, and give it ``limit_s`` seconds to end what it has started. A stop request does not cut this short."""
        self._to_send.clear()
        self._stdin_open = False
        with contextlib.suppress(OSError):
            self._process.close_stdin()
        given_up = time.monotonic() + limit_s
        while not self._process.output_ended and (left := given_up - time.monotonic()) > 0:
            for key, _ in self._selector.select(min(left, 0.1)):
                with contextlib.suppress(BlockingIOError, OSError):
                    if key.data == "stdout":
                        self._process.read_output()
                    elif key.data == "stderr":
                        self._read_errors(key.fd)

    def stderr_tail(self) -> str:
        """Return the last lines of the program's standard error."""
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return "\n".join(lines[-5:])

    # --- below: the loop

    def _wait(self) -> None:
        now = time.monotonic()
        left = min(self._heard + self._silence_s, self._started + self._limit_s) - now
        ready = self._selector.select(min(max(left, 0.0), 1.0))
        # Output that came while nobody listened (another worker was being read) counts: judge silence only when there is nothing to read.
        if not ready and left <= 0:
            self._process.kill()
            if lost := self._process.lost():
                raise TargetLost(lost)
            if now >= self._started + self._limit_s:
                raise WorkerFault(f"it was still running after its limit of {self._limit_s:.0f} s", "limit")
            raise WorkerFault(f"it hung: no event for {self._silence_s:g} s", "hang")
        for key, _ in ready:
            if key.data == "stop":
                assert self._stop is not None  # It is registered only with a stop request.
                self._stop.check()
            elif key.data == "stdin":
                self._flush()
            elif key.data == "stderr":
                self._read_errors(key.fd)
            else:
                self._read_output(key.fd)

    def _read_output(self, fd: int) -> None:
        try:
            data = self._process.read_output()
        except BlockingIOError:
            return
        self._take(data)
        if self._process.output_ended:
            self._selector.unregister(fd)
            self._ended = True

    def _read_errors(self, fd: int) -> None:
        try:
            data = self._process.read_errors()
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(fd)
            self._errors_open = False
        self._stderr += data
        del self._stderr[:-STDERR_KEPT_BYTES]

    def _rest_of_errors(self) -> None:
        """Read standard error to its end, because over a connection it may arrive after the status."""
        with contextlib.suppress(KeyError):  # A program that ended reads nothing more.
            self._selector.unregister(self._stdin_fd)
        deadline = time.monotonic() + _LAST_WORDS_S
        while self._errors_open and (left := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                if key.data == "stderr":
                    self._read_errors(key.fd)
                elif self._stop is not None:
                    self._stop.check()

    def _take(self, data: bytes) -> None:
        if self._fault is not None or not data:
            return None
        *lines, rest = (bytes(self._partial) + data).split(b"\n") if b"\n" in data else [b""]
        self._partial = bytearray(rest) if lines else self._partial + data
        now = time.monotonic()
        if int(now) != self._second:
            self._second, self._in_second = int(now), 0
        self._in_second += len(lines)
        if self._in_second > MAX_EVENTS_PER_S:
            return self._rubbish(f"more than {MAX_EVENTS_PER_S} lines in a second")
        for line in lines:
            if len(line) > self._most_line_bytes:
                return self._rubbish(f"a line of more than {self._most_line_bytes >> 20} MiB")
            try:
                event = self._parse(line)
            except Rubbish as error:
                return self._rubbish(str(error))
            self._without_result = 0 if event["event"] in RESULTS else self._without_result + 1
            if self._without_result > MAX_EVENTS_WITHOUT_RESULT:
                return self._rubbish(f"more than {MAX_EVENTS_WITHOUT_RESULT} events without a result")
            self._events.append(event)
        if lines:  # Only whole, valid events count as a sign of life.
            self._heard = now
        if len(self._partial) > self._most_line_bytes:
            self._rubbish(f"a line of more than {self._most_line_bytes >> 20} MiB")
        return None

    def _rubbish(self, what: str) -> None:
        """End the program. Events before the rubbish are delivered first, so that they show where it happened."""
        self._process.kill()
        self._fault = WorkerFault(f"it printed {what}", "rubbish")

    def _flush(self) -> None:
        try:
            while self._to_send:
                del self._to_send[: self._process.write(bytes(self._to_send[:_WRITE_BYTES]))]
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._stdin_fd)
            if self._close_after_sending and self._stdin_open:
                self._process.close_stdin()
                self._stdin_open = False
        except BlockingIOError:
            with contextlib.suppress(KeyError):
                self._selector.register(self._stdin_fd, selectors.EVENT_WRITE, "stdin")
        except OSError:  # It closed its input or died: its events or its exit status tell more.
            self._to_send.clear()
            self._stdin_open = False
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._stdin_fd)
            with contextlib.suppress(OSError):
                self._process.close_stdin()

    def _finish(self) -> Event | None:
        deadline = time.monotonic() + min(10.0, self._silence_s)
        while (status := self._process.wait(0.1)) is None:
            if self._stop is not None:
                self._stop.check()
            if time.monotonic() > deadline:
                self._process.kill()
                raise WorkerFault("it closed its output and did not end", "hang")
        if status not in _GOOD_STATUSES:
            self._rest_of_errors()
        with contextlib.suppress(OSError):  # there is nothing now, or a last message of an agent
            self._stderr += self._process.read_errors()
        if lost := self._process.lost():
            raise TargetLost(lost)
        if self._partial:
            self._rubbish("a line without an end")
            assert self._fault is not None  # just set
            raise self._fault
        if status in _GOOD_STATUSES:
            return None
        raise WorkerFault(describe_status(status) + self._said(), "crash")

    def _said(self) -> str:
        tail = self.stderr_tail()
        return f"; it said: {tail}" if tail else ""


def describe_status(status: int) -> str:
    """Return ``it was killed by SIGSEGV``, or ``it ended with status 2``."""
    if status < 0:
        try:
            return f"it was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"it was killed by signal {-status}"
    return f"it ended with status {status}"
