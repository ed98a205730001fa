#!/usr/bin/env python3
"""Stand-ins for ``dpubench-server`` and ``dpubench-traffic``: speak the contract of docs/end-to-end.md with made-up figures, misbehave as told.

The first argument says which of the two to be. The environment variable SCRIPT names a JSON file: {"capacity_pps": {WORKLOAD: PPS}, "client_pps":
PPS, "spread": SHARE, "trial_s": SECONDS that a trial really takes, "gap_ns": NS of the client's longest gap, "lag_ns": NS of its median lag,
"stalls": number of trials of each pair that lose packets in that gap, "flows": flows of the traffic (with it flow-table can be filled), "forgets":
flows that the table forgets, "room": flows that the table can hold, "ports": further kinds of port, "unavailable": {ENGINE: REASON}, "disagree":
WORKLOAD, "wrong": WORKLOAD, "log": FILE, "faults": [{"side": "server|client", "phase": "hello|prepare|ready|begin|trial|collect|check|end", "kind":
"failure|kill|exit3|hang|fork-hang|rubbish|schema|unknown-event", "workload": NAME?, "trial": N?, "once": FILE?}]}. Needs only Python.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import sys
import time

TYPE_CHECKING = False  # the name that type checkers know; importing it from typing would slow the start
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

SIDE = sys.argv[1]
SCRIPT = json.loads(pathlib.Path(os.environ["SCRIPT"]).read_text()) if os.environ.get("SCRIPT") else {}
CAPACITY = {"forward": 4e6, "flow-table": 2e6, "application-recognition": 500e3} | SCRIPT.get("capacity_pps", {})
UNAVAILABLE = {"xdp": "no eBPF here"} | SCRIPT.get("unavailable", {})


def emit(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def log(text: str) -> None:
    if SCRIPT.get("log"):
        with pathlib.Path(SCRIPT["log"]).open("a") as file:
            file.write(f"{SIDE} {text}\n")


def engine(name: str) -> dict[str, Any]:
    return {"name": name, "summary": f"scripted {name}", "available": name not in UNAVAILABLE, "reason": UNAVAILABLE.get(name, "")}


def stage(name: str, *engines: str) -> dict[str, Any]:
    return {"name": name, "summary": f"the {name}", "operator": "", "default_engine": engines[0], "engines": [engine(e) for e in engines]}


def parameter(name: str, default: str, values: list[str]) -> dict[str, Any]:
    return {"name": name, "summary": f"the {name}", "values": values, "default": default, "is_mode": False, "unit": ""}


def workload(name: str, stages: list[dict[str, Any]], parameters: Sequence[dict[str, Any]] = (), inputs: Sequence[str] = ()) -> dict[str, Any]:
    return {"name": name, "summary": f"scripted {name}", "definition": "sends back", "parameters": list(parameters), "stages": stages,
            "inputs": [{"name": kind} for kind in inputs], "sources": ["scripted"]}  # fmt: skip


def port(name: str, available: bool = True) -> dict[str, Any]:
    names = {"socket": ("local", "peer"), "af_packet": ("interface",)}.get(name, ())
    arguments = [{"name": n, "summary": f"the {n}", "default": "1024" if n == "ring" else "", "required": False} for n in ("ring", *names)]
    reason, remedy = ("", "") if available else ("no such driver", "install it")
    return {"name": name, "summary": f"scripted {name}", "arguments": arguments, "available": available, "reason": reason, "remedy": remedy,
            "is_virtual": True, "shares_buffers": False, "needs_root": False}  # fmt: skip


START = [parameter("start", "prefilled", ["prefilled", "cold"]), parameter("idle_ms", "0", ["0", "100"])] if "flows" in SCRIPT else []
CATALOG = {
    "workloads": [
        workload("application-recognition", [stage("scan", "hyperscan", "pcre2"), stage("hash", "openssl", "portable")], inputs=["rules"]),
        workload("flow-table", [stage("table", "dpdk-hash", "portable", "xdp")], [parameter("flows", "100000", ["1000", "100000"]), *START]),
        workload("forward", []),
    ],
    "ports": [port("memif"), port("vhost", False), port("null"), *map(port, SCRIPT.get("ports", []))],
}


def hello(**more: Any) -> None:
    build = {"compiler": "none", "flags": "", "revision": "", "type": "scripted"}
    machine = {"host": "scripted", "cpu": "none"}
    emit("hello", schema="dpubench.event/1", program=f"dpubench-{SIDE}", version="0", build=build, machine=machine, **more)


def misbehave(kind: str) -> None:
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "exit3":
        sys.stderr.write("scripted: out of luck\n")
        sys.exit(3)
    elif kind == "fork-hang":
        if os.fork() == 0:
            time.sleep(3600)
        time.sleep(3600)
    elif kind == "hang":
        time.sleep(3600)
    elif kind == "rubbish":
        print("Segmentation fault (not really)", flush=True)
        time.sleep(3600)
    elif kind == "schema":
        emit("trial", trial=-1)
        time.sleep(3600)
    elif kind == "unknown-event":
        emit("celebration")
        time.sleep(3600)
    else:
        raise ValueError(kind)


class Program:
    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.workload = job["workload"]["name"]
        self.stalls = SCRIPT.get("stalls", 0)
        self.known = self.duration_s = 0
        self.receive_work: list[Any] = []

    def strike(self, phase: str, trial: int = 0) -> bool:
        """Carry out the faults of this phase; return whether the program must report a failure."""
        for fault in SCRIPT.get("faults", []):
            matches = fault["side"] == SIDE and fault["phase"] == phase and fault.get("workload", self.workload) == self.workload
            if not matches or fault.get("trial", trial) != trial or (fault.get("once") and pathlib.Path(fault["once"]).exists()):
                continue
            if fault.get("once"):
                pathlib.Path(fault["once"]).touch()
            if fault["kind"] == "failure":
                return True
            misbehave(fault["kind"])
        return False

    def ready(self) -> None:
        ports = self.job.get("ports") or [self.job["port"]]
        told = [
            {"kind": p["kind"], "driver": f"net_{p['kind']}", "detail": "", "is_virtual": True, "mtu": 1518, "queue_packets": 1024} for p in ports
        ]
        engines = self.job["workload"].get("engines", {})
        path = {"isa": "none", "detail": "", "is_hardware": False}
        stages = [
            {"name": s, "engine": e, "path": path, "verified": "7 known answers", "build_ns": 5e6, "memory_bytes": 1024} for s, e in engines.items()
        ]
        emit("ready", ports=told, stages=stages if SIDE == "server" else [])

    def served(self, number: int) -> None:
        stages = {s: {"packets": 1000, "sampled_packets": 64, "sampled_ns": 6400} for s in self.job["workload"].get("engines", {})}
        nothing = {"received": 0, "transmitted": 0, "tx_full": 0, "dropped": {}, "held": 0, "away": 0}
        stale = nothing | {"received": 5, "dropped": {"stale": 5}}
        core = {"cpu": 1, "received": 1000, "busy_ns": 40_000_000, "idle_ns": 60_000_000, "cpu_ns": 100_000_000}
        core |= {"voluntary_switches": 0, "involuntary_switches": 0}
        told = {"measured": self.measured()} if self.duration_s else {}
        if "start" in self.job["workload"].get("params", {}):
            inserted = 0 if self.known else 8
            told["workload"] = {"flow_table": {"measured": {"packets": 800, "inserted": inserted, "flows": self.known}}}
        emit(
            "served", trial=number, **nothing | {"received": 1000, "transmitted": 1000}, others=stale, stale=5, foreign=0, duplicates=0,
            not_noted=0, elapsed_ns=100_000_000, begun_ns=1_000_000_000, active_ns=90_000_000, busy_ns=40_000_000, idle_ns=60_000_000, busy_polls=4,
            idle_polls=6,            cpu_ns=100_000_000, cores=[core], residence_ns=percentiles(2000), stages=stages, gaps=[], pool_empty=0, port={},
            loop={name: {"packets": 1000, "sampled_packets": 64, "sampled_ns": 640} for name in ("note", "transmit")}, **told,
        )  # fmt: skip

    def measured(self) -> dict[str, Any]:
        """Return the CPU times of the measured part: half for the application, a tenth for the kernel if told which threads do its work."""
        core_ns = round(self.duration_s * 1e9)
        kernel = {"receive_work_ns": core_ns // 10} if self.receive_work else {}
        application_ns = core_ns // 2
        idle_ns = core_ns - application_ns - kernel.get("receive_work_ns", 0)
        return {"cores": 1, "from_ns": 20_000_000, "core_ns": core_ns, "application_ns": application_ns, "idle_ns": idle_ns, "packets": 800} | kernel

    def begin(self, command: dict[str, Any]) -> None:
        """Begin a trial. With ``keep_flows`` the table knows all flows except those that the script makes it forget."""
        self.duration_s, self.receive_work = command.get("duration_s", 0), command.get("receive_work", [])
        keeps = command.get("keep_flows", False)
        self.known = SCRIPT["flows"] - SCRIPT.get("forgets", 0) if keeps else 0
        emit("begun", trial=command["begin"], **({"flows": {"known": self.known, "room": SCRIPT.get("room", 100_000)}} if keeps else {}))

    def trial(self, spec: dict[str, Any]) -> None:
        time.sleep(SCRIPT.get("trial_s", 0.001))
        emit("progress", phase="trial", trial=spec["number"], done=0.5, of=1.0, sent=10, received=9)
        chance = random.Random(f"{os.getpid()}/{spec['number']}")
        spread = SCRIPT.get("spread", 0.0)
        capacity = CAPACITY[self.workload] * (1 + chance.uniform(-spread, spread))
        rate = spec.get("rate_pps", capacity)
        due = round(rate * spec["duration_s"])
        offered = min(due, round(SCRIPT.get("client_pps", 1e12) * spec["duration_s"]))
        self.lost = max(offered - round(capacity * spec["duration_s"]), 0)
        gaps, losses = [], []
        if self.lost:
            losses = [[0, round(spec["duration_s"] * 1e9), self.lost]]
        elif self.stalls > 0:
            self.stalls -= 1
            self.lost = 10
            gaps, losses = [[1_000_000, SCRIPT.get("gap_ns", 8_000_000)]], [[2_000_000, 5_000_000, 10]]
        self.missing = due - offered + self.lost
        received = due - self.missing
        wrong = SCRIPT.get("wrong") == self.workload
        emit(
            "trial", trial=spec["number"], begun_ns=1_000_000_000, offered_pps=rate, ramp_s=spec["ramp_s"], duration_s=spec["duration_s"], due=due,
            sent=offered, tx_full=0, received=received, duplicates=0, reordered=0, corrupted=0, wrong=3 if wrong else 0, stale=0, foreign=0,
            sent_bytes=64 * offered, received_bytes=64 * received, elapsed_ns=round(spec["duration_s"] * 1e9),
            lag_ns=percentiles(SCRIPT.get("lag_ns", 100)), latency_ns=percentiles(8000), gaps=gaps, losses=losses,
            first_wrong="the digest differs" if wrong else "",
        )  # fmt: skip

    def checked(self, number: int) -> None:
        lost = dict.fromkeys(("client_transmit", "server_receive", "server_drop", "server_transmit", "client_receive"), 0)
        lost["server_receive"] = self.lost
        lost["client_transmit"] = self.missing - self.lost
        agree = SCRIPT.get("disagree") != self.workload
        emit("checked", trial=number, lost=lost, flows=100, flows_wrong=0, first_wrong="" if agree else "flow 7: 3 packets, expected 4", agree=agree)

    def obey(self, command: dict[str, Any]) -> None:
        name = next(iter(command))
        number = command["trial"]["number"] if name == "trial" else command.get(name, 0)
        keeps = " keep_flows" if command.get("keep_flows") else ""
        log(f"{self.workload} {name} {json.dumps(command[name])}{keeps}")
        if self.strike(name, number):
            emit("failure", phase="serve" if SIDE == "server" else "trial", message=f"scripted: {name} went wrong")
        elif name == "begin":
            self.begin(command)
        elif name == "fill":
            emit("filled", trial=number, flows=SCRIPT["flows"], sent=SCRIPT["flows"], answered=SCRIPT["flows"])
        elif name == "trial":
            self.trial(command["trial"])
        elif name == "collect":
            if "dump" in command:
                pathlib.Path(command["dump"]).mkdir(parents=True, exist_ok=True)
            self.served(number)
        elif name == "check":
            if not pathlib.Path(command["dump"]).is_dir():
                emit("failure", phase="check", message=f"{command['dump']}: there is no such folder")
            else:
                self.checked(number)


def percentiles(median: float) -> dict[str, Any]:
    names = ("p50", "p90", "p99", "p99_9", "max", "mean")
    values = dict(zip(names, (median, 2 * median, 3 * median, 5 * median, 9 * median, median), strict=True))
    return {**values, "buckets": [[median, 900], [3 * median, 100]]}


def main() -> None:
    if "--list" in sys.argv:
        hello(catalog=CATALOG)
        return
    if "--check" in sys.argv:
        hello()
        emit("checked", combinations=[{"invalid": "", "engines": {}} for _ in sys.stdin])
        return
    hello()
    program = Program(json.loads(sys.stdin.readline()))
    log(f"{program.workload} job {json.dumps(program.job)}")
    if program.strike("prepare"):
        emit("failure", phase="prepare", message="scripted: cannot be prepared")
        sys.exit(4)
    program.strike("ready")
    program.ready()
    trials = 0
    for line in sys.stdin:
        command = json.loads(line)
        if "end" in command:
            program.strike("end")
            break
        trials += "trial" in command
        program.obey(command)
    clock = {"source": "none", "hz": 1e9, "overhead_ns": 20, "resolution_ns": 1, "cross_check_ppm": 0}
    emit("done", trials=trials, failures=0, elapsed_s=1.0, clock=clock)


main()
