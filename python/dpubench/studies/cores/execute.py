"""Carries a run of study ``cores`` out: captures the traces that its simulations want, simulates what has no outcome yet, keeps every outcome."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dpubench.cores import sweep
from dpubench.cores.kernels import ArmPrograms, Kernel, Trace, cache_folder, trace_all
from dpubench.errors import EnvironmentFault, Exit, Interrupted, NothingRan, UserError
from dpubench.inputs import Resolved
from dpubench.progress import Lines
from dpubench.runner.record import now_utc
from dpubench.studies.cores import comparisons, outcomes
from dpubench.studies.cores.expand import Cell, Expansion
from dpubench.studies.cores.extents import contexts_of, extent_of, frame_buffers_of
from dpubench.studies.cores.outcomes import OutcomesWriter
from dpubench.studies.cores.plan import ALL, Plan
from dpubench.workers.process import StopRequest

#: `run.json` is written at most so often while outcomes come: each of them is kept in the round's file at once.
_SAVE_EVERY_S: Final = 5.0
_NOTHING: Final[dict[str, Any]] = {"result": None}


class Run:
    """One run, new or resumed."""

    def __init__(
        self, writer: OutcomesWriter, plan: Plan, expansion: Expansion, record: dict[str, Any], files: Resolved, arm: ArmPrograms,
        stop: StopRequest, display: Lines,
    ) -> None:  # fmt: skip
        self.writer, self.plan, self.expansion, self.record = writer, plan, expansion, record
        self._files, self._arm, self._stop, self._display = files, arm, stop, display
        self._begun, self._saved, self._spent_before = time.monotonic(), 0.0, float(record["spent_s"])
        self.outcomes = outcomes.read(writer.path)

    def execute(self) -> Exit:
        """Simulates what is owing.

        Raises:
            Interrupted: a stop was asked for; every finished outcome is kept.
            NothingRan: nothing could be simulated.
        """
        self._save("running")
        try:
            owing = [cell for cell in self.expansion.cells.values() if self.outcomes.get(cell.id, _NOTHING)["result"] is None]
            self.record["failures"] = []  # those of a run that is gone on with are tried again
            if owing:
                with self._round() as kept:
                    traces = self._traces(owing)
                    self._simulate(self._ready(owing, traces, kept), kept)
                    self._compare(traces)
        except Interrupted:
            self._save_if_possible("interrupted")
            raise
        except UserError as error:
            self._fail("job", str(error))
            self._save_if_possible("failed")
            raise
        return self._finish()

    def _finish(self) -> Exit:
        simulated = any(outcome["result"] is not None for outcome in self.outcomes.values())
        self._save("complete" if simulated else "failed")
        if not simulated:
            first = next((f["message"] for f in self.record["failures"]), "no configuration gave a result")
            raise NothingRan(f"nothing could be simulated: {first}")
        return Exit.FAILED if self.record["failures"] else Exit.DONE

    # --- traces

    def _traces(self, cells: list[Cell]) -> dict[str, Trace]:
        """The trace of every kernel that ``cells`` want, as far as it could be captured."""
        wanted = [self.expansion.uses[name] for name in dict.fromkeys(use for cell in cells for use in cell.uses)]
        wanted += [of.use for of in self.expansion.comparisons if of.use is not None]
        for use in wanted:
            if use.unavailable:
                self._fail("prepare", f"{use.engine} was asked for and cannot be traced here: {use.unavailable}", use.id)
        kernels: dict[Kernel, list[str]] = {}  # two of the plan's may be one
        for use in wanted:
            if not use.unavailable:
                kernels.setdefault(use.traced(self.plan.seed), []).append(use.id)
        self._display.stage(f"{len(kernels)} traces", len(kernels), None)
        found: dict[str, Trace] = {}
        captured = trace_all(list(kernels), self._files, self._arm, cache=cache_folder(), processes=self._processes(), stop=self._stop)
        for kernel, outcome in captured:
            for name in kernels[kernel]:
                if isinstance(outcome, Trace):
                    found[name] = outcome
                else:
                    self._fail("trace", str(outcome), name)
                self._display.event({"event": "traced", "group": name})
        return found

    # --- simulations

    def _ready(self, cells: list[Cell], traces: Mapping[str, Trace], kept: _Kept) -> list[sweep.Simulation]:
        """The simulations of ``cells`` whose kernels were traced; the others have failed."""
        reasons = {f["group"]: f["message"] for f in self.record["failures"] if "group" in f}
        ready = []
        for cell in cells:
            if missing := next((use for use in cell.uses if use not in traces), None):
                kept.take(outcomes.kept(cell.id, None, f"no trace of {missing}: {reasons.get(missing, 'it was not captured')}", cached=False))
            else:
                ready.append(self._simulation(cell, traces))
        return ready

    def _simulation(self, cell: Cell, traces: Mapping[str, Trace]) -> sweep.Simulation:
        contexts = tuple(sweep.Context(traces[use], skip_messages=skip) for use, skip in contexts_of(cell, self.expansion.uses))
        buffers = frame_buffers_of(cell, traces)
        if "dma" in cell.processor and not buffers:
            self._warn("frames-apart", f"{cell.id}: frames arrive in a ring of their own, as the kernel's messages have no room for them", cell.id)
        return sweep.Simulation(cell.id, cell.processor, contexts, extent_of(cell, self.expansion.uses, self.plan), buffers)

    def _simulate(self, simulations: list[sweep.Simulation], kept: _Kept) -> None:
        where = f"on {self.plan.dask}" if self.plan.dask else f"in {self._processes()} processes"
        self._display.stage(f"{len(simulations)} simulations {where}", len(simulations), None)
        for outcome in self._outcomes(simulations):
            result = _without_times(outcome.result) if self.plan.exact and outcome.result is not None else outcome.result
            kept.take(outcomes.kept(outcome.id, result, outcome.failure, cached=outcome.cached))
            if outcome.failure:
                self._fail("simulate", outcome.failure, outcome.id)
            self._save_now_and_then()

    def _compare(self, traces: Mapping[str, Trace]) -> None:
        """Sets each model beside what was published of its processor; what comes out stands in the record."""
        found = {of.id: of for of in self.expansion.comparisons}
        with comparisons.simulations(list(found.values()), traces) as simulations:
            for outcome in self._outcomes(simulations):
                of = found[outcome.id]
                try:
                    told = comparisons.told(of, outcome.result) if outcome.result is not None else [f"failed: {outcome.failure}", ""]
                except ValueError as error:
                    told = [f"failed: {error}", ""]
                self.record["models"][of.model]["comparisons"][of.number][3:] = told

    def _outcomes(self, simulations: list[sweep.Simulation]) -> Iterator[sweep.Outcome]:
        return sweep.simulate(
            simulations, processes=self._processes(), dask=self.plan.dask, cache=sweep.cache_folder(), stop=self._stop, tell=self._progress
        )  # fmt: skip

    def _progress(self, progress: sweep.Progress) -> None:
        self._display.event({"event": "progress", "group": progress.at_work, "done": progress.done, "of": progress.of, "phase": "simulate"})

    def _processes(self) -> int:
        return len(os.sched_getaffinity(0)) if self.plan.processes == ALL else int(self.plan.processes)

    # --- state

    @contextlib.contextmanager
    def _round(self) -> Iterator[_Kept]:
        """Where outcomes are kept; turned to columns at the end, whatever happens."""
        number = 1 + max((int(path.stem) for path in self.writer.whole_rounds()), default=-1)
        file = self.writer.begin_round(number)
        kept = _Kept(self, file.write)
        try:
            yield kept
        finally:
            rows = file.finish()
            self.record["rounds"].append({"number": number, "outcomes": rows})

    def tell(self, outcome: dict[str, Any]) -> None:
        """Takes note of an outcome, and shows it."""
        self.outcomes[outcome["configuration"]] = outcome
        result = outcome["result"]
        shown = {"event": outcomes.OUTCOME, "group": outcome["configuration"], "cached": outcome["cached"], "failure": outcome["failure"]}
        self._display.event(shown | ({"messages_per_s": result["messages_per_s"]} if result is not None else {}))

    def _fail(self, phase: str, message: str, group: str = "") -> None:
        entry = {"phase": phase, "message": message, **({"group": group} if group else {})}
        if entry not in self.record["failures"]:
            self.record["failures"].append(entry)
            self._display.note(f"failed: {group or 'the run'}: {message}")

    def _warn(self, code: str, message: str, group: str) -> None:
        entry = {"code": code, "message": message, "group": group}
        if entry not in self.record["warnings"]:
            self.record["warnings"].append(entry)

    def _spent_s(self) -> float:
        return self._spent_before + time.monotonic() - self._begun

    def _save(self, status: str) -> None:
        self.record["status"] = status
        self.record["finished"] = "" if status == "running" else now_utc()
        self.record["spent_s"] = round(self._spent_s(), 3)
        self._saved = time.monotonic()
        self.writer.write_record(self.record)

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self._saved > _SAVE_EVERY_S:
            self._save("running")

    def _save_if_possible(self, status: str) -> None:
        with contextlib.suppress(EnvironmentFault):  # the disk that is full already is what the user is told about
            self._save(status)


class _Kept:
    """Takes outcomes: into the round's file, then into the run."""

    def __init__(self, run: Run, write: Callable[[dict[str, Any]], None]) -> None:
        self._run, self._write = run, write

    def take(self, outcome: dict[str, Any]) -> None:
        self._write(outcome)
        self._run.tell(outcome)


def _without_times(result: dict[str, Any]) -> dict[str, Any]:
    """``result`` without when messages began, of which an interval is made: what was simulated whole has none, and a run of many would be large."""
    contexts = [{**context, "message_cycles": {**context["message_cycles"], "cycles": []}} for context in result["contexts"]]
    return {**result, "contexts": contexts}
