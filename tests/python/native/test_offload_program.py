"""Tests of dpubench-offload under mpirun: all combinations deliver every byte, and faults are named. native/offload has those without MPI."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_program import BUILD, kinds

PROGRAM = BUILD / "dpubench-offload"
MPIRUN = shutil.which("mpirun")

pytestmark = [
    pytest.mark.skipif(not PROGRAM.exists(), reason="dpubench-offload is not built: MPI or UCX was not found when this build was configured"),
    pytest.mark.skipif(MPIRUN is None, reason="mpirun is not installed"),
]

#: Open MPI refuses to run as root unless both are set, and takes a machine with more ranks than CPUs as a mistake.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
ENVIRONMENT |= {"OMPI_MCA_hwloc_base_binding_policy": "none"}
PHASES = ["reference", "communication", "compute", "overlapped", "mpi_blocking", "mpi_nonblocking"]
#: A trial that takes so long that something can happen to each of its phases.
LONG: dict[str, Any] = {"pattern": "allgather", "bytes": 1 << 20, "iterations": 500}


def job(hosts: int = 2, workers: int = 1, **more: Any) -> dict[str, Any]:
    """Return a job."""
    return {"schema": "dpubench.offload-job/1", "seed": 5, "hosts": hosts, "workers": workers, "largest_bytes": 1 << 20, "limit_s": 30} | more


def trial(pattern: str = "gather", **more: Any) -> dict[str, Any]:
    """Return a command."""
    shape = {"path": "staged", "assignment": "block", "bytes": 4096, "work": "cache", "iterations": 2}
    return {"command": "trial", "pattern": pattern} | shape | more


def command(hosts: int, workers: int, roles: tuple[str, str] = ("host", "worker")) -> list[str]:
    """Return the words that start ranks."""
    blocks = [["-np", str(n), str(PROGRAM), "--role", role] for n, role in zip((hosts, workers), roles, strict=True)]
    return [str(MPIRUN), *blocks[0], ":", *blocks[1]]


class Launched:
    """Ranks under way: lines go in, events come out."""

    def __init__(self, folder: Path, words: list[str], **environment: str) -> None:
        self.errors = folder / "errors"
        # The launcher's own files, of which a killed one leaves some, go with the test's folder.
        (folder / "t").mkdir(exist_ok=True)
        places = dict.fromkeys(("TMPDIR", "OMPI_MCA_btl_vader_backing_directory", "UCX_POSIX_DIR"), str(folder / "t"))
        own = os.environ | ENVIRONMENT | places | environment
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=own, start_new_session=True)
        self.events: list[dict[str, Any]] = []
        self.rest = b""

    def send(self, *lines: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
        self.process.stdin.flush()

    def read(self, until_s: float = 120) -> Iterator[dict[str, Any]]:
        """Yield events as they come, until the ranks end."""
        assert self.process.stdout is not None
        end = time.monotonic() + until_s
        while True:
            line, newline, rest = self.rest.partition(b"\n")
            if newline:
                self.rest = rest
                self.events.append(json.loads(line))
                yield self.events[-1]
                continue
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, f"no event came: {self.errors.read_text()}"
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                return
            self.rest += chunk

    def until(self, event: str, **fields: Any) -> dict[str, Any]:
        """Return the next event of this kind with these fields."""
        for one in self.read():
            if one["event"] == event and all(one.get(key) == value for key, value in fields.items()):
                return one
        raise AssertionError(f"no {event}: {self.events} {self.errors.read_text()}")

    def end(self) -> int:
        """Read what is left, and return the launcher's exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        for _ in self.read():
            pass
        return self.process.wait(30)

    def pids(self) -> list[int]:
        return [rank["pid"] for rank in kinds(self.events, "opened")[0]["ranks"]]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Any]:
    """Return a function that starts ranks; they are ended, and must have left no shared memory."""
    started: list[Launched] = []

    def start(words: list[str], **environment: str) -> Launched:
        started.append(Launched(tmp_path, words, **environment))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
            one.process.wait(30)
        pids = one.pids() if kinds(one.events, "opened") else []
        for pid in pids:
            wait_gone(pid)
        # The kernel removes a segment with the last process that has it mapped, and that may be just ending.
        end = time.monotonic() + 10
        while left := segments_of(pids):
            assert time.monotonic() < end, left
            time.sleep(0.05)
        assert list((tmp_path / "t").glob("ucx*")) == []


def last_phase(ranks: Launched) -> str:
    """Return the phase that was told last."""
    return str(kinds(ranks.events, "progress")[-1]["phase"])


def segments_of(pids: list[int]) -> list[str]:
    """Return the lines of /proc that tell of shared memory that one of the processes made."""
    return [line for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:] if int(line.split()[4]) in pids]


def wait_gone(pid: int) -> None:
    """Wait until a process is gone, or is a zombie of a launcher that is."""
    for _ in range(300):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} is still there")


def run(launch: Any, lines: list[dict[str, Any]], hosts: int = 2, workers: int = 1, **environment: str) -> tuple[int, Launched]:
    ranks = launch(command(hosts, workers), **environment)
    ranks.send(*lines)
    return ranks.end(), ranks


def test_the_catalog_says_which_combinations_there_are() -> None:
    done = subprocess.run([PROGRAM, "--list"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    catalog = json.loads(done.stdout)["catalog"]
    missing = {(c["pattern"], c["path"]) for c in catalog["combinations"] if c["reason"]}
    assert missing == {(pattern, "direct") for pattern in ("allgather", "reduce", "allreduce")}
    assert len(catalog["combinations"]) == len(catalog["patterns"]) * len(catalog["paths"]) == 16
    assert [t["name"] for t in catalog["transports"]] == ["ucx"] and catalog["mpi"]


def test_without_a_role_it_says_how_to_start_it() -> None:
    done = subprocess.run([PROGRAM], input=b"{}\n", capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "mpirun -np H dpubench-offload --role host" in json.loads(done.stdout.splitlines()[-1])["message"]


@pytest.mark.parametrize("path", ["staged", "direct"])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_combination_delivers_every_byte(launch: Any, path: str, workers: int) -> None:
    patterns = ["broadcast", "scatter", "gather", "allgather", "allgather-shared", "all-to-all", "reduce", "allreduce"]
    impossible = {"allgather", "reduce", "allreduce"} if path == "direct" else set()
    wanted = [(p, a, b) for p in patterns if p not in impossible for a in ("cyclic", "block", "topology") for b in (1, 65_537)]
    lines = [trial(p, path=path, assignment=a, bytes=b) for p, a, b in wanted]
    status, ranks = run(launch, [job(workers=workers), *lines, {"end": True}], workers=workers)
    assert status == 0, ranks.errors.read_text()
    opened = kinds(ranks.events, "opened")[0]
    assert opened["one_sided"] | {"transports": ""} == {"put": True, "get": True, "emulated": False, "direct": True, "transports": ""}
    assert [r["role"] for r in opened["ranks"]] == ["host", "host", *["worker"] * workers]
    trials = kinds(ranks.events, "trial")
    assert [(t["pattern"], t["assignment"], t["message_bytes"]) for t in trials] == wanted
    for one in trials:
        blocks = {"broadcast": 2, "scatter": 2, "gather": 2, "reduce": 1, "allreduce": 2}.get(one["pattern"], 4)
        assert one["verified_bytes"] == 5 * blocks * one["message_bytes"]
        # Hosts saw every byte in their memory before they made a call.
        assert one["arrived_during_compute_bytes"] == blocks * one["message_bytes"]
        assert list(one["phases"]) == sorted(PHASES)
        assert all(len(phase["ns"]) == 2 and min(phase["ns"]) > 0 for phase in one["phases"].values())
        assert sum(one["served"]) == 2
    phases = [e["phase"] for e in kinds(ranks.events, "progress")]
    assert phases[:10] == ["wire-up", "register", "one-sided", "reference", "communication", "calibrate", *PHASES[2:]]


def test_the_largest_message_and_work_from_memory(launch: Any) -> None:
    largest = 64 << 20
    lines = [job(1, 1, largest_bytes=largest), trial("all-to-all", bytes=largest, work="memory", iterations=1), {"end": True}]
    status, ranks = run(launch, lines, hosts=1)
    assert status == 0, ranks.errors.read_text()
    one = kinds(ranks.events, "trial")[0]
    assert one["verified_bytes"] == 5 * largest and one["bytes"]["worker_memory"] == 2 * largest
    assert one["bytes"]["host_memory"] == 2 * largest + one["phases"]["compute"]["host_memory"] > 2 * largest


def test_both_roles_are_pinned_apart(launch: Any) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    status, ranks = run(launch, [job(1, 1, cpus={"host": cpus[:1], "worker": cpus[-1:]}), {"end": True}], hosts=1)
    assert status == 0, ranks.errors.read_text()
    assert [(r["cpu"], r["pinned"]) for r in kinds(ranks.events, "opened")[0]["ranks"]] == [(cpus[0], True), (cpus[-1], True)]


def test_emulated_transfers_are_refused(launch: Any) -> None:
    status, ranks = run(launch, [job(), trial(), {"end": True}], UCX_TLS="tcp")
    assert status == 4
    failure = ranks.events[-1]
    assert (failure["event"], failure["phase"]) == ("failure", "one-sided") and "tcp" in failure["message"] and "emulated" in failure["message"]


def test_emulated_transfers_are_labelled_when_allowed(launch: Any) -> None:
    lines = [job(emulated="allow"), trial("allreduce"), trial(path="direct"), trial("all-to-all"), {"end": True}]
    status, ranks = run(launch, lines, UCX_TLS="tcp")
    assert status == 1  # of the direct path
    assert kinds(ranks.events, "opened")[0]["one_sided"]["emulated"] is True
    assert "direct needs memory of hosts" in kinds(ranks.events, "failure")[0]["message"]
    trials = kinds(ranks.events, "trial")
    assert [t["verified_bytes"] for t in trials] == [5 * 2 * 4096, 5 * 4 * 4096]
    assert [t["arrived_during_compute_bytes"] for t in trials] == [0, 0]


def test_memory_that_ucx_did_not_allocate_is_not_one_sided(launch: Any) -> None:
    status, ranks = run(launch, [job(), {"end": True}], UCX_ALLOC_PRIO="heap")
    assert status == 4
    assert ranks.events[-1]["phase"] == "one-sided" and "puts do not complete while hosts compute" in ranks.events[-1]["message"]


def test_memory_that_cannot_be_registered(launch: Any) -> None:
    status, ranks = run(launch, [job(), {"end": True}], UCX_ALLOC_PRIO="md:none")
    assert status == 4
    assert ranks.events[-1]["phase"] == "register"
    assert "cannot allocate and register" in ranks.events[-1]["message"] and "largest_bytes" in ranks.events[-1]["message"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"workers": 3}, "/workers: must be at most the number of hosts, 2"),
        ({"workers": 0}, "/workers: must be a whole number from 1"),
        ({"transport": "carrier-pigeon"}, "/transport: must be ucx"),
        ({"hosts": 3}, "the launcher started 2 ranks with --role host and 1 with --role worker, but the job has hosts 3"),
    ],
)
def test_a_job_that_does_not_fit(launch: Any, changes: dict[str, Any], expected: str) -> None:
    status, ranks = run(launch, [job(**changes), {"end": True}])
    assert status in (2, 4)
    assert expected in ranks.events[-1]["message"]


def test_roles_in_the_wrong_order(launch: Any) -> None:
    ranks = launch(command(1, 1, ("worker", "host")))
    ranks.send(job(1, 1))
    assert ranks.end() == 4
    assert "put the block of hosts first" in ranks.events[-1]["message"]


def test_a_bad_command_does_not_end_the_ranks(launch: Any) -> None:
    status, ranks = run(launch, [job(), trial("smoke"), {"hurry": 1}, trial(bytes=2 << 20), trial(), {"end": True}])
    assert status == 1
    assert [(f["phase"], f["message"].split(" ")[0]) for f in kinds(ranks.events, "failure")] == [("trial", m) for m in ("the", "a", "/bytes:")]
    assert len(kinds(ranks.events, "trial")) == 1 and ranks.events[-1]["failures"] == 3


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("phase", PHASES)
def test_a_rank_that_dies_names_the_phase(launch: Any, phase: str, rank: int) -> None:
    ranks = launch(command(2, 1))
    ranks.send(job(), trial(), trial(**LONG), trial(**LONG))
    ranks.until("trial")
    ranks.until("progress", phase=phase)
    os.kill(ranks.pids()[rank], signal.SIGKILL)
    assert ranks.end() != 0
    assert kinds(ranks.events, "trial"), "the partial result stays"
    # On a busy machine the signal may come a phase later than it is sent. What counts is that the phase in which it came is named.
    failure = ranks.events[-1]
    assert (failure["event"], failure["phase"]) == ("failure", last_phase(ranks))
    assert "the launcher ends all ranks when one dies" in failure["message"]


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_rank_that_hangs_ends_at_the_limit(launch: Any, rank: int) -> None:
    ranks = launch(command(2, 1))
    ranks.send(job(limit_s=4), trial(), *[trial(**LONG | {"iterations": 100})] * 2)
    ranks.until("trial")
    ranks.until("progress", phase="communication")
    os.kill(ranks.pids()[rank], signal.SIGSTOP)
    assert ranks.end() != 0
    assert kinds(ranks.events, "trial")
    if rank == 0:  # it cannot tell; another one ends all
        assert f"phase {last_phase(ranks)}: did not end within 6 s" in ranks.errors.read_text()
    else:
        assert (ranks.events[-1]["event"], ranks.events[-1]["phase"]) == ("failure", last_phase(ranks))
        assert "did not end within 4 s (limit_s)" in ranks.events[-1]["message"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_launcher_ends(launch: Any, how: signal.Signals) -> None:
    ranks = launch(command(2, 1))
    ranks.send(job(), trial(**LONG))
    ranks.until("progress", phase="communication")
    os.kill(ranks.process.pid, how)
    assert ranks.end() != 0
    for pid in ranks.pids():
        wait_gone(pid)


def test_all_ranks_end_with_the_input(launch: Any) -> None:
    status, ranks = run(launch, [job(), trial()])
    assert status == 0 and ranks.events[-1]["event"] == "done" and ranks.events[-1]["trials"] == 1
