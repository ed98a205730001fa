"""One run on several targets: each target has its own run directory, and their rounds take turns.

Each target has an equal share of the budget. The order of the targets reverses from one pass to the next, so that a slow change of the surroundings
(heat, time of day) affects all alike. Two targets that share a machine never measure at once. A fault of one target does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dpubench.errors import EnvironmentFault, Exit, Interrupted, NothingRan, TargetLost, UserError
from dpubench.plans.model import Rounds
from dpubench.run.record import now_utc
from dpubench.run.setting import Listener
from dpubench.storage.runs import RunSetWriter
from dpubench.studies.operators.execute import Run
from dpubench.studies.operators.plan import Cycles, Plan
from dpubench.targets import Target

#: Factor on the time that an emulated program may be silent.
EMULATED_PATIENCE: Final = 20
#: Length of a window that runs only for its outputs.
SHORT_S: Final = 0.001
#: Most missing points that the terminal names; ``dpubench show`` lists all.
NAMED: Final = 3


def plan_for(plan: Plan, target: Target) -> Plan:
    """Return ``plan`` as it applies to one of its targets.

    Under an emulator every engine runs once, for its results. A target that gets its CPU time in portions needs windows of many portions.
    """
    changes: dict[str, Any] = {"target": [target.name]}
    if target.times_mean_nothing:
        changes |= {
            "engines": "all" if plan.engines == "best-and-reference" else plan.engines,
            "rounds": Rounds(min=1, max=1),
            "cycles": Cycles(min=1, max=1),
            "window": plan.window.model_copy(update={"min": SHORT_S, "max": SHORT_S, "min_bursts": 1, "threaded_min": SHORT_S}),
            "silence": plan.silence * EMULATED_PATIENCE,
        }
    elif least_s := target.least_window_s():
        window = plan.window
        changes["cycles"] = Cycles(min=1, max=plan.cycles.max)  # Windows are so long that a round may have time for one cycle only.
        changes["window"] = window.model_copy(
            update={k: max(getattr(window, k), least_s) for k in ("min", "max", "threaded_min")},
        )
    return plan.model_copy(update=changes)


def missing_text(run: Run) -> str:
    """Return how many points of ``run`` have no window yet, and the first few names, because a plan may have thousands; empty if none is missing."""
    missing = run.missing()
    if not missing:
        return ""
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return f"{len(missing)} of its points {'is' if len(missing) == 1 else 'are'} missing: {', '.join(missing[:NAMED])}{more}"


class RunSet:
    """The runs of several targets, new or resumed."""

    def __init__(self, writer: RunSetWriter, record: dict[str, Any], runs: Sequence[Run], listener: Listener) -> None:
        self.writer = writer
        self.record = record
        self.runs = list(runs)
        self._listener = listener
        self._working: list[Run] = []
        self._entries = {entry["name"]: entry for entry in record["targets"]}

    def execute(self) -> Exit:
        """Measure until every target's points are known well enough or the budget is spent.

        Raises:
            Interrupted: a stop was requested; all measurements are kept.
            NothingRan: nothing could be measured on any target.
        """
        self._working = list(self.runs)
        self._save("running")
        try:
            self._in_turns()
        except Interrupted:
            for run in self._working:
                run.interrupt()
                self._entries[run.setting.target.name]["status"] = "interrupted"
            self._save("interrupted")
            raise
        statuses = {entry["status"] for entry in self._entries.values()}
        self._save("interrupted" if "interrupted" in statuses else "failed" if "complete" not in statuses else "complete")
        if not any(p.rates for run in self.runs for p in run.points):
            raise NothingRan("nothing could be measured: " + "; ".join(f"{n}: {e['lost'] or e['status']}" for n, e in self._entries.items()))
        return Exit.DONE if statuses == {"complete"} and not any(run.record["failures"] for run in self.runs) else Exit.FAILED

    def _in_turns(self) -> None:
        for run in list(self._working):
            self._do(run, run.begin)
        backwards = False
        while self._working:
            for run in self._working[:: -1 if backwards else 1]:
                going_on = self._do(run, run.round)
                self._keep_comparable(run)
                if going_on is False:
                    self._do(run, run.finish)
                    self._ended(run, run.record["status"])
            backwards = not backwards

    def _keep_comparable(self, run: Run) -> None:
        """Drop on the other targets what no longer fits this target's budget: it would have no counterpart for comparison."""
        for other in self._working:
            if other is not run and not other.setting.target.times_mean_nothing:
                other.leave_out(run.dropped - other.dropped, f"left out, as on {run.setting.target.name}, where it did not fit the budget (--budget)")

    def _do(self, run: Run, step: Callable[[], Any]) -> Any:
        """Run a step of ``run``; a fault that ends this run alone is recorded and does not propagate."""
        try:
            return step()
        except Interrupted:
            raise
        except TargetLost as error:
            self._ended(run, "interrupted", str(error))
        except UserError as error:
            self._ended(run, run.record["status"], str(error))
        return None

    def _ended(self, run: Run, status: str, why: str = "") -> None:
        if run not in self._working:
            return
        self._working.remove(run)
        for other in self._working:  # The others may use the time that this target did not need.
            other.budget.extend(max(run.budget.left_s(), 0.0) / len(self._working))
        name = run.setting.target.name
        self._entries[name] |= {"status": status, "lost": why}
        if why:
            missing = missing_text(run)
            self._listener.note(f"{name}: {why}; the others go on" + (f"; {missing}" if missing else ""))
        self._save("running")

    def _save(self, status: str) -> None:
        self.record["status"] = status
        self.record["finished"] = "" if status == "running" else now_utc()
        try:
            self.writer.write_record(self.record)
        except EnvironmentFault:  # While targets are at work, they report a full disk; at the end this run does.
            if status != "running":
                raise
