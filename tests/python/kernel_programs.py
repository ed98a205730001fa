"""BPF programs in the kernel: finds those of a process or of a namespace among all others on the machine."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import re
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

from dpubench import network
from real_program import BUILD

_PROGRAM_ID = re.compile(rb"^prog_id:\s*(\d+)$", re.MULTILINE)


def bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    """Call bpf(2); return its result (-errno on a fault) and the attributes as the kernel left them."""
    room = ctypes.create_string_buffer(attributes, len(attributes))
    call = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    status = ctypes.CDLL(None, use_errno=True).syscall(call, command, room, len(attributes))
    return status if status >= 0 else -ctypes.get_errno(), room.raw


def held_by(pid: int) -> set[int]:
    """Return the numbers of the BPF programs that a process holds, directly or through links."""
    found: set[int] = set()
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            found |= {int(number) for number in _PROGRAM_ID.findall(file.read_bytes())}
        except FileNotFoundError:  # closed meanwhile
            continue
    return found


def attached_in(namespace: str) -> set[int]:
    """Return the numbers of the XDP programs at the interfaces of a network namespace."""
    words = ["ip", "-n", namespace, "-json", "-details", "link", "show"]
    links = json.loads(subprocess.run(words, capture_output=True, timeout=20, check=True).stdout)
    return {int(link["xdp"]["prog"]["id"]) for link in links if "prog" in link.get("xdp", {})}


def loaded(programs: Iterable[int]) -> set[int]:
    """Return those of ``programs`` that are still in the kernel.

    The kernel gives numbers in ascending order, so that no other program gets one of these soon.
    """
    get_fd = 13  # BPF_PROG_GET_FD_BY_ID of linux/bpf.h
    found = set()
    for number in programs:
        fd, _ = bpf(get_fd, struct.pack("<III", number, 0, 0))
        if fd >= 0:
            os.close(fd)
            found.add(number)
        elif fd != -errno.ENOENT:
            raise OSError(-fd, f"BPF program {number}: {os.strerror(-fd)}")
    return found


def xdp_reason() -> str:
    """Return why the engine cannot run here, or an empty string."""
    program = BUILD / "dpubench-server"
    if not program.exists():
        return "dpubench-server is not built: libdpdk was not found when this build was configured"
    if reason := network.unavailable():
        return reason
    listed = subprocess.run([program, "--list"], capture_output=True, timeout=60, check=True).stdout
    catalog = json.loads(listed.splitlines()[0])["catalog"]
    table = next(w for w in catalog["workloads"] if w["name"] == "flow-table")["stages"][0]
    return str(next(e for e in table["engines"] if e["name"] == "xdp")["reason"])
