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
from typing import Any

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


KERNELS = Path(__file__).resolve().parents[1] / "cores"
ONE = {"latency_cycles": 1, "every_cycles": 1}


def processor() -> dict[str, Any]:
    """Return a superscalar core on which an instruction waits for nothing but its operands."""
    return {
        "name": "by-hand",
        "clock": {"mhz": 1000},
        "organisation": {"cores": 1, "contexts": 1, "issue": "out-of-order", "policy": "single"},
        "widths": {"fetch": 8, "enter": 8, "issue": 8, "commit": 8, "depth_cycles": 1, "buffer": 16},
        "window": {"instructions": 64, "loads": 32, "stores": 32},
        "queues": [{"name": "all", "entries": 64}],
        "units": [
            {"name": "alu", "count": 8, "queue": "all", "executes": {"integer": ONE, "branch": ONE}},
            {"name": "memory", "count": 2, "queue": "all", "executes": {"load": ONE, "store": ONE}},
        ],
        "store_forwarding": {"latency_cycles": 1},
        "branches": {"predictor": "perfect"},
        "caches": {"ideal": {"ideal": True, "latency_cycles": 1}},
        "instruction_cache": "ideal",
        "data_cache": "ideal",
        "memory": {"latency_ns": 100, "banks": 1, "bank_busy_ns": 0, "bandwidth_gbps": 100},
    }


def assemble(folder: Path, name: str, case: int = 0) -> Path:
    """Build a program from tests/cores/``name``.S; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    program, thing = folder / f"{name}{case}", folder / f"{name}{case}.o"
    subprocess.run(["aarch64-linux-gnu-as", "--defsym", f"CASE={case}", "-o", thing, KERNELS / f"{name}.S"], check=True, timeout=60)
    subprocess.run(["aarch64-linux-gnu-ld", "-static", "-o", program, thing], check=True, timeout=60)
    return program
