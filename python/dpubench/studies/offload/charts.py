"""The charts of study ``offload``: those of DPU-Bench, and gain over what was found to predict it."""

from __future__ import annotations

from typing import Final

from dpubench.studies.measured.charts import Chart
from dpubench.studies.offload import quantities as q

_PATTERNS: Final = ("broadcast", "gather", "allgather", "allgather-shared", "scatter", "all-to-all", "reduce", "allreduce")
_BYTES: Final = "message, B"
_KINDS: Final = ("test", "path", "work")


def _of_pattern(pattern: str, path: str) -> tuple[Chart, ...]:
    """Return the charts of a pattern on a path: efficiency and time over message size and number of workers."""
    name, where = f"{pattern.capitalize()}, {path}", {"test": pattern, "path": path}
    return (
        Chart(f"{name}: efficiency over message size", q.EFFICIENCY, "bytes", _BYTES, where, least=2),
        Chart(f"{name}: efficiency over workers", q.EFFICIENCY, "workers", "workers", where, least=2),
        Chart(f"{name}: pure communication over workers", q.COMMUNICATION, "workers", "workers", where, least=2),
    )


CHARTS: Final = (
    *(chart for pattern in _PATTERNS for path in ("staged", "direct") for chart in _of_pattern(pattern, path)),
    Chart("Gain over bytes through memory per byte communicated", q.STEP_GAIN, q.MEMORY, "bytes through memory per byte communicated", by=_KINDS),
    Chart("Gain over the share of time that the host computes", q.STEP_GAIN, q.SHARE, "time that the host computes, %", by=_KINDS),
)
