"""Executes a run of study ``cores``: captures its traces, runs its simulations, and compares the models with published figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpubench.inputs import Resolved
from dpubench.run.listener import Listener
from dpubench.run.work import Budget
from dpubench.simulation import sweep
from dpubench.simulation.kernels import ArmPrograms, Trace
from dpubench.studies.cores import comparisons
from dpubench.studies.cores.expand import Cell, Expansion
from dpubench.studies.cores.extents import contexts_of, extent_of, frame_buffers_of
from dpubench.studies.cores.plan import Plan
from dpubench.studies.modelled import outcomes
from dpubench.studies.modelled.execute import Kept, SimulatedRun
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.workers.process import StopRequest


class Run(SimulatedRun):
    """One run, new or resumed."""

    def __init__(
        self, writer: OutcomesWriter, plan: Plan, expansion: Expansion, record: dict[str, Any], files: Resolved, arm: ArmPrograms | None,
        stop: StopRequest, display: Listener, budget: Budget,
    ) -> None:  # fmt: skip
        super().__init__(writer, plan, list(expansion.cells), record, files, stop, display, budget)
        self.plan, self.expansion, self._arm = plan, expansion, arm

    def _carry_out(self, owing: list[str], kept: Kept) -> None:
        cells = [self.expansion.cells[name] for name in owing]
        uses = [self.expansion.uses[name] for name in dict.fromkeys(use for cell in cells for use in cell.uses)]
        traces = self._trace_kernels([*uses, *(of.use for of in self.expansion.comparisons if of.use is not None)], self._arm)
        self._simulate(self._ready(cells, traces, kept), kept)
        self._compare(traces)

    def _ready(self, cells: list[Cell], traces: Mapping[str, Trace], kept: Kept) -> list[sweep.Simulation]:
        """Return the simulations of ``cells`` whose kernels were traced. Give the others to ``kept`` as failed."""
        ready = []
        for cell in cells:
            if missing := next((use for use in cell.uses if use not in traces), None):
                kept.take(outcomes.kept(cell.id, None, self._untraced(missing), cached=False))
            else:
                ready.append(self._simulation(cell, traces))
        return ready

    def _simulation(self, cell: Cell, traces: Mapping[str, Trace]) -> sweep.Simulation:
        contexts = tuple(sweep.Context(traces[use], skip_messages=skip) for use, skip in contexts_of(cell, self.expansion.uses))
        buffers = frame_buffers_of(cell, traces)
        if "dma" in cell.processor and not buffers:
            self._warn("frames-apart", f"{cell.id}: frames arrive in a ring of their own, as the kernel's messages have no room for them", cell.id)
        return sweep.Simulation(cell.id, cell.processor, contexts, extent_of(cell, self.expansion.uses, self.plan), buffers)

    def _compare(self, traces: Mapping[str, Trace]) -> None:
        """Compare each model with the published figures of its processor. Write our figures and their errors into the record."""
        found = {of.id: of for of in self.expansion.comparisons}
        with comparisons.simulations(list(found.values()), traces) as simulations:
            for outcome in self._outcomes(simulations):
                of = found[outcome.id]
                try:
                    told = comparisons.told(of, outcome.result) if outcome.result is not None else [f"failed: {outcome.failure}", ""]
                except ValueError as error:
                    told = [f"failed: {error}", ""]
                self.record["models"][of.model]["comparisons"][of.number][3:] = told
