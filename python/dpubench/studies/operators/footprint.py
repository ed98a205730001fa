"""The caches of the machine that hold the working set of a point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dpubench.studies.operators.model import PointSummary

#: Level of a working set that fits in no known cache.
MEMORY: Final = "memory"
_KIB: Final = 1 << 10


def level(own_bytes: int, all_bytes: int, machine: Mapping[str, Any]) -> str:
    """Return the smallest cache that holds a working set: ``L1d``, ``L2``, ``L3``, or ``memory``; ``beyond L2`` where L3 is not known.

    ``own_bytes`` must fit the caches of a core. ``all_bytes``, of all threads, must fit L3, which they share. The result is empty where no cache is
    known.
    """
    for name, key in (("L1d", "l1d_bytes"), ("L2", "l2_bytes")):
        if own_bytes <= int(machine.get(key) or 0):
            return name
    shared = int(machine.get("l3_bytes") or 0)
    if not shared:
        return "beyond L2" if machine.get("l2_bytes") else ""
    return "L3" if all_bytes <= shared else MEMORY


def place(point: PointSummary, machine: Mapping[str, Any]) -> None:
    """Set the cache levels of ``point``; a point of an earlier version has none for its buffers."""
    if point.touched_bytes is not None:
        point.touched_level = level(point.touched_bytes, point.touched_bytes * point.threads, machine)
    if point.memory_bytes:
        point.state_level = level(point.memory_bytes, point.memory_bytes, machine)


def words(point: PointSummary) -> str:
    """Return the working set as text; empty for a point of an earlier version.

    Example: ``4.0 MiB of buffers (L3), 64 MiB of tables (memory), 29114 keys``.
    """
    if point.touched_bytes is None:
        return ""
    each = " a thread" if point.threads > 1 else ""
    told = [f"{_size(point.touched_bytes)} of buffers{each}{_in(point.touched_level)}"]
    told += [f"{_size(point.memory_bytes)} of tables{_in(point.state_level)}"] if point.memory_bytes else []
    told += [f"{point.distinct_messages:,} messages"] if point.distinct_messages else []
    told += [f"{point.distinct_keys:,} keys"] if point.distinct_keys else []
    return ", ".join(told)


def _in(name: str) -> str:
    return f" ({name})" if name else ""


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (_KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} B"
