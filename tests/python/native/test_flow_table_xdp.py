"""Tests of the xdp engines between two real network namespaces: the kernel counts and answers every frame; nothing is left behind."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dpubench import network
from kernel_programs import attached_in, held_by, loaded, xdp_reason
from real_program import BUILD

PROGRAM = BUILD / "dpubench-server"
#: The record of a flow in `flows.bin`: version, protocol, ports, zeros, addresses, packets, bytes.
RECORD = struct.Struct("<BBHHxx16s16sQQ")
FRAMES = 600
FLOWS = 30
#: Bytes of a frame without FCS, and of the FCS.
FRAME_BYTES = 60
FCS_BYTES = 4

#: A script for the client's namespace. It attaches a program that passes everything to the client's end, because veth wakes a receiver of XDP frames
#: only where one is attached (drivers/net/veth.c, veth_xdp_flush; the port kind af_xdp brings its own). It sends, and counts what comes back.
CLIENT = """
import ctypes, json, platform, socket, struct, sys, time
interface, frames = sys.argv[1], json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
PROG_LOAD, LINK_CREATE, TYPE_XDP, ATTACH_XDP, DRIVER_MODE = 5, 28, 6, 37, 4
def bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, len(attributes))
    number = libc.syscall(BPF, command, room, len(attributes))
    if number < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return number
code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0))  # r0 = XDP_PASS; exit
license = ctypes.create_string_buffer(b"GPL")
attributes = struct.pack("<IIQQ", TYPE_XDP, 2, ctypes.addressof(code), ctypes.addressof(license)).ljust(72, bytes(1))
program = bpf(PROG_LOAD, attributes)
passing = bpf(LINK_CREATE, struct.pack("<IIII", program, socket.if_nametoindex(interface), ATTACH_XDP, DRIVER_MODE))
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.bind((interface, 0))
link.setblocking(False)
answers = {}
def take(patience_s):
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        try:
            data, where = link.recvfrom(4096)
        except BlockingIOError:
            time.sleep(0.001)
            continue
        if where[2] != 4:  # PACKET_OUTGOING
            answers[data.hex()] = answers.get(data.hex(), 0) + 1
for number, frame in enumerate(frames):
    link.send(bytes.fromhex(frame))
    if number % 16 == 15:
        take(0.003)
take(0.3)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module", autouse=True)
def needs_xdp() -> None:
    if reason := xdp_reason():
        pytest.skip(reason)


@dataclass
class Server:
    """A dpubench-server inside a namespace."""

    process: subprocess.Popen[str]

    def ask(self, **command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def wait_for(self, name: str) -> dict[str, Any]:
        """Return the next event of this name; a failure of the program fails the test."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            assert event["event"] != "failure" or name == "failure", event
            if event["event"] == name:
                return event
        raise AssertionError(f"the server ended before '{name}'")


@contextlib.contextmanager
def server(side: network.Side, workload: str = "flow-table", stage: str = "table", **params: str) -> Iterator[Server]:
    job = {
        "schema": "dpubench.server-job/1", "seed": 1, "time_limit_s": 60, "memory": {"huge_pages": False, "mb": 128},
        "ports": [{"kind": "xdp", "role": "server", "arguments": {"interface": side.interface}}], "max_frame": 1518,
        "workload": {"name": workload, "params": params, "engines": {stage: "xdp"}},
    }  # fmt: skip
    words = [*side.prefix, str(PROGRAM)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        started = Server(process)
        started.ask(**job)
        yield started
    finally:
        process.kill()
        process.wait(timeout=30)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def udp_frame(pair: network.VethPair, flow: int) -> bytes:
    """Return a frame of UDP over IPv4 of flow number ``flow``."""
    macs = bytes.fromhex(pair.server.mac.replace(":", "") + pair.client.mac.replace(":", ""))
    source, destination = socket.inet_aton(f"10.1.0.{flow}"), socket.inet_aton("10.2.0.1")
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, flow, 0, 64, 17, 0, source, destination)
    return (macs + b"\x08\x00" + ip + struct.pack(">HHHH", 5000 + flow, 4000, 8, 0)).ljust(FRAME_BYTES, b"\0")


def send(pair: network.VethPair, frames: list[bytes]) -> dict[bytes, int]:
    """Send frames from the client's end; return the frames that came back, each with its count."""
    words = [*pair.client.prefix, sys.executable, "-I", "-S", "-c", CLIENT, pair.client.interface]
    text = json.dumps([f.hex() for f in frames])
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=True)
    return {bytes.fromhex(frame): n for frame, n in json.loads(done.stdout).items()}


def swapped(frame: bytes) -> bytes:
    return frame[6:12] + frame[:6] + frame[12:]


def records(folder: Path) -> list[tuple[Any, ...]]:
    return sorted(RECORD.iter_unpack((folder / "flows.bin").read_bytes()))


def attached(side: network.Side) -> bool:
    shown = subprocess.run(["ip", "-n", side.namespace, "link", "show", "dev", side.interface], capture_output=True, text=True, check=True)
    return "xdp" in shown.stdout


@pytest.mark.parametrize(("key", "protocol"), [("paper", 0), ("five_tuple", 17)])
def test_every_frame_is_counted_and_answered_in_the_kernel(tmp_path: Path, key: str, protocol: int) -> None:
    with network.veth_pair(1518) as pair, server(pair.server, flows="1000", key=key) as running:
        ready = running.wait_for("ready")
        assert "std::map" in ready["stages"][0]["verified"]
        assert ready["ports"][0]["driver"] == "veth"
        assert attached(pair.server)
        arp = udp_frame(pair, 1)[:12] + b"\x08\x06" + bytes(46)
        frames = [udp_frame(pair, 1 + n % FLOWS) for n in range(FRAMES)] + [arp] * 10
        for trial in (1, 2):  # the second trial begins with an empty table
            running.ask(begin=trial)
            running.wait_for("begun")
            answers = send(pair, frames)
            running.ask(collect=trial, dump=str(tmp_path))
            counts = running.wait_for("served")["workload"]["flow_table"]
            elsewhere = counts["elsewhere"]
            assert counts["flows"] == counts["inserted"] == FLOWS
            assert counts["unkeyed"] == 10
            assert elsewhere["received"] == elsewhere["transmitted"] == FRAMES + 10
            assert answers == {swapped(arp): 10} | {swapped(udp_frame(pair, 1 + n)): FRAMES // FLOWS for n in range(FLOWS)}
            expected = []
            for flow in range(1, 1 + FLOWS):
                source_port = 5000 + flow if key == "five_tuple" else 0
                addresses = [socket.inet_aton(f"10.1.0.{flow}").ljust(16, b"\0"), socket.inet_aton("10.2.0.1").ljust(16, b"\0")]
                packets = FRAMES // FLOWS
                expected.append((4, protocol, source_port, 4000, *addresses, packets, packets * (FRAME_BYTES + FCS_BYTES)))
            assert records(tmp_path) == sorted(expected)


def test_the_null_workload_answers_in_the_kernel_too() -> None:
    with network.veth_pair(1518) as pair, server(pair.server, "forward", "swap") as running:
        stage = running.wait_for("ready")["stages"][0]
        assert (stage["engine"], stage["path"]["isa"]) == ("xdp", "eBPF") and "test run" in stage["verified"]
        assert attached(pair.server)
        frames = [udp_frame(pair, 1 + n % FLOWS) for n in range(FRAMES)]
        for trial in (1, 2):  # the second trial counts from 0
            running.ask(begin=trial)
            running.wait_for("begun")
            answers = send(pair, frames)
            running.ask(collect=trial)
            served = running.wait_for("served")
            assert served["workload"]["forward"]["elsewhere"] == {"received": FRAMES, "transmitted": FRAMES, "dropped": 0}
            assert served["received"] == 0
            assert answers == {swapped(udp_frame(pair, 1 + n)): FRAMES // FLOWS for n in range(FLOWS)}


def test_a_full_table_drops_in_the_kernel() -> None:
    with network.veth_pair(1518) as pair, server(pair.server, flows="1000", key="five_tuple") as running:
        running.wait_for("ready")
        running.ask(begin=1)
        running.wait_for("begun")
        base = bytearray(udp_frame(pair, 1))
        frames = []
        for port in range(1100):
            base[34:36] = struct.pack(">H", port)
            frames.append(bytes(base))
        answers = send(pair, frames)
        running.ask(collect=1)
        counts = running.wait_for("served")["workload"]["flow_table"]
        assert counts["flows"] == 1000 and counts["refused"] == 100
        assert counts["elsewhere"] == {"received": 1100, "transmitted": 1000, "dropped": 100}
        assert answers == {swapped(frame): 1 for frame in frames[:1000]}


@pytest.mark.parametrize(("workload", "stage"), [("flow-table", "table"), ("forward", "swap")])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
def test_nothing_is_left_in_the_kernel(how: signal.Signals | None, workload: str, stage: str) -> None:
    with network.veth_pair(1518) as pair:
        with server(pair.server, workload, stage) as running:
            running.wait_for("ready")
            assert attached(pair.server)
            ours = held_by(running.process.pid)
            assert attached_in(pair.server.namespace) <= ours == loaded(ours) != set()
            if how is None:
                running.ask(end=True)
            else:
                running.process.send_signal(how)
            running.process.wait(timeout=30)
        deadline = time.monotonic() + 10
        while (attached(pair.server) or loaded(ours)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not attached(pair.server)
        assert not loaded(ours)


@pytest.mark.parametrize(
    ("params", "reason"), [({"idle_ms": "10"}, "cannot retire"), ({"full": "evict_oldest"}, "cannot retire"), ({"flows": "1"}, "flows")]
)
def test_what_it_does_not_do_is_said(params: dict[str, str], reason: str) -> None:
    with network.veth_pair(1518) as pair, server(pair.server, **params) as running:
        assert reason in running.wait_for("failure")["message"]
        running.process.wait(timeout=30)
        assert running.process.returncode != 0
        assert not attached(pair.server)


def test_an_interface_that_does_not_exist_is_named() -> None:
    with network.veth_pair(1518) as pair:
        nowhere = network.Side(pair.server.namespace, "nowhere0", pair.server.address, pair.server.mac)
        with server(nowhere, flows="1000") as running:
            assert "nowhere0" in running.wait_for("failure")["message"]
