"""``scripts/tidy.py``: a source that clang-tidy found clean is checked again only when something that it depends on changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from conftest import ROOT

NINJA = """rule cxx
  command = g++ -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
build one.o: cxx ../one.cpp
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A source with a header, built by Ninja."""
    if shutil.which("clang-tidy-14") is None:
        pytest.skip("clang-tidy-14 is not installed")
    (tmp_path / "build").mkdir()
    (tmp_path / "one.hpp").write_text("#pragma once\ninline int one() { return 1; }\n")
    (tmp_path / "one.cpp").write_text('#include "one.hpp"\nint two() { return one() + 1; }\n')
    (tmp_path / ".clang-tidy").write_text("Checks: '-*,modernize-use-nullptr'\nHeaderFilterRegex: '.*'\n")
    (tmp_path / "build/build.ninja").write_text(NINJA)
    entry = {"directory": str(tmp_path / "build"), "command": "g++ -c ../one.cpp -o one.o", "file": "../one.cpp", "output": "one.o"}
    (tmp_path / "build/compile_commands.json").write_text(json.dumps([entry]))
    return tmp_path


def tidy(project: Path, sources: Sequence[str] = ("one.cpp",), more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    subprocess.run(["ninja", "-C", "build"], cwd=project, check=True, capture_output=True)
    command = [sys.executable, str(ROOT / "scripts/tidy.py"), "build", *sources]
    environment = {**os.environ, "XDG_CACHE_HOME": str(project / "cache"), **(more or {})}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_a_clean_source_is_checked_again_only_after_a_change_that_it_depends_on(project: Path) -> None:
    first = tidy(project)
    assert first.returncode == 0 and "1 sources, 0 clean before" in first.stdout, first.stdout + first.stderr
    assert "1 sources, 1 clean before" in tidy(project).stdout
    header = project / "one.hpp"
    header.write_text(header.read_text() + "inline int three() { return 3; }\n")
    assert "1 sources, 0 clean before" in tidy(project).stdout
    (project / ".clang-tidy").write_text("Checks: '-*,modernize-use-nullptr,modernize-use-override'\n")
    assert "1 sources, 0 clean before" in tidy(project).stdout


def test_a_fault_in_a_header_fails_every_time_until_it_is_mended(project: Path) -> None:
    header = project / "one.hpp"
    sound = header.read_text()
    assert tidy(project).returncode == 0
    header.write_text(sound + "inline int* none() { return 0; }\n")
    for _ in range(2):
        found = tidy(project)
        assert found.returncode == 1
        assert "one.hpp:3" in found.stdout and "modernize-use-nullptr" in found.stdout and "1 with faults" in found.stdout
    header.write_text(sound)
    assert "1 sources, 1 clean before" in tidy(project).stdout


def test_a_source_that_is_not_compiled_is_checked_every_time(project: Path) -> None:
    (project / "build/compile_commands.json").write_text("[]")
    for _ in range(2):
        assert "1 sources, 0 clean before" in tidy(project).stdout


def test_sources_are_checked_together_and_a_fault_is_told_of_the_one_that_has_it(project: Path) -> None:
    names = ("one", "two", "three")
    rules, entries = NINJA.split("build one.o")[0], []
    for name in names:
        (project / f"{name}.cpp").write_text(f'#include "one.hpp"\nint of_{name}() {{ return one(); }}\n')
        rules += f"build {name}.o: cxx ../{name}.cpp\n"
        entries.append(
            {"directory": str(project / "build"), "command": f"g++ -c ../{name}.cpp -o {name}.o", "file": f"../{name}.cpp", "output": f"{name}.o"}
        )
    (project / "build/build.ninja").write_text(rules)
    (project / "build/compile_commands.json").write_text(json.dumps(entries))
    sources = [f"{name}.cpp" for name in names]
    # A clang-tidy that counts how often it is asked.
    tool, counted = project / "bin/clang-tidy-14", project / "asked"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho asked >>"{counted}"\nexec {shutil.which("clang-tidy-14")} "$@"\n')
    tool.chmod(0o755)
    more = {"PATH": f"{tool.parent}:{os.environ['PATH']}"}

    assert "3 sources, 0 clean before and unchanged, 0 with faults" in tidy(project, sources, more).stdout
    assert len(counted.read_text().splitlines()) == 2  # its version, and all three
    (project / ".clang-tidy").write_text("Checks: '-*,clang-analyzer-core.NullDereference'\n")
    (project / "two.cpp").write_text('#include "one.hpp"\nint of_two(int which) {\n  int* none = nullptr;\n  return which > 1 ? which : *none;\n}\n')
    (project / "three.cpp").write_text('#include "one.hpp"\nint changed() { return one(); }\n')
    found = tidy(project, sources, more)
    assert found.returncode == 1 and "3 sources, 0 clean before and unchanged, 1 with faults" in found.stdout
    assert "two.cpp:4" in found.stdout and "three.cpp" not in found.stdout
    # Sources that cannot be compiled together are no fault.
    for name in names:
        (project / f"{name}.cpp").write_text("namespace { int same() { return 1; } }\nint use_" + name + "() { return same(); }\n")
    assert "3 sources, 0 clean before and unchanged, 0 with faults" in tidy(project, sources, more).stdout


def test_warnings_of_clang_are_faults_and_options_that_only_gcc_knows_are_none(project: Path) -> None:
    table = project / "build/compile_commands.json"
    (entry,) = json.loads(table.read_text())
    entry["command"] = entry["command"].replace("g++ ", "g++ -Werror -Wall -Wno-restrict -Wno-interference-size ")
    table.write_text(json.dumps([entry]))
    assert tidy(project).returncode == 0
    source = project / "one.cpp"
    source.write_text(source.read_text() + "int four() { int unused; return 4; }\n")
    found = tidy(project)
    assert found.returncode == 1 and "unused" in found.stdout, found.stdout + found.stderr
    entry["command"] = entry["command"].replace("-Werror ", "")
    table.write_text(json.dumps([entry]))
    assert tidy(project).returncode == 1
