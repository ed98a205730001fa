"""This machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final

from dpubench.errors import EnvironmentFault

#: How long the killed descendants of a program are waited for.
_GROUP_GONE_S: Final = 1.0


class LocalProcess:
    """A child in a session of its own, so that a Ctrl-C at the terminal reaches only dpubench, and a kill reaches everything it started."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self.pid = popen.pid
        assert popen.stdin is not None and popen.stdout is not None and popen.stderr is not None  # all three are PIPE
        self._stdin, self._stdout, self._stderr = popen.stdin, popen.stdout, popen.stderr

    @property
    def stdin_fd(self) -> int:
        return self._stdin.fileno()

    @property
    def stdout_fd(self) -> int:
        return self._stdout.fileno()

    @property
    def stderr_fd(self) -> int:
        return self._stderr.fileno()

    def close_stdin(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()

    def poll(self) -> int | None:
        return self._popen.poll()

    def wait(self, timeout_s: float) -> int | None:
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        # SIGKILL at once: a worker owns nothing that needs tidying, and one that hangs would not listen.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()
        # What it started is not ours to wait for; it is asked whether the group still has a member. One that ended stays in it until
        # the system's first process takes notice: not for ever.
        given_up = time.monotonic() + _GROUP_GONE_S
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while time.monotonic() < given_up:
                os.killpg(self.pid, 0)
                time.sleep(0.005)

    def close(self) -> None:
        for stream in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                stream.close()


class LocalTarget:
    """Starts programs as children of this process."""

    name = "local"
    summary = "this machine"

    def start(self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> LocalProcess:
        try:
            popen = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env=None if environment is None else {**os.environ, **environment},
            )
        except OSError as error:
            raise EnvironmentFault(f"{program}: cannot be started: {error.strerror or error}; build it with `make build`") from None
        return LocalProcess(popen)

    def unavailable(self) -> str:
        return ""


TARGET = LocalTarget()
