"""Engines of device APIs beside DPDK's own test programs, with the same driver, algorithm, size and burst, alternating on the same CPU.

A process of dpdk-test-crypto-perf per half of a cycle measures each size several times, for a few milliseconds each, which stand for windows.
dpdk-test-compress-perf has several processes for each size. Our program keeps its points prepared and runs windows on command. Medians of both are
compared. (One long run of theirs beside short windows of ours would measure the scheduler on a busy machine.)

All leave the input unchanged: dpdk-test-crypto-perf is told to work out of place. dpdk-test-compress-perf cuts a file into consecutive messages; our
program draws messages from the same file. Only compression is compared. For decompression, the test program makes its streams with the driver
itself, while our streams are the same for every engine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from dpubench import targets
from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.workers.process import Worker, WorkerFault

from benchmarks import common
from benchmarks.common import Bench, Claim, Event, Rates, Verdict

LEAST = 0.95
BURST = 32
#: Our jobs in flight. The test programs enqueue a burst and then dequeue at most one, whether or not the last came back. A driver that holds jobs
#: until its lanes are full, as aesni_mb does, can always fill them with the next burst. With only one burst in flight, our program would make it
#: flush half-empty lanes.
IN_FLIGHT = 2 * BURST
OPERATIONS = 16_000  #: operations in one window of dpdk-test-crypto-perf: a few milliseconds, as in ours
WINDOWS = 8  #: windows per size and side in a half; medians count. dpdk-test-crypto-perf takes 32 sizes at most: 8 for each of our four
PROCESSES = 3  #: processes of dpdk-test-compress-perf, which measures once, for each size in a half
CYCLES = 3
#: Further sets of rounds while a size is undecided.
MORE_TIMES = 3
LIMIT_S = 120
SAMPLE_BYTES = 1 << 20  #: part of the corpus for dpdk-test-compress-perf
EAL = ("--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level=error")


@dataclass(frozen=True)
class Subject(ABC):
    """An algorithm on a driver, by our names and in the words of DPDK's test program."""

    operator: str
    params: dict[str, str]
    engine: str
    driver: str
    program: ClassVar[str]
    sizes: ClassVar[tuple[int, ...]]

    @property
    def title(self) -> str:
        return f"{self.operator} {common.label(self.params)}, {self.driver}".replace(" -,", ",")

    def inputs(self, bench: Bench) -> dict[str, list[str]]:
        """Return the inputs of our job that differ from the defaults."""
        return {}

    @abstractmethod
    def theirs(self, bench: Bench, cpus: Sequence[int]) -> dict[int, float]:
        """Return operations per second of the test program, by size. Its worker has our thread's CPU. @raises RuntimeError"""

    def run(self, bench: Bench, cpus: Sequence[int], words: Sequence[str]) -> list[str]:
        """Return the test program's output. Its leftover folder lies in the bench's scratch folder. @raises RuntimeError with its last words."""
        head = [self.program, *EAL, "--file-prefix", f"bench-{os.getpid()}", "--lcores", f"0@{cpus[0]},1@{cpus[-1]}", "--vdev", self.driver, "--"]
        try:
            environment = {**os.environ, "RUNTIME_DIRECTORY": str(bench.scratch)}
            done = subprocess.run([*head, *words], env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{self.program}: no end within {LIMIT_S} s") from None
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines()
            raise RuntimeError(f"{self.program}: ended with status {done.returncode}: {said[-1] if said else 'without a word'}")
        return done.stdout.splitlines()

    def medians(self, found: Mapping[int, Sequence[float]]) -> dict[int, float]:
        """Return the median rate per size. @raises RuntimeError when a size is missing."""
        if missing := [str(size) for size in self.sizes if not found.get(size)]:
            raise RuntimeError(f"{self.program}: printed no result for {', '.join(missing)} B")
        return {size: float(np.median(rates)) for size, rates in found.items()}


@dataclass(frozen=True)
class Crypto(Subject):
    """An algorithm of dpdk-test-crypto-perf."""

    words: str
    program: ClassVar[str] = "dpdk-test-crypto-perf"
    sizes: ClassVar[tuple[int, ...]] = (64, 256, 1024, 4096)

    def theirs(self, bench: Bench, cpus: Sequence[int]) -> dict[int, float]:
        sizes = ",".join(str(s) for s in self.sizes * WINDOWS)
        words = [
            "--ptest", "throughput", "--devtype", self.driver, *self.words.split(), "--buffer-sz", sizes, "--burst-sz", str(BURST),
            "--total-ops", str(OPERATIONS), "--csv-friendly", "--silent",
        ]  # fmt: skip
        found: dict[int, list[float]] = {}
        for row in (text.split(",") for text in self.run(bench, cpus, words)):
            # lcore, size, burst, enqueued, dequeued, failed enqueues, failed dequeues, million operations a second, Gb/s, cycles
            if len(row) == 10 and row[1].isdigit():
                found.setdefault(int(row[1]), []).append(float(row[7]) * 1e6)
        return self.medians(found)


@dataclass(frozen=True)
class Compress(Subject):
    """Compression with dpdk-test-compress-perf."""

    iterations: int  #: passes over the sample in a window: some milliseconds
    program: ClassVar[str] = "dpdk-test-compress-perf"
    sizes: ClassVar[tuple[int, ...]] = (1024, 16384)

    def inputs(self, bench: Bench) -> dict[str, list[str]]:
        return {"corpus": [str(_sample(bench))]}

    def theirs(self, bench: Bench, cpus: Sequence[int]) -> dict[int, float]:
        found = {}
        for size in self.sizes:
            words = [
                "--ptest", "throughput", "--driver-name", self.driver, "--input-file", str(_sample(bench)), "--seg-sz", str(size),
                "--max-num-sgl-segs", "1", "--num-iter", str(self.iterations), "--compress-level", self.params["level"].rpartition("-")[2],
                "--huffman-enc", "dynamic", "--burst-sz", str(BURST),
            ]  # fmt: skip
            # lcore, level, compressed bytes, ratio in percent, Gb/s of compression, of decompression
            rows = [line.split() for _ in range(PROCESSES) for line in self.run(bench, cpus, words)]
            found[size] = [float(row[4]) * 1e9 / 8 / size for row in rows if len(row) == 6 and row[0].isdigit()]
        return self.medians(found)


#: AES-GCM has 8 bytes of additional data on their side and 16 on ours: both are one block of GHASH, by the same path of the library. A debugger
#: shows that dpdk-test-crypto-perf of DPDK 22.11 hands the library 12 bytes when asked for 16, and the library is faster with exactly 12.
SUBJECTS: tuple[Subject, ...] = (
    Crypto(
        "aes", {"mode": "gcm", "direction": "encrypt", "key_bits": "128"}, "cryptodev-aesni-mb", "crypto_aesni_mb",
        "--optype aead --aead-algo aes-gcm --aead-op encrypt --aead-key-sz 16 --aead-iv-sz 12 --aead-aad-sz 8 --digest-sz 16"
        " --out-of-place --segment-sz 8192",
    ),
    Crypto(
        "sha256", {}, "cryptodev-aesni-mb", "crypto_aesni_mb",
        "--optype auth-only --auth-algo sha2-256 --auth-op generate --auth-key-sz 0 --digest-sz 32",
    ),
    Crypto(
        "aes", {"mode": "cbc", "direction": "encrypt", "key_bits": "128"}, "cryptodev-openssl", "crypto_openssl",
        "--optype cipher-only --cipher-algo aes-cbc --cipher-op encrypt --cipher-key-sz 16 --cipher-iv-sz 16 --out-of-place --segment-sz 8192",
    ),
    Compress("deflate", {"direction": "compress", "level": "compressdev-1"}, "compressdev-isal", "compress_isal", 2),
    Compress("deflate", {"direction": "compress", "level": "compressdev-1"}, "compressdev-zlib", "compress_zlib", 1),
)  # fmt: skip


def _sample(bench: Bench) -> Path:
    """Return the file of messages for both sides: the beginning of the default corpus."""
    sample = bench.scratch / "sample"
    if not sample.exists():
        data = b""
        for name in bench.inputs.for_job().get("corpus", []):
            place = Path(name)
            for file in sorted(f for f in place.rglob("*") if f.is_file()) if place.is_dir() else [place]:
                data += file.read_bytes()[: SAMPLE_BYTES - len(data)]
        if not data:
            raise RuntimeError("there is no corpus: see `dpubench doctor`")
        sample.write_bytes(data)
    return sample


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield a claim per algorithm and driver, with its worst size; the details hold all."""
    for subject in SUBJECTS:
        if subject.operator not in bench.catalog.names:
            continue
        claim = f"{subject.title}: rate over {subject.program}'s, burst {BURST}"
        engine = next((e for e in bench.catalog.operator(subject.operator)["engines"] if e["name"] == subject.engine), None)
        reason = f"no engine {subject.engine} in this build" if engine is None else str(engine["reason"])
        if shutil.which(subject.program) is None:
            reason = f"{subject.program} is not installed (package dpdk-dev)"
        try:
            yield Claim("device", claim, reason, f"at least {LEAST}", "not run") if reason else _compared(bench, subject, claim)
        except (WorkerFault, RuntimeError) as fault:
            yield Claim("device", claim, str(fault), f"at least {LEAST}", "not run")


def _compared(bench: Bench, subject: Subject, claim: str) -> Claim:
    rates: Rates = common.Measured().rates
    rounds = 2 if bench.quick else bench.rounds
    found: dict[int, Interval] = {}
    verdicts: list[Verdict] = ["undecided"]
    for more in range(1 if bench.quick else 1 + MORE_TIMES):
        if "undecided" not in verdicts:
            break
        for number in range(rounds * more, rounds * (more + 1)):
            _round(bench, subject, number, 1 if bench.quick else CYCLES, rates)
        found = {size: statistics.ratio_interval(common.ratios(rates, f"theirs {size}", f"ours {size}")) for size in subject.sizes}
        verdicts = [common.at_least(interval, LEAST) for interval in found.values()]
    low = min(found, key=lambda size: found[size].value)
    details = {
        str(size): {"ratio": asdict(interval)}
        | {f"{side}_gbps": common.rate(rates, f"{side} {size}").value * size * 8 / 1e9 for side in ("ours", "theirs")}
        for size, interval in found.items()
    }
    return Claim("device", claim, f"{common.span(found[low])} at {low} B", f"at least {LEAST}", common.worst(verdicts), details)


def _round(bench: Bench, subject: Subject, number: int, cycles: int, rates: Rates) -> None:
    """Run ours, theirs, theirs, ours, with a fresh process of ours for the round, and of theirs each time."""
    cpus = sorted(os.sched_getaffinity(0))
    groups = []
    for size in subject.sizes:
        one = common.group(subject.operator, subject.params | {"size": str(size)}, {f"ours {size}": subject.engine}, name=str(size), burst=BURST)
        one["points"][0]["in_flight"] = IN_FLIGHT
        groups.append(one)
    job = json.loads(common.job(bench, groups, number, cycles, [cpus[-1]])) | {"control": "stepped"}
    job["inputs"] |= subject.inputs(bench)
    line = json.dumps(job).encode() + b"\n"
    with Worker(targets.find("local"), str(bench.program), [], silence_s=common.SILENCE_S, limit_s=common.LIMIT_S) as worker:
        worker.send(line)
        _until(worker, "ready")
        for cycle in range(cycles):
            for half in (0, 1):
                for side in ("ours", "theirs") if half == 0 else ("theirs", "ours"):
                    found = _ours(worker, subject.sizes) if side == "ours" else subject.theirs(bench, cpus)
                    for size, rate in found.items():
                        rates[f"{side} {size}"][number][(cycle, half)] = rate
        worker.send(b'{"end": true}\n', last=True)
        while worker.next_event() is not None:
            pass


def _ours(worker: Worker, sizes: Sequence[int]) -> dict[int, float]:
    found = {}
    for size in sizes:
        windows = []
        for _ in range(WINDOWS):
            worker.send(f'{{"window": "ours {size}"}}\n'.encode())
            event = _until(worker, "window")
            windows.append(event["operations"] / event["elapsed_ns"] * 1e9)
        found[size] = float(np.median(windows))
    return found


def _until(worker: Worker, kind: str) -> Event:
    """Return the next event of ``kind``. @raises RuntimeError with the failure that came instead."""
    while (event := worker.next_event()) is not None:
        if event["event"] == "failure":
            raise RuntimeError(event["message"])
        if event["event"] == kind:
            return event
    raise RuntimeError(f"the worker ended without a {kind} event")
