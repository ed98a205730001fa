"""Runs of studies stress, headroom, link and offload for the browser: imported from tables, one of link on this machine, one of a model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Rates of three targets by stressor, in operations per second.
STRESSORS = {
    "cpu": (1000, 2000, 3000), "af-alg": (5000, 2500, 4000), "matrix": (80, 200, 90), "memcpy": (300, 900, 950), "pipe": (7e5, 9e5, 8e5),
    "sock": (1200, 4100, 3900), "stream": (40, 160, 70), "zlib": (11, 42, 41),
}  # fmt: skip
PLATFORMS = ("bf2", "host", "arm<i>&")


def measured_reports(folder: Path) -> dict[str, Path]:
    """Make the runs in ``folder``; return the paths of their reports, by name."""
    results, runs = _stress_tables()
    for name, lines in (("results.csv", results), ("runs.csv", runs), ("pktgen.csv", list(_sweep()))):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    _dpubench(folder, "import", "results.csv", "runs.csv", "--study", "stress", "--name", "stress", "--set", "reference=host")
    _dpubench(folder, "import", "pktgen.csv", "--study", "headroom", "--name", "headroom")
    once = ("--rounds", "1", "--set", "duration=1s", "--set", "directions=forward", "--set", "path=loopback", "--set", "streams=1")
    _dpubench(folder, "run", "link", "--name", "link", *once, "--workload", "throughput", "--set", "sizes=1KiB,64KiB")
    patterns = ("--workload", "gather,allgather", "--set", "ratios=0.25,1,4", "--set", "work=cache,memory", "--size", "256KiB,4MiB")
    _dpubench(folder, "run", "offload", "--name", "offload", "--target", "model:osu-8x8", *patterns)
    return {name: folder / "results" / name / "report.html" for name in ("stress", "headroom", "link", "offload")}


def _dpubench(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [sys.executable, "-m", "dpubench", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)


def _stress_tables() -> tuple[list[str], list[str]]:
    """Return the rows of results and of runs: two durations, three repetitions that scatter by 1 %."""
    results = ["platform,run_seconds,repetition,stressor,bogo_ops,real_time,usr_time,sys_time,bogo_ops_per_s_real"]
    runs = ["platform,run_seconds,repetition,stress_ng_version,date,kernel,machine,cpus,totalram,pagesize"]
    for place, platform in enumerate(PLATFORMS):
        for seconds in (10, 60):
            for repetition in (1, 2, 3):
                runs.append(f"{platform},{seconds},{repetition},0.12.01,2021:02:04,5.4.0,aarch64,8,16737873920,4096")
                for stressor, rates in STRESSORS.items():
                    done = rates[place] * seconds * (1 + 0.01 * (repetition - 2))
                    results.append(f"{platform},{seconds},{repetition},{stressor},{done:.0f},{seconds}.0,1.0,1.0,0")
    return results, runs


def _sweep() -> Iterator[str]:
    """Yield a table of pktgen: a configuration per thread and burst, and a sweep over the delay."""
    yield "platform,mode,sweep,packet_bytes,threads,burst,clone_skb,delay_ns,throughput_mbps,std_mbps,device_mbps,mtu"
    for size in (128, 1500):
        for threads in (1, 2, 4):
            for burst in (1, 10):
                gbps = min(threads * burst**0.2 * size / 1500 * 6, 25)
                yield f"bf2,default,burst,{size},{threads},{burst},0,0,{gbps * 1000:.0f},20,25000,1500"
    for delay_us in (2, 4, 8, 12, 16, 24, 32):
        gbps = min(25, 4 * 10 * 1500 * 8 / delay_us / 1000)
        yield f"bf2,default,delay,1500,4,10,0,{delay_us * 1000},{gbps * 1000:.0f},20,25000,1500"
