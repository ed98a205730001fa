"""The course of a run on one target, which every study shares: its time, its rounds, its record, and the ways in which it can end."""

from __future__ import annotations

import abc
import contextlib
import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

from dpubench.errors import EnvironmentFault, Exit, Interrupted, NothingRan, TargetLost, UserError
from dpubench.run.journal import Journal
from dpubench.run.listener import Listener
from dpubench.storage.runs import RunWriter, now_utc


class Budget:
    """The time that a run may take, and the rest of it. Time passes only while the run is at work."""

    def __init__(self, seconds: float = math.inf, spent_s: float = 0.0, reserve_s: float = 0.0) -> None:
        """Begin with ``spent_s`` of ``seconds`` spent by earlier processes of the run; ``reserve_s`` are kept back from planning."""
        self._limit_s, self._spent_s, self._reserve_s = seconds, spent_s, reserve_s
        self._begun: float | None = None

    def spent_s(self) -> float:
        """Return the seconds spent so far, in all processes of the run."""
        return self._spent_s + (0.0 if self._begun is None else time.monotonic() - self._begun)

    def left_s(self) -> float:
        return self._limit_s - self.spent_s()

    def left_with_reserve_s(self) -> float:
        """Return the seconds after which even a round that took longer than estimated has to end."""
        return self.left_s() + self._reserve_s

    @contextlib.contextmanager
    def spending(self) -> Iterator[None]:
        """Let time pass within the block."""
        self._begun = time.monotonic()
        try:
            yield
        finally:
            self._spent_s, self._begun = self.spent_s(), None

    def extend(self, seconds: float) -> None:
        """Add time that another run did not need."""
        self._limit_s += seconds

    def grant(self, seconds: float) -> None:
        """Ensure that at least ``seconds`` are left: a resumed run owes rounds, whatever it spent before."""
        self._limit_s = max(self._limit_s, self.spent_s() + seconds)


class Work(abc.ABC):
    """A run on one target, new or resumed. A study's subclass says what a round measures.

    :meth:`execute` does all of it. Several runs alternate by :meth:`begin`, :meth:`round` and :meth:`finish`.
    """

    times_mean_nothing = False  #: whether the target only tells right outputs from wrong ones

    def __init__(self, writer: RunWriter, record: dict[str, Any], budget: Budget, listener: Listener) -> None:
        """Prepare a run from its ``record`` (``run.json``), which it keeps up to date."""
        self.writer, self.record, self.budget, self.listener = writer, record, budget, listener
        self.journal = Journal(record, listener)
        self.heading = ""  #: prefix of its stages, if several targets take turns
        self.dropped: set[str] = set()  #: configurations that are no longer measured, because the budget is too small

    @property
    def name(self) -> str:
        """Return the name of its target."""
        return str(self.record["target"])

    # --- what a study defines

    def _begin(self) -> None:  # noqa: B027  # not every study has something to do here
        """Do what comes before the first round. @raises as :meth:`execute`"""

    @abc.abstractmethod
    def _round(self) -> bool:
        """Measure one more round; return False when no round is owed or none fits the budget. @raises as :meth:`execute`"""

    def _conclude(self) -> None:  # noqa: B027  # likewise
        """Add what only the end shows to the record, such as warnings."""

    @abc.abstractmethod
    def has_results(self) -> bool:
        """Return whether anything that was asked for has a result."""

    @abc.abstractmethod
    def why_nothing(self) -> str:
        """Return why there is no result."""

    @abc.abstractmethod
    def kept(self) -> tuple[int, int | None, str]:
        """Return (results kept so far, how many there will be if that is known, noun for them)."""

    def missing(self) -> list[str]:
        """Return the ids of points that are owed and have no result yet."""
        return []

    def leave_out(self, configurations: Iterable[str], why: str) -> None:  # noqa: B027  # likewise
        """Stop measuring those of ``configurations`` that this run still measures."""

    def _update(self) -> None:  # noqa: B027  # likewise
        """Bring the record up to date before it is written."""

    # --- the course

    def execute(self) -> Exit:
        """Measure until everything is known well enough or the budget is spent; return the exit status.

        Raises:
            Interrupted: a stop was requested; all results are kept.
            TargetLost: the connection to the target broke; all results are kept.
            NothingRan: nothing that was asked for can run or has a result.
        """
        self.begin()
        while self.round():
            pass
        return self.finish()

    def begin(self) -> None:
        """Do what comes before the first round. @raises as :meth:`execute`"""
        with self._at_work():
            self._begin()

    def round(self) -> bool:
        """Measure one more round; return False when no round is owed or none fits the budget. @raises as :meth:`execute`"""
        with self._at_work():
            return self._round()

    def finish(self) -> Exit:
        """Conclude the run and save its record. @raises NothingRan nothing has a result"""
        self._conclude()
        found = self.has_results()
        self.save("complete" if found else "failed")
        if not found:
            raise NothingRan(self.why_nothing())
        return Exit.FAILED if self.record["failures"] else Exit.DONE

    def interrupt(self) -> None:
        """Mark a run that is not at work as interrupted."""
        self._save_if_possible("interrupted")

    def save(self, status: str | None = None) -> None:
        """Write the record, with a new ``status`` if one is given. @raises EnvironmentFault"""
        if status is not None:
            self.record["status"] = status
            self.record["finished"] = "" if status == "running" else now_utc()
        self.record["spent_s"] = round(self.budget.spent_s(), 3)
        self._update()
        self.writer.write_record(self.record)

    def stage(self, text: str, results: int, seconds_left: float | None) -> None:
        """Tell the listener that a part of the run begins that gives so many ``results``; None: it has no time limit."""
        self.listener.stage(self.heading + text, results, seconds_left)

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        """Account for the time of a part of the run, and save its results and status, however the part ends."""
        with self.budget.spending():
            self.save("running")
            try:
                yield
            except (Interrupted, TargetLost):
                self._save_if_possible("interrupted")
                raise
            except UserError as error:
                self.journal.failure("job", str(error))
                self._save_if_possible("failed")
                raise
            self.save()

    def _save_if_possible(self, status: str) -> None:
        with contextlib.suppress(EnvironmentFault):  # The error under way already tells the user of a full disk.
            self.save(status)
