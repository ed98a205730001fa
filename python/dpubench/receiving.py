"""The kernel's receive work for interfaces of this machine's links: moves it to chosen CPUs, and proves where it was done."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpubench.errors import EnvironmentFault
from dpubench.network import Side, write_inside

#: Seconds to wait for a thread of the kernel after its interface was told to have one.
_THREAD_COMES_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Moved:
    """The receive work of the kernel for an interface, moved to threads of its own on one CPU."""

    side: Side
    cpu: int
    threads: tuple[int, ...]  #: numbers of the kernel's threads, one per queue


def move(side: Side, cpu: int) -> Moved:
    """Make the kernel handle packets for ``side`` on ``cpu`` (threaded NAPI), and not on the CPU that sent them, as veth does.

    Move the work of both sides, or answers are received on the server's CPU. The move lasts until the pair is gone.

    Raises:
        EnvironmentFault: when the kernel cannot
    """
    threads = _receive_threads(side, f"CPU {cpu}")
    for thread in threads:
        os.sched_setaffinity(thread, {cpu})
        # Like a softirq, it goes before a program that polls on the same CPU, and does not wait for the end of its time slice.
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, thread, -20)
    return Moved(side, cpu, tuple(threads))


def spread(side: Side, cpus: Sequence[int]) -> tuple[int, ...]:
    """Make the kernel handle packets for ``side`` on ``cpus``, one queue after the other, before all programs there, as interrupts of a card would.

    Returns:
        numbers of the kernel's threads, one per queue. They last until the pair is gone.

    Raises:
        EnvironmentFault: when the kernel cannot
    """
    threads = _receive_threads(side, f"CPUs {', '.join(map(str, cpus))}")
    for thread, cpu in zip(threads, itertools.cycle(cpus), strict=False):
        os.sched_setaffinity(thread, {cpu})
        # A real-time thread also goes before programs whose session has a share of its own (autogroup and cgroups, sched(7)).
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, thread, -20)
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(1))
    return tuple(threads)


def _receive_threads(side: Side, where: str) -> list[int]:
    """Make the kernel handle packets for ``side`` in threads, and return their numbers. @raises EnvironmentFault"""
    if refused := write_inside(side, f"/sys/class/net/{side.interface}/threaded", "1"):
        raise EnvironmentFault(
            f"veth: the kernel's receive work cannot be moved to {where}: {refused} (threaded NAPI needs Linux 5.19 and iproute2 6.0)"
        )
    threads = _napi_threads(side.interface)
    if not threads:
        raise EnvironmentFault(f"veth: the kernel's receive work cannot be moved to {where}: no thread napi/{side.interface}-* appeared")
    return threads


def went_down(work: Moved) -> bool:
    """Return whether the interface went down since the move: this ended its threads, and new ones run where the scheduler puts them."""
    return any(not _is_thread_of(work.side, thread) for thread in work.threads)


def elsewhere(work: Moved) -> str:
    """Return why packets may be handled elsewhere than in ``work``: a thread is gone or may run on other CPUs; else an empty string."""
    for thread in work.threads:
        if not _is_thread_of(work.side, thread):
            return f"the NAPI thread {thread} of {work.side.interface} is gone"
        with contextlib.suppress(ProcessLookupError):
            if os.sched_getaffinity(thread) != {work.cpu}:
                return f"the NAPI thread {thread} of {work.side.interface} may run on other CPUs than {work.cpu}"
    return ""


def _is_thread_of(side: Side, thread: int) -> bool:
    """Return whether this number still is a NAPI thread of the interface, and not another thread."""
    try:
        return Path(f"/proc/{thread}/comm").read_bytes().startswith(f"napi/{side.interface}-".encode())
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Counts:
    """A reading of the kernel's receive work."""

    softirqs: Mapping[int, int]  #: CPU -> NET_RX softirqs
    threads_ns: Mapping[int, int]  #: NAPI thread -> time that it ran


def counts(*works: Moved) -> Counts:
    """Read where receive work was done until now."""
    lines = Path("/proc/softirqs").read_text(encoding="ascii").splitlines()
    cpus = [int(word.removeprefix("CPU")) for word in lines[0].split()]
    found = next((line.split()[1:] for line in lines if line.split()[0] == "NET_RX:"), [])
    threads = run_times_ns([thread for work in works for thread in work.threads])
    return Counts(dict(zip(cpus, map(int, found), strict=False)), threads)


def run_times_ns(threads: Sequence[int]) -> dict[int, int]:
    """Return for each thread that still is there the time that it ran until now."""
    found = {}
    for thread in threads:
        with contextlib.suppress(OSError, ValueError, IndexError):
            found[thread] = int(Path(f"/proc/{thread}/schedstat").read_text(encoding="ascii").split()[0])
    return found


def ran_elsewhere(work: Moved, before: Counts, after: Counts, packets: int) -> str:
    """Return why receive work may have run outside the threads of ``work``; empty when the counts prove that it did not.

    Without the threads, a softirq would handle up to 64 packets (the weight of a NAPI poll). Fewer softirqs than one per 64 packets come from the
    rest of the machine. The work of both sides must have been moved.

    Args:
        packets: number that arrived between the two readings
    """
    if reason := elsewhere(work):
        return reason
    ran_ns = sum(after.threads_ns.get(t, 0) - before.threads_ns.get(t, 0) for t in work.threads)
    if packets > 0 and ran_ns <= 0:
        return f"the NAPI threads of CPU {work.cpu} did not run while {packets} packets arrived"
    softirqs = sum(count - before.softirqs.get(cpu, 0) for cpu, count in after.softirqs.items())
    if softirqs > packets // 64:
        return f"there were {softirqs} receive softirqs while {packets} packets arrived: some packets were handled outside the NAPI threads"
    return ""


def _napi_threads(interface: str) -> list[int]:
    """Return numbers of the kernel's threads ``napi/<interface>-<number>``."""
    given_up = time.monotonic() + _THREAD_COMES_S
    while True:
        found = []
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, UnicodeDecodeError):
                if Path(f"/proc/{entry.name}/comm").read_text(encoding="utf-8").startswith(f"napi/{interface}-"):
                    found.append(int(entry.name))
        if found or time.monotonic() > given_up:
            return sorted(found)
        time.sleep(0.01)
