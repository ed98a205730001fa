"""One native program at work: this class feeds its standard input, reads its events line by line, and ends it when it breaks a limit."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
RESULTS: Final = ("window", "trial", "served", "checked", "sent", "counted", "result", "cpu", "ended")
STDERR_KEPT_BYTES: Final = 8192
#: Exit statuses of a program that reported its failures by events.
_GOOD_STATUSES: Final = (0, 1, 4)
#: Seconds to wait for the rest of standard error after a program ended by itself: a process that it started may hold the pipe open.
_LAST_WORDS_S: Final = 2.0
_WRITE_BYTES: Final = 1 << 16
#: Longest wait in seconds before the programs are looked at again.
_LONGEST_WAIT_S: Final = 1.0


class WorkerFault(Exception):
    """A worker that died, hung or printed rubbish. ``reason`` is for people."""

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind  #: "crash", "hang", "rubbish", "limit"


class OutOfTime(Exception):
    """The time that the caller had for an event is over. The worker itself is at no fault."""


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
        self._fault: WorkerFault | TargetLost | None = None
        self._second, self._in_second = 0, 0
        self._without_result = 0
        self._process.set_nonblocking()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
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

    def next_event(self, most_s: float = math.inf) -> Event | None:
        """Return the next event; None once the program ended its output with a good exit status (a failure is an event, not a fault).

        Args:
            most_s: the longest wait in seconds

        Raises:
            WorkerFault: it died, hung, or printed rubbish.
            TargetLost: the connection to it broke.
            Interrupted: a stop was requested.
            OutOfTime: ``most_s`` seconds passed without news.
        """
        given_up = time.monotonic() + most_s
        while not self.has_news:
            if (left_s := given_up - time.monotonic()) <= 0:
                raise OutOfTime
            wait([self], [self], self._stop, min(left_s, _LONGEST_WAIT_S))
        return self.take()

    def let_end(self, limit_s: float) -> None:
        """End the program's input, and give it ``limit_s`` seconds to end what it has started. A stop request does not cut this short."""
        self._to_send.clear()
        self._stdin_open = False
        with contextlib.suppress(OSError):
            self._process.close_stdin()
        given_up = time.monotonic() + limit_s
        while not self._process.output_ended and (left_s := given_up - time.monotonic()) > 0:
            wait([self], [], None, left_s)

    def stderr_tail(self) -> str:
        """Return the last lines of the program's standard error."""
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return "\n".join(lines[-5:])

    # --- for those that wait for several programs at once (workers/group.py)

    @property
    def has_news(self) -> bool:
        """Return whether :meth:`take` has something to tell: an event, a fault, or the end of the output."""
        return bool(self._events) or self._fault is not None or self._process.output_ended

    def take(self) -> Event | None:
        """Return the news, as :meth:`next_event` does, and raise the same. Call it when there are some."""
        if self._events:
            if self._stop is not None:
                self._stop.check()
            return self._events.popleft()
        if self._fault is not None:
            raise self._fault
        return self._finish()

    def fault(self) -> WorkerFault | TargetLost | None:
        """Return the fault that the program is known to have, whether or not all of its events were taken. @raises Interrupted"""
        if self._fault is None and self._process.output_ended and self._process.poll() is not None:
            try:
                self._finish()
            except (WorkerFault, TargetLost) as fault:
                self._fault = fault
        return self._fault

    def kill(self) -> None:
        """Kill the program and all that it started, and wait until they are gone."""
        self._process.kill()

    # --- below: the loop

    def _interests(self) -> Mapping[int, int]:
        """Return the descriptors to wait for, with their events of poll(2)."""
        return self._process.waits_for(sending=bool(self._to_send))

    def _left_s(self, now: float) -> float:
        """Return the seconds that are left until it counts as hung or as running too long."""
        return min(self._heard + self._silence_s, self._started + self._limit_s) - now

    def _advance(self) -> bool:
        """Move the data that can be moved. Return whether the program said something."""
        if self._to_send:
            self._flush()
        said_more = self._read_errors()
        return self._read_output() or said_more

    def _check_time(self, now: float, *, must_speak: bool) -> None:
        """End a program that had nothing to say and whose time is over. ``must_speak``: whether somebody waits for it to say something."""
        too_long = now >= self._started + self._limit_s
        if self._fault is not None or not (too_long or (must_speak and now >= self._heard + self._silence_s)):
            return
        self._process.kill()
        if lost := self._process.lost():
            self._fault = TargetLost(lost)
        elif too_long:
            self._fault = WorkerFault(f"it was still running after its limit of {self._limit_s:.0f} s", "limit")
        else:
            self._fault = WorkerFault(f"it hung: no event for {self._silence_s:g} s", "hang")

    def _check_end(self) -> None:
        """Kill what a program left behind that ended and had nothing more to say: such a process may hold its output open."""
        if not self._process.output_ended and self._process.poll() is not None:
            self._process.kill()

    def _read_output(self) -> bool:
        if self._process.output_ended:
            return False
        try:
            data = self._process.read_output()
        except BlockingIOError:
            return False
        self._take_in(data)
        return True

    def _read_errors(self) -> bool:
        if self._process.errors_ended:
            return False
        try:
            data = self._process.read_errors()
        except BlockingIOError:
            return False
        self._stderr += data
        del self._stderr[:-STDERR_KEPT_BYTES]
        return True

    def _rest_of_errors(self) -> None:
        """Read standard error to its end, because it may come after the output's end."""
        self._to_send.clear()  # A program that ended reads nothing more.
        deadline = time.monotonic() + _LAST_WORDS_S
        while not self._process.errors_ended and (left_s := deadline - time.monotonic()) > 0:
            wait([self], [], self._stop, left_s)

    def _take_in(self, data: bytes) -> None:
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
            if self._close_after_sending and self._stdin_open:
                self._process.close_stdin()
                self._stdin_open = False
        except BlockingIOError:
            pass
        except OSError:  # It closed its input or died: its events or its exit status tell more.
            self._to_send.clear()
            self._stdin_open = False
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
        with contextlib.suppress(OSError):  # there is nothing now
            self._stderr += self._process.read_errors()
        if lost := self._process.lost():
            raise TargetLost(lost)
        if self._partial:
            self._rubbish("a line without an end")
            assert isinstance(self._fault, WorkerFault)  # just set
            raise self._fault
        if status in _GOOD_STATUSES:
            return None
        raise WorkerFault(describe_status(status) + self._said(), "crash")

    def _said(self) -> str:
        tail = self.stderr_tail()
        return f"; it said: {tail}" if tail else ""


def wait(workers: Sequence[Worker], awaited: Collection[Worker], stop: StopRequest | None, most_s: float = _LONGEST_WAIT_S) -> None:
    """Wait until something happens at one of ``workers``, and move the data of all of them. A fault becomes news of its worker.

    Args:
        awaited: the workers that must speak: silence is held against these alone
        most_s: the longest wait in seconds

    Raises:
        Interrupted: a stop was requested.
    """
    now = time.monotonic()
    interests: dict[int, int] = {} if stop is None else {stop.fileno(): select.POLLIN}
    for worker in workers:
        for fd, events in worker._interests().items():  # several programs may share a connection's descriptors
            interests[fd] = interests.get(fd, 0) | events
    left_s = min([most_s, *(worker._left_s(now) for worker in awaited)])
    is_here = any(worker._process.has_unread for worker in workers)
    poll = select.poll()
    for fd, events in interests.items():
        poll.register(fd, events)
    ready = dict(poll.poll(0 if is_here else math.ceil(1000 * max(left_s, 0.0))))
    if stop is not None and stop.fileno() in ready:
        stop.check()
    # Output that came while nobody listened counts: judge the time of a program only when it had nothing to say.
    for worker in workers:
        if not worker._advance():
            worker._check_time(now, must_speak=worker in awaited)
            worker._check_end()


def describe_status(status: int) -> str:
    """Return ``it was killed by SIGSEGV``, or ``it ended with status 2``."""
    if status < 0:
        try:
            return f"it was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"it was killed by signal {-status}"
    return f"it ended with status {status}"
