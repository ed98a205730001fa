"""Finds processors that the simulator refuses, before any capture, and the place in the plan that is the cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dpubench.errors import Problem, UserError
from dpubench.plans.load import Where
from dpubench.simulation.models import Model
from dpubench.simulation.simulator import Fault
from dpubench.studies.cores import organisations, variants
from dpubench.studies.cores.expand import Cell, Expansion
from dpubench.studies.cores.extents import extent_of
from dpubench.studies.cores.plan import DESCRIBED, Plan, Sweep
from dpubench.studies.modelled import checked
from dpubench.studies.modelled.checked import told

Path = tuple[str | int, ...]
#: Sections of a description that a key of a sweep sets.
_OF_SWEEPS: Final = {"clock": "clocks", "organisation": "steps", "units": "steps"}


@dataclass(frozen=True)
class _Place:
    """A fault and its place in the plan."""

    path: Path
    fault: str


def problems_of(plan: Plan, expansion: Expansion, where: Where) -> list[Problem]:
    """Return the simulator's faults in the processors and extents of ``expansion``: each fault once, with the first processor that has it.

    Raises:
        UserError, EnvironmentFault: there is no simulator, or it gave no answer.
    """
    cells = list(expansion.cells.values())
    asked = [{"processor": cell.processor, "extent": extent_of(cell, expansion.uses, plan)} for cell in cells]
    compared = [{"processor": wanted.processor} for wanted in expansion.comparisons]
    answers = checked.faults_of([*asked, *compared])
    wrong = [(cell, faults) for cell, faults in zip(cells, answers, strict=False) if faults]
    found: dict[_Place, list[str]] = {}
    for (cell, faults), without in zip(wrong, _without_settings(plan, [cell for cell, _ in wrong], expansion.models), strict=True):
        for fault in faults:
            place = _Place(_place(plan, cell, fault, without), told(cell.processor, fault))
            found.setdefault(place, []).append(_named(cell))
    for wanted, faults in zip(expansion.comparisons, answers[len(cells) :], strict=True):
        for fault in faults:
            path: Path = ("target", list(expansion.models).index(wanted.model))
            found.setdefault(_Place(path, told(wanted.processor, fault)), []).append(f"{wanted.model}, {wanted.comparison.what}")
    return [where.problem(f"{place.fault} ({_few(list(dict.fromkeys(names)))})", *place.path) for place, names in found.items()]


def _named(cell: Cell) -> str:
    return f"{cell.model}, {cell.organisation} {cell.step} at {cell.clock_mhz:g} MHz"


def _few(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, and {len(names) - 1} more"


def _without_settings(plan: Plan, cells: Sequence[Cell], models: Mapping[str, Model]) -> list[list[Fault]]:
    """Return the faults in the processor of each of ``cells`` without its variant's settings."""
    made: list[dict[str, Any]] = []
    for cell in cells:
        try:
            clock = cell.clock_mhz
            processor = organisations.make(models[cell.model], _sweep_of(plan, cell)[1], cell.step, clock, {}).processor
        except UserError:
            processor = cell.processor  # the processor needs the settings
        made.append({"processor": processor})
    return checked.faults_of(made)


def _sweep_of(plan: Plan, cell: Cell) -> tuple[int, Sweep]:
    """Return the number of the first sweep to which ``cell`` belongs, and the sweep."""
    return next((i, sweep) for i, sweep in enumerate(plan.sweeps) if sweep.name in cell.sweeps)


def _place(plan: Plan, cell: Cell, fault: Fault, without: Sequence[Fault]) -> Path:
    """Return the place in ``plan`` that causes ``fault`` of ``cell``. ``without``: the faults without the variant's settings."""
    section, _, path = fault.at.partition("/")
    number, sweep = _sweep_of(plan, cell)
    if section == "extent":
        return checked.EXTENT.get(path, ("mix_instructions",) if path == "instructions" else ())
    steps = checked.named(cell.processor, path).split("/")
    settings = list(_settings(plan, cell, number, sweep))
    if not settings or any(other.at == fault.at for other in without):
        key = _OF_SWEEPS.get(steps[0], "")
        given = key and (key != "clocks" or sweep.clocks != [DESCRIBED])
        return ("sweeps", number, key) if given else ("target", [t.partition(":")[2] for t in plan.target].index(cell.model))
    likely = max(settings, key=lambda setting: _alike(cell.processor, setting[0], steps))
    # If no setting matches the path of the fault, several settings together cause it. Then report their section.
    return likely[1] if _alike(cell.processor, likely[0], steps) else likely[1][:-1]


def _settings(plan: Plan, cell: Cell, number: int, sweep: Sweep) -> Iterator[tuple[str, Path]]:
    """Yield each setting of ``cell`` with its place in the plan."""
    name = max((n for n in sweep.variants if cell.variant == n or cell.variant.startswith(f"{n}, ")), key=len, default="")
    for path in cell.settings:
        yield path, ("sweeps", number, "vary", path) if path in sweep.vary else ("variants", name, path)


def _alike(processor: Mapping[str, Any], setting: str, steps: Sequence[str]) -> int:
    """Return how many steps the path of ``setting`` shares with ``steps``, from the first on."""
    most = 0
    for spelled in variants.spelled_out(processor, setting):
        same = 0
        for one, other in zip(spelled, steps, strict=False):
            if one not in ("*", other):
                break
            same += 1
        most = max(most, same)
    return most
