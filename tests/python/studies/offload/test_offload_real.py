"""Tests of study offload with the real program under this machine's Open MPI: one host and one worker, and more ranks than cores."""

from __future__ import annotations

import csv
import io
import os
import shutil
import signal
import time

import pytest
from dpubench import schemas
from dpubench.studies.offload.session import remove_leftovers
from offload_bench import left_in_memory, one
from real_program import BUILD, RealBench

PROGRAM = BUILD / "dpubench-offload"
pytestmark = [
    pytest.mark.skipif(shutil.which("mpirun.openmpi") is None, reason="Open MPI is not installed (package openmpi-bin)"),
    pytest.mark.skipif(not PROGRAM.is_file(), reason="dpubench-offload is not built here: it needs an MPI library and UCX"),
]
SHORT = ("--set", "window=5ms")


def ranks(real: RealBench) -> set[int]:
    """Return the ranks that were started from the test's folder. Those of tests that run meanwhile are not among them."""
    return set(real.workers("dpubench-offload"))


def test_one_host_and_one_worker_have_figures(real: RealBench) -> None:
    done = real(*one(*SHORT, "--name", "r", workload="gather", paths="staged,direct", size="64KiB", hosts="1"))
    assert done.returncode == 0, done.stdout + done.stderr
    record = real.record("r")
    assert schemas.fault("run", record) == "" and record["clock"]["hz"] > 0
    rows = {row["param_path"]: row for row in csv.DictReader(io.StringIO(real("export", "r", "--csv").stdout))}
    for row in rows.values():
        assert all(float(row[f"{phase}_us"]) > 0 for phase in ("reference", "communication", "compute", "overlapped", "mpi_blocking"))
    assert float(rows["staged"]["memory_per_byte"]) > float(rows["direct"]["memory_per_byte"]), "a copy in the worker's memory"
    if len(os.sched_getaffinity(0)) > 1:
        assert float(rows["staged"]["efficiency"]) > 0
    assert not ranks(real) and not left_in_memory(real)


def test_more_ranks_than_cores_prove_that_every_byte_arrives(real: RealBench) -> None:
    hosts = str(len(os.sched_getaffinity(0)) + 1)
    done = real(*one(*SHORT, "--name", "r", workload="allgather-shared,reduce", size="4KiB", hosts=hosts, workers="2"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proves correctness only" in real("show", "r").stdout


def test_the_ranks_of_a_killed_dpubench_end(real: RealBench) -> None:
    running = real.start(*one("--set", "window=500ms", "--name", "r", size="1MiB", hosts="1"))
    given_up = time.monotonic() + 40
    while not (own := ranks(real)) and time.monotonic() < given_up:
        time.sleep(0.05)
    assert own
    running.send_signal(signal.SIGKILL)
    running.communicate()
    while ranks(real) and time.monotonic() < given_up:
        time.sleep(0.05)
    assert not ranks(real)
    remove_leftovers()  # as the next run does
    assert not left_in_memory(real)
