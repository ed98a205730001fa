"""Runs a plan of study ``counts`` in a new run directory, and continues an interrupted run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpubench import catalog, contract_programs, inputs, targets, terminal
from dpubench.catalog import Catalog
from dpubench.cli import print_json
from dpubench.errors import NothingRan, OtherThingError, PlanError, UserError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where, plan_text, read_plan
from dpubench.run.progress import Lines
from dpubench.run.record import anyway, check_named, gone_on_with, new_name
from dpubench.simulation import _capture, counts, models
from dpubench.simulation.models import Model
from dpubench.storage.runs import RunDirectory
from dpubench.studies import Request
from dpubench.studies.counts.execute import Cell, Run
from dpubench.studies.counts.model import LABEL
from dpubench.studies.counts.plan import Plan
from dpubench.studies.modelled import carry as shared
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.operators.configuration import Expansion
from dpubench.studies.operators.expand import expand
from dpubench.targets.qemu import QemuTarget
from dpubench.workers.process import StopRequest

LOCAL = "local"


@dataclass
class Prepared:
    """Everything that a run needs, prepared from its plan."""

    cells: list[Cell]
    expansion: Expansion
    known: Catalog
    files: Resolved
    programs: counts.Programs
    model: Model | None  #: processor model that gives the cycles


def run(plan: Plan, where: Where, request: Request) -> int:
    """Make a new run of ``plan``; return its exit status. @raises UserError"""
    if unknown := [k for k in plan.inputs if k not in inputs.KINDS]:
        raise PlanError(where.source, [where.problem(f"unknown kind '{k}'", "inputs", k) for k in unknown])
    if missing := [d for d in request.engine_dirs if not d.is_dir()]:
        raise UserError(f"--engine-dir {missing[0]}: is no directory")
    with StopRequest() as stop:
        with stop.at_once():
            made = _prepared(plan, where, request.engine_dirs)
            inputs.refuse_unread(request.inputs, made.expansion.inputs)
            catalog.check_given(made.files)
        if request.dry_run:
            _dry_run(plan, made, as_json=request.as_json)
            return 0
        if not made.cells:
            reasons = [reason for _, _, reason in made.expansion.unavailable] + made.expansion.left_out
            raise NothingRan(f"nothing that was asked for can be counted: {[*reasons, 'no engine can run under the emulator'][0]}")
        name = request.name or new_name(plan)
        with OutcomesWriter.create(request.results, name, exact=bool(request.name)) as writer:
            record = new_record(writer.path.name, plan, made, request.engine_dirs)
            writer.write_plan(plan_text(plan))
            writer.write_record(record)
            writer.mark_latest()
            return _carry_out(writer, plan, made, record, stop, as_json=request.as_json)


def resume(found: RunDirectory, request: Request) -> int:
    """Continue the interrupted run ``found``; return its exit status. @raises UserError it is complete, or cannot be continued"""
    with StopRequest() as stop, OutcomesWriter(found.path) as writer:
        record = gone_on_with(writer)
        check_named(writer.path, record, request.engine_dirs)
        plan, lines = read_plan(writer.plan_file)
        assert isinstance(plan, Plan)  # the run is of this study
        with stop.at_once():
            made = _prepared(plan, Where(str(writer.plan_file), lines), request.engine_dirs)
        now = new_record(record["name"], plan, made, [])
        for key, what in (("counting", "the emulator, its processor or the programs"), ("inputs", "an input")):
            if record[key] != now[key]:
                raise OtherThingError(f"{writer.path}: {what} changed since the run began: {anyway(writer.path, record)}")
        writer.settle()
        return _carry_out(writer, plan, made, record, stop, as_json=request.as_json)


def _target(plan: Plan) -> QemuTarget:
    """Return the emulator that ``plan`` names; ``local`` means this machine's architecture. @raises UserError, NothingRan"""
    word = plan.target[0]
    target = QemuTarget(word, f"qemu:{counts.host_architecture()}") if word == LOCAL else targets.find(word)
    if not isinstance(target, QemuTarget):
        raise UserError(f"--target {word}: instructions are counted under an emulator here: give local, qemu:aarch64 or qemu:x86_64")
    return target


def _prepared(plan: Plan, where: Where, engine_dirs: Sequence[Path]) -> Prepared:
    """Return the plan's configurations, programs and inputs, as far as this machine has them. @raises UserError"""
    target = _target(plan)
    model = models.load(plan.model) if plan.model else None
    if model is not None and (target.architecture != "aarch64" or engine_dirs):
        raise UserError(
            f"model {plan.model}: cycles are modelled of code for 64-bit Arm from a bundle alone: give --target qemu:aarch64, without --engine-dir"
        )
    programs = counts.found(target.architecture, target.bundle, engine_dirs)
    target.open()
    try:
        known = catalog.read(target, engine_dirs=engine_dirs)
        expansion = expand(plan.as_operators(), known, 1, where)
    finally:
        target.close()
    for path in contract_programs.find(engine_dirs):
        terminal.note(f"{path}: a program of its own has no marks to count between: it takes no part")
    files = inputs.resolve(expansion.inputs, plan.inputs)
    for kind, why in files.missing.items():
        expansion.left_out += [f"{o}: {why.reason}" for o in dict.fromkeys(c.operator for c in expansion.configurations if kind in c.inputs)]
        expansion.configurations = [c for c in expansion.configurations if kind not in c.inputs]
    cells = [Cell(c, engine, plan.operations_of(c.operator)) for c in expansion.configurations for engine in c.candidates]
    return Prepared(cells, expansion, known, files, programs, model)


def new_record(name: str, plan: Plan, made: Prepared, engine_dirs: Sequence[Path]) -> dict[str, Any]:
    """Return the content of ``run.json`` for a run that has not counted anything yet."""
    used = dict.fromkeys(c.operator for c in made.expansion.configurations)
    return shared.record_head(name, plan, made.files, made.expansion.left_out, made.known.hello, LABEL) | {
        "operators": {o: {k: v for k, v in made.known.operator(o).items() if k != "configurations"} for o in used},
        "configurations": [c.record() for c in made.expansion.configurations],
        "points": [
            {"id": cell.label, "configuration": cell.configuration.id, "engine": cell.engine, "operations": cell.operations} for cell in made.cells
        ],
        "counting": {
            "architecture": made.programs.architecture, "emulator": _capture.emulator(made.programs.emulator), "cpu": made.programs.cpu,
            "programs": made.programs.digest, **({} if made.model is None else {"model": plan.model, "model_labels": list(made.model.labels)}),
        },
        "setting": {"engine_dirs": [str(d.resolve()) for d in engine_dirs]},
    }  # fmt: skip


def _carry_out(writer: OutcomesWriter, plan: Plan, made: Prepared, record: dict[str, Any], stop: StopRequest, *, as_json: bool) -> int:
    """Execute the run and tell how it went; return its exit status."""
    from dpubench.studies.counts.study import STUDY
    from dpubench.studies.counts.text import summary

    def work(display: Lines) -> Run:
        return Run(
            writer, plan, made.cells, made.expansion, made.programs, record, made.files,
            made.model.with_organisation(cores=1) if made.model is not None else None, stop, display,
        )  # fmt: skip

    return shared.carry_out(work, STUDY, summary, as_json=as_json)


def _dry_run(plan: Plan, made: Prepared, *, as_json: bool) -> None:
    if as_json:
        rows = [{**c.record(), "points": c.candidates} for c in made.expansion.configurations]
        print_json({"configurations": rows, "points": len(made.cells), "left_out": made.expansion.left_out})
        return
    print(f"{plan.study}, plan {plan.plan}: {plan.summary}".rstrip(": "))
    for c in made.expansion.configurations:
        print(f"  {c.id}: {', '.join(c.candidates) or 'no engine can run under the emulator'}")
        for engine, reason in c.not_measured.items():
            print(f"    not {engine}: {reason}")
    for line in made.expansion.left_out:
        print(f"left out: {line}")
    print(f"{len(made.cells)} points, each counted at least {plan.repeats} times under {made.programs.emulator} -cpu {made.programs.cpu}; no times")
