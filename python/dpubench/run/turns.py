"""One run on several targets: each target has its own run directory, and their rounds take turns.

Each target has an equal share of the budget. The order of the targets reverses from one pass to the next, so that a slow change of the surroundings
(heat, time of day) affects all alike. Two targets that share a machine never measure at once. A fault of one target does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dpubench.errors import EnvironmentFault, Exit, Interrupted, NothingRan, TargetLost, UserError
from dpubench.run.listener import Listener
from dpubench.run.work import Work
from dpubench.storage.runs import RunSetWriter, now_utc

#: Most missing points that the terminal names; ``dpubench show`` lists all.
NAMED: Final = 3


def missing_text(work: Work) -> str:
    """Return how many points of ``work`` have no result yet, and the first few names, because a plan may have thousands; empty if none is missing."""
    missing = work.missing()
    if not missing:
        return ""
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return f"{len(missing)} of its points {'is' if len(missing) == 1 else 'are'} missing: {', '.join(missing[:NAMED])}{more}"


class RunSet:
    """The runs of several targets, new or resumed."""

    def __init__(self, writer: RunSetWriter, record: dict[str, Any], works: Sequence[Work], listener: Listener) -> None:
        """Prepare the runs ``works``, whose targets ``record`` lists, and perhaps others that are complete."""
        self.writer = writer
        self.record = record
        self.works = list(works)
        self._listener = listener
        self._working: list[Work] = []
        self._entries = {entry["name"]: entry for entry in record["targets"]}
        for work in works:
            work.heading = f"{work.name}: "

    def execute(self) -> Exit:
        """Measure until every target's points are known well enough or the budget is spent.

        Raises:
            Interrupted: a stop was requested; all results are kept.
            NothingRan: no target has a result.
        """
        self._working = list(self.works)
        self._save("running")
        try:
            self._in_turns()
        except Interrupted:
            for work in self._working:
                work.interrupt()
                self._entries[work.name]["status"] = "interrupted"
            self._save("interrupted")
            raise
        statuses = {entry["status"] for entry in self._entries.values()}
        self._save("interrupted" if "interrupted" in statuses else "failed" if "complete" not in statuses else "complete")
        if not any(work.has_results() for work in self.works):
            raise NothingRan("nothing could be measured: " + "; ".join(f"{n}: {e['lost'] or e['status']}" for n, e in self._entries.items()))
        return Exit.DONE if statuses == {"complete"} and not any(work.record["failures"] for work in self.works) else Exit.FAILED

    def _in_turns(self) -> None:
        for work in list(self._working):
            self._do(work, work.begin)
        backwards = False
        while self._working:
            for work in self._working[:: -1 if backwards else 1]:
                going_on = self._do(work, work.round)
                self._keep_comparable(work)
                if going_on is False:
                    self._do(work, work.finish)
                    self._ended(work, work.record["status"])
            backwards = not backwards

    def _keep_comparable(self, work: Work) -> None:
        """Drop on the other targets what no longer fits this target's budget: it would have no counterpart for comparison."""
        for other in self._working:
            if other is not work and not other.times_mean_nothing:
                other.leave_out(work.dropped - other.dropped, f"left out, as on {work.name}, where it did not fit the budget (--budget)")

    def _do(self, work: Work, step: Callable[[], Any]) -> Any:
        """Do a step of ``work``; a fault that ends this run alone is recorded and does not propagate."""
        try:
            return step()
        except Interrupted:
            raise
        except TargetLost as error:
            self._ended(work, "interrupted", str(error))
        except UserError as error:
            self._ended(work, work.record["status"], str(error))
        return None

    def _ended(self, work: Work, status: str, why: str = "") -> None:
        if work not in self._working:
            return
        self._working.remove(work)
        for other in self._working:  # The others may use the time that this target did not need.
            other.budget.extend(max(work.budget.left_s(), 0.0) / len(self._working))
        self._entries[work.name] |= {"status": status, "lost": why}
        if why:
            missing = missing_text(work)
            self._listener.note(f"{work.name}: {why}; the others go on" + (f"; {missing}" if missing else ""))
        self._save("running")

    def _save(self, status: str) -> None:
        self.record["status"] = status
        self.record["finished"] = "" if status == "running" else now_utc()
        try:
            self.writer.write_record(self.record)
        except EnvironmentFault:  # While targets are at work, they report a full disk; at the end this run does.
            if status != "running":
                raise
