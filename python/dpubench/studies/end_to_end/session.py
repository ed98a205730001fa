"""Runs the programs of one configuration: starts server (two for a split) and client, carries out trial after trial, and ends the programs."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dpubench import network, programs, receiving
from dpubench.errors import EnvironmentFault
from dpubench.run.listener import Listener
from dpubench.storage.runs import Event
from dpubench.studies.end_to_end import links, server_cpu
from dpubench.studies.end_to_end.expand import Configuration, link_end, max_frame, signature_share
from dpubench.studies.end_to_end.places import Places
from dpubench.studies.end_to_end.plan import Plan
from dpubench.targets import Target, machine
from dpubench.workers.checks import parse_datapath_event
from dpubench.workers.group import Group, MemberFault
from dpubench.workers.process import StopRequest

SERVER_JOB: Final = "dpubench.server-job/1"
TRAFFIC_JOB: Final = "dpubench.traffic-job/1"
#: A failure in one of these phases means that a configuration cannot run here; any other failure means that something went wrong.
PREPARING: Final = ("job", "inputs", "prepare", "ports", "frames")
#: Time that a session of processes may take besides its trials, in seconds.
_SESSION_S: Final = 600.0
MAX_TRIAL: Final = 65_535
_CLIENT: Final = "client"
#: Value of a workload's parameter ``start`` with which its tables know the traffic's flows before a trial begins.
PREFILLED: Final = "prefilled"
#: Largest number of times that tables are filled before a trial is given up.
_FILLS: Final = 3


class SessionFault(Exception):
    """A fault of a program of a session: it died, hung, printed rubbish, or said that something failed."""

    def __init__(self, side: str, phase: str, message: str) -> None:
        super().__init__(f"{side}: {message}")
        self.side, self.phase, self.message = side, phase, f"{side}: {message}"

    @property
    def is_preparing(self) -> bool:
        """Return whether the program itself said that it failed before a trial could begin."""
        return self.phase in PREPARING


@dataclass(frozen=True)
class Setting:
    """The places, inputs and options with which sessions are started."""

    places: Places
    stop: StopRequest
    listener: Listener
    huge_pages: Mapping[str, bool]  #: target -> whether programs there use them
    inputs: Mapping[str, Sequence[str]]  #: kind -> files on this machine
    seed: int

    @property
    def client(self) -> Target:
        return self.places.client

    def targets_of(self, configuration: Configuration) -> list[Target]:
        """Return the target of each server on the way."""
        return self.places.of_servers(configuration.placement)

    def are_here(self, configuration: Configuration) -> bool:
        """Return whether its client and servers are on this machine, and share its clock and its files with this process."""
        return all(t.is_here for t in (self.client, *self.targets_of(configuration)))

    def cpus_of(self, configuration: Configuration) -> tuple[int, list[list[int]], bool]:
        """Return the client's CPU, the CPUs of each server, and whether two programs share one.

        The client gets the first CPU of its target. Each server gets the first ones that are left on its machine; if these are too few, it shares
        those of the server before.
        """
        number, shared = configuration.server_cpus, False
        client = self.client.cpus()[0]
        taken = {(machine(self.client), client)}
        servers: list[list[int]] = []
        for target in self.targets_of(configuration):
            there = machine(target)
            own = [cpu for cpu in target.cpus() if (there, cpu) not in taken][:number]
            if len(own) < number:
                own, shared = (servers[-1] if servers else target.cpus()[:number]), True
            taken |= {(there, cpu) for cpu in own}
            servers.append(own)
        return client, servers, shared


@dataclass
class Done:
    """The accounts of one trial."""

    trial: dict[str, Any]
    served: list[dict[str, Any]]
    checked: dict[str, Any] | None  #: None: client or server run elsewhere, and the server's notes are not here for the client
    cpu_withheld: str = ""  #: why the server's CPU time is not known
    prefill: dict[str, int] | None = None  #: ``flows`` of the traffic, flows ``known`` to the tables before the trial, their ``room``; None: empty


@dataclass
class Session:
    """A client and the servers on its way. As a context manager it ends and removes at its exit all that it started and made."""

    setting: Setting
    plan: Plan
    configuration: Configuration
    session_s: float  #: longest time in seconds that its trials may take together
    ready: dict[str, Any] = field(default_factory=dict)  #: side -> its event ``ready``
    hellos: dict[str, Any] = field(default_factory=dict)
    warnings: list[dict[str, str]] = field(default_factory=list)
    number: int = 0  #: number of the last trial

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

    @property
    def queue_packets(self) -> int:
        """Return how many packets the queues of the way hold: the largest number that a port reports, or 0."""
        return max((int(p.get("queue_packets", 0)) for event in self.ready.values() for p in event["ports"]), default=0)

    def pids(self) -> dict[str, int]:
        """Return, for each side, the number of its process here (of a remote one: of the connection to it)."""
        return self._group.pids()

    @property
    def max_frame(self) -> int:
        """Return the bytes with FCS that both sides' ports must take at least."""
        return max_frame(self.plan, self.configuration)

    @property
    def _server_port(self) -> dict[str, Any]:
        """Return the port that faces the client, as its server has described it."""
        described: dict[str, Any] = self.ready[self._servers[0]]["ports"][0]
        return described

    # --- starting

    def _start(self) -> None:
        configuration, plan = self.configuration, self.plan
        arguments = links.arguments_of(plan.port_arguments.get(configuration.port, {}), link_end(configuration.placement), plan.target[0])
        ends = self._stack.enter_context(self._link(arguments))
        self.ends = ends
        cpu, server_cpus, self._shares_cpus = self.setting.cpus_of(configuration)
        self._client_cpu, self._server_cpus = cpu, server_cpus
        self._folder = self._stack.enter_context(network.socket_folder())  # it holds the servers' dumps too, so that they are swept after a kill
        self._group = self._stack.enter_context(Group(self.setting.stop))
        self._servers = self._start_servers(ends)
        self._start_program(_CLIENT, self.setting.client, programs.TRAFFIC, ends.client_prefix, self._traffic_job(ends.client))
        self._receive_work: list[receiving.Moved] = []  # first the server's, then the client's
        self._no_receive_work = ""
        self._flows: int | None = None  # flows of the traffic, as the client counted them when it filled the tables
        if ends.receiving is not None and ends.returning is not None:
            places = ((ends.receiving, server_cpus[0][0]), (ends.returning, cpu))  # else the server's CPU would receive what comes back
            try:
                self._receive_work = [receiving.move(side, at) for side, at in places]
            except EnvironmentFault as fault:
                self._no_receive_work = str(fault)

    def _link(self, arguments: Mapping[str, str]) -> contextlib.AbstractContextManager[links.Ends]:
        placement = self.configuration.placement
        tap = self.setting.places.tap(placement)
        return links.joined(self.configuration.port, arguments, self.max_frame, tap, client_is_here=self.setting.client.is_here)

    def _start_anew_if_a_link_went_down(self) -> None:
        """Start link and programs anew if an interface of the link went down.

        The losses of the last trial have their places, but the next trial needs a link as good as the first one. After an interface went down and up,
        its receive work is done elsewhere, and ports keep old packets that a flow table in the kernel would count for the next trial.
        """
        if gone := next((work.side for work in self._receive_work if receiving.went_down(work)), None):
            self._stack.close()
            self._start()
            message = f"the interface {gone.interface} went down during trial {self.number}: the link was made anew, and both programs were restarted"
            self.warnings.append({"code": "link-down", "message": message})

    def _start_servers(self, ends: links.Ends) -> list[str]:
        """Start the servers, the last one on the way first, since the side that waits for a peer must open its port first.

        Returns:
            the sides of the servers in the order of the way
        """
        targets = self.setting.targets_of(self.configuration)
        ports = [[ends.server]]
        if len(targets) > 1:
            first, second = self._stack.enter_context(links.joined_servers())
            ports = [[ends.server, first], [second]]
        sides = [_side(i, len(targets)) for i in range(len(targets))]
        for i in reversed(range(len(targets))):
            prefix = ends.server_prefix if i == 0 else []
            self._start_program(sides[i], targets[i], programs.SERVER, prefix, self._server_job(i, ports[i], targets[i]))
        return sides

    def _start_program(self, side: str, target: Target, program: str, prefix: Sequence[str], job: dict[str, Any]) -> None:
        """Start the program of a side with its job, and wait until it is ready. @raises SessionFault"""
        words = [*prefix, target.program(program)]
        silence_s = self.plan.silence + self._longest_trial_s()
        self._group.start(
            side, target, words[0], words[1:], silence_s=silence_s, limit_s=self._limit_s() + 60, parse=parse_datapath_event
        )  # fmt: skip
        self._send(side, job)
        self.ready[side] = self._await(side, "ready", preparing=True)

    def _longest_trial_s(self) -> float:
        plan = self.plan
        return plan.trial.ramp + max(plan.trial.duration, plan.search.last_trial) + plan.trial.drain

    def _limit_s(self) -> float:
        return self.session_s + _SESSION_S

    def _common(self, target: Target) -> dict[str, Any]:
        return {
            "seed": self.setting.seed, "time_limit_s": self._limit_s(), "burst": self.plan.burst,
            "memory": {"huge_pages": self.setting.huge_pages[target.name], "mb": self.plan.memory.mb},
        }  # fmt: skip

    def _workload(self) -> dict[str, Any]:
        return {"name": self.configuration.workload, "params": self.configuration.params}

    def _server_job(self, index: int, ports: list[dict[str, Any]], target: Target) -> dict[str, Any]:
        configuration = self.configuration
        files = {k: v for k, v in self.setting.inputs.items() if k in configuration.inputs and k != "capture"}
        job = {
            "schema": SERVER_JOB, **self._common(target), "ports": ports, "cpus": self._server_cpus[index], "max_frame": self.max_frame,
            "workload": {**self._workload(), "engines": configuration.engines}, "inputs": self._placed(target, files),
            "cache_dir": target.cache_directory(),
        }  # fmt: skip
        return job | ({"stages": configuration.stages[index]} if configuration.stages[index] else {})

    def _placed(self, target: Target, files: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return the paths of input files on ``target``, by kind; send those that it lacks."""
        if target.is_here:
            return {kind: list(paths) for kind, paths in files.items()}
        with self.setting.stop.at_once():
            return {kind: target.place([Path(f) for f in paths]) for kind, paths in files.items()}

    def _traffic_job(self, port: dict[str, Any]) -> dict[str, Any]:
        traffic, configuration = self.plan.traffic, self.configuration
        model = {
            "source": "model", "flows": traffic.flows, "popularity": traffic.popularity, "zipf_exponent": traffic.zipf_exponent,
            "churn_per_s": traffic.churn_per_s, "protocol": traffic.protocol, "version": traffic.version, "segments": traffic.segments,
            "retransmit_share": traffic.retransmit_share, "overlap_share": traffic.overlap_share,
            "payload": {"source": traffic.payload.source, "signature_share": signature_share(self.plan, configuration.frame)},
            "frame_sizes": configuration.frame_sizes,
        }  # fmt: skip
        recorded = any(rate.word == "recorded" for rate in self.plan.rates)
        capture = {"source": "capture", "as": "recorded" if recorded else "rate"}
        return {
            "schema": TRAFFIC_JOB, **self._common(self.setting.client), "port": port, "cpu": self._client_cpu, "verify": self.plan.verify,
            "max_frame": self.max_frame,
            "traffic": model if traffic.source == "model" else capture, "workload": self._workload(),
            "inputs": self._placed(self.setting.client, self.setting.inputs), "cache_dir": self.setting.client.cache_directory(),
        }  # fmt: skip

    # --- trials

    def trial(self, rate_pps: float | None, schedule: str, duration_s: float) -> Done:
        """Carry out one trial in the order of docs/end-to-end.md, check it, and return its accounts.

        Raises:
            SessionFault: a program failed; the session cannot be used any more.
            Interrupted: a stop was asked for.
        """
        self._start_anew_if_a_link_went_down()
        plan = self.plan
        prefill = self._begin(duration_s)
        number = self.number
        before = receiving.counts(*self._receive_work)
        spec: dict[str, Any] = {
            "number": number, "schedule": schedule, "ramp_s": plan.trial.ramp, "duration_s": duration_s, "drain_s": plan.trial.drain,
        }  # fmt: skip
        if rate_pps is not None:
            spec["rate_pps"] = rate_pps
        if schedule == "burst":
            spec["burst_packets"] = plan.burst_packets
        trial = self._ask(_CLIENT, {"trial": spec}, "trial")
        withheld = self._no_receive_work
        if self._receive_work:
            at_server, at_client = self._receive_work
            after = receiving.counts(*self._receive_work)
            withheld = receiving.elsewhere(at_client) or receiving.ran_elsewhere(at_server, before, after, int(trial["sent"]))
        served, checked = self._account(number)
        withheld = withheld or server_cpu.why_not(served, duration_s, self._server_port, shared=self._shares_cpus)
        return Done(trial, served, checked, withheld, prefill)

    def _begin(self, duration_s: float) -> dict[str, int] | None:
        """Make the servers begin the next trial, with the flows of the traffic in their tables if the plan wants them there.

        Returns:
            the numbers for ``Done.prefill``; None: the tables are empty
        Raises:
            SessionFault: the tables could not be filled
        """
        if self.configuration.params.get("start") != PREFILLED:
            self._begin_servers(duration_s)
            return None
        # A flow that ends keeps its place, and an idle flow is retired: tables of such flows are filled anew for each trial. With ageing fewer known
        # flows are accepted, since a flow may be retired again right after the fill.
        ages = self.configuration.params.get("idle_ms", "0") != "0"
        if self._flows is not None and not self.plan.traffic.churn_per_s and not ages:
            found = self._begin_servers(duration_s, keep_flows=True)
            if knows(found, self._flows):
                return found | {"flows": self._flows}
        for _ in range(_FILLS):
            self._begin_servers(duration_s)
            filled = self._ask(_CLIENT, {"fill": self.number}, "filled")
            self._flows = int(filled["flows"])
            found = self._begin_servers(duration_s, keep_flows=True)
            if knows(found, self._flows) or ages:
                return found | {"flows": self._flows}
        known = f"the server's tables know {found['known']} of the traffic's {self._flows} flows, though {_FILLS} packets of each were sent"
        raise SessionFault("server", "prefill", f"{known} ({filled['answered']} were answered): use start=cold, or a table with more room (flows)")

    def _begin_servers(self, duration_s: float, *, keep_flows: bool = False) -> dict[str, int]:
        """Begin the trial of the next number. Return how many flows all servers' tables know, and how many they have room for."""
        self.number += 1
        found = {"known": 0, "room": 0}
        for side in self._servers:
            command: dict[str, Any] = {"begin": self.number, "ramp_s": self.plan.trial.ramp, "duration_s": duration_s}
            if keep_flows:
                command["keep_flows"] = True
            if side == self._servers[0] and self._receive_work:
                command["receive_work"] = list(self._receive_work[0].threads)
            begun = self._ask(side, command, "begun")
            for name in found:
                found[name] += int(begun.get("flows", {}).get(name, 0))
        return found

    def _account(self, number: int) -> tuple[list[Event], Event | None]:
        """Return the servers' accounts of a trial, and the client's check of them; None for the check if a program is on another machine."""
        here = self.setting.are_here(self.configuration)
        folders = [self._folder / f"{number}-{i}" for i in range(len(self._servers))]
        for folder in folders:
            folder.mkdir()
        served = [
            self._ask(side, {"collect": number} | ({"dump": str(folder)} if here else {}), "served")
            for side, folder in zip(self._servers, folders, strict=True)
        ]
        for event in served:
            if not here:
                event.pop("begun_ns", None)  # a time of another machine's clock is never set against the client's
        # The first server sees every packet come and go: packets that the second one lost never came back to it.
        checked = self._ask(_CLIENT, {"check": number, "dump": str(folders[0])}, "checked") if here else None
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        return served, checked

    def end(self) -> None:
        """End the programs in good order, so that a failure at the end is seen. @raises SessionFault"""
        for side in (_CLIENT, *self._servers):
            self._send(side, {"end": True}, last=True)
            self._await(side, "done")

    def _send(self, side: str, line: dict[str, Any], *, last: bool = False) -> None:
        self._group.send(side, json.dumps(line, separators=(",", ":")).encode() + b"\n", last=last)

    def _ask(self, side: str, command: dict[str, Any], answer: str) -> Event:
        self._send(side, command)
        event = self._await(side, answer)
        if "trial" in event and event["trial"] != self.number:
            raise SessionFault(side, "contract", f"answered trial {event['trial']} instead of {self.number}")
        return event

    def _await(self, side: str, kind: str, *, preparing: bool = False) -> Event:
        """Return the next event of ``kind`` from ``side``. Pass it and all events before it to the listener.

        @raises SessionFault a program failed, perhaps that of another side
        """
        try:
            while (event := self._group.next_event(side)[1]) is not None:
                self.setting.listener.event(event)
                if event["event"] == kind:
                    return event
                if event["event"] == "hello":
                    self.hellos[side] = event
                elif event["event"] == "warning":
                    self.warnings.append({"code": event["code"], "message": f"{side}: {event['message']}"})
                elif event["event"] == "failure":
                    raise SessionFault(side, event["phase"] if preparing else "trial", event["message"])
                elif event["event"] != "progress":
                    raise SessionFault(side, "contract", f"sent {event['event']} instead of {kind}")
        except MemberFault as fault:
            raise SessionFault(fault.name, "start" if preparing else "trial", fault.reason) from None
        raise SessionFault(side, "start" if preparing else "trial", f"ended before it sent {kind}")


def knows(found: Mapping[str, int], flows: int) -> bool:
    """Return whether tables know all flows, or as many as they have room for."""
    return found["known"] == min(flows, found["room"]) > 0


def _side(index: int, number: int) -> str:
    return "server" if number == 1 else f"server {index + 1}"
