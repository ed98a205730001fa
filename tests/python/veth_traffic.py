"""Frames over a veth pair that the kernel would change on their way, if it were not forbidden."""

from __future__ import annotations

import json
import subprocess
import sys

from dpubench import network

FRAMES = 300

#: Sends TCP segments of one flow in order, which a kernel would join on their way. Arguments: interface, frames.
SEND_SEGMENTS = """
import socket, struct, sys, time
frames = int(sys.argv[2])
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[1], 0))
for i in range(frames):
    tcp = struct.pack("!HHIIBBHHH", 1000, 2000, 1000 + i * 100, 1, 0x50, 0x10, 512, 0, 0)
    pseudo = struct.pack("!4s4sBBH", bytes([198, 18, 0, 1]), bytes([198, 18, 0, 2]), 0, 6, 120)
    def summed(data):
        words = sum(struct.unpack(f"!{len(data) // 2}H", data))
        while words >> 16:
            words = (words & 0xFFFF) + (words >> 16)
        return ~words & 0xFFFF
    payload = bytes([i % 256]) * 100
    tcp = tcp[:16] + struct.pack("!H", summed(pseudo + tcp + payload)) + tcp[18:]
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 140, 0, 0x4000, 64, 6, 0, bytes([198, 18, 0, 1]), bytes([198, 18, 0, 2]))
    ip = ip[:10] + struct.pack("!H", summed(ip)) + ip[12:]
    while True:
        try:
            link.send(bytes.fromhex("020000000002") + bytes.fromhex("020000000001") + b"\\x08\\x00" + ip + tcp + payload)
            break
        except OSError:  # ENOBUFS: the 256 packets that a veth interface with NAPI holds
            time.sleep(0.001)
"""
#: Prints the length of each frame that arrives. Arguments: interface, frames.
RECEIVE = """
import socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
link.bind((sys.argv[1], 3))
print("ready", flush=True)
link.settimeout(5)
lengths = []
try:
    while len(lengths) < int(sys.argv[2]):
        frame, address = link.recvfrom(65535)
        if address[2] != socket.PACKET_OUTGOING:
            lengths.append(len(frame))
except TimeoutError:
    pass
print(lengths)
"""


def segments(pair: network.VethPair) -> list[int]:
    """Send FRAMES segments through the pair; return the lengths of the frames that arrive."""
    receiver = subprocess.Popen(
        [*pair.server.prefix, sys.executable, "-c", RECEIVE, pair.server.interface, str(FRAMES)], stdout=subprocess.PIPE, text=True
    )
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == "ready\n"
    subprocess.run([*pair.client.prefix, sys.executable, "-c", SEND_SEGMENTS, pair.client.interface, str(FRAMES)], check=True, timeout=30)
    return list(json.loads(receiver.communicate(timeout=30)[0]))
