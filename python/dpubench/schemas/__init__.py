"""The contract as JSON Schema: jobs, events, runs, run sets, targets. Tests compare both halves with this one copy."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

JOB = "dpubench.job/1"
SERVER_JOB = "dpubench.server-job/1"
TRAFFIC_JOB = "dpubench.traffic-job/1"
CORES_JOB = "dpubench.cores-job/1"
APPLICATION_JOB = "dpubench.application-job/1"
WORKLOAD_JOB = "dpubench.workload-job/1"
TOOL_JOB = "dpubench.tool-job/1"
LINK_JOB = "dpubench.link-job/1"
HEADROOM_JOB = "dpubench.headroom-job/1"
OFFLOAD_JOB = "dpubench.offload-job/1"
EVENT = "dpubench.event/1"
RUN = "dpubench.run/1"
TARGET = "dpubench.target/1"
RUN_SET = "dpubench.run-set/1"


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the schema called ``name``.

    Names are ``job``, those of the other programs (``server-job``, ``traffic-job``, ``cores-job``, ``application-job``, ``workload-job``,
    ``tool-job``, ``link-job``, ``headroom-job``, ``offload-job``),
    ``event``, ``run``, ``run-set`` and ``target``. Each study adds its own part to ``run``: the file ``run.schema.json`` of its folder.
    """
    found = cast("dict[str, Any]", json.loads(resources.files(__package__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")))
    return found | _of_studies() if name == "run" else found


def _of_studies() -> dict[str, Any]:
    """Return the studies' parts of the schema of ``run``: each applies to the runs of its study."""
    parts: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    for folder in sorted(resources.files("dpubench").joinpath("studies").iterdir(), key=lambda folder: folder.name):
        file = folder.joinpath("run.schema.json")
        if file.is_file():
            study = folder.name.replace("_", "-")
            own = json.loads(file.read_text(encoding="utf-8"))
            definitions |= own.pop("$defs", {}) | {study: own}
            parts.append({"if": {"properties": {"study": {"const": study}}}, "then": {"$ref": f"#/$defs/{study}"}})
    return {"allOf": parts, "$defs": definitions}


@dataclass(frozen=True, slots=True)
class WindowField:
    """One field of the event ``window``, as the schema declares it. Whatever lists these fields takes them from here, or is compared with this."""

    name: str
    kind: str  #: ``text``, ``count`` (a whole number), ``number`` or ``numbers`` (an object of them)
    least: float  #: of a count or number, or of each of the numbers
    most: float
    is_required: bool


@cache
def window_fields() -> tuple[WindowField, ...]:
    """Return the fields of the event ``window`` that hold something of the window, in the schema's order."""
    window = schema("event")["$defs"]["window"]
    kinds = {"string": "text", "integer": "count", "number": "number", "object": "numbers"}
    found: list[WindowField] = []
    for name, declared in window["properties"].items():
        if "const" in declared:
            continue
        bounds = declared.get("additionalProperties", declared)
        if "enum" in declared:
            bounds = {"minimum": min(declared["enum"]), "maximum": max(declared["enum"])}
        least = bounds.get("minimum", -math.inf)
        if "exclusiveMinimum" in bounds:
            least = math.nextafter(bounds["exclusiveMinimum"], math.inf)
        kind = kinds[declared.get("type", "integer")]
        found.append(WindowField(name, kind, least, bounds.get("maximum", math.inf), name in window["required"]))
    return tuple(found)


@cache
def validator(name: str, definition: str = "") -> Validator:
    """Return a validator of a whole schema or of one of its definitions (``validator("event", "window")``)."""
    from jsonschema import Draft202012Validator

    whole = schema(name)
    part = whole if not definition else {"$schema": whole["$schema"], "$defs": whole["$defs"], **whole["$defs"][definition]}
    return cast("Validator", Draft202012Validator(part))


def fault(name: str, value: Any, definition: str = "") -> str:
    """Return the fault of ``value``, with the path to it; empty when it is valid."""
    from jsonschema.exceptions import best_match

    error = best_match(validator(name, definition).iter_errors(value))
    if error is None:
        return ""
    where = ".".join(str(p) for p in error.absolute_path)
    message = error.message if len(error.message) < 300 else error.message[:297] + "..."
    return f"{where}: {message}" if where else message
