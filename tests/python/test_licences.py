"""Tests of the licences: every file has one (REUSE.toml), and what a file says of itself agrees with it."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ANNOTATIONS: list[dict[str, Any]] = tomllib.loads((ROOT / "REUSE.toml").read_text())["annotations"]
OWN = ANNOTATIONS[0]
#: In two parts, so that no tool takes it for the licence of this file.
LINE = re.compile(rb"^\W*SPDX-License-" rb"Identifier: ([\w.-]+)", re.MULTILINE)


def matches(pattern: str, name: str) -> bool:
    """Return whether a pattern of REUSE.toml fits: `*` is any text without a slash, `**` any text."""
    parts = (".*" if part == "**" else "[^/]*" if part == "*" else re.escape(part) for part in re.split(r"(\*\*|\*)", pattern))
    return re.fullmatch("".join(parts), name) is not None


def entry_of(name: str, annotations: list[dict[str, Any]] = ANNOTATIONS) -> dict[str, Any] | None:
    """Return the entry that counts for a file; None where none fits."""
    paths = [(entry, [entry["path"]] if isinstance(entry["path"], str) else entry["path"]) for entry in annotations]
    return next((entry for entry, patterns in reversed(paths) if any(matches(p, name) for p in patterns)), None)


def files() -> list[str]:
    """Return every file of the project, new ones too."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        found = subprocess.run(words, cwd=ROOT, capture_output=True, check=True, timeout=60).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone of the repository: nobody knows which files are the project's")
    return [name for name in found.split("\0") if name and (ROOT / name).is_file()]


def test_every_file_has_a_licence() -> None:
    missing = [name for name in files() if entry_of(name) is None]
    assert not missing, "add these files to REUSE.toml: to the first entry if they are the project's own, else with their author and licence"


def test_a_licence_line_in_a_file_agrees() -> None:
    said = {}
    for name in files():
        if not name.startswith(("LICENSES/", "tests/fuzz/corpus/")):
            head = (ROOT / name).read_bytes()[:2000]
            if found := LINE.search(head):
                said[name] = found[1].decode()
    assert len(said) >= 7, "the plugin's files have such a line"
    for name, licence in said.items():
        entry = entry_of(name)
        assert entry is not None and entry["SPDX-License-Identifier"] == licence, name


def test_what_others_hold_the_rights_in_is_not_called_our_own() -> None:
    holder = re.compile(rb"copyright\s*(?:\(c\)|\xc2\xa9)?\s*(?:19|20)\d\d", re.IGNORECASE)
    foreign = {
        name for name in files() if not name.startswith(("LICENSES/", "tests/fuzz/corpus/")) and holder.search((ROOT / name).read_bytes()[:4000])
    }
    assert any("vendor" in name for name in foreign)
    assert not [name for name in foreign if entry_of(name) is OWN]


def test_the_text_of_every_licence_is_there_and_no_other() -> None:
    used = {str(entry["SPDX-License-Identifier"]) for entry in ANNOTATIONS}
    assert {file.stem for file in (ROOT / "LICENSES").iterdir()} == used
    assert (ROOT / "LICENSES/Apache-2.0.txt").read_text() == (ROOT / "LICENSE").read_text()


def test_the_last_entry_counts_and_new_kinds_of_files_are_found() -> None:
    plugin = entry_of("native/cores/trace/plugin/count.c")
    assert plugin is not None and plugin["SPDX-License-Identifier"] == "GPL-2.0-or-later"
    assert entry_of("native/new/source.cpp") is OWN and entry_of("tests/fuzz/corpus/x/0123") is OWN
    assert entry_of("native/new/library.a") is None and entry_of("python/dpubench/report/vendor/new.min.wasm") is None
