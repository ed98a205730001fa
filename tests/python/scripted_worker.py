#!/usr/bin/env python3
"""A stand-in for the native program: speaks the contract of docs/architecture.md with made-up figures, and misbehaves as told.

The environment variable SCRIPT names a JSON file: {"faults": [{"point": SUBSTRING, "phase": "prepare|verify|measure|hello|ready", "kind": KIND,
"round": N?, "after": WINDOWS?}], "window_s": SECONDS, "rates": {ENGINE: OPS_PER_S}, "spread": SHARE,
"unavailable": {ENGINE: REASON}, "list": "rubbish|hang|silent|fork-hang", "engines": {OPERATOR: [ENGINE]}, "versions": {OPERATOR: N},
"foreign": [NAME of an additional operator], "layouts": N, "stall": {"prepared|windows": NUMBER after which the program takes hours},
"told": TEXT to add to every text about engines and the machine}. Needs only Python, so that it starts fast and a failure in the package
cannot hide in it.
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

SCRIPT = json.loads(pathlib.Path(os.environ["SCRIPT"]).read_text()) if os.environ.get("SCRIPT") else {}
FAULTS = SCRIPT.get("faults", [])
RATES = {"portable": 1e6, "openssl": 3e6, "ipsec-mb": 2e6, "isal": 5e6} | SCRIPT.get("rates", {})
UNAVAILABLE = {"gpu": "no device of this kind"} | SCRIPT.get("unavailable", {})


def parameter(name: str, values: list[str], default: str, is_mode: bool = False, unit: str = "", low: int = 0, high: int = 0) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "summary": f"the {name}", "values": values, "default": default, "is_mode": is_mode, "unit": unit}
    return entry | ({"min": low, "max": high} if unit else {})


def library(engine: str) -> str:
    """Return the library of an engine: engines whose names differ only after a dash are variants of one library."""
    return "" if engine == "portable" else f"{engine.split('-')[0]} 1.0"


def operator(
    name: str, scenario: str, parameters: list[dict[str, Any]], engines: list[str], configurations: list[dict[str, Any]], primary: str = "gbps",
    inputs: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    return {
        "name": name,
        "scenarios": [scenario],
        "summary": f"scripted {name}",
        "definition": "one operation is one message",
        "parameters": parameters,
        "equivalence": "identical",
        "equivalence_text": "the same bytes",
        "primary_metric": primary,
        "processes_all_bytes": primary == "gbps",
        "metrics": [],
        "inputs": [{"name": kind} for kind in inputs],
        "reference_engine": engines[0],
        "sources": ["scripted"],
        "version": 1,
        "default_burst": 32,
        "engines": [
            {"name": e, "summary": f"scripted {e}", "library": library(e), "available": e not in UNAVAILABLE, "reason": UNAVAILABLE.get(e, "")}
            for e in engines
        ],
        "configurations": configurations,
    }


SIZE = parameter("size", ["64", "256", "1024"], "1024", unit="B", low=64, high=65536)
MODES = parameter("mode", ["gcm", "xts"], "gcm", is_mode=True)
OPERATORS = [
    operator(
        "aes",
        "security",
        [MODES, SIZE],
        ["portable", "openssl", "ipsec-mb"],
        [
            {"params": {"mode": "gcm", "size": "1024"}, "engines": {"portable": "", "openssl": "", "ipsec-mb": ""}},
            {"params": {"mode": "xts", "size": "1024"}, "engines": {"portable": "", "openssl": "", "ipsec-mb": "has no XTS"}},
        ],
    ),
    operator(
        "crc", "network", [SIZE], ["portable", "isal", "gpu"], [{"params": {"size": "1024"}, "engines": {"portable": "", "isal": "", "gpu": ""}}]
    ),
    operator(
        "lookup",
        "network",
        [],
        ["portable"],
        [{"params": {}, "engines": {"portable": ""}}],
        primary="mops",
        inputs=("routes4",) if SCRIPT.get("routes") else (),
    ),
]


for known in OPERATORS:
    known["version"] = SCRIPT.get("versions", {}).get(known["name"], known["version"])
    if known["name"] in SCRIPT.get("engines", {}):
        names = SCRIPT["engines"][known["name"]]
        known["reference_engine"] = names[0]
        known["engines"] = [{"name": e, "summary": f"scripted {e}", "library": library(e), "available": True, "reason": ""} for e in names]
        known["configurations"] = [{"params": c["params"], "engines": dict.fromkeys(names, "")} for c in known["configurations"]]
OPERATORS += [operator(name, "network", [], ["portable"], [{"params": {}, "engines": {"portable": ""}}]) for name in SCRIPT.get("foreign", [])]


def told(value: Any) -> Any:
    """Return ``value`` with the script's ``told`` added to each text that is meant for people."""
    if isinstance(value, dict):
        return {k: v + SCRIPT["told"] if k in TEXTS and isinstance(v, str) and v else told(v) for k, v in value.items()}
    return [told(v) for v in value] if isinstance(value, list) else value


TEXTS = ("summary", "definition", "equivalence_text", "library", "reason", "cpu_model", "compiler", "version", "message", "detail")


def emit(event: str, **fields: Any) -> None:
    if "told" in SCRIPT:
        fields = {k: v for k, v in told({"event": event, **fields}).items() if k != "event"}
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def layouts() -> dict[str, Any]:
    """Return the number of this layout, from the program's folder, and the script's count of layouts.

    Without ``layouts`` in the script return nothing, as programs of earlier versions do.
    """
    if "layouts" not in SCRIPT:
        return {}
    folder = pathlib.Path(os.environ["PROGRAM"]).parent
    return {"layout": int(folder.name) if folder.parent.name == "layouts" else 0, "layouts": SCRIPT["layouts"]}


def hello(**more: Any) -> None:
    emit(
        "hello",
        schema="dpubench.event/1",
        program="dpubench-operators",
        version="0",
        build={"compiler": "none", "flags": "", "revision": "", "type": "scripted"} | layouts(),
        machine={"host": "scripted", "cpu_model": "none"},
        **more,
    )


def checked(name: str, params: dict[str, str]) -> dict[str, Any]:
    """Return the check of one combination: XTS takes whole blocks only; the engines' answers depend on the mode alone."""
    if params.get("mode") == "xts" and int(params["size"]) % 16:
        return {"invalid": f"{name}: XTS takes whole blocks of 16 bytes", "engines": {}}
    known = next(o for o in OPERATORS if o["name"] == name)
    return {"invalid": "", "engines": next(c["engines"] for c in known["configurations"] if c["params"].get("mode") == params.get("mode"))}


#: Kind of fault -> the bytes to replace in a good window, and their replacement.
HOSTILE = {"huge-count": (b'"operations": 1', b'"operations": 9223372036854775808'), "surrogate": (b"POINT", b"\\ud800")}


def misbehave(kind: str) -> None:
    if kind == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif kind == "exit3":
        sys.stderr.write("scripted: out of luck\n")
        sys.exit(3)
    elif kind == "hang":
        time.sleep(3600)
    elif kind == "fork-hang":
        if os.fork() == 0:
            time.sleep(3600)
        time.sleep(3600)
    elif kind == "rubbish":
        print("Segmentation fault (not really)", flush=True)
        time.sleep(3600)
    elif kind == "binary":
        sys.stdout.buffer.write(bytes(range(256)) * 4 + b"\n")
        sys.stdout.flush()
        time.sleep(3600)
    elif kind == "gigabyte":
        block = b"x" * (1 << 20)
        for _ in range(1024):
            sys.stdout.buffer.write(block)
    elif kind == "flood":
        line = b'{"event":"progress","phase":"measure","done":1,"of":2}\n' * 1000
        while True:
            sys.stdout.buffer.write(line)
    elif kind == "schema":
        emit("window", point="x", group="y", operations=-1)
        time.sleep(3600)
    elif kind == "unknown-event":
        emit("celebration")
        time.sleep(3600)
    elif kind == "nan":
        print('{"event":"progress","phase":"measure","done":NaN,"of":1}', flush=True)
        time.sleep(3600)
    elif kind in HOSTILE:
        counts = dict.fromkeys(("round", "cycle", "half", "in_bytes", "out_bytes", "rate_bytes"), 0)
        text = json.dumps({"event": "window", "point": "POINT", "group": "g", "operations": 1, "elapsed_ns": 1000, "bursts": 1, **counts})
        sys.stdout.buffer.write(text.encode().replace(*HOSTILE[kind]) + b"\n")
        sys.stdout.flush()
        time.sleep(3600)
    elif kind == "foreign-point":
        counts = dict.fromkeys(("round", "cycle", "half", "in_bytes", "out_bytes", "rate_bytes", "bursts"), 0)
        emit("window", point="nobody", group="g", operations=1, elapsed_ns=1, **counts)
        time.sleep(3600)
    elif kind == "closed":
        os.close(1)
        time.sleep(3600)
    elif kind == "quiet":
        sys.exit(0)
    else:
        raise ValueError(kind)


def strike(phase: str, point: str, job: dict[str, Any], windows: int = 0) -> bool:
    for fault in FAULTS:
        if (
            fault["phase"] == phase
            and fault.get("point", "") in point
            and fault.get("round", job["round"]) == job["round"]
            and windows >= fault.get("after", 0)
        ):
            if fault["kind"] == "failure":
                return True
            misbehave(fault["kind"])
    return False


class Program:
    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.windows = 0
        self.failures = 0
        self.counted: dict[str, int] = {}
        self.dead: set[str] = set()
        self.random = random.Random(job["seed"] * 1000 + job["round"])
        spread = SCRIPT.get("spread", 0.01)
        self.factor = {p["id"]: self.random.gauss(1, spread) for g in job["groups"] for p in g["points"]}

    def stall(self, what: str) -> None:
        """Count a point that is prepared, or a window; be as slow as a target can be after the script's number of them."""
        self.counted[what] = self.counted.get(what, 0) + 1
        if self.counted[what] > SCRIPT.get("stall", {}).get(what, 1 << 40):
            time.sleep(3600)

    def fail(self, phase: str, group: dict[str, Any], point: dict[str, Any]) -> None:
        self.failures += 1
        self.dead.add(point["id"])
        emit("failure", phase=phase, message="scripted: outputs differ", point=point["id"], group=group["id"])

    def prepare(self, group: dict[str, Any]) -> None:
        emit("progress", group=group["id"], phase="inputs", done=0, of=len(group["points"]))
        for point in group["points"]:
            if strike("prepare", point["id"], self.job):
                self.fail("prepare", group, point)
                continue
            time.sleep(SCRIPT.get("prepare_s", 0))
            self.stall("prepared")
            emit(
                "prepared",
                point=point["id"],
                group=group["id"],
                build_ns=1000,
                memory_bytes=64,
                items=32,
                buffers=32,
                footprint_bytes=32768,
                input={"name": "scripted", "sha256": "00"},
                path={"isa": "none", "detail": "sleep", "library": "", "is_hardware": False},
            )
            if strike("verify", point["id"], self.job):
                self.fail("verify", group, point)
                continue
            emit("verified", point=point["id"], group=group["id"], known_answers=1, compared=32, how="identical")

    def window(self, group: dict[str, Any], name: str, engine: str | None, cycle: int, half: int, report: bool = True) -> None:
        time.sleep(SCRIPT.get("window_s", 0))
        self.stall("windows")
        if not report:
            return
        rate = 1e9 if engine is None else RATES.get(engine, 1e6) * self.factor[name] * self.random.gauss(1, 0.002)
        emit(
            "window",
            point=name,
            group=group["id"],
            round=self.job["round"],
            cycle=cycle,
            half=half,
            operations=max(1, int(rate * 0.003)),
            elapsed_ns=3_000_000,
            in_bytes=0 if engine is None else 1024,
            out_bytes=0,
            rate_bytes=0 if engine is None else 1024,
            bursts=100,
        )
        self.windows += engine is not None

    def measure(self, group: dict[str, Any]) -> None:
        for cycle in range(self.job["cycles"] + 1):
            for half in (0, 1):
                points = group["points"] if half == 0 else group["points"][::-1]
                canaries = ["canary-core", "canary-memory"] if half == 0 else ["canary-memory", "canary-core"]
                if half == 1 and cycle:
                    for canary in canaries:
                        self.window(group, canary, None, cycle, half)
                for point in points:
                    if point["id"] in self.dead:
                        continue
                    if strike("measure", point["id"], self.job, self.windows):
                        self.fail("measure", group, point)
                        continue
                    self.window(group, point["id"], point["engine"], cycle, half, report=cycle > 0)
                if half == 0 and cycle:
                    for canary in canaries:
                        self.window(group, canary, None, cycle, half)

    def stepped(self) -> None:
        emit("ready")
        places = {p["id"]: (g, p) for g in self.job["groups"] for p in g["points"]}
        for line in sys.stdin:
            command = json.loads(line)
            if "end" in command:
                break
            name = command["window"]
            if name.startswith("canary-"):
                self.window(self.job["groups"][0], name, None, 1, 0)
                continue
            group, point = places[name]
            if name in self.dead or strike("measure", name, self.job, self.windows):
                self.fail("measure", group, point)
            else:
                self.window(group, name, point["engine"], 1, 0)


def main() -> int:
    if "--list" in sys.argv:
        if SCRIPT.get("list") == "rubbish":
            print("no catalog today")
            return 0
        if SCRIPT.get("list") == "silent":
            return 0
        if SCRIPT.get("list") in ("hang", "fork-hang"):
            misbehave(SCRIPT["list"])
        hello(catalog={"operators": OPERATORS})
        return 0
    if "--check" in sys.argv:
        hello()
        emit("checked", combinations=[checked(c["operator"], c["params"]) for c in json.load(sys.stdin)])
        return 0
    job = json.loads(sys.stdin.readline())
    if os.environ.get("JOBS"):
        with pathlib.Path(os.environ["JOBS"]).open("a") as file:
            file.write(json.dumps(job) + "\n")
    program = Program(job)
    strike("hello", job["groups"][0]["points"][0]["id"], job)
    hello()
    for group in job["groups"]:
        program.prepare(group)
        if job["control"] == "auto":
            program.measure(group)
    if job["control"] == "stepped":
        program.stepped()
    emit(
        "done",
        windows=program.windows,
        failures=program.failures,
        elapsed_s=0.1,
        clock={"source": "scripted", "hz": 1e9, "overhead_ns": 20, "resolution_ns": 1, "cross_check_ppm": 0},
    )
    return 1 if program.failures else 0


if __name__ == "__main__":
    sys.exit(main())
