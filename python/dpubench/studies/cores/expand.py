"""Expands a plan of study ``cores`` to its traces, its simulations, and the points made of the simulations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dpubench.errors import PlanError, Problem, UserError, nearest
from dpubench.plans.frames import IMIX, IMIX_SIZES, mean_bytes
from dpubench.plans.load import Where
from dpubench.simulation.models import Model
from dpubench.studies.cores import comparisons, organisations, variants
from dpubench.studies.cores.comparisons import Wanted
from dpubench.studies.cores.plan import BASE, DESCRIBED, Plan, Sweep, kernels_of
from dpubench.studies.modelled.models import digest, load_models
from dpubench.studies.modelled.plan import ALL, MODEL_PREFIX, KernelPlan, check_kernel
from dpubench.studies.modelled.planned import PlannedKernel, planned_kernel, size_range
from dpubench.studies.modelled.possible import Asked, Check, all_done, checked, parted

#: The frame of an operator whose work does not depend on the frame size. One simulation then stands for all sizes.
ANY_FRAME = "any"


@dataclass
class Cell:
    """One simulation."""

    id: str
    kernel: str  #: name of a kernel or of a mix
    uses: list[str]  #: ids of uses; contexts take them in turn
    frame: str  #: "64", "64+1500" for a mix, or ANY_FRAME
    model: str
    organisation: str
    step: int
    unit_sets: int | None
    cores: int
    contexts: int  #: contexts per core
    clock_mhz: float
    variant: str
    settings: dict[str, Any]
    processor: dict[str, Any]
    sweeps: list[str]

    def record(self) -> dict[str, Any]:
        """Return the record with the processor's digest instead of its large description. The digest shows whether it is still the same."""
        words = {k: v for k, v in asdict(self).items() if k != "processor"}
        return words | {"processor_digest": digest(self.processor)}


@dataclass(frozen=True)
class Point:
    """A kernel at a frame size on a processor: one simulation, or for a mix of frame sizes one simulation per size."""

    id: str
    configurations: list[str]
    frame: str

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Expansion:
    """The traces, simulations and points of a plan."""

    uses: dict[str, PlannedKernel] = field(default_factory=dict)
    cells: dict[str, Cell] = field(default_factory=dict)
    points: dict[str, Point] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    comparisons: list[Wanted] = field(default_factory=list)  #: comparisons of the models with published figures
    left_out: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> set[str]:
        uses = [*self.uses.values(), *(w.use for w in self.comparisons if w.use is not None)]
        return {kind for use in uses if not use.unavailable for kind in use.inputs}


def expand(plan: Plan, operators: Sequence[Mapping[str, Any]], where: Where, check: Check = all_done) -> Expansion:
    """Return the traces, simulations and points that ``plan`` declares.

    ``operators`` is the catalog of the traced programs. ``check`` asks them what they can do.

    Raises:
        PlanError: with every problem that only the programs and the models of this version show.
    """
    expansion = Expansion(left_out=plan.omissions)
    expansion.models, unknown = load_models(plan.target, where)
    for i, sweep in enumerate(plan.sweeps):
        if sweep.models != ALL:
            further, faults = load_models(sweep.models, where, at=("sweeps", i, "models"))
            expansion.models |= {name: model for name, model in further.items() if name not in expansion.models}
            unknown += faults
    problems = [*unknown, *problems_of(plan, operators, where)]
    if problems:
        raise PlanError(where.source, problems)
    catalog = {str(o["name"]): o for o in operators}
    frames = _frames(plan, catalog, check, expansion.left_out)
    for i, sweep in enumerate(plan.sweeps):
        problems += _expand_sweep(plan, sweep, i, frames, expansion, where)
    if problems:
        raise PlanError(where.source, list(dict.fromkeys(problems)))
    _add_points(frames, expansion)
    if plan.comparisons:
        expansion.comparisons = list(comparisons.wanted(expansion.models, operators))
    return expansion


# --------------------------------------------------------------------------- problems


def problems_of(plan: Plan, operators: Sequence[Mapping[str, Any]], where: Where) -> Iterator[Problem]:
    """Yield the problems that only the catalog shows, and references to names that the plan does not define."""
    catalog = {str(o["name"]): o for o in operators}
    for i, kernel in enumerate(plan.kernels):
        yield from check_kernel(kernel, catalog, where, "kernels", i)
    kernels = [kernel.label for kernel in plan.kernels]
    if "kernels" in where.options and (lost := sorted(_named_kernels(plan) - {*kernels, *plan.mixes})):
        text = f"the plan's sweeps, mixes or claims need its own kernels ({', '.join(lost)}): choose plan quick, or write a plan file"
        yield where.problem(text, "kernels")
        return
    for name, parts in plan.mixes.items():
        yield from _check_names(parts, kernels, "kernel", where, "mixes", name)
    for i, sweep in enumerate(plan.sweeps):
        if sweep.kernels != ALL:
            yield from _check_names(sweep.kernels, [*kernels, *plan.mixes], "kernel or mix", where, "sweeps", i, "kernels")
        yield from _check_names(sweep.variants, [BASE, *plan.variants], "variant", where, "sweeps", i, "variants")
    if plan.claims is not None:
        yield from _check_names(plan.claims.lookup, kernels, "kernel", where, "claims", "lookup")
        yield from _check_names(plan.claims.md5, kernels, "kernel", where, "claims", "md5")


def _named_kernels(plan: Plan) -> set[str]:
    """Return the names of kernels and mixes to which other parts of ``plan`` refer."""
    claimed = [*plan.claims.lookup, *plan.claims.md5] if plan.claims is not None else []
    swept = (name for sweep in plan.sweeps if sweep.kernels != ALL for name in sweep.kernels)
    return {*claimed, *swept, *(name for parts in plan.mixes.values() for name in parts)}


def _check_names(given: Sequence[str], known: Sequence[str], what: str, where: Where, *at: str | int) -> Iterator[Problem]:
    for name in given:
        if name not in known:
            yield where.problem(f"the plan has no {what} '{name}'{nearest(name, known)}", *at)


# --------------------------------------------------------------------------- kernels


@dataclass(frozen=True)
class Frames:
    """The frames of a kernel, with its uses."""

    asked: list[str]  #: "64", ..., "imix"
    uses: dict[str, PlannedKernel]  #: use by size; under ANY_FRAME if the work does not depend on the size

    @property
    def sized(self) -> bool:
        """Tell whether the kernel's work depends on the size."""
        return ANY_FRAME not in self.uses

    @property
    def simulated(self) -> list[str]:
        """Return the sizes to simulate, those of a mix of frames one by one."""
        return _sizes_in(self.asked)

    def use(self, size: str) -> PlannedKernel:
        """Return the use to trace for a simulation at ``size``."""
        return self.uses[size if self.sized else ANY_FRAME]


def sizes_of(frame: str) -> list[str]:
    """Return the sizes that make up ``frame``."""
    return [str(size) for size, _ in IMIX_SIZES] if frame == IMIX else [frame]


def _sizes_in(frames: Sequence[str]) -> list[str]:
    """Return the sizes that make up ``frames``, each once."""
    return list(dict.fromkeys(size for frame in frames for size in sizes_of(frame)))


def _frames(plan: Plan, catalog: Mapping[str, Mapping[str, Any]], check: Check, left_out: list[str]) -> dict[str, Frames]:
    """Return, by label, the frames of each kernel of ``plan`` that can be traced; the rest goes to ``left_out``.

    Impossible frames stay, and fail, if the kernel names them itself, or if it can be traced at none of its frames.
    """
    wanted = [(kernel, frame, use) for kernel in plan.kernels for frame, use in _wanted(plan, kernel, catalog[kernel.operator])]
    answered = checked([(use, catalog[use.operator]) for _, _, use in wanted], plan.seed, check)
    uses: dict[str, dict[str, PlannedKernel]] = {kernel.label: {} for kernel in plan.kernels}
    for (kernel, size, _), use in zip(wanted, answered, strict=True):
        uses[kernel.label][size] = use
    found = {}
    for kernel in plan.kernels:
        own = Frames(_asked(plan, kernel), uses[kernel.label])
        stay, out = parted(
            Asked(frame, {f"{kernel.label} at {frame}" if kernel.frames else kernel.label}, _reason(own, frame)) for frame in own.asked
        )
        reasons: dict[str, list[str]] = {}
        for one in out:
            reasons.setdefault(one.reason, []).append(one.what)
        left_out += [f"{kernel.label} at {', '.join(beyond)}: {reason}" for reason, beyond in reasons.items()]
        found[kernel.label] = replace(own, asked=stay)
    return found


def _asked(plan: Plan, kernel: KernelPlan) -> list[str]:
    return [str(frame) for frame in dict.fromkeys(kernel.frames or plan.frame_sizes)]


def _wanted(plan: Plan, kernel: KernelPlan, entry: Mapping[str, Any]) -> Iterator[tuple[str, PlannedKernel]]:
    """Yield (size, use) for ``kernel``. A use is unavailable if the messages cannot have its size."""
    sizes = size_range(kernel, entry)
    if sizes is None:
        yield ANY_FRAME, planned_kernel(plan, kernel, entry, None)
        return
    low, high = sizes
    for size in _sizes_in(_asked(plan, kernel)):
        use = planned_kernel(plan, kernel, entry, int(size))
        beyond = "" if low <= int(size) <= high else f"{kernel.operator} takes messages of {low} to {high} B"
        yield size, replace(use, unavailable=use.unavailable or beyond)


def _reason(frames: Frames, frame: str) -> str:
    """Return why a kernel cannot be traced at ``frame``, or an empty string."""
    return next((reason for size in sizes_of(frame) if (reason := frames.use(size).unavailable)), "")


# --------------------------------------------------------------------------- simulations


def _expand_sweep(
    plan: Plan, sweep: Sweep, number: int, frames: Mapping[str, Frames], expansion: Expansion, where: Where
) -> Iterator[Problem]:  # fmt: skip
    """Add the cells of a sweep to ``expansion``. Yield a problem for each setting that does not fit a processor."""
    names = kernels_of(sweep, plan)
    forms = list(variants.of_sweep(sweep, plan.variants))
    for name, (model_name, model), step, clock, (variant, settings) in itertools.product(
        names, _models_of(plan, sweep, expansion).items(), sweep.steps, sweep.clocks, forms
    ):
        at_key = ("variants", variant) if variant in plan.variants else ("sweeps", number)
        if section := next((path for path in organisations.DERIVED if isinstance(settings.get(path), Mapping)), ""):
            yield where.problem("must be one value, not a section", *at_key, section)
            continue
        try:
            made = organisations.make(model, sweep, step, None if clock == DESCRIBED else float(clock), settings)
        except UserError as error:
            yield where.problem(str(error), "sweeps", number)  # the message names the model
            continue
        for frame, parts in _frames_of(name, plan, frames, per_frame="dma" in settings):
            uses = [expansion.uses.setdefault(use.id, use).id for use in (frames[kernel].use(at) for kernel, at in parts)]
            try:
                processor = variants.applied(made.processor, settings, _dma_frame_bytes(frame))
            except variants.Unfit as error:
                yield where.problem(f"{model_name}: {error}", *at_key)
                continue
            if fault := organisations.contradicted(made, processor):
                yield where.problem(f"{model_name}: {fault}", *at_key)
                continue
            cell_id = f"{name}/{frame}/{model_name}/{made.tag}/{made.clock_mhz:g}MHz/{variant}"
            cell = Cell(
                cell_id, name, uses, frame, model_name, sweep.organisation, made.step, made.unit_sets, made.cores, made.contexts, made.clock_mhz,
                variant, settings, processor, [],
            )  # fmt: skip
            known = expansion.cells.setdefault(cell.id, cell)
            if known.processor != processor:
                yield where.problem(f"{cell.id} stands for two processors: give one of their variants another name", "sweeps", number)
            if sweep.name not in known.sweeps:
                known.sweeps.append(sweep.name)


def _models_of(plan: Plan, sweep: Sweep, expansion: Expansion) -> dict[str, Model]:
    targets = plan.target if sweep.models == ALL else sweep.models
    return {name: model for name, model in expansion.models.items() if f"{MODEL_PREFIX}{name}" in targets}


def _frames_of(name: str, plan: Plan, frames: Mapping[str, Frames], *, per_frame: bool) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield (frame of the cell, [(kernel, frame of its trace) in the order of contexts]) for every simulation of a kernel or mix."""
    if name not in plan.mixes:
        if frames[name].sized or per_frame:
            yield from ((size, [(name, size)]) for size in frames[name].simulated)
        else:
            yield ANY_FRAME, [(name, ANY_FRAME)]
        return
    parts = plan.mixes[name]
    # Kernels with one size keep it. The others step through their common sizes together.
    several = [frames[part].simulated for part in parts if len(frames[part].simulated) > 1]
    common = [size for size in several[0] if all(size in sizes for sizes in several)] if several else [""]
    for size in common:
        chosen = [frames[part].simulated[0] if len(frames[part].simulated) == 1 else size for part in parts]
        yield "+".join(chosen), list(zip(parts, chosen, strict=True))


def _dma_frame_bytes(frame: str) -> int:
    """Return the size of the frames that a DMA agent moves. It has one size: the largest of a mix."""
    return max((int(size) for size in frame.split("+") if size.isdigit()), default=0)


# --------------------------------------------------------------------------- points


def _add_points(frames: Mapping[str, Frames], expansion: Expansion) -> None:
    """Add the points to ``expansion``: one per simulation, and one per mix of frame sizes composed of several."""
    groups: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in expansion.cells.values():
        head, _, tail = cell.id.partition(f"/{cell.frame}/")
        groups.setdefault((head, tail), {})[cell.frame] = cell
    for (kernel, tail), cells in groups.items():
        asked = frames[kernel].asked if kernel in frames else list(cells)
        for frame in asked:
            if ANY_FRAME in cells:
                made_of = [cells[ANY_FRAME].id]
            else:
                sizes = sizes_of(frame) if kernel in frames else [frame]
                made_of = [cells[size].id for size in sizes]
            point = Point(f"{kernel}/{frame}/{tail}", made_of, frame)
            expansion.points[point.id] = point


def frame_bytes(frame: str) -> float:
    """Return the mean bytes, with FCS, of a point's frames: of a size, of ``imix``, or of a mix of kernels ("64+1500": one context each)."""
    sizes = frame.split("+")
    return sum(mean_bytes(size) for size in sizes) / len(sizes)
