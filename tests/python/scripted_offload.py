#!/usr/bin/env python3
"""A stand-in for ``dpubench-offload``: speaks its contract with made-up times, and misbehaves as told.

The environment variable SCRIPT names a JSON file: {"mpi": TEXT, "times_us": {PHASE: TIME}, "faults": [{"point": PATTERN, "phase": PHASE, "kind":
"die|hang|fail|rubbish|wrong", "after": TRIALS?}], "emulated": BOOL, "direct": BOOL, "arrived": SHARE, "register": MESSAGE, "unpinned": BOOL}. Ranks
other than the first wait until that one has ended, so that the launcher has something to end. Needs only Python.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
import time

TYPE_CHECKING = False  # the name that type checkers know; importing it from typing would slow the start
if TYPE_CHECKING:
    from typing import Any

SCRIPT = json.loads(pathlib.Path(os.environ["SCRIPT"]).read_text()) if os.environ.get("SCRIPT") else {}
PATTERNS = ["broadcast", "scatter", "gather", "allgather", "allgather-shared", "all-to-all", "reduce", "allreduce"]
PHASES = ("reference", "communication", "compute", "overlapped", "mpi_blocking", "mpi_nonblocking")
TIMES_US = {"reference": 10.0, "communication": 12.0, "compute": 10.0, "overlapped": 12.5, "mpi_blocking": 9.0, "mpi_nonblocking": 18.0}
MPI = SCRIPT.get("mpi", "Open MPI v4.1.4, scripted")


def emit(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def hello(**more: Any) -> None:
    emit(
        "hello", schema="dpubench.event/1", program="dpubench-offload", version="0",
        build={"compiler": "none", "flags": "", "revision": "", "type": "scripted"},
        machine={"host": "scripted", "cpu": "none", "cores_online": SCRIPT.get("cores", 64), "cpus_online": 64}, **more,
    )  # fmt: skip


def catalog() -> dict[str, Any]:
    without = [{"pattern": name, "path": "direct", "reason": f"{name} needs the workers' memory"} for name in ("allgather", "reduce", "allreduce")]
    return {
        "patterns": PATTERNS, "paths": ["staged", "direct"], "assignments": ["block", "cyclic", "topology"], "work": ["cache", "memory"],
        "transports": [{"name": "ucx", "version": "scripted"}], "mpi": MPI, "combinations": without,
    }  # fmt: skip


def misbehave(fault: dict[str, Any], phase: str) -> None:
    kind = fault["kind"]
    if kind == "die":
        sys.stderr.write(f"scripted: rank 1 died in {phase}\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "hang":
        time.sleep(3600)
    elif kind == "fail":
        emit("failure", phase=phase, message="block 3 of host 1 holds 0xA5 and not 0x17")
        sys.exit(1)
    elif kind == "rubbish":
        print("Segmentation fault (not really)", flush=True)
        time.sleep(3600)


def trial(command: dict[str, Any], job: dict[str, Any], number: int) -> None:
    faults = [f for f in SCRIPT.get("faults", []) if f["point"] == command["pattern"] and number >= f.get("after", 0)]
    for phase in PHASES:
        emit("progress", phase=phase, done=0, of=1)
        for fault in faults:
            if fault["phase"] == phase:
                misbehave(fault, phase)
    times = TIMES_US | SCRIPT.get("times_us", {})
    ratio = command.get("compute_ratio", 1.0)
    communicated = command["bytes"] * job["hosts"]
    phases = {phase: {"ns": [1e3 * us * (ratio if phase == "compute" else 1), 1.01e3 * us]} for phase, us in times.items()}
    wrong = {"message_bytes": command["bytes"] + 1} if any(f["kind"] == "wrong" for f in faults) else {}
    emit(
        "trial",
        **{
            "pattern": command["pattern"], "path": command["path"], "assignment": command["assignment"], "work": command["work"],
            "message_bytes": command["bytes"], "iterations": 2, "phases": phases,
            "arrived_during_compute_bytes": int(SCRIPT.get("arrived", 1.0) * communicated),
            "bytes": {"communicated": communicated, "host_memory": 2 * communicated, "worker_memory": 2 * communicated, "origin": "algorithm"},
            "verified_bytes": communicated,
            **wrong,
        },
    )  # fmt: skip


def opened(job: dict[str, Any]) -> None:
    cpus = job.get("cpus")
    ranks: list[dict[str, Any]] = []
    for role, number in (("host", job["hosts"]), ("worker", job["workers"])):
        for i in range(number):
            cpu = None if cpus is None else cpus[role][i % len(cpus[role])]
            ranks.append({"rank": len(ranks), "role": role, "node": "scripted", "cpu": cpu, "pinned": cpu is not None})
    emulated = SCRIPT.get("emulated", False)
    one_sided = {"put": not emulated, "get": not emulated, "emulated": emulated, "transports": "scripted", "direct": SCRIPT.get("direct", True)}
    emit("opened", ranks=ranks, one_sided=one_sided, mpi=MPI, ucx="scripted")


def main() -> None:
    if "--list" in sys.argv:
        hello(catalog=catalog())
        return
    if int(os.environ.get("OMPI_COMM_WORLD_RANK", "0")) > 0:
        while os.getppid() > 1:  # until its launcher ends it, or is gone
            time.sleep(0.05)
        return
    hello()
    job = json.loads(sys.stdin.readline())
    if "jobs" in SCRIPT:
        with pathlib.Path(SCRIPT["jobs"]).open("a") as file:
            kept = ("OMPI_MCA_pml", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "UCX_POSIX_DIR")
            file.write(json.dumps({"job": job, "environment": {name: os.environ.get(name) for name in kept}}) + "\n")
    emit("progress", phase="wire-up", done=0, of=1)
    if "register" in SCRIPT:
        emit("failure", phase="register", message=SCRIPT["register"])
        sys.exit(1)
    if SCRIPT.get("emulated") and job["emulated"] == "refuse":
        emit("failure", phase="one-sided", message="put over tcp is emulated: nothing arrived while the host computed")
        sys.exit(1)
    opened(job)
    number = 0
    for line in sys.stdin:
        command = json.loads(line)
        if "end" in command:
            break
        trial(command, job, number)
        number += 1
    clock = {"source": "scripted", "hz": 1e9, "overhead_ns": 1.0, "resolution_ns": 1.0, "cross_check_ppm": 0.0}
    emit("done", trials=number, failures=0, elapsed_s=0.0, clock=clock)


main()
