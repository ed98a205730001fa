"""The links of study ``headroom``: makes them, joins sender and sink, and says why one cannot be made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dpubench import network
from dpubench.errors import nearest

#: Back-ends of the plan -> kind of port, for those that are ports of DPDK.
_PORTS: Final = {"null": "null", "memif": "memif", "af_packet": "af_packet", "af_xdp": "af_xdp", "pci": "pci"}
_SOCKETS: Final = ("udp", "udp-gso")
PKTGEN: Final = "pktgen"
NAMES: Final = (*_PORTS, *_SOCKETS, PKTGEN)
#: Back-ends whose packets nobody receives.
_BLIND: Final = ("null", PKTGEN)
#: Largest packet of a port, without FCS (kMaxFrame of native/datapath/job.hpp).
_MOST_OF_PORTS: Final = 9014
#: First port numbers of sender and sink; each thread has the next one.
_SENDER_PORT, _SINK_PORT = 47_100, 47_600
_FCS: Final = 4


@dataclass(frozen=True)
class Ends:
    """The two ends of a link: the back-ends for both jobs, and the words that start the programs there."""

    sender: dict[str, Any]
    sink: dict[str, Any] | None  #: None: nothing receives
    how: str  #: in words, for the record
    sender_prefix: list[str] = field(default_factory=list)
    sink_prefix: list[str] = field(default_factory=list)
    receiving: network.Side | None = None  #: side at which the kernel receives, on whatever CPU


def kind_of_port(backend: str) -> str:
    """Return the kind of port of a back-end; empty if it is none."""
    return _PORTS.get(backend, "")


def program_backend(backend: str) -> str:
    """Return the program's name of a back-end."""
    return "port" if backend in _PORTS else "udp" if backend in _SOCKETS else backend


def is_blind(backend: str, given: Mapping[str, str], peer: str) -> bool:
    """Return whether nothing receives the packets of a back-end: there is no other end here, and no ``peer`` has one."""
    return backend in _BLIND or (not peer and bool(_given(backend, given)))


def _given(backend: str, given: Mapping[str, str]) -> bool:
    """Return whether the user named the way out, so that the tool makes no link."""
    words = {"pci": ("address",), "udp": ("local", "peer"), "udp-gso": ("local", "peer"), "memif": ("socket",)}.get(backend, ("interface",))
    return backend != "null" and any(word in given for word in words)


def unavailable(
    backend: str, given: Mapping[str, str], size: int, *, is_here: bool, peer: str = "", tap: network.TapLink | None = None
) -> str:  # fmt: skip
    """Return why packets of ``size`` bytes cannot be sent by ``backend`` on a target, with advice; empty if they can.

    Args:
        is_here: whether the target is this machine
        peer: target of the sink, if it is another one
        tap: virtual link between the two, of which one is this machine
    """
    if backend not in NAMES:
        return f"there is no back-end '{backend}'{nearest(backend, NAMES)}"
    if backend in _PORTS and size > _MOST_OF_PORTS:
        return f"a port takes packets of {_MOST_OF_PORTS} B at most: choose smaller ones, or back-end udp"
    if backend == "af_xdp" and size + _FCS > network.XDP_FRAME and not _given(backend, given):
        return f"AF_XDP on veth takes packets of {network.XDP_FRAME - _FCS} B at most: choose smaller ones"
    if backend == "pci" and "address" not in given:
        return "a device needs its address: --set arguments.pci.address=0000:03:00.0"
    if _given(backend, given):
        lacking = next((word for word in ("local", "peer") if backend in _SOCKETS and word not in given), "")
        return f"the address '{lacking}' is missing: --set arguments.{backend}.{lacking}=ADDRESS:PORT" if lacking else ""
    if peer and backend not in _BLIND and not (tap and backend in _SOCKETS):
        if backend in _SOCKETS:
            return f"a sink on {peer} needs addresses: --set arguments.{backend}.local=ADDRESS:PORT, and .peer={peer}'s ADDRESS:PORT"
        return f"no link by {backend} to a sink on {peer} is made: give the way out (--set arguments.{backend}.KEY=VALUE), or choose udp"
    if backend in ("af_packet", "af_xdp", PKTGEN):
        if not is_here:
            return f"on another machine {backend} needs an interface: --set arguments.{backend}.interface=NAME"
        return network.unavailable()
    return ""


@contextlib.contextmanager
def joined(
    backend: str, given: Mapping[str, str], max_packet: int, threads: int, *, is_here: bool, peer: str = "", tap: network.TapLink | None = None,
    folder: str = "",
) -> Iterator[Ends]:  # fmt: skip
    """Make a link for packets of up to ``max_packet`` bytes and ``threads`` queues; yield its ends. What it made goes with the context.

    Args:
        is_here, peer, tap: see :func:`unavailable`
        folder: of the target's own files, for a socket there if it is another machine

    Raises:
        UserError: the link cannot be made here
        EnvironmentFault: the kernel refuses
    """
    blind = is_blind(backend, given, peer)
    if backend == "null":
        yield Ends(_port("null", "client", given), None, "no link")
    elif _given(backend, given):
        own = {k: v for k, v in given.items() if not k.startswith("sink_")}
        far = own | {k.removeprefix("sink_"): v for k, v in given.items() if k.startswith("sink_")}
        if backend in _SOCKETS and "sink_local" not in given:
            far["local"] = given["peer"]
        yield Ends(_end(backend, "client", own), None if blind else _end(backend, "server", far), "given")
    elif backend == "memif" and not is_here:
        # One name for all runs: the program there replaces the socket of one that was killed, and refuses one in use.
        path = {**given, "socket": f"{folder}/headroom.sock"}
        yield Ends(_end(backend, "client", path), _end(backend, "server", path), "virtual link: shared memory")
    elif tap is not None and backend in _SOCKETS:
        here, there = tap.here.address, tap.there_address
        how = "virtual link: tap between this machine and an emulated one"
        ends = _sockets(backend, given, *((here, there) if is_here else (there, here)), how)
        prefix = tap.here.prefix
        yield replace(ends, sender_prefix=prefix) if is_here else replace(ends, sink_prefix=prefix)
    elif backend == "memif":
        with network.socket_folder() as sockets:
            path = {**given, "socket": str(sockets / "link")}
            yield Ends(_end(backend, "client", path), _end(backend, "server", path), "virtual link: shared memory")
    elif backend in _SOCKETS and (not is_here or network.unavailable()):
        yield _sockets(backend, given, "127.0.0.1", "127.0.0.1", "virtual link: loopback")
    else:
        with network.veth_pair(max_packet + _FCS, threads) as pair:
            near, far_side = pair.client, pair.server
            how = "virtual link: veth between two namespaces"
            if backend in _SOCKETS:
                ends = _sockets(backend, given, near.address, far_side.address, how)
            else:
                sink = None if blind else _end(backend, "server", {**given, "interface": far_side.interface})
                ends = Ends(_end(backend, "client", {**given, "interface": near.interface}), sink, how)
            yield Ends(ends.sender, ends.sink, how, near.prefix, far_side.prefix, far_side)


def _sockets(backend: str, given: Mapping[str, str], near: str, far: str, how: str) -> Ends:
    own = {"local": f"{near}:{_SENDER_PORT}", "peer": f"{far}:{_SINK_PORT}"}
    return Ends(_end(backend, "client", {**given, **own}), _end(backend, "server", {"local": own["peer"]}), how)


def _port(kind: str, role: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    return {"kind": "port", "port": kind, "role": role, "arguments": dict(arguments)}


def _end(backend: str, role: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    if backend in _PORTS:
        return _port(_PORTS[backend], role, arguments)
    if backend == PKTGEN:
        return {"kind": PKTGEN, "arguments": dict(arguments)}
    words = {k: v for k, v in arguments.items() if k != "peer" or role == "client"}
    return {"kind": "udp", "arguments": words | ({"gso": "yes"} if backend == "udp-gso" and role == "client" else {})}
