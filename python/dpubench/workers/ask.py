"""One request to a program, and all events of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from dpubench.errors import EnvironmentFault
from dpubench.targets import Target
from dpubench.workers.checks import Event, parse_event
from dpubench.workers.process import MAX_LINE_BYTES, Worker, WorkerFault

_LIST_LIMIT_S: Final = 60.0


def ask(
    target: Target,
    program: str,
    arguments: Sequence[str],
    given: bytes = b"",
    *,
    silence_s: float,
    limit_s: float,
    parse: Callable[[bytes], Event] = parse_event,
    most_line_bytes: int = MAX_LINE_BYTES,
) -> list[Event]:
    """Run ``program``, give it ``given`` as input, and return its events.

    Raises:
        WorkerFault: it died, hung or printed rubbish.
        EnvironmentFault: it cannot be started there.
        TargetLost: the connection to the target broke.
    """
    with Worker(target, program, arguments, silence_s=silence_s, limit_s=limit_s, parse=parse, most_line_bytes=most_line_bytes) as worker:
        worker.send(given, last=True)
        events = []
        while (event := worker.next_event()) is not None:
            events.append(event)
    return events


def greeting(target: Target, program: str, parse: Callable[[bytes], Event]) -> Event:
    """Return the greeting of ``program`` on ``target``, with its catalog (``--list``). @raises EnvironmentFault, TargetLost"""
    try:
        events = ask(target, program, ["--list"], silence_s=_LIST_LIMIT_S, limit_s=_LIST_LIMIT_S, parse=parse)
    except WorkerFault as fault:
        raise EnvironmentFault(f"{program} --list: it gave no answer, {fault.reason}: run it by hand to see why") from None
    if not events or events[0]["event"] != "hello" or "catalog" not in events[0]:
        raise EnvironmentFault(f"{program} --list: its first event holds no catalog: build program and package from one revision")
    return events[0]
