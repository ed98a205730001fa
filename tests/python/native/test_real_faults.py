"""Tests of real runs under attack: disks, signals, two at once, a copied run. Nothing measured is lost, no process stays, exit statuses are right."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dpubench import schemas
from dpubench.storage.runs import RunDirectory
from dpubench.studies.operators.rounds import windows_of
from real_program import FIXTURES, RealBench

pytestmark = pytest.mark.usefixtures("real")

HASHES = ("--operator", "sha256,md5", "--engine", "portable,openssl", "--size", "64B", "--footprint", "resident")


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str], limit_s: float = 40) -> None:
    until = time.monotonic() + limit_s
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.02)


def measuring(real: RealBench, number: int = 0, least_bytes: int = 20_000) -> Callable[[], bool]:
    """Return a function that is true once the round of that number has written some windows."""
    file = real.results / "r/rounds" / f"{number:04d}.ndjson"

    def check() -> bool:
        return (file.exists() and file.stat().st_size > least_bytes) or file.with_suffix(".parquet").exists()

    return check


def long_plan(real: RealBench, rounds: int = 3) -> str:
    return real.plan(cycles={"min": 40, "max": 40}, rounds={"min": rounds, "max": rounds})


def places(real: RealBench) -> list[tuple[object, ...]]:
    rows = windows_of(RunDirectory(real.results / "r")).to_pylist()
    return [(w["point"], w["group"], w["round"], w["cycle"], w["half"], w["operations"]) for w in rows]


# --- signals


def moments() -> dict[str, Callable[[RealBench], Callable[[], object]]]:
    return {
        "as it starts": lambda real: lambda: (real.results / "r/run.json").exists(),
        "while a worker prepares": lambda real: lambda: (real.results / "r/run.json").exists() and real.workers(),
        "while it measures": lambda real: measuring(real),
        "in the second round": lambda real: measuring(real, 1, 5000),
    }


@pytest.mark.parametrize("moment", moments())
def test_ctrl_c_then_resume_completes_the_run(real: RealBench, moment: str) -> None:
    process = real.start("run", long_plan(real), "--name", "r", *HASHES)
    wait_for(moments()[moment](real), process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr and "dpubench resume r" in stderr
    assert real.workers() == []
    record = real.record("r")
    assert record["status"] == "interrupted" and not schemas.fault("run", record)
    before = places(real)
    assert moment not in ("while it measures", "in the second round") or before
    resumed = real("resume")
    assert resumed.returncode == 0, resumed.stderr
    after = places(real)
    assert len(after) == len(set(after)) and set(before) <= set(after)
    record = real.record("r")
    assert record["status"] == "complete" and len(record["points"]) == 4
    for point in record["points"]:
        assert len({p[2] for p in after if p[0] == point["id"]}) >= 3, point["id"]


@pytest.mark.parametrize("engine", ["portable", "hangs"])
def test_no_worker_outlives_a_dpubench_that_was_killed(real: RealBench, engine: str) -> None:
    plan = real.plan(cycles={"min": 2000, "max": 2000}, budget="300s")
    process = real.start("run", plan, "--name", "r", "--operator", "sha256", "--engine", engine, "--engine-dir", str(FIXTURES))
    wait_for(measuring(real, least_bytes=1500), process)
    [worker] = real.workers()
    process.kill()
    process.communicate(timeout=20)
    until = time.monotonic() + 5
    while Path(f"/proc/{worker}").exists() and worker in real.workers():
        assert time.monotonic() < until, "the worker is still there"
        time.sleep(0.02)
    assert real.record("r")["status"] == "running", "nobody could write the end"
    if engine == "portable":
        before = places(real)
        # Use shorter rounds for the rest: a run's stored plan can be replaced like any plan.
        shutil.copy(real.folder / real.plan("short.yaml", operators=["sha256"], engines=["portable"]), real.results / "r/plan.yaml")
        resumed = real("resume", "r", "--engine-dir", str(FIXTURES))
        assert resumed.returncode == 0, resumed.stderr
        assert set(before) <= set(places(real))


def test_two_runs_at_once_in_one_directory(real: RealBench) -> None:
    first = real.start("run", real.plan(cycles={"min": 5000, "max": 5000}), "--name", "r", *HASHES)
    wait_for(measuring(real), first)
    for arguments in (("run", "p.yaml", "--name", "r", *HASHES), ("resume", "r")):
        second = real(*arguments)
        assert second.returncode == 2
        assert f"another dpubench (process {first.pid}) is writing this run" in second.stderr
    assert real("show", "r").returncode == 0, "reading a run under way is no fault"
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    assert first.returncode == 130


# --- disks


def in_namespace(real: RealBench, mount: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``dpubench`` in its own mount namespace, after the shell line ``mount``; skip the test where that is not allowed."""
    shell = ["unshare", "-m", "sh", "-e", "-c"]
    if os.geteuid() != 0 or subprocess.run([*shell, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root and a mount namespace of its own")
    command = [sys.executable, "-m", "dpubench", *arguments]
    return subprocess.run(
        [*shell, f'{mount}\nexec "$@"', "sh", *command],
        cwd=real.folder, env=real.environment, text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_results_directory_on_a_read_only_file_system(real: RealBench) -> None:
    real.results.mkdir()
    done = in_namespace(real, "mount -t tmpfs -o ro tmpfs results", "run", real.plan(), "--name", "r", *HASHES)
    assert done.returncode == 1, done.stderr
    assert "results" in done.stderr and "read-only" in done.stderr and "--results DIR" in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 3
    assert real.workers() == []


def test_a_results_directory_of_somebody_else(real: RealBench) -> None:
    real.results.mkdir(mode=0o555)
    command = [sys.executable, "-m", "dpubench", "run", real.plan(), "--name", "r", *HASHES]
    if os.geteuid() == 0:  # permissions do not stop root: run as another user
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        if subprocess.run([*command[:4], sys.executable, "-c", "import typer"], capture_output=True, check=False).returncode != 0:
            pytest.skip("this Python cannot be run by another user")
        for folder in (real.folder, *(f for f in real.folder.parents if "pytest" in f.name)):
            folder.chmod(0o755)
    done = subprocess.run(command, cwd=real.folder, env=real.environment, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert "no permission" in done.stderr and "--results DIR" in done.stderr and "Traceback" not in done.stderr


def test_a_full_disk_keeps_what_was_measured(real: RealBench) -> None:
    real.results.mkdir()
    kept = real.folder / "kept"
    mount = f"mount -t tmpfs -o size=128k tmpfs results; trap 'cp -a results \"{kept}\"' EXIT"
    plan = real.plan(cycles={"min": 200, "max": 200}, rounds={"min": 20, "max": 20})
    # No exec here: the trap must save the disk's files before the namespace ends and the disk with it.
    done = in_namespace(real, mount + '\n"$@"; exit $?', "run", plan, "--name", "r", *HASHES)
    assert done.returncode == 1, done.stderr
    assert "the disk is full" in done.stderr and "dpubench resume" in done.stderr and "Traceback" not in done.stderr
    assert real.workers() == []
    assert windows_of(RunDirectory(kept / "r")).num_rows > 0
    assert not schemas.fault("run", RunDirectory(kept / "r").record()), "run.json is whole although the disk was full"


# --- after a run


def test_a_run_directory_copied_elsewhere_still_works(real: RealBench, tmp_path: Path) -> None:
    assert real("run", real.plan(), "--name", "r", *HASHES).returncode == 0
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(real.results / "r", elsewhere / "copy")
    shutil.copytree(real.results / "r", elsewhere / "other")
    shutil.rmtree(real.results)
    copy, other = str(elsewhere / "copy"), str(elsewhere / "other")
    for arguments in (
        ("show", copy), ("show", copy, "--json"), ("report", copy, "-o", str(tmp_path / "out.html")), ("compare", copy, other),
        ("export", copy, "--csv"), ("export", copy, "--json", "--anonymous"),
    ):  # fmt: skip
        done = real(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        assert "Traceback" not in done.stderr
        assert done.stdout or "report" in arguments
        if "--json" in arguments:
            json.loads(done.stdout)
    assert "sha256" in (tmp_path / "out.html").read_text()
    asked = real("query", "select count(*) as n from windows", "--results", str(elsewhere))
    assert asked.returncode == 0, asked.stderr
    rows = windows_of(RunDirectory(elsewhere / "copy")).num_rows
    assert asked.stdout.split()[-1] == str(2 * rows), asked.stdout


# --- streams and exit statuses


def test_json_streams_are_json_line_by_line(real: RealBench) -> None:
    done = real("run", real.plan(), "--name", "r", "--json", *HASHES)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    known = schemas.schema("event")["$defs"].keys()
    assert {"hello", "prepared", "verified", "window", "done", "stage", "summary"} <= {e["event"] for e in events}
    assert not [f for e in events if e["event"] in known and (f := schemas.fault("event", e, e["event"]))]
    assert events[-1]["event"] == "summary" and events[-1]["status"] == 0 and Path(real.folder / events[-1]["report"]).is_file()
    for arguments in (("list",), ("list", "engines"), ("list", "plans"), ("list", "inputs"), ("describe", "sha256"), ("doctor",), ("show",),
                      ("run", "p.yaml", "--dry-run", *HASHES), ("query", "select 1 as one"), ("compare", "r", "r")):  # fmt: skip
        done = real(*arguments, "--json")
        assert done.returncode == 0, (arguments, done.stderr)
        json.loads(done.stdout)


def test_exit_statuses(real: RealBench) -> None:
    plan = real.plan()
    sha256 = ("run", plan, "--operator", "sha256", "--footprint", "resident")
    assert real(*sha256, "--name", "fine", "--engine", "portable").returncode == 0
    wrong = real(*sha256, "--name", "wrong", "--engine", "portable,wrong", "--engine-dir", str(FIXTURES))
    assert wrong.returncode == 1, wrong.stderr
    assert real(*sha256, "--size", "0B").returncode == 2
    assert real("run", "--operator", "sha255").returncode == 2
    alone = real(*sha256, "--name", "alone", "--engine", "wrong", "--engine-dir", str(FIXTURES))
    assert alone.returncode == 4, alone.stderr
    for name in ("fine", "wrong", "alone"):
        assert not schemas.fault("run", real.record(name)), name


def test_a_regression_is_a_status_of_its_own(real: RealBench) -> None:
    """A real run with other times of its windows: steady ones, and in a copy twice as long ones for one operator."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    plan = real.plan(rounds={"min": 8, "max": 8})
    # Three pairs of operator and engine beside a point are needed to tell how the machine moved.
    names = ("--operator", "sha256,sha1,md5,crc", "--engine", "portable", "--footprint", "resident")
    assert real("run", plan, "--name", "old", *names).returncode == 0
    shutil.copytree(real.results / "old", real.results / "new")
    for name, factor in (("old", 1.0), ("new", 2.0)):
        for file in (real.results / name / "rounds").glob("*.parquet"):
            table = pq.read_table(file)
            elapsed = [
                w["operations"] * (200 + i % 3) * (factor if w["point"].startswith("sha256") else 1.0) for i, w in enumerate(table.to_pylist())
            ]
            column = table.schema.get_field_index("elapsed_ns")
            pq.write_table(table.set_column(column, "elapsed_ns", pa.array(elapsed, pa.float64())), file)
    same = real("compare", "old", "old", "--fail-on", "regression")
    assert same.returncode == 0, same.stdout
    worse = real("compare", "old", "new", "--fail-on", "regression")
    assert worse.returncode == 3, worse.stdout + worse.stderr
    assert "slower" in worse.stdout
    assert real("compare", "old", "new").returncode == 0, "only --fail-on asks for a status"
    assert real("compare", "new", "old", "--fail-on", "regression").returncode == 0, "faster is no regression"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("study: operators\noperators: [sha257]\n", ("bad.yaml:2", "did you mean 'sha256'")),
        ("study: operators\nsizes: [0B]\n", ("bad.yaml:2", "sizes")),
        ("study: operators\nsizes: [-1B]\n", ("bad.yaml:2", "sizes")),
        ("study: operators\noperators: sha256\nsizes: [10GB]\n", ("bad.yaml:3", "sizes")),
        ("study: operators\nsizes: [1500]\n", ("bad.yaml:2", "unit")),
        ("study: operators\nthreads: [0]\n", ("bad.yaml:2", "threads")),
        ("study: operators\nfootprint: stream\n", ("bad.yaml:2", "did you mean 'footprints'")),
        ("study: operators\noperators: sha256\nengines: [opensll]\n", ("bad.yaml:3", "did you mean 'openssl'")),
        ("study: operators\n  sizes: [\n", ("bad.yaml:",)),
        ("", ("bad.yaml",)),
    ],
)
def test_plans_that_make_no_sense_are_refused_with_file_line_and_word(real: RealBench, text: str, words: tuple[str, ...]) -> None:
    (real.folder / "bad.yaml").write_text(text)
    done = real("run", "bad.yaml", "--dry-run")
    assert done.returncode == 2, (done.stdout, done.stderr)
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr and not real.results.exists()
