"""Programs for 64-bit Arm of a few instructions, and the plain core on which tests simulate them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from dpubench import traces
from dpubench.simulation import _machine

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


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of tests/cores/loop.S: 1000 messages of four dependent additions, a subtraction and a branch."""
    folder = tmp_path_factory.mktemp("loop")
    program = folder / "loop"
    subprocess.run(["aarch64-linux-gnu-as", "-o", folder / "loop.o", KERNELS / "loop.S"], check=True, timeout=60)
    subprocess.run(["aarch64-linux-gnu-ld", "-static", "-o", program, folder / "loop.o"], check=True, timeout=60)
    return traces.capture(program, [], folder / "trace").folder


@pytest.fixture
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test its own cache and its own folder in place of /tmp, so that everything left there comes from this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "machines").mkdir()
    monkeypatch.setattr(_machine, "_PLACE", tmp_path / "machines")
