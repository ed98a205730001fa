"""The structure that docs/architecture.md describes: the tree of folders, and the direction of imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Lines of the tree: a path, indented by four spaces below its folder, and what it holds. Further lines of that are indented more.
ENTRY = re.compile(r"^ {4}( {0,2})([\w./]+)\s")

#: Files of tests in the native half.
OF_TESTS = re.compile(r"_test\.|(^|/)testing(\.|/)|/test_memory\.|/ports/peer\.|/scripted_port\.|/bench_of_packets\.")


def tree() -> dict[str, list[str]]:
    """Return folder -> entries of the tree in docs/architecture.md; folder "" for entries of the repository."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = text[text.index("    native/\n") :]
    found: dict[str, list[str]] = {"": []}
    folder = ""
    for line in block[: block.index("\n\n")].splitlines():
        if (entry := ENTRY.match(f"{line} ")) is not None:
            inside, name = entry[1], entry[2].rstrip("/")
            if inside:
                found.setdefault(folder, []).append(name)
            else:
                folder = name
                found[""].append(name)
    return found


def test_the_tree_is_what_ls_shows() -> None:
    told = tree()
    package = ROOT / "python" / "dpubench"
    rooms = [p.name for p in package.iterdir() if p.is_dir() and p.name != "__pycache__"]
    modules = [p.name for p in package.glob("*.py") if not p.name.startswith("__")]
    assert sorted(told["python/dpubench"]) == sorted(rooms + modules)
    assert sorted(told["native"]) == sorted(p.name for p in (ROOT / "native").iterdir() if p.is_dir() and p.name != "__pycache__")
    assert all((ROOT / name).is_dir() for name in told[""]), told[""]


def lint(config: Path) -> subprocess.CompletedProcess[str]:
    """Apply the rules of ``config`` to the imports of the package."""
    words = [str(Path(sys.executable).with_name("lint-imports")), "--config", str(config), "--no-cache"]
    return subprocess.run(words, cwd=ROOT / "python", capture_output=True, text=True, timeout=120, check=False)


def test_rooms_depend_one_way() -> None:
    done = lint(ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr


def floors() -> list[list[str]]:
    """Return the rooms of the native half as docs/architecture.md has them, from the top floor down: path prefixes without suffix."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = text[text.index("    programs -> headroom") :].split("\n\n")[0]
    return [[room.strip() for room in floor.split(",")] for floor in block.replace("\n", " ").split("->")]


def room_of(path: str, rooms: list[str]) -> str:
    """Return the room that holds a path below native/: the longest that is its beginning; empty for none."""
    return max((room for room in rooms if path.startswith(f"{room}/") or path.rsplit(".", 1)[0] == room), key=len, default="")


def wrong_includes(native: Path) -> list[str]:
    """Return the includes that go up, or to another room of the same floor."""
    floor_of = {room: i for i, floor in enumerate(floors()) for room in floor}
    found = []
    for file in sorted(native.rglob("*")):
        if file.suffix not in (".cpp", ".hpp", ".h", ".c") or OF_TESTS.search(file.relative_to(native).as_posix()):
            continue
        source = file.relative_to(native).as_posix()
        room = room_of(source, list(floor_of))
        if not room:
            found.append(f"{source} is in no room")
        for include in re.findall(r'#include "([^"]+)"', file.read_text(encoding="utf-8")):
            path = next((p for base in (file.parent, native) if (p := (base / include).resolve()).is_file()), None)
            if path is None or not path.is_relative_to(native):
                continue
            target = room_of(path.relative_to(native).as_posix(), list(floor_of))
            if target != room and floor_of.get(target, -1) <= floor_of.get(room, -1):
                found.append(f"{source} includes {include}")
    return found


def test_native_rooms_depend_one_way() -> None:
    assert wrong_includes(ROOT / "native") == []


@pytest.mark.parametrize(
    ("room", "include"),
    [
        ("measure", "operators/lane.hpp"),
        ("packet", "inputs/capture.hpp"),
        ("datapath/ports", "datapath/job.hpp"),
        ("datapath/stages", "datapath/workloads/workload.hpp"),
        ("datapath/client", "programs/frame.hpp"),
    ],
)
def test_an_include_against_the_rule_is_found(tmp_path: Path, room: str, include: str) -> None:
    target = tmp_path / include
    target.parent.mkdir(parents=True)
    target.write_text("", encoding="utf-8")
    source = tmp_path / room / "new.cpp"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(f'#include "{include}"\n', encoding="utf-8")
    assert wrong_includes(tmp_path) == [f"{room}/new.cpp includes {include}"]


@pytest.mark.parametrize(
    ("rule", "turned"),
    [('  "cli",\n  "machine",', '  "machine",\n  "cli",'), ('["dpubench.studies.counts.* -> dpubench.studies.operators.*"]', "[]")],
)
def test_an_import_against_a_rule_is_found(tmp_path: Path, rule: str, turned: str) -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert rule in text
    (tmp_path / "pyproject.toml").write_text(text.replace(rule, turned), encoding="utf-8")
    assert lint(tmp_path / "pyproject.toml").returncode != 0


def test_no_helper_of_tests_is_written_twice() -> None:
    """A helper that two files need belongs in a file of its own: two copies drift apart. Short ones, and tests themselves, may look alike.

    Stand-ins for programs (they begin with `#!`) go to other machines one by one, so that each of them is whole.
    """
    seen: dict[str, list[str]] = {}
    for file in sorted((ROOT / "tests").rglob("*.py")):
        if (text := file.read_text(encoding="utf-8")).startswith("#!"):
            continue
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef) and not function.name.startswith("test_"):
                body = function.body[1:] if ast.get_docstring(function) else function.body
                if sum(1 for statement in body for _ in ast.walk(statement)) >= 30:
                    seen.setdefault("\n".join(map(ast.dump, body)), []).append(f"{file.relative_to(ROOT)}: {function.name}")
    assert [places for places in seen.values() if len(places) > 1] == []
