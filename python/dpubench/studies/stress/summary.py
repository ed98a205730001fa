"""The analysis of runs of stress-ng: the figures of each run, and the ranks of the targets of one set."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from dpubench.errors import UserError
from dpubench.plans.load import read_plan
from dpubench.storage.runs import TARGETS, DamagedRunError, RunDirectory
from dpubench.studies.measured import summary as measured
from dpubench.studies.measured.model import PointSummary as MeasuredPoint
from dpubench.studies.measured.model import RunSummary as MeasuredSummary
from dpubench.studies.stress import ranking
from dpubench.studies.stress.model import PointSummary, RunSummary
from dpubench.studies.stress.plan import Plan


def summaries(path: Path) -> list[RunSummary]:
    """Return the run in ``path``, analysed; for a run of several targets, one summary for each that began, with ranks among them.

    The run of one target of a set has its ranks among the targets of the set. @raises UserError
    """
    whole = path.parent.parent if path.parent.name == TARGETS and (path.parent.parent / "run.json").is_file() else path
    runs = [_summary(found) for found in measured.summaries(whole)]
    ranking.rank(runs)
    return runs if whole == path else [run for run in runs if Path(run.path) == path]


def _summary(found: MeasuredSummary) -> RunSummary:
    directory = RunDirectory(Path(found.path))
    record = directory.record()
    plan, _ = read_plan(directory.plan_file)
    if not isinstance(plan, Plan):
        raise UserError(f"{found.path}: its plan is of study {plan.study}")
    try:
        told = record["stress_ng"]
        entries = {str(entry["id"]): entry for entry in record["points"]}
        classes = {str(name): [str(c) for c in of] for name, of in told["classes"].items()}
        points = [_point(point, entries[point.id], classes) for point in found.points]
        return RunSummary(
            **{f.name: getattr(found, f.name) for f in fields(found) if f.name != "points"}, points=points, stress_version=str(told["version"]),
            instances=int(told["instances"]), wanted_reference=plan.reference, mixed_versions=plan.mixed_versions,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedRunError(f"{directory.run_file}: does not follow dpubench.run/1 of study stress ({error!r})") from error


def _point(point: MeasuredPoint, entry: dict[str, Any], classes: dict[str, list[str]]) -> PointSummary:
    stressor = str(entry["parameters"]["stressor"])
    made = PointSummary(**{f.name: getattr(point, f.name) for f in fields(point)})
    made.stressor, made.duration_s = stressor, float(entry["seconds"])
    made.classes, made.spared = classes.get(stressor, []), str(entry.get("spared", ""))
    return made
