"""Signals that ask this process to end. Each gets the same tidying up."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Callable
from types import FrameType


def ending() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM and SIGHUP; the last one unless it is ignored, as ``nohup`` has it."""
    return (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else []))


def handler(then: Callable[[int], None]) -> Callable[[int, FrameType | None], None]:
    """For ``signal.signal``: calls ``then`` with the number. After a hang-up nothing is said to the terminal, which is gone: writing would fail."""

    def handle(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _leave_terminal()
        then(number)

    return handle


def _leave_terminal() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        with contextlib.suppress(OSError):  # closed from the start
            # A terminal that is gone does not even say any more that it is one.
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(nowhere, descriptor)
    os.close(nowhere)
