"""Signals that ask this process to end. All lead to the same cleanup."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Callable
from types import FrameType


def ending() -> tuple[signal.Signals, ...]:
    """Return SIGINT, SIGTERM and SIGHUP; the last one unless it is ignored, as under ``nohup``."""
    return (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else []))


def handler(then: Callable[[int], None]) -> Callable[[int, FrameType | None], None]:
    """Return a handler for ``signal.signal`` that calls ``then`` with the number.

    After a hang-up nothing is written to the terminal, because writing would fail.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _leave_terminal()
        then(number)

    return handle


def _leave_terminal() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        with contextlib.suppress(OSError):  # it was closed from the start
            # A terminal that is gone no longer reports to be one.
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(nowhere, descriptor)
    os.close(nowhere)
