"""Expands a plan of study ``coverage`` to its simulations: operators, and whole programs on each of their inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from dpubench import inputs
from dpubench.errors import PlanError, Problem, nearest
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.plans.quantities import format_bytes
from dpubench.simulation.applications import Application, Workload
from dpubench.simulation.models import Model
from dpubench.studies.coverage.plan import LOCAL, NONE, REFERENCE, ApplicationPlan, Plan, WorkloadPlan
from dpubench.studies.modelled.models import digest, load_models
from dpubench.studies.modelled.plan import ALL, KernelPlan, check_kernel
from dpubench.studies.modelled.planned import PlannedKernel, marked, planned_kernel, size_range
from dpubench.studies.modelled.possible import Asked, Check, all_done, checked, parted

Entry = Mapping[str, Any]
Kind = Literal["operator", "application", "workload"]
#: Input kinds of the data that an application processes. Each file is a separate input. Files of other kinds set the application up.
FED: Final = ("capture", "corpus")
_FEW: Final = 4
#: Returns, per program, why it cannot run on any input, or an empty string.
Refusals = Callable[[Sequence[Application | Workload]], Sequence[str]]


@dataclass(frozen=True)
class Catalogs:
    """The catalogs of the programs: those for 64-bit Arm, or on target ``local`` this machine's."""

    operators: Sequence[Entry]
    applications: Sequence[Entry] = ()
    workloads: Sequence[Entry] = ()
    missing: tuple[str, ...] = ()  #: why there are no applications, or no workloads
    check: Check = all_done  #: checks operators with all their parameters
    refusals: Refusals = lambda wanted: [""] * len(wanted)  #: checks whole programs with parameters or engines


@dataclass(frozen=True)
class Cell:
    """One simulation: an operator, or a whole program on one of its inputs."""

    id: str
    kind: Kind
    name: str  #: the operator (with its engine if the plan names one), application or workload; all inputs of a program share the name
    input: str  #: input of a whole program
    operators: tuple[str, ...]  #: for an application its operators; for an operator itself
    engine: str
    params: Mapping[str, str]
    message_bytes: int | None  #: message size of an operator if its work depends on it; frame size of a workload
    model: str
    processor: Mapping[str, Any]
    what: PlannedKernel | Application | Workload

    @property
    def point(self) -> str:
        """Return the id of the point. All inputs of a program belong to one point."""
        return f"{self.kind}/{self.name}"

    def record(self) -> dict[str, Any]:
        """Return the record without large parts. The processor's digest shows whether the processor is still the same."""
        words = {k: v for k, v in asdict(replace(self, processor={}, what=None)).items() if k not in ("processor", "what")}  # type: ignore[arg-type]
        return words | {"operators": list(self.operators), "processor_digest": digest(self.processor)}


@dataclass
class Expansion:
    """The simulations of a plan, and everything that the plan leaves out."""

    cells: dict[str, Cell] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    processors: dict[str, dict[str, Any]] = field(default_factory=dict)  #: one core of each model
    inputs: set[str] = field(default_factory=set)  #: input kinds that the simulations read
    unavailable: dict[str, str] = field(default_factory=dict)  #: named whole programs that cannot be traced -> reason
    left_out: list[str] = field(default_factory=list)

    @property
    def uses(self) -> list[PlannedKernel]:
        return [cell.what for cell in self.cells.values() if isinstance(cell.what, PlannedKernel)]

    @property
    def refused(self) -> dict[str, str]:
        """Return everything that stays in the plan but cannot be traced, with the reason."""
        return {f"operator/{use.id}": use.unavailable for use in self.uses if use.unavailable} | self.unavailable


def expand(plan: Plan, catalogs: Catalogs, where: Where) -> tuple[Expansion, Resolved]:
    """Return the simulations that ``plan`` declares, and their inputs.

    The catalogs of the programs and the models of this version decide what is possible.

    Raises:
        PlanError: with every problem that only catalogs and models show.
        UserError: a given input cannot be used.
    """
    expansion = Expansion(left_out=plan.omissions)
    measured = plan.target == [LOCAL]
    expansion.models, problems = ({}, []) if measured else load_models(plan.target, where, LOCAL)
    problems += check(plan, catalogs, where)
    if problems:
        raise PlanError(where.source, problems)
    wanted = list(_wanted(plan, catalogs, expansion))
    applications = _chosen(plan.applications, catalogs.applications, ApplicationPlan)
    workloads = _chosen(plan.workloads, catalogs.workloads, WorkloadPlan)
    uses = checked([(use, entry) for use, entry, _ in wanted], plan.seed, catalogs.check)
    kinds = {kind for use in uses if not use.unavailable for kind in use.inputs}
    kinds |= {name for part, entry in [*applications, *workloads] for name in _kinds(entry, part.params) if name in inputs.KINDS}
    resolved = inputs.resolve(kinds, plan.inputs)
    expansion.inputs = kinds
    missing = {kind: gone.reason for kind, gone in resolved.missing.items()}
    expansion.processors = {name: model.with_organisation(cores=1) for name, model in expansion.models.items()}
    (name, processor), *_ = [*expansion.processors.items(), (LOCAL, {})]
    uses = _possible([(marked(use, missing), names) for use, (_, _, names) in zip(uses, wanted, strict=True)], expansion)
    sizes = Counter(use.kernel for use in uses)
    for use in uses:
        shown = use.id if sizes[use.kernel] > 1 else use.kernel
        cell = Cell(
            f"operator/{use.id}", "operator", shown, "", (use.operator,), use.engine, use.params, use.message_bytes, name, processor, use
        )  # fmt: skip
        expansion.cells[cell.id] = cell
    refused = _refused_wholes(plan, [part for part, _ in applications], [part for part, _ in workloads], catalogs)
    for application, entry in applications:
        if reason := refused.get(f"application/{application.name}") or _reason(entry, application.params, resolved):
            _refuse(expansion, f"application/{application.name}", reason, named=plan.applications != ALL)
        else:
            _add_wholes(expansion, list(_applications(plan, application, entry, resolved, expansion)))
    for workload, entry in workloads:
        if reason := refused.get(f"workload/{workload.name}") or _workload_reason(entry, workload, resolved):
            _refuse(expansion, f"workload/{workload.name}", reason, named=plan.workloads != ALL)
        else:
            _add_wholes(expansion, list(_workloads(plan, workload, entry, resolved, expansion)))
    expansion.left_out += catalogs.missing
    return expansion, resolved


# --------------------------------------------------------------------------- problems


def check(plan: Plan, catalogs: Catalogs, where: Where) -> Iterator[Problem]:
    """Yield the problems that only the catalogs show."""
    operators = {str(o["name"]): o for o in catalogs.operators}
    if plan.operators != ALL:
        for i, kernel in enumerate(plan.operators):
            yield from check_kernel(kernel, operators, where, "operators", i)
    if not isinstance(plan.engines, str):
        yield from _check_engines(plan, plan.engines, operators, where)
    for name in plan.operator_messages:
        if name not in operators:
            yield where.problem(f"unknown operator '{name}'{nearest(name, operators)}", "operator_messages", name)
    applications = [str(entry["name"]) for entry in catalogs.applications]
    for name in plan.application_limits:
        if applications and name not in applications:  # target local has no applications
            yield where.problem(f"unknown application '{name}'{nearest(name, applications)}", "application_limits", name)
    yield from _check_wholes(plan.applications, catalogs.applications, "application", "applications", where)
    yield from _check_wholes(plan.workloads, catalogs.workloads, "workload", "workloads", where)
    if not isinstance(plan.workloads, str):
        stages = {str(w["name"]): {str(s["name"]): s for s in w["stages"]} for w in catalogs.workloads}
        for i, workload in enumerate(plan.workloads):
            for stage, engine in workload.engines.items() if workload.name in stages else ():
                known = stages[workload.name]
                names = [str(e["name"]) for e in known[stage]["engines"]] if stage in known else []
                if stage not in known:
                    text = f"workload {workload.name} has no stage '{stage}'{nearest(stage, known)}"
                    yield where.problem(text, "workloads", i, "engines", stage)
                elif engine not in names:
                    yield where.problem(f"stage {stage} has no engine '{engine}'{nearest(engine, names)}", "workloads", i, "engines", stage)


def _check_engines(plan: Plan, named: Sequence[str], operators: Mapping[str, Entry], where: Where) -> Iterator[Problem]:
    """Yield a problem for each named engine that no operator of the plan has, and for each named operator that has none of the engines."""
    everywhere = {str(e["name"]) for o in operators.values() for e in o["engines"]}
    kernels = plan.operators if plan.operators != ALL else [KernelPlan(operator=name) for name in operators]
    # The plan's engines do not apply to operators that name their own engine.
    had = {i: _engines(plan, k, operators[k.operator]) for i, k in enumerate(kernels) if k.operator in operators and not k.engine}
    for i, engine in enumerate(named):
        if engine not in everywhere:
            yield where.problem(f"no operator has an engine '{engine}'{nearest(engine, [*everywhere, REFERENCE, ALL])}", "engines", i)
        elif not any(engine in engines for engines in had.values()):
            yield where.problem(f"no operator of the plan uses engine '{engine}': operators with their own engine ignore this list", "engines", i)
    for i, engines in had.items():
        if plan.operators != ALL and not engines:
            known = ", ".join(str(e["name"]) for e in operators[kernels[i].operator]["engines"])
            yield where.problem(f"{kernels[i].label} has none of the engines {', '.join(named)}: it has {known}", "operators", i)


def _check_wholes(
    chosen: str | Sequence[ApplicationPlan | WorkloadPlan], catalog: Sequence[Entry], what: str, key: str, where: Where
) -> Iterator[Problem]:  # fmt: skip
    known = {str(entry["name"]): entry for entry in catalog}
    for i, part in enumerate(() if isinstance(chosen, str) else chosen):
        if part.name not in known:
            yield where.problem(f"unknown {what} '{part.name}'{nearest(part.name, known)}", key, i)
            continue
        parameters = [str(p["name"]) for p in known[part.name]["parameters"]]
        for name in part.params:
            if name not in parameters:
                yield where.problem(f"{what} {part.name} has no parameter '{name}'{nearest(name, parameters)}", key, i, "params", name)


# --------------------------------------------------------------------------- operators


def _wanted(plan: Plan, catalogs: Catalogs, expansion: Expansion) -> Iterator[tuple[PlannedKernel, Entry, set[str]]]:
    """Yield every operator with an engine at a size, its catalog entry, and the names by which the plan asks for it (none for `all`)."""
    entries = {str(o["name"]): o for o in catalogs.operators}
    for kernel in plan.operators if plan.operators != ALL else [KernelPlan(operator=name) for name in entries]:
        entry = entries[kernel.operator]
        engines = _engines(plan, kernel, entry)
        if not engines:
            expansion.left_out.append(f"{kernel.label}: has none of the engines {', '.join(plan.engines)}")
        for engine in engines:
            messages = kernel.messages or plan.operator_messages.get(kernel.operator)
            # The trace holds whole bursts, and the first ones warm up. With few messages a smaller burst still gives several.
            burst = kernel.burst or max(min(plan.burst, messages // _FEW), 1) if messages else kernel.burst
            name = f"{kernel.label}/{engine}" if len(engines) > 1 and not kernel.engine else kernel.label
            made = kernel.model_copy(update={"engine": engine, "name": name, "messages": messages, "burst": burst})
            for use in _uses(plan, made, entry, expansion):
                yield use, entry, _names(plan, kernel, use)


def _names(plan: Plan, kernel: KernelPlan, use: PlannedKernel) -> set[str]:
    """Return the names by which ``plan`` asks for ``use``, which belongs to its ``kernel``."""
    names = set() if plan.operators == ALL else {f"operator {kernel.label}"}
    if kernel.frames:
        names.add(f"operator {kernel.label} at {use.message_bytes} B")
    if not isinstance(plan.engines, str) and not kernel.engine:
        names.add(f"engine {use.engine}")
    return names


def _engines(plan: Plan, kernel: KernelPlan, entry: Entry) -> list[str]:
    """Return the engines that the plan wants for ``kernel`` and that its operator has."""
    known = [str(e["name"]) for e in entry["engines"]]
    if kernel.engine or plan.engines == REFERENCE:
        return [kernel.engine or str(entry["reference_engine"])]
    return known if plan.engines == ALL else [name for name in dict.fromkeys(plan.engines) if name in known]


def _uses(plan: Plan, kernel: KernelPlan, entry: Entry, expansion: Expansion) -> Iterator[PlannedKernel]:
    """Yield ``kernel`` at each frame size, or at the nearest size that its messages can have."""
    sizes = size_range(kernel, entry)
    if sizes is None:
        yield planned_kernel(plan, kernel, entry, None)
        return
    asked = [int(frame) for frame in kernel.frames or plan.frame_sizes]
    fitting = [min(max(size, sizes[0]), sizes[1]) for size in asked]
    for size, other in zip(asked, fitting, strict=True):
        if size != other:
            expansion.left_out.append(f"{kernel.label} at {size} B: its messages have {sizes[0]} to {sizes[1]} B; it is traced at {other} B")
    for size in dict.fromkeys(fitting):
        yield planned_kernel(plan, kernel, entry, size)


def _possible(uses: Sequence[tuple[PlannedKernel, set[str]]], expansion: Expansion) -> list[PlannedKernel]:
    """Return the uses of (use, its names) that stay in the plan: possible ones, and impossible ones that the plan names."""
    stay, out = parted(Asked(use, names, use.unavailable) for use, names in uses)
    left_out: dict[tuple[str, str], list[str]] = {}
    for one in out:
        left_out.setdefault((one.what.kernel, one.reason), []).append(one.what.id)
    all_of = Counter(use.kernel for use, _ in uses)
    expansion.left_out += [
        f"{kernel if len(ids) == all_of[kernel] else ', '.join(ids)}: cannot be traced: {reason}" for (kernel, reason), ids in left_out.items()
    ]
    return stay


# --------------------------------------------------------------------------- whole programs


def _chosen(chosen: Any, catalog: Sequence[Entry], model: Any) -> list[tuple[Any, Entry]]:
    """Return (part of the plan, entry of the catalog) for each program that the plan wants."""
    if chosen == NONE:
        return []
    entries = {str(entry["name"]): entry for entry in catalog}
    return [(part, entries[part.name]) for part in ([model(name=name) for name in entries] if chosen == ALL else chosen)]


def _kinds(entry: Entry, params: Mapping[str, str], *, optional: bool = True) -> list[str]:
    """Return the kinds of input that a whole program reads."""
    full = {str(p["name"]): str(p["default"]) for p in entry["parameters"]} | dict(params)
    return [
        str(kind["name"])
        for kind in entry["inputs"]
        if all(full.get(k) == v for k, v in (kind.get("only_with") or {}).items()) and (optional or not kind.get("optional"))
    ]


def _reason(entry: Entry, params: Mapping[str, str], resolved: Resolved) -> str:
    """Return why a whole program cannot be traced, or an empty string."""
    if not entry.get("available", True):
        return str(entry["reason"])
    for kind in _kinds(entry, params, optional=False):
        if kind not in inputs.KINDS:
            return f"it reads the input {kind}, which this version does not know: build programs and package from one revision"
        if kind in resolved.missing:
            return resolved.missing[kind].reason
    return ""


def _refused_wholes(plan: Plan, applications: Sequence[ApplicationPlan], workloads: Sequence[WorkloadPlan], catalogs: Catalogs) -> dict[str, str]:
    """Return the whole programs that the native program refuses, with the reason (empty if it accepts). Ask only about those with settings."""
    largest = max(int(frame) for frame in plan.frame_sizes)
    asked: dict[str, Application | Workload] = {
        f"application/{part.name}": Application(part.name, (), _pairs(part.params)) for part in applications if part.params
    }
    for part in workloads:
        if part.params or part.engines:
            asked[f"workload/{part.name}"] = Workload(part.name, _pairs(part.engines), _pairs(part.params), largest)
    return dict(zip(asked, catalogs.refusals(list(asked.values())), strict=True)) if asked else {}


def _pairs(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(given.items()))


def _refuse(expansion: Expansion, what: str, reason: str, *, named: bool) -> None:
    if named:
        expansion.unavailable[what] = reason
    else:
        expansion.left_out.append(f"{what}: cannot be traced: {reason}")


def _applications(plan: Plan, part: ApplicationPlan, entry: Entry, resolved: Resolved, expansion: Expansion) -> Iterator[Cell]:
    """Yield the application on each of its inputs."""
    kinds = [kind for kind in _kinds(entry, part.params) if kind in resolved.inputs]
    fed = next((kind for kind in FED if kind in kinds), None)
    around = [(kind, file) for kind in kinds if kind != fed for file in resolved.inputs[kind].files]
    files: Sequence[Path | None] = resolved.inputs[fed].files[: plan.inputs_each] if fed is not None else [None]
    asked = part.limit or plan.application_limits.get(part.name) or plan.limit
    limit = 0 if asked == ALL or (plan.exact and part.limit is None) else int(asked)
    if fed is not None and (more := len(resolved.inputs[fed].files) - len(files)):
        expansion.left_out.append(f"application/{part.name}: {more} more files of input {fed} are not traced: raise inputs_each")
    if limit and (longer := [file for file in files if file is not None and _size(file) > limit]):
        which = f"{len(longer)} of its {len(files)} inputs" if len(files) > 1 else "its input"
        names, remedy = ", ".join(dict.fromkeys(f.name for f in longer)), "raise its limit" if part.limit else "use --exact or a larger limit"
        expansion.left_out.append(f"application/{part.name}: reads only the first {format_bytes(limit)} of {which} ({names}): {remedy}")
    for number, file in enumerate(files):
        own = [*([(str(fed), file)] if file is not None else []), *around]
        what = Application(part.name, tuple(own), _pairs(part.params), limit)
        # Two files may have one name.
        name = file.name if file is not None else ""
        taken = any(other is not None and other.name == name for other in files[:number])
        shown = f"{name}#{number + 1}" if taken else name
        yield from _cells(expansion, "application", part.name, shown, tuple(entry["operators"]), part.params, None, what)


def _size(file: Path) -> int:
    """Return the size in bytes, or 0 if the file cannot be read. Its capture then reports why."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _workload_reason(entry: Entry, part: WorkloadPlan, resolved: Resolved) -> str:
    """Return why a workload cannot be traced, as far as the catalog shows, or an empty string."""
    if reason := _reason(entry, part.params, resolved):
        return reason
    stages = {str(s["name"]): {str(e["name"]): e for e in s["engines"]} | {"": s} for s in entry["stages"]}
    chosen = {name: part.engines.get(name, str(of[""]["default_engine"])) for name, of in stages.items()}
    cannot = [f"{engine}: {stages[s][engine]['reason']}" for s, engine in chosen.items() if not stages[s][engine].get("available", True)]
    return cannot[0] if cannot else ""


def _workloads(plan: Plan, part: WorkloadPlan, entry: Entry, resolved: Resolved, expansion: Expansion) -> Iterator[Cell]:
    """Yield the workload at each frame size, on traffic drawn several times."""
    kinds = [kind for kind in _kinds(entry, part.params) if kind in resolved.inputs]
    files = tuple((kind, file) for kind in kinds for file in resolved.inputs[kind].files)
    engines, params = _pairs(part.engines), _pairs(part.params)
    for size in dict.fromkeys(int(frame) for frame in plan.frame_sizes):
        for number in range(plan.traffics):
            what = Workload(part.name, engines, params, size, plan.frames, plan.seed + number, files)
            shown = f"{size} B, seed {plan.seed + number}"
            yield from _cells(expansion, "workload", part.name, shown, (), {**part.engines, **part.params}, size, what)


def _cells(
    expansion: Expansion, kind: Kind, name: str, shown: str, operators: tuple[str, ...], params: Mapping[str, str], size: int | None,
    what: Application | Workload,
) -> Iterator[Cell]:  # fmt: skip
    for model_name, processor in expansion.processors.items():
        yield Cell(f"{kind}/{name}/{shown}", kind, name, shown, operators, "", dict(params), size, model_name, processor, what)


def _add_wholes(expansion: Expansion, cells: Sequence[Cell]) -> None:
    expansion.cells |= {cell.id: cell for cell in cells}
