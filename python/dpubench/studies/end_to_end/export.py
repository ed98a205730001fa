"""Exports analysed runs for other programs as CSV, Parquet or JSON.

CSV and Parquet hold the same records, one per point. Every figure carries its unit in its name, and its interval stands in two further columns.
JSON holds everything that is known of the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dpubench.analysis.export import Export, words
from dpubench.analysis.formats import number, spread
from dpubench.errors import UserError
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.figures import LOSSES, RATES, cost_of, percentiles, times_of
from dpubench.studies.end_to_end.model import PLACES, Percentiles, PointSummary, RunSummary

SCHEMA: Final = "dpubench.end-to-end-export/1"


_COUNTS: Final = (
    "server_cpus", "rounds", "trials", "trials_valid", "trials_client_limited", "trials_stall_limited", "trials_server_limited", "rounds_valid",
    "rounds_client_limited", "rounds_stall_limited", "rounds_server_limited", "trials_tried_again", "trials_counted", "packets_due", "packets_lost",
    "trials_over_goal", "latency_packets", "latency_packets_least", "duplicates", "reordered", "corrupted", "wrong", "flows_checked",
)  # fmt: skip


def record(point: PointSummary, _run: RunSummary) -> dict[str, Any]:
    """Return one flat record of ``point``, with None for missing values."""
    row: dict[str, Any] = {
        "id": point.id, "workload": point.workload, "params": words(point.params), "engines": words(point.engines), "placement": point.placement,
        "server_target": point.server_target, "device_target": point.device_target, "port": point.port, "port_driver": point.port_driver,
        "is_virtual": point.is_virtual, "server_cpus": point.server_cpus, "frame": point.frame, "frame_bytes": point.frame_bytes,
        "traffic": words(point.traffic), "schedule": point.schedule, "load": point.load, "load_kind": point.load_kind, "is_null": point.is_null,
        "offered_pps": point.offered_pps, "loss_goal": point.loss_goal, "trial_s": point.trial_s, "rounds": point.rounds, "trials": point.trials,
        "converged": point.converged, "precision": number(point.precision),
        "not_converged": " ".join(name.replace(" ", ":") for name in point.not_converged), "limit": point.limit, "labels": "; ".join(point.labels),
    }  # fmt: skip
    for what, numbers in (("trials", point.tried), ("rounds", point.limits)):
        row |= {
            f"{what}_{limit or 'valid'}".replace("-", "_"): numbers.get(limit, 0)
            for limit in ("", "client-limited", "stall-limited", "server-limited")
        }
    row |= {
        "trials_tried_again": point.tried_again, "trials_counted": point.counted, "trials_counted_s": point.counted_s, "packets_due": point.due,
        "packets_lost": point.lost, "resolvable_loss_ratio": number(wording.resolvable(point)), "trials_over_goal": point.over_goal,
        "bounded_by": point.bounded_by, "left_out": point.left_out,
    }  # fmt: skip
    for name in ("exceed_ratio", "first_trial_s", "last_trial_s", "duration_sum_s", "width"):
        row[f"required_{name}"] = getattr(point.required, name) if point.required is not None else None
    for quantity in RATES:
        row |= spread(quantity.name, getattr(point, quantity.name))
    for quantity, place in zip(LOSSES, PLACES, strict=True):
        row |= spread(quantity.name, point.loss_by_place.get(place))
    row |= _times("latency", point.latency) | _times("lag", point.lag) | {"timestamp_source": point.timestamp_source}
    row["latency_withheld"] = "; ".join(f"{name}: {why}" for name, why in point.latency_withheld.items())
    row |= {"latency_packets": point.latency_packets, "latency_packets_least": point.latency_packets_least} | _times("residence", point.residence)
    floor = point.floor
    row |= {"floor": floor.point if floor else ""} | _times("floor_latency", floor.latency if floor else None)
    row |= spread("floor_throughput_pps", floor.throughput_pps if floor else None)
    row |= {name: getattr(point, name) for name in ("duplicates", "reordered", "corrupted", "wrong", "flows_checked")}
    row |= {"server_cpu_withheld": point.server_cpu_withheld, "verified": point.verified, "failure": point.failure, "unavailable": point.unavailable}
    for stage in point.stages:
        row |= spread(cost_of(stage.name).name, stage.ns_per_packet)
    return row


def _times(name: str, found: Percentiles | None) -> dict[str, float | None]:
    row: dict[str, float | None] = {}
    for quantity, interval in zip(times_of(name, name), percentiles(found), strict=True):
        row |= spread(quantity.name, interval)
    return row


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Refuse the export, since the points of this study have too many figures for one table. @raises UserError always"""
    raise UserError("--latex: study end-to-end has no such table: take --csv, or the figures of the report")


def _targets(run: RunSummary) -> list[str]:
    return [run.target, *(name for p in run.points for name in (p.server_target, p.device_target))]


EXPORT: Final = Export(SCHEMA, record, to_latex, _COUNTS, targets=_targets)
