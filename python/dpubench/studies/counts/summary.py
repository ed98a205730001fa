"""Reads a run directory into a :class:`~dpubench.studies.counts.model.RunSummary`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpubench.analysis.model import head_of
from dpubench.studies.counts.model import PointSummary, RunSummary
from dpubench.studies.counts.plan import Plan
from dpubench.studies.modelled import outcomes
from dpubench.studies.single import analysed


def summaries(path: Path) -> list[RunSummary]:
    """Return the run in ``path``, analysed, whatever its status. @raises UserError when it is not readable"""
    return analysed(path, "counts", Plan, _summary)


def _summary(record: Mapping[str, Any], plan: Plan, path: Path) -> RunSummary:
    found = outcomes.read(path)
    configurations = {entry["id"]: entry for entry in record["configurations"]}
    points = [_point(entry, configurations[entry["configuration"]], found.get(entry["id"]), record) for entry in record["points"]]
    counting = record["counting"]
    return RunSummary(
        **head_of(record, path), summary=plan.summary, points=points, architecture=str(counting["architecture"]), emulator=str(counting["emulator"]),
        cpu=str(counting["cpu"]), model=str(counting.get("model", "")), model_labels=list(counting.get("model_labels", [])),
        operators=dict(record["operators"]),
        not_counted=[(c["id"], engine, reason) for c in record["configurations"] for engine, reason in c["not_measured"].items()],
    )  # fmt: skip


def _point(
    entry: Mapping[str, Any], configuration: Mapping[str, Any], outcome: Mapping[str, Any] | None, record: Mapping[str, Any]
) -> PointSummary:  # fmt: skip
    operator = str(configuration["operator"])
    point = PointSummary(
        str(entry["id"]), operator, dict(configuration["params"]), int(configuration["burst"]), str(configuration["footprint"]), str(entry["engine"]),
        int(record["operators"][operator]["version"]),
    )  # fmt: skip
    if outcome is None or outcome["result"] is None:
        point.failure = str(outcome["failure"]) if outcome is not None else "not counted: the run ended before its turn"
        return point
    result = outcome["result"]
    about = result["about"]
    point.operations, point.in_bytes = int(result["operations"]), int(result["in_bytes"])
    point.counts = [int(n) for n in result["counts"]]
    point.path, point.verified = dict(about.get("path", {})), dict(result["verified"])
    point.input_name, point.input_sha256 = (str(about.get("input", {}).get(key, "")) for key in ("name", "sha256"))
    point.cycles, point.no_cycles = result.get("cycles"), str(result.get("no_cycles", ""))
    point.footprint_bytes = about.get("footprint_bytes")
    return point
