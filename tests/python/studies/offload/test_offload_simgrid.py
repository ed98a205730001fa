"""The closed-form model of study offload against a simulation of every message (SimGrid, tests/simgrid/collectives.cpp)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from conftest import ROOT
from dpubench.studies.offload import cluster as clusters
from dpubench.studies.offload import prediction, trends
from dpubench.studies.offload.cluster import Cluster
from dpubench.studies.offload.prediction import predicted

#: Tolerances, as docs/offload-study.md states them. The closed form counts stages one after the other and sums the bytes of each resource.
LARGE, SMALL = 1 << 20, 64 << 10
REFERENCE = {LARGE: 0.01, SMALL: 0.03}  #: hosts alone
SPREAD = {LARGE: 0.01, SMALL: 0.04}  #: one worker or more on each node, all in the same stage
FEW = {LARGE: 0.12, SMALL: 0.16}  #: fewer workers than nodes, likewise
BOTH = 0.35  #: likewise, where a core needs as long for its many messages as the links for their bytes
FREE = 0.02  #: one worker or more on each node, each going on as soon as it can
ROOT_FREE = 0.14  #: likewise, where all workers read from the first one while it works for its own hosts
LONGEST = 2.0  #: fewer workers than nodes, each going on as soon as it can: the simulation takes at most so many times longer

Simulate = Callable[..., float]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the simulation, compiled."""
    if shutil.which("pkg-config") is None or subprocess.run(["pkg-config", "--exists", "simgrid"], check=False).returncode:
        pytest.skip("SimGrid is not installed (package libsimgrid-dev)")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "simgrid"], capture_output=True, text=True, check=True).stdout.split()
    made = tmp_path_factory.mktemp("simgrid") / "collectives"
    source = ROOT / "tests/simgrid/collectives.cpp"
    subprocess.run(["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(made), *flags], check=True, timeout=120)
    return made


@pytest.fixture
def simulate(program: Path) -> Simulate:
    def run(
        cluster: Cluster, phase: str, pattern: str, path: str, assignment: str = "block", workers: int = 1, size: int = LARGE,
        stages: str = "together",
    ) -> float:  # fmt: skip
        given = {
            "phase": phase, "pattern": pattern, "path": path, "assignment": assignment, "workers": workers, "bytes": size, "stages": stages,
            **{source.name: source.value for source in cluster.sources},
        }  # fmt: skip
        words = [str(program), *(f"{key}={value}" for key, value in given.items())]
        return float(subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout)

    return run


def small() -> Cluster:
    return clusters.changed(clusters.find("osu-8x8"), {"nodes": 4, "ranks_per_node": 4}, "a test")


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_reference_agrees(simulate: Simulate, size: int) -> None:
    c = small()
    for pattern in prediction.PATTERNS:
        told = predicted(c, pattern, "staged", "block", 1, size).reference_s
        assert told == pytest.approx(simulate(c, "reference", pattern, "staged", size=size), rel=REFERENCE[size]), pattern


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_workers_on_every_node_agree(simulate: Simulate, size: int) -> None:
    c = small()
    for (pattern, path), (workers, assignment) in product(prediction.STAGES, ((4, "topology"), (8, "block"), (16, "block"))):
        told = predicted(c, pattern, path, assignment, workers, size).communication_s
        seen = simulate(c, "communication", pattern, path, assignment, workers, size)
        assert told == pytest.approx(seen, rel=SPREAD[size]), (pattern, path, workers)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_fewer_workers_than_nodes_agree(simulate: Simulate, size: int) -> None:
    c = small()
    for (pattern, path), (workers, assignment) in product(prediction.STAGES, ((1, "block"), (2, "block"), (3, "topology"))):
        told = predicted(c, pattern, path, assignment, workers, size).communication_s
        seen = simulate(c, "communication", pattern, path, assignment, workers, size)
        many = size == SMALL and path == "direct" and pattern in ("allgather-shared", "all-to-all")
        assert told == pytest.approx(seen, rel=BOTH if many else FEW[size]), (pattern, path, workers, assignment)


def test_workers_that_go_on_as_soon_as_they_can(simulate: Simulate) -> None:
    c = small()
    for pattern, path in prediction.STAGES:
        for workers in (1, 4, 8):
            told = predicted(c, pattern, path, "block", workers, LARGE).communication_s
            seen = simulate(c, "communication", pattern, path, "block", workers, LARGE, "free")
            reads_from_first = pattern in ("allgather", "allreduce") and workers == c.nodes
            limit = 0.03 if path == "direct" and workers == 1 else ROOT_FREE if reads_from_first else FREE
            assert told == pytest.approx(seen, rel=limit), (pattern, path, workers)
        told = predicted(c, pattern, path, "block", 2, LARGE).communication_s
        seen = simulate(c, "communication", pattern, path, "block", 2, LARGE, "free")
        assert told <= 1.06 * seen and seen <= LONGEST * told, (pattern, path)


def test_trends_of_the_published_setting_hold_message_by_message(simulate: Simulate) -> None:
    c = clusters.find("osu-8x8")
    times = {
        pattern: {n: simulate(c, "communication", pattern, "staged", "block", n, LARGE, "free") for n in c.workers}
        for pattern in ("broadcast", "gather", "allgather")
    }
    assert min(times["broadcast"], key=times["broadcast"].__getitem__) == c.nodes
    assert times["gather"][c.nodes] > (1 + trends.EQUAL) * times["gather"][2], "so that this trend differs here too"
    assert times["gather"][1] > (1 + trends.STAGING) * simulate(c, "reference", "gather", "staged")
    course = [times["allgather"][n] for n in c.workers]
    assert course[:4] == sorted(course[:4], reverse=True) and course[3:] == sorted(course[3:])
