"""The ends of a link: targets with addresses for each other, or two namespaces of this machine."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from dpubench import network, targets
from dpubench.errors import PlanError, UserError
from dpubench.plans.load import Where
from dpubench.remote import destination
from dpubench.studies.link import protections
from dpubench.studies.link.plan import Plan
from dpubench.targets import Target, vm
from dpubench.targets.local import LocalProcess, LocalTarget
from dpubench.targets.vm import VmTarget
from dpubench.workers import tool

#: What joins the ends, in words that stand beside every figure.
VIRTUAL: Final = "virtual link between two namespaces of one machine"
LOOPBACK: Final = "loopback of one machine: no network"
_LOOPBACK_ADDRESS: Final = "127.0.0.1"
#: Frame of an IP packet: Ethernet header and FCS, less what :func:`dpubench.network.veth_pair` adds for frames inside datagrams.
_FRAME_OF_PACKET: Final = 18 - 42


class _Inside(LocalTarget):
    """This machine, with programs that start inside a network namespace."""

    def __init__(self, name: str, spec: str, enter: Sequence[str]) -> None:
        super().__init__(name, spec)
        self._enter = list(enter)

    def start(self, program: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None, prefix: Sequence[str] = ()) -> LocalProcess:
        return super().start(program, arguments, environment, [*self._enter, *prefix])


@dataclass(frozen=True)
class End:
    """One end of a link."""

    name: str
    target: Target
    address: str  #: for the other ends
    present: tool.Present  #: outside programs there
    protections: Mapping[str, str]  #: protection of a file -> why it cannot be used there, empty if it can
    machine: str  #: name of the target whose CPUs work; two ends may share it


@dataclass(frozen=True)
class Ends:
    """All ends, and what joins them."""

    ends: Sequence[End]
    path: str  #: ``veth``, ``loopback`` or ``network``
    label: str  #: words that stand beside every figure; empty for a real network

    @property
    def pairs(self) -> list[tuple[End, End]]:
        return list(combinations(self.ends, 2))

    def named(self, name: str) -> End:
        return next(end for end in self.ends if end.name == name)


def joined(plan: Plan, where: Where, opened: contextlib.ExitStack) -> Ends:
    """Open the targets of ``plan`` and return the ends. A virtual link exists until ``opened`` closes. @raises UserError, PlanError"""
    if unknown := [name for name in plan.addresses if name not in plan.target]:
        raise PlanError(where.source, [where.problem(f"is no target of this plan: it has {', '.join(plan.target)}", "addresses", unknown[0])])
    if len(set(plan.target)) < len(plan.target):
        raise PlanError(where.source, [where.problem("names a target twice: a link has two ends (one target alone gets two of its own)", "target")])
    found = [targets.find(name) for name in plan.target]
    if len(found) == 1 and not found[0].is_here:
        text = f"a link has two ends: name a second target, such as local ({found[0].name} cannot get a virtual link from here)"
        raise PlanError(where.source, [where.problem(text, "target")])
    _join_emulated(plan, found)
    for target in found:
        if target.is_here and target.times_mean_nothing:
            raise PlanError(where.source, [where.problem(f"{target.name} is an emulated processor without a network of its own", "target")])
        if reason := target.unavailable():
            raise UserError(f"target {target.name}: {reason}")
        opened.callback(target.close)
        tool.expected(target)
        target.open()
    if len(found) > 1:
        return _between_machines(plan, where, found)
    return opened.enter_context(_on_one_machine(plan, where, found[0]))


@contextlib.contextmanager
def _on_one_machine(plan: Plan, where: Where, target: Target) -> Iterator[Ends]:
    if plan.path == "network":
        raise PlanError(where.source, [where.problem("needs two targets: --target local --target NAME", "path")])
    lacking = network.unavailable()
    if plan.path == "veth" and lacking:
        raise UserError(f"path veth: {lacking.replace('or use memif or vhost', 'or choose --set path=loopback')}")
    known = (tool.present(target), protections.lacking(target))
    first, second = f"{target.name}-a", f"{target.name}-b"
    if plan.path == "loopback" or lacking:
        yield Ends([End(name, target, _LOOPBACK_ADDRESS, *known, target.name) for name in (first, second)], "loopback", LOOPBACK)
        return
    with network.veth_pair(plan.mtu + _FRAME_OF_PACKET) as pair:
        ends = [
            End(name, _Inside(target.name, target.spec, side.prefix), side.address, *known, target.name)
            for name, side in ((first, pair.client), (second, pair.server))
        ]
        yield Ends(ends, "veth", VIRTUAL)


def _join_emulated(plan: Plan, found: Sequence[Target]) -> None:
    """Ask an emulated machine among the targets for a link to this machine, for ssh is its only other network. @raises UserError"""
    for target in found:
        if isinstance(target, VmTarget):
            if len(found) != 2 or vm.between(*found) is None:
                raise UserError(f"target {target.name}: its link leads to this machine alone: name it and local, and no other target")
            target.join(mtu=plan.mtu)


def _between_machines(plan: Plan, where: Where, found: Sequence[Target]) -> Ends:
    if plan.path not in ("auto", "network"):
        raise PlanError(where.source, [where.problem(f"{plan.path} joins two ends of one machine; targets are joined by path network", "path")])
    addresses = dict(plan.addresses)
    if (machine := next((target for target in found if isinstance(target, VmTarget)), None)) is not None:
        here = machine.link.here
        addresses = {t.name: machine.link.there_address if t is machine else here.address for t in found} | addresses
        # The link ends in a namespace of this machine.
        found = [t if t is machine else _Inside(t.name, t.spec, here.prefix) for t in found]
    for target in found:
        if target.name not in addresses and not target.is_here:
            addresses[target.name] = _address_of(target)
    remote = next((addresses[target.name] for target in found if not target.is_here), "")
    for target in found:
        if target.name not in addresses:
            if not remote:
                text = f"targets {' and '.join(t.name for t in found)} are both this machine: name one of them alone"
                raise PlanError(where.source, [where.problem(text, "target")])
            addresses[target.name] = _own_address(remote, target.name)
    emulated = next((target.label for target in found if target.times_mean_nothing), "")
    return Ends([End(t.name, t, addresses[t.name], tool.present(t), protections.lacking(t), t.name) for t in found], "network", emulated)


def _address_of(target: Target) -> str:
    """Return the address at which ssh reaches ``target``. @raises UserError when its name means none"""
    remedy = f"give the address that the other ends reach it by: --set addresses.{target.name}=ADDRESS"
    if not target.spec.startswith("ssh://"):
        raise UserError(f"target {target.name}: has no address that is known here: {remedy}")
    host = destination.parse(target.spec).host
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        raise UserError(f"target {target.name}: '{host}' has no address here (a name of ssh's configuration?): {remedy}") from None


def _own_address(remote: str, name: str) -> str:
    """Return this machine's address on the way to ``remote``. @raises UserError when there is no way"""
    family = socket.AF_INET6 if ":" in remote else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((remote, 9))  # sends nothing
        except OSError as error:
            raise UserError(f"there is no way from here to {remote}: {error.strerror}: check that the interface is up") from None
        own = str(probe.getsockname()[0])
    if own == remote:
        raise UserError(f"address {remote} is this machine's own: give the addresses of both ends: --set addresses.{name}=ADDRESS")
    return own


def facts(ends: Ends) -> list[dict[str, Any]]:
    """Return the record of the ends for ``run.json``: names, addresses, machine, and versions of outside programs."""
    return [
        {
            "name": end.name, "target": end.target.name, "address": end.address, "machine": dict(end.present.hello["machine"]),
            "build": dict(end.present.hello["build"]),
            "tools": {name: found.version for name, found in end.present.tools.items() if found.path},
        }
        for end in ends.ends
    ]  # fmt: skip
