"""A run of stress-ng on one target: each stressor in a process of its own, one after the other, one instance on every CPU."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from dpubench.analysis.model import Quantity, is_emulated
from dpubench.run.listener import Listener
from dpubench.run.work import Budget
from dpubench.storage.runs import TARGETS, RunDirectory
from dpubench.studies.measured import rounds
from dpubench.studies.measured.execute import MeasuredRun, PointFailed
from dpubench.studies.measured.rounds import FiguresWriter
from dpubench.studies.stress import stressng
from dpubench.studies.stress.listing import NAME
from dpubench.studies.stress.model import CPU_TIME, RATE
from dpubench.studies.stress.plan import Plan
from dpubench.studies.stress.points import point
from dpubench.studies.stress.schedule import Length, Measured, Rule, may_repeat, wanted
from dpubench.studies.stress.stressng import NotStressNg, Result, warnings_of
from dpubench.targets import Target
from dpubench.workers.process import StopRequest, WorkerFault
from dpubench.workers.tool import Ended, Tool

#: File that stress-ng writes its results into.
_OUT: Final = "out.yaml"
#: Most points without a result that a sentence names.
NAMED: Final = 10
#: Exit status of stress-ng where a stressor is not implemented there (EXIT_NOT_IMPLEMENTED).
_NOT_IMPLEMENTED: Final = 4


class Board:
    """The runs of one set side by side: what one has to measure depends, in adaptive mode, on what the others have found."""

    def __init__(self) -> None:
        self.works: dict[str, Run] = {}
        self.complete: dict[str, dict[str, list[float]]] = {}  #: target that is complete -> point -> rates

    def measured(self, stressor: str, plan: Plan) -> dict[str, Measured]:
        """Return the rates of ``stressor`` on each target that can run it or has run it."""
        short, long = (_id(stressor, seconds) for seconds in (plan.duration[0], plan.duration[-1]))
        found = {name: Measured(of.get(short, []), of.get(long, []), open=False) for name, of in self.complete.items()}
        for name, work in self.works.items():
            found[name] = Measured(work.rates(short), work.rates(long), work.can_run(short) and work.can_run(long))
        return {name: of for name, of in found.items() if of.open or of.at}


def _id(stressor: str, seconds: float) -> str:
    return point(stressor, seconds).id


#: Boards of the sets at work in this process, by directory.
_boards: WeakValueDictionary[Path, Board] = WeakValueDictionary()


def board_of(path: Path) -> Board:
    """Return the board of the run in ``path``: that of its set, or one of its own."""
    if path.parent.name != TARGETS:
        return Board()
    whole = path.parent.parent
    if (board := _boards.get(whole)) is None:
        board = _boards[whole] = Board()
        for entry in RunDirectory(whole).record()["targets"] if (whole / "run.json").is_file() else []:
            if entry["status"] == "complete" and not is_emulated(entry):
                rates = board.complete.setdefault(str(entry["name"]), {})
                for row in rounds.read(whole / entry["path"]):
                    if row["quantity"] == RATE:
                        rates.setdefault(str(row["point"]), []).append(float(row["value"]))
    return board


class Run(MeasuredRun):
    """A run on one target, new or resumed."""

    plan: Plan

    def __init__(
        self, writer: FiguresWriter, plan: Plan, quantities: Sequence[Quantity], record: dict[str, Any], stop: StopRequest, display: Listener,
        budget: Budget, target: Target, instances: int, named: Collection[str],
    ) -> None:  # fmt: skip
        """Prepare a run of ``instances`` of each stressor.

        Args:
            named: pathological stressors that the plan asks for by name
        """
        super().__init__(writer, plan, quantities, record, stop, display, budget)
        self._target, self._instances, self._named = target, instances, named
        self.board = board_of(writer.path)
        if not self.times_mean_nothing:  # rates of an emulated target decide no rank
            self.board.works[self.name] = self

    # --- what is owed

    def rates(self, name: str) -> list[float]:
        """Return the rates of point ``name`` so far."""
        return list(self._values.get(name, {}).values())

    def can_run(self, name: str) -> bool:
        """Return whether this run can measure a point: it is at work, and the point has not failed."""
        entry = self._points.get(name)
        return self.record["status"] == "running" and entry is not None and not entry["failure"] and not entry["unavailable"]

    def _active(self) -> list[str]:
        """Return the points that are owed and fit the budget: a round of all stressors takes hours, and the budget cannot wait for its end."""
        owed = self._owed() if self.plan.adaptive and not self.times_mean_nothing else super()._active()
        return [name for name in owed if self._points[name]["seconds"] <= self.budget.left_s()]

    def _owed(self) -> list[str]:
        """Return the points that adaptive mode wants measured next."""
        plan = self.plan
        rule = Rule(plan.precision, plan.drift, plan.rounds.min, plan.rounds.max)
        seconds: dict[Length, float] = {"short": plan.duration[0], "long": plan.duration[-1]}
        stressors = list(dict.fromkeys(entry["parameters"]["stressor"] for entry in self._points.values() if not entry["unavailable"]))
        spent_s = sum(self._points[name]["seconds"] * len(values) for name, values in self._values.items())
        found, again = list[str](), list[str]()
        for stressor in stressors:
            length = wanted(self.board.measured(stressor, plan), rule).get(self.name)
            if length is not None:
                name = _id(stressor, seconds[length])
                (again if length == "long" and self.rates(name) else found).append(name)
        spent_s += sum(self._points[name]["seconds"] for name in found)
        for name in again:
            if may_repeat(spent_s, len(stressors), seconds["long"]):
                found.append(name)
                spent_s += seconds["long"]
        return found

    def _round(self) -> bool:
        others = [work for work in self.board.works.values() if work is not self and work.record["status"] == "running"]
        if self.plan.adaptive and not self._active() and any(work.can_go_on() for work in others):
            return True  # What the others find may leave a rank undecided that is decided now.
        return super()._round()

    def can_go_on(self) -> bool:
        """Return whether this run would measure something in its next round."""
        return bool(self._active()) and not (self._round_s and self.budget.left_s() < self._round_s[-1])

    # --- one stressor

    def measure(self, point: str, parameters: dict[str, str], number: int) -> dict[str, float]:
        entry, stressor = self._points[point], parameters["stressor"]
        seconds = float(entry["seconds"])
        if self.budget.left_s() < seconds:
            return {}
        result = self._stressed(entry, stressor, seconds)
        if result is None:
            return {}
        for warning in warnings_of(result, seconds):
            self.journal.warn(warning | {"point": point})
        cpu_us = result.cpu_us(self._instances)
        return {RATE: result.per_s} | ({CPU_TIME: cpu_us} if cpu_us else {})

    def _stressed(self, entry: dict[str, Any], stressor: str, seconds: float) -> Result | None:
        """Return the result of a fresh process; None where stress-ng says that the stressor cannot run there. @raises PointFailed, Interrupted"""
        arguments = [f"--{stressor}", str(self._instances), "--timeout", f"{seconds:.0f}s", "--metrics", "--no-rand-seed", "--yaml", _OUT]
        arguments += ["--pathological"] if stressor in self._named else []
        try:
            ordinary = stressor not in self.record["stress_ng"]["as_root"]
            limit_s = seconds + self.plan.overtime
            with Tool(self._target, NAME, arguments, limit_s=limit_s, stop=self.stop, collect=[_OUT], unprivileged=ordinary) as running:
                ended = running.result()
        except WorkerFault as fault:
            raise PointFailed("measure", fault.reason) from None
        if ended.over_time:
            raise PointFailed("limit", f"it was ended {self.plan.overtime:g} s after the {seconds:g} s that it was to run (--set overtime=120s)")
        result = _result(ended, stressor)
        if result is not None and result.worked(seconds) and ended.good:
            return result
        if not ended.good and ended.status != _NOT_IMPLEMENTED:
            raise PointFailed("measure", ended.why())
        reasons, _ = stressng.parse_refusals(f"{ended.stdout}\n{ended.stderr}", [stressor])
        otherwise = result.why_not(seconds) if result is not None else "stress-ng gives no result for it"
        entry["unavailable"] = reasons.get(stressor, otherwise)
        return None

    # --- the end

    def _conclude(self) -> None:
        owed = set(self._owed()) if self.plan.adaptive else set(self._points)
        missed = []
        for name, entry in self._points.items():
            if name in self._values or not self.can_run(name):
                continue
            if name not in owed and entry["seconds"] == self.plan.duration[-1]:
                entry["spared"] = f"runs of {self.plan.duration[0]:g} s decided its rank"
            else:
                missed.append(name)
        if missed:
            shown = ", ".join(missed[:NAMED]) + (f" and {len(missed) - NAMED} more" if len(missed) > NAMED else "")
            self.journal.left_out(f"{shown}: the budget was spent before their turn (--budget)")


def _result(ended: Ended, stressor: str) -> Result | None:
    text = ended.files.get(_OUT, "")
    try:
        results = stressng.parse_yaml(text).results if text else {}
    except NotStressNg as error:
        raise PointFailed("measure", f"its results cannot be read: the file {error}") from None
    return {stressng.dashed(name): result for name, result in results.items()}.get(stressor)
