"""Half a minute of tests/soak.py: half of it for each workload."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import ROOT
from end_to_end_sessions import enough_cpus
from real_program import BUILD

sys.path.insert(0, str(ROOT / "tests"))

import soak


@pytest.mark.skipif(not (BUILD / "dpubench-traffic").is_file(), reason="the programs of the datapath are not built: DPDK is not here")
@pytest.mark.skipif(not enough_cpus(), reason="a client and a server need a CPU each")
def test_memory_stays_flat_and_no_packet_is_unaccounted_for() -> None:
    environment = {**os.environ, "DPUBENCH_PROGRAMS": str(BUILD), "SECONDS": "30"}
    done = subprocess.run([sys.executable, str(ROOT / "tests/soak.py")], env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == list(soak.WORKLOADS)


def test_growth_is_told() -> None:
    assert soak.grown({"client": 1000, "server": 1000}, {"client": 1020, "server": 900}) == ""
    assert soak.grown({"client": 1000, "server": 1000}, {"client": 1000, "server": 1021}).startswith("server held 1000 KiB")


def test_a_number_that_is_none_is_refused() -> None:
    environment = {**os.environ, "SECONDS": "an hour"}
    done = subprocess.run([sys.executable, str(ROOT / "tests/soak.py")], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "SECONDS=an hour" in done.stderr
