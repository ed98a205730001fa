"""What a plan of study ``counts`` comes to: every engine of every configuration, counted under an emulator."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dpubench import catalog, contract_programs, targets, terminal
from dpubench.catalog import Catalog
from dpubench.errors import OtherThingError, UserError
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.run import session
from dpubench.run.listener import Listener
from dpubench.run.record import Head, anyway
from dpubench.run.work import Budget
from dpubench.simulation import _capture, counts, models
from dpubench.simulation.models import Model
from dpubench.studies import Request
from dpubench.studies.counts.execute import Cell, Run
from dpubench.studies.counts.model import LABEL
from dpubench.studies.counts.plan import Plan
from dpubench.studies.modelled.draft import SimulatedDraft, target_of
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.operators.configuration import Expansion
from dpubench.studies.operators.expand import expand
from dpubench.targets.qemu import QemuTarget
from dpubench.workers.process import StopRequest

WRITER: Final = OutcomesWriter
LOCAL: Final = "local"


class Draft(SimulatedDraft):
    """A plan, or an interrupted run of it."""

    plan: Plan

    def __init__(self, plan: Plan, expansion: Expansion, known: Catalog, programs: counts.Programs, model: Model | None) -> None:
        """Describe the counts of ``expansion``. ``model``: the processor model that gives the cycles, if the plan names one."""
        self.plan, self.expansion = plan, expansion
        self.target = target_of(plan, LABEL)
        self._known, self._programs, self._model = known, programs, model

    @property
    def cells(self) -> list[Cell]:
        return [Cell(c, engine, self.plan.operations_of(c.operator)) for c in self.expansion.configurations for engine in c.candidates]

    @property
    def inputs(self) -> set[str]:
        return self.expansion.inputs

    def lack(self, kind: str, reason: str) -> None:
        dropped = dict.fromkeys(c.operator for c in self.expansion.configurations if kind in c.inputs)
        self.expansion.left_out += [f"{operator}: {reason}" for operator in dropped]
        self.expansion.configurations = [c for c in self.expansion.configurations if kind not in c.inputs]

    def why_nothing(self) -> str:
        if self.cells:
            return ""
        reasons = [reason for _, _, reason in self.expansion.unavailable] + self.expansion.left_out
        return f"nothing that was asked for can be counted: {[*reasons, 'no engine can run under the emulator'][0]}"

    def described(self) -> dict[str, Any]:
        rows = [{**c.record(), "points": c.candidates} for c in self.expansion.configurations]
        return {"configurations": rows, "points": len(self.cells), "left_out": self.expansion.left_out}

    def lines(self) -> list[str]:
        lines = []
        for c in self.expansion.configurations:
            lines.append(f"  {c.id}: {', '.join(c.candidates) or 'no engine can run under the emulator'}")
            lines += [f"    not {engine}: {reason}" for engine, reason in c.not_measured.items()]
        lines += [f"left out: {line}" for line in self.expansion.left_out]
        how = f"each counted at least {self.plan.repeats} times under {self._programs.emulator} -cpu {self._programs.cpu}; no times"
        return [*lines, f"{len(self.cells)} points, {how}"]

    def record(self, head: Head) -> dict[str, Any]:
        used = dict.fromkeys(c.operator for c in self.expansion.configurations)
        return self._common_record(head, self.expansion.left_out, self._known.hello) | {
            "operators": {o: {k: v for k, v in self._known.operator(o).items() if k != "configurations"} for o in used},
            "configurations": [c.record() for c in self.expansion.configurations],
            "points": [{"id": c.label, "configuration": c.configuration.id, "engine": c.engine, "operations": c.operations} for c in self.cells],
            "counting": self._counting(), "setting": {"engine_dirs": [str(d.resolve()) for d in head.request.engine_dirs]},
        }  # fmt: skip

    def _counting(self) -> dict[str, Any]:
        """Return everything that decides a count besides plan and inputs."""
        programs, model = self._programs, self._model
        return {
            "architecture": programs.architecture, "emulator": _capture.emulator(programs.emulator), "cpu": programs.cpu,
            "programs": programs.digest, **({} if model is None else {"model": self.plan.model, "model_labels": list(model.labels)}),
        }  # fmt: skip

    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        if record["counting"] != self._counting():
            raise OtherThingError(f"{path}: the emulator, its processor or the programs changed since the run began: {anyway(path, record)}")

    def work(self, writer: OutcomesWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget) -> Run:
        processor = None if self._model is None else self._model.with_organisation(cores=1)
        return Run(writer, self.plan, self.cells, self.expansion, self._programs, record, files, processor, stop, display, budget)


def drafts(plan: Plan, where: Where, request: Request, opened: contextlib.ExitStack) -> list[session.Draft]:
    """Return what ``plan`` comes to. @raises UserError"""
    return [_draft(plan, where, request)]


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: contextlib.ExitStack) -> Draft:
    """Return what is needed to continue the run of ``record``. @raises UserError"""
    return _draft(plan, where, request)


def _draft(plan: Plan, where: Where, request: Request) -> Draft:
    target, engine_dirs = _target(plan), request.engine_dirs
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
    return Draft(plan, expansion, known, programs, model)


def _target(plan: Plan) -> QemuTarget:
    """Return the emulator that ``plan`` names; ``local`` means this machine's architecture. @raises UserError, NothingRan"""
    word = plan.target[0]
    target = QemuTarget(word, f"qemu:{counts.host_architecture()}") if word == LOCAL else targets.find(word)
    if not isinstance(target, QemuTarget):
        raise UserError(f"--target {word}: instructions are counted under an emulator here: give local, qemu:aarch64 or qemu:x86_64")
    return target
