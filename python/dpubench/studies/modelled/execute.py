"""Executes a run of simulations: captures traces, simulates everything without an outcome, keeps each outcome as it arrives."""

from __future__ import annotations

import abc
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from dpubench import scratch
from dpubench.inputs import Resolved
from dpubench.run.listener import Listener
from dpubench.run.work import Budget, Work
from dpubench.simulation import sweep
from dpubench.simulation.kernels import ArmPrograms, Kernel, Trace, cache_folder, trace_all
from dpubench.studies.modelled import outcomes
from dpubench.studies.modelled.outcomes import OutcomesWriter
from dpubench.studies.modelled.plan import ALL, SimulatedPlan
from dpubench.studies.modelled.planned import PlannedKernel
from dpubench.workers.process import StopRequest

#: Least time between two writes of `run.json` while outcomes arrive, in seconds. The round's file keeps each outcome at once.
_SAVE_EVERY_S: Final = 5.0
_NOTHING: Final[dict[str, Any]] = {"result": None}


class SimulatedRun(Work):
    """A new or resumed run of the simulations called ``names``. A study's subclass defines them. It has one round."""

    writer: OutcomesWriter
    what: str = "simulations"  #: noun for the user
    verb: str = "simulated"
    part: str = ""  #: the part of the run at work now, in words

    def __init__(
        self, writer: OutcomesWriter, plan: SimulatedPlan, names: Sequence[str], record: dict[str, Any], files: Resolved, stop: StopRequest,
        display: Listener, budget: Budget,
    ) -> None:  # fmt: skip
        super().__init__(writer, record, budget, display)
        self.names = names
        self._plan, self._files, self._stop = plan, files, stop
        self._saved = 0.0
        self.outcomes = outcomes.read(writer.path)

    @abc.abstractmethod
    def _carry_out(self, owing: list[str], kept: Kept) -> None:
        """Simulate ``owing`` and give each outcome to ``kept``."""

    def _begin(self) -> None:
        for folder in (cache_folder(), sweep.cache_folder()):
            scratch.sweep(folder)  # killed runs leave files behind
        self.record["failures"] = []  # a resumed run tries its failures again

    def _round(self) -> bool:
        """Simulate everything without a result. There is no further round."""
        if owing := [name for name in self.names if self.outcomes.get(name, _NOTHING)["result"] is None]:
            with self._kept_round() as kept:
                self._carry_out(owing, kept)
        return False

    def has_results(self) -> bool:
        return any(outcome["result"] is not None for outcome in self.outcomes.values())

    def why_nothing(self) -> str:
        first = next((f["message"] for f in self.record["failures"]), "no configuration gave a result")
        return f"nothing could be {self.verb}: {first}"

    def kept(self) -> tuple[int, int | None, str]:
        return len(self.outcomes), len(self.names), self.what

    # --- traces

    def _trace_kernels(self, wanted: Sequence[PlannedKernel], arm: ArmPrograms | None) -> dict[str, Trace]:
        """Return the trace of each use that could be captured, by id. Record the others as failures of the run."""
        for use in wanted:
            if use.unavailable:
                self._fail("prepare", f"{use.engine} was asked for and cannot be traced here: {use.unavailable}", use.id)
        kernels: dict[Kernel, list[str]] = {}  # two uses of the plan may need the same trace
        for use in wanted:
            if not use.unavailable:
                kernels.setdefault(use.traced(self._plan.seed), []).append(use.id)
        if not kernels:
            return {}
        self._stage("traces", len(kernels))
        found: dict[str, Trace] = {}
        captured = trace_all(list(kernels), self._files, arm, cache=cache_folder(), processes=self._processes(), stop=self._stop)
        for kernel, outcome in captured:
            for name in kernels[kernel]:
                if isinstance(outcome, Trace):
                    found[name] = outcome
                else:
                    self._fail("trace", str(outcome), name)
                self.listener.event({"event": "traced", "group": name})
        return found

    def _untraced(self, of: str) -> str:
        """Return why there is no trace of ``of``, as the failure of a simulation that needs it."""
        reasons = {f["group"]: f["message"] for f in self.record["failures"] if "group" in f}
        return f"no trace of {of}: {reasons.get(of, 'it was not captured')}"

    # --- simulations

    def _simulate(self, simulations: list[sweep.Simulation], kept: Kept) -> None:
        where = f"on {self._plan.dask}" if self._plan.dask else f"in {self._processes()} processes"
        self._stage(f"simulations {where}", len(simulations))
        for outcome in self._outcomes(simulations):
            result = _without_times(outcome.result) if self._plan.exact and outcome.result is not None else outcome.result
            kept.take(outcomes.kept(outcome.id, result, outcome.failure, cached=outcome.cached))
            if outcome.failure:
                self._fail("simulate", outcome.failure, outcome.id)
            self._save_now_and_then()

    def _outcomes(self, simulations: list[sweep.Simulation]) -> Iterator[sweep.Outcome]:
        return sweep.simulate(
            simulations, processes=self._processes(), dask=self._plan.dask, cache=sweep.cache_folder(), stop=self._stop, tell=self._progress
        )  # fmt: skip

    def _progress(self, progress: sweep.Progress) -> None:
        self.listener.event({"event": "progress", "group": progress.at_work, "done": progress.done, "of": progress.of, "phase": "simulate"})

    def _processes(self) -> int:
        return len(os.sched_getaffinity(0)) if self._plan.processes == ALL else int(self._plan.processes)

    # --- state

    @contextlib.contextmanager
    def _kept_round(self) -> Iterator[Kept]:
        """Open a round that keeps outcomes. Turn it to columns at the end, even after an error."""
        number = 1 + max((int(path.stem) for path in self.writer.whole_rounds()), default=-1)
        file = self.writer.begin_round(number)
        kept = Kept(self, file.write)
        try:
            yield kept
        finally:
            rows = file.finish()
            self.record["rounds"].append({"number": number, "outcomes": rows})

    def tell(self, outcome: dict[str, Any]) -> None:
        """Record an outcome and show it."""
        self.outcomes[outcome["configuration"]] = outcome
        result = outcome["result"]
        shown = {"event": outcomes.OUTCOME, "group": outcome["configuration"], "cached": outcome["cached"], "failure": outcome["failure"]}
        self.listener.event(shown | ({"messages_per_s": result["messages_per_s"]} if result is not None and "messages_per_s" in result else {}))

    def _stage(self, what: str, count: int) -> None:
        self.stage(f"{self.part}{count} {what}", count, None)

    def _fail(self, phase: str, message: str, group: str = "") -> None:
        self.journal.failure(phase, message, **({"group": group} if group else {}))

    def _warn(self, code: str, message: str, group: str) -> None:
        self.journal.warn({"code": code, "message": message, "group": group})

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self._saved > _SAVE_EVERY_S:
            self._saved = time.monotonic()
            self.save("running")


class Kept:
    """The receiver of outcomes: it writes each to the round's file, then gives it to the run."""

    def __init__(self, run: SimulatedRun, write: Callable[[dict[str, Any]], None]) -> None:
        self._run, self._write = run, write

    def take(self, outcome: dict[str, Any]) -> None:
        self._write(outcome)
        self._run.tell(outcome)


def _without_times(result: dict[str, Any]) -> dict[str, Any]:
    """Return ``result`` without the cycles at which messages began.

    Only the interval needs them, and a whole simulation has no interval. In a run of many simulations they would take much space.
    """
    contexts = [{**context, "message_cycles": {**context["message_cycles"], "cycles": []}} for context in result["contexts"]]
    return {**result, "contexts": contexts}
