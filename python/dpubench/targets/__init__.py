"""Where workers run. One file per kind of target, found by a scan; each defines ``TARGET``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from dpubench.errors import UserError, nearest


class Process(Protocol):
    """A started program: the pipes to it, and its end. ``subprocess.Popen`` of bytes is one."""

    pid: int

    @property
    def stdin_fd(self) -> int: ...
    @property
    def stdout_fd(self) -> int: ...
    @property
    def stderr_fd(self) -> int: ...
    def close_stdin(self) -> None: ...
    def poll(self) -> int | None:
        """The exit status (negative: the signal), or None while it runs."""

    def wait(self, timeout_s: float) -> int | None: ...
    def kill(self) -> None:
        """Ends it and everything it started, and waits until it is gone."""

    def close(self) -> None:
        """Closes the pipes."""


class Target(Protocol):
    """A place where a native program can be started."""

    name: str
    summary: str

    def start(self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Process:
        """Starts ``program``. @raises UserError when it cannot be started."""

    def unavailable(self) -> str:
        """Why nothing can be started there; empty if it can."""


def names() -> list[str]:
    """Every kind of target, by name."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__))


def find(name: str) -> Target:
    """The target called ``name``."""
    if name not in names():
        raise UserError(f"--target: unknown target '{name}'{nearest(name, names())}")
    return cast("Target", importlib.import_module(f"{__name__}.{name}").TARGET)
