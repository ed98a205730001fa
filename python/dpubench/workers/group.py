"""Programs that work together: a client and its servers, the ranks of a launcher, a server on one machine and a tool on another.

They are watched together, on one target or on several. If one of them fails, all others are ended, and the fault says whose it was.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from dpubench.errors import TargetLost
from dpubench.targets import Target
from dpubench.workers.checks import Event, parse_event
from dpubench.workers.process import MAX_LINE_BYTES, StopRequest, Worker, WorkerFault, wait


class MemberFault(Exception):
    """A fault of one program of a group. No program of the group runs any more."""

    def __init__(self, name: str, fault: WorkerFault) -> None:
        super().__init__(f"{name}: {fault.reason}")
        self.name = name  #: name of the program in its group
        self.reason = fault.reason  #: for people, without the name
        self.kind = fault.kind  #: as of :class:`WorkerFault`


class Group:
    """Started programs, each with a name. As a context manager, it kills on exit all that are left and all that they started."""

    def __init__(self, stop: StopRequest | None = None) -> None:
        self._stop = stop
        self._workers: dict[str, Worker] = {}
        self._running: list[str] = []
        self._fault: MemberFault | TargetLost | None = None

    def __enter__(self) -> Group:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.ExitStack() as ended:
            for worker in self._workers.values():
                ended.push(worker)

    def start(
        self,
        name: str,
        target: Target,
        program: str,
        arguments: Sequence[str] = (),
        *,
        silence_s: float,
        limit_s: float,
        environment: Mapping[str, str] | None = None,
        parse: Callable[[bytes], Event] = parse_event,
        most_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        """Start ``program`` as ``name``; the other arguments are those of :class:`Worker`.

        Raises:
            EnvironmentFault: it cannot be started.
            TargetLost: the connection to the target broke.
        """
        if name in self._workers:
            raise ValueError(f"the group has a program called {name} already")
        self._workers[name] = Worker(
            target, program, arguments, stop=self._stop, silence_s=silence_s, limit_s=limit_s, environment=environment, parse=parse,
            most_line_bytes=most_line_bytes,
        )  # fmt: skip
        self._running.append(name)

    @property
    def running(self) -> list[str]:
        """Return the names of the programs whose end was not told yet."""
        return list(self._running)

    def pids(self) -> dict[str, int]:
        """Return, for each program, the number of its process here (of a remote one: of the connection to it)."""
        return {name: worker.pid for name, worker in self._workers.items()}

    def send(self, name: str, data: bytes, *, last: bool = False) -> None:
        """Queue ``data`` for the standard input of ``name``, which closes after ``last``."""
        self._workers[name].send(data, last=last)

    def next_event(self, *names: str) -> tuple[str, Event | None]:
        """Return (name, its next event) of the first of ``names`` that has one. The event is None once that program has ended well.

        Meanwhile all programs are watched. Those in ``names`` must speak within their limit of silence, others may be silent. Events of others are
        kept.

        Args:
            names: programs that are running; without names all of them

        Raises:
            MemberFault: a program, perhaps another one, died, hung or printed rubbish; all others were ended.
            TargetLost: the connection to one of them broke; all others were ended.
            Interrupted: a stop was requested.
        """
        wanted = [name for name in self._running if name in names or not names]
        if len(wanted) < max(len(set(names)), 1):
            raise ValueError(f"not running: {', '.join(name for name in names if name not in self._running) or 'all have ended'}")
        awaited = [self._workers[name] for name in wanted]
        while self._fault is None:
            for name in wanted:
                if self._workers[name].has_news:
                    return name, self._take(name)
            for name, worker in self._workers.items():
                if fault := worker.fault():
                    raise self._broken(name, fault)
            wait(list(self._workers.values()), awaited, self._stop)
        raise self._fault

    def _take(self, name: str) -> Event | None:
        # Programs take turns: one that has always something to tell must not keep the others from being heard.
        self._running.remove(name)
        try:
            event = self._workers[name].take()
        except (WorkerFault, TargetLost) as fault:
            raise self._broken(name, fault) from None
        if event is not None:
            self._running.append(name)
        return event

    def _broken(self, name: str, fault: WorkerFault | TargetLost) -> MemberFault | TargetLost:
        """End all programs, and return the fault with whose it was."""
        self._fault = MemberFault(name, fault) if isinstance(fault, WorkerFault) else TargetLost(f"{name}: {fault}")
        with contextlib.ExitStack() as ended:
            for worker in self._workers.values():
                ended.callback(worker.kill)
        return self._fault
