"""Reads a run directory into a :class:`~dpubench.studies.cores.model.RunSummary`: builds points from outcomes, lines and claims from points."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpubench.analysis import statistics
from dpubench.analysis.model import Interval, head_of
from dpubench.plans.frames import IMIX, IMIX_SIZES
from dpubench.simulation import crowley
from dpubench.simulation.models import OTHER_ARCHITECTURE
from dpubench.studies.cores import claims, lines, variants
from dpubench.studies.cores.expand import ANY_FRAME, frame_bytes, sizes_of
from dpubench.studies.cores.model import CacheUse, OnLine, PointSummary, RunSummary, Share, SweepInfo
from dpubench.studies.cores.plan import Plan
from dpubench.studies.modelled import outcomes, rates
from dpubench.studies.modelled.models import info_of
from dpubench.studies.single import analysed

Row = Mapping[str, Any]
#: Organisations whose steps are cores, simulated together on one chip.
_OF_CORES = ("described", "cmp")


def summaries(path: Path) -> list[RunSummary]:
    """Return the run in ``path``, analysed, whatever its status. @raises UserError when it is not readable"""
    return analysed(path, "cores", Plan, _summary)


def _summary(record: Row, plan: Plan, path: Path) -> RunSummary:
    found = outcomes.read(path)
    configurations = {entry["id"]: entry for entry in record["configurations"]}
    uses = {use["id"]: use for use in record["kernels"]}
    points = [_point(entry, configurations, uses, record["models"], found, plan) for entry in record["points"]]
    _put_on_lines(points, plan)
    common = [label for label in (points[0].labels if points else []) if all(label in p.labels for p in points)]
    results = [outcome["result"] for outcome in found.values() if outcome["result"] is not None]
    judged = claims.evaluate(points, plan, record["models"][claims.judged_model(points, plan)]["processor"]) if points else []
    return RunSummary(
        **head_of(record, path), summary=plan.summary, models=[info_of(name, entry) for name, entry in record["models"].items()],
        sweeps=[SweepInfo(s.name, s.title or s.name, s.organisation, list(s.vary)) for s in plan.sweeps], points=points,
        claims=judged, labels=common, lines_gbps=[line / 1e9 for line in plan.lines], line_overhead_bytes=plan.line_overhead,
        exact=not plan.samples, simulations=len(results), instructions=sum(r["instructions"] for r in results),
    )  # fmt: skip


def _point(
    entry: Row, configurations: Mapping[str, Row], uses: Mapping[str, Row], models: Mapping[str, Row], found: Mapping[str, Row], plan: Plan
) -> PointSummary:  # fmt: skip
    cells = [configurations[name] for name in entry["configurations"]]
    cell = cells[0]
    own = [uses[use] for use in cell["uses"]]
    point = PointSummary(
        id=entry["id"], configuration=" + ".join(entry["configurations"]), kernel=cell["kernel"],
        operators=list(dict.fromkeys(use["operator"] for use in own)), engines=list(dict.fromkeys(use["engine"] for use in own)),
        params=dict(own[0]["params"]) if len(own) == 1 else {}, frame=entry["frame"], frame_bytes=frame_bytes(entry["frame"]),
        model=cell["model"], organisation=cell["organisation"], step=cell["step"], unit_sets=cell["unit_sets"], cores=cell["cores"],
        contexts=cell["contexts"], clock_mhz=cell["clock_mhz"], variant=cell["variant"], settings=dict(cell["settings"]), sweeps=list(cell["sweeps"]),
        labels=_labels(models[cell["model"]], own), sampled=plan.samples, composed=len(cells) > 1,
        every_byte=cell["frame"] != ANY_FRAME and all(use["message_bytes"] is not None for use in own),
    )  # fmt: skip
    reached = [found.get(name) for name in entry["configurations"]]
    failures = [outcome["failure"] for outcome in reached if outcome is not None and outcome["failure"]]
    if failures or any(outcome is None for outcome in reached):
        point.failure = failures[0] if failures else "not simulated: the run ended before its turn"
        return point
    parts = [_simulated(point, cell, outcome["result"], own, models) for cell, outcome in zip(cells, reached, strict=True) if outcome is not None]
    point.cached = all(outcome["cached"] for outcome in reached if outcome is not None)
    _compose(point, parts, plan)
    return point


def _labels(model: Row, uses: Sequence[Row]) -> list[str]:
    """Return the labels of a point: that it is modelled, and the instruction set of its traces where the model executes another one."""
    codes = dict.fromkeys(crowley.code_of(str(use["operator"]), use["params"]) for use in uses)
    return [
        *(label for label in model["labels"] if label != OTHER_ARCHITECTURE),
        *(f"{code} trace" for code in codes if code != model["architecture"]),
    ]


def _simulated(point: PointSummary, cell: Row, result: Row, uses: Sequence[Row], models: Mapping[str, Row]) -> PointSummary:
    """Return a copy of ``point`` with the figures of one simulation."""
    contexts = result["contexts"]
    bursts = [int(uses[i % len(uses)]["burst"]) for i in range(len(contexts))]  # contexts take the kernels in turn
    rate = rates.messages_per_s(result, bursts, sampled=point.sampled)
    cycles = rates.cycles_per_message(result, bursts, sampled=point.sampled)
    instructions = sum(c["instructions"] for c in contexts)
    messages = sum(c["messages"] * burst for c, burst in zip(contexts, bursts, strict=True))
    branches = sum(c["branches"] for c in contexts)
    spent = sum(c["cycles"] for c in contexts)
    made = replace(
        point, messages_per_s=rate, cycles_per_message=cycles, ipc=sum(c["ipc"] for c in contexts),
        instructions_per_message=instructions / messages if messages else None, kinds=_shares([c["kinds"] for c in contexts], instructions),
        branches=branches / instructions if instructions else None,
        mispredicted=sum(c["mispredicted"] for c in contexts) / branches if branches else None,
        caches=_caches(models[cell["model"]]["processor"], result, point.settings), unknown_share=result["unknown_share"], messages=messages,
        instructions=instructions, stalls=_shares([c["stall_cycles"] for c in contexts], spent),
    )  # fmt: skip
    processor = models[cell["model"]]["processor"]
    made.instruction_cache, made.data_cache = str(processor["instruction_cache"]), str(processor["data_cache"])
    if len(uses) > 1:
        made.shares = _mix_shares(point, contexts, uses, sampled=point.sampled)
    return made


def _shares(counts: Sequence[Mapping[str, int]], whole: int) -> dict[str, float]:
    sums: dict[str, int] = defaultdict(int)
    for counted in counts:
        for name, number in counted.items():
            sums[name] += number
    return {name: number / whole for name, number in sums.items() if number} if whole else {}


def _caches(processor: Row, result: Row, settings: Mapping[str, Any]) -> list[CacheUse]:
    """Return the use of each cache, with the size and ways that the variant gives it."""
    described = variants.applied(processor, settings, 0)["caches"]
    return [
        CacheUse(name, int(described[name].get("size_bytes", 0)), int(described[name].get("ways", 0)), int(use["accesses"]), int(use["misses"]))
        for name, use in result["caches"].items() if name in described
    ]  # fmt: skip


def _mix_shares(point: PointSummary, contexts: Sequence[Row], uses: Sequence[Row], *, sampled: bool) -> list[Share]:
    """Return the part of each kernel in a mix. Contexts take the kernels in turn."""
    sizes = point.frame.split("+")
    found = []
    for i, use in enumerate(uses):
        own = [context for number, context in enumerate(contexts) if number % len(uses) == i]
        if own:
            part = {"clock_mhz": point.clock_mhz, "contexts": own}
            rate = rates.messages_per_s(part, [int(use["burst"])] * len(own), sampled=sampled)
            found.append(Share(str(use["kernel"]), float(sizes[i]), len(own), rate))
    return found


def _compose(point: PointSummary, parts: Sequence[PointSummary], plan: Plan) -> None:
    """Fill ``point`` from its one simulation, or with the mean over the sizes in its mix of frames."""
    if len(parts) == 1:
        for name in (
            "messages_per_s", "cycles_per_message", "ipc", "instructions_per_message", "kinds", "branches", "mispredicted", "caches", "unknown_share",
            "messages", "instructions", "stalls", "instruction_cache", "data_cache", "shares",
        ):  # fmt: skip
            setattr(point, name, getattr(parts[0], name))
    else:
        numbers = dict(IMIX_SIZES)
        weights = [numbers[int(size)] / sum(numbers.values()) for size in sizes_of(IMIX)]
        point.messages_per_s = rates.rate_of_mix([p.messages_per_s for p in parts if p.messages_per_s is not None], weights)
        point.cycles_per_message = rates.mean_of([p.cycles_per_message for p in parts if p.cycles_per_message is not None], weights)
        point.instructions_per_message = sum(w * (p.instructions_per_message or 0.0) for w, p in zip(weights, parts, strict=True))
        point.messages, point.instructions = (sum(getattr(p, name) for p in parts) for name in ("messages", "instructions"))
        point.unknown_share = max(p.unknown_share or 0.0 for p in parts)
    assert point.messages_per_s is not None  # both branches above set it
    precision = statistics.precision(point.messages_per_s)
    point.converged = not point.sampled or (math.isfinite(precision) and precision <= plan.precision)
    if point.shares:
        by_kernel = [lines.line_rate_gbps(s.messages_per_s, s.frame_bytes, plan.line_overhead) for s in point.shares]
        point.line_gbps = rates.sum_of(by_kernel)
    else:
        point.line_gbps = lines.line_rate_gbps(point.messages_per_s, point.frame_bytes, plan.line_overhead)


def _put_on_lines(points: Sequence[PointSummary], plan: Plan) -> None:
    """Set the lines of each point: whether it sustains them, and the cores that each needs. Use all points that differ only in cores."""
    groups: dict[tuple[Any, ...], dict[int, Interval]] = defaultdict(dict)
    for point in points:
        if point.line_gbps is not None:
            groups[_group(point)][point.cores] = point.line_gbps
    for point in points:
        if point.line_gbps is not None:
            together = groups[_group(point)]
            point.lines = [
                OnLine(line / 1e9, lines.sustains(point.line_gbps, line / 1e9), lines.cores_needed(line / 1e9, together)) for line in plan.lines
            ]


def _group(point: PointSummary) -> tuple[Any, ...]:
    """Return a key that is equal for points that differ only in the number of cores."""
    step = None if point.organisation in _OF_CORES else point.step
    return (point.kernel, point.frame, point.model, point.organisation, step, point.unit_sets, point.clock_mhz, point.variant)
