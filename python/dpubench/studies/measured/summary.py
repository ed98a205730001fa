"""The analysis of a run of figures: intervals over rounds."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from dpubench.analysis import statistics, warnings
from dpubench.analysis.model import Origin, Quantity, Warning_, head_of, is_emulated, mapping
from dpubench.analysis.tables import count
from dpubench.storage.runs import DamagedRunError, RunDirectory
from dpubench.studies.measured import rounds
from dpubench.studies.measured.model import PointSummary, RunSummary


def summaries(path: Path) -> list[RunSummary]:
    """Return the run in ``path``, analysed; for a run of several targets, one summary for each that began. @raises UserError"""
    members = [member for member in RunDirectory(path).members() if member.run_file.is_file()]
    return [_summary(member) for member in members]


def _summary(run: RunDirectory) -> RunSummary:
    record = run.record()
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    worked: dict[str, set[int]] = defaultdict(set)  #: point -> rounds with figures of it
    for row in rounds.read(run.path):
        worked[row["point"]].add(row["round"])
        values[row["point"]][row["quantity"]].append(row["value"])
    try:
        quantities = [Quantity(**entry) for entry in record["quantities"]]
        head = head_of(record, run.path)
        origin: Origin = "emulated" if is_emulated(mapping(record, "target_info")) else record.get("origin", "measured")
        if origin == "emulated":
            points = [_verified(entry, len(worked[entry["id"]])) for entry in record["points"]]
            head["warnings"] = [w for w in head["warnings"] if not w.point]  # the others weaken figures, and there are none
        else:
            points = [_point(entry, values[entry["id"]], quantities, head["precision_target"]) for entry in record["points"]]
        told = {point.id: [w for w in head["warnings"] if w.point == point.id] for point in points}
        for point in points:
            point.warnings += told[point.id]
        of_the_whole = [w for w in head["warnings"] if w.point not in told]
        head["warnings"] = warnings.of_the_run([*of_the_whole, *(w for p in points for w in p.warnings)], points)
        return RunSummary(**head, quantities=quantities, points=points, rounds=len(record["rounds"]), origin=origin)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DamagedRunError(f"{run.run_file}: does not follow dpubench.run/1 of a study of figures ({error!r})") from error


def _verified(entry: dict[str, Any], worked: int) -> PointSummary:
    """Return a point of an emulated target, without its times: a run keeps figures of a point only when they are verified."""
    point = PointSummary(str(entry["id"]), dict(entry["parameters"]), failure=str(entry["failure"]), unavailable=str(entry["unavailable"]))
    if worked and not point.failure:
        point.verified = f"works ({count(worked, 'verified round')})"
    return point


def _point(entry: dict[str, Any], values: dict[str, list[float]], quantities: list[Quantity], precision_target: float) -> PointSummary:
    point = PointSummary(str(entry["id"]), dict(entry["parameters"]), failure=str(entry["failure"]), unavailable=str(entry["unavailable"]))
    if not values or point.failure:  # A point that failed once may have been wrong all along.
        return point
    point.rounds = {q.name: values[q.name] for q in quantities if values.get(q.name)}
    point.figures = {name: statistics.interval_of_rounds(found) for name, found in point.rounds.items()}
    if not point.rounds:  # rows that only the study itself reads
        return point
    first = next(iter(point.rounds))
    number = len(point.rounds[first])
    point.precision = statistics.precision(point.figures[first])
    point.converged = number >= statistics.MINIMUM_ROUNDS and statistics.is_known(point.figures[first], precision_target)
    if number < statistics.MINIMUM_ROUNDS:
        point.warnings.append(Warning_("few-rounds", f"{number} of at least {statistics.MINIMUM_ROUNDS} rounds", point.id))
    elif not point.converged:
        message = f"known to ±{100 * point.precision:.1f} %, asked for ±{100 * precision_target:g} %"
        point.warnings.append(Warning_("not-converged", message, point.id))
    return point
