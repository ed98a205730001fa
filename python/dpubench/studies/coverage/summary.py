"""Reads a run directory into a :class:`~dpubench.studies.coverage.model.RunSummary`: builds points from outcomes, and the space from the points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench.analysis.model import Interval, Warning_, head_of
from dpubench.simulation.characteristics import CHARACTERISTICS, Counts, of_phases, of_result, total
from dpubench.studies.coverage import measure, wording
from dpubench.studies.coverage.analysis import analysed as space_of
from dpubench.studies.coverage.model import MEASURED, MODELLED, Counted, InputSummary, PointSummary, RunSummary, Space
from dpubench.studies.coverage.plan import Plan
from dpubench.studies.modelled import outcomes, rates
from dpubench.studies.modelled.models import info_of
from dpubench.studies.modelled.plan import ALL
from dpubench.studies.single import analysed

Row = Mapping[str, Any]
#: The last phase is dropped if it is shorter than this share of a phase: too few instructions for ratios.
LEAST_PHASE: Final = 0.5


def summaries(path: Path) -> list[RunSummary]:
    """Return the run in ``path``, analysed, whatever its status. @raises UserError when it is not readable"""
    return analysed(path, "coverage", Plan, _summary)


def _summary(record: Row, plan: Plan, path: Path) -> RunSummary:
    found = outcomes.read(path)
    configurations = {entry["id"]: entry for entry in record["configurations"]}
    points, counted = [], {}
    for entry in record["points"]:
        point, known = _point(entry["id"], [configurations[name] for name in entry["configurations"]], found, record["models"], plan)
        points.append(point)
        if known is not None:
            counted[point.id] = known
    common = [label for label in (points[0].labels if points else []) if all(label in p.labels for p in points)]
    if not common and (label := record["target_info"]["label"]):
        common = [str(label)]
    space = space_of(points, counted)
    results = [outcome["result"] for outcome in found.values() if outcome["result"] is not None]
    run = RunSummary(
        **head_of(record, path), summary=plan.summary, models=[info_of(name, entry) for name, entry in record["models"].items()], points=points,
        space=space, labels=common, exact=plan.exact, phase_instructions=plan.phase,
        phases=0 if plan.exact or plan.phases == ALL else int(plan.phases), simulations=len(results),
        instructions=sum(r["instructions"] for r in results),
    )  # fmt: skip
    run.warnings += _thin(space)
    run.left_out += _cut(points, plan)
    return run


def _thin(space: Space | None) -> list[Warning_]:
    """Return a warning if the space has shares and its hull has too few points, else nothing."""
    return [Warning_("thin-hull", wording.hull_text(space.hull))] if space is not None and space.covered and space.hull.thin else []


def _cut(points: Sequence[PointSummary], plan: Plan) -> list[str]:
    """Return in words the whole programs that were cut: their instructions after the plan's last phase were not simulated."""
    if plan.exact or plan.phases == ALL:
        return []
    most = plan.phase * int(plan.phases)
    cut = {point.id: sum(i.instructions >= most for i in point.inputs) for point in points}
    told = [f"{point.id} ({cut[point.id]} of {len(point.inputs)} inputs)" for point in points if cut[point.id]]
    return [f"only the first {most:,} instructions are simulated of {', '.join(told)}: use --exact or more phases"] if told else []


def _point(name: str, cells: Sequence[Row], found: Mapping[str, Row], models: Mapping[str, Row], plan: Plan) -> tuple[PointSummary, Counted | None]:
    """Return a point and its counts. A whole program has one simulation per input, an operator has one."""
    first = cells[0]
    model = models.get(first["model"])
    origin, labels = (f"{MODELLED}, of {first['model']}", list(model["labels"])) if model is not None else (MEASURED, [measure.LABEL])
    point = PointSummary(
        name, first["kind"], first["name"], list(first["operators"]), first["engine"], dict(first["params"]), first["message_bytes"],
        first["model"], origin, labels,
    )  # fmt: skip
    data_cache, inputs = str(model["processor"]["data_cache"]) if model is not None else "", []
    parts: list[Counts] = []
    phases: list[list[Counts]] = []
    unknown = 0.0
    for cell in cells:
        outcome = found.get(cell["id"])
        shown = InputSummary(cell["id"], cell["input"])
        inputs.append(shown)
        if outcome is None or outcome["result"] is None:
            shown.failure = outcome["failure"] if outcome is not None else "not simulated: the run ended before its turn"
            continue
        result = outcome["result"]
        shown.instructions = int(result["instructions"])
        unknown += math.nan if result["unknown_share"] is None else result["unknown_share"] * result["instructions"]
        parts.append(of_result(result, data_cache) if model is not None else measure.counts_of(result))
        if first["kind"] != "operator":
            context = result["contexts"][0]
            phases.append(of_phases(context, min(LEAST_PHASE * plan.phase, context["instructions"])))
    point.inputs = inputs if first["kind"] != "operator" else []
    if not parts or not (counts := total(parts)).instructions:
        point.failure = inputs[0].failure or "nothing was counted"
        return point, None
    point.cached = all(outcome["cached"] for cell in cells if (outcome := found.get(cell["id"])) is not None)
    point.instructions, point.unknown_share = int(counts.instructions), None if math.isnan(unknown) else unknown / counts.instructions
    values = zip(CHARACTERISTICS, counts.characteristics(), strict=True)
    point.characteristics = {key: value if math.isfinite(value) else None for key, value in values}
    point.sampled = first["kind"] == "operator" and model is not None and plan.samples
    ipc = point.characteristics["ipc"]
    if ipc is not None:
        outcome = found.get(first["id"])
        point.ipc = _ipc(ipc, outcome["result"]) if point.sampled and outcome is not None else Interval(ipc, math.nan, math.nan)
    return point, Counted(name, counts, phases)


def _ipc(ipc: float, result: Row) -> Interval:
    """Return IPC with the relative interval of cycles per message, because messages of a kernel take about equally many instructions."""
    cycles = rates.cycles_per_message(result, [1], sampled=True)
    if not (math.isfinite(cycles.low) and cycles.low > 0):
        return Interval(ipc, math.nan, math.nan)
    return Interval(ipc, ipc * cycles.value / cycles.high, ipc * cycles.value / cycles.low)
