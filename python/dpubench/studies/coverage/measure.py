"""The target ``local``: characteristics of operators from this machine's hardware counters (:mod:`dpubench.simulation.hardware`)."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Final

from dpubench import catalog, programs
from dpubench.catalog import Catalog
from dpubench.errors import UserError
from dpubench.inputs import Resolved
from dpubench.run.listener import Listener
from dpubench.run.work import Budget
from dpubench.simulation import hardware, kernels
from dpubench.simulation.characteristics import Counts
from dpubench.studies.coverage.expand import Catalogs, Expansion
from dpubench.studies.coverage.plan import NONE, Plan
from dpubench.studies.modelled import outcomes
from dpubench.studies.modelled.execute import Kept, SimulatedRun
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.modelled.planned import PlannedKernel
from dpubench.workers.process import StopRequest

#: Label printed beside every figure.
LABEL: Final = "measured by hardware counters of this machine, in user mode"
#: The reason why this target measures no whole programs.
_NO_WHOLES: Final = "whole programs: counters cannot separate the work of a program from its verification; give a model (--target model:NAME)"


def catalogs(plan: Plan) -> tuple[Catalog, Catalogs]:
    """Return the catalog of this machine's program, and the catalogs of everything that can be measured. @raises NoCounters, UserError"""
    hardware.check()
    known = catalog.read_here(programs.operators_program())
    return known, Catalogs(known.operators, missing=() if plan.applications == plan.workloads == NONE else (_NO_WHOLES,), check=known.check)


class MeasuredRun(SimulatedRun):
    """A run on this machine. It counts the messages of one operator at a time, so that operators do not disturb each other."""

    what = "measurements"
    verb = "measured"

    def __init__(
        self, writer: OutcomesWriter, plan: Plan, expansion: Expansion, record: dict[str, Any], files: Resolved, known: Catalog, stop: StopRequest,
        display: Listener, budget: Budget,
    ) -> None:  # fmt: skip
        super().__init__(writer, plan, list(expansion.cells), record, files, stop, display, budget)
        self._expansion, self._known = expansion, known

    def _carry_out(self, owing: list[str], kept: Kept) -> None:
        self.stage(f"{len(owing)} operators, counted", len(owing), None)
        for name in owing:
            self._stop.check()
            use = self._expansion.cells[name].what
            assert isinstance(use, PlannedKernel)  # only operators are measured
            try:
                if use.unavailable:
                    raise UserError(use.unavailable)
                kept.take(outcomes.kept(name, self._measured(name, use), "", cached=False))
            except UserError as error:
                kept.take(outcomes.kept(name, None, str(error), cached=False))
                self._fail("measure", str(error), name)

    def _measured(self, name: str, use: PlannedKernel) -> dict[str, Any]:
        once = use.traced(self._plan.seed)
        jobs = [
            kernels.job_of(dataclasses.replace(once, messages=messages), self._files, self._known) for messages in (use.messages, 2 * use.messages)
        ]
        return event_of(name, hardware.measured(programs.operators_program(), (jobs[0], jobs[1])))


def event_of(name: str, counts: Counts) -> dict[str, Any]:
    """Return the event that the run keeps of a measurement. Missing counts are None."""
    found = {key: None if math.isnan(value) else value for key, value in dataclasses.asdict(counts).items()}
    return {
        "event": "result", "group": name, "measured": True, "counts": found, "instructions": int(counts.instructions),
        "cycles": None if math.isnan(counts.cycles) else int(counts.cycles), "unknown_share": None,
    }  # fmt: skip


def counts_of(result: dict[str, Any]) -> Counts:
    """Rebuild the Counts from the event written by :func:`event_of`."""
    return Counts(**{key: math.nan if value is None else float(value) for key, value in result["counts"].items()})
