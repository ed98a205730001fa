"""The figures of study ``cores``: the rates that a modelled processor sustains, its instructions, and the cores that each line needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dpubench.analysis.figures import of_point
from dpubench.analysis.model import Figure, Interval, Quantity
from dpubench.studies.cores import wording
from dpubench.studies.cores.model import PointSummary, RunSummary
from dpubench.studies.modelled.plan import MODEL_PREFIX

#: The quantities with intervals. Each is a field of a point.
RATES: Final = (
    Quantity("messages_per_s", "rate of the chip", "messages/s", "more"),
    Quantity("cycles_per_message", "cycles per message of a context", "cycles", "less"),
    Quantity("line_gbps", "line rate sustained", "Gb/s", "more"),
)
#: The quantities without intervals, and the field of each.
COUNTS: Final = {
    Quantity("ipc", "instructions per cycle", "", "more"): "ipc",
    Quantity("instructions_per_message", "instructions per message", "instructions", "less"): "instructions_per_message",
    Quantity("branch_share", "branches, share of the instructions", "", "neither"): "branches",
    Quantity("mispredicted_share", "mispredictions, share of the branches", "", "less"): "mispredicted",
    Quantity("unknown_share", "instructions unknown to the model, share of all", "", "less"): "unknown_share",
}


def line_name(line_gbps: float) -> str:
    """Return the name of a line in names of quantities: ``line_10_Gbps`` or the like."""
    return f"line_{wording.line_text(line_gbps).replace('/', 'p').replace(' ', '_')}"


def figures(run: RunSummary) -> list[Figure]:
    """Return the figures of every point of ``run``. All are modelled."""
    return [figure for point in run.points for figure in _of(point, run)]


def _of(point: PointSummary, run: RunSummary) -> Iterator[Figure]:
    values: list[tuple[Quantity, Interval | float | None]] = [(q, getattr(point, q.name)) for q in RATES]
    values += [(q, getattr(point, field)) for q, field in COUNTS.items()]
    needed = {line.line_gbps: line.cores for line in point.lines}
    notes = {}
    for line in run.lines_gbps:
        quantity = Quantity(f"{line_name(line)}_cores", f"cores that sustain {wording.line_text(line)}", "cores", "less")
        cores = needed.get(line)
        ends = (cores.low, cores.high) if cores is not None else (None, None)
        low, high = (float("nan") if end is None else float(end) for end in ends)
        values.append((quantity, None if cores is None else Interval(cores.value, low, high)))
        if cores is not None and cores.extrapolated:
            notes[quantity.name] = f"extrapolated from at most {cores.simulated} simulated"
    parameters: dict[str, Any] = {
        "kernel": point.kernel, "operators": "+".join(point.operators), "engines": "+".join(point.engines), **point.params, "frame": point.frame,
        "organisation": point.organisation, "step": point.step, "cores": point.cores, "contexts": point.contexts, "clock_mhz": point.clock_mhz,
        "variant": point.variant,
    }  # fmt: skip
    yield from of_point(
        run, point.id, {k: v for k, v in parameters.items() if v != ""}, values, origin="modelled", target=f"{MODEL_PREFIX}{point.model}",
        labels=[*point.labels, "" if point.converged else "the interval of sampled messages is wider than the plan asks"], failure=point.failure,
        notes=notes, why_none={"mispredicted_share": "no branches, or a mix of frames", "ipc": "a mix of frames"},
    )  # fmt: skip
