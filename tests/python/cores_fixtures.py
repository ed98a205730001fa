"""Plans, catalogs and scripted outcomes of study ``cores``: simulation results made of numbers that a test chooses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpubench.analysis.model import Failure, Interval
from dpubench.errors import PlanError
from dpubench.plans.load import Where, parse_plan, plan_text
from dpubench.run.record import Head
from dpubench.simulation import models
from dpubench.simulation.kernels import ArmPrograms
from dpubench.studies import Request
from dpubench.studies.cores.draft import Draft
from dpubench.studies.cores.expand import Cell, Expansion, expand
from dpubench.studies.cores.model import Claim, PointSummary, RunSummary, Sensitivity, SweepInfo
from dpubench.studies.cores.plan import Plan
from dpubench.studies.cores.summary import summaries
from dpubench.studies.modelled import outcomes
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.modelled.planned import PlannedKernel
from dpubench.studies.modelled.possible import Check, all_done
from pages import EVIL

#: A run of two kernels on two models, one of them not A64, with frames and IMIX, at steps 1 and 2.
LINES = """
study: cores
plan: lines
target: [model:neoverse-n1, model:xeon-e5-2620v3]
kernels:
  - {name: lookup, operator: lpm, engine: patricia}
  - {name: md5, operator: md5}
frame_sizes: [64B, 1518B, imix]
lines: [10Gb/s, 100Gb/s]
messages: 64
exact: true
warm_up: 0%
sweeps:
  - {name: lines, title: Lines, steps: [1, 2]}
"""

#: The same run, sampled: half of each trace.
SAMPLED = LINES.replace("exact: true", "sample: {share: 50%}")

#: The plan for the widest tables: four models, the first with another instruction set, long names, today's lines, intervals.
WIDE = """
study: cores
plan: wide
target: [model:xeon-e5-2620v3, model:cortex-a72-bluefield2, model:cortex-a78-bluefield3, model:neoverse-n1]
kernels:
  - {name: lookup-of-a-large-table, operator: lpm, engine: patricia, params: {lookup: single, prefixes: 1000000}}
  - {name: md5-openssl-resident, operator: md5, engine: openssl, footprint: resident}
frame_sizes: [64B, 512B, 1518B, 9000B, imix]
lines: [10Gb/s, 25Gb/s, 40Gb/s, 100Gb/s, 200Gb/s, 400Gb/s]
messages: 64
sample: {share: 50%}
warm_up: 0%
sweeps:
  - {name: lines, title: Lines of today, steps: [1, 4]}
  - {name: cmp, title: Cores at one clock, organisation: cmp, steps: [1, 2, 4], clocks: [1000MHz], kernels: [lookup-of-a-large-table]}
"""

#: The paper's grid for both kernels, with one variant of each kind of sweep.
PAPER = """
study: cores
plan: small-paper
target: [model:alpha21264-1999]
kernels:
  - {name: lookup, operator: lpm, engine: patricia, params: {prefixes: 1000}, messages: 70, frames: [64B]}
  - {name: md5, operator: md5, messages: 70, frames: [1500B]}
mixes: {both: [lookup, md5]}
claims: {lookup: [lookup], md5: [md5]}
lines: [100Mb/s, 1Gb/s, 10Gb/s]
line_overhead: 0B
exact: true
warm_up: 0%
variants:
  perfect: {branches: {predictor: perfect}}
sweeps:
  - {name: caches, kernels: [lookup, md5], organisation: superscalar, clocks: [500MHz],
     vary: {first_caches/size_bytes: [8KiB, 32KiB], first_caches/ways: [1, 2]}}
  - {name: superscalar, kernels: [lookup, md5], organisation: superscalar, steps: [1, 2, 3, 4, 5, 6, 7],
     clocks: [100MHz, 200MHz, 300MHz, 400MHz, 500MHz]}
  - {name: fgmt, kernels: [lookup, md5], organisation: fgmt, steps: [1, 2, 3, 4, 5, 6, 7], clocks: [100MHz, 200MHz, 300MHz, 400MHz, 500MHz]}
  - {name: smt, kernels: [lookup, md5], organisation: smt, steps: [1, 2, 3, 4, 5, 6, 7], clocks: [100MHz, 200MHz, 300MHz, 400MHz, 500MHz],
     variants: [base, perfect]}
  - {name: both, kernels: [both], organisation: smt, steps: [2, 3], clocks: [500MHz]}
"""


def operators() -> list[dict[str, Any]]:
    """Return a catalog with look-ups, a digest, and an operator that takes large messages only."""

    def engine(name: str, reason: str = "") -> dict[str, Any]:
        return {"name": name, "available": not reason, "reason": reason}

    def parameter(name: str, default: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "default": default, "is_mode": False, **more}

    return [
        {
            "name": "lpm", "reference_engine": "portable", "inputs": [], "default_burst": 32,
            "engines": [engine("portable"), engine("patricia"), engine("dpdk-lpm", "librte_lpm.so: not found")],
            "parameters": [parameter("lookup", "bulk"), parameter("prefixes", "0")],
        },
        {
            "name": "md5", "reference_engine": "portable", "inputs": [], "default_burst": 32, "engines": [engine("portable"), engine("openssl")],
            "parameters": [parameter("size", "1024", unit="B", min=1, max=65536)],
        },
        {
            "name": "tcp_segment", "reference_engine": "portable", "inputs": [{"name": "capture", "only_with": {"variant": "copy"}}],
            "default_burst": 32, "engines": [engine("portable")],
            "parameters": [parameter("variant", "zero_copy"), parameter("size", "8960", unit="B", min=1480, max=65475)],
        },
    ]  # fmt: skip


def plan_of(text: str) -> Plan:
    plan, _ = parse_plan(text, "p.yaml")
    assert isinstance(plan, Plan)
    return plan


def expanded(text: str, check: Check = all_done) -> Expansion:
    plan, lines = parse_plan(text, "p.yaml")
    assert isinstance(plan, Plan)
    return expand(plan, operators(), Where("p.yaml", lines), check)


def problems(text: str) -> list[str]:
    """Return the problems of a plan, one per line."""
    try:
        expanded(text)
    except PlanError as error:
        return str(error).splitlines()
    return []


# --------------------------------------------------------------------------- scripted results of a simulator


def result(cell: Cell, cycles_per_burst: float, *, bursts: int = 70, instructions_per_burst: int = 100, misses: float = 0.001) -> dict[str, Any]:
    """Return the ``result`` event of a simulation in which each context needs ``cycles_per_burst`` for each of ``bursts``."""
    number = cell.cores * cell.contexts
    cycles, instructions = round(cycles_per_burst * bursts), instructions_per_burst * bursts
    context: dict[str, Any] = {
        "cycles": cycles, "instructions": instructions, "messages": bursts, "branches": instructions // 5, "conditional_branches": instructions // 6,
        "mispredicted": instructions // 100, "late_targets": 0, "loads": instructions // 4, "stores": instructions // 10, "forwarded_loads": 0,
        "ipc": instructions / cycles, "messages_per_s": bursts / cycles * cell.clock_mhz * 1e6,
        "kinds": {"integer": instructions // 2, "load": instructions // 4, "store": instructions // 10, "branch": instructions // 5},
        "stall_cycles": {"fetch": cycles // 10},
        "message_cycles": {"every": 1, "cycles": [round((i + 0.05 * (i % 2)) * cycles_per_burst) for i in range(bursts + 1)]},
        "trace": {"kernel": cell.kernel, "cpu": "neoverse-n1", "program_digest": "0" * 64},
    }  # fmt: skip
    accesses = instructions * number
    caches = {
        name: {"accesses": accesses, "misses": round(accesses * misses), "late": 0, "write_backs": 0, "prefetches": 0, "prefetch_hits": 0}
        for name, cache in cell.processor["caches"].items() if not cache.get("ideal")
    }  # fmt: skip
    return {
        "event": "result", "group": cell.id, "modelled": True, "processor": cell.processor["name"], "clock_mhz": cell.clock_mhz, "cycles": cycles,
        "instructions": instructions * number, "unknown_share": 0.0, "messages_per_s": context["messages_per_s"] * number, "caches": caches,
        "memory": {"reads": 1}, "tlbs": {"instruction": {"accesses": 0}, "data": {"accesses": 0}}, "contexts": [dict(context) for _ in range(number)],
    }  # fmt: skip


#: A function that returns the cycles that one context needs for a burst, or the reason why the simulation fails.
Script = Callable[[Cell], float | str]


def ideal(cell: Cell) -> float | str:
    """Return the cycles that follow the paper: linear in clock and contexts; FGMT as superscalar.

    Superscalar lookup gains from up to six unit sets, MD5 from up to three.
    """
    sets = cell.step
    useful = {"lookup": min(sets, 6), "md5": min(sets, 3)}.get(cell.kernel, 1)
    one = {"lookup": 67.0, "md5": 18500.0}.get(cell.kernel, 100.0)
    if cell.organisation == "superscalar":
        return one / (1 + 0.2 * (useful - 1))
    if cell.organisation == "fgmt":
        return one / (1 + 0.2 * (useful - 1)) * cell.contexts  # a context has its share of the cycles
    return one


def write_run(folder: Path, text: str, script: Script, *, name: str = "run", status: str = "complete") -> Path:
    """Write a run directory whose simulations have the outcomes that ``script`` gives; return its path."""
    plan, expansion = plan_of(text), expanded(text)
    instructions = {"lookup": 100, "md5": 9000}
    with OutcomesWriter.create(folder, name, exact=True) as writer:
        record = Draft(plan, expansion, ArmPrograms(Path(), "")).record(Head(name, "dpubench run cores", {}, Request()))
        writer.write_plan(plan_text(plan))
        file = writer.begin_round(0)
        for cell in expansion.cells.values():
            came = script(cell)
            made = None if isinstance(came, str) else result(cell, came, instructions_per_burst=instructions.get(cell.kernel, 100))
            file.write(outcomes.kept(cell.id, made, came if isinstance(came, str) else "", cached=False))
            if isinstance(came, str):
                record["failures"].append({"phase": "simulate", "message": came, "group": cell.id})
        record["rounds"].append({"number": 0, "outcomes": file.finish()})
        record["status"] = status
        writer.write_record(record)
    return folder / name


def run_of(folder: Path, text: str, script: Script = ideal, name: str = "run") -> RunSummary:
    """Write a run as :func:`write_run` does and return its analysis."""
    (found,) = summaries(write_run(folder, text, script, name=name))
    return found


# --------------------------------------------------------------------------- points of claims


def point(
    kernel: str, organisation: str, step: int, clock_mhz: float, rate: float, *, ipc: float = 1.0, variant: str = "base", frame: str = "", **more: Any
) -> PointSummary:  # fmt: skip
    """Return a point with the fields that claims read."""
    size = frame or ("64" if kernel.startswith("lookup") else "1500")
    return PointSummary(
        id=f"{kernel}/{size}/{organisation}-{step}/{clock_mhz:g}/{variant}", configuration="c", kernel=kernel, operators=["o"], engines=["e"],
        params={}, frame=size, frame_bytes=float(size), model="alpha21264-1999", organisation=organisation, step=step, unit_sets=step, cores=1,
        contexts=1 if organisation == "superscalar" else step, clock_mhz=clock_mhz, variant=variant, settings=dict(more.pop("settings", {})),
        sweeps=["s"], labels=list(models.load("alpha21264-1999").labels), messages_per_s=Interval(rate, float("nan"), float("nan")), ipc=ipc, **more,
    )  # fmt: skip


def uses_of(text: str) -> dict[str, PlannedKernel]:
    return expanded(text).uses


def by_size(cell: Cell) -> float | str:
    return {"any": 100.0, "64": 200.0, "594": 600.0, "1518": 1600.0}[cell.frame] * math.sqrt(cell.cores)


def jittering(cell: Cell) -> float | str:
    """Return irregular numbers of cycles, because no two processors have the same."""
    return (50.0 + 1.1 * (0 if cell.frame == "any" else int(cell.frame))) * (1 + 0.37 * (len(cell.model) % 5)) * math.sqrt(cell.cores)


def crashing(cell: Cell) -> float | str:
    return "no trace of md5/64: it crashed" if cell.frame == "64" else by_size(cell)


def evil(run: RunSummary) -> RunSummary:
    """Return a copy of ``run`` in which every text tries to become markup."""
    points = [
        replace(
            p, id=f"{p.id}{EVIL}", kernel=EVIL, operators=[EVIL], engines=[EVIL], params={EVIL: EVIL}, model=EVIL, variant="base", sweeps=[EVIL],
            labels=[EVIL], failure=EVIL if p.step == 2 else "", messages_per_s=None if p.step == 2 else p.messages_per_s,
        )
        for p in run.points
    ]  # fmt: skip
    three, five = (EVIL, EVIL, EVIL), (EVIL, EVIL, EVIL, EVIL, EVIL)
    texts = [EVIL]
    models = [replace(run.models[0], name=EVIL, title=EVIL, limits=texts, labels=texts, sources=[three], assumed=[three], comparisons=[five])]
    sensitivities = [Sensitivity(EVIL, "holds", EVIL, EVIL), Sensitivity(EVIL, "partly", EVIL, EVIL)]
    claim = Claim("evil", EVIL, EVIL, "partly", EVIL, EVIL, EVIL, sensitivities, EVIL, EVIL, EVIL)
    return replace(
        run, name=EVIL, path=EVIL, plan=EVIL, status=EVIL, command=EVIL, label=EVIL, target=EVIL, machine={"cpu": EVIL, EVIL: EVIL},
        build_info={"revision": EVIL}, inputs={EVIL: {"name": EVIL, "sha256": EVIL}}, models=models, points=points, claims=[claim],
        sweeps=[SweepInfo(EVIL, EVIL, "described", [])], failures=[Failure(EVIL, EVIL, EVIL, EVIL)], left_out=[EVIL], labels=[EVIL],
    )  # fmt: skip
