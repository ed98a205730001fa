"""Errors with readable messages, and the one table of exit statuses."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses of every ``dpubench`` command."""

    DONE = 0
    FAILED = 1  #: something failed or disagreed
    USAGE = 2
    REGRESSION = 3
    NOTHING_RAN = 4
    INTERRUPTED = 130  #: and can be resumed


class UserError(Exception):
    """An error that the user can fix, shown without a traceback. Every other exception is a bug."""

    exit_status = Exit.USAGE


class OtherThingError(UserError):
    """An input, the machine or the build of an interrupted run has changed, so that its figures would mix two things."""


class EnvironmentFault(UserError):
    """The machine refuses: a full disk, a read-only file system, a program that cannot be started."""

    exit_status = Exit.FAILED


class TargetLost(EnvironmentFault):
    """The connection to a target broke: it ended, the target rebooted, or no longer answers. Measurements are kept."""


class NothingRan(UserError):
    """Nothing that the user asked for can run here."""

    exit_status = Exit.NOTHING_RAN


class Interrupted(UserError):
    """Ctrl-C, SIGTERM or a hang-up ended the run; measurements are kept."""

    exit_status = Exit.INTERRUPTED


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a plan or a command line."""

    message: str
    field: str = ""
    line: int | None = None  #: counted from 1

    def text(self, source: str) -> str:
        """Return ``file:line: field: message``, as far as each is known."""
        if self.field.startswith("--"):  # from the command line: no file is at fault
            return f"{self.field}: {self.message}"
        where = f"{source}:{self.line}" if self.line is not None else source
        return ": ".join(part for part in (where, self.field, self.message) if part)


class PlanError(UserError):
    """All problems of a plan together."""

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = sorted(problems, key=lambda p: (p.line or 0, p.field))
        super().__init__("\n".join(p.text(source) for p in self.problems))


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'aes'?"`` when a known word is close, else the list of known words, or nothing if there are none."""
    words = [str(k) for k in known]
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(words)}" if words else ""
