"""Engines of device APIs beside DPDK's own test programs on the same driver, algorithm, size and burst, alternating on the same CPU.

A process of dpdk-test-crypto-perf per half of a cycle measures each size several times, for a few milliseconds each, which stand for windows. Ours
holds its points prepared and runs as many windows on command; medians of both are compared. (One long run of theirs beside short windows of ours
would measure the scheduler where others use the machine.) Both leave the input as it is: theirs is told to work out of place.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from dpubench import targets
from dpubench.results import statistics
from dpubench.workers.process import Worker, WorkerFault

from benchmarks import common
from benchmarks.common import Bench, Claim, Event, Rates, Verdict

PROGRAM = "dpdk-test-crypto-perf"
LEAST = 0.95
SIZES = (64, 256, 1024, 4096)
#: Jobs in flight of both: dpdk-test-crypto-perf enqueues a burst and dequeues one.
BURST = 32
OPERATIONS = 16_000  #: of one window of theirs: a few milliseconds, as ours
WINDOWS = 8  #: of each size and side in a half; the medians count. As many as dpdk-test-crypto-perf takes sizes (32) for the four of ours
CYCLES = 3
LIMIT_S = 120


@dataclass(frozen=True)
class Subject:
    """An algorithm on a driver, under our names and in the words of dpdk-test-crypto-perf."""

    operator: str
    params: dict[str, str]
    engine: str
    driver: str
    words: str

    @property
    def title(self) -> str:
        return f"{self.operator} {common.label(self.params)}, {self.driver}".replace(" -,", ",")


SUBJECTS = (
    Subject(
        "aes", {"mode": "gcm", "direction": "encrypt", "key_bits": "128"}, "cryptodev-aesni-mb", "crypto_aesni_mb",
        "--optype aead --aead-algo aes-gcm --aead-op encrypt --aead-key-sz 16 --aead-iv-sz 12 --aead-aad-sz 16 --digest-sz 16"
        " --out-of-place --segment-sz 8192",
    ),
    Subject(
        "sha256", {}, "cryptodev-aesni-mb", "crypto_aesni_mb",
        "--optype auth-only --auth-algo sha2-256 --auth-op generate --auth-key-sz 0 --digest-sz 32",
    ),
    Subject(
        "aes", {"mode": "cbc", "direction": "encrypt", "key_bits": "128"}, "cryptodev-openssl", "crypto_openssl",
        "--optype cipher-only --cipher-algo aes-cbc --cipher-op encrypt --cipher-key-sz 16 --cipher-iv-sz 16 --out-of-place --segment-sz 8192",
    ),
)  # fmt: skip


def measure(bench: Bench) -> Iterator[Claim]:
    """A line per algorithm and driver: its worst size; the details hold all."""
    for subject in SUBJECTS:
        if subject.operator not in bench.catalog.names:
            continue
        claim = f"{subject.title}: rate over {PROGRAM}'s, burst {BURST}"
        engine = next((e for e in bench.catalog.operator(subject.operator)["engines"] if e["name"] == subject.engine), None)
        reason = f"no engine {subject.engine} in this build" if engine is None else str(engine["reason"])
        if shutil.which(PROGRAM) is None:
            reason = f"{PROGRAM} is not installed (package dpdk-dev)"
        try:
            yield Claim("device", claim, reason, f"at least {LEAST}", "not run") if reason else _compared(bench, subject, claim)
        except (WorkerFault, RuntimeError) as fault:
            yield Claim("device", claim, str(fault), f"at least {LEAST}", "not run")


def _compared(bench: Bench, subject: Subject, claim: str) -> Claim:
    rates: Rates = common.Measured().rates
    for number in range(2 if bench.quick else bench.rounds):
        _round(bench, subject, number, 1 if bench.quick else CYCLES, rates)
    found = {size: statistics.ratio_interval(common.ratios(rates, f"theirs {size}", f"ours {size}")) for size in SIZES}
    verdicts: list[Verdict] = [common.at_least(interval, LEAST) for interval in found.values()]
    low = min(found, key=lambda size: found[size].value)
    details = {
        str(size): {"ratio": asdict(interval)}
        | {f"{side}_gbps": common.rate(rates, f"{side} {size}").value * size * 8 / 1e9 for side in ("ours", "theirs")}
        for size, interval in found.items()
    }
    return Claim("device", claim, f"{common.span(found[low])} at {low} B", f"at least {LEAST}", common.worst(verdicts), details)


def _round(bench: Bench, subject: Subject, number: int, cycles: int, rates: Rates) -> None:
    """Ours, theirs, theirs, ours; a fresh process of ours for the round, and of theirs each time."""
    cpus = sorted(os.sched_getaffinity(0))
    groups = []
    for size in SIZES:
        one = common.group(subject.operator, subject.params | {"size": str(size)}, {f"ours {size}": subject.engine}, name=str(size), burst=BURST)
        one["points"][0]["in_flight"] = BURST
        groups.append(one)
    line = common.job(bench, groups, number, cycles, [cpus[-1]]).replace(b'"control": "auto"', b'"control": "stepped"')
    with Worker(targets.find("local"), str(bench.program), [], silence_s=common.SILENCE_S, limit_s=common.LIMIT_S) as worker:
        worker.send(line)
        _until(worker, "ready")
        for cycle in range(cycles):
            for half in (0, 1):
                for side in ("ours", "theirs") if half == 0 else ("theirs", "ours"):
                    found = _ours(worker) if side == "ours" else _theirs(subject, cpus)
                    for size, rate in found.items():
                        rates[f"{side} {size}"][number][(cycle, half)] = rate
        worker.send(b'{"end": true}\n', last=True)
        while worker.next_event() is not None:
            pass


def _ours(worker: Worker) -> dict[int, float]:
    found = {}
    for size in SIZES:
        windows = []
        for _ in range(WINDOWS):
            worker.send(f'{{"window": "ours {size}"}}\n'.encode())
            event = _until(worker, "window")
            windows.append(event["operations"] / event["elapsed_ns"] * 1e9)
        found[size] = float(np.median(windows))
    return found


def _until(worker: Worker, kind: str) -> Event:
    """@raises RuntimeError with the failure that came instead."""
    while (event := worker.next_event()) is not None:
        if event["event"] == "failure":
            raise RuntimeError(event["message"])
        if event["event"] == kind:
            return event
    raise RuntimeError(f"the worker ended without a {kind} event")


def _theirs(subject: Subject, cpus: Sequence[int]) -> dict[int, float]:
    """Operations per second by size. The worker has the CPU that our thread has. @raises RuntimeError with what the program said last."""
    sizes = ",".join(str(s) for s in SIZES * WINDOWS)
    command = [
        PROGRAM, "--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level=error", "--file-prefix", f"bench-{os.getpid()}",
        "--lcores", f"0@{cpus[0]},1@{cpus[-1]}", "--vdev", subject.driver,
        "--", "--ptest", "throughput", "--devtype", subject.driver, *subject.words.split(), "--buffer-sz", sizes, "--burst-sz", str(BURST),
        "--total-ops", str(OPERATIONS), "--csv-friendly", "--silent",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{PROGRAM}: no end within {LIMIT_S} s") from None
    found: dict[int, list[float]] = {}
    for row in (text.split(",") for text in done.stdout.splitlines()):
        # lcore, size, burst, enqueued, dequeued, failed enqueues, failed dequeues, million operations a second, Gb/s, cycles
        if len(row) == 10 and row[1].isdigit():
            found.setdefault(int(row[1]), []).append(float(row[7]) * 1e6)
    if done.returncode != 0 or sorted(found) != sorted(SIZES):
        said = (done.stdout + done.stderr).strip().splitlines()
        raise RuntimeError(f"{PROGRAM}: ended with status {done.returncode}: {said[-1] if said else 'without a word'}")
    return {size: float(np.median(windows)) for size, windows in found.items()}
