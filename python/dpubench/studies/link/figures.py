"""The figures of study ``link``: those of the IPSJ report, and what it left open (CPU time, encrypted files)."""

from __future__ import annotations

from typing import Final

from dpubench.studies.measured.figures import Figure

_BYTES: Final = "message, B"
FIGURES: Final = (
    Figure("Throughput over message size", "goodput_gbps", "bytes", _BYTES, {"test": "throughput"}),
    Figure("Round trip over message size, median", "rtt_p50_us", "bytes", _BYTES, {"test": "latency"}),
    Figure("Round trip over message size, 99 %", "rtt_p99_us", "bytes", _BYTES, {"test": "latency"}),
    Figure("Busy CPUs at the sender", "sender_cpus", "bytes", _BYTES, {"test": "throughput"}),
    Figure("Busy CPUs at the receiver", "receiver_cpus", "bytes", _BYTES, {"test": "throughput"}),
    Figure("Busy CPUs at both ends", "both_cpus", "bytes", _BYTES, {"test": "throughput"}),
    Figure("A file in plain and encrypted", "goodput_gbps", "protection", "protection of the file", {"test": "transfer"}),
    Figure("RDMA bandwidth over message size", "goodput_gbps", "bytes", _BYTES, {"test": "rdma"}),
    Figure("RDMA round trip over message size", "rtt_p50_us", "bytes", _BYTES, {"test": "rdma"}),
)
