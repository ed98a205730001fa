"""Tests of measured runs of study offload: the scripted program behind scripted launchers, and behind this machine's Open MPI."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench
from dpubench import schemas
from offload_bench import LAUNCHERS, calls, left_in_memory, one, with_program

real_mpi = pytest.mark.skipif(shutil.which("mpirun.openmpi") is None, reason="Open MPI is not installed (package openmpi-bin)")


@pytest.fixture
def scripted(bench: Bench) -> Bench:
    return with_program(bench, *LAUNCHERS)


def rows_of(bench: Bench, run: str = "latest") -> dict[str, dict[str, str]]:
    done = bench("export", run, "--csv")
    assert done.returncode == 0, done.stderr
    return {row["id"]: row for row in csv.DictReader(io.StringIO(done.stdout))}


def reasons_of(bench: Bench, run: str = "latest") -> dict[str, str]:
    """Return why quantities of a run have no value, by quantity."""
    found = json.loads(bench("export", run, "--figures", "--json").stdout)["figures"]
    return {figure["quantity"]: figure["unavailable"] for figure in found if figure["unavailable"]}


def marked_processes(bench: Bench) -> list[str]:
    """Return the command lines of the processes that runs of ``bench`` started and that still exist."""
    mark = f"SCRIPT={bench.folder / 'script.json'}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
    return found


def test_a_run_has_figures_of_every_phase(scripted: Bench) -> None:
    scripted.script(jobs=str(scripted.folder / "jobs"))
    done = scripted(*one("--name", "r", workload="gather", paths="staged,direct", hosts="1", rounds="6"))
    assert done.returncode == 0, done.stdout + done.stderr
    record = scripted.record("r")
    assert schemas.fault("run", record) == "" and record["launcher"]["name"] == "openmpi" and len(record["rounds"]) == 6
    rows = rows_of(scripted, "r")
    assert list(rows) == [f"gather/{path},block/hosts=1,workers=1,bytes=4096,work=cache" for path in ("staged", "direct")]
    row = next(iter(rows.values()))
    reference, communication, compute, overlapped = 10.05, 12.06, 10.05, 12.5625  # the median of two iterations that differ by 1 %
    wanted = {
        "reference_us": reference, "communication_us": communication, "compute_us": compute, "overlapped_us": overlapped, "mpi_blocking_us": 9.045,
        "mpi_nonblocking_us": 18.09, "efficiency": reference / communication, "efficiency_published_percent": 100 * reference / communication,
        "reference_over_communication": reference / communication, "longest_over_overlapped": communication / overlapped,
        "reference_over_overlapped": reference / overlapped, "overlap_percent": 100 * (communication + compute - overlapped) / compute,
        "step_gain": (reference + compute) / overlapped, "compute_share_percent": 50.0, "memory_per_byte": 4.0, "host_memory_per_byte": 2.0,
        "imbalance": 1.0,
    }  # fmt: skip
    assert {name: pytest.approx(value, rel=1e-6) for name, value in wanted.items()} == {name: float(row[name]) for name in wanted}
    assert len(calls(scripted)) == 6, "a fresh launch in each round"
    told = [json.loads(line) for line in (scripted.folder / "jobs").read_text().splitlines()]
    assert all(schemas.fault("offload-job", entry["job"]) == "" for entry in told)
    assert told[0]["environment"]["OMPI_MCA_pml"] == "ob1" and told[0]["environment"]["UCX_POSIX_DIR"].startswith("/dev/shm/dpubench-offload-")
    as_root = "1" if os.geteuid() == 0 else None
    assert told[0]["environment"]["OMPI_ALLOW_RUN_AS_ROOT"] == told[0]["environment"]["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == as_root
    assert not left_in_memory(scripted)


def test_hosts_and_workers_are_pinned_apart(scripted: Bench) -> None:
    scripted.script(jobs=str(scripted.folder / "jobs"))
    assert scripted(*one()).returncode == 0
    job = json.loads((scripted.folder / "jobs").read_text())["job"]
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 1:
        assert not set(job["cpus"]["host"]) & set(job["cpus"]["worker"])
    else:
        assert job["cpus"] == {"host": cpus, "worker": cpus}


def test_efficiencies_of_ranks_that_share_cores_are_withheld(scripted: Bench) -> None:
    scripted.script(cores=2)
    dry = scripted(*one("--dry-run"))
    assert "up to 3 ranks on 2 cores" in dry.stdout and "efficiencies are withheld" in dry.stdout
    assert scripted(*one("--name", "r")).returncode == 0
    row = next(iter(rows_of(scripted, "r").values()))
    assert row["efficiency"] == row["overlap_percent"] == row["step_gain"] == "" and float(row["overlapped_us"]) > 0
    assert "correctness-only" in row["warnings"]
    assert reasons_of(scripted, "r")["efficiency"] == "3 ranks on 2 cores: this run proves correctness only"
    shown = scripted("show", "r").stdout
    assert "efficiencies of 1 point: 3 ranks on 2 cores: this run proves correctness only" in shown
    page = (scripted.results / "r" / "report.html").read_text(encoding="utf-8")
    assert "3 ranks on 2 cores: this run proves correctness only" in page


def test_two_ranks_on_two_cores_have_an_efficiency(scripted: Bench) -> None:
    scripted.script(cores=2)
    assert scripted(*one("--name", "r", hosts="1")).returncode == 0
    assert float(next(iter(rows_of(scripted, "r").values()))["efficiency"]) > 0


def test_gain_over_the_share_of_compute(scripted: Bench) -> None:
    assert scripted(*one("--set", "ratios=0.25,4", "--name", "r", hosts="1")).returncode == 0
    shares = {row["param_ratio"]: float(row["compute_share_percent"]) for row in rows_of(scripted, "r").values()}
    assert shares["0.25"] < 50 < shares["4"]
    assert "Gain over the share of time that the host computes" in (scripted.results / "r" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--set", "workers=0"), "the number of workers must lie between 1 and 65536, not 0"),
        (("--set", "workers=1,3", "--set", "hosts=2"), "3 workers are more than the 2 hosts that they work for: ask for 2 at most"),
        (("--set", "transport=verbs"), "the program has no transport 'verbs': it has ucx"),
        (("--set", "host_file=hosts"), "host_file needs worker_file"),
        (("--set", "host_cpus=0"), "host_cpus needs worker_cpus"),
        (("--size", "65MiB"), "messages have 1 B to 64MiB"),
        (("--target", "qemu:aarch64"), "ranks are started from this machine"),
        (("--target", "model:osu-9x9"), "there is no such cluster; did you mean 'osu-8x8'?"),
        (("--set", "cluster.nodes=2"), "holds values of a modelled cluster"),
        (("--target", "model:osu-8x8", "--set", "cluster.node=2"), "there is no such parameter 'node'; did you mean 'nodes'?"),
        (("--target", "model:osu-8x8", "--set", "workers=65"), "65 workers are more than the 64 hosts"),
    ],
)
def test_bad_input_is_refused_in_a_dry_run(scripted: Bench, words: tuple[str, ...], wanted: str) -> None:
    done = scripted("run", "offload", *words, "--dry-run")
    assert done.returncode == 2 and wanted in done.stderr.replace("\n", " "), done.stderr
    assert not (scripted.folder / "calls").exists() and not scripted.results.exists()


def test_bad_input_is_refused_before_anything_starts(scripted: Bench) -> None:
    done = scripted(*one(workers="3"))
    assert done.returncode == 2 and "3 workers are more than the 2 hosts that they work for" in done.stderr
    assert not (scripted.folder / "calls").exists() and not scripted.results.exists()


def machines(bench: Bench, **files: str) -> tuple[str, ...]:
    words: list[str] = []
    for name, text in files.items():
        (bench.folder / name).write_text(text)
        words += ["--set", f"{name}_file={bench.folder / name}"]
    return tuple(words)


@pytest.mark.parametrize("dry", [True, False])
def test_a_file_with_an_unknown_machine_is_refused(scripted: Bench, dry: bool) -> None:
    words = machines(scripted, host="# the hosts\nlocalhost slots=2\n", worker="no-such-host.invalid\n")
    done = scripted(*one(*words, *(["--dry-run"] if dry else [])))
    assert done.returncode == 2 and f"{scripted.folder / 'worker'}:1: there is no host 'no-such-host.invalid'" in done.stderr
    assert not (scripted.folder / "calls").exists()


def test_too_few_slots_are_refused(scripted: Bench) -> None:
    done = scripted(*one(*machines(scripted, host="localhost slots=1\n", worker="localhost slots=1\n"), "--dry-run"))
    assert done.returncode == 2 and "has 1 slots for 2 hosts" in done.stderr


def test_a_launcher_that_is_missing_names_its_package(bench: Bench) -> None:
    with_program(bench)
    bench.environment["PATH"] = str(bench.folder / "path")
    for mpi, package in (("Open MPI v4", "openmpi-bin"), ("MPICH 4", "mpich")):
        bench.script(mpi=mpi)
        done = bench(*one("--dry-run"))
        assert done.returncode == 2 and f"install the package {package}" in done.stderr
    bench.script()
    done = bench(*one("--set", "launcher=slurm", "--dry-run"))
    assert done.returncode == 2 and "install the package slurm-client" in done.stderr


def test_a_launcher_of_another_library_is_refused(scripted: Bench) -> None:
    done = scripted(*one("--set", "launcher=mpich", "--dry-run"))
    assert done.returncode == 2 and "every rank would be alone" in done.stderr and "launcher=openmpi" in done.stderr


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("die", "it was killed by SIGKILL"),
        ("hang", "it hung: no event for"),
        ("fail", "block 3 of host 1 holds 0xA5"),
        ("rubbish", "it printed a line that is not JSON"),
    ],
)
@pytest.mark.parametrize("phase", ["reference", "overlapped"])
def test_a_fault_fails_its_point_and_names_the_phase(scripted: Bench, kind: str, message: str, phase: str) -> None:
    scripted.script(faults=[{"point": "gather", "phase": phase, "kind": kind}])
    done = scripted(*one("--name", "r", "--set", "limit=100ms", "--set", "silence=1s", workload="broadcast,gather"))
    assert done.returncode == 1, done.stdout + done.stderr
    (failure,) = scripted.record("r")["failures"]
    assert failure["phase"] == phase and message in failure["message"] and failure["point"].startswith("gather/")
    rows = {name.partition("/")[0]: row for name, row in rows_of(scripted, "r").items()}
    assert float(rows["broadcast"]["overlapped_us"]) > 0 and rows["gather"]["overlapped_us"] == "", "what was measured is kept"
    assert not left_in_memory(scripted) and not marked_processes(scripted)


def test_the_answer_to_another_trial_is_no_result(scripted: Bench) -> None:
    scripted.script(faults=[{"point": "broadcast", "phase": "none", "kind": "wrong"}])
    done = scripted(*one())
    assert done.returncode != 0 and "the trial that was answered is another one" in done.stderr + done.stdout


def test_memory_that_cannot_be_registered(scripted: Bench) -> None:
    scripted.script(register="ucp_mem_map of 4096 B: Cannot allocate memory")
    done = scripted(*one("--name", "r"))
    assert done.returncode != 0 and "register" in json.dumps(scripted.record("r")["failures"])
    assert "ulimit -l" in done.stderr + done.stdout


def test_emulated_transfers_are_refused_or_labelled(scripted: Bench) -> None:
    scripted.script(emulated=True)
    done = scripted(*one("--name", "refused"))
    assert done.returncode != 0 and "one-sided" in done.stderr + done.stdout and "emulated=allow" in done.stderr + done.stdout
    assert scripted(*one("--set", "emulated=allow", "--name", "r")).returncode == 0
    assert "emulated-transfers" in next(iter(rows_of(scripted, "r").values()))["warnings"]


def test_nothing_that_arrives_is_told(scripted: Bench) -> None:
    scripted.script(arrived=0.0)
    assert scripted(*one("--name", "r")).returncode == 0
    assert "nothing-arrived" in next(iter(rows_of(scripted, "r").values()))["warnings"]


def test_a_transport_without_direct_access_says_so(scripted: Bench) -> None:
    scripted.script(direct=False)
    done = scripted(*one("--name", "r", paths="staged,direct"))
    assert done.returncode == 0, done.stderr
    rows = {row["param_path"]: row for row in rows_of(scripted, "r").values()}
    assert "no access to hosts' memory" in rows["direct"]["unavailable"] and rows["staged"]["overlapped_us"]


def test_workers_that_do_not_divide_the_hosts_are_imbalance(scripted: Bench) -> None:
    assert scripted(*one("--name", "r", hosts="4", workers="2,3")).returncode == 0
    rows = {row["param_workers"]: row for row in rows_of(scripted, "r").values()}
    assert "imbalance" in rows["3"]["warnings"] and "imbalance" not in rows["2"]["warnings"]
    assert float(rows["3"]["imbalance"]) == pytest.approx(1.5) and float(rows["2"]["imbalance"]) == 1


def test_each_launcher_gets_the_roles_in_blocks(scripted: Bench) -> None:
    files = machines(scripted, host="localhost slots=2\n", worker="127.0.0.1:1\n")
    for launcher, mpi in (("openmpi", "Open MPI v4"), ("mpich", "MPICH 4"), ("slurm", "Open MPI v4")):
        scripted.script(mpi=mpi)
        done = scripted(*one(*files, "--set", f"launcher={launcher}", "--name", launcher))
        assert done.returncode == 0, done.stderr
    program = str(scripted.programs / "dpubench-offload")
    openmpi, mpich, slurm = calls(scripted)
    words = " ".join(openmpi["words"])
    assert words.startswith("--bind-to none --oversubscribe -np 2 --hostfile ") and " : -np 1 --hostfile " in words
    assert words.endswith(f"{program} --role worker") and f"{program} --role host :" in words
    assert sorted(openmpi["files"].values()) == ["127.0.0.1 slots=1\n", "localhost slots=2\n"]
    words = " ".join(mpich["words"])
    assert mpich["launcher"] == "mpiexec.hydra" and f"-n 2 {program} --role host : -n 1 {program} --role worker" in words
    assert list(mpich["files"].values()) == ["localhost:2\n127.0.0.1:1\n"]
    assert slurm["launcher"] == "srun" and {"--multi-prog", "--distribution=arbitrary", "-n", "3"} <= set(slurm["words"])
    assert sorted(slurm["files"].values()) == [f"0-1 {program} --role host\n2 {program} --role worker\n", "localhost\nlocalhost\n127.0.0.1\n"]


def test_an_interrupted_run_is_resumed(scripted: Bench) -> None:
    running = scripted.start(*one("--name", "r", "--json", rounds="8"))
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line)["event"] == "figure":
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, out + err
    assert "kept" in err and not left_in_memory(scripted) and not marked_processes(scripted)
    done = scripted("resume", "r")
    assert done.returncode == 0 and scripted.record("r")["status"] == "complete", done.stderr


@real_mpi
def test_open_mpi_starts_both_roles(bench: Bench) -> None:
    with_program(bench)
    done = bench(*one("--name", "r"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert float(next(iter(rows_of(bench, "r").values()))["overlapped_us"]) > 0
    assert not left_in_memory(bench) and not marked_processes(bench)


@real_mpi
@pytest.mark.parametrize("kind", ["die", "hang"])
def test_open_mpi_leaves_no_rank_behind(bench: Bench, kind: str) -> None:
    with_program(bench)
    bench.script(faults=[{"point": "broadcast", "phase": "communication", "kind": kind}])
    done = bench(*one("--name", "r", "--set", "limit=100ms", "--set", "silence=1s"))
    assert done.returncode != 0 and bench.record("r")["failures"][0]["phase"] == "communication", done.stderr
    assert not left_in_memory(bench) and not marked_processes(bench)


@real_mpi
def test_ctrl_c_ends_open_mpi_and_its_ranks(bench: Bench) -> None:
    with_program(bench)
    bench.script(faults=[{"point": "broadcast", "phase": "overlapped", "kind": "hang"}])
    running = bench.start(*one("--name", "r", "--json"))
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line).get("phase") == "overlapped":
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, out + err
    given_up = time.monotonic() + 5
    while marked_processes(bench) and time.monotonic() < given_up:
        time.sleep(0.05)
    assert not left_in_memory(bench) and not marked_processes(bench)


def test_a_run_has_a_page_with_its_charts(scripted: Bench) -> None:
    assert scripted(*one("--name", "r", workload="broadcast,gather", size="4KiB,64KiB", hosts="4", workers="1,2,4")).returncode == 0
    page = (scripted.results / "r" / "report.html").read_text(encoding="utf-8")
    for title in ("Broadcast, staged: pure communication over workers", "Gather, staged: pure communication over workers"):
        assert title in page
    shown: Any = scripted("show", "r").stdout
    assert "started by openmpi" in shown
