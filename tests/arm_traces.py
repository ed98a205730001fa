"""Traces every engine, application and workload of a bundle for 64-bit Arm twice and simulates the traces: ``arm_traces.py BUNDLE``.

``make arm`` runs it. The two captures must give the same bytes. Two kinds of engines are exempt and are only traced and simulated: those of
operators that draw random numbers as they run, and those of devices, which are polled.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import inputs
from dpubench.errors import UserError
from dpubench.simulation import applications as traced_programs
from dpubench.simulation import kernels, simulator
from dpubench.simulation.applications import Application, ProgramTrace, Workload
from dpubench.simulation.kernels import ArmPrograms, Kernel, Trace
from dpubench.workers.process import StopRequest

#: Operators that draw random numbers: nonces and blinding.
RANDOM: Final = ("rsa", "dsa", "ecdsa")
#: Parameters of engines that cannot run with their operator's defaults.
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
        failed += all_whole(arm, Path(scratch), processes, stop)
    return 1 if failed else 0


def all_whole(arm: ArmPrograms, scratch: Path, processes: int, stop: StopRequest) -> int:
    """Trace and simulate all applications and workloads; return how many failed."""
    files = small_inputs(scratch)
    wanted: list[Application | Workload] = [
        Application(entry["name"], tuple((kind["name"], files[kind["name"]]) for kind in entry["inputs"] if kind["name"] in read_by_default(entry)))
        for entry in traced_programs.applications(arm)
    ]
    wanted += [
        Workload(entry["name"], frames=128, files=tuple((k, files[k]) for k in sorted(read_by_default(entry) & {"corpus", "rules"})))
        for entry in traced_programs.workloads(arm)
    ]
    one, two = (
        dict(traced_programs.trace_all(wanted, arm, cache=scratch / name, processes=processes, stop=stop)) for name in ("whole-one", "whole-two")
    )
    failed = refused_before_traced(arm)
    for what in wanted:
        said = judge_whole(one[what], two[what])
        failed += said.startswith("FAILED")
        print(f"{what.label:40} {said}", flush=True)
    print(f"arm_traces: {len(wanted)} applications and workloads, {failed} failed")
    return failed


def refused_before_traced(arm: ArmPrograms) -> int:
    """Return 1 if the programs do not report which values and engines of whole programs are impossible, else 0."""
    asked: dict[Application | Workload, str] = {
        Application("l3-forwarding", (), (("routes", "16"),)): "",
        Application("l3-forwarding", (), (("routes", "many"),)): "must be a whole number, not 'many'",
        Workload("flow-table", (), (("flows", "0"),)): "flows must be from",
        Workload("flow-table", (("table", "portable"),)): "",
        Workload("flow-table", (("table", "no-such"),)): "stage table has no engine 'no-such'",
    }
    answers = traced_programs.refusals(list(asked), arm)
    told = zip(asked.items(), answers, strict=True)
    wrong = [f"{what.label}: {answer!r}" for (what, said), answer in told if said not in answer or bool(said) != bool(answer)]
    print("arm_traces: what whole programs refuse: " + ("; ".join(wrong) or "as it should be"))
    return int(bool(wrong))


def read_by_default(entry: dict[str, Any]) -> set[str]:
    """Return the kinds of input that an application or workload reads with its parameters' defaults."""
    values = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]}
    return {kind["name"] for kind in entry["inputs"] if all(values.get(key) == value for key, value in kind.get("only_with", {}).items())}


def small_inputs(folder: Path) -> dict[str, Path]:
    """Write a small file of each kind of input; return their paths."""
    requests = [f"GET /{'a/' * n}etc/passwd?q={n} HTTP/1.1\r\nHost: host{n}.example\r\n\r\n".encode() for n in range(40)]
    contents = {
        "capture": capture(requests),
        "corpus": "".join(f"http://host{n}.example/{n}/../index?q=%41{n}\n" for n in range(200)).encode(),
        "routes4": b"198.18.0.0/15,1\n198.19.0.0/16,2\n",
        "routes6": b"2001:db8::/32,1\n",
        "rules": b"1:/etc.passwd/\n2:/q=A1[0-9]/\n3:/nothing/i\n",
        "domains": b"host7.example\nexample.org\n",
    }
    files = {kind: folder / "inputs" / kind for kind in contents}
    (folder / "inputs").mkdir()
    for kind, file in files.items():
        file.write_bytes(contents[kind])
    return files


def capture(payloads: Sequence[bytes]) -> bytes:
    """Return a pcap file with one packet per payload, each of its own TCP connection."""
    frames = []
    for number, payload in enumerate(payloads):
        tcp = struct.pack("!HHIIBBHHH", 1000 + number, 80, 1, 1, 0x50, 0x18, 65535, 0, 0) + payload
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0, bytes([198, 18, 0, 1]), bytes([198, 19, 0, number]))
        total = sum(struct.unpack("!10H", head))
        while total > 0xFFFF:
            total = (total & 0xFFFF) + (total >> 16)
        frames.append(bytes(12) + b"\x08\x00" + head[:10] + struct.pack("!H", ~total & 0xFFFF) + head[12:] + tcp)
    records = [struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame for number, frame in enumerate(frames)]
    return struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records)


def judge_whole(one: ProgramTrace | UserError, two: ProgramTrace | UserError) -> str:
    """Return the outcome of an application or workload as a line of text."""
    for trace in (one, two):
        if isinstance(trace, UserError):
            return f"FAILED: {trace}"
    assert isinstance(one, ProgramTrace) and isinstance(two, ProgramTrace)
    if one.digest != two.digest:
        return "FAILED: two captures differ"
    extent = {"phase_instructions": 1_000_000}
    job = simulator.job([{"id": "one", "processor": all_kinds(), "contexts": [{"trace": str(one.folder)}], "extent": extent}])
    result = simulator.simulate_one(job, str(simulator.program()))
    if result["event"] == "failure":
        return f"FAILED: {result['message']}"
    phases = len(result["contexts"][0]["phases"])
    return f"{result['instructions']:12} instructions, {phases} phases, {result['unknown_share'] * 100:.4f} % unknown"


def judge(one: Trace | UserError, two: Trace | UserError, varies: bool) -> str:
    """Return the outcome of a kernel as a line of text."""
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
    """Return a processor that executes all kinds of instructions."""
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
