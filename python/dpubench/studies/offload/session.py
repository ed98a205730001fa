"""One launch of ``dpubench-offload``: starts the ranks, carries out trial after trial, names the phase of a fault, and ends all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpubench import schemas, scratch
from dpubench.run.listener import Listener
from dpubench.studies.offload import launch
from dpubench.studies.offload.launch import Launcher, Ranks
from dpubench.studies.offload.plan import Plan
from dpubench.targets import Target
from dpubench.workers.checks import Event, parse_offload_event
from dpubench.workers.process import StopRequest, Worker, WorkerFault

#: Longest time of a session in seconds.
_SESSION_S: Final = 86_400.0
#: Seconds beyond a phase's limit in which the program itself should tell that a phase took too long: at least, and at most.
_MARGIN_S: Final = (2.0, 15.0)
#: Seconds that a launcher gets to end its ranks, and that killed ranks get to be gone.
_END_S: Final = 3.0
#: Where the files of a session lie while it runs: shared memory, since UCX maps some of them.
_PLACE: Final = Path("/dev/shm")
_PREFIX: Final = "dpubench-offload-"
#: What programs say -> what to do.
_ADVICE: Final = (
    (r"not enough slots", "give the machines more slots in host_file and worker_file, or ask for fewer ranks"),
    (r"regist|[Cc]annot allocate|ENOMEM|No space left|locked memory",
     "raise the limit of locked memory (ulimit -l) or the size of /dev/shm, or ask for smaller messages (--size)"),
    (r"one-sided|emulat", "use a transport with true one-sided transfers, or see what emulation does (--set emulated=allow)"),
    (r"signal 9|SIGKILL", "look for the reason in the kernel's log (dmesg), such as too little memory"),
)  # fmt: skip


class SessionFault(Exception):
    """A fault of a session: a rank died or hung, or said that something failed. ``phase`` is where it happened."""

    def __init__(self, phase: str, message: str) -> None:
        super().__init__(explained(message))
        self.phase = phase


@dataclass(frozen=True)
class Setting:
    """Where and how sessions run."""

    target: Target
    program: str
    launcher: Launcher
    launcher_path: str
    plan: Plan
    stop: StopRequest
    listener: Listener
    host_machines: Sequence[launch.Machine] = ()
    worker_machines: Sequence[launch.Machine] = ()

    @property
    def is_here(self) -> bool:
        """Return whether all ranks run on this machine."""
        return not self.host_machines and self.launcher.name != "slurm"

    def cpus(self, hosts: int, workers: int) -> dict[str, list[int]] | None:
        """Return the CPUs of each role's ranks on a machine, in turn; None where nobody is pinned."""
        if self.plan.host_cpus:
            return {"host": self.plan.host_cpus, "worker": self.plan.worker_cpus}
        return split(self.target.cpus(), hosts, workers) if self.is_here else None


class Session:
    """The ranks of one launch. As a context manager it ends and removes at its exit all that it started and made."""

    def __init__(self, setting: Setting, hosts: int, workers: int, largest_bytes: int) -> None:
        self.setting, self.hosts, self.workers, self.largest_bytes = setting, hosts, workers, largest_bytes
        self.opened: Event = {}
        self.hello: Event = {}
        self.warnings: list[dict[str, str]] = []
        self.phase = "wire-up"  #: the one under way
        self.point = ""  #: the one whose trial is under way
        self._mark = secrets.token_hex(16)

    def __enter__(self) -> Session:
        with contextlib.ExitStack() as made:
            self._start(made)
            self._made = made.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._made.close()

    def _start(self, made: contextlib.ExitStack) -> None:
        setting, plan = self.setting, self.setting.plan
        folder = made.enter_context(scratch.folder(_PLACE, f"{_PREFIX}{os.getpid()}-"))
        ranks = Ranks(self.hosts, self.workers, setting.host_machines, setting.worker_machines)
        words = launch.words(setting.launcher, ranks, setting.program, folder)
        environment = launch.environment(setting.launcher, folder, self._mark, is_here=setting.is_here)
        made.callback(_sweep, self._mark)
        silence_s = max(plan.silence, plan.limit + min(_MARGIN_S[0] + plan.limit, _MARGIN_S[1]))
        self._worker = made.enter_context(
            Worker(
                setting.target, setting.launcher_path, words, stop=setting.stop, silence_s=silence_s, limit_s=_SESSION_S + _MARGIN_S[1],
                environment=environment, parse=parse_offload_event,
            )
        )  # fmt: skip
        # A launcher that is killed cannot end its ranks, which have groups of their own. It is told to, first.
        made.callback(_told_to_end, self._worker)
        cpus = setting.cpus(self.hosts, self.workers)
        self._send(
            {
                "schema": schemas.OFFLOAD_JOB, "seed": plan.seed, "time_limit_s": _SESSION_S, "hosts": self.hosts, "workers": self.workers,
                "transport": plan.transport, "emulated": plan.emulated, "largest_bytes": self.largest_bytes, "limit_s": plan.limit,
                **({"cpus": cpus} if cpus is not None else {}), **({"attached": dict(plan.attached)} if plan.attached else {}),
            }
        )  # fmt: skip
        self.opened = self._await("opened")

    def trial(self, point: str, parameters: Mapping[str, str]) -> Event:
        """Carry out the trial of ``point``; every byte of it is verified. @raises SessionFault, Interrupted"""
        plan, self.point = self.setting.plan, point
        wanted = {
            "pattern": parameters["test"], "path": parameters["path"], "assignment": parameters["assignment"], "work": parameters["work"],
            "bytes": int(parameters["bytes"]),
        }  # fmt: skip
        more = {"compute_ratio": float(parameters["ratio"])} if "ratio" in parameters else {}
        self.phase = "trial"
        self._send({"command": "trial", **wanted, "iterations": plan.iterations, "window_ms": 1e3 * plan.window, **more})
        told = self._await("trial")
        answered = {**{key: told[key] for key in ("pattern", "path", "assignment", "work")}, "bytes": told["message_bytes"]}
        if answered != wanted:
            raise SessionFault("contract", f"the trial that was answered is another one: {answered}")
        return told

    def end(self) -> Event:
        """End the ranks in good order; return the program's last event. @raises SessionFault"""
        self._worker.send(b'{"end":true}\n', last=True)
        self.phase = "end"
        return self._await("done")

    def shared_cores(self, cores: int) -> str:
        """Return in words that ranks have to share cores, of which this machine has ``cores``; empty if, as far as is known, each has its own."""
        here = str(self.hello["machine"].get("host", "")) if self.hello else ""
        on_node: dict[str, list[Mapping[str, Any]]] = {}
        for rank in self.opened["ranks"]:
            on_node.setdefault(str(rank["node"]), []).append(rank)
        for node, ranks in on_node.items():
            known = int(ranks[0].get("cores", 0)) or (cores if self.setting.is_here or node == here else len(ranks))
            if len(ranks) > known:
                return f"{len(ranks)} ranks on {known} core{'s' if known > 1 else ''}"
            pinned = Counter(rank["cpu"] for rank in ranks if rank["pinned"] and rank["cpu"] is not None)
            if (crowded := max(pinned.values(), default=1)) > 1:
                return f"{crowded} ranks on one CPU"
        return ""

    def _of_launcher(self) -> str:
        """Return what the launcher says of a rank that died, once it has ended the others; empty if it says nothing."""
        self._worker.let_end(_END_S)
        found = re.search(r"process rank[^.\n]*(?:\n[^.\n]+)?", self._worker.stderr_tail())
        return f"; {self.setting.launcher.title}: {' '.join(found[0].split())}" if found else ""

    def _send(self, said: Mapping[str, Any]) -> None:
        self._worker.send(json.dumps(said, separators=(",", ":")).encode() + b"\n")

    def _await(self, kind: str) -> Event:
        """Return the next event of a kind. @raises SessionFault, Interrupted"""
        try:
            while (event := self._worker.next_event()) is not None:
                if event["event"] == kind:
                    return event
                if event["event"] == "progress":
                    self.phase = event["phase"]
                    self.setting.listener.event({**event, "group": f"{self.point or 'launch'}, {self.phase}"})
                elif event["event"] == "failure":
                    raise SessionFault(event["phase"], event["message"] + self._of_launcher())
                elif event["event"] == "hello":
                    self.hello = event
                elif event["event"] == "warning":
                    self.warnings.append({key: str(event[key]) for key in ("code", "message")})
                else:
                    raise SessionFault("contract", f"sent {event['event']} instead of {kind}")
        except WorkerFault as fault:
            raise SessionFault(self.phase, f"{self.setting.launcher.title}: {fault.reason}") from None
        raise SessionFault(self.phase, f"the ranks ended in the middle of it{_said(self._worker)}")


def split(cpus: Sequence[int], hosts: int, workers: int) -> dict[str, list[int]]:
    """Return the CPUs of both roles on one machine, apart as far as there are enough: the workers have the last ones."""
    if len(cpus) < 2:
        return {"host": list(cpus), "worker": list(cpus)}
    of_workers = min(workers, max(len(cpus) - hosts, 1))
    rest = list(cpus[: len(cpus) - of_workers])
    return {"host": rest[:hosts], "worker": list(cpus[len(cpus) - of_workers :])}


def explained(reason: str) -> str:
    """Return a program's message in one line, with what to do about it."""
    lines = [line.strip() for line in reason.splitlines()]
    text = " ".join(line for line in lines if line and not re.fullmatch(r"[-=*]+", line))
    advice = next((what for pattern, what in _ADVICE if re.search(pattern, text)), "")
    return f"{text}; {advice}" if advice else text


def remove_leftovers() -> None:
    """Remove the files of sessions of killed runs."""
    scratch.sweep(_PLACE, f"{_PREFIX}*")


def _said(worker: Worker) -> str:
    tail = worker.stderr_tail()
    return f"; it said: {tail}" if tail else ""


def _told_to_end(worker: Worker) -> None:
    """Ask a launcher to end its ranks, and give it some time."""
    with contextlib.suppress(OSError):
        os.kill(worker.pid, signal.SIGTERM)
    worker.let_end(_END_S)


def _sweep(mark: str) -> None:
    """Kill the processes of a session that its launcher left behind, and wait until they are gone."""
    given_up = time.monotonic() + _END_S
    while (found := list(_marked(mark))) and time.monotonic() < given_up:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _marked(mark: str) -> Iterator[int]:
    """Yield the processes here whose environment has the mark of a session; those that ended and wait for their parent have none."""
    wanted = f"{launch.MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)
