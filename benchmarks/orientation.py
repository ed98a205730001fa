"""Figures of other programs for the same algorithms, printed beside ours. For orientation: their work per message differs, so there is no verdict.

``openssl speed`` calls the cipher update without a new IV, additional data and tag per message by default. dpdk-test-crypto-perf has an enqueue and
a dequeue around each burst.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import common
from benchmarks.common import Bench, Claim

SIZES = (64, 1024)
LIMIT_S = 60
AES = {"mode": "gcm", "direction": "encrypt", "key_bits": "128"}
AES_PERF = "--optype aead --aead-algo aes-gcm --aead-op encrypt --aead-key-sz 16 --aead-iv-sz 12 --aead-aad-sz 16 --digest-sz 16"
SHA256_PERF = "--optype auth-only --auth-algo sha2-256 --auth-op generate --auth-key-sz 0 --digest-sz 32"


@dataclass(frozen=True)
class Subject:
    """An algorithm by our name and openssl's, with options for dpdk-test-crypto-perf."""

    operator: str
    params: dict[str, str]
    openssl: str
    perf: str


SUBJECTS = (Subject("aes", AES, "aes-128-gcm", AES_PERF), Subject("sha256", {}, "sha256", SHA256_PERF))


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield a claim per algorithm and size: our figure and those of the other programs."""
    names = set(bench.catalog.names)
    subjects = [s for s in SUBJECTS if s.operator in names]
    groups = []
    for subject in subjects:
        here = [e["name"] for e in bench.catalog.operator(subject.operator)["engines"] if e["available"] and e["name"] in ("openssl", "ipsec-mb")]
        for size in SIZES:
            key = f"{subject.operator}/{size}"
            groups.append(common.group(subject.operator, subject.params | {"size": str(size)}, {f"{key}/{e}": e for e in here}, name=key))
    measured = common.measure(bench, groups, range(2), 3)
    for subject in subjects:
        for size in SIZES:
            key = f"{subject.operator}/{size}/"
            found: dict[str, float | str] = {
                p.removeprefix(key): common.rate(measured.rates, p).value * size * 8 / 1e9 for p in measured.rates if p.startswith(key)
            }
            found |= {"openssl speed": openssl_speed(subject, size), "dpdk-test-crypto-perf": crypto_perf(subject, size)}
            words = [f"{name} {value:.3g} Gb/s" if isinstance(value, float) else f"{name}: {value}" for name, value in found.items()]
            yield Claim("orientation", f"{subject.openssl}, {size} B", "; ".join(words), "", "", {**found})


def openssl_speed(subject: Subject, size: int) -> float | str:
    """Return Gb/s of ``openssl speed``, or why there is no figure."""
    program = shutil.which("openssl")
    if program is None:
        return "not installed"
    command = [program, "speed", "-elapsed", "-seconds", "1", "-bytes", str(size), "-mr", "-evp", subject.openssl]
    done = _run(command)
    if isinstance(done, str):
        return done
    # +F:<index>:<algorithm>:<bytes per second>
    line = next((line for line in done.stdout.splitlines() if line.startswith("+F:")), "")
    return float(line.rsplit(":", 1)[1]) * 8 / 1e9 if line else f"no figure (status {done.returncode})"


def crypto_perf(subject: Subject, size: int) -> float | str:
    """Return Gb/s of dpdk-test-crypto-perf on the virtual device over ipsec-mb, or why there is no figure."""
    program = shutil.which("dpdk-test-crypto-perf")
    if program is None:
        return "not installed (package dpdk-dev)"
    # One lcore commands, the other measures: with one CPU there is none to measure on.
    eal = ["--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--no-shconf", "--lcores", "0,1", "--vdev", "crypto_aesni_mb0"]
    options = ["--ptest", "throughput", "--devtype", "crypto_aesni_mb", "--buffer-sz", str(size), "--total-ops", "500000", "--burst-sz", "32"]
    done = _run([program, *eal, "--", *options, *subject.perf.split(), "--silent", "--csv-friendly"])
    if isinstance(done, str):
        return done
    # Columns: lcore, buffer size, burst size, enqueued, dequeued, failed enqueues, failed dequeues, Mops, Gb/s, cycles per buffer.
    rows = [line.split(",") for line in done.stdout.splitlines() if line[:1].isdigit() and line.count(",") == 9]
    said = (done.stdout + done.stderr).strip().splitlines()
    return float(rows[0][8]) if rows else f"no figure (status {done.returncode}: {said[-1] if said else 'it said nothing'})"


def _run(command: list[str]) -> subprocess.CompletedProcess[str] | str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"no answer within {LIMIT_S} s"
