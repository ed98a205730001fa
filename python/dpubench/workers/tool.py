"""Outside programs (stress-ng, iperf3) on a target, run by ``dpubench-tool`` there (docs/tools.md).

It is a native program of the bundle like the others, so that an outside program runs the same here, over ssh and in an emulated machine. It and
everything that it started are gone when its context ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from dpubench import programs, schemas
from dpubench.errors import EnvironmentFault
from dpubench.targets import Target
from dpubench.targets.vm import VmTarget
from dpubench.workers.ask import ask
from dpubench.workers.checks import Event, parse_tool_event
from dpubench.workers.process import StopRequest, Worker, WorkerFault

#: It asks every outside program for its version.
_LIST_LIMIT_S: Final = 60.0
#: An ended program's output: 256 KiB and a file, with escapes.
_MOST_LINE_BYTES: Final = 8 << 20
#: Beyond a program's own limit: its end and the removal of its files.
_AFTERWARDS_S: Final = 30.0
#: dpubench-tool gives a program three seconds to end by itself, and waits five for what the kernel holds.
_END_S: Final = 10.0
#: Lines of a program's messages that a failure quotes.
_LAST_LINES: Final = 2


@dataclass(frozen=True)
class Found:
    """An outside program on a target."""

    path: str  #: empty where it is not installed
    version: str  #: such as ``0.15.06``; empty where it does not tell
    package: str  #: Debian package that holds it


@dataclass(frozen=True)
class Present:
    """The outside programs of a target, and the rights and CPUs with which they run there."""

    hello: Mapping[str, Any]  #: greeting of ``dpubench-tool``: machine, build
    tools: Mapping[str, Found]
    root: bool  #: whether they run as root
    online_cpus: int
    usable_cpus: list[int]
    verbs_devices: list[str]  #: devices for RDMA, by the kernel's names
    more_programs: str = ""  #: what to do where a program is missing there; empty: install its package

    def lack(self, name: str) -> str:
        """Return why the program ``name`` cannot run there, with a remedy; empty if it can."""
        found = self.tools[name]
        return "" if found.path else f"{name} is not installed there: {self.more_programs or f'install package {found.package}'}"


def expected(target: Target) -> None:
    """Tell a target that is not open yet that outside programs will run there: an emulated machine boots with them."""
    if isinstance(target, VmTarget):
        target.expect_tools()


def present(target: Target) -> Present:
    """Return the outside programs of ``target``, which is open. @raises EnvironmentFault it does not answer, TargetLost"""
    try:
        events = ask(target, target.program(programs.TOOL), ["--list"], silence_s=_LIST_LIMIT_S, limit_s=_LIST_LIMIT_S, parse=parse_tool_event)
    except WorkerFault as fault:
        raise EnvironmentFault(f"target {target.name}: {programs.TOOL}: {fault.reason}") from None
    hello = next((event for event in events if event["event"] == "hello"), None)
    if hello is None or "tools" not in hello.get("catalog", {}):
        raise EnvironmentFault(
            f"target {target.name}: {programs.TOOL} --list does not answer with its programs: run `make build`, or make a new bundle"
        )
    catalog = hello["catalog"]
    tools = {entry["name"]: Found(entry["path"], entry["version"], entry["package"]) for entry in catalog["tools"]}
    facts = (catalog["root"], catalog["online_cpus"], list(catalog["usable_cpus"]), list(catalog["verbs_devices"]))
    more = target.more_programs if isinstance(target, VmTarget) else ""
    return Present({k: v for k, v in hello.items() if k != "catalog"}, tools, *facts, more)


@dataclass(frozen=True, kw_only=True)
class CpuTimes:
    """The processor times of a machine since it began, over all its online CPUs. Its kernel counts in ticks of usually 10 ms."""

    user_ns: int
    nice_ns: int
    system_ns: int
    idle_ns: int
    iowait_ns: int
    irq_ns: int
    softirq_ns: int
    steal_ns: int
    at_ns: int  #: time of a clock that never goes back

    @property
    def busy_ns(self) -> int:
        """Return the time in which CPUs worked, for programs and for the kernel; time stolen by a hypervisor is not among it."""
        return self.user_ns + self.nice_ns + self.system_ns + self.irq_ns + self.softirq_ns

    @property
    def total_ns(self) -> int:
        return self.busy_ns + self.idle_ns + self.iowait_ns + self.steal_ns


def busy_ns(before: CpuTimes, after: CpuTimes) -> int:
    """Return the processor time between two readings that programs and the kernel took, over all CPUs."""
    return after.busy_ns - before.busy_ns


def busy_share(before: CpuTimes, after: CpuTimes) -> float:
    """Return the share (0..1) of all CPUs' time between two readings in which they worked; NaN if no tick passed."""
    total = after.total_ns - before.total_ns
    return busy_ns(before, after) / total if total > 0 else float("nan")


@dataclass(frozen=True)
class Ended:
    """How an outside program ended, and what it wrote."""

    status: int  #: exit status; -1 if a signal ended it
    signal: int  #: that signal's number, or 0
    over_time: bool  #: whether it was ended because it took longer than it may
    elapsed_s: float
    user_s: float  #: processor time of it and of the descendants that it waited for
    system_s: float
    cpu_before: CpuTimes  #: the whole machine's processor times when it began
    cpu_after: CpuTimes  #: likewise when it had ended
    stdout: str
    stderr: str
    cut: bool  #: whether the middle of a long output is missing
    files: Mapping[str, str]  #: files that it wrote, of those that were asked for

    @property
    def good(self) -> bool:
        """Return whether it ended by itself with exit status 0."""
        return self.status == 0 and not self.over_time

    def why(self) -> str:
        """Return how it ended and the last lines of its messages, for a failure. The very last one may only say that it ends (iperf3)."""
        how = (
            "it took longer than it may"
            if self.over_time
            else f"signal {self.signal} ended it"
            if self.signal
            else f"it ended with status {self.status}"
        )
        said = [line.strip() for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        return f"{how}: {'; '.join(line[:300] for line in said[-_LAST_LINES:])}" if said else how


class Tool:
    """An outside program at work on a target. As a context manager, it ends the program and everything that the program started."""

    def __init__(
        self, target: Target, name: str, arguments: Sequence[str], *, limit_s: float, stop: StopRequest | None = None, ready: str = "",
        collect: Sequence[str] = (), unprivileged: bool = False,
    ) -> None:  # fmt: skip
        """Start ``name``, which ends after ``limit_s`` seconds at the latest.

        Args:
            ready: text in its output that tells that it listens, for :meth:`wait_ready`
            collect: names of files that it writes into its working folder and that are wanted
            unprivileged: whether root runs it as the user nobody
        """
        job: dict[str, Any] = {"schema": schemas.TOOL_JOB, "tool": name, "arguments": list(arguments), "time_limit_s": limit_s}
        job |= ({"ready": ready} if ready else {}) | ({"collect": list(collect)} if collect else {})
        job |= {"unprivileged": True} if unprivileged else {}
        limit_s += _AFTERWARDS_S
        self._name = name
        self._worker = Worker(
            target, target.program(programs.TOOL), [], stop=stop, silence_s=limit_s, limit_s=limit_s, parse=parse_tool_event,
            most_line_bytes=_MOST_LINE_BYTES,
        )  # fmt: skip
        self._ended: Ended | None = None
        self._worker.send(json.dumps(job).encode() + b"\n")

    def __enter__(self) -> Tool:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        try:
            # A kill reaches dpubench-tool alone: outside programs make process groups of their own.
            self._worker.let_end(_END_S)
        finally:
            self._worker.__exit__(kind, value, trace)

    def wait_ready(self) -> None:
        """Wait until it listens. @raises WorkerFault it ended instead; TargetLost, Interrupted"""
        if self._until("listening") is None:
            assert self._ended is not None  # the only other event that ends the wait
            raise WorkerFault(f"{self._name}: {self._ended.why()}", "crash")

    def cpu(self) -> CpuTimes:
        """Return the processor times of its machine now. @raises WorkerFault it has ended; TargetLost, Interrupted"""
        if self._ended is None:
            self._worker.send(b'{"cpu": true}\n')
            if (event := self._until("cpu")) is not None:
                return CpuTimes(**{key: value for key, value in event.items() if key != "event"})
        assert self._ended is not None  # likewise
        raise WorkerFault(f"{self._name}: {self._ended.why()}", "crash")

    def result(self) -> Ended:
        """Wait for its end. @raises WorkerFault it cannot be started; TargetLost, Interrupted"""
        while self._ended is None:
            self._until("ended")
        return self._ended

    def end(self) -> Ended:
        """Ask it to end, and wait for its end. @raises as :meth:`result`"""
        if self._ended is None:
            self._worker.send(b'{"end": true}\n')
        return self.result()

    def _until(self, kind: str) -> Event | None:
        """Return the next event ``kind``, or None if the program ended first. @raises WorkerFault, TargetLost, Interrupted"""
        while self._ended is None:
            event = self._worker.next_event()
            if event is None:
                raise WorkerFault(f"{programs.TOOL} ended without telling how {self._name} ended", "rubbish")
            if event["event"] == "failure":
                raise WorkerFault(event["message"], "crash")
            if event["event"] == "ended":
                told = {key: value for key, value in event.items() if key != "event"}
                self._ended = Ended(**told | {key: CpuTimes(**told[key]) for key in ("cpu_before", "cpu_after")})
            if event["event"] == kind:
                return event
        return None
