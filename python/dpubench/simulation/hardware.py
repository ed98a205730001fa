"""Hardware counters of this machine around a kernel. It reports only counts of perf_event_open(2), and estimates nothing in place of missing ones.

The counters of a program hold all of its work: reading input, building tables, verifying its engine. The kernel's own counts are the difference of
two runs, one of which processes twice as many messages: everything else is the same in both. Counters run in user mode only, as a trace covers user
mode only. A processor has few counters, so each process counts a few events. An event that was not counted all the time gives nothing, because a
scaled-up count would be an estimate.

There are no generic events for integer instructions, nor for loads and stores. These shares are always missing.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench.errors import EnvironmentFault
from dpubench.simulation.characteristics import Counts

_SYSTEM_CALL: Final = {"x86_64": 298, "aarch64": 241}
_HARDWARE, _CACHE = 0, 3
_L1D, _DTLB, _ITLB = 0, 3, 4
_MISS = 1 << 16  # the result "miss"; the operation "read" is 0


@dataclass(frozen=True, slots=True)
class Event:
    """A counter, with type and config as in linux/perf_event.h."""

    type: int
    config: int


CYCLES, INSTRUCTIONS, BRANCHES = Event(_HARDWARE, 0), Event(_HARDWARE, 1), Event(_HARDWARE, 4)
#: Groups of events, each counted in its own process: small enough for the counters of any processor.
GROUPS: Final[tuple[Mapping[str, Event], ...]] = (
    {"instructions": INSTRUCTIONS, "cycles": CYCLES, "branches": BRANCHES},
    {"itlb_accesses": Event(_CACHE, _ITLB), "itlb_misses": Event(_CACHE, _ITLB | _MISS)},
    {"dtlb_accesses": Event(_CACHE, _DTLB), "dtlb_misses": Event(_CACHE, _DTLB | _MISS)},
    {"l1d_accesses": Event(_CACHE, _L1D), "l1d_misses": Event(_CACHE, _L1D | _MISS)},
)
_ATTRIBUTES: Final = struct.Struct("=IIQQQQQIIQ")  #: perf_event_attr, version 0
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR, _ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
_TIMES: Final = 1 | 2  #: PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
_CLOSE_ON_EXEC: Final = 8
_LIMIT_S: Final = 600.0
#: A shell script that waits for a line before it becomes the program, so that counters can be opened on it in between.
_WAITS: Final = 'read -r _ && exec "$0" "$@"'


class NoCounters(EnvironmentFault):
    """The error that this machine has no hardware counters, or that they cannot be used."""


def check() -> None:
    """Check that this machine counts instructions and cycles. @raises NoCounters with advice"""
    for name, event in (("instructions", INSTRUCTIONS), ("cycles", CYCLES)):
        try:
            os.close(_open(os.getpid(), event))
        except OSError as error:
            raise NoCounters(
                f"target local: no hardware counters here: {name}: {_why(error.errno or 0)}; or give a model: --target model:NAME"
            ) from None


def measured(program: Path, jobs: tuple[bytes, bytes]) -> Counts:
    """Return the counts of the messages that the second of two ``jobs`` has more than the first; ``nan`` for events that were not counted.

    Raises:
        NoCounters: not even instructions were counted.
        EnvironmentFault: the program failed.
    """
    found: dict[str, float] = {}
    for group in GROUPS:
        less, more = (counted([str(program)], job, group) for job in jobs)
        # A smaller count for more work means that noise hides the counts of the messages.
        found |= {name: more[name] - less[name] if more[name] >= less[name] else math.nan for name in group}
    if not found["instructions"] > 0:
        raise NoCounters("target local: instructions were counted only part of the time: end other programs that use hardware counters (perf)")
    return Counts(**found, integer=math.nan, loads_and_stores=math.nan)


def counted(words: Sequence[str], given: bytes, events: Mapping[str, Event]) -> dict[str, float]:
    """Return the counts of ``events`` for the program ``words`` with ``given`` on its standard input, from its first instruction to its last.

    A count is ``nan`` if this machine does not have the event, or did not count it all the time. @raises EnvironmentFault when the program fails
    """
    child = subprocess.Popen(["/bin/sh", "-c", _WAITS, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    counters: dict[str, int | None] = {}
    try:
        counters = {name: _opened(child.pid, event) for name, event in events.items()}
        output, said = child.communicate(b"\n" + given, timeout=_LIMIT_S)
        if child.returncode != 0:
            raise EnvironmentFault(f"{words[0]}: ended with {child.returncode}: {(said or output)[-300:].decode(errors='replace').strip()}")
        return {name: math.nan if counter is None else _read(counter) for name, counter in counters.items()}
    except subprocess.TimeoutExpired:
        raise EnvironmentFault(f"{words[0]}: did not end within {_LIMIT_S:g} s") from None
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
        for counter in counters.values():
            if counter is not None:
                os.close(counter)


def _opened(process: int, event: Event) -> int | None:
    try:
        return _open(process, event)
    except OSError:
        return None


def _open(process: int, event: Event) -> int:
    """Open a counter of ``process`` and all its children, in user mode, from its next exec on; return the descriptor. @raises OSError"""
    number = _SYSTEM_CALL.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    flags = _DISABLED | _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR | _ENABLE_ON_EXEC
    attributes = ctypes.create_string_buffer(_ATTRIBUTES.pack(event.type, _ATTRIBUTES.size, event.config, 0, 0, _TIMES, flags, 0, 0, 0))
    library: Any = ctypes.CDLL(None, use_errno=True)
    descriptor = int(library.syscall(ctypes.c_long(number), attributes, process, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC)))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def _read(counter: int) -> float:
    value, enabled, running = struct.unpack("=QQQ", os.read(counter, 24))
    return float(value) if 0 < enabled == running else math.nan


def _why(number: int) -> str:
    """Return why perf_event_open failed, with advice."""
    if number in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return "the processor or the virtual machine has no such counter: measure on the bare machine, or give the virtual machine counters"
    if number == errno.ENOSYS:
        return "this kernel has no perf events: use a kernel with CONFIG_PERF_EVENTS"
    if number in (errno.EACCES, errno.EPERM):
        return "perf_event_open is forbidden here: run `sysctl kernel.perf_event_paranoid=1`, leave the container, or grant it CAP_PERFMON"
    return f"perf_event_open: {os.strerror(number)}"
