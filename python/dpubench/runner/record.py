"""``run.json`` of a run, from its beginning on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from dpubench import __version__, schemas
from dpubench.catalog import Catalog
from dpubench.plans.model import Plan
from dpubench.runner.model import Expansion, Point


def now_utc() -> str:
    """ISO 8601, seconds."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_record(
    name: str, plan: Plan, command: str, expansion: Expansion, operators: Iterable[Mapping[str, Any]], inputs: Mapping[str, Any], known: Catalog
) -> dict[str, Any]:
    """``run.json`` of a run that has not measured anything yet."""
    hello = known.hello
    record: dict[str, Any] = {
        "schema": schemas.RUN, "name": name, "study": plan.study, "plan": plan.plan, "status": "running", "started": now_utc(), "finished": "",
        "command": command, "version": __version__, "precision_target": plan.precision, "seed": plan.seed, "target": plan.target, "spent_s": 0.0,
        "machine": hello["machine"], "build": hello["build"], "builds": {}, "clock": {}, "inputs": dict(inputs),
        "operators": {o["name"]: {k: v for k, v in o.items() if k != "configurations"} for o in operators},
        "configurations": [c.record() for c in expansion.configurations], "points": [], "rounds": [],
        "selection": {"wanted": expansion.select_best}, "failures": [], "warnings": [], "left_out": list(expansion.left_out),
    }  # fmt: skip
    if known.others:
        record["engine_programs"] = [other.record() for other in known.others]
    for configuration, engine, reason in expansion.unavailable:
        version = int(record["operators"][configuration.operator]["version"])
        point = Point(configuration, engine, plan.target, "", version, unavailable=reason)
        record["points"].append(point.record())
        record["failures"].append(
            {"phase": "prepare", "message": f"{engine} was asked for and cannot run here: {reason}", "point": point.id, "group": configuration.id}
        )
    return record
