"""A second build that does 3 % more work around every synchronous engine, live: the comparison must find it, whatever it does to the code's place.

The work is planted where a kernel is called (native/operators/lane.hpp): three bursts in a hundred run twice. It is planted in a copy of the
sources, so that the product knows nothing of it. It changes the code of every module around its kernel, as an unrelated change would.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics as plain
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from dpubench import programs
from dpubench.analysis import statistics
from dpubench.analysis.model import Comparison
from dpubench.errors import EnvironmentFault
from dpubench.studies.operators.comparison import compare_builds
from dpubench.studies.operators.model import RunSummary
from dpubench.studies.operators.summary import summarize

from benchmarks.bare import SUFFIX
from benchmarks.common import ROOT, Bench, Claim, Verdict
from benchmarks.instrument import EFFECT, SLOWED

#: Operators with short loops as kernels, which the place of the code affects most, and some whose work is in a library.
OPERATORS: Final = ("snappy", "lz77", "sha256", "toeplitz", "crc", "checksum", "md5", "memcpy")
QUICK_OPERATORS: Final = ("snappy", "toeplitz")
#: Three rounds of each layout: one value of the comparison is the median of a layout's rounds.
CYCLES: Final = 6
TURNS: Final = 3
_CALL: Final = "    return run(kernel_, burst);\n"
_MEMBER: Final = "  Burst* done_ = nullptr;\n"
_SOURCES: Final = ("meson.build", "meson_options.txt", "native")


def planted(text: str) -> str:
    """Return ``lane.hpp`` with 3 % more calls of each kernel. @raises EnvironmentFault when it is no longer written as expected"""
    if text.count(_CALL) != 1 or text.count("run(kernel_") != 1 or text.count(_MEMBER) != 1:
        raise EnvironmentFault(
            "native/operators/lane.hpp: a kernel is called otherwise than benchmarks/layouts.py expects: change _CALL and _MEMBER there"
        )
    again = f"    if ((owed_ += {round(100 * SLOWED)}) >= 100) {{\n      owed_ -= 100;\n      run(kernel_, burst);\n    }}\n"
    return text.replace(_CALL, again + _CALL).replace(_MEMBER, _MEMBER + "  std::uint32_t owed_ = 0;\n")


def slower_build(bench: Bench, operators: Sequence[str]) -> Path:
    """Return the folder of programs of a build with the work planted: its whole core, and the modules of ``operators``."""
    copy = bench.scratch / "slower"
    copy.mkdir()
    for name in _SOURCES:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)
    lane = copy / "native/operators/lane.hpp"
    lane.write_text(planted(lane.read_text(encoding="utf-8")), encoding="utf-8")
    layouts = programs.layouts(bench.program)
    # Naming every operator leaves out the datapath and the processor model, but no part of the core library.
    every = ",".join(bench.catalog.names)
    _built("meson", "setup", "build", f"-Donly={every}", f"-Dlayouts={layouts}", folder=copy)
    native = Path("native")
    folders = [native, *(native / programs.LAYOUTS / str(n) for n in range(1, layouts))]
    modules = [m.name for m in sorted((bench.programs / "engines").glob("*.so")) if m.name.partition("__")[0] in operators]
    targets = [f / name for f in folders for name in (programs.OPERATORS, *(f"engines/{m}" for m in modules))]
    _built("ninja", "-C", "build", "--quiet", *map(str, targets), folder=copy)
    return copy / "build/native"


def _built(command: str, *arguments: str, folder: Path) -> None:
    words = [str(ROOT / ".venv/bin" / command) if command == "meson" else command, *arguments]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EnvironmentFault(f"{' '.join(words[:2])}: failed: {(done.stderr or done.stdout)[-500:]}")


def plan(bench: Bench, operators: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return a plan for every synchronous engine of ``operators`` that can run here.

    It is resident, so that a repeated burst costs as much as the first time.
    """
    entries = [e for o in operators for e in bench.catalog.operator(o)["engines"]]
    engines = {e["name"] for e in entries if e["available"] and not e.get("in_flight") and not e["name"].endswith(SUFFIX)}
    return {
        "operators": list(operators), "engines": sorted(engines), "footprints": ["resident"], "budget": "30min",
        "rounds": {"min": rounds, "max": rounds},
        "cycles": {"min": CYCLES, "max": CYCLES}, "window": {"min": "3ms", "max": "20ms", "min_bursts": 20},
    }  # fmt: skip


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield the claim, and the part of the scatter that comes from the code's place."""
    operators = [o for o in (QUICK_OPERATORS if bench.quick else OPERATORS) if o in bench.catalog.names]
    layouts = programs.layouts(bench.program)
    rounds = bench.rounds if bench.quick else max(TURNS * layouts, statistics.MINIMUM_ROUNDS)
    slower = slower_build(bench, operators)
    # JSON is YAML.
    (bench.scratch / "layouts.yaml").write_text(json.dumps(plan(bench, operators, rounds)), encoding="utf-8")
    words = ("run", bench.scratch / "layouts.yaml", "--against", bench.programs, "--name", "layouts", "--results", bench.scratch / "results")
    done = bench.dpubench(*words, environment={"DPUBENCH_PROGRAMS": os.fspath(slower)})
    if done.returncode not in (0, 1):  # 1: a point failed; the other points still count
        raise EnvironmentFault(f"dpubench run --against: ended with status {done.returncode}: {done.stderr[-300:]}")
    run = summarize(bench.scratch / "results/layouts")
    yield judged(compare_builds(run, EFFECT))
    yield scatter(run)


def judged(rows: Sequence[Comparison]) -> Claim:
    """Return a claim on points that are all 3 % slower: at least 90 % are found, and none is called *faster*."""
    counts = Counter(row.verdict for row in rows)
    told = [row for row in rows if row.ratio is not None]
    share = counts["slower"] / len(told) if told else 0.0
    ratios = {row.configuration: {"ratio": r.value, "low": r.low, "high": r.high} for row in told if (r := row.ratio) is not None}
    wrong = [row.configuration for row in rows if row.verdict == "faster"]
    missed = [row.configuration for row in told if row.verdict != "slower"]
    text = f"{counts['slower']} of {len(told)} found ({100 * share:.0f} %), {len(wrong)} called faster"
    verdict: Verdict = "not run" if not told else "pass" if share >= 0.9 and not wrong else "MISSED"
    details = {"ratios": ratios, "faster": wrong, "not_found": missed, "truth": 1 / (1 + SLOWED)}
    return Claim("layouts", "3 % more work around every engine, live", text, "at least 90 % found, none called faster", verdict, details)


def scatter(run: RunSummary) -> Claim:
    """Return the effect of code layouts on a rate and their share of the scatter of rounds, over the points of ``run``."""
    known = [p for p in run.points if p.layout_share is not None and p.layout_deviation is not None]
    shares = {p.id: {"ratio": s.value, "low": s.low, "high": s.high} for p in known if (s := p.layout_share) is not None}
    deviations = sorted(p.layout_deviation for p in known if p.layout_deviation is not None)
    if not deviations:
        return Claim("layouts", "scatter that is due to code layout", "no layout came twice", "", "", {})
    typical = plain.median(s["ratio"] for s in shares.values())
    spread = f"median {100 * plain.median(deviations):.2f} %, largest {100 * deviations[-1]:.1f} % of the rate"
    text = f"{spread}; median {100 * typical:.0f} % of the variance"
    details = {"ratios": shares, "deviations": {p.id: p.layout_deviation for p in known}}
    return Claim("layouts", f"scatter that is due to code layout ({len(known)} points)", text, "", "", details)
