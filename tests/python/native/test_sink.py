"""Tests that ``keep()`` saves a timed loop from removal at -O3: the assembly with ``keep()`` and with an emptied one, so that the tests can fail."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

NATIVE = ROOT / "native"

#: A loop whose result nobody needs, and the harness's own loop on a lane that the compiler knows.
SOURCE = """
#include "measure/window.hpp"
#include "operators/driver.hpp"

extern "C" void multiplies(const std::uint64_t* in, std::uint64_t n) {
  std::uint64_t sink = 0;
  for (std::uint64_t i = 0; i < n; ++i) sink ^= in[i] * 0x9E3779B97F4A7C15U;
  dpubench::measure::keep(sink);
}

extern "C" void calls_nothing(std::uint64_t n) {
  std::uint64_t x = n;
  for (std::uint64_t i = 0; i < n; ++i) x = x * 0x9E3779B97F4A7C15U + i * x;
  dpubench::measure::keep(x);
}

extern "C" std::uint64_t steps(dpubench::LaneStepper& stepper, std::uint64_t bursts) { return stepper.dpubench::LaneStepper::step(bursts); }
"""

#: The compilers on this machine; without one the project could not have been built.
COMPILERS = [c for c in ("g++", "clang++-14", "clang++") if shutil.which(c)] or ["g++"]


def functions(compiler: str, include: list[Path], tmp_path: Path) -> dict[str, list[str]]:
    """Return the instructions of each function of SOURCE at -O3."""
    source, listing = tmp_path / "sink.cpp", tmp_path / "sink.s"
    source.write_text(SOURCE)
    command = [compiler, "-std=c++20", "-O3", "-DNDEBUG", "-S", *(f"-I{i}" for i in include), "-o", str(listing), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = {}
    name = ""
    for line in listing.read_text().splitlines():
        if label := re.match(r"(\w+):", line):
            name = label[1]
        elif re.match(r"\t\.size\t", line):
            name = ""
        elif name and re.match(r"\t[a-z]", line):
            found.setdefault(name, []).append(line.strip())
    return found


def multiplications(instructions: list[str]) -> int:
    """Return the number of scalar or vector multiplications, for x86-64 and aarch64."""
    return sum(bool(re.match(r"(imul|mul|madd|v?pmul)", i)) for i in instructions)


def foldings(instructions: list[str]) -> int:
    """Return the number of exclusive ors of two different operands (with itself, an exclusive or sets a register to zero)."""
    operands = [re.match(r"(?:v?p?xor[a-z]*|eor)\s+(.*)", i) for i in instructions]
    return sum(m is not None and len(set(re.split(r",\s*(?![^(]*\))", m[1].split("#")[0].strip()))) > 1 for m in operands)


def loops(instructions: list[str]) -> int:
    return sum(bool(re.match(r"(j(?!mp)[a-z]+|b\.[a-z]+|cbn?z)\s", i)) for i in instructions)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_sink_survives_the_optimiser(compiler: str, tmp_path: Path) -> None:
    kept = functions(compiler, [NATIVE], tmp_path)
    # The same header with an emptied keep(), in a folder searched before that of the real one.
    header = (NATIVE / "measure/window.hpp").read_text()
    emptied, lines = re.subn(r"^\s*asm volatile\(.*$", "  (void)value;", header, flags=re.MULTILINE)
    assert lines == 1, "keep() is no single line of assembly any more: adapt this test"
    (tmp_path / "measure").mkdir()
    (tmp_path / "measure/window.hpp").write_text(emptied)
    removed = functions(compiler, [tmp_path, NATIVE], tmp_path)

    assert multiplications(kept["multiplies"]) >= 1 and loops(kept["multiplies"]) >= 1
    assert multiplications(removed["multiplies"]) == 0 and loops(removed["multiplies"]) == 0, "without keep() the loop should vanish"
    assert multiplications(kept["calls_nothing"]) >= 1
    assert multiplications(removed["calls_nothing"]) == 0
    # The harness's loop calls lanes in any case. Without keep() it no longer reads their results.
    # (A compiler may leave the loop a separate function.)
    assert sum(foldings(i) for name, i in kept.items() if "step" in name) > sum(foldings(i) for name, i in removed.items() if "step" in name)
