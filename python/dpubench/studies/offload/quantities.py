"""The quantities of study ``offload``, and how they follow from the times of the phases (pure functions)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dpubench.analysis.model import Quantity

EFFICIENCY: Final = "efficiency"
PUBLISHED: Final = "efficiency_published_percent"
COMMUNICATION_GAIN: Final = "reference_over_communication"
HIDDEN: Final = "longest_over_overlapped"
REFERENCE_GAIN: Final = "reference_over_overlapped"
OVERLAP: Final = "overlap_percent"
COMPLETE: Final = "complete_percent"
STEP_GAIN: Final = "step_gain"
SHARE: Final = "compute_share_percent"
MEMORY: Final = "memory_per_byte"
MEMORY_HOST: Final = "host_memory_per_byte"
IMBALANCE: Final = "imbalance"
REFERENCE: Final = "reference_us"
COMMUNICATION: Final = "communication_us"
COMPUTE: Final = "compute_us"
OVERLAPPED: Final = "overlapped_us"
MPI_BLOCKING: Final = "mpi_blocking_us"
MPI_NONBLOCKING: Final = "mpi_nonblocking_us"

#: The first one that a point has decides when it is known well enough.
QUANTITIES: Final = (
    Quantity(EFFICIENCY, "reference / max(communication, compute)", "", "more"),
    Quantity(PUBLISHED, "the same as published: at most 100 %", "%", "more"),
    Quantity(COMMUNICATION_GAIN, "reference / communication", "", "more"),
    Quantity(HIDDEN, "max(communication, compute) / overlapped", "", "more"),
    Quantity(REFERENCE_GAIN, "reference / overlapped", "", "more"),
    Quantity(OVERLAP, "overlap achieved", "%", "more"),
    Quantity(COMPLETE, "hosts whose data were there when their compute ended", "%", "more"),
    Quantity(STEP_GAIN, "gain: (reference + compute) / overlapped", "", "more"),
    Quantity(REFERENCE, "reference", "us", "less"),
    Quantity(COMMUNICATION, "pure communication", "us", "less"),
    Quantity(COMPUTE, "pure compute", "us", "neither"),
    Quantity(OVERLAPPED, "overlapped", "us", "less"),
    Quantity(MPI_BLOCKING, "MPI's collective", "us", "less"),
    Quantity(MPI_NONBLOCKING, "MPI's non-blocking one over compute", "us", "less"),
    Quantity(SHARE, "time that the host computes, of reference + compute", "%", "neither"),
    Quantity(MEMORY, "bytes through memory per byte communicated", "", "less"),
    Quantity(MEMORY_HOST, "likewise, host memory alone", "", "less"),
    Quantity(IMBALANCE, "hosts of the busiest worker over the mean", "", "less"),
)
#: What says how good offloading is. It is withheld where ranks had to share cores.
EFFICIENCIES: Final = frozenset({EFFICIENCY, PUBLISHED, COMMUNICATION_GAIN, HIDDEN, REFERENCE_GAIN, OVERLAP, COMPLETE, STEP_GAIN, SHARE})
#: May be zero or negative, or has the same value in every round: its interval is linear.
LINEAR: Final = frozenset({OVERLAP, PUBLISHED, COMPLETE, MEMORY, MEMORY_HOST, IMBALANCE})


@dataclass(frozen=True)
class Times:
    """The times of the phases of one collective in microseconds."""

    reference: float
    communication: float
    compute: float
    overlapped: float


def figures_of(times: Times) -> dict[str, float]:
    """Return the figures that follow from the times, by quantity.

    The overlap is the part of the shorter of communication and compute that the overlapped phase saved: 100 % where it took as long as the longer
    one, 0 where it took as long as both one after the other, and less where overlapping cost time.
    """
    longest = max(times.communication, times.compute)
    efficiency = times.reference / longest
    saved = times.communication + times.compute - times.overlapped
    return {
        EFFICIENCY: efficiency, PUBLISHED: min(100 * efficiency, 100.0), COMMUNICATION_GAIN: times.reference / times.communication,
        HIDDEN: longest / times.overlapped, REFERENCE_GAIN: times.reference / times.overlapped,
        OVERLAP: 100 * saved / min(times.communication, times.compute), STEP_GAIN: (times.reference + times.compute) / times.overlapped,
        REFERENCE: times.reference, COMMUNICATION: times.communication, COMPUTE: times.compute, OVERLAPPED: times.overlapped,
        SHARE: 100 * times.compute / (times.reference + times.compute),
    }  # fmt: skip


def memory_of(communicated: float, host: float, device: float) -> dict[str, float]:
    """Return the bytes that hosts and workers move through memory for each byte that is communicated; nothing where no byte is."""
    return {MEMORY: (host + device) / communicated, MEMORY_HOST: host / communicated} if communicated else {}


def named(parameters: Mapping[str, str]) -> str:
    """Return the id of a point."""
    own = ",".join(f"{name}={parameters[name]}" for name in ("hosts", "workers", "bytes", "work", "ratio") if name in parameters)
    return f"{parameters['test']}/{parameters['path']},{parameters['assignment']}/{own}"
