"""Tests of what ``dpubench resume`` refuses: figures of two different things, and programs that only a run directory names."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench
from dpubench import limits
from dpubench.errors import EnvironmentFault
from foreign_programs import contract_program, measure

QUICK = ("--name", "r", "--rounds", "2")


def interrupted(bench: Bench, **changes: Any) -> dict[str, Any]:
    """Change run ``r`` as if it was interrupted before its last rounds, with ``changes`` to its record; return the record."""
    record = bench.record("r") | {"status": "interrupted"} | changes
    (bench.results / "r/run.json").write_text(json.dumps(record))
    plan = bench.results / "r/plan.yaml"
    plan.write_text(plan.read_text().replace("max: 2", "max: 4").replace("min: 2", "min: 4"))
    return record


def whole(bench: Bench) -> list[bytes]:
    """Return the contents of run ``r``'s round files."""
    return [file.read_bytes() for file in sorted((bench.results / "r/rounds").iterdir())]


def refused(bench: Bench, *words: str) -> str:
    """Return the message with which ``resume`` refuses; check that the run stays as it was."""
    before, record = whole(bench), (bench.results / "r/run.json").read_bytes()
    done = bench("resume", "r", *words)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert whole(bench) == before and (bench.results / "r/run.json").read_bytes() == record
    return done.stderr


def test_another_input_is_refused(bench: Bench) -> None:
    bench.script(routes=True)
    routes = bench.folder / "routes"
    routes.write_text("10.0.0.0/8,1\n")
    assert bench("run", *QUICK, "--operator", "lookup", "--input", f"routes4={routes}").returncode == 0
    interrupted(bench)
    routes.write_text("10.0.0.0/8,2\n")
    said = refused(bench)
    assert f"input routes4 ({routes}) is another than the run began with (SHA-256 " in said and "put it back, or carry its plan out anew" in said
    routes.unlink()
    assert "there is no such file" in refused(bench)
    routes.write_text("10.0.0.0/8,1\n")
    done = bench("resume", "r")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("part", "key", "words"),
    [
        ("machine", "host", "host ('elsewhere', now 'scripted')"),
        ("machine", "cpu", "CPU ('elsewhere', now '')"),
        ("machine", "cores_online", "number of cores ('elsewhere', now '')"),
        ("build", "revision", "revision of the build ('elsewhere', now '')"),
        ("build", "flags", "compiler's flags ('elsewhere', now '')"),
    ],
)
def test_another_machine_or_build_is_refused(bench: Bench, part: str, key: str, words: str) -> None:
    assert bench("run", *QUICK, "--operator", "crc").returncode == 0
    record = bench.record("r")
    interrupted(bench, **{part: record[part] | {key: "elsewhere"}})
    said = refused(bench)
    assert words in said and "Go on where it began, or carry its plan out anew" in said and f"`dpubench resume {bench.results}/r --anyway`" in said


def test_anyway_keeps_another_machine_apart(bench: Bench) -> None:
    assert bench("run", *QUICK, "--operator", "crc").returncode == 0
    record = bench.record("r")
    interrupted(bench, machine=record["machine"] | {"host": "elsewhere"})
    before, kept = whole(bench), (bench.results / "r/run.json").read_bytes()
    for number in (2, 3):
        done = bench("resume", "r", "--anyway")
        assert done.returncode == 0, done.stderr
        assert "host ('elsewhere', now 'scripted')" in done.stderr and f"r-{number} is a new run; compare both with" in done.stderr
        apart = bench.record(f"r-{number}")
        assert apart["status"] == "complete" and apart["machine"]["host"] == "scripted" and len(apart["rounds"]) == 4
    assert whole(bench) == before and (bench.results / "r/run.json").read_bytes() == kept
    compared = bench("compare", "r", "r-2")
    assert compared.returncode == 0 and "crc/size=1024" in compared.stdout, compared.stderr
    # Where nothing differs, the run continues as usual.
    interrupted(bench, machine=record["machine"])
    done = bench("resume", "r", "--anyway")
    assert done.returncode == 0 and "of its own" not in done.stderr and not (bench.results / "r-4").exists()


def apart(bench: Bench, told: str) -> dict[str, Any]:
    """Carry out the plan of ``r`` with ``--anyway``; check that ``r`` keeps its figures, and return the record of the new run.

    A point is one run's: no figure comes from windows of both.
    """
    before, kept = whole(bench), (bench.results / "r/run.json").read_bytes()
    done = bench("resume", "r", "--anyway")
    assert done.returncode == 0 and told in done.stderr, done.stderr
    assert whole(bench) == before and (bench.results / "r/run.json").read_bytes() == kept
    record = bench.record("r-2")
    assert record["status"] == "complete" and [r["number"] for r in record["rounds"]] == [0, 1, 2, 3]
    asked = bench("query", "SELECT run, count(DISTINCT round) AS rounds FROM windows GROUP BY run ORDER BY run", "--json")
    assert json.loads(asked.stdout) == [{"run": "r", "rounds": 2}, {"run": "r-2", "rounds": 4}]
    return record


def test_anyway_keeps_another_input_apart(bench: Bench) -> None:
    bench.script(routes=True)
    routes = bench.folder / "routes"
    routes.write_text("10.0.0.0/8,1\n")
    assert bench("run", *QUICK, "--operator", "lookup", "--input", f"routes4={routes}").returncode == 0
    first = interrupted(bench)
    routes.write_text("10.0.0.0/8,2\n")
    second = apart(bench, f"input routes4 ({routes}) is another than the run began with")
    hashes = [record["inputs"]["routes4"]["sha256"] for record in (first, second)]
    assert len(set(hashes)) == 2 and all(hashes)


@pytest.mark.parametrize(("key", "words"), [("revision", "revision of the build"), ("compiler", "compiler"), ("flags", "compiler's flags")])
def test_anyway_keeps_another_build_apart(bench: Bench, key: str, words: str) -> None:
    assert bench("run", *QUICK, "--operator", "crc").returncode == 0
    record = bench.record("r")
    interrupted(bench, build=record["build"] | {key: "elsewhere"})
    second = apart(bench, f"{words} ('elsewhere', now ")
    assert second["build"][key] == record["build"][key] != "elsewhere"
    compared = bench("compare", "r", "r-2")
    assert compared.returncode == 0 and "crc/size=1024" in compared.stdout, compared.stderr


def test_anyway_names_all_that_differs_at_once(bench: Bench) -> None:
    assert bench("run", *QUICK, "--operator", "crc").returncode == 0
    record = bench.record("r")
    interrupted(bench, machine=record["machine"] | {"host": "elsewhere"}, build=record["build"] | {"flags": "elsewhere"})
    second = apart(bench, "host ('elsewhere', now 'scripted'), compiler's flags ('elsewhere', now '')")
    assert second["machine"]["host"] == "scripted" and second["build"]["flags"] == ""


def test_the_program_of_a_run_directory_is_not_executed(bench: Bench, tmp_path: Path) -> None:
    assert bench("run", *QUICK, "--operator", "crc").returncode == 0
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    record = bench.record("r")
    interrupted(bench, setting=record["setting"] | {"program": str(trap)})
    done = bench("resume", "r")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "sprung").exists()


def test_programs_of_others_are_named_again(bench: Bench, tmp_path: Path) -> None:
    folder = contract_program(bench).parent
    assert measure(bench, "--operator", "crc", "--engine", "portable,mine").returncode == 0
    record = interrupted(bench)
    said = refused(bench)
    assert f"--engine-dir {folder}" in said and "say that they may run" in said
    assert f"--engine-dir {folder}" in refused(bench, "--engine-dir", str(tmp_path))
    # A program that run.json moves elsewhere is not executed, whatever the user names.
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    operators = json.loads(json.dumps(record["operators"]).replace(str(folder / "theirs.sh"), str(trap)))
    interrupted(bench, operators=operators)
    assert f"names the program {trap}, which lies in no folder of --engine-dir" in refused(bench, "--engine-dir", str(folder))
    assert not (tmp_path / "sprung").exists()
    interrupted(bench, operators=record["operators"])
    done = bench(*shlex.split(said.split("`")[1])[1:])
    assert done.returncode == 0, done.stderr


def test_the_other_build_is_named_again(bench: Bench) -> None:
    other = bench.programs
    assert bench("run", *QUICK, "--operator", "crc", "--against", str(other)).returncode == 0
    interrupted(bench)
    said = refused(bench)
    assert "--against " in said
    done = bench("resume", "r", "--against", str(other))
    assert done.returncode == 0, done.stderr
    assert "leave out" not in done.stderr


def test_a_damaged_round_is_told_by_every_command(bench: Bench) -> None:
    for name in ("r", "other"):
        assert bench("run", "--name", name, "--rounds", "2", "--operator", "crc").returncode == 0
    interrupted(bench)
    (first, second) = sorted((bench.results / "r/rounds").glob("*.parquet"))
    for damaged in (first.read_bytes()[:-20], b"", b"PAR1" + bytes(100) + b"PAR1"):
        second.write_bytes(damaged)
        said = refused(bench)
        assert f"{second}: this round is damaged" in said and "move the file away to go on without it" in said
        shown = bench("show", "r")
        assert shown.returncode == 2 and f"{second}: this round is damaged" in shown.stderr and shown.stdout == ""
    asked = bench("query", "SELECT DISTINCT run FROM points")
    assert asked.returncode == 0 and "other" in asked.stdout and "left out: results/r/rounds/0001.parquet: this round is damaged" in asked.stderr
    (bench.results / "r/run.json").write_text('{"schema": 1e999}')
    asked = bench("query", "SELECT run FROM runs", "--json")
    assert asked.returncode == 0 and json.loads(asked.stdout) == [{"run": "other"}]
    assert "run.json: is damaged: 1e999 is out of range" in asked.stderr


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("-v 600000", "the limit of address space (`ulimit -v`) is 585 MiB"),
        ("-n 20", "the limit of open files (`ulimit -n`) is 20"),
    ],
)
def test_a_limit_is_named_and_no_data_blamed(bench: Bench, limit: str, words: str) -> None:
    """The message must not tell users to move good data away."""
    assert bench("run", *QUICK, "--operator", "crc").returncode == 0
    with bench.start("show", "r", prefix=("sh", "-c", f'ulimit {limit}; exec "$@"', "sh")) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and out == "" and words in err and "nothing was read or changed" in err
    assert len(err.splitlines()) == 1 and "damaged" not in err
    assert bench("show", "r").returncode == 0


def test_too_few_threads_are_told_before_libraries_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root has no such limit, and the tests may run as root: here the third thread does not start."""
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def limited(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    limits.check()
    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(
        EnvironmentFault, match=r"^only 2 threads could be started, but \d+ are needed: raise the limit .*`ulimit -u`.* nothing was read"
    ):
        limits.check()
    for thread in started:
        thread.join(5)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "ulimit -v"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (OSError(errno.EMFILE, "Too many open files", "/x"), "ulimit -n`) (/x)"),
        (OSError(errno.ENOSPC, "No space left on device", "/tmp/y"), "TMPDIR"),
    ],
)
def test_a_limit_that_is_met_is_named_however_deep_it_lies(error: Exception, words: str) -> None:
    outer = ValueError("something else")
    outer.__cause__ = error
    assert words in limits.met(error) and words in limits.met(outer)
    for other in (ValueError("something else"), OSError(errno.ENOENT, "none"), BlockingIOError(errno.EAGAIN, "somebody else has the lock")):
        assert limits.met(other) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
@pytest.mark.parametrize("size", ["4k", "8k"])
def test_of_a_run_that_could_not_begin_nothing_is_left(bench: Bench, size: str) -> None:
    place = bench.folder / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine mounts no tmpfs")
    try:
        done = bench("run", *QUICK, "--operator", "crc", "--results", str(place))
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert "the disk is full" in done.stderr and "nothing was measured yet, and nothing is left of this run" in done.stderr
        assert list(place.iterdir()) == []
    finally:
        subprocess.run(["umount", place], check=True)
