"""The figures of study ``end-to-end``: its quantities, and the cost of each stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dpubench.analysis.figures import of_point
from dpubench.analysis.model import Figure, Interval, Origin, Quantity
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PLACES, Percentiles, PointSummary, RunSummary

#: Quantities that are fields of a point.
RATES: Final = (
    Quantity("throughput_pps", "throughput", "packets/s", "more"),
    Quantity("throughput_gbps", "throughput (L2)", "Gb/s", "more"),
    Quantity("loss_ratio", "loss, share of the packets due", "", "less"),
    Quantity("server_cpu_share", "server CPU, share of its time", "", "less"),
    Quantity("server_application_share", "server CPU of the application, share of its time", "", "less"),
    Quantity("server_receive_work_share", "server CPU of the kernel's receive work, share of its time", "", "less"),
    Quantity("server_cpu_ns_per_packet", "server CPU time per packet", "ns", "less"),
    Quantity("inserted_share", "flows inserted, share of the packets", "", "neither"),
)
LOSSES: Final = tuple(Quantity(f"loss_{place}", f"loss at {wording.PLACE_WORDS[place]}, share of the packets due", "", "less") for place in PLACES)
PERCENTILES: Final = ("p50", "p90", "p99", "p99_9", "max", "mean")
_TIMES: Final = {"latency": "latency", "lag": "the client's lag", "residence": "time in the server"}


def times_of(name: str, title: str) -> list[Quantity]:
    """Return the quantities of the percentiles of a time called ``name``."""
    return [Quantity(f"{name}_{p}_ns", f"{title}, {p.replace('_', '.')}", "ns", "less") for p in PERCENTILES]


def cost_of(stage: str) -> Quantity:
    """Return the quantity of the cost of ``stage``."""
    return Quantity(f"stage_{stage}_ns_per_packet", f"cost of stage {stage} per packet", "ns", "less")


def figures(run: RunSummary) -> list[Figure]:
    """Return the figures of every point of ``run``."""
    return [figure for point in run.points for figure in _of(point, run)]


def percentiles(found: Percentiles | None) -> list[Interval | None]:
    """Return the intervals of :data:`PERCENTILES`."""
    return [getattr(found, name) if found is not None else None for name in PERCENTILES]


def _of(point: PointSummary, run: RunSummary) -> Iterator[Figure]:
    values: list[tuple[Quantity, Interval | float | None]] = [(q, getattr(point, q.name)) for q in RATES]
    values += [(quantity, point.loss_by_place.get(place)) for quantity, place in zip(LOSSES, PLACES, strict=True)]
    for name, title in _TIMES.items():
        values += zip(times_of(name, title), percentiles(getattr(point, name)), strict=True)
    values += [(cost_of(stage.name), stage.ns_per_packet) for stage in point.stages]
    parameters = {
        "workload": point.workload, **point.params, **{f"engine_{stage}": engine for stage, engine in point.engines.items()}, **point.traffic,
        "placement": point.placement, "port": point.port, "server_cpus": point.server_cpus, "frame": point.frame, "schedule": point.schedule,
        "load": point.load,
    }  # fmt: skip
    cpu = dict.fromkeys((q.name for q in RATES if q.name.startswith("server_")), point.server_cpu_withheld)
    latency = {f"latency_{name}_ns": why for name, why in point.latency_withheld.items()}
    origin: Origin = "emulated" if run.times_mean_nothing else "measured"
    without = run.label if run.times_mean_nothing else ""
    # A limit of the client or of stalls says nothing of the server, and neither do parts of a split that share CPUs.
    silent = "" if wording.why_empty(point) else wording.why_no_statement(point)
    yield from of_point(
        run, point.id, parameters, values, origin=origin, target="+".join(filter(None, (point.server_target, point.device_target))),
        labels=[run.label, *point.labels, silent], warnings=[w.code for w in point.warnings], failure=point.failure,
        unavailable=point.unavailable or point.left_out or without, why_none={name: why for name, why in (cpu | latency).items() if why},
    )  # fmt: skip
