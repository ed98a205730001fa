"""Where native programs run. One file per kind of target, found by a scan; each defines ``SUMMARY``, ``EXAMPLES`` and ``make(name, spec)``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from dpubench.errors import UserError, nearest

if TYPE_CHECKING:
    from dpubench.targets._registry import Entry

#: Labels that stand beside every figure of such a target.
RESTRICTED: Final = "restricted host, not a device"
EMULATED: Final = "emulated: correctness only"


class Process(Protocol):
    """A started program: the pipes to it, and its end."""

    pid: int

    @property
    def stdin_fd(self) -> int: ...
    @property
    def stdout_fd(self) -> int: ...
    @property
    def stderr_fd(self) -> int: ...
    @property
    def output_ended(self) -> bool:
        """Whether all of its standard output was read."""

    # The descriptors are there to be waited for; what goes through them may be in frames of the target's own.
    def write(self, data: bytes) -> int:
        """Gives it input; how many bytes of ``data`` were taken. @raises BlockingIOError: none now, wait for stdin_fd; OSError: none ever again"""

    def close_stdin(self) -> None:
        """Ends its input. @raises as :meth:`write`"""

    def read_output(self) -> bytes:
        """What stdout_fd has, maybe nothing. @raises BlockingIOError: nothing now"""

    def read_errors(self) -> bytes:
        """What stderr_fd has; nothing at its end. @raises BlockingIOError: nothing now"""

    def poll(self) -> int | None:
        """The exit status (negative: the signal), or None while it runs."""

    def wait(self, timeout_s: float) -> int | None: ...
    def lost(self) -> str:
        """Why the way to the target, and not the program, ended it; empty otherwise. Asked after the end."""

    def kill(self) -> None:
        """Ends it and everything it started, and waits until it is gone."""

    def close(self) -> None:
        """Closes the pipes."""


class Target(Protocol):
    """A place where native programs can be started."""

    name: str  #: as it stands in points' ids
    spec: str  #: what it is, written as on the command line
    label: str  #: words that stand beside every figure of it; empty for a machine measured as it is
    times_mean_nothing: bool  #: emulated: results are right or wrong, times are never shown

    def unavailable(self) -> str:
        """Why nothing can be started there, as far as that is known without going there; empty if nothing is known against it."""

    def open(self) -> None:
        """Makes native programs ready to start there. @raises UserError, EnvironmentFault when that cannot be, TargetLost"""

    def operators_program(self) -> str:
        """What :meth:`start` takes for ``dpubench-operators``."""

    def cpus(self) -> list[int]:
        """CPUs that may be used there, one of each physical core first: threads are pinned to them in this order."""

    def start(self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Process:
        """Starts ``program``. @raises EnvironmentFault when it cannot be started, TargetLost"""

    def place(self, files: Sequence[Path]) -> list[str]:
        """The paths of input files there; those that are not there yet are sent."""

    def cache_directory(self) -> str:
        """Where programs there keep what they prepared."""

    def least_window_s(self) -> float:
        """How long a window has to be for its rate to mean what it says; 0 where the plan's will do."""

    def describe(self) -> dict[str, Any]:
        """What is there beyond what the program's ``hello`` says (``schemas/target.schema.json``); empty where nobody would measure.

        Asked when it is open. @raises EnvironmentFault, TargetLost
        """

    def close(self) -> None:
        """Gives back what :meth:`open` took."""


def kinds() -> list[str]:
    """Every kind of target, by name."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def kind_module(kind: str) -> Any:
    """The module of a kind: ``SUMMARY``, ``EXAMPLES``, ``make``."""
    return importlib.import_module(f"{__name__}.{kind}")


def find(word: str) -> Target:
    """The target that ``word`` means: ``KIND``, ``KIND:SETTINGS``, or a name that it was given.

    Raises:
        UserError: no such kind and no such name, or wrong settings of it.
    """
    from dpubench.targets import _registry

    kind = word.partition(":")[0]
    if kind in kinds():
        return cast("Target", kind_module(kind).make(word, word))
    known = _registry.load()
    if word not in known:
        raise UserError(f"--target: unknown target '{word}'{nearest(word, [*kinds(), *known])}")
    return named(word, known[word])


def named(name: str, entry: Entry) -> Target:
    """The target that ``entry`` of the registry stands for. @raises UserError when it is wrong"""
    kind = entry.spec.partition(":")[0]
    if kind not in kinds():
        raise UserError(f"target {name}: '{entry.spec}' is of no kind of target{nearest(kind, kinds())}")
    if kind != "ssh" and (entry.directory or entry.bundle):
        raise UserError(f"target {name}: a directory and a bundle are for ssh targets")
    more = {"directory": entry.directory, "bundle": Path(entry.bundle) if entry.bundle else None} if kind == "ssh" else {}
    return cast("Target", kind_module(kind).make(name, entry.spec, **more))


def settings(spec: str, known: Sequence[str]) -> dict[str, str]:
    """``cpus=0-1,3,quota=50%`` behind the colon of ``spec`` as a mapping; a word without ``=`` belongs to the list before it.

    Raises:
        UserError: a key that is not ``known``, given twice, or without a value.
    """
    found: dict[str, str] = {}
    last = ""
    for word in spec.partition(":")[2].split(",") if ":" in spec else []:
        key, equals, value = word.partition("=")
        if not equals and last:
            found[last] += f",{word}"
        elif not equals or not value:
            raise UserError(f"--target {spec}: '{word}' is no setting: write KEY=VALUE{nearest(key, known)}")
        elif key not in known:
            raise UserError(f"--target {spec}: unknown setting '{key}'{nearest(key, known)}")
        elif key in found:
            raise UserError(f"--target {spec}: {key} is given twice")
        else:
            found[key], last = value, key
    return found
