"""One request to a program, and all events of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpubench.targets import Target
from dpubench.workers.checks import Event, parse_event
from dpubench.workers.process import MAX_LINE_BYTES, Worker


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
