"""Tests of runs over a real sshd: complete runs, and runs that are stopped or cut at any moment; nothing is lost or left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from conftest import Bench
from real_program import BUILD, RealBench
from sshd import Sshd, cmdline, gone, running_under


def test_a_run_on_two_targets(away: Bench, sshd: Sshd) -> None:
    done = away("run", "--name", "r", "--target", "local", "--target", "dev", "--operator", "crc", "--engine", "portable,isal", "--rounds", "2")
    assert done.returncode == 0, done.stderr
    there = (
        away.record("r@dev")
        if (away.results / "r@dev").exists()
        else json.loads(next((away.results / "r/targets").glob("dev*/run.json")).read_text())
    )
    assert there["status"] == "complete" and there["target_info"] == {"spec": sshd.spec, "label": ""}
    assert all(p["id"].endswith("@dev") for p in there["points"])
    assert gone(sshd)


def test_rounds_there_take_code_layouts_in_turn(away: Bench, sshd: Sshd) -> None:
    away.script(layouts=3, window_s=0.0001)
    done = away("run", "--name", "r", "--target", "dev", "--operator", "crc", "--engine", "portable", "--rounds", "4")
    assert done.returncode == 0, done.stderr
    assert [r["layout"] for r in away.record("r")["rounds"]] == [0, 1, 2, 0]
    assert gone(sshd)


MODULES = ("sha256__portable", "sha256__openssl", "lpm__portable")
RUN = ("run", "--name", "r", "--target", "dev", "--operator", "crc", "--engine", "portable,isal", "--rounds", "6")


def under_way(away: Bench) -> None:
    """Wait until a window of the run came from there."""
    given_up = time.monotonic() + 40
    while not any(b'"window"' in file.read_bytes() for file in (away.results / "r").glob("**/rounds/*.ndjson")):
        assert time.monotonic() < given_up
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_there(away: Bench, sshd: Sshd, number: int) -> None:
    away.script(window_s=0.05)
    process = away.start(*RUN)
    under_way(away)
    assert running_under(sshd.folder / "there")
    process.send_signal(number)
    _, errors = process.communicate(timeout=40)
    assert process.returncode == (-9 if number == signal.SIGKILL else 130), errors
    assert gone(sshd)


def test_a_run_whose_connection_is_cut_keeps_what_it_has_and_resumes(away: Bench, sshd: Sshd) -> None:
    away.script(window_s=0.05)
    process = away.start(*RUN)
    under_way(away)
    for session in sshd.sessions():
        if b"sshd" in cmdline(session):
            with contextlib.suppress(ProcessLookupError):
                os.kill(session, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "connection was cut" in errors and "Traceback" not in errors, errors
    assert gone(sshd)
    away.script()
    done = away("resume", "r")
    assert done.returncode == 0, done.stderr
    assert away.record("r")["status"] == "complete"
    assert gone(sshd)


def test_the_real_programs_over_there(real: RealBench, sshd: Sshd, tmp_path: Path) -> None:
    """The bundle is packed from a build when it is first needed. The build has two modules only; test_bundle.py tests the closure of all."""
    some = tmp_path / "build"
    (some / "engines").mkdir(parents=True)
    needed = ["dpubench-operators", "dpubench-agent", "libdpubench-core.so", *(f"engines/{module}.so" for module in MODULES)]
    for name in needed:
        shutil.copy(BUILD / name, some / name)
    real.environment |= {"DPUBENCH_SSH_CONFIG": str(sshd.config), "XDG_CONFIG_HOME": str(tmp_path / "config"), "DPUBENCH_PROGRAMS": str(some)}
    done = real("run", real.plan(), "--name", "r", "--target", sshd.spec, "--operator", "sha256,lpm", "--size", "256B")
    assert done.returncode == 0, done.stderr
    record = real.record("r")
    assert record["status"] == "complete" and not record["failures"]
    assert {(p["operator"], p["engine"]) for p in record["points"]} == {tuple(module.split("__")) for module in MODULES}
    assert gone(sshd)
