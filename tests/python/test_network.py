"""Tests of namespaces joined by veth pairs and taps, folders for sockets, and leftovers of either."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from dpubench import network, receiving
from dpubench.errors import EnvironmentFault, UserError
from dpubench.targets.local import LocalTarget
from real_program import BUILD
from veth_traffic import FRAMES, segments

NETNS = Path("/run/netns")
PEERS = BUILD.parent / "tests/datapath-tests"

needs_root = pytest.mark.skipif(network.unavailable() != "", reason=network.unavailable())

#: Makes a pair and a folder, prints their names, starts a program in a namespace, and waits.
MAKER = """
import subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from dpubench import network
with network.veth_pair(1518) as pair, network.socket_folder() as folder:
    inside = subprocess.Popen([*pair.client.prefix, "sleep", "300"], start_new_session=True)
    print(pair.client.namespace, pair.server.namespace, folder, inside.pid, flush=True)
    time.sleep(60)
"""


def names() -> set[str]:
    return {entry.name for entry in NETNS.iterdir()} if NETNS.is_dir() else set()


def gone(pid: int) -> bool:
    """Return whether a process ends within 5 s."""
    for _ in range(500):
        state = Path(f"/proc/{pid}/stat")
        with contextlib.suppress(OSError):
            if state.read_bytes().rpartition(b")")[2].split()[0] != b"Z":
                time.sleep(0.01)
                continue
        return True
    return False


@contextlib.contextmanager
def maker() -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Yield another process that has a pair and a folder, and the words that it printed."""
    child = subprocess.Popen([sys.executable, "-c", MAKER, str(ROOT / "python")], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        yield child, child.stdout.readline().split()
    finally:
        child.kill()
        child.wait()
        network.sweep()


@needs_root
def test_frames_arrive_as_they_were_sent_and_nothing_is_left() -> None:
    with network.veth_pair(1518) as pair:
        assert {pair.client.namespace, pair.server.namespace} <= names()
        assert segments(pair) == [154] * FRAMES
        thread = receiving.move(pair.server, 0).threads[0]
    assert not {pair.client.namespace, pair.server.namespace} & names()
    assert gone(thread), "the kernel's thread ends with the interface"
    assert not (Path("/sys/class/net") / pair.client.interface).exists()


@needs_root
def test_a_pair_takes_the_longest_frames_and_several_queues() -> None:
    with network.veth_pair(9018, queues=2) as pair:
        assert pair.mtu >= 9000
        work = receiving.move(pair.server, 0)
        assert len(work.threads) == 2


@needs_root
def test_a_fault_inside_leaves_nothing() -> None:
    with pytest.raises(ZeroDivisionError), network.veth_pair(1518) as pair, network.socket_folder() as folder:
        raise ZeroDivisionError
    assert not {pair.client.namespace, pair.server.namespace} & names()
    assert not folder.exists()


@needs_root
def test_a_fault_while_it_is_made_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = network._ip

    def refusing(*words: str, check: bool = True) -> str:
        if words[:2] == ("netns", "add"):
            made.append(words[2])
        if "address" in words and "add" in words:
            raise EnvironmentFault("no")
        return real(*words, check=check)

    monkeypatch.setattr(network, "_ip", refusing)
    with pytest.raises(EnvironmentFault, match="no"), network.veth_pair(1518):
        pytest.fail("a pair without addresses")
    assert len(made) == 2
    assert not set(made) & names()


@needs_root
def test_ctrl_c_leaves_nothing() -> None:
    with maker() as (child, (client, server, folder, inside)):
        child.send_signal(signal.SIGINT)
        child.wait(timeout=20)
        assert not {client, server} & names()
        assert not Path(folder).exists()
        assert gone(int(inside)), "a program in a namespace ends with it"


@needs_root
def test_sweep_removes_what_a_killed_process_left_and_nothing_else() -> None:
    for _ in range(5):
        with network.veth_pair(1518) as mine, network.socket_folder() as folder, maker() as (child, (client, server, abandoned, inside)):
            network.sweep()
            assert {client, server} <= names(), "a living process keeps what is its own"
            child.kill()
            child.wait()
            removed = network.sweep()
            assert not {client, server} & names()
            assert not Path(abandoned).exists()
            assert gone(int(inside))
            assert {mine.client.namespace, mine.server.namespace} <= names()
            assert folder.exists()
            if {client, server, abandoned} <= set(removed):
                return
    pytest.fail("sweep says what it removed, unless another run of the machine did so first")


def test_a_number_that_another_process_has_now_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    started = network.start_time(os.getpid())
    assert started is not None
    ours = tmp_path / f"dpubench-{os.getpid()}-{started}-0"
    other = tmp_path / f"dpubench-{os.getpid()}-{started - 1}-0"
    strange = tmp_path / "dpubench-of-somebody"
    for folder in (ours, other, strange):
        folder.mkdir()
        (folder / "socket").touch()
    linked = tmp_path / f"dpubench-{os.getpid()}-{started - 2}-0"
    linked.symlink_to(strange)
    assert str(other) in network.sweep()
    assert not other.exists()
    assert (ours / "socket").exists() and (strange / "socket").exists()


def test_socket_folders_are_private_and_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("long" * 25)))
    (tmp_path / ("long" * 25)).mkdir()
    with network.socket_folder() as folder, network.socket_folder() as second:
        assert folder != second
        assert folder.stat().st_mode & 0o777 == 0o700
        assert len(str(folder / "client-0.sock")) < 108
        (folder / "socket").touch()
    assert not folder.exists()


def test_a_machine_without_ip_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_program", lambda name: None)
    assert network.unavailable() == "the program 'ip' is not installed: install the package iproute2"
    with pytest.raises(UserError, match="install the package iproute2"), network.veth_pair(1518):
        pytest.fail("a pair without ip")


@pytest.mark.skipif(shutil.which("setpriv") is None or os.geteuid() != 0, reason="setpriv and root are needed to give up rights")
def test_without_rights_the_remedy_is_named() -> None:
    lacking = "-net_admin,-sys_admin"
    script = "import sys; sys.path.insert(0, sys.argv[1])\nfrom dpubench import network\nwith network.veth_pair(1518): pass"
    done = subprocess.run(
        ["setpriv", "--bounding-set", lacking, "--inh-caps", lacking, sys.executable, "-c", script, str(ROOT / "python")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert "network namespaces need root (this process lacks CAP_NET_ADMIN and CAP_SYS_ADMIN): run dpubench as root" in done.stderr


@needs_root
def test_a_local_program_runs_inside_and_is_killed_with_its_group() -> None:
    with network.veth_pair(1518) as pair:
        script = (
            "import os, subprocess, sys, time; p = subprocess.Popen(['sleep', '300']); print(p.pid, os.readlink('/proc/self/ns/net'), flush=True)\n"
        )
        process = LocalTarget().start(sys.executable, ["-c", script + "time.sleep(300)"], prefix=pair.server.prefix)
        try:
            said = b""
            while not said.endswith(b"\n") and not process.output_ended:
                said += process.read_output()
            descendant, namespace = said.decode().split()
            assert namespace != str(Path("/proc/self/ns/net").readlink())
            assert namespace == f"net:[{(NETNS / pair.server.namespace).stat().st_ino}]"
        finally:
            process.kill()
            process.close()
        assert gone(process.pid) and gone(int(descendant))


def peer(side: network.Side, kind: str, is_server: bool, arguments: dict[str, str], **more: object) -> subprocess.Popen[str]:
    """Start one side of native/datapath/ports/peer_test.cpp in its namespace; return its process."""
    spec = {"kind": kind, "server": is_server, "arguments": arguments, "task": "echo" if is_server else "send", "count": 3000, **more}
    return subprocess.Popen(
        [*side.prefix, str(PEERS), "--gtest_also_run_disabled_tests", "--gtest_filter=PortPeer.DISABLED_Side"],
        env={**os.environ, "DPUBENCH_TEST_PEER": json.dumps(spec)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@needs_root
@pytest.mark.skipif(not PEERS.exists(), reason=f"{PEERS} is not built (make build-tests)")
@pytest.mark.parametrize("kind", ["af_packet", "af_xdp", "socket"])
def test_ports_carry_every_frame_over_the_pair(kind: str) -> None:
    with network.veth_pair(1518) as pair:
        for again in range(2):  # AF_XDP does not free a queue at once
            sides = []
            for side, other, is_server in ((pair.server, pair.client, True), (pair.client, pair.server, False)):
                arguments = (
                    {"local": f"{side.address}:47000", "peer": f"{other.address}:47000"} if kind == "socket" else {"interface": side.interface}
                )
                # The driver of AF_XDP keeps the buffers that lie in the kernel's rings.
                sides.append(peer(side, kind, is_server, arguments, keeps_buffers=kind == "af_xdp"))
                if is_server:
                    stdout = sides[0].stdout
                    assert stdout is not None
                    assert any("peer is ready" in line for line in stdout), "the server's port did not open"
            said = [side.communicate(timeout=90)[0] for side in reversed(sides)]
            assert [side.returncode for side in sides] == [0, 0], f"{again}: client:\n{said[0]}\nserver:\n{said[1]}"
        for side in (pair.client, pair.server):
            shown = subprocess.run(["ip", "-n", side.namespace, "-d", "link", "show", side.interface], capture_output=True, text=True, check=True)
            assert "xdp" not in shown.stdout, "no program stays at the interface"


#: Sends frames to an interface and waits for each to come back. Arguments: interface, frames.
ECHOED = """
import socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
link.bind((sys.argv[1], 0x88B5))
link.settimeout(10)
for i in range(int(sys.argv[2])):
    frame = bytes.fromhex("02000000000202000000000188b5") + i.to_bytes(4, "little") * 20
    link.send(frame)
    while True:
        got, address = link.recvfrom(65535)
        if address[2] != socket.PACKET_OUTGOING:
            break
    assert got == frame, (got, frame)
"""


@needs_root
@pytest.mark.skipif(not PEERS.exists(), reason=f"{PEERS} is not built (make build-tests)")
def test_a_tap_is_an_interface_as_long_as_its_port() -> None:
    with network.veth_pair(1518) as pair:
        side = peer(pair.server, "tap", True, {"interface": "tap0"}, count=50)
        assert side.stdout is not None
        assert any("peer is ready" in line for line in side.stdout)
        shown = [*pair.server.prefix, "ip", "-o", "link", "show", "tap0"]
        assert "mtu 1500" in subprocess.run(shown, capture_output=True, text=True, check=True).stdout
        subprocess.run([*pair.server.prefix, sys.executable, "-c", ECHOED, "tap0", "50"], check=True, timeout=60)
        said = side.communicate(timeout=60)[0]
        assert side.returncode == 0, said
        assert subprocess.run(shown, capture_output=True, check=False).returncode != 0


#: A machine with two taps that hands on what comes from the first one to the second one, and prints it. Argument: namespaces and interfaces.
BETWEEN = """
import ctypes, fcntl, json, os, struct, sys
taps = []
for space, name in json.loads(sys.argv[1]):
    assert ctypes.CDLL(None).setns(os.open(space, os.O_RDONLY), 0x40000000) == 0
    taps.append(os.open("/dev/net/tun", os.O_RDWR))
    fcntl.ioctl(taps[-1], 0x400454CA, struct.pack("16sH22x", name.encode(), 0x0002 | 0x1000 | 0x4000))
while True:
    frame = os.read(taps[0], 10000)
    os.write(taps[1], frame)
    print(frame[10:].hex(), flush=True)  # after the 10 bytes of virtio's header
"""
#: Waits for a datagram, or sends one. Arguments: what, address.
DATAGRAM = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
    if sys.argv[1] == "send":
        end.sendto(b"crosses", (sys.argv[2], 9))
    else:
        end.settimeout(20)
        end.bind((sys.argv[2], 9))
        print("ready", flush=True)
        print(end.recvfrom(100))
"""


@pytest.mark.skipif(network.missing_link() != "", reason=network.missing_link())
def test_what_goes_between_two_taps_crosses_the_machine_there() -> None:
    with contextlib.ExitStack() as opened:
        near, far = (opened.enter_context(network.tap_link(number)) for number in (1, 2))
        chain = network.TapChain(near, far)
        taps = json.dumps([(link.here.namespace_file, link.here.interface) for link in (near, far)])
        between = subprocess.Popen([sys.executable, "-c", BETWEEN, taps], stdout=subprocess.PIPE, text=True)
        opened.callback(between.wait)
        opened.callback(between.kill)
        assert between.stdout is not None
        for _ in range(2):  # again changes nothing
            network.lead_through(chain)
        words = [sys.executable, "-c", DATAGRAM]
        received = subprocess.Popen([*far.here.prefix, *words, "receive", chain.bridged[1]], stdout=subprocess.PIPE, text=True)
        opened.callback(received.wait)
        opened.callback(received.kill)
        assert received.stdout is not None and received.stdout.readline() == "ready\n"
        for address in (chain.routed[1], chain.bridged[1]):
            subprocess.run([*near.here.prefix, *words, "send", address], check=True, timeout=20)
        assert received.communicate(timeout=30)[0].startswith(f"(b'crosses', ('{chain.bridged[0]}'")
        # Until IPv6 was off, it said something. What the kernel there is to forward goes to its own address, and the rest to the far end's.
        seen = (frame for frame in map(bytes.fromhex, between.stdout) if frame[12:14] == b"\x08\x00")
        frames = list(itertools.islice(seen, 2))
        assert [frame[:6].hex(":") for frame in frames] == [near.there_mac, far.here.mac]
    assert not {near.here.namespace, far.here.namespace} & names()
