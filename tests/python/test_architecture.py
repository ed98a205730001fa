"""The structure that docs/architecture.md describes: the tree of folders, and the direction of imports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Lines of the tree: a path, indented by four spaces below its folder, and what it holds. Further lines of that are indented more.
ENTRY = re.compile(r"^ {4}( {0,2})([\w./]+)\s")


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


@pytest.mark.parametrize(
    ("rule", "turned"),
    [('  "cli",\n  "machine",', '  "machine",\n  "cli",'), ('["dpubench.studies.counts.* -> dpubench.studies.operators.*"]', "[]")],
)
def test_an_import_against_a_rule_is_found(tmp_path: Path, rule: str, turned: str) -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert rule in text
    (tmp_path / "pyproject.toml").write_text(text.replace(rule, turned), encoding="utf-8")
    assert lint(tmp_path / "pyproject.toml").returncode != 0
