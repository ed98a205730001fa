"""A bundle for 64-bit Arm with one small program that speaks the contract. The real loader starts it under the real emulator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

from conftest import ROOT
from dpubench.bundles import archive as bundle
from dpubench.simulation.kernels import ArmPrograms
from scripted_worker import OPERATORS

#: The loader of Debian's libc6-arm64-cross.
LOADER: Final = Path("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1")
#: Cases of tests/cores/contract.S: what goes wrong in it.
FINE, REFUSES, CRASHES, ENDLESS = 0, 1, 2, 5

_HELLO: Final = {
    "event": "hello", "schema": "dpubench.event/1", "program": "dpubench-operators", "version": "0",
    "build": {"compiler": "none", "flags": "", "revision": "", "type": "scripted"}, "machine": {"host": "scripted", "cpu_model": "none"},
}  # fmt: skip
TRACED: Final = {"event": "traced", "point": "portable", "group": "kernel", "bursts": 4, "operations": 128, "in_bytes": 8192, "out_bytes": 2048}
DONE: Final = {
    "event": "done", "windows": 1, "failures": 0, "elapsed_s": 0.1,
    "clock": {"source": "scripted", "hz": 1e9, "overhead_ns": 20, "resolution_ns": 1, "cross_check_ppm": 0},
}  # fmt: skip
FAILURE: Final = {"event": "failure", "group": "kernel", "point": "portable", "phase": "verify", "message": "item 3 differs"}


def operators() -> list[dict[str, Any]]:
    """Return the scripted program's operators; here ``lookup`` reads routes."""
    return [entry | ({"inputs": [{"name": "routes4"}]} if entry["name"] == "lookup" else {}) for entry in OPERATORS]


def arm_bundle(
    folder: Path,
    case: int = FINE,
    events: tuple[dict[str, Any], ...] | str = (TRACED, DONE),
    architecture: str = "aarch64",
    program_name: str = "dpubench-operators",
    catalog: dict[str, Any] | None = None,
    answers: tuple[dict[str, Any], ...] = (),
) -> Path:
    """Return an archive whose program ``program_name`` is tests/cores/contract.S.

    The program lists ``catalog`` and ``answers``, and emits ``events`` after ``hello``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    said = events if isinstance(events, str) else "".join(json.dumps(event) + "\n" for event in (_HELLO, *events))
    listed = ({**_HELLO, "catalog": catalog or {"operators": operators()}}, *answers)
    (folder / "hello").write_text("".join(json.dumps(event) + "\n" for event in listed))
    (folder / "events").write_text(said)
    thing, program = folder / "contract.o", folder / "dpubench-operators"
    source = ROOT / "tests/cores/contract.S"
    subprocess.run(["aarch64-linux-gnu-as", "--defsym", f"CASE={case}", "-I", folder, "-o", thing, source], check=True, timeout=60)
    link = ["aarch64-linux-gnu-ld", "-pie", "-z", "noexecstack", "-dynamic-linker", f"/lib/{LOADER.name}"]
    subprocess.run([*link, "-o", program, thing], check=True, timeout=60)
    contents = {
        f"lib/{program_name}": program.read_bytes(),
        f"lib/{LOADER.name}": LOADER.read_bytes(),
        "lib/engines/none.missing": b"there is none\n",
        "manifest.json": json.dumps({"schema": "dpubench.bundle/1", "architecture": architecture, "files": {"of": said, "case": case}}).encode(),
    }
    archive = folder / "bundle.tar.gz"
    archive.write_bytes(bundle._archive(bundle.folder_name("aarch64"), contents))
    return archive


def arm_programs(folder: Path, case: int = FINE, events: tuple[dict[str, Any], ...] | str = (TRACED, DONE)) -> ArmPrograms:
    """Return the programs of a bundle that :func:`arm_bundle` makes."""
    return ArmPrograms.of(arm_bundle(folder, case, events))
