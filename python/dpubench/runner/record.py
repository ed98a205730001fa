"""``run.json`` of a run, from its beginning on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from dpubench import __version__, schemas
from dpubench.catalog import Catalog
from dpubench.errors import UserError
from dpubench.plans.model import StudyPlan
from dpubench.results.store import RunWriter
from dpubench.runner.model import Expansion, Point
from dpubench.studies.operators.plan import Plan
from dpubench.targets import Target

#: Of a run that there is nothing to resume of.
COMPLETE: Final = "is complete: nothing is left to resume; repeat it with `dpubench run {plan}`"


def now_utc() -> str:
    """ISO 8601, seconds."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_name(plan: StudyPlan) -> str:
    """Of a run that was given none: study, plan and time."""
    return f"{plan.study}-{plan.plan}-{datetime.now(timezone.utc).strftime('%Y%m%dT%H%M%SZ')}"


def gone_on_with(writer: RunWriter) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """``run.json`` of an interrupted run, and the files of its inputs by kind. @raises UserError it is complete, or a file is gone"""
    record = writer.record()
    if record["status"] == "complete":
        raise UserError(f"{writer.path}: {COMPLETE.format(plan=writer.plan_file)}")
    files = {kind: list(given["files"]) for kind, given in record["inputs"].items()}
    if gone := [f for paths in files.values() for f in paths if not Path(f).exists()]:
        raise UserError(f"{gone[0]}: this input of the run is gone: put it back, or start anew with `dpubench run {writer.plan_file}`")
    return record, files


def new_record(name: str, plan: Plan, command: str, expansion: Expansion, inputs: Mapping[str, Any], known: Catalog) -> dict[str, Any]:
    """``run.json`` of a run on the target of ``known`` that has not measured anything yet."""
    hello, target = known.hello, known.target
    operators = [known.operator(n) for n in dict.fromkeys(c.operator for c in expansion.configurations)]
    record: dict[str, Any] = {
        "schema": schemas.RUN, "name": name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": command, "version": __version__, "precision_target": plan.precision, "seed": plan.seed, "target": target.name, "spent_s": 0.0,
        "target_info": {"spec": target.spec, "label": target.label},
        "machine": hello["machine"], "build": {k: v for k, v in hello["build"].items() if k != "layout"}, "builds": {}, "clock": {},
        "inputs": dict(inputs),
        "operators": {o["name"]: {k: v for k, v in o.items() if k != "configurations"} for o in operators},
        "configurations": [c.record() for c in expansion.configurations], "points": [], "rounds": [],
        "selection": {"wanted": expansion.select_best}, "failures": [], "warnings": [], "left_out": list(expansion.left_out),
    }  # fmt: skip
    if known.others:
        record["engine_programs"] = [other.record() for other in known.others]
    for configuration, engine, reason in expansion.unavailable:
        version = int(record["operators"][configuration.operator]["version"])
        point = Point(configuration, engine, target.name, "", version, unavailable=reason)
        record["points"].append(point.record())
        record["failures"].append(
            {"phase": "prepare", "message": f"{engine} was asked for and cannot run here: {reason}", "point": point.id, "group": configuration.id}
        )
    return record


def new_set_record(name: str, plan: Plan, command: str, members: Iterable[tuple[Target, str]]) -> dict[str, Any]:
    """``run.json`` of a run on several targets; ``members``: each with the path of its directory in the run's."""
    targets = [
        {"name": t.name, "spec": t.spec, "label": t.label, "path": path, "status": "running", "lost": ""} for t, path in members
    ]  # fmt: skip
    baseline = "local" if any(t["name"] == "local" for t in targets) else targets[0]["name"]
    return {
        "schema": schemas.RUN_SET, "name": name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": command, "version": __version__, "baseline": baseline, "targets": targets,
    }  # fmt: skip
