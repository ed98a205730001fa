"""The analysis of a run of study ``offload``: intervals over rounds, efficiencies that are withheld, warnings; a modelled run has exact figures."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from dpubench.analysis import statistics, warnings
from dpubench.analysis.model import Interval, Warning_
from dpubench.storage.runs import DamagedRunError, RunDirectory
from dpubench.studies.measured import model as measured
from dpubench.studies.measured import rounds
from dpubench.studies.measured.summary import summaries as measured_summaries
from dpubench.studies.offload import cluster, execute, prediction, quantities
from dpubench.studies.offload.model import PointSummary, RunSummary
from dpubench.studies.offload.trends import Trend

#: A phase must take this many times as long as reading the clock.
COARSE: Final = 100
_TIMES: Final = (quantities.REFERENCE, quantities.COMMUNICATION, quantities.COMPUTE, quantities.OVERLAPPED)
_Rows = Mapping[str, Sequence[float]]


def summaries(path: Path) -> list[RunSummary]:
    """Return the run in ``path``, analysed; for a run of several targets, one summary for each that began. @raises UserError"""
    members = [member for member in RunDirectory(path).members() if member.run_file.is_file()]
    return [_summary(member, base) for member, base in zip(members, measured_summaries(path), strict=True)]


def _summary(run: RunDirectory, base: measured.RunSummary) -> RunSummary:
    record = run.record()
    beside: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rounds.read(run.path):
        beside[row["point"]][row["quantity"]].append(row["value"])
    try:
        entries = {str(entry["id"]): entry for entry in record["points"]}
        clock, launches = record.get("clock", {}), record["launches"]
        coarse_us = COARSE * (float(clock.get("overhead_ns", 0)) + float(clock.get("resolution_ns", 0))) / 1e3
        shared = {p.id: str(launches.get("{hosts}+{workers}".format_map(p.parameters), {}).get("shared", "")) for p in base.points}
        points = [_point(p, entries[p.id], beside[p.id], shared[p.id], coarse_us, modelled=base.origin == "modelled") for p in base.points]
        head = {f.name: getattr(base, f.name) for f in fields(base) if f.name not in ("points", "warnings")}
        of_the_run = [w for w in base.warnings if base.origin != "modelled" or w.code not in ("few-rounds", "not-converged")]
        found = warnings.of_the_run([*of_the_run, *(w for p in points for w in p.warnings if w not in base.warnings)], points)
        return RunSummary(
            **head, points=points, warnings=found, cluster=None if record["model"] is None else cluster.again(record["model"]),
            trends=[Trend(**entry) for entry in record["trends"]], started_by=_started_by(record)
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DamagedRunError(f"{run.run_file}: does not follow dpubench.run/1 of study offload ({error!r})") from error


def _point(base: measured.PointSummary, entry: Mapping[str, Any], rows: _Rows, shared: str, coarse_us: float, *, modelled: bool) -> PointSummary:
    point = PointSummary(**{f.name: getattr(base, f.name) for f in fields(base)}, limits=list(entry.get("limits", [])))
    if not point.figures:
        return point
    if modelled:
        point.figures = {name: Interval(interval.value if values[0] > 0 else values[0], math.nan, math.nan)
                         for (name, interval), values in zip(point.figures.items(), point.rounds.values(), strict=True)}  # fmt: skip
        point.converged, point.precision = True, 0.0
        point.warnings = [w for w in point.warnings if w.code not in ("few-rounds", "not-converged")]
    else:
        for name in quantities.LINEAR & point.figures.keys():
            point.figures[name] = statistics.linear_interval_of_rounds(point.rounds[name])
        shortest = min((point.figures[name].value for name in _TIMES if name in point.figures), default=coarse_us)
        if shortest < coarse_us:
            message = f"a phase takes {1e3 * shortest:.0f} ns, and reading the clock up to {1e3 * coarse_us / COARSE:.0f} ns"
            point.warnings.append(Warning_("clock-coarse", message, point.id))
        _weigh(point, rows, shared)
    hosts, workers = int(point.parameters["hosts"]), int(point.parameters["workers"])
    if (uneven := prediction.imbalance(hosts, workers)) > 1:
        message = f"the busiest of {workers} workers has {-(-hosts // workers)} of {hosts} hosts, {uneven:.2f} times the mean"
        point.warnings.append(Warning_("imbalance", message, point.id))
    return point


def _weigh(point: PointSummary, rows: _Rows, shared: str) -> None:
    """Add what the rows beside the figures say of them: shared cores withhold the efficiencies."""
    if any(rows.get(execute.SHARED, ())):
        on = shared or "ranks share a core"
        reason = f"{on}: this run proves correctness only"
        for name in quantities.EFFICIENCIES & point.figures.keys():
            point.withheld[name] = reason
            del point.figures[name], point.rounds[name]
        point.warnings = [w for w in point.warnings if w.code != "not-converged"]
        point.warnings.append(Warning_("correctness-only", on, point.id))
    if any(rows.get(execute.EMULATED, ())):
        point.warnings.append(Warning_("emulated-transfers", "", point.id))
    elif not any(rows.get(execute.ARRIVED, (1.0,))):
        point.warnings.append(Warning_("nothing-arrived", "", point.id))


def _started_by(record: Mapping[str, Any]) -> str:
    if record["launcher"] is None:
        return ""
    first = next(iter(record["launches"].values()), None)
    told = [] if first is None else [str(first["mpi"]).partition(",")[0], f"UCX {first['ucx']}", f"transfers by {first['one_sided']['transports']}"]
    if first is not None and first.get("bytes"):
        told.append("bytes through memory are counted" if first["bytes"] == "counted" else "bytes through memory follow from the algorithm")
    return ", ".join(filter(None, [f"started by {record['launcher']['name']}", *told]))
