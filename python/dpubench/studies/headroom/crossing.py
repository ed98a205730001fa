"""Runs a link with a device in the middle (embedded placement): sender, device and sink, with accounts that are compared along the way."""

from __future__ import annotations

import select
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dpubench import network, receiving
from dpubench.errors import EnvironmentFault, Interrupted, UserError
from dpubench.storage.runs import Event
from dpubench.studies.headroom import links
from dpubench.studies.headroom.session import Session, SessionFault, Spec, Trial, account_fault

#: Work beside a forwarding kernel that a thread does between two looks at the clock (kChunkNs of native/headroom/kernel.cpp): no smaller share of a
#: CPU can be told.
CHUNK_NS: Final = 5e4
#: Length of the trial in which the device reads the number of every packet.
_VERIFYING_S: Final = 0.002
#: Time after a trial in which an emulated machine and its emulator hand on what they are late with. Programs take 20 ms of silence for the end.
_LATE_S: Final = 0.2


@dataclass(frozen=True)
class Crossed(Trial):
    """The verified accounts of a trial whose packets crossed a device."""

    device: Event
    cpus: int  #: CPUs of the device that the trial used
    received_ns: float | None  #: time of the kernel's threads that received for the device; None: it has none of its own

    @property
    def at_work(self) -> Event:
        return self.device

    @property
    def pps(self) -> float:
        # A device that is late forwards for longer than the sender sends.
        span_ns = float(self.sent["elapsed_ns"])
        if "polls" in self.device:
            span_ns = max(span_ns, float(self.device["elapsed_ns"]))
        return self.packets / span_ns * 1e9

    @property
    def bursts(self) -> int:
        """Return how often the device found packets."""
        return max(int(self.device["bursts"]), 1)

    @property
    def packets_per_burst(self) -> float:
        return float(self.device["received"]) / self.bursts

    @property
    def period_ns(self) -> float:
        return self.spec.threads * float(self.device["elapsed_ns"]) / self.bursts

    def per_burst_ns(self, what: str) -> float:
        return float(self.device["busy_ns" if what == "burst" else f"{what}_ns"]) / self.bursts

    @property
    def on_cpu(self) -> float:
        """Return the share of the time in which the device's threads, or the kernel for them, had their CPUs."""
        if "polls" not in self.device:
            return 1.0  # the lowest priority has what is left, and no more
        return (float(self.device["cpu_ns"]) + (self.received_ns or 0.0)) / max(float(self.device["open_ns"]), 1.0)

    @property
    def free(self) -> float:
        """Return the share of the device's time in empty polls, or, beside a forwarding kernel, in work of the lowest priority."""
        what = "idle_ns" if "polls" in self.device else "inserted_ns"
        return float(self.device[what]) / (self.cpus * max(float(self.device["elapsed_ns"]), 1.0))

    @property
    def kernel(self) -> float | None:
        """Return the share of the device's time in which threads of the kernel received for it; None where it has none of its own."""
        if self.received_ns is None:
            return None
        return self.received_ns / (self.cpus * float(self.sent["elapsed_ns"]))

    @property
    def lost_in(self) -> float:
        """Return the share of the packets sent that the device did not get."""
        sent = int(self.sent["packets"])
        return max(1 - int(self.device["received"]) / sent, 0.0) if sent else 0.0

    @property
    def dropped(self) -> float:
        """Return the share of the packets sent for which the device found no room on its way out."""
        return int(self.device["dropped"]) / max(int(self.sent["packets"]), 1)


class Crossing(Session):
    """A sender, a device and a sink. Use it as a :class:`Session`."""

    placement = "embedded"
    measured = "device"

    def __enter__(self) -> Crossing:
        super().__enter__()
        return self

    def _start(self) -> None:
        setting, backend = self.setting, self.backend
        try:
            with setting.stop.at_once():
                chain = self._stack.enter_context(links.crossed(backend, setting.given(backend), self.max_packet, self.threads, setting.taps))
        except Interrupted:
            raise
        except (UserError, EnvironmentFault) as error:
            raise SessionFault("link", "ports", str(error)) from None
        self.how, self._is_kernel = chain.how, backend == links.KERNEL
        self._receiving: tuple[int, ...] = ()
        self._verified: set[int] = set()
        self._cpus = setting.device_cpus()
        sender_cpus, sink_cpus = setting.ends_cpus()
        device = self._common_job("forwarder", chain.way_in, self._cpus, pools=2) | {"out": chain.way_out} | self._operator_job(setting.sender)
        sender = self._common_job("sender", chain.sender, sender_cpus, pools=self.threads + 2)
        # Each way out looks for the other end of its link, so that programs start from the sink on.
        if setting.shares_cpu(backend, "embedded"):
            self._at_sink = "sender"
            space = {"network_namespace": chain.sink_namespace} if chain.sink_namespace else {}
            self._launch("sender", setting.ends, chain.sender_prefix, sender | {"own_sink": {"backend": chain.sink} | space})
            self.opened = self._open("device", setting.sender, chain.device_prefix, device)
            self._await("sender", "opened", preparing=True)
        else:
            self._at_sink = "sink"
            self._open("sink", setting.ends, chain.sink_prefix, self._common_job("sink", chain.sink, sink_cpus, pools=1))
            self.opened = self._open("device", setting.sender, chain.device_prefix, device)
            self._open("sender", setting.ends, chain.sender_prefix, sender)
        if chain.receiving is not None:
            self._move_receive_work(*chain.receiving, sink_cpus[-1])

    def _move_receive_work(self, device: network.Side, sink: network.Side, sink_cpu: int) -> None:
        """Let each kernel receive on the CPUs of its own program; else the CPU that sends would do all of it, as veth has it. @raises SessionFault"""
        try:
            self._receiving = receiving.spread(device, self._cpus)
            receiving.move(sink, sink_cpu)
        except EnvironmentFault as fault:
            if self._is_kernel:
                raise SessionFault("link", "ports", f"{fault}: without it the kernel would forward on the sender's CPU") from None
            self.warnings.append({"code": "receive-work", "message": str(fault)})

    def trial(self, spec: Spec) -> Crossed:
        """Carry out one trial and check its accounts along the way.

        Raises:
            SessionFault: a program failed, no packet crossed, or accounts cannot be true; the session cannot be used any more.
            Interrupted: a stop was asked for.
        """
        if spec.size not in self._verified:
            self._verified.add(spec.size)
            first = self._that_crosses(replace(spec, duration_s=_VERIFYING_S, delay="none"), verify=not self._is_kernel)
            if self._is_kernel and first.device["received"] < first.packets:
                raise SessionFault("device", "verify", _another_way(first))
        return self._that_crosses(spec, verify=False)

    def _that_crosses(self, spec: Spec, *, verify: bool) -> Crossed:
        """Carry out a trial. No figure follows from one of which nothing arrives: an interface may go down at any time. @raises SessionFault"""
        found = self._crossed(spec, verify=verify)
        if found.packets == 0:
            raise SessionFault("device", "verify", _nothing_crossed(found))
        return found

    def alone(self, spec: Spec) -> float:
        """Return the share of the device's time in which the work of ``spec`` gets done beside a kernel that has nothing to forward.

        @raises SessionFault, Interrupted
        """
        self._count()
        self._ask("device", self._forward(spec, verify=False), "begun")
        self._wait(spec.duration_s)
        device = self._ask("device", {"collect": self.number, "expected": 0}, "forwarded")
        return float(device["inserted_ns"]) / (len(self._cpus) * float(device["elapsed_ns"]))

    def _wait(self, duration_s: float) -> None:
        """Let a time pass. @raises Interrupted"""
        select.select([self.setting.stop], [], [], duration_s)
        self.setting.stop.check()

    def _crossed(self, spec: Spec, *, verify: bool) -> Crossed:
        self._count()
        before = sum(receiving.run_times_ns(self._receiving).values())
        self._ask(self._at_sink, {"begin": self.number}, "begun")
        self._ask("device", self._forward(spec, verify=verify), "begun")
        pace = "schedule" if spec.due_ns else "none"
        sent = self._ask("sender", {"trial": replace(spec, delay=pace, delay_ns=spec.due_ns).job(self.number)}, "sent")
        if self.setting.taps is not None:
            self._wait(_LATE_S)
        if self._is_kernel:  # its counters are whole once the last packet has come
            counted = self._ask(self._at_sink, {"collect": self.number, "expected": sent["packets"]}, "counted")
            device = self._ask("device", {"collect": self.number, "expected": sent["packets"]}, "forwarded")
        else:
            device = self._ask("device", {"collect": self.number, "expected": sent["packets"]}, "forwarded")
            counted = self._ask(self._at_sink, {"collect": self.number, "expected": device["forwarded"]}, "counted")
        if fault := account_fault(sent, counted) or crossing_fault(sent, device, counted, is_private=self.how != "given"):
            raise SessionFault("device", "verify", fault)
        received_ns = float(sum(receiving.run_times_ns(self._receiving).values()) - before) if self._receiving else None
        return Crossed(spec, sent, counted, device, len(self._cpus) if self._is_kernel else spec.threads, received_ns)

    def _forward(self, spec: Spec, *, verify: bool) -> dict[str, Any]:
        return {"forward": spec.job(self.number) | ({"verify": True} if verify else {})}


def crossing_fault(sent: Mapping[str, Any], device: Mapping[str, Any], counted: Mapping[str, Any], *, is_private: bool) -> str:
    """Return what is wrong with the accounts of a device between two ends; empty where they can be true. Loss is no fault.

    The counters of a forwarding kernel hold whatever passes its interfaces, and are compared with nothing. On a link that is not private
    (``is_private``) the device may receive packets of others.
    """
    if "polls" not in device:
        return ""
    if device["forwarded"] + device["dropped"] != device["received"]:
        return f"the device received {device['received']} packets, but forwarded {device['forwarded']} and dropped {device['dropped']}"
    if counted["packets"] > device["forwarded"]:
        return f"{counted['packets']} packets of a trial arrived, but the device forwarded {device['forwarded']}: some take another way"
    if not is_private:
        return ""
    if device["received"] > sent["packets"]:
        return f"{device['received']} packets of a trial came to the device, but {sent['packets']} were sent: something else sends to it"
    if device["bytes"] != device["received"] * sent["size"]:
        return f"{device['received']} packets of {sent['size']} B came to the device with {device['bytes']} bytes together"
    if "numbered" in device and device["numbered"] != device["received"]:
        return f"{device['received'] - device['numbered']} of {device['received']} packets that came to the device have no valid number"
    if device.get("numbered") == sent["packets"] and device["number_sum"] != sent["number_sum"]:
        return f"as many packets came to the device as were sent ({sent['packets']}), but not the same ones"
    return ""


def _another_way(trial: Crossed) -> str:
    """Return a message for packets that arrived, and that the device's interface did not count."""
    counted = f"{trial.packets} packets arrived, but the device's way in counted {trial.device['received']}"
    advice = "put the sink's interface into a network namespace there (ip netns, argument sink_namespace)"
    return f"{counted}: they take another way, or its driver counts late. A machine does not send to its own addresses by a wire: {advice}"


def _nothing_crossed(trial: Crossed) -> str:
    """Return a message that says where the packets of a trial went lost, if none arrived."""
    sent, device = int(trial.sent["packets"]), trial.device
    if not device["received"]:
        return f"none of {sent} packets came to the device: see that the sender's way leads there (ip route get, and the link's other end)"
    if not device["forwarded"]:
        return f"the device received {device['received']} packets and forwarded none: see that its way out leads to the sink (ip route get)"
    return f"the device forwarded {device['forwarded']} packets, and none arrived: see that the sink's address is that of the sender's peer"
