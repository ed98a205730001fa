"""The targets of a run: where the client, the servers and the device are, for each target of a plan."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from dpubench import network, targets
from dpubench.errors import PlanError, Problem, UserError
from dpubench.plans.load import Where
from dpubench.studies.end_to_end.plan import LOCAL, Plan
from dpubench.targets import Target, vm


@dataclass(frozen=True)
class Places:
    """The targets of one run. Two of them may be the same."""

    client: Target
    server: Target  #: target of all-host, and of a split's first part
    device: Target  #: target of all-device, and of a split's second part

    @property
    def client_is_apart(self) -> bool:
        """Return whether client and server are on two machines, as far as is known."""
        return targets.machine(self.client) != targets.machine(self.server)

    def of_servers(self, placement: str) -> list[Target]:
        """Return the target of each server on the way."""
        if placement == "split":
            return [self.server, self.device]
        return [self.device if placement == "all-device" else self.server]

    @property
    def emulated(self) -> Target | None:
        """Return a target whose times mean nothing; None if all have some."""
        return next((target for target in (self.server, self.client, self.device) if target.times_mean_nothing), None)

    def tap(self, placement: str) -> network.TapLink | None:
        """Return the virtual link between client and first server, if one of them is an emulated machine and the other this machine."""
        machine = vm.between(self.client, self.of_servers(placement)[0])
        return machine.link if machine is not None else None

    def programs_on(self, target: Target, placements: list[str]) -> int:
        """Return how many programs are on the machine of ``target`` at a time, at most."""
        machine = targets.machine(target)
        return max(sum(targets.machine(t) == machine for t in (self.client, *self.of_servers(placement))) for placement in placements)


def of_target(plan: Plan, name: str) -> Plan:
    """Return ``plan`` as it applies to one of its targets: without the others, and without arguments of ports for their links."""
    others = [other for other in plan.target if other != name]
    arguments = {kind: {key: value for key, value in given.items() if key not in others} for kind, given in plan.port_arguments.items()}
    return plan.model_copy(update={"target": [name], "port_arguments": arguments}) if others else plan


def opened(plan: Plan, where: Where, until: contextlib.ExitStack) -> list[Places]:
    """Return the places for each target of ``plan``. Their targets are open until ``until`` closes. @raises UserError, PlanError"""
    found: dict[str, Target] = {}

    def named(name: str) -> Target:
        return found.setdefault(name, targets.find(name))

    places = []
    for name in dict.fromkeys(plan.target):
        server = named(name)
        # If the target is this machine with limits, they hold for a client here too.
        client = server if plan.client == LOCAL and server.is_here else named(plan.client)
        places.append(Places(client, server, named(plan.device)))
    if problems := list(dict.fromkeys(_problems(plan, places, where))):
        raise PlanError(where.source, problems)
    for place in places:
        for server in (server for placement in plan.placements for server in place.of_servers(placement)[:1]):
            if (machine := vm.between(place.client, server)) is not None:
                machine.join(mtu=network.LARGE_MTU)
    for target in dict.fromkeys(t for place in places for t in (place.server, place.client, place.device)):
        if reason := target.unavailable():
            raise UserError(f"target {target.name}: {reason}")
        until.callback(target.close)
        target.open()
    for place in places:
        if not place.client_is_apart and len(cpus := place.server.cpus()) < 2:
            raise UserError(f"target {place.server.name}: a client and a server need a CPU each, but it has {len(cpus)}")
    return places


def _problems(plan: Plan, places: list[Places], where: Where) -> Iterator[Problem]:
    for place in places:
        for target, key in ((place.server, "target"), (place.client, "client"), (place.device, "device")):
            if target.times_mean_nothing and target.is_here:
                text = f"{target.name} is an emulated processor, and no packets reach it: choose vm:aarch64, a whole machine"
                yield where.problem(text, key)
        if "all-device" in plan.placements and len(places) == 1 and place.device.name == place.server.name:
            yield where.problem("all-device needs a device that is not the host: --set device=TARGET (`dpubench list targets`)", "placements")
    if "all-device" in plan.placements and len(places) > 1:
        text = "with several targets the server is on each of them in turn: name the device as a target, and leave out all-device"
        yield where.problem(text, "placements")
