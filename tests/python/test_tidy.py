"""``scripts/tidy.py``: a source that clang-tidy found clean is checked again only when something that it depends on changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
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


def tidy(project: Path) -> subprocess.CompletedProcess[str]:
    subprocess.run(["ninja", "-C", "build"], cwd=project, check=True, capture_output=True)
    command = [sys.executable, str(ROOT / "scripts/tidy.py"), "build", "one.cpp"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(project / "cache")}
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
