"""Asks the simulator for faults in simulations before their traces are captured. The simulator reads them as in a real run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dpubench.errors import nearest
from dpubench.simulation import simulator
from dpubench.simulation.simulator import Fault

#: The plan key behind each key of an extent.
EXTENT: Final[Mapping[str, tuple[str, ...]]] = {
    "every": ("sample", "every"), "measured": ("sample", "measured"), "warm_up_messages": ("warm_up",), "messages": ("messages",),
    "phase_instructions": ("phase",),
}  # fmt: skip
_UNKNOWN: Final = "is not a field"


def faults_of(configurations: Sequence[Mapping[str, Any]]) -> list[list[Fault]]:
    """Return the faults of each of ``configurations``. Ask only once about equal ones. @raises as ``simulator.check``"""
    keys = [json.dumps(configuration, sort_keys=True) for configuration in configurations]
    distinct = dict(zip(keys, configurations, strict=True))
    answers = dict(zip(distinct, simulator.check(list(distinct.values())), strict=True))
    return [answers[key] for key in keys]


def named(processor: Mapping[str, Any], path: str) -> str:
    """Return ``path`` with list elements replaced by their names, as plans write them: ``units/integer/count``."""
    steps: list[str] = []
    at: Any = processor
    for step in path.split("/"):
        inside = at[int(step)] if isinstance(at, list) and step.isdigit() and int(step) < len(at) else None
        if inside is not None:
            name = inside.get("name") if isinstance(inside, Mapping) else None
            steps.append(name if isinstance(name, str) and name else step)
            at = inside
        else:
            steps.append(step)
            at = at.get(step) if isinstance(at, Mapping) else None
    return "/".join(steps)


def told(processor: Mapping[str, Any], fault: Fault) -> str:
    """Return ``fault`` in the words of a plan."""
    section, _, path = fault.at.partition("/")
    if section != "processor":
        return fault.what
    hint = ""
    if fault.what.startswith(_UNKNOWN):
        *way, last = path.split("/")
        at: Any = processor
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at[step]
        hint = nearest(last, [key for key in at if key != last])
    return f"{named(processor, path)}: {fault.what}{hint}" if path else f"the processor {fault.what}"
