"""Exports analysed runs for other programs as CSV, Parquet or JSON.

CSV and Parquet hold the same records, one per point. Every figure carries its unit in its name, and its interval stands in two further columns.
JSON holds everything that is known of the runs.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dpubench.analysis import formats
from dpubench.analysis.model import Interval
from dpubench.errors import UserError
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PLACES, Percentiles, PointSummary, RunSummary

SCHEMA: Final = "dpubench.end-to-end-export/1"
_PERCENTILES: Final = ("p50", "p90", "p99", "p99_9", "max", "mean")
_TEXT: Final = (
    "id", "workload", "params", "engines", "placement", "server_target", "device_target", "port", "port_driver", "frame", "traffic", "schedule",
    "load", "load_kind", "not_converged", "timestamp_source", "latency_withheld", "server_cpu_withheld", "limit", "bounded_by", "labels", "failure",
    "unavailable", "left_out", "floor",
)  # fmt: skip


def record(point: PointSummary) -> dict[str, Any]:
    """Return one flat record of ``point``, with None for missing values."""
    row: dict[str, Any] = {
        "id": point.id, "workload": point.workload, "params": _words(point.params), "engines": _words(point.engines), "placement": point.placement,
        "server_target": point.server_target, "device_target": point.device_target, "port": point.port, "port_driver": point.port_driver,
        "is_virtual": point.is_virtual, "server_cpus": point.server_cpus, "frame": point.frame, "frame_bytes": point.frame_bytes,
        "traffic": _words(point.traffic), "schedule": point.schedule, "load": point.load, "load_kind": point.load_kind, "is_null": point.is_null,
        "offered_pps": point.offered_pps, "loss_goal": point.loss_goal, "trial_s": point.trial_s, "rounds": point.rounds, "trials": point.trials,
        "converged": point.converged, "precision": _number(point.precision),
        "not_converged": " ".join(name.replace(" ", ":") for name in point.not_converged), "limit": point.limit, "labels": "; ".join(point.labels),
    }  # fmt: skip
    for what, numbers in (("trials", point.tried), ("rounds", point.limits)):
        row |= {
            f"{what}_{limit or 'valid'}".replace("-", "_"): numbers.get(limit, 0)
            for limit in ("", "client-limited", "stall-limited", "server-limited")
        }
    row |= {
        "trials_tried_again": point.tried_again, "trials_counted": point.counted, "trials_counted_s": point.counted_s, "packets_due": point.due,
        "packets_lost": point.lost, "resolvable_loss_ratio": _number(wording.resolvable(point)), "trials_over_goal": point.over_goal,
        "bounded_by": point.bounded_by, "left_out": point.left_out,
    }  # fmt: skip
    for name in ("exceed_ratio", "first_trial_s", "last_trial_s", "duration_sum_s", "width"):
        row[f"required_{name}"] = getattr(point.required, name) if point.required is not None else None
    for name in (
        "throughput_pps", "throughput_gbps", "loss_ratio", "server_cpu_share", "server_application_share", "server_receive_work_share",
        "server_cpu_ns_per_packet", "inserted_share",
    ):  # fmt: skip
        row |= _spread(name, getattr(point, name))
    for place in PLACES:
        row |= _spread(f"loss_{place}", point.loss_by_place.get(place))
    row |= _times("latency", point.latency) | _times("lag", point.lag) | {"timestamp_source": point.timestamp_source}
    row["latency_withheld"] = "; ".join(f"{name}: {why}" for name, why in point.latency_withheld.items())
    row |= {"latency_packets": point.latency_packets, "latency_packets_least": point.latency_packets_least} | _times("residence", point.residence)
    floor = point.floor
    row |= {"floor": floor.point if floor else ""} | _times("floor_latency", floor.latency if floor else None)
    row |= _spread("floor_throughput_pps", floor.throughput_pps if floor else None)
    row |= {name: getattr(point, name) for name in ("duplicates", "reordered", "corrupted", "wrong", "flows_checked")}
    row |= {"server_cpu_withheld": point.server_cpu_withheld, "failure": point.failure, "unavailable": point.unavailable}
    for stage in point.stages:
        row |= _spread(f"stage_{stage.name}_ns_per_packet", stage.ns_per_packet)
    return row


def _words(values: dict[str, str]) -> str:
    return ",".join(f"{k}={v}" for k, v in sorted(values.items()))


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _spread(name: str, interval: Interval | None) -> dict[str, float | None]:
    found = (None, None, None) if interval is None else (interval.value, interval.low, interval.high)
    return {name + end: _number(value) for end, value in zip(("", "_low", "_high"), found, strict=True)}


def _times(name: str, found: Percentiles | None) -> dict[str, float | None]:
    row: dict[str, float | None] = {}
    for percentile in _PERCENTILES:
        row |= _spread(f"{name}_{percentile}_ns", getattr(found, percentile) if found is not None else None)
    return row


def records(runs: Sequence[RunSummary]) -> list[dict[str, Any]]:
    """Return the records of all points, each with the same columns."""
    rows = [{"run": run.name, **record(point)} for run in runs for point in run.points]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]


def to_csv(runs: Sequence[RunSummary]) -> str:
    return formats.csv_of(records(runs))


def to_json(runs: Sequence[RunSummary]) -> str:
    """Return everything that is known of the runs as JSON."""
    content = {"schema": SCHEMA, "runs": [_plain(dataclasses.asdict(run)) for run in runs]}
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    """Return ``value`` with None for numbers that are not finite, since JSON has none."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_table(runs: Sequence[RunSummary]) -> Any:
    """Return the records as an Arrow table, with nulls for missing values."""
    import pyarrow as pa

    rows = records(runs)
    columns = {}
    for name in rows[0] if rows else []:
        values = [row[name] for row in rows]
        is_text = name in _TEXT or name == "run" or any(isinstance(v, str) for v in values)
        kind = pa.string() if is_text else pa.bool_() if all(isinstance(v, bool) for v in values) else pa.float64()
        if not is_text and values and all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            kind = pa.int64()
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def to_parquet(runs: Sequence[RunSummary], path: Path) -> None:
    """Write the records to ``path`` as Parquet, one row per point."""
    import pyarrow.parquet as pq

    pq.write_table(to_table(runs), path)


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Refuse the export, since the points of this study have too many figures for one table. @raises UserError always"""
    raise UserError("--latex: study end-to-end has no such table: take --csv, or the figures of the report")


def anonymous(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return copies without host and user names, paths, addresses and serials; targets other than ``local`` become ``target-1``, ..."""
    found = (t for run in runs for p in run.points for t in (run.target, p.server_target, p.device_target))
    names = dict.fromkeys(t for t in found if t not in ("local", ""))
    scrub = formats.scrubber([run.machine for run in runs], {name: f"target-{i}" for i, name in enumerate(names, 1)})
    copies = []
    for run in runs:
        copy: RunSummary = formats.scrubbed(run, scrub)
        copy.path = copy.spec = ""
        copy.machine = {key: formats.scrubbed(value, scrub) for key, value in run.machine.items() if key in formats.KEPT_OF_MACHINE}
        copy.inputs = {kind: {k: scrub(v) for k, v in given.items() if k in ("name", "sha256", "date", "note")} for kind, given in run.inputs.items()}
        copies.append(copy)
    return copies
