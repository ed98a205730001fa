"""A started command with three pipes, written and read in turns, with limits on silence."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Final

from dpubench.errors import EnvironmentFault

#: Bytes of standard error that are kept.
ERRORS_KEPT_BYTES: Final = 8192
#: Seconds that a command has to end by itself after its input has ended.
END_S: Final = 8.0
#: The same for a command that has no work to end first.
_IDLE_END_S: Final = 3.0
_READ_BYTES: Final = 1 << 16


class Silence(Exception):
    """Nothing moved for too long."""


class Channel:
    """A command with its pipes. As a context manager, it ends the command on exit, whatever happened."""

    def __init__(self, words: Sequence[str]) -> None:
        self.popen = spawn(words)
        self.received = bytearray()  #: standard output that nobody has taken yet
        self.errors = bytearray()  #: the end of standard error
        self.ended = False  #: whether standard output has ended
        self._unsent: list[bytes] = []
        self._input_over = False
        stdin, stdout, stderr = pipes(self.popen)
        self._selector = selectors.DefaultSelector()
        self._selector.register(stdout, selectors.EVENT_READ, self.received)
        self._selector.register(stderr, selectors.EVENT_READ, self.errors)
        self._stdin, self._stdout = stdin, stdout

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes, *, last: bool = False) -> None:
        """Queue ``data``, which :meth:`pump` sends. After ``last`` the command's input ends."""
        if not self._unsent and not self._input_over:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._unsent.append(data)
        self._input_over = self._input_over or last

    def pump(self, silence_s: float) -> None:
        """Wait until a pipe is ready, and move its data.

        Raises:
            Silence: no pipe was ready for that long.
        """
        ready = self._selector.select(silence_s)
        if not ready:
            raise Silence
        for key, _ in ready:
            if key.data is None:
                self._write()
            else:
                self._read(key.fd, key.data)

    @property
    def sending(self) -> bool:
        """Return whether queued data is still unsent."""
        return bool(self._unsent)

    def finish(self, limit_s: float) -> int | None:
        """Return the exit status; None when the command did not end in time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(limit_s)
        self._drain_errors()
        return self.popen.returncode

    def close(self) -> None:
        """End the command by ending its input, or by force if that does not help. May be called again."""
        if self.popen.returncode is None:
            end(self.popen, _IDLE_END_S)
        self._selector.close()
        self._unsent.clear()
        close_pipes(self.popen)

    def _read(self, fd: int, into: bytearray) -> None:
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(fd)
            self.ended = self.ended or fd == self._stdout
        into += data
        if into is self.errors:
            del into[:-ERRORS_KEPT_BYTES]

    def _write(self) -> None:
        try:
            while self._unsent:
                sent = os.write(self._stdin, self._unsent[0])
                self._unsent[0] = self._unsent[0][sent:]
                if not self._unsent[0]:
                    del self._unsent[0]
        except BlockingIOError:
            return
        except OSError:  # It takes no more input; its output or its status tells why.
            self._unsent.clear()
            self._input_over = True
        self._selector.unregister(self._stdin)
        if self._input_over:
            assert self.popen.stdin is not None  # it is a PIPE
            self.popen.stdin.close()

    def _drain_errors(self) -> None:
        # Do not read to the end: a master connection that ssh left behind may hold the pipe open.
        assert self.popen.stderr is not None  # it is a PIPE
        with contextlib.suppress(OSError, ValueError):
            self.errors += os.read(self.popen.stderr.fileno(), _READ_BYTES)


def spawn(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a command with non-blocking pipes, in its own session, so that Ctrl-C at the terminal does not reach it.

    Raises:
        EnvironmentFault: it cannot be started.
    """
    try:
        popen = subprocess.Popen(
            list(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, start_new_session=True
        )
    except OSError as error:
        raise EnvironmentFault(f"{words[0]}: cannot be started: {error.strerror or error}") from None
    for fd in pipes(popen):
        os.set_blocking(fd, False)
    return popen


def pipes(popen: subprocess.Popen[bytes]) -> tuple[int, int, int]:
    """Return the descriptors of standard input, output and error."""
    assert popen.stdin is not None and popen.stdout is not None and popen.stderr is not None  # all three are PIPE
    return popen.stdin.fileno(), popen.stdout.fileno(), popen.stderr.fileno()


def end(popen: subprocess.Popen[bytes], patience_s: float = END_S) -> bool:
    """End a command's input, read its remaining output, and kill its group if it does not end then.

    Returns:
        Whether it ended by itself.
    """
    assert popen.stdin is not None and popen.stdout is not None and popen.stderr is not None  # all three are PIPE
    popen.stdin.close()
    given_up = time.monotonic() + patience_s
    with selectors.DefaultSelector() as selector:
        for stream in (popen.stdout, popen.stderr):
            selector.register(stream, selectors.EVENT_READ)
        while popen.poll() is None and time.monotonic() < given_up:
            for key, _ in selector.select(0.02):
                with contextlib.suppress(BlockingIOError):
                    if not os.read(key.fd, _READ_BYTES):
                        selector.unregister(key.fd)
            if not selector.get_map():
                time.sleep(0.005)
    by_itself = popen.poll() is not None
    if not by_itself:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()
    return by_itself


def close_pipes(popen: subprocess.Popen[bytes]) -> None:
    """Close the pipes of a command that has ended."""
    for stream in (popen.stdin, popen.stdout, popen.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
