"""The figures of study ``operators``: its quantities, and those that each operator has of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from dpubench.analysis.figures import of_point
from dpubench.analysis.model import Figure, Interval, Quantity, mapping
from dpubench.studies.operators.model import ENERGY, PointSummary, RunSummary

#: The quantities with intervals. Each is a field of a point; the unit of ``primary`` is the operator's.
INTERVALS: Final = (
    Quantity("ops_per_s", "rate", "operations/s", "more"),
    Quantity("ns_per_op", "time per operation", "ns", "less"),
    Quantity("gbps", "throughput", "Gb/s", "more"),
    Quantity("primary", "rate in the operator's unit", "", "more"),
    Quantity("cycles_per_op", "core cycles per operation", "cycles", "less"),
    Quantity("energy_nj_per_op", "package energy per operation", "nJ", "less"),
    Quantity("canary_ratio", "rate over the core canary's", "", "more"),
    Quantity("ratio_to_reference", "rate over the reference engine's", "", "more"),
    Quantity("ratio_to_next_best", "rate over the next best engine's", "", "more"),
)
#: The quantities of tables and compiled rules.
OF_TABLES: Final = (
    Quantity("build_ns", "time to build tables", "ns", "less"),
    Quantity("memory_bytes", "memory of tables", "B", "less"),
)


def figures(run: RunSummary) -> list[Figure]:
    """Return the figures of every point of ``run``."""
    return [figure for point in run.points for figure in _of(point, run)]


def metrics_of(operator: str, run: RunSummary) -> list[Quantity]:
    """Return the quantities that ``operator`` measures besides the rate, as its catalog entry declares them."""
    return [
        Quantity(f"metric_{m['name']}", str(m["name"]).replace("_", " "), str(m["unit"]), "more" if m["higher_is_better"] else "less")
        for m in run.operators.get(operator, {}).get("metrics", [])
    ]


def _of(point: PointSummary, run: RunSummary) -> Iterator[Figure]:
    values: list[tuple[Quantity, Interval | float | None]] = [(q, getattr(point, q.name)) for q in (*INTERVALS, *OF_TABLES)]
    values = [(replace(q, unit=point.primary_unit) if q.name == "primary" else q, value) for q, value in values]
    values += [(q, point.metrics.get(q.name.removeprefix("metric_"))) for q in metrics_of(point.operator, run)]
    parameters = {"operator": point.operator, **point.params, "threads": point.threads, "burst": point.burst, "footprint": point.footprint}
    parameters |= {"engine": point.engine_word} | ({"build": point.build} if point.build else {})
    emulated = run.times_mean_nothing
    why_none = {
        "gbps": "the operator does not process all bytes in this mode",
        "cycles_per_op": str(mapping(run.machine, "cycle_counter").get("unavailable", "")) or "not counted",
        "energy_nj_per_op": str(mapping(run.machine, "energy").get("unavailable", "")) or "not counted",
        "ratio_to_next_best": "not the best engine of its configuration, or none of another library was measured",
        "build_ns": "builds no tables",
        "memory_bytes": "builds no tables",
    }
    yield from of_point(
        run, point.id, parameters, values, origin="emulated" if emulated else "measured", target=point.target, labels=[run.label],
        warnings=[w.code for w in point.warnings], failure=point.failure, unavailable=point.unavailable or (run.label if emulated else ""),
        notes={"cycles_per_op": point.cycles_source, "energy_nj_per_op": ENERGY, "ratio_to_next_best": f"over {point.next_best}"}, why_none=why_none,
    )  # fmt: skip
