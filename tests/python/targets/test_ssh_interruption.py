"""Tests of runs that are stopped or lose their target before the first round, while the bundle or inputs travel."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from subprocess import Popen

import pytest
from conftest import Bench
from real_program import BUILD
from sshd import Sshd, appears, cmdline, gone, running_under, scripted, small_bundle

#: More bytes than ssh, sshd and the pipes between them can take at once.
LARGE_BYTES = 16 << 20
#: While a file HOLD exists, an agent gets only as many reads of its input as HOLD says. This many hold all requests and the beginning of a file.
HELD_READS = "60"
HELD_AGENT = """#!/bin/sh
agent=$(dirname "$(readlink -f "$0")")/lib/dpubench-agent
[ -e "{hold}" ] || exec "$agent"
{{ dd bs=4096 count="$(cat "{hold}")" 2>/dev/null; [ "$(head -c 1 | wc -c)" = 0 ] || : >"{hold}.reached"; cat >/dev/null; }} | "$agent"
"""


def cut(sshd: Sshd) -> None:
    for session in sshd.sessions():
        if b"sshd" in cmdline(session):
            with contextlib.suppress(ProcessLookupError):
                os.kill(session, signal.SIGKILL)


@pytest.fixture
def held(away: Bench, sshd: Sshd, tmp_path: Path) -> Path:
    """Return the path of the file HOLD, which holds up the input of the target ``dev``; the operator used there reads prefixes."""
    hold = tmp_path / "hold"
    script = HELD_AGENT.format(hold=hold)
    archive = small_bundle(tmp_path / "held.tar.gz", BUILD / "dpubench-agent", scripted(tmp_path / "script.json"), script=script)
    away.add_target("dev", sshd.spec, archive)
    away.script(routes=True)
    (tmp_path / "routes.txt").write_bytes(b"10.0.0.0/8\n" * 100_000)
    hold.write_text(HELD_READS)
    return hold


def placing(away: Bench, hold: Path, *more: str) -> Popen[str]:
    """Start a run; return its process once it has begun to send its input."""
    process = away.start("run", "--name", "r", "--operator", "lookup", "--input", "routes4=routes.txt", "--rounds", "2", *more)
    try:
        appears(hold.with_name("hold.reached"), 60)
    except AssertionError:
        process.kill()
        print(process.communicate())
        raise
    return process


def test_a_run_that_is_stopped_while_inputs_are_sent(away: Bench, sshd: Sshd, held: Path) -> None:
    process = placing(away, held, "--target", "dev")
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "stopped by SIGTERM; 0 windows are kept" in errors and "dpubench resume r" in errors
    assert gone(sshd)
    assert_it_can_be_gone_on_with(away, held)


def test_a_target_that_is_lost_while_inputs_are_sent(away: Bench, sshd: Sshd, held: Path) -> None:
    process = placing(away, held, "--target", "dev")
    cut(sshd)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    shown = away("show", "r")
    assert "interrupted" in shown.stdout and "lookup" in shown.stdout, shown.stderr
    assert "the connection was cut" in errors and "1 of its points is missing: lookup/-/t1/b32/stream/portable@dev" in errors
    assert gone(sshd)
    assert_it_can_be_gone_on_with(away, held)


def assert_it_can_be_gone_on_with(away: Bench, held: Path) -> None:
    record = away.record("r")
    assert record["status"] == "interrupted" and record["finished"]
    assert [p["id"] for p in record["points"]] == ["lookup/-/t1/b32/stream/portable@dev"]
    held.unlink()
    done = away("resume", "r")
    assert done.returncode == 0, done.stderr
    record = away.record("r")
    assert record["status"] == "complete" and len(record["rounds"]) == 2


def test_of_two_targets_the_other_one_goes_on(away: Bench, sshd: Sshd, held: Path) -> None:
    process = placing(away, held, "--target", "local", "--target", "dev")
    cut(sshd)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert "the others go on; 1 of its points is missing: lookup/-/t1/b32/stream/portable@dev" in errors
    assert {t["name"]: t["status"] for t in away.record("r")["targets"]} == {"local": "complete", "dev": "interrupted"}
    assert away.record("r/targets/dev")["status"] == "interrupted"
    held.unlink()
    done = away("resume", "r")
    assert done.returncode == 0, done.stderr
    assert {t["name"]: t["status"] for t in away.record("r")["targets"]} == {"local": "complete", "dev": "complete"}
    assert gone(sshd)


@pytest.fixture
def slow(away: Bench, sshd: Sshd, tmp_path: Path) -> Path:
    """Return the path of a file that appears once a large bundle begins to arrive at a machine that takes it in slowly."""
    tools, mark = tmp_path / "bin", tmp_path / "arriving"
    tools.mkdir()
    (tools / "tar").write_text(f'#!/bin/sh\n: >"{mark}"\nwhile [ -n "$(head -c 50000 | tr -d "\\0" | head -c 1)" ]; do sleep 0.02; done\nexit 1\n')
    (tools / "tar").chmod(0o755)
    sshd.stop()
    sshd.environment = {"PATH": f"{tools}:{os.environ['PATH']}"}
    sshd.start()
    filler = os.urandom(LARGE_BYTES // 2).hex()
    archive = small_bundle(tmp_path / "large.tar.gz", BUILD / "dpubench-agent", f"#!/bin/sh\n#{filler}\n")
    away.add_target("dev", sshd.spec, archive)
    return mark


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_bundle_under_way_when_the_command_is_stopped(away: Bench, sshd: Sshd, slow: Path, number: int) -> None:
    process = away.start("run", "--name", "r", "--operator", "crc", "--target", "dev")
    appears(slow, 60)
    assert process.poll() is None and sshd.sessions()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "dpubench: stopped by SIG" in errors and "Traceback" not in errors, errors
    assert gone(sshd)
    assert list((sshd.home / "bundles").iterdir()) == [] and not (away.results / "r").exists()


def test_resuming_that_is_stopped_while_the_target_is_opened(away: Bench, sshd: Sshd, held: Path) -> None:
    process = placing(away, held, "--target", "dev")
    process.terminate()
    process.communicate(timeout=60)
    held.with_name("hold.reached").unlink()
    held.write_text("0")  # not one request: the target cannot be opened
    process = away.start("resume", "r")
    appears(held.with_name("hold.reached"), 60)
    assert running_under(sshd.folder / "there")
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert away.record("r")["status"] == "interrupted"
    assert gone(sshd)
