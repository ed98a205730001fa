"""Processors of a sweep: a model changed by a step of an organisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dpubench.simulation.models import Model
from dpubench.studies.cores.plan import Step, Sweep
from dpubench.studies.modelled.plan import ALL

#: Settings of variants that the model applies itself, because other parts of its description depend on them.
DERIVED: Final = {"organisation/policy": "policy", "organisation/window": "window", "organisation/switch_cycles": "switch_cycles"}


@dataclass(frozen=True)
class Made:
    """A processor derived from a model."""

    processor: dict[str, Any]
    tag: str  #: part of names: "smt-4"
    step: int
    unit_sets: int | None  #: None: those of the model
    cores: int
    contexts: int  #: contexts per core
    clock_mhz: float


def make(model: Model, sweep: Sweep, step: Step, clock_mhz: float | None, settings: Mapping[str, Any]) -> Made:
    """Return ``model`` at ``clock_mhz`` with ``step`` unit sets (superscalar), contexts (fgmt, smt), or cores (cmp, described).

    Contexts have a unit set each, unless the sweep sets the number of unit sets. Of ``settings`` it applies only those in :data:`DERIVED`.

    @raises UserError when the model does not allow this
    """
    kind = sweep.organisation
    number = int(model.processor["organisation"]["cores"]) if step == ALL else int(step)
    changes: dict[str, Any] = {"cores": number if kind in ("cmp", "described") else 1}
    if kind == "superscalar":
        changes |= {"contexts": 1, "policy": "single", "unit_sets": number}
    elif kind in ("fgmt", "smt"):
        changes |= {"contexts": number, "policy": kind, "unit_sets": sweep.unit_sets or number}
    elif sweep.unit_sets is not None:
        changes["unit_sets"] = sweep.unit_sets
    if clock_mhz is not None:
        changes["clock_mhz"] = clock_mhz
    changes |= {DERIVED[path]: value for path, value in settings.items() if path in DERIVED}
    processor = model.with_organisation(**changes)
    organisation = processor["organisation"]
    tag = f"{kind}-{number}" + (f"x{sweep.unit_sets}" if sweep.unit_sets is not None else "")
    return Made(
        processor, tag, number, changes.get("unit_sets"), int(organisation["cores"]), int(organisation["contexts"]), float(processor["clock"]["mhz"])
    )  # fmt: skip


def contradicted(made: Made, processor: Mapping[str, Any]) -> str:
    """Return in words where the settings in ``processor`` contradict the sweep that gave ``made``, or an empty string."""
    for section, key, was, by in (
        ("organisation", "cores", made.cores, "organisation and steps"), ("organisation", "contexts", made.contexts, "organisation and steps"),
        ("clock", "mhz", made.clock_mhz, "clocks"),
    ):  # fmt: skip
        part = processor.get(section)
        # The simulator refuses a value that is no section or lacks the key.
        if isinstance(part, Mapping) and key in part and part[key] != was:
            return f"{section}/{key}: is set to {str(part[key])[:40]}, but the sweep sets it to {was:g}: change the sweep's {by} instead"
    return ""
