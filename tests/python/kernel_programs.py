"""What of ours is loaded in the kernel, whoever holds it."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import subprocess

from dpubench import network
from real_program import BUILD


def bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    """The system call bpf(2): what it returns (-1: a fault) and what it wrote."""
    room = ctypes.create_string_buffer(attributes, len(attributes))
    call = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    return ctypes.CDLL(None).syscall(call, command, room, len(attributes)), room.raw


def answering() -> set[int]:
    """Numbers of the BPF programs of the engines ``xdp``, whoever holds them."""
    get_next, get_fd, get_info = 11, 13, 15  # commands of linux/bpf.h
    found: set[int] = set()
    number = 0
    while True:
        status, answer = bpf(get_next, struct.pack("<III", number, 0, 0))
        if status < 0:
            return found
        number = struct.unpack_from("<I", answer, 4)[0]
        fd, _ = bpf(get_fd, struct.pack("<III", number, 0, 0))
        if fd < 0:
            continue
        info = ctypes.create_string_buffer(80)
        status, _ = bpf(get_info, struct.pack("<IIQ", fd, len(info), ctypes.addressof(info)))
        os.close(fd)
        if status == 0 and info.raw[64:80].rstrip(b"\0") in (b"flow_table", b"forward"):
            found.add(number)


def xdp_reason() -> str:
    """Why the engine cannot run here; empty if it can."""
    program = BUILD / "dpubench-server"
    if not program.exists():
        return "dpubench-server is not built: libdpdk was not found when this build was configured"
    if reason := network.unavailable():
        return reason
    listed = subprocess.run([program, "--list"], capture_output=True, timeout=60, check=True).stdout
    catalog = json.loads(listed.splitlines()[0])["catalog"]
    table = next(w for w in catalog["workloads"] if w["name"] == "flow-table")["stages"][0]
    return str(next(e for e in table["engines"] if e["name"] == "xdp")["reason"])
