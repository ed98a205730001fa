"""Scripted programs that speak the contract, as if from somebody else, and a run with them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from conftest import SCRIPTED, Bench

PLAN = "study: operators\nsilence: 1s\nengines: all\ncycles: {min: 3, max: 3}\nrounds: {min: 2, max: 2}\n"


def contract_program(bench: Bench, name: str = "theirs.sh", **script: Any) -> Path:
    """Write a scripted program, as if from somebody else, with its own script into the folder ``more``; return its path."""
    folder = bench.folder / "more"
    folder.mkdir(exist_ok=True)
    told = bench.folder / f"{name}.json"
    told.write_text(json.dumps({"engines": {"crc": ["mine", "isal"]}, **script}))
    program = folder / name
    program.write_text(f'#!/bin/sh\nSCRIPT={shlex.quote(str(told))} exec "{sys.executable}" -S -E "{SCRIPTED}" "$@"\n')
    program.chmod(0o755)
    return program


def measure(bench: Bench, *arguments: str) -> Any:
    (bench.folder / "p.yaml").write_text(PLAN)
    return bench("run", "p.yaml", "--name", "r", "--engine-dir", "more", *arguments)
