"""Plans, catalogs and scripted outcomes of study ``coverage``: simulation results made of numbers that a test chooses."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import cores_fixtures
from dpubench.analysis.model import Failure
from dpubench.errors import PlanError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where, parse_plan, plan_text
from dpubench.run.record import Head
from dpubench.studies import Request
from dpubench.studies.coverage.draft import Draft
from dpubench.studies.coverage.expand import Catalogs, Cell, Expansion, expand
from dpubench.studies.coverage.model import InputSummary, RunSummary
from dpubench.studies.coverage.plan import Plan
from dpubench.studies.coverage.summary import summaries
from dpubench.studies.modelled import outcomes
from dpubench.studies.modelled.outcomes import OutcomesWriter
from pages import EVIL

#: Three operators, an application on two inputs, one on a single input, a workload on two traffics; phases of a thousand instructions.
PLAN = """
study: coverage
plan: small
target: model:neoverse-n1
operators: [lpm, md5, tcp_segment]
frame_sizes: [64B]
messages: 64
applications: [files, packets]
workloads: [forward]
traffics: 2
phase: 1000
exact: true
warm_up: 0%
inputs: {corpus: [ONE, TWO], capture: [PACKETS]}
"""


def catalogs() -> Catalogs:
    """Return the operators of study cores' fixtures, applications that read files or packets, and workloads."""

    def entry(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "summary": name, "available": True, "reason": "", "inputs": [], "parameters": []} | more

    speed = {"name": "speed", "default": "slow"}
    packets = [{"name": "capture"}, {"name": "routes4", "optional": True}]
    stage = {"name": "lookup", "default_engine": "portable", "engines": [
        {"name": "portable", "available": True, "reason": ""}, {"name": "dpdk", "available": False, "reason": "librte_hash.so: not found"},
    ]}  # fmt: skip
    return Catalogs(
        cores_fixtures.operators(),
        (
            entry("files", operators=["md5", "deflate"], inputs=[{"name": "corpus"}], parameters=[speed]),
            entry("packets", operators=["lpm", "md5"], inputs=packets),
            entry("broken", operators=["lpm"], available=False, reason="libpcre2-8.so: not found"),
        ),
        (entry("forward", stages=[]), entry("flow-table", stages=[stage])),
    )


def plan_of(text: str) -> Plan:
    plan, _ = parse_plan(text, "p.yaml")
    assert isinstance(plan, Plan)
    return plan


def text_of(folder: Path, text: str = PLAN) -> str:
    """Write the input files and return ``text`` with their paths."""
    for name in ("one", "two"):
        (folder / f"{name}.bin").write_text(name)
    (folder / "packets.pcap").write_bytes(capture())
    return text.replace("ONE", str(folder / "one.bin")).replace("TWO", str(folder / "two.bin")).replace("PACKETS", str(folder / "packets.pcap"))


def capture() -> bytes:
    """Return a capture of one UDP packet without a payload (draft-ietf-opsawg-pcap, LINKTYPE_RAW)."""
    packet = bytes.fromhex("4500001c00000000401100007f0000017f000001") + struct.pack(">HHHH", 1, 2, 8, 0)
    head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    return head + struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet


def expanded(folder: Path, text: str = PLAN) -> tuple[Expansion, Resolved]:
    plan, lines = parse_plan(text_of(folder, text), "p.yaml")
    assert isinstance(plan, Plan)
    return expand(plan, catalogs(), Where("p.yaml", lines))


def problems(text: str) -> list[str]:
    """Return the problems of a plan, one per line."""
    try:
        plan, lines = parse_plan(text, "p.yaml")
        assert isinstance(plan, Plan)
        expand(plan, catalogs(), Where("p.yaml", lines))
    except PlanError as error:
        return str(error).splitlines()
    return []


# --------------------------------------------------------------------------- scripted results of a simulator

#: Per instruction: cycles, branches, loads and stores, integer instructions, misses of the data cache.
Mix = tuple[float, float, float, float, float]
OPERATORS: Mapping[str, Mix] = {"lpm": (1.0, 0.2, 0.3, 0.4, 0.04), "md5": (0.4, 0.02, 0.1, 0.84, 0.004), "tcp_segment": (0.8, 0.1, 0.5, 0.3, 0.16)}
#: A mixture: half of the instructions from lpm, a quarter from md5, a quarter from tcp_segment.
MIXED: Mix = (0.8, 0.13, 0.3, 0.485, 0.061)
FAR: Mix = (3.0, 0.3, 0.2, 0.4, 0.1)


def part(mix: Mix, instructions: int) -> dict[str, Any]:
    """Return the figures of a context, or of one of its phases, for that many instructions."""
    cycles, branches, accesses, integer, misses = mix
    kinds = {"integer": instructions * integer, "branch": instructions * branches, "load": instructions * accesses}
    return {
        "instructions": instructions, "cycles": round(instructions * cycles), "kinds": {name: round(number) for name, number in kinds.items()},
        "branches": round(instructions * branches), "loads": round(instructions * accesses), "stores": 0,
        "l1d": {"accesses": round(instructions * accesses), "misses": round(instructions * misses)},
        "itlb": {"accesses": instructions, "misses": 0}, "dtlb": {"accesses": round(instructions * accesses), "misses": 0},
    }  # fmt: skip


def result(cell: Cell, phases: list[Mix], each: int = 1000) -> dict[str, Any]:
    """Return the ``result`` event of a simulation of these phases."""
    parts = [part(mix, each) for mix in phases]

    def total(*path: str) -> int:
        found = 0
        for one in parts:
            at: Any = one
            for step in path:
                at = at[step]
            found += at
        return found

    instructions, cycles = total("instructions"), total("cycles")
    touched = {name: {"accesses": total(name, "accesses"), "misses": total(name, "misses"), "walks": 0} for name in ("itlb", "dtlb", "l1d")}
    context = {
        **{name: total(name) for name in ("instructions", "cycles", "branches", "loads", "stores")}, "messages": 32, "ipc": instructions / cycles,
        "kinds": {name: total("kinds", name) for name in ("integer", "branch", "load")}, "phases": parts if cell.kind != "operator" else [],
        "message_cycles": {"every": 1, "cycles": [round(i * cycles / 32) for i in range(33)]},
    }  # fmt: skip
    return {
        "event": "result", "group": cell.id, "modelled": True, "processor": "neoverse-n1", "clock_mhz": 2500.0, "cycles": cycles,
        "instructions": instructions, "unknown_share": 0.0, "messages_per_s": 1.0, "contexts": [context],
        "tlbs": {"instruction": touched["itlb"], "data": touched["dtlb"]}, "caches": {str(cell.processor["data_cache"]): touched["l1d"]},
    }  # fmt: skip


#: A function that returns the phases of a simulation (one for an operator), or the reason why it fails.
Script = Callable[[Cell], list[Mix] | str]


def example(cell: Cell) -> list[Mix] | str:
    """Return phases: ``files`` mixes operators, ``packets`` does so on half of its one input, the workload on one of its two."""
    if cell.kind == "operator":
        return [OPERATORS[cell.operators[0]]]
    if cell.name == "files":
        return [MIXED] * (4 if "one" in cell.input else 2)
    if cell.name == "packets":
        return [MIXED, OPERATORS["lpm"], FAR, FAR]
    return [MIXED] * 3 if "seed 1" in cell.input else [FAR]


def crashing(cell: Cell) -> list[Mix] | str:
    """Return phases as :func:`example`, but let one operator and one input fail."""
    return "no trace: it crashed" if cell.name == "md5" or "two" in cell.input else example(cell)


def write_run(folder: Path, text: str = PLAN, script: Script = example, *, name: str = "run", status: str = "complete") -> Path:
    """Write a run directory whose simulations have the outcomes that ``script`` gives; return its path."""
    plan = plan_of(text_of(folder, text))
    expansion, files = expanded(folder, text)
    with OutcomesWriter.create(folder, name, exact=True) as writer:
        inputs = {kind: found.record() for kind, found in files.inputs.items()}
        record = Draft(plan, expansion, None).record(Head(name, "dpubench run coverage", inputs, Request()))
        writer.write_plan(plan_text(plan))
        file = writer.begin_round(0)
        for cell in expansion.cells.values():
            came = script(cell)
            made = None if isinstance(came, str) else result(cell, came)
            file.write(outcomes.kept(cell.id, made, came if isinstance(came, str) else "", cached=False))
            if isinstance(came, str):
                record["failures"].append({"phase": "simulate", "message": came, "group": cell.id})
        record["rounds"].append({"number": 0, "outcomes": file.finish()})
        record["status"] = status
        writer.write_record(record)
    return folder / name


def run_of(folder: Path, text: str = PLAN, script: Script = example, name: str = "run") -> RunSummary:
    """Write a run as :func:`write_run` does and return its analysis."""
    (found,) = summaries(write_run(folder, text, script, name=name))
    return found


def evil(run: RunSummary) -> RunSummary:
    """Return a copy of ``run`` in which every text tries to become markup."""
    ids = {p.id: f"{p.id}{EVIL}" for p in run.points}
    points = [
        replace(
            p, id=ids[p.id], name=EVIL, operators=[EVIL], engine=EVIL, params={EVIL: EVIL}, model=EVIL, origin=EVIL, labels=[EVIL],
            inputs=[InputSummary(EVIL, EVIL, failure=EVIL)],
        )
        for p in run.points
    ]  # fmt: skip
    assert run.space is not None
    space = replace(
        run.space, names={ids[k]: EVIL for k in run.space.names},
        scores={ids[k]: v for k, v in run.space.scores.items()}, phase_scores={ids[k]: v for k, v in run.space.phase_scores.items()},
        covered=[replace(c, point=ids[c.point]) for c in run.space.covered], few_inputs={EVIL: 1},
        compositions=[
            replace(c, application=ids[c.application], weights={ids[k]: w for k, w in c.weights.items()}, missing=[EVIL])
            for c in run.space.compositions
        ],
        left_out=[replace(e, operator=EVIL) for e in run.space.left_out],
    )  # fmt: skip
    threes, fives = [(EVIL,) * 3], [(EVIL,) * 5]
    models = [replace(m, name=EVIL, title=EVIL, limits=[EVIL], labels=[EVIL], sources=threes, assumed=threes, comparisons=fives) for m in run.models]
    return replace(
        run, name=EVIL, path=EVIL, plan=EVIL, status=EVIL, command=EVIL, label=EVIL, target=EVIL, machine={"cpu": EVIL, EVIL: EVIL},
        build_info={"revision": EVIL}, inputs={EVIL: {"name": EVIL, "sha256": EVIL}}, models=models, points=points, space=space,
        failures=[Failure(EVIL, EVIL, EVIL, EVIL)], left_out=[EVIL], labels=[EVIL],
    )  # fmt: skip
