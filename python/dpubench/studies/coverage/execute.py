"""Executes a run of study ``coverage``: captures traces of operators and whole programs, then simulates each once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dpubench.inputs import Resolved
from dpubench.run.listener import Listener
from dpubench.run.work import Budget
from dpubench.simulation import applications as traced_programs
from dpubench.simulation import sweep
from dpubench.simulation.kernels import ArmPrograms, cache_folder, release
from dpubench.studies.coverage.expand import Cell, Expansion
from dpubench.studies.coverage.plan import Plan
from dpubench.studies.modelled import outcomes
from dpubench.studies.modelled.execute import Kept, SimulatedRun
from dpubench.studies.modelled.extents import part_of
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.modelled.plan import ALL
from dpubench.studies.modelled.planned import PlannedKernel
from dpubench.workers.process import StopRequest

#: Simulations prepared at a time. Traces of whole programs take gigabytes, and each is needed only once.
_PORTION: Final = 32


class Run(SimulatedRun):
    """One run, new or resumed."""

    def __init__(
        self, writer: OutcomesWriter, plan: Plan, expansion: Expansion, record: dict[str, Any], files: Resolved, arm: ArmPrograms,
        stop: StopRequest, display: Listener, budget: Budget,
    ) -> None:  # fmt: skip
        super().__init__(writer, plan, list(expansion.cells), record, files, stop, display, budget)
        self.plan, self.expansion, self._arm = plan, expansion, arm

    def _carry_out(self, owing: list[str], kept: Kept) -> None:
        for what, reason in self.expansion.unavailable.items():
            self._fail("prepare", f"was asked for and cannot be traced here: {reason}", what)
        for at in range(0, len(owing), _PORTION):
            if len(owing) > _PORTION:
                self.part = f"{at + 1} to {min(at + _PORTION, len(owing))} of {len(owing)}: "
            self._carry_out_portion([self.expansion.cells[name] for name in owing[at : at + _PORTION]], kept)

    def _carry_out_portion(self, cells: list[Cell], kept: Kept) -> None:
        uses: Mapping[str, sweep.Traced] = self._trace_kernels([cell.what for cell in cells if isinstance(cell.what, PlannedKernel)], self._arm)
        wholes = self._trace_wholes([cell for cell in cells if not isinstance(cell.what, PlannedKernel)])
        ready = []
        for cell in cells:
            traced = uses.get(cell.what.id) if isinstance(cell.what, PlannedKernel) else wholes.get(cell.id)
            if traced is None:
                name = cell.what.id if isinstance(cell.what, PlannedKernel) else cell.id
                kept.take(outcomes.kept(cell.id, None, self._untraced(name), cached=False))
            else:
                ready.append(sweep.Simulation(cell.id, cell.processor, (sweep.Context(traced),), extent_of(cell, self.plan)))
        self._simulate(ready, kept)
        release({simulation.contexts[0].trace.folder for simulation in ready})

    def _trace_wholes(self, cells: list[Cell]) -> dict[str, traced_programs.ProgramTrace]:
        """Return the trace of each of ``cells`` that could be captured, by id. Record the others as failures of the run."""
        names: dict[traced_programs.Application | traced_programs.Workload, list[str]] = {}
        for cell in cells:
            assert not isinstance(cell.what, PlannedKernel)  # a PlannedKernel is a kernel, not a whole program
            names.setdefault(cell.what, []).append(cell.id)
        if not names:
            return {}
        self._stage("traces of whole programs", len(names))
        found: dict[str, traced_programs.ProgramTrace] = {}
        captured = traced_programs.trace_all(list(names), self._arm, cache=cache_folder(), processes=self._processes(), stop=self._stop)
        for what, outcome in captured:
            for name in names[what]:
                if isinstance(outcome, traced_programs.ProgramTrace):
                    found[name] = outcome
                else:
                    self._fail("trace", str(outcome), name)
                self.listener.event({"event": "traced", "group": name})
        return found


def extent_of(cell: Cell, plan: Plan) -> dict[str, Any]:
    """Return the extent in the form of docs/cores.md: an operator's sample of its bursts, or a whole program's first phases."""
    if not isinstance(cell.what, PlannedKernel):
        cut = {} if plan.exact or plan.phases == ALL else {"instructions": plan.phase * int(plan.phases)}
        return {"phase_instructions": plan.phase, **cut}
    return part_of(cell.what.bursts, plan)
