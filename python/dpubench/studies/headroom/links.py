"""The links of study ``headroom``: makes them, joins sender and sink, or both with a device between, and says why one cannot be made."""

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
#: The kernel forwards between two of its interfaces.
KERNEL: Final = "kernel"
#: Back-ends of separated placement, and of embedded placement.
SEPARATED: Final = (*_PORTS, *_SOCKETS, PKTGEN)
EMBEDDED: Final = ("memif", "af_packet", "af_xdp", "pci", KERNEL)
NAMES: Final = (*SEPARATED, KERNEL)
#: Back-ends by which packets cross an emulated machine on its virtual links.
BY_TAPS: Final = ("af_packet", KERNEL)
#: Arguments of sender and sink in embedded placement. The device's two sides have all others, or those with these beginnings.
_OF_SOCKETS: Final = ("local", "peer", "gso", "buffer_kib")
#: Further arguments of the two ends: the sink's address where it is not that to which packets are sent, and names of network namespaces there.
_OF_ENDS: Final = ("sink_local", "sender_namespace", "sink_namespace")
_IN, _OUT = "in_", "out_"
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


@dataclass(frozen=True)
class Chain:
    """A device between sender and sink: the back-ends for the three jobs, and the words that start the programs there."""

    sender: dict[str, Any]
    way_in: dict[str, Any]
    way_out: dict[str, Any]
    sink: dict[str, Any]
    how: str  #: in words, for the record
    sender_prefix: list[str] = field(default_factory=list)
    device_prefix: list[str] = field(default_factory=list)
    sink_prefix: list[str] = field(default_factory=list)
    sink_namespace: str = ""  #: file of the namespace that ``sink_prefix`` enters; empty: none
    receiving: tuple[network.Side, network.Side] | None = None  #: sides of device and sink at which the kernel receives, on whatever CPU


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
    if backend not in SEPARATED:
        return f"back-end {backend} is for packets that cross the device: --set placement=embedded, or choose udp"
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


def unavailable_embedded(
    backend: str, given: Mapping[str, str], size: int, *, is_here: bool, cpus: int, peer: str = "", is_joined: bool = False
) -> str:  # fmt: skip
    """Return why packets of ``size`` bytes cannot cross a target with ``cpus`` CPUs by ``backend``, with advice; empty if they can.

    Args:
        is_here, peer: see :func:`unavailable`
        is_joined: whether the target is an emulated machine with two virtual links to the peer, which is this machine
    """
    if backend not in NAMES:
        return f"there is no back-end '{backend}'{nearest(backend, NAMES)}"
    if backend not in EMBEDDED:
        return f"packets cannot cross a device by {backend}, for it has one side: choose among {', '.join(EMBEDDED)}, or placement=separated"
    if backend in _PORTS and size > _MOST_OF_PORTS:
        return f"a port takes packets of {_MOST_OF_PORTS} B at most: choose smaller ones, or back-end kernel"
    if not peer and cpus < 2:
        return "sender and sink need a CPU beside the device's: give the target two, or name the peer (--set peer=TARGET)"
    word = {"pci": "address", "memif": "socket"}.get(backend, "interface")
    lacking = [side for side in (_IN, _OUT) if side + word not in given]
    if len(lacking) == 1:
        return f"the device has two sides: --set arguments.{backend}.{lacking[0]}{word}=..."
    if not lacking:
        return _unable_given(backend, given, peer)
    if is_joined and backend in BY_TAPS:
        return ""
    if is_joined:
        return f"back-end {backend} cannot cross the virtual links of an emulated machine: choose {' or '.join(BY_TAPS)}"
    if backend == "pci" or not is_here or peer:
        why = f"the peer {peer} is joined by what is there" if peer else "on another machine nothing is made" if not is_here else "a card is given"
        return f"{why}: name both sides of the device, --set arguments.{backend}.in_{word}=... and out_{word}=..."
    if backend == "af_xdp" and size + _FCS > network.XDP_FRAME:
        return f"AF_XDP on veth takes packets of {network.XDP_FRAME - _FCS} B at most: choose smaller ones"
    return "" if backend == "memif" else network.unavailable()


def _unable_given(backend: str, given: Mapping[str, str], peer: str) -> str:
    """Return what is wrong with a device whose two sides are given; empty if nothing is."""
    if backend == "memif":
        return f"memif joins processes of one machine, and peer {peer} is another one: choose another back-end" if peer else ""
    lacking = next((word for word in ("local", "peer") if word not in given), "")
    what = {"local": "the sender's", "peer": "the sink's"}.get(lacking)
    return f"{what} address is missing: --set arguments.{backend}.{lacking}=ADDRESS:PORT" if lacking else ""


@contextlib.contextmanager
def crossed(backend: str, given: Mapping[str, str], max_packet: int, threads: int, taps: network.TapChain | None = None) -> Iterator[Chain]:
    """Make the links from a sender through a device to a sink, or take those that ``given`` names; yield them. What it made goes with the context.

    Args:
        taps: the virtual links of the device, if it is an emulated machine; they stay

    Raises:
        UserError: the links cannot be made here
        EnvironmentFault: the kernel refuses
    """
    word = {"pci": "address", "memif": "socket"}.get(backend, "interface")
    if _IN + word in given:
        made = _chain(backend, given, "given")
        yield replace(
            made, sender_prefix=_entering(given.get("sender_namespace", "")), sink_prefix=_entering(given.get("sink_namespace", "")),
            sink_namespace=_namespace_file(given.get("sink_namespace", "")),
        )  # fmt: skip
    elif taps is not None:
        network.lead_through(taps)
        near, far = taps.routed if backend == KERNEL else taps.bridged
        own = _of_chain(near, far, taps.near.there_interface, taps.far.there_interface)
        made = _chain(backend, {**given, **own}, "virtual links: taps between this machine and an emulated one")
        yield replace(made, sender_prefix=taps.near.here.prefix, sink_prefix=taps.far.here.prefix, sink_namespace=taps.far.here.namespace_file)
    elif backend == "memif":
        with network.socket_folder() as folder:
            sockets = {f"{_IN}socket": str(folder / "in"), f"{_OUT}socket": str(folder / "out")}
            yield _chain(backend, {**given, **sockets}, "virtual links: shared memory")
    else:
        with network.veth_chain(max_packet + _FCS, threads, routed=backend == KERNEL) as chain:
            own = _of_chain(chain.client.address, chain.server.address, chain.way_in.interface, chain.way_out.interface)
            made = _chain(backend, {**given, **own}, "virtual links: veth between three namespaces")
            yield replace(
                made, sender_prefix=chain.client.prefix, device_prefix=chain.way_in.prefix, sink_prefix=chain.server.prefix,
                sink_namespace=chain.server.namespace_file,
                receiving=(chain.way_in, chain.server),
            )  # fmt: skip


def _of_chain(near: str, far: str, way_in: str, way_out: str) -> dict[str, str]:
    """Return the arguments of a chain with sender and sink at these addresses, and a device with these interfaces."""
    return {"local": f"{near}:{_SENDER_PORT}", "peer": f"{far}:{_SINK_PORT}", f"{_IN}interface": way_in, f"{_OUT}interface": way_out}


def _chain(backend: str, given: Mapping[str, str], how: str) -> Chain:
    """Return the ends of a chain whose arguments are all known. Its sender and sink are UDP sockets, but for memif."""
    sides = {k: v for k, v in given.items() if k not in (*_OF_SOCKETS, *_OF_ENDS)}
    common = {k: v for k, v in sides.items() if not k.startswith((_IN, _OUT))}
    way_in, way_out = (common | {k.removeprefix(side): v for k, v in sides.items() if k.startswith(side)} for side in (_IN, _OUT))
    if backend == "memif":
        # Each socket has one server, which is there first: the sink's comes before the device, and the device's before the sender.
        near, far = (
            (_end("memif", "client", way_in), _end("memif", "server", way_in)),
            (_end("memif", "client", way_out), _end("memif", "server", way_out)),
        )
        return Chain(*near, *far, how)
    sockets = {k: v for k, v in given.items() if k in _OF_SOCKETS}
    sink = {k: v for k, v in sockets.items() if k == "buffer_kib"} | {"local": given.get("sink_local", given["peer"])}
    sender, receiver = {"kind": "udp", "arguments": sockets}, {"kind": "udp", "arguments": sink}
    if backend == KERNEL:
        return Chain(sender, {"kind": KERNEL, "arguments": way_in}, {"kind": KERNEL, "arguments": way_out}, receiver, how)
    return Chain(sender, _end(backend, "server", way_in), _end(backend, "client", way_out), receiver, how)


def _namespace_file(name: str) -> str:
    return f"/run/netns/{name}" if name else ""


def _entering(namespace: str) -> list[str]:
    """Return the words that start a program in a network namespace of the user's; none for an empty name."""
    return ["nsenter", f"--net={_namespace_file(namespace)}", "--"] if namespace else []


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
