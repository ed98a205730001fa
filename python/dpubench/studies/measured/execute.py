"""The rounds of a run of figures: each point once in a round, in an order that differs, until all are precise or the budget is spent."""

from __future__ import annotations

import abc
import random
import time
from collections.abc import Sequence
from typing import Any

from dpubench.analysis import statistics
from dpubench.analysis.model import Quantity, is_emulated, mapping
from dpubench.plans.model import MeasuredPlan
from dpubench.run.listener import Listener
from dpubench.run.work import Budget, Work
from dpubench.storage.runs import Event, RoundWriter, now_utc
from dpubench.studies.measured import rounds
from dpubench.studies.measured.rounds import FiguresWriter
from dpubench.workers.process import StopRequest


class PointFailed(Exception):
    """A point gave no figures in a round. It fails, and the rest of the run goes on."""

    def __init__(self, phase: str, message: str) -> None:
        super().__init__(message)
        self.phase = phase


class MeasuredRun(Work):
    """A run of figures, new or resumed. A study's subclass measures a point."""

    writer: FiguresWriter

    def __init__(
        self, writer: FiguresWriter, plan: MeasuredPlan, quantities: Sequence[Quantity], record: dict[str, Any], stop: StopRequest, display: Listener,
        budget: Budget,
    ) -> None:  # fmt: skip
        super().__init__(writer, record, budget, display)
        self.plan, self.quantities, self.stop = plan, quantities, stop
        self.times_mean_nothing = is_emulated(mapping(record, "target_info"))
        self._points = {str(entry["id"]): entry for entry in record["points"]}
        self._order = {quantity.name: place for place, quantity in enumerate(quantities)}
        self._decides: dict[str, str] = {}  #: point -> the first of the run's quantities that it has
        self._values: dict[str, dict[int, float]] = {}  #: point -> round -> value of that quantity
        self._round_s: list[float] = []
        self._file: RoundWriter | None = None  #: the round under way
        for row in rounds.read(writer.path):
            self._take(row)
        self._number = 1 + max([r["number"] for r in record["rounds"]] + [n for values in self._values.values() for n in values], default=-1)

    @abc.abstractmethod
    def measure(self, point: str, parameters: dict[str, str], number: int) -> dict[str, float]:
        """Return the figures of ``point`` in round ``number``, by quantity; all of them are verified.

        Raises:
            PointFailed: it gave none.
            Interrupted: a stop was asked for.
        """

    def keep(self, row: Event) -> None:
        """Keep a record that a study's writer knows beside the figures. Call it from :meth:`measure`."""
        assert self._file is not None  # a round is under way
        self._file.write(row)

    def has_results(self) -> bool:
        return bool(self._values)

    def why_nothing(self) -> str:
        reasons = [f["message"] for f in self.record["failures"]] + [p["unavailable"] for p in self._points.values() if p["unavailable"]]
        return f"nothing could be measured: {[*reasons, 'the plan names nothing'][0]}"

    def kept(self) -> tuple[int, int | None, str]:
        return sum(map(len, self._values.values())), None, "figures"

    def missing(self) -> list[str]:
        return [name for name in self._open() if name not in self._values]

    def _take(self, row: dict[str, Any]) -> None:
        point, quantity = str(row["point"]), str(row["quantity"])
        before = self._decides.setdefault(point, quantity)
        if self._order[quantity] < self._order[before]:
            self._decides[point], self._values[point] = quantity, {}
        if quantity == self._decides[point]:
            self._values.setdefault(point, {})[int(row["round"])] = float(row["value"])

    def _open(self) -> list[str]:
        """Return the points that can be measured, have not failed, and fit the budget."""
        return [name for name, entry in self._points.items() if not entry["failure"] and not entry["unavailable"] and name not in self.dropped]

    def drop(self, names: Sequence[str]) -> None:
        """Stop measuring points for which no time was left, and record that."""
        self.dropped.update(names)
        for name in names:
            self.journal.left_out(f"{name}: the budget was spent before its turn (--budget)")

    def _is_late(self) -> bool:
        """Return whether a round has to end before its next point, because the budget is spent."""
        return not self.times_mean_nothing and self.budget.left_with_reserve_s() <= 0

    def _active(self) -> list[str]:
        """Return the points that are not yet known well enough. On an emulated target, one round tells whether a point works."""
        if self.times_mean_nothing:
            return [name for name in self._open() if name not in self._values]
        plan = self.plan
        return [
            name for name in self._open()
            if len(values := self._values.get(name, {})) < plan.rounds.max
            and not statistics.has_converged(list(values.values()), plan.precision, max(plan.rounds.min, statistics.MINIMUM_ROUNDS))
        ]  # fmt: skip

    def _ordered(self, points: list[str], chance: random.Random) -> list[str]:
        """Return ``points`` in the order of a round, which differs from round to round."""
        chance.shuffle(points)
        return points

    def _round(self) -> bool:
        active = self._active()
        if not active or (self._number > 0 and self._round_s and self.budget.left_s() < self._round_s[-1]):
            return False
        active = self._ordered(active, random.Random(f"{self.plan.seed}/{self._number}"))
        self.stage(f"round {self._number + 1}, {len(active)} points", len(active), max(self.budget.left_s(), 0.0))
        begun, started, whole = time.monotonic(), now_utc(), False
        file = self._file = self.writer.begin_round(self._number)
        again = self._number > 0 and not self._round_s  # a resumed run gets a round even if the budget is spent
        cut: list[str] = []
        try:
            for place, name in enumerate(active):
                self.stop.check()
                if self._values and not again and self._is_late():
                    cut = active[place:]
                    break
                try:
                    figures = self.measure(name, self._points[name]["parameters"], self._number)
                except PointFailed as failed:
                    self._points[name]["failure"] = f"{failed.phase}: {failed}"
                    self.journal.failure(failed.phase, str(failed), point=name)
                    continue
                for quantity, value in figures.items():
                    row = rounds.kept(self._number, name, quantity, value)
                    file.write(row)
                    self.listener.event(row)
                    self._take(row)
            whole = not cut
        finally:
            file.close()
            self._round_s.append(time.monotonic() - begun)
            entry = {"number": self._number, "started": started, "elapsed_s": round(self._round_s[-1], 3), "whole": whole}
            self.record["rounds"].append(entry)
        file.finish()
        self.drop([name for name in cut if name not in self._values])
        self._number += 1
        return True
