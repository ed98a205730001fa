"""Traces every engine of a bundle for 64-bit Arm twice and puts the traces through the model: ``arm_traces.py BUNDLE``; part of ``make arm``.

The two captures must give the same bytes. Operators that draw random numbers as they go and engines of devices, which are polled, are the
exception: they are only traced and simulated.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from dpubench import inputs
from dpubench.cores import kernels, simulator
from dpubench.cores.kernels import ArmPrograms, Kernel, Trace
from dpubench.errors import UserError
from dpubench.workers.process import StopRequest

#: Nonces and blinding.
RANDOM: Final = ("rsa", "dsa", "ecdsa")
#: What an engine cannot do with its operator's defaults.
PARAMS: Final = {("lpm", "dpdk-lpm"): (("prefixes", "1000"),)}
MESSAGES: Final = {"rsa": 1, "dsa": 1, "ecdsa": 1}


def main() -> int:
    arm = ArmPrograms.of(Path(sys.argv[1]))
    given = inputs.resolve(("routes4", "routes6", "rules", "corpus"), {})
    wanted = [
        Kernel(operator["name"], engine["name"], PARAMS.get((operator["name"], engine["name"]), ()), messages=MESSAGES.get(operator["name"], 64))
        for operator in arm.catalog()["catalog"]["operators"]
        for engine in operator["engines"]
        if engine["available"]
    ]
    polled = {(o["name"], e["name"]) for o in arm.catalog()["catalog"]["operators"] for e in o["engines"] if "in_flight" in e}
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, StopRequest() as stop:
        processes = len(os.sched_getaffinity(0))
        one, two = (dict(kernels.trace_all(wanted, given, arm, cache=Path(scratch, name), processes=processes, stop=stop)) for name in ("one", "two"))
        for kernel in wanted:
            varies = kernel.operator in RANDOM or (kernel.operator, kernel.engine) in polled
            said = judge(one[kernel], two[kernel], varies)
            failed += said.startswith("FAILED")
            print(f"{kernel.operator:12} {kernel.engine:18} {said}", flush=True)
    print(f"arm_traces: {len(wanted)} engines, {failed} failed")
    return 1 if failed else 0


def judge(one: Trace | UserError, two: Trace | UserError, varies: bool) -> str:
    """What came of a kernel."""
    for trace in (one, two):
        if isinstance(trace, UserError):
            return f"FAILED: {trace}"
    assert isinstance(one, Trace) and isinstance(two, Trace)
    if one.digest != two.digest and not varies:
        return "FAILED: two captures differ"
    job = simulator.job([{"id": "one", "processor": all_kinds(), "contexts": [{"trace": str(one.folder)}]}])
    result = simulator.simulate_one(job, str(simulator.program()))
    if result["event"] == "failure":
        return f"FAILED: {result['message']}"
    return f"{result['instructions'] / one.messages:12.1f} instructions a message, {result['unknown_share'] * 100:.4f} % unknown"


def all_kinds() -> dict[str, object]:
    """A processor that executes all there is."""
    listed = subprocess.run([simulator.program(), "--list"], capture_output=True, check=True, timeout=60).stdout
    known = json.loads(listed)["catalog"]["kinds"]
    one = {"latency_cycles": 1, "every_cycles": 1}
    computes = {kind: one for kind in known if kind not in ("load", "store", "unknown", "nop")}
    return {
        "name": "all-kinds",
        "clock": {"mhz": 1000},
        "organisation": {"cores": 1, "contexts": 1, "issue": "out-of-order", "policy": "single"},
        "widths": {"fetch": 4, "enter": 4, "issue": 4, "commit": 4, "depth_cycles": 5, "buffer": 16},
        "window": {"instructions": 128, "loads": 32, "stores": 32},
        "queues": [{"name": "all", "entries": 64}],
        "units": [
            {"name": "computes", "count": 4, "queue": "all", "executes": computes},
            {"name": "accesses", "count": 2, "queue": "all", "executes": {"load": one, "store": one}},
        ],
        "store_forwarding": {"latency_cycles": 1},
        "branches": {"predictor": "perfect"},
        "caches": {"ideal": {"ideal": True, "latency_cycles": 1}},
        "instruction_cache": "ideal",
        "data_cache": "ideal",
        "memory": {"latency_ns": 100, "banks": 1, "bank_busy_ns": 0, "bandwidth_gbps": 100},
    }


if __name__ == "__main__":
    sys.exit(main())
