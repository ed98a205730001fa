"""The target that is this machine, whole or with fewer CPUs or less of their time."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import limits, programs
from dpubench.errors import EnvironmentFault, UserError
from dpubench.plans.quantities import fraction
from dpubench.remote.agent import Session, described
from dpubench.targets import RESTRICTED, _quota, settings

SUMMARY: Final = "this machine; settings limit it to some of its CPUs, or to a part of their time"
EXAMPLES: Final = ("local", "local:cpus=0-1,quota=50%")

#: Seconds to wait for the killed descendants of a program.
_GROUP_GONE_S: Final = 1.0
_READ_BYTES: Final = 1 << 18
#: Joins a control group, whose file is $0, and becomes the program.
_JOIN: Final = 'echo $$ >"$0" && exec "$@"'


class LocalProcess:
    """A child in its own session: Ctrl-C at the terminal reaches dpubench only, and a kill reaches all that the child started."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self.pid = popen.pid
        self.output_ended = self.errors_ended = False
        assert popen.stdin is not None and popen.stdout is not None and popen.stderr is not None  # all three are PIPE
        self._stdin, self._stdout, self._stderr = popen.stdin, popen.stdout, popen.stderr

    @property
    def has_unread(self) -> bool:
        return False

    def set_nonblocking(self) -> None:
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)

    def waits_for(self, *, sending: bool) -> Mapping[int, int]:
        found = {} if self.output_ended else {self._stdout.fileno(): select.POLLIN}
        found |= {} if self.errors_ended else {self._stderr.fileno(): select.POLLIN}
        return found | ({self._stdin.fileno(): select.POLLOUT} if sending else {})

    def write(self, data: bytes) -> int:
        return os.write(self._stdin.fileno(), data)

    def close_stdin(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()

    def read_output(self) -> bytes:
        data = os.read(self._stdout.fileno(), _READ_BYTES)
        self.output_ended = not data
        return data

    def read_errors(self) -> bytes:
        data = os.read(self._stderr.fileno(), _READ_BYTES)
        self.errors_ended = not data
        return data

    def poll(self) -> int | None:
        return self._popen.poll()

    def wait(self, timeout_s: float) -> int | None:
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def lost(self) -> str:
        return ""

    def kill(self) -> None:
        # Send SIGKILL at once: a worker owns nothing that needs cleanup, and one that hangs would not react.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()
        # This process cannot wait for grandchildren, so that it polls whether the group still has a member. An ended one stays in the group until
        # the system's first process collects it, hence the time limit.
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
    """The target that starts programs as children of this process."""

    times_mean_nothing = False
    is_here = True

    def __init__(self, name: str = "local", spec: str = "local") -> None:
        self.name = name
        self.spec = spec
        given = settings(spec, ("cpus", "quota"))
        self._cpus = _cpu_list(given["cpus"], spec) if "cpus" in given else None
        try:
            self._share = fraction(given["quota"]) if "quota" in given else None
        except ValueError as error:
            raise UserError(f"--target {spec}: quota: {error}") from None
        if self._share is not None and self._share > 1:
            raise UserError(f"--target {spec}: quota: must be at most 100 % of its CPUs")
        self.label = RESTRICTED if given else ""
        self._group: _quota.QuotaGroup | None = None

    def unavailable(self) -> str:
        if self._cpus is not None and (missing := sorted(set(self._cpus) - os.sched_getaffinity(0))):
            return f"this process may not use CPU {', '.join(map(str, missing))}: it may use {ranges(sorted(os.sched_getaffinity(0)))}"
        return _quota.hierarchy()[1] if self._share is not None else ""

    def open(self) -> None:
        if reason := self.unavailable():
            raise UserError(f"--target {self.spec}: {reason}")
        if self._share is not None and self._group is None:
            self._group = _quota.QuotaGroup(self._share, len(self.cpus()))

    def program(self, name: str) -> str:
        return str(programs.find(name))

    def cpus(self) -> list[int]:
        usable = [c for c in sorted(os.sched_getaffinity(0)) if self._cpus is None or c in self._cpus]
        first: list[int] = []
        second: list[int] = []
        seen: set[str] = set()
        for cpu in usable:
            siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
            try:
                core = siblings.read_text(encoding="ascii").strip()
            except OSError:
                core = str(cpu)
            (second if core in seen else first).append(cpu)
            seen.add(core)
        return first + second

    def start(self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None, prefix: Sequence[str] = ()) -> LocalProcess:
        """Start ``program`` as any target does. ``prefix`` is a command that becomes the program, such as one that enters a network namespace."""
        if not Path(program).exists():
            raise EnvironmentFault(f"{program}: cannot be started: No such file or directory; build it with `make build`")
        words = [*prefix, program, *arguments]
        if self._cpus is not None:  # The program's other work stays on these CPUs too.
            words = ["taskset", "-c", ",".join(map(str, self._cpus)), *words]
        if self._group is not None:
            words = ["/bin/sh", "-c", _JOIN, str(self._group.members), *words]
        return spawn(words, environment)

    def place(self, files: Sequence[Path]) -> list[str]:
        return [str(f) for f in files]

    def cache_directory(self) -> str:
        return str(programs.cache_directory() / "prepared")

    def least_window_s(self) -> float:
        return 0.0 if self._share is None else _quota.PERIODS_IN_WINDOW * _quota.PERIOD_US / 1e6

    def describe(self) -> dict[str, Any]:
        with Session([str(programs.agent_program())], b"", self.name, lambda said: said.strip() or "it ended") as agent:
            return described(agent.ask("describe"), self.name)

    def close(self) -> None:
        if self._group is not None:
            self._group.close()
            self._group = None


def spawn(words: Sequence[str], environment: Mapping[str, str] | None = None) -> LocalProcess:
    """Start a child of this process with three pipes. @raises EnvironmentFault when it cannot be started"""
    try:
        popen = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env=None if environment is None else {**os.environ, **environment},
        )
    except OSError as error:
        remedy = limits.of_a_start(error) or "build it with `make build`"
        raise EnvironmentFault(f"{words[0]}: cannot be started: {error.strerror or error}; {remedy}") from None
    return LocalProcess(popen)


def make(name: str, spec: str) -> LocalTarget:
    """Return the target ``spec``, called ``name``. @raises UserError for wrong settings"""
    return LocalTarget(name, spec)


def _cpu_list(text: str, spec: str) -> list[int]:
    """Return the CPUs of a list in the kernel's notation, such as ``0-1,3``."""
    cpus: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part)
        low = int(found[1]) if found else 0
        high = int(found[2] or found[1]) if found else -1
        if high < low:
            raise UserError(f"--target {spec}: cpus: '{part}' is neither a CPU nor a range: write for example 0-1,3")
        cpus |= set(range(low, high + 1))
    return sorted(cpus)


def ranges(cpus: Sequence[int]) -> str:
    """Return ``[0, 1, 3]`` as ``0-1,3``."""
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, p)) for p in parts)
