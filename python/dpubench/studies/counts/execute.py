"""Executes a run of study ``counts``: counts every point, several at a time, and keeps each result as it arrives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from dpubench.errors import UserError
from dpubench.inputs import Resolved
from dpubench.run.listener import Listener
from dpubench.run.work import Budget
from dpubench.simulation import _capture, counts, kernels, sweep
from dpubench.simulation.kernels import ArmPrograms, Kernel
from dpubench.studies.counts.plan import Plan
from dpubench.studies.modelled import outcomes
from dpubench.studies.modelled.execute import Kept, SimulatedRun
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.modelled.plan import SimulatedPlan
from dpubench.studies.operators.configuration import Configuration, Expansion
from dpubench.workers import job as jobs
from dpubench.workers.process import StopRequest

#: The job format requires a description of the windows, although no window runs.
_WINDOW: Final[jobs.Window] = {"min_ms": 1, "max_ms": 1, "min_bursts": 1, "threaded_min_ms": 1}


@dataclass(frozen=True)
class Cell:
    """A point: a configuration on one engine."""

    configuration: Configuration
    engine: str
    operations: int

    @property
    def label(self) -> str:
        return f"{self.configuration.id}/{self.engine}"

    def __hash__(self) -> int:
        return hash(self.label)


class Run(SimulatedRun):
    """One run, new or resumed."""

    what = "counts"
    verb = "counted"

    def __init__(
        self, writer: OutcomesWriter, plan: Plan, cells: Sequence[Cell], expansion: Expansion, programs: counts.Programs, record: dict[str, Any],
        files: Resolved, processor: Mapping[str, Any] | None, stop: StopRequest, display: Listener, budget: Budget,
    ) -> None:  # fmt: skip
        self._processor = processor
        # The cast is safe: this plan has ``processes``, and the base class uses the other keys of SimulatedPlan only to simulate.
        super().__init__(writer, cast("SimulatedPlan", plan), [cell.label for cell in cells], record, files, stop, display, budget)
        self._own, self._expansion, self._programs = plan, expansion, programs
        self._cells = {cell.label: cell for cell in cells}

    def _carry_out(self, owing: list[str], kept: Kept) -> None:
        counts.tidy()
        for configuration, engine, reason in self._expansion.unavailable:
            self._fail("prepare", f"{engine} was asked for and cannot be counted: {reason}", configuration.id)
        self._stage(f"points counted, each at least {self._own.repeats} times, in {self._processes()} processes", len(owing))

        def one(cell: Cell, halt: StopRequest) -> dict[str, Any]:
            return self._counted(cell, halt)

        wanted = [self._cells[name] for name in owing]
        for cell, outcome in _capture.all_of(wanted, one, processes=self._processes(), stop=self._stop, tell=self._tell_progress):
            if isinstance(outcome, UserError):
                self._fail("count", str(outcome), cell.label)
                kept.take(outcomes.kept(cell.label, None, str(outcome), cached=False))
            else:
                kept.take(outcomes.kept(cell.label, outcome, "", cached=False))
            self._save_now_and_then()

    def _tell_progress(self, label: str, done: int, of: int) -> None:
        self.listener.event({"event": "progress", "group": label, "done": done, "of": of, "phase": "count"})

    def _counted(self, cell: Cell, halt: StopRequest) -> dict[str, Any]:
        reads = cell.configuration.inputs
        files = {kind: list(self._files.inputs[kind].files) for kind in sorted(reads)}
        found = counts.counted(
            self._programs, lambda inputs: _job(cell, self._own, inputs), files, repeats=self._own.repeats, limit_s=self._own.limit, stop=halt
        )
        return result_of(cell.label, found) | self._modelled(cell, halt)

    def _modelled(self, cell: Cell, halt: StopRequest) -> dict[str, Any]:
        """Return the cycles that the plan's processor needs for the counted code.

        The result is empty if the plan names no processor, and holds the reason if the cycles cannot be modelled.
        """
        if self._processor is None:
            return {}
        c = cell.configuration
        kernel = Kernel(
            c.operator,
            cell.engine,
            tuple(sorted(c.params.items())),
            footprint=c.footprint,
            messages=cell.operations,
            seed=self._own.seed,
            burst=c.burst,
        )
        trace = kernels.trace(
            kernel, self._files, ArmPrograms(self._programs.lib.parent, self._programs.digest), cache=kernels.cache_folder(), stop=halt
        )
        simulation = sweep.Simulation(cell.label, self._processor, (sweep.Context(trace),))
        [outcome] = sweep.simulate([simulation], processes=1, cache=sweep.cache_folder(), stop=halt)
        kernels.release([trace.folder])
        if outcome.result is None:
            return {"no_cycles": outcome.failure}
        return {"cycles": outcome.result["cycles"], "simulated_instructions": outcome.result["instructions"]}


def result_of(name: str, found: counts.Counted) -> dict[str, Any]:
    """Return the result event that the run keeps of a count."""
    traced, prepared, verified = (found.said.get(event, {}) for event in ("traced", "prepared", "verified"))
    return {
        "event": "result", "group": name, "instructions": found.instructions[0], "cycles": None, "counts": list(found.instructions),
        "operations": traced["operations"], "bursts": traced["bursts"], "in_bytes": traced["in_bytes"], "out_bytes": traced["out_bytes"],
        "about": {key: prepared[key] for key in ("input", "path", "footprint_bytes") if key in prepared},
        "verified": {key: verified[key] for key in ("known_answers", "compared", "how", "undecided_share") if key in verified},
    }  # fmt: skip


def _job(cell: Cell, plan: Plan, inputs: Mapping[str, Sequence[str]]) -> bytes:
    configuration = cell.configuration
    group = jobs.group(
        configuration.id, configuration.operator, configuration.params, [jobs.point(cell.label, cell.engine)], threads=1,
        burst=configuration.burst, footprint=configuration.footprint,
    )  # fmt: skip
    return jobs.job(
        [group], seed=plan.seed, number=0, control="traced", inputs=inputs, cpus=_capture.CPUS, window=_WINDOW, cycles=1, canaries=False,
        limit_s=plan.limit, operations=cell.operations,
    )  # fmt: skip
