#!/usr/bin/env python3
"""Finds operators, engine modules and tests, so that adding one edits no list.

Prints one line per source file, fields separated by '|' (paths relative to native/):

    operator|<operator>|<file>
    module|<operator>|<file>|<pkg-config requirements, comma-separated>|<flags>|<arch>|<folder of the built module>
    test|<operator or nothing>|<file>

Modules are the engines below native/operators (built into `engines`), the bare loops that benchmarks compare them with (`bare`), and the
engines that tests misbehave with (`fixtures`). Directives stand in a module's first comment block (docs/adding-an-engine.md). Run by Meson
at configure time, and by `make build` to see whether anything was added since. The optional arguments name the only operators wanted.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
DIRECTIVE = re.compile(r"^// (requires|cxxflags|arch): *(.*)$", re.MULTILINE)
SWALLOWED = re.compile(r"^// (?!requires:|cxxflags:|arch:).*\b(requires|cxxflags|arch): ", re.MULTILINE)
MARKER = "DPUBENCH_ENGINES("
FOLDERS = {NATIVE / "operators": "engines", NATIVE.parent / "benchmarks/bare": "bare", NATIVE.parent / "tests/fixtures": "fixtures"}


def describe(operator: str, path: Path, folder: str) -> str:
    """The scan line of one source file."""
    name = os.path.relpath(path, NATIVE)
    if path.name.endswith("_test.cpp"):
        return f"test|{operator}|{name}"
    text = path.read_text(encoding="utf-8")
    if MARKER not in text:
        return f"operator|{operator}|{name}"
    directives = dict(DIRECTIVE.findall(text))
    if swallowed := SWALLOWED.search(text):
        # A formatter may fold a directive into the comment line before it, and the module would silently be built without it.
        sys.exit(f"{path}: '{swallowed[1]}:' must stand at the beginning of its own comment line")
    fields = [directives.get(key, "").strip() for key in ("requires", "cxxflags", "arch")]
    return "|".join(["module", operator, name, *fields, folder])


def main() -> None:
    """Scans the repository that this file lies in."""
    wanted = set(sys.argv[1:])
    operators = {f.parent.name for f in (NATIVE / "operators").glob("*/operator.cpp")}
    for root, folder in FOLDERS.items():
        for operator in sorted(operators & wanted if wanted else operators):
            for path in sorted((root / operator).glob("*.cpp")):
                print(describe(operator, path, folder))
    for path in sorted((NATIVE.parent / "tests/native").glob("*_test.cpp")):
        print(describe("", path, ""))


if __name__ == "__main__":
    main()
