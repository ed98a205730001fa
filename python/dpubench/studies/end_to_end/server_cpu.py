"""Adds up the time of the server's CPUs in the measured part of a trial, by parts: pure functions over ``served`` events.

There are two parts: the *application's* time (the server's loops, in polls that found packets) and the *kernel's receive work* (threads of the kernel
that receive for the port, on the server's CPU). If a part cannot be known, there is no figure at all, and the reason stands in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

#: The reason why a run of an earlier version has no figure.
BEFORE: Final = (
    "the dpubench that made this run counted set-up and drain too (from begin to collect), but not the kernel's receive work: measure again"
)
#: Smallest and largest share of the measured part that the server's loops may have noted.
_LEAST_SEEN: Final = 0.5
_MOST_SEEN: Final = 1.1


def account(served: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the sums over all servers on the way; None if one of them did not tell its measured part from the rest."""
    parts = [event.get("measured") for event in served]
    if not parts or any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    sums = {name: sum(int(part[name]) for part in known) for name in ("cores", "core_ns", "application_ns")}
    kernel = [int(part["receive_work_ns"]) for part in known if "receive_work_ns" in part]
    # The first server sees all packets.
    packets = int(known[0]["packets"])
    return sums | {"receive_work_ns": sum(kernel) if kernel else None, "packets": packets, "is_in_kernel": _is_in_kernel(served)}


def _is_in_kernel(served: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether an eBPF program answered packets before a loop saw them."""
    return any("elsewhere" in told for event in served for told in event.get("workload", {}).values() if isinstance(told, Mapping))


def why_not(served: Sequence[Mapping[str, Any]], duration_s: float, port: Mapping[str, Any], *, shared: bool) -> str:
    """Return why the servers' CPU time of a trial is not known; empty if it is.

    Args:
        duration_s: seconds of the measured part
        port: the one that faces the client, as its server has described it
        shared: whether two servers have a CPU in common
    """
    if shared:
        return "two servers share a CPU: their times cannot be told apart"
    found = account(served)
    if found is None:
        return "a server's loops saw nothing of the measured part"
    if port.get("kernel_receives") and found["receive_work_ns"] is None:
        return f"port {port['kind']}: the kernel receives for it in threads that dpubench did not place, and their time is not known"
    seen = found["core_ns"] / found["cores"] / (duration_s * 1e9)
    if not _LEAST_SEEN <= seen <= _MOST_SEEN:
        return f"the server's loops noted {100 * seen:.0f} % of the measured part: other work kept them from their CPU"
    return ""
