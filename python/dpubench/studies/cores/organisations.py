"""Processors of a sweep: what an organisation's step makes of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dpubench.cores.models import Model
from dpubench.studies.cores.plan import Step, Sweep
from dpubench.studies.modelled.plan import ALL

#: Settings of variants that a model derives itself, as other parts of its description follow from them.
DERIVED: Final = {"organisation/policy": "policy", "organisation/window": "window", "organisation/switch_cycles": "switch_cycles"}


@dataclass(frozen=True)
class Made:
    """A processor derived from a model."""

    processor: dict[str, Any]
    tag: str  #: in names: "smt-4"
    step: int
    unit_sets: int | None  #: None: those of the model
    cores: int
    contexts: int  #: of a core
    clock_mhz: float


def make(model: Model, sweep: Sweep, step: Step, clock_mhz: float | None, settings: Mapping[str, Any]) -> Made:
    """``model`` with ``step`` unit sets (superscalar), contexts with a unit set each (fgmt, smt), or cores (cmp, described), at ``clock_mhz``.

    Of ``settings`` those of :data:`DERIVED`. @raises UserError where the model cannot be had so
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
    """What ``processor``, which settings were laid over, says otherwise than the sweep that ``made`` is a step of; empty where it is nothing."""
    for section, key, was, by in (
        ("organisation", "cores", made.cores, "organisation and steps"), ("organisation", "contexts", made.contexts, "organisation and steps"),
        ("clock", "mhz", made.clock_mhz, "clocks"),
    ):  # fmt: skip
        part = processor.get(section)
        # What is no section, or lacks the key, the simulator refuses.
        if isinstance(part, Mapping) and key in part and part[key] != was:
            return f"{section}/{key}: is set to {str(part[key])[:40]}, and the sweep makes it {was:g}: change the sweep's {by} instead"
    return ""
