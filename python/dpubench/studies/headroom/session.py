"""Runs the programs of one link: starts sink and sender, carries out trial after trial, checks what arrived, and ends the programs.

:mod:`dpubench.studies.headroom.crossing` puts a device between the two.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dpubench import network, programs, receiving, schemas
from dpubench.errors import EnvironmentFault, Interrupted, UserError
from dpubench.run.listener import Listener
from dpubench.storage.runs import Event
from dpubench.studies.headroom import links
from dpubench.studies.headroom.plan import Placement
from dpubench.targets import Target, vm
from dpubench.workers.checks import parse_headroom_event
from dpubench.workers.process import StopRequest, Worker, WorkerFault

MAX_TRIAL: Final = 65_535
#: Longest time of a session in seconds.
_SESSION_S: Final = 3600.0
#: Bytes of a buffer beside its packet, and buffers of a pool (native/headroom/port.cpp), for the memory that a job asks for.
_BUFFER_EXTRA, _POOL_PACKETS, _MOST_ROUNDED = 640, 8192, 1024
_LEAST_MB: Final = 256


class SessionFault(Exception):
    """A fault of a program of a session: it died, hung, printed rubbish, or said that something failed."""

    def __init__(self, side: str, phase: str, message: str) -> None:
        super().__init__(f"{side}: {message}")
        self.phase = phase


@dataclass(frozen=True)
class Setting:
    """Where and how sessions run."""

    sender: Target
    peer: Target | None  #: target of the sink, if it is another one
    stop: StopRequest
    listener: Listener
    silence_s: float
    seed: int
    arguments: Mapping[str, Mapping[str, str]]
    destination_mac: str
    huge_pages: bool
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)  #: kind -> files on the sender's target, for an operator in the loop

    @property
    def ends(self) -> Target:
        """Return the target of sender and sink in embedded placement."""
        return self.peer or self.sender

    def device_cpus(self) -> list[int]:
        """Return the CPUs of the device in embedded placement."""
        return device_cpus(self.sender, self.peer)

    def ends_cpus(self) -> tuple[list[int], list[int]]:
        """Return the CPUs of sender and sink in embedded placement."""
        return ends_cpus(self.sender, self.peer)

    @property
    def tap(self) -> network.TapLink | None:
        """Return the virtual link between sender and sink, if one of them is an emulated machine and the other this one."""
        machine = vm.between(self.sender, self.peer) if self.peer is not None else None
        return machine.link if machine is not None else None

    @property
    def taps(self) -> network.TapChain | None:
        """Return the virtual links of the device, if it is an emulated machine between a sender and a sink on this one."""
        machine = vm.crossed(self.sender, self.peer)
        return machine.chain if machine is not None else None

    def is_blind(self, backend: str) -> bool:
        return links.is_blind(backend, self.given(backend), "" if self.peer is None else self.peer.name)

    def given(self, backend: str) -> Mapping[str, str]:
        return self.arguments.get(backend, {})

    def sender_cpus(self, backend: str) -> list[int]:
        """Return the CPUs of the sending threads: all, but for the last where a sink on the same target needs one."""
        cpus = self.sender.cpus()
        return cpus if self.is_blind(backend) or self.peer is not None or len(cpus) == 1 else cpus[:-1]

    def shares_cpu(self, backend: str, placement: Placement = "separated") -> bool:
        """Return whether sender and sink must share their only CPU."""
        if placement == "embedded":
            sender, sink = self.ends_cpus()
            return sender == sink
        return not self.is_blind(backend) and self.peer is None and len(self.sender.cpus()) == 1


def device_cpus(device: Target, peer: Target | None) -> list[int]:
    """Return the CPUs of a device that packets cross: all of its target, but for those of sender and sink if there is no peer."""
    cpus = device.cpus()
    return cpus if peer is not None else cpus[:-2] if len(cpus) > 2 else cpus[:-1]


def ends_cpus(device: Target, peer: Target | None) -> tuple[list[int], list[int]]:
    """Return the CPUs of sender and sink around a device: the sink has the last one of their target, and the sender what is left there."""
    cpus = (peer or device).cpus()
    free = cpus[:-1] if peer is not None else cpus[-2:-1] if len(cpus) > 2 else []
    return free or cpus[-1:], cpus[-1:]


@dataclass(frozen=True)
class Spec:
    """A trial: what is sent, and what happens between bursts."""

    size: int
    threads: int
    burst: int
    reuse: int
    duration_s: float
    delay: str = "none"
    delay_ns: float = 0.0
    due_ns: float = 0.0  #: embedded: time from burst to burst of a sending thread; 0: as fast as it can

    def job(self, number: int) -> dict[str, Any]:
        """Return the trial for a program whose threads do what the trial says between bursts."""
        return {
            "number": number, "size": self.size, "threads": self.threads, "burst": self.burst, "reuse": self.reuse, "duration_s": self.duration_s,
            "delay": self.delay, "delay_ns": self.delay_ns,
        }  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """The verified accounts of a trial."""

    spec: Spec
    sent: Event
    counted: Event | None  #: of the sink; None: nothing received

    @property
    def packets(self) -> int:
        """Return the packets that arrived; without a sink, those that the device took."""
        return int((self.counted or self.sent)["packets"])

    @property
    def pps(self) -> float:
        """Return packets per second."""
        return self.packets / float(self.sent["elapsed_ns"]) * 1e9

    @property
    def gbps(self) -> float:
        """Return the rate in Gb/s: all bytes of packets but their FCS, as pktgen counts."""
        return self.pps * self.spec.size * 8e-9

    @property
    def lost(self) -> float:
        """Return the share of the packets that did not arrive."""
        sent = int(self.sent["packets"])
        return 1 - self.packets / sent if sent else 0.0

    @property
    def period_ns(self) -> float:
        """Return the time from the beginning of a burst to that of the next one of its thread."""
        return self.spec.threads * float(self.sent["elapsed_ns"]) / max(int(self.sent["bursts"]), 1)

    def per_burst_ns(self, what: str) -> float:
        """Return a time of the trial (``burst``, ``blocked``, ``waited``, ``inserted``) per burst."""
        return float(self.sent[f"{what}_ns"]) / max(int(self.sent["bursts"]), 1)

    @property
    def left_ns(self) -> float:
        """Return the time per burst that is not needed for transmission: the wait of spacing, or the inserted work."""
        return self.per_burst_ns("waited" if self.spec.delay == "spacing" else "inserted")

    @property
    def blocked(self) -> float:
        """Return the share of the threads' time in which the device took nothing."""
        return float(self.sent["blocked_ns"]) / (self.spec.threads * float(self.sent["elapsed_ns"]))

    @property
    def packets_per_burst(self) -> float:
        """Return how many packets go with a delay."""
        return float(self.spec.burst)

    @property
    def whole_burst_ns(self) -> float:
        """Return the time that a burst takes which is as large as asked for."""
        return self.per_burst_ns("burst") / self.packets_per_burst * self.spec.burst

    @property
    def at_work(self) -> Event:
        """Return the accounts of the threads between whose bursts the trial's work was inserted."""
        return self.sent

    @property
    def ghz(self) -> float | None:
        """Return the core cycles per ns of these threads; None without a counter."""
        cycles, used_ns = self.at_work.get("core_cycles"), float(self.at_work["cpu_ns"])
        return cycles / used_ns if cycles and used_ns else None

    @property
    def on_cpu(self) -> float:
        """Return the share of the time in which the sending threads had their CPUs. The kernel's own generator has none of its own."""
        used = float(self.sent["cpu_ns"])
        return used / (self.spec.threads * float(self.sent["elapsed_ns"])) if used else 1.0


class Session:
    """A sender and its sink. As a context manager it ends and removes at its exit all that it started and made."""

    placement: Placement = "separated"
    measured = "sender"  #: the program whose CPU time counts

    def __init__(
        self, setting: Setting, backend: str, max_packet: int, threads: int, operator: Mapping[str, Any] | None = None
    ) -> None:  # fmt: skip
        """Describe a session for packets of up to ``max_packet`` bytes and ``threads`` threads; ``operator`` is one for its loop."""
        self.setting, self.backend, self.max_packet, self.threads, self.operator = setting, backend, max_packet, threads, operator
        self.opened: Event = {}
        self.hello: Event = {}
        self.how = ""
        self.warnings: list[dict[str, str]] = []
        self.number = 0
        self._workers: dict[str, Worker] = {}  #: in the order in which they end

    def __enter__(self) -> Session:
        self._stack = contextlib.ExitStack()
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        setting, given = self.setting, self.setting.given(self.backend)
        peer = setting.peer
        try:
            with setting.stop.at_once():
                ends = self._stack.enter_context(
                    links.joined(
                        self.backend,
                        given,
                        self.max_packet,
                        self.threads,
                        is_here=setting.sender.is_here,
                        peer="" if peer is None else peer.name,
                        tap=setting.tap,
                        folder=setting.sender.cache_directory(),
                    )
                )
        except Interrupted:
            raise
        except (UserError, EnvironmentFault) as error:
            raise SessionFault("link", "ports", str(error)) from None
        self.how = ends.how
        if ends.sink is not None:
            self._open("sink", peer or setting.sender, ends.sink_prefix, self._job("sink", ends.sink))
        self.opened = self._open("sender", setting.sender, ends.sender_prefix, self._job("sender", ends.sender))
        if ends.receiving is not None and ends.sink is not None:
            # Else the CPU that sends would do the kernel's work of receiving, as veth has it.
            try:
                self._receive_work: receiving.Moved | None = receiving.move(ends.receiving, (peer or setting.sender).cpus()[-1])
            except EnvironmentFault as fault:
                self.warnings.append({"code": "receive-work", "message": str(fault)})

    def _job(self, role: str, backend: Mapping[str, Any]) -> dict[str, Any]:
        setting = self.setting
        at = setting.peer if role == "sink" and setting.peer is not None else setting.sender
        cpus = at.cpus()[-1:] if role == "sink" else setting.sender_cpus(self.backend)
        job = self._common_job(role, backend, cpus, pools=1 if role == "sink" else self.threads + 1)
        return job if role == "sink" else job | self._operator_job(at)

    def _common_job(self, role: str, backend: Mapping[str, Any], cpus: Sequence[int], *, pools: int) -> dict[str, Any]:
        """Return what the job of every program has; ``pools`` is the number of its pools of packets."""
        room = (self.max_packet // _MOST_ROUNDED + 2) * _MOST_ROUNDED + _BUFFER_EXTRA
        return {
            "schema": schemas.HEADROOM_JOB, "role": role, "seed": self.setting.seed, "time_limit_s": _SESSION_S, "backend": dict(backend),
            "threads": self.threads,
            "memory": {"huge_pages": self.setting.huge_pages, "mb": _LEAST_MB + pools * _POOL_PACKETS * room // 2**20},
            "cpus": list(cpus), "max_packet": self.max_packet, "destination_mac": self.setting.destination_mac,
        }  # fmt: skip

    def _operator_job(self, at: Target) -> dict[str, Any]:
        """Return what a job adds whose loop runs the session's operator."""
        if self.operator is None:
            return {}
        return {"operator": dict(self.operator), "inputs": dict(self.setting.inputs), "cache_dir": at.cache_directory()}

    def _open(self, side: str, target: Target, prefix: Sequence[str], job: Mapping[str, Any]) -> Event:
        """Start a program and return what it opened. @raises SessionFault"""
        self._launch(side, target, prefix, job)
        return self._await(side, "opened", preparing=True)

    def _launch(self, side: str, target: Target, prefix: Sequence[str], job: Mapping[str, Any]) -> None:
        """Start a program and give it its job."""
        words = [*prefix, target.program(programs.HEADROOM)]
        setting = self.setting
        worker = self._stack.enter_context(
            Worker(target, words[0], words[1:], stop=setting.stop, silence_s=setting.silence_s, limit_s=_SESSION_S + 60, parse=parse_headroom_event)
        )
        worker.send(json.dumps(job, separators=(",", ":")).encode() + b"\n")
        self._workers = {side: worker, **self._workers}

    def trial(self, spec: Spec) -> Trial:
        """Carry out one trial and check its accounts.

        Raises:
            SessionFault: a program failed, or packets arrived that were not sent; the session cannot be used any more.
            Interrupted: a stop was asked for.
        """
        self._count()
        if "sink" in self._workers:
            self._ask("sink", {"begin": self.number}, "begun")
        sent = self._ask("sender", {"trial": spec.job(self.number)}, "sent")
        if "sink" not in self._workers:
            return Trial(spec, sent, None)
        counted = self._ask("sink", {"collect": self.number, "expected": sent["packets"]}, "counted")
        if fault := account_fault(sent, counted):
            raise SessionFault("sink", "verify", fault)
        return Trial(spec, sent, counted)

    def end(self) -> None:
        """End the programs in good order, so that a failure at the end is seen. @raises SessionFault"""
        for side, worker in self._workers.items():
            worker.send(b'{"end":true}\n', last=True)
            self._await(side, "done")

    def _count(self) -> None:
        """Give the next trial its number."""
        self.number = self.number % MAX_TRIAL + 1

    def _ask(self, side: str, command: Mapping[str, Any], answer: str) -> Event:
        self._workers[side].send(json.dumps(command, separators=(",", ":")).encode() + b"\n")
        event = self._await(side, answer)
        if event.get("trial") != self.number:
            raise SessionFault(side, "contract", f"answered trial {event.get('trial')} instead of {self.number}")
        return event

    def _await(self, side: str, kind: str, *, preparing: bool = False) -> Event:
        """Return the next event of ``kind``. @raises SessionFault"""
        phase, worker = "start" if preparing else "trial", self._workers[side]
        try:
            while (event := worker.next_event()) is not None:
                self.setting.listener.event(event)
                if event["event"] == kind:
                    return event
                if event["event"] == "hello":
                    self.hello = event if side == self.measured else self.hello
                elif event["event"] == "warning":
                    self.warnings.append({"code": event["code"], "message": f"{side}: {event['message']}"})
                elif event["event"] == "failure":
                    raise SessionFault(side, event["phase"] if preparing else phase, event["message"])
                elif event["event"] != "progress":
                    raise SessionFault(side, "contract", f"sent {event['event']} instead of {kind}")
        except WorkerFault as fault:
            raise SessionFault(side, phase, fault.reason) from None
        raise SessionFault(side, phase, f"ended before it sent {kind}")


def account_fault(sent: Event, counted: Event) -> str:
    """Return what is wrong with the accounts of both ends of a trial; empty where they can be true. Loss is no fault."""
    if counted["packets"] > sent["packets"]:
        return f"{counted['packets']} packets of a trial arrived, but {sent['packets']} were sent: the link duplicates packets"
    if counted["packets"] == sent["packets"] and counted["number_sum"] != sent["number_sum"]:
        return f"as many packets arrived as were sent ({sent['packets']}), but not the same ones: some came twice and others were lost"
    if counted["bytes"] != counted["packets"] * sent["size"]:
        return f"{counted['packets']} packets of {sent['size']} B arrived with {counted['bytes']} bytes together"
    return ""
