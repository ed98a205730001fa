"""The places where native programs run. Each kind of target is a file, found by a scan, with ``SUMMARY``, ``EXAMPLES`` and ``make(name, spec)``."""

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
    """A started program: its pipes and its end."""

    pid: int

    @property
    def output_ended(self) -> bool:
        """Return whether all of its standard output was read."""

    @property
    def errors_ended(self) -> bool:
        """Return whether all of its standard error was read."""

    @property
    def has_unread(self) -> bool:
        """Return whether there is data to read that no descriptor announces."""

    def set_nonblocking(self) -> None:
        """Make its pipes non-blocking, so that the methods below never wait."""

    def waits_for(self, *, sending: bool) -> Mapping[int, int]:
        """Return the descriptors that announce data, with their events of poll(2). ``sending``: also those that announce room for input.

        Processes may share descriptors, and the data may be in frames of the target's own: read with the methods below.
        """

    def write(self, data: bytes) -> int:
        """Give it input and return the number of bytes taken. @raises BlockingIOError: none now; OSError: none ever again"""

    def close_stdin(self) -> None:
        """End its input. @raises as :meth:`write`"""

    def read_output(self) -> bytes:
        """Return what it wrote to standard output, perhaps nothing. @raises BlockingIOError: nothing now"""

    def read_errors(self) -> bytes:
        """Return what it wrote to standard error; nothing at its end. @raises BlockingIOError: nothing now"""

    def poll(self) -> int | None:
        """Return the exit status (negative: the signal), or None while it runs."""

    def wait(self, timeout_s: float) -> int | None: ...
    def lost(self) -> str:
        """Return why the connection to the target ended it, and not the program; empty otherwise. Call it after the end."""

    def kill(self) -> None:
        """Kill it and everything it started, and wait until it is gone."""

    def close(self) -> None:
        """Close the pipes."""


class Target(Protocol):
    """A place where native programs can be started."""

    name: str  #: name as in points' ids
    spec: str  #: specification as on the command line
    label: str  #: words shown beside every figure of it; empty for a machine measured as it is
    times_mean_nothing: bool  #: emulated: results are right or wrong, times are never shown
    is_here: bool  #: whether it is this machine: it shares files, clock and network with this process

    def unavailable(self) -> str:
        """Return why nothing can be started there, as far as this machine knows; empty without a known reason."""

    def open(self) -> None:
        """Prepare the target to start native programs. @raises UserError, EnvironmentFault when this is impossible, TargetLost"""

    def program(self, name: str) -> str:
        """Return the word for the native program ``name`` (``dpubench-operators``) that :meth:`start` takes."""

    def cpus(self) -> list[int]:
        """Return the usable CPUs there, one of each physical core first: threads are pinned to them in this order."""

    def start(self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Process:
        """Start ``program``. @raises EnvironmentFault when it cannot be started, TargetLost"""

    def place(self, files: Sequence[Path]) -> list[str]:
        """Return the paths of input files there; send those that it lacks."""

    def cache_directory(self) -> str:
        """Return the folder where programs there keep prepared data."""

    def least_window_s(self) -> float:
        """Return the seconds that a window needs for a meaningful rate; 0 where the plan's length is enough."""

    def describe(self) -> dict[str, Any]:
        """Return facts that the program's ``hello`` lacks (``schemas/target.schema.json``); empty where nobody measures.

        Call it while the target is open. @raises EnvironmentFault, TargetLost
        """

    def close(self) -> None:
        """Release what :meth:`open` took."""


def machine(target: Target) -> str:
    """Return a key that targets on one machine share, as far as is known: all targets that are this machine, and all with one specification."""
    return "" if target.is_here else target.spec


def kinds() -> list[str]:
    """Return every kind of target, by name."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def names() -> list[str]:
    """Return the words that mean a target without further settings: the kinds, and the names of the registry. @raises UserError the file is wrong"""
    from dpubench.targets import _registry

    return [*kinds(), *_registry.load()]


def kind_module(kind: str) -> Any:
    """Return the module of a kind: ``SUMMARY``, ``EXAMPLES``, ``make``."""
    return importlib.import_module(f"{__name__}.{kind}")


def find(word: str) -> Target:
    """Return the target that ``word`` means: ``KIND``, ``KIND:SETTINGS``, or a name from the registry.

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
    """Return the target of ``entry`` in the registry. @raises UserError when it is wrong"""
    kind = entry.spec.partition(":")[0]
    if kind not in kinds():
        raise UserError(f"target {name}: '{entry.spec}' does not begin with a kind of target{nearest(kind, kinds())}")
    module = kind_module(kind)
    takes: Sequence[str] = getattr(module, "REGISTERED", ())
    given = {"directory": entry.directory, "bundle": Path(entry.bundle) if entry.bundle else None}
    if unknown := [key for key, value in given.items() if value and key not in takes]:
        raise UserError(f"target {name}: a target of kind {kind} takes no {unknown[0]}: remove it")
    return cast("Target", module.make(name, entry.spec, **{key: given[key] for key in takes}))


def settings(spec: str, known: Sequence[str]) -> dict[str, str]:
    """Return the settings behind the colon of ``spec``, such as ``cpus=0-1,3,quota=50%``; a word without ``=`` belongs to the list before it.

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
            raise UserError(f"--target {spec}: '{word}' is not a setting: write KEY=VALUE{nearest(key, known)}")
        elif key not in known:
            raise UserError(f"--target {spec}: unknown setting '{key}'{nearest(key, known)}")
        elif key in found:
            raise UserError(f"--target {spec}: {key} is given twice")
        else:
            found[key], last = value, key
    return found
