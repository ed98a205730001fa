"""Sets up and tears down the link between client and server, and makes the arguments of the ports at both ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dpubench import network
from dpubench.errors import UserError
from dpubench.plans.quantities import format_bytes

#: Kinds of port whose two ends meet at a socket's file.
_OF_A_FILE: Final = ("memif", "vhost")
#: Kinds whose ends are the interfaces of a veth pair -> kind of the client's end. Packets that an XDP program sends back over veth arrive only if
#: the other end has a program too, and AF_XDP brings one.
_OF_INTERFACES: Final = {"af_packet": "af_packet", "af_xdp": "af_xdp", "xdp": "af_xdp"}
_OF_XDP: Final = ("af_xdp", "xdp")
_SOCKET_PORT: Final = 7000
#: Kinds that join two programs.
KINDS: Final = (*_OF_A_FILE, *_OF_INTERFACES, "socket", "pci")
#: Kinds that can reach another machine, if their addresses are given.
REACHING: Final = ("pci", "socket", "af_packet", "af_xdp")
#: Kinds that cross the virtual link of an emulated machine.
_OF_TAPS: Final = ("socket", "af_packet")
#: Prefixes of the arguments for one end in a plan's ``port_arguments``.
SIDES: Final = ("server", "client")
#: Kind of port that joins the two parts of a split.
_BETWEEN_SERVERS: Final = "memif"


@dataclass(frozen=True)
class Ends:
    """The two ends of a link: the ports for both jobs, and the words that start the programs there."""

    server: dict[str, Any]  #: port of the server's job
    client: dict[str, Any]  #: port of the client's job
    server_prefix: list[str] = field(default_factory=list)  #: words before the program
    client_prefix: list[str] = field(default_factory=list)
    receiving: network.Side | None = None  #: side at which the kernel does receive work for the server
    returning: network.Side | None = None  #: side at which the kernel does receive work for the client


def given_for(side: str, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of a link that are meant for ``side``; ``client_address`` becomes the client's ``address``."""
    other = next(s for s in SIDES if s != side)
    common = {k: v for k, v in arguments.items() if not k.startswith((f"{side}_", f"{other}_"))}
    return common | {k.removeprefix(f"{side}_"): v for k, v in arguments.items() if k.startswith(f"{side}_")}


def arguments_of(given: Mapping[str, str | Mapping[str, str]], *ends: str) -> dict[str, str]:
    """Return a link's arguments out of a plan's for its kind of port, each under the name of its side (``server_ring``, ``client_ring``).

    Arguments under one of ``ends`` go before those for all links, and under a later one before those under an earlier one. They are the placement
    where the link ends (one of ``plan.LINK_ENDS``) and the plan's target.
    """
    everywhere = {name: value for name, value in given.items() if isinstance(value, str)}
    layers = [everywhere, *(own for own in (given.get(end, {}) for end in ends) if not isinstance(own, str))]
    return {f"{side}_{name}": value for side in SIDES for layer in layers for name, value in given_for(side, layer).items()}


def unavailable(
    kind: str, arguments: Mapping[str, str], key: str, *, elsewhere: str = "", max_frame: int = 0, is_tap: bool = False
) -> str:  # fmt: skip
    """Return why a link of ``kind`` cannot join a client and a server, with advice; empty if it can.

    Args:
        key: the key of a plan's arguments for such links, in advice
        elsewhere: why the link cannot be made here, in words that follow "a port of kind X"; empty if both of its ends are on this machine
        max_frame: bytes of the longest frame, with FCS
        is_tap: whether a virtual link of an emulated machine joins client and server
    """
    if kind not in KINDS:
        return f"a port of kind {kind} does not join two programs: choose {', '.join(KINDS)}"
    if is_tap and not any(given_for(side, arguments).get(word) for side in SIDES for word in _address_words(kind)):
        return (
            "" if kind in _OF_TAPS else f"a port of kind {kind} cannot reach an emulated machine: choose {' or '.join(_OF_TAPS)} (--set ports=KIND)"
        )
    if elsewhere and kind not in REACHING:
        return f"a port of kind {kind} {elsewhere}: choose {', '.join(REACHING)} (--set ports=KIND)"
    lacking = [f"{side}_{word}" for side in SIDES for word in _address_words(kind) if not given_for(side, arguments).get(word)]
    if lacking and _needs_addresses(kind, arguments, is_here=not elsewhere):
        what = {"pci": "two cabled devices", "socket": "the addresses of both ends"}.get(kind, "the interfaces of both ends")
        example = {"pci": "0000:03:00.0", "socket": "ADDRESS:PORT"}.get(kind, "INTERFACE")
        return f"port {kind} needs {what}: --set port_arguments.{kind}.{key}.{lacking[0]}={example}"
    if not lacking or kind in _OF_A_FILE:
        return ""
    return network.unavailable() or _too_large(kind, max_frame)


def _needs_addresses(kind: str, arguments: Mapping[str, str], *, is_here: bool) -> bool:
    """Return whether a link must be given all its addresses: it ends elsewhere, it joins devices, or some of them were given."""
    some = any(given_for(side, arguments).get(word) for side in SIDES for word in _address_words(kind))
    return kind not in _OF_A_FILE and (not is_here or kind == "pci" or some)


def _address_words(kind: str) -> tuple[str, ...]:
    return {"pci": ("address",), "socket": ("local", "peer")}.get(kind, ("interface",))


def _addresses(kind: str, arguments: Mapping[str, str]) -> bool:
    return all(arguments.get(word) for word in _address_words(kind))


def _is_given(kind: str, arguments: Mapping[str, str]) -> bool:
    return all(_addresses(kind, given_for(side, arguments)) for side in SIDES)


@contextlib.contextmanager
def joined(
    kind: str, arguments: Mapping[str, str], max_frame: int, tap: network.TapLink | None = None, *, client_is_here: bool = True
) -> Iterator[Ends]:  # fmt: skip
    """Make a link of ``kind`` for frames of up to ``max_frame`` bytes with FCS, and yield its ends. Its folder or namespaces go with the context.

    Args:
        tap: virtual link between this machine and an emulated one, where client and server are
        client_is_here: whether the client is on this machine's end of it

    Raises:
        UserError: the link cannot be made here
        EnvironmentFault: the kernel refuses
    """
    server, client = (given_for(side, arguments) for side in SIDES)
    if kind in _OF_A_FILE:
        with network.socket_folder() as folder:
            path = {"socket": str(folder / "link")}
            yield Ends(_port(kind, "server", server | path), _port(kind, "client", client | path))
    elif tap is not None and not _is_given(kind, arguments):
        near, far = _of_tap(kind, tap), _of_tap(kind, tap, is_far=True)
        at_server, at_client = (far, near) if client_is_here else (near, far)
        ends = Ends(_port(kind, "server", server | at_server), _port(kind, "client", client | at_client))
        yield replace(ends, client_prefix=tap.here.prefix) if client_is_here else replace(ends, server_prefix=tap.here.prefix)
    elif kind == "pci" or _is_given(kind, arguments):
        yield Ends(_port(kind, "server", server), _port(kind, "client", client))
    elif kind in _OF_INTERFACES:
        if reason := _too_large(kind, max_frame):
            raise UserError(reason)
        with network.veth_pair(max_frame) as pair:
            yield Ends(
                _port(kind, "server", server | {"interface": pair.server.interface}),
                _port(_OF_INTERFACES[kind], "client", (client if kind != "xdp" else {}) | {"interface": pair.client.interface}),
                pair.server.prefix, pair.client.prefix, pair.server, pair.client,
            )  # fmt: skip
    else:
        with network.veth_pair(max_frame) as pair:
            here, there = f"{pair.server.address}:{_SOCKET_PORT}", f"{pair.client.address}:{_SOCKET_PORT}"
            yield Ends(
                _port(kind, "server", server | {"local": here, "peer": there}), _port(kind, "client", client | {"local": there, "peer": here}),
                pair.server.prefix, pair.client.prefix, pair.server, pair.client,
            )  # fmt: skip


def _of_tap(kind: str, tap: network.TapLink, *, is_far: bool = False) -> dict[str, str]:
    """Return a port's arguments for one end of a virtual link of an emulated machine: this machine's, or the far one."""
    if kind == "af_packet":
        return {"interface": tap.there_interface if is_far else tap.here.interface}
    here, there = f"{tap.here.address}:{_SOCKET_PORT}", f"{tap.there_address}:{_SOCKET_PORT}"
    return {"local": there, "peer": here} if is_far else {"local": here, "peer": there}


@contextlib.contextmanager
def joined_servers() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the ports that join the two parts of a split on one machine: (second port of the first part, first port of the second part).

    @raises EnvironmentFault
    """
    with network.socket_folder() as folder:
        path = {"socket": str(folder / "next")}
        yield _port(_BETWEEN_SERVERS, "client", path), _port(_BETWEEN_SERVERS, "server", path)


def _too_large(kind: str, max_frame: int) -> str:
    """Return why the veth pair of a link does not take such frames; empty if it does."""
    if kind not in _OF_XDP or max_frame <= network.XDP_FRAME:
        return ""
    return f"port {kind}: frames of {format_bytes(max_frame)} are larger than XDP takes on veth ({network.XDP_FRAME} B): choose smaller ones"


def _port(kind: str, role: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    return {"kind": kind, "role": role, "arguments": dict(arguments)}
