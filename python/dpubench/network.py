"""The network resources of links on this machine: two network namespaces joined by a veth pair, and folders for sockets.

Everything made here carries the process number and the start time of its maker. It is removed when its context ends. Killed processes cannot do
this, so that :func:`sweep` removes what belongs to processes that are gone. The start time tells apart a number that the kernel gave to another
process.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from dpubench import signals
from dpubench.errors import EnvironmentFault, UserError

#: Ethernet header and FCS, which an MTU does not count.
_MTU_OVERHEAD: Final = 18
#: Headers that the kernel's stack puts before a frame that is the payload of a datagram (port kind ``socket``), less the FCS.
_DATAGRAM_ROOM: Final = 42
#: Bytes of an IP packet on a link whose frames are not to be cut: the usual most of a card, and room for a frame inside a datagram.
LARGE_MTU: Final = 9216
#: Largest frame, with FCS, whose buffer fits in one page with the programs' data beside it, as AF_XDP requires.
XDP_FRAME: Final = 2816
_COMMAND_S: Final = 15.0
_NETNS: Final = Path("/run/netns")
#: The device of the kernel's tap interfaces.
TAP_DEVICE: Final = "/dev/net/tun"
_NAME: Final = re.compile(r"dpubench-(\d+)-(\d+)-\d+(?:-[a-z]+)?")
#: Bits of capabilities(7) that namespaces and their interfaces need.
_CAPABILITIES: Final = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
_serial = itertools.count()

#: Script that runs inside a namespace. It removes IPv6 addresses, so that no packets about them appear. It forbids the kernel to leave segments
#: whole or checksums out, because frames must arrive as on a wire (ETHTOOL_SGSO, ETHTOOL_STSO, ETHTOOL_STXCSUM of linux/ethtool.h; a driver may
#: refuse one). With ETHTOOL_SGRO a veth interface gets NAPI, whose work can be moved; nothing is joined, because no joined packet fits the limit.
_QUIET: Final = """
import array, contextlib, fcntl, pathlib, socket, struct, sys
for what in ("all", "default"):
    path = pathlib.Path("/proc/sys/net/ipv6/conf") / what / "disable_ipv6"
    if path.exists():
        path.write_text("1")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    for command, wanted in ((0x24, 0), (0x1F, 0), (0x17, 0), (0x2C, int(sys.argv[2]))):
        value = array.array("B", struct.pack("II", command, wanted))
        request = struct.pack("16sP", sys.argv[1].encode(), value.buffer_info()[0]).ljust(40, b"\\0")
        with contextlib.suppress(OSError):
            fcntl.ioctl(any_socket, 0x8946, request)
"""


def unavailable() -> str:
    """Return why this machine cannot make namespaces, with a remedy; empty if it can. Makes nothing."""
    for program, package in (("ip", "iproute2"), ("nsenter", "util-linux")):
        if _program(program) is None:
            return f"the program '{program}' is not installed: install the package {package}"
    effective = 0
    with contextlib.suppress(OSError, ValueError):
        found = re.search(r"^CapEff:\s*([0-9a-f]+)", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
        effective = int(found[1], 16) if found else 0
    lacking = [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]
    if lacking:
        return f"network namespaces need root (this process lacks {' and '.join(lacking)}): run dpubench as root, or use memif or vhost"
    return ""


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a veth pair, alone in its namespace."""

    namespace: str
    interface: str
    address: str  #: IPv4 address of the block for benchmarks (RFC 2544, appendix C.2.2)
    mac: str

    @property
    def namespace_file(self) -> str:
        """Return the file that stands for the namespace, for setns(2)."""
        return str(_NETNS / self.namespace)

    @property
    def prefix(self) -> list[str]:
        """Return the command that runs a program in this namespace. ``nsenter`` becomes the program: process and group do not change."""
        return [_tool("nsenter"), f"--net={self.namespace_file}", "--"]


@dataclass(frozen=True, slots=True)
class VethPair:
    """Two namespaces joined by a veth pair."""

    client: Side
    server: Side
    mtu: int
    queues: int


@contextlib.contextmanager
def veth_pair(max_frame: int, queues: int = 1) -> Iterator[VethPair]:
    """Make two namespaces joined by a veth pair, with both ends up; remove them at the end.

    Args:
        max_frame: bytes of the longest frame, with FCS
        queues: number for each end and direction

    Raises:
        UserError: without root or without ``ip``
        EnvironmentFault: when the kernel refuses
    """
    name, link = f"{_own_name()}-{next(_serial)}", _link_name()
    mtu = _mtu(max_frame)
    client = Side(f"{name}-client", f"{link}c", "198.18.0.1", "02:00:00:00:00:01")
    server = Side(f"{name}-server", f"{link}s", "198.18.0.2", "02:00:00:00:00:02")
    with _namespaces(client.namespace, server.namespace):
        _add_veth(client, server, mtu, queues)
        for side, other in ((client, server), (server, client)):
            _bring_up(side)
            _know(side, other.address, other.mac)
        yield VethPair(client, server, mtu, queues)


@dataclass(frozen=True, slots=True)
class VethChain:
    """Three namespaces in a row, joined by two veth pairs: what goes from client to server crosses the one in the middle."""

    client: Side
    way_in: Side  #: of the namespace in the middle, towards the client
    way_out: Side  #: of the same namespace, towards the server
    server: Side


@contextlib.contextmanager
def veth_chain(max_frame: int, queues: int = 1, *, routed: bool) -> Iterator[VethChain]:
    """Make three namespaces in a row, joined by two veth pairs, with all ends up; remove them at the end.

    Args:
        max_frame: bytes of the longest frame, with FCS
        queues: number for each end and direction
        routed: whether the kernel in the middle forwards; else frames are addressed so that a program in the middle may hand them on unchanged

    Raises:
        UserError: without root or without ``ip``
        EnvironmentFault: when the kernel refuses
    """
    name, near, far = f"{_own_name()}-{next(_serial)}", _link_name(), _link_name()
    mtu = _mtu(max_frame)
    client = Side(f"{name}-client", f"{near}c", "198.18.0.1", "02:00:00:00:00:01")
    way_in = Side(f"{name}-device", f"{near}d", "198.18.0.2", "02:00:00:00:00:11")
    way_out = Side(f"{name}-device", f"{far}d", "198.18.1.1", "02:00:00:00:00:12")
    server = Side(f"{name}-server", f"{far}s", "198.18.1.2", "02:00:00:00:00:02")
    with _namespaces(client.namespace, way_in.namespace, server.namespace):
        _add_veth(client, way_in, mtu, queues)
        _add_veth(way_out, server, mtu, queues)
        for side in (client, way_in, way_out, server):
            _bring_up(side)
        for side, gateway, other in ((client, way_in, server), (server, way_out, client)):
            _know(side, gateway.address, gateway.mac if routed else other.mac)
            subnet = other.address.rpartition(".")[0] + ".0/24"
            _ip("-n", side.namespace, "route", "add", subnet, "via", gateway.address, "dev", side.interface)
        for side, other in ((way_in, client), (way_out, server)):
            _know(side, other.address, other.mac)
        if routed and (refused := write_inside(way_in, "/proc/sys/net/ipv4/ip_forward", "1")):
            raise EnvironmentFault(f"veth: the kernel in the namespace cannot forward: {refused}")
        yield VethChain(client, way_in, way_out, server)


@contextlib.contextmanager
def _namespaces(*names: str) -> Iterator[None]:
    """Make namespaces; remove them, with the interfaces inside, at the end. @raises UserError, EnvironmentFault"""
    if reason := unavailable():
        raise UserError(f"veth: {reason}")
    had_folder = _is_mounted(_NETNS)
    try:
        for name in names:
            _ip("netns", "add", name)
        yield
    finally:
        with _uninterrupted():
            for name in names:
                _remove_namespace(name)
            if not had_folder:
                _remove_folder_of_namespaces()


def _link_name() -> str:
    """Return the beginning of the names of a pair's interfaces. It is unique on the whole machine, because the kernel's threads bear the name."""
    return f"dpu{_base36(os.getpid())}x{_base36(next(_serial))}"  # with one letter more at most 15 characters


def _mtu(max_frame: int) -> int:
    return max_frame - _MTU_OVERHEAD + _DATAGRAM_ROOM


def _add_veth(one: Side, other: Side, mtu: int, queues: int) -> None:
    """Make a veth pair with its ends in two namespaces that exist."""
    ends = []
    for side in (one, other):
        ends += ["name", side.interface, "mtu", str(mtu), "address", side.mac, "netns", side.namespace]
        ends += ["numtxqueues", str(queues), "numrxqueues", str(queues), *(["type", "veth", "peer"] if side is one else [])]
    _ip("link", "add", *ends)


def _bring_up(side: Side) -> None:
    """Give an end of a veth pair its address, forbid what would change frames or add some, and bring it up."""
    inside = ("-n", side.namespace)
    # Old kernels and old `ip` do not know the limit: no NAPI then.
    limited = _run([_tool("ip"), *inside, "link", "set", "dev", side.interface, "gro_max_size", "1"], check=False).returncode == 0
    _make_quiet(side, joining=limited)
    _ip(*inside, "address", "add", f"{side.address}/24", "dev", side.interface)
    _ip(*inside, "link", "set", "lo", "up")
    _ip(*inside, "link", "set", side.interface, "up")


def _make_quiet(side: Side, *, joining: bool) -> None:
    """Let a side change no frame and add none. ``joining`` gives a veth interface NAPI; see :data:`_QUIET`."""
    _run([*side.prefix, sys.executable, "-I", "-S", "-c", _QUIET, side.interface, str(int(joining))])


def _know(side: Side, address: str, mac: str) -> None:
    """Tell the kernel of a namespace who has an address: it then sends no queries for it while frames are counted."""
    _ip("-n", side.namespace, "neighbour", "replace", address, "lladdr", mac, "dev", side.interface, "nud", "permanent")


@dataclass(frozen=True, slots=True)
class TapLink:
    """This machine's end of a virtual link: a tap interface in a namespace. A virtual machine has the other end."""

    here: Side
    there: str  #: address of the other end, with the bits of its network
    there_interface: str  #: name of the other end's interface
    there_mac: str
    mtu: int  #: bytes of an IP packet

    @property
    def there_address(self) -> str:
        return self.there.partition("/")[0]


@contextlib.contextmanager
def tap_link(number: int = 1, mtu: int = 1500) -> Iterator[TapLink]:
    """Make a namespace with a tap interface, for an emulator to attach to; remove both at the end.

    Args:
        number: of this link among those of a machine, from 1; each has a network of its own
        mtu: bytes of an IP packet

    Raises:
        UserError: without root, ``ip`` or the driver of taps
        EnvironmentFault: when the kernel refuses
    """
    if reason := missing_link():
        raise UserError(f"tap: {reason}")
    had_folder = _is_mounted(_NETNS)
    here = Side(f"{_own_name()}-{next(_serial)}-host", "tap0", f"198.18.{number - 1}.1", f"02:00:00:00:{number - 1:02x}:01")
    try:
        _ip("netns", "add", here.namespace)
        inside = ("-n", here.namespace)
        _ip(*inside, "link", "set", "lo", "up")
        # vnet_hdr: segments and checksums cross the link as offloaded work, as with a card that has these offloads.
        _ip(*inside, "tuntap", "add", "dev", here.interface, "mode", "tap", "vnet_hdr")
        _ip(*inside, "link", "set", here.interface, "address", here.mac, "mtu", str(mtu))
        _ip(*inside, "address", "add", f"{here.address}/24", "dev", here.interface)
        _ip(*inside, "link", "set", here.interface, "up")
        yield TapLink(here, f"198.18.{number - 1}.2/24", f"eth{number}", f"02:00:00:00:{number - 1:02x}:02", mtu)
    finally:
        with _uninterrupted():
            _remove_namespace(here.namespace)  # the interface goes with it
            if not had_folder:
                _remove_folder_of_namespaces()


@dataclass(frozen=True, slots=True)
class TapChain:
    """This machine's ends of two virtual links to one machine: what goes from one end to the other crosses that machine."""

    near: TapLink
    far: TapLink

    #: Addresses of both ends where the machine between hands frames on unchanged, as if the ends were on one wire (RFC 2544, appendix C.2.2).
    bridged: ClassVar[tuple[str, str]] = ("198.19.0.1", "198.19.0.2")

    @property
    def routed(self) -> tuple[str, str]:
        """Return the addresses of both ends where the kernel of the machine between forwards."""
        return self.near.here.address, self.far.here.address


def lead_through(chain: TapChain) -> None:
    """Lead packets between the ends of a chain across the machine there. Both kinds of addresses then work, side by side. May be called again.

    Call it once the machine is up: a driver there that starts decides anew what is left to it of a frame.

    Raises:
        EnvironmentFault: when the kernel refuses
    """
    near, far = chain.bridged
    for link, own, other, others in ((chain.near, near, chain.far, far), (chain.far, far, chain.near, near)):
        side, inside = link.here, ("-n", link.here.namespace)
        _make_quiet(side, joining=False)
        subnet = other.here.address.rpartition(".")[0] + ".0/24"
        _know(side, link.there_address, link.there_mac)
        _ip(*inside, "route", "replace", subnet, "via", link.there_address, "dev", side.interface)
        _ip(*inside, "address", "replace", f"{own}/24", "dev", side.interface)
        _know(side, others, other.here.mac)


def missing_link() -> str:
    """Return why this machine cannot make a link of :func:`tap_link`, with a remedy; empty if it can. Makes nothing."""
    if reason := unavailable():
        return reason.replace(", or use memif or vhost", "")
    return "" if os.access(TAP_DEVICE, os.R_OK | os.W_OK) else f"{TAP_DEVICE} cannot be used: load the module tun, as root"


@contextlib.contextmanager
def socket_folder() -> Iterator[Path]:
    """Yield a folder for sockets that no other user may enter; remove it with its content at the end."""
    folder = None
    for parent in _socket_parents():
        folder = parent / f"{_own_name()}-{next(_serial)}"
        # The path of a Unix socket has at most 107 characters, 24 of which are for a file's name.
        if len(os.fsencode(folder)) > 82:
            continue
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700)
            break
    else:
        raise EnvironmentFault(f"cannot make a folder for sockets in {' or '.join(map(str, _socket_parents()))}: set XDG_RUNTIME_DIR to a short path")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> list[str]:
    """Remove namespaces (with their interfaces and processes) and socket folders of dpubench processes that are gone.

    Returns:
        what was removed
    """
    removed = []
    if not unavailable():
        for name in _abandoned(_NETNS):
            if _remove_namespace(name):
                removed.append(name)
        if removed:
            _remove_folder_of_namespaces()
    for parent in _socket_parents():
        for name in _abandoned(parent):
            folder = parent / name
            with contextlib.suppress(OSError):
                facts = folder.lstat()
                if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid():
                    shutil.rmtree(folder, ignore_errors=True)
                    removed.append(str(folder))
    return removed


def start_time(pid: int) -> int | None:
    """Return the start time of a process, in clock ticks since the machine started; None when there is no such process."""
    try:
        # The second field, the program's name, may hold blanks and parentheses.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _own_name() -> str:
    return f"dpubench-{os.getpid()}-{start_time(os.getpid())}"


def _abandoned(folder: Path) -> list[str]:
    """Return the names in a folder that belong to processes that are gone."""
    names = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            found = _NAME.fullmatch(entry.name)
            if found and start_time(int(found[1])) != int(found[2]):
                names.append(entry.name)
    return sorted(names)


def _socket_parents() -> list[Path]:
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    return [*([Path(given)] if Path(given).is_absolute() else []), Path(tempfile.gettempdir())]


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = digits[number % 36]
    while number := number // 36:
        text = digits[number % 36] + text
    return text


def _program(name: str) -> str | None:
    # Some users' paths lack the folder of ip.
    return shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


def _tool(name: str) -> str:
    """Return a program's path; only its name if it is not found, for the message of the failed start."""
    return _program(name) or name


def _run(words: Sequence[str], check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command in its own session, which Ctrl-C at the terminal does not reach. @raises EnvironmentFault"""
    what = " ".join(words[:8])
    try:
        # In a session of its own, Ctrl-C cannot end the command half-way: the caller must know what was made. A signal that arrived while the
        # command starts would leave it running unknown.
        with _deferred():
            done = subprocess.run(
                list(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_COMMAND_S, start_new_session=True, check=False
            )
    except subprocess.TimeoutExpired:
        raise EnvironmentFault(f"`{what}` did not end within {_COMMAND_S:g} s") from None
    except OSError as error:
        raise EnvironmentFault(f"`{what}` cannot be started: {error.strerror or error}") from None
    if check and done.returncode != 0:
        raise EnvironmentFault(f"`{what}` failed: {done.stderr.strip() or f'status {done.returncode}'}")
    return done


def _ip(*words: str, check: bool = True) -> str:
    return _run([_tool("ip"), *words], check).stdout


def write_inside(side: Side, path: str, text: str) -> str:
    """Write a file of ``/sys`` as a namespace sees it. Return why this failed, or an empty string."""
    words = [_tool("ip"), "netns", "exec", side.namespace, "/bin/sh", "-c", 'echo "$1" > "$2"', "sh", text, path]
    done = _run(words, check=False)
    return "" if done.returncode == 0 else f"{path} cannot be written: {done.stderr.strip()}"


def _remove_namespace(name: str) -> bool:
    """Remove a namespace of dpubench: its processes, its interfaces, its name. Return whether there was one."""
    if not (_NETNS / name).exists():
        return False
    inside = _ip("netns", "pids", name, check=False).split()
    for pid in inside:
        with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):
            os.kill(int(pid), signal.SIGKILL)
    for line in _ip("-n", name, "-o", "link", "show", "type", "veth", check=False).splitlines():
        if found := re.match(r"\d+: ([^:@]+)", line):
            _ip("-n", name, "link", "delete", found[1], check=False)
    _ip("netns", "delete", name, check=False)
    # A name without a namespace is left when `ip netns add` is killed between the two.
    with contextlib.suppress(OSError):
        (_NETNS / name).unlink()
    return True


def _remove_folder_of_namespaces() -> None:
    """Remove the folder that `ip netns` mounts and leaves behind, unless it holds a namespace."""
    with contextlib.suppress(OSError):
        if not _is_mounted(_NETNS) or any(_NETNS.iterdir()):
            return
        if umount := _program("umount"):
            _run([umount, str(_NETNS)], check=False)
        _NETNS.rmdir()


def _is_mounted(folder: Path) -> bool:
    """Return whether a file system is mounted there, also if it is a folder of its parent's file system, as with `ip netns`."""
    with contextlib.suppress(OSError):
        return any(line.split()[4] == str(folder) for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
    return False


@contextlib.contextmanager
def _deferred() -> Iterator[None]:
    """Let signals that end this process wait for the end of the block. Does nothing in threads, which get no signals."""
    came: list[int] = []
    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):
        for number in signals.ending():
            before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for waiting in came:
            signal.raise_signal(waiting)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore further signals that end this process, so that they do not stop the cleanup. Does nothing in threads, which get no signals."""
    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):
        for number in signals.ending():
            before[number] = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
