"""The charts of study ``link``: those of the IPSJ report, and what it left open (CPU time, encrypted files)."""

from __future__ import annotations

from typing import Final

from dpubench.studies.measured.charts import Chart

_BYTES: Final = "message, B"
CHARTS: Final = (
    Chart("Throughput over message size", "goodput_gbps", "bytes", _BYTES, {"test": "throughput"}),
    Chart("Round trip over message size, median", "rtt_p50_us", "bytes", _BYTES, {"test": "latency"}),
    Chart("Round trip over message size, 99 %", "rtt_p99_us", "bytes", _BYTES, {"test": "latency"}),
    Chart("Busy CPUs at the sender", "sender_cpus", "bytes", _BYTES, {"test": "throughput"}),
    Chart("Busy CPUs at the receiver", "receiver_cpus", "bytes", _BYTES, {"test": "throughput"}),
    Chart("Busy CPUs at both ends", "both_cpus", "bytes", _BYTES, {"test": "throughput"}),
    Chart("A file in plain and encrypted", "goodput_gbps", "protection", "protection of the file", {"test": "transfer"}),
    Chart("RDMA bandwidth over message size", "goodput_gbps", "bytes", _BYTES, {"test": "rdma"}),
    Chart("RDMA round trip over message size", "rtt_p50_us", "bytes", _BYTES, {"test": "rdma"}),
)
