#!/usr/bin/env python3
"""Finds operators and engine modules, so that adding one edits no list.

Prints one line per source file below native/operators/<operator>/, fields separated by '|':

    operator|<operator>|<file>
    engine|<operator>|<file>|<pkg-config requirements, comma-separated>|<flags>|<arch>
    test|<operator>|<file>

Directives stand in an engine's first comment block (docs/adding-an-engine.md). Run by Meson at configure time, and by `make build` to see
whether anything was added since. The optional arguments name the only operators wanted.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DIRECTIVE = re.compile(r"^// (requires|cxxflags|arch): *(.*)$", re.MULTILINE)


def describe(operator: str, path: Path, root: Path) -> str:
    """The scan line of one source file."""
    name = path.relative_to(root).as_posix()
    if path.name.endswith("_test.cpp"):
        return f"test|{operator}|{name}"
    text = path.read_text(encoding="utf-8")
    if "DPUBENCH_ENGINES(" not in text:
        return f"operator|{operator}|{name}"
    directives = dict(DIRECTIVE.findall(text))
    fields = [directives.get(key, "").strip() for key in ("requires", "cxxflags", "arch")]
    return "|".join(["engine", operator, name, *fields])


def main() -> None:
    """Scans native/ (this file's folder)."""
    root = Path(__file__).resolve().parent
    wanted = set(sys.argv[1:])
    for folder in sorted((root / "operators").iterdir()):
        if not (folder / "operator.cpp").is_file() or (wanted and folder.name not in wanted):
            continue
        for path in sorted(folder.glob("*.cpp")):
            print(describe(folder.name, path, root))


if __name__ == "__main__":
    main()
