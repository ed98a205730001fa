"""Tests of sweeps on a Dask cluster of this machine: a real scheduler and real workers; one worker is killed in the middle."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from dpubench import programs
from dpubench.errors import EnvironmentFault, Interrupted, UserError
from dpubench.simulation import cluster, simulator, sweep
from dpubench.simulation.sweep import Outcome
from dpubench.workers.process import StopRequest
from sweep_fixtures import Files, directly, long, make_traces, sims, simulators


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Files]:
    return make_traces(tmp_path_factory.mktemp("traces"))


@pytest.fixture
def stop() -> Iterator[StopRequest]:
    request = StopRequest()
    yield request
    request.close()


class Cluster:
    """A scheduler on loopback and its workers, each a process of one thread."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self._folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")

    def _start(self, module: str, *words: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"{module}{len(self.processes)}.log").open("wb") as log:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *words]
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, env=self._environment)
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        place = ["--local-directory", str(self._folder)]
        return self._start("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", *place)

    def wait_for(self, workers: int) -> None:
        import distributed

        with distributed.Client(self.address, timeout=60, set_as_default=False) as client:  # type: ignore[no-untyped-call]  # the library has no types
            client.wait_for_workers(workers, timeout=60)

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "dask")
    yield made
    made.end()


def test_a_killed_worker_loses_nothing_and_nothing_comes_twice(two: tuple[Files, Files], stop: StopRequest, dask: Cluster, tmp_path: Path) -> None:
    victim, _ = dask.worker(), dask.worker()
    dask.wait_for(2)
    wanted = [*sims(two, 10), *(long(two[0], f"long{i}", 4 + i) for i in range(6))]
    found: list[Outcome] = []
    pids: list[int] = []
    for outcome in sweep.simulate(wanted, processes=0, dask=dask.address, cache=tmp_path / "kept", stop=stop):
        found.append(outcome)
        # Kill the worker in the middle of a simulation: its simulator must end with it.
        if not pids and len(found) >= 10 and (pids := simulators(victim.pid)):
            victim.kill()
    assert pids, "the worker was never seen at work"
    assert victim.wait() == -signal.SIGKILL
    assert sorted(o.id for o in found) == sorted(s.id for s in wanted)
    results = {o.id: o.result for o in found}
    for simulation in wanted:
        assert results[simulation.id] == directly(simulation)
    assert not any(o.cached or o.failure for o in found)
    assert len(list((tmp_path / "kept").iterdir())) == len(wanted)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    # A sweep without Dask gives the same results to the last digit.
    here = {o.id: o.result for o in sweep.simulate(wanted, processes=2, cache=None, stop=stop)}
    assert here == results


def test_failures_there_are_outcomes(two: tuple[Files, Files], stop: StopRequest, dask: Cluster, tmp_path: Path) -> None:
    dask.worker()
    good, broken, absent = sims(two, 3)
    broken.processor["window"]["instructions"] = 0
    absent = long(Files(tmp_path / "absent", "d" * 64), "absent", 1)
    found = {o.id: o for o in sweep.simulate([good, broken, absent], processes=1, dask=dask.address, cache=None, stop=stop)}
    assert found[good.id].result == directly(good)
    assert "processor/window/instructions: must be" in found[broken.id].failure
    assert f"does not see {tmp_path / 'absent'}: set XDG_CACHE_HOME to a folder that all machines" in found["absent"].failure


def test_a_stop_ends_what_runs_there(two: tuple[Files, Files], stop: StopRequest, dask: Cluster, tmp_path: Path) -> None:
    worker = dask.worker()
    dask.wait_for(1)

    def strike() -> None:
        until = time.monotonic() + 60
        while not simulators(worker.pid) and time.monotonic() < until:
            time.sleep(0.05)
        stop.set(signal.SIGINT)

    threading.Thread(target=strike).start()
    with pytest.raises(Interrupted):
        list(sweep.simulate([long(two[0], "endless", 100_000)], processes=1, dask=dask.address, cache=tmp_path, stop=stop))
    until = time.monotonic() + 30
    while simulators(worker.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert simulators(worker.pid) == []
    assert worker.poll() is None  # the worker goes on
    (outcome,) = sweep.simulate(sims(two, 1), processes=1, dask=dask.address, cache=tmp_path, stop=StopRequest())
    assert outcome.result


def test_a_worker_of_another_build_says_so(two: tuple[Files, Files], stop: StopRequest, dask: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    dask.worker()
    monkeypatch.setattr(simulator, "digest_of_program", lambda _path: "0" * 64)  # only here: the worker is another process
    (outcome,) = sweep.simulate(sims(two, 1), processes=1, dask=dask.address, cache=None, stop=stop)
    assert "has no dpubench-cores of the same build: install it, or set DPUBENCH_PROGRAMS there" in outcome.failure


def test_a_worker_takes_its_own_program_where_the_path_is_another(tmp_path: Path) -> None:
    own = simulator.program()
    digest = simulator.digest_of_program(own)
    assert cluster._program_of(str(own), digest) == str(own)
    assert cluster._program_of(str(tmp_path / "none"), digest) == str(programs.directory() / programs.CORES)
    assert cluster._program_of(str(own), "0" * 64) is None


def test_a_scheduler_that_goes_away_is_said_and_what_is_done_is_kept(
    two: tuple[Files, Files], stop: StopRequest, dask: Cluster, tmp_path: Path
) -> None:
    import distributed.config  # noqa: F401
    from dask import config

    dask.worker()
    dask.wait_for(1)
    wanted = [*sims(two, 3), long(two[0], "long", 2000)]
    # The time for which a client waits for the scheduler to come back.
    with (
        config.set({"distributed.comm.timeouts.connect": "2s"}),
        pytest.raises(EnvironmentFault, match="the scheduler went away; finished simulations are kept"),
    ):
        for outcome in sweep.simulate(wanted, processes=1, dask=dask.address, cache=tmp_path / "kept", stop=stop):
            if len(list((tmp_path / "kept").iterdir())) == 3:
                assert outcome.result
                dask.scheduler.kill()
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_a_cluster_without_workers_is_said(
    two: tuple[Files, Files], stop: StopRequest, dask: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_NO_WORKER_S", 3.0)
    with pytest.raises(EnvironmentFault, match=f"had no worker for 3 s: start some with `dask worker {dask.address}`"):
        list(sweep.simulate(sims(two, 1), processes=1, dask=dask.address, cache=None, stop=stop))


def test_what_there_is_not_is_said(two: tuple[Files, Files], stop: StopRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(address: str) -> None:
        list(sweep.simulate(sims(two, 1), processes=1, dask=address, cache=None, stop=stop))

    monkeypatch.setattr(cluster, "_CONNECT_S", 1.0)
    with pytest.raises(EnvironmentFault, match=r"--dask tcp://127\.0\.0\.1:9: no scheduler answers"):
        begin("tcp://127.0.0.1:9")
    with pytest.raises(UserError, match="--dask warp://x: is not the address of a scheduler"):
        begin("warp://x")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"pip install 'dpubench\[dask\]'"):
        begin("tcp://127.0.0.1:9")
