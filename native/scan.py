#!/usr/bin/env python3
"""Finds operators, engine modules and tests, so that a new one needs no edit of a list.

Prints one line per source file, with fields separated by '|' (paths relative to native/):

    operator|<operator>|<file>
    module|<operator>|<file>|<pkg-config requirements, comma-separated>|<flags>|<arch>|<folder of the built module>
    test|<operator or nothing>|<file>
    datapath|<file>                  of the end-to-end study's programs; a port kind or a workload is one of them
    datapath-module|<workload>|<file>|...   an engine of a workload's stage that needs its own library; fields as of `module`
    datapath-test|<file>
    headroom|<file>                  of study headroom's program
    headroom-test|<file>
    offload|<file>                   of study offload's program, without what needs MPI and UCX
    offload-test|<file>
    cores|<file>                     of the processor model
    cores-test|<file>
    applications|<file>              common code of the whole applications
    application|<name>|<files, comma-separated>|<pkg-config requirements>|<flags>|<arch>     one module; directives are application.cpp's
    application-test|<file>

Modules are the engines below native/operators (built into `engines`), the bare loops that benchmarks compare them with (`bare`), and the
misbehaving engines of tests (`fixtures`). Directives are in a module's first comment block (docs/adding-an-engine.md). Meson runs this file at
configure time, and `make build` runs it to detect additions. The optional arguments name the only operators to list.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
DIRECTIVE = re.compile(r"^// (requires|cxxflags|arch): *(.*)$", re.MULTILINE)
SWALLOWED = re.compile(r"^// (?!requires:|cxxflags:|arch:).*\b(requires|cxxflags|arch): ", re.MULTILINE)
MARKERS = ("DPUBENCH_ENGINES(", "DPUBENCH_STAGE_ENGINE(")
FOLDERS = {NATIVE / "operators": "engines", NATIVE.parent / "benchmarks/bare": "bare", NATIVE.parent / "tests/fixtures": "fixtures"}


def describe(operator: str, path: Path, folder: str) -> str:
    """Return the scan line of one source file."""
    name = os.path.relpath(path, NATIVE)
    if path.name.endswith("_test.cpp"):
        return f"test|{operator}|{name}"
    text = path.read_text(encoding="utf-8")
    if not any(marker in text for marker in MARKERS):
        return f"operator|{operator}|{name}"
    directives = dict(DIRECTIVE.findall(text))
    if swallowed := SWALLOWED.search(text):
        # A formatter may join a directive to the comment line before it. The module would then silently be built without the directive.
        sys.exit(f"{path}: '{swallowed[1]}:' must stand at the beginning of its own comment line")
    fields = [directives.get(key, "").strip() for key in ("requires", "cxxflags", "arch")]
    return "|".join(["module", operator, name, *fields, folder])


def describe_datapath(path: Path) -> str:
    """Return the scan line of a source file of the end-to-end study."""
    line = describe(path.parent.name, path, "stages")
    kind, _, rest = line.partition("|")
    if kind == "operator":
        return f"datapath|{rest.partition('|')[2]}"
    if kind == "test":
        return f"datapath-test|{rest.partition('|')[2]}"
    return f"datapath-{line}"


def describe_application(folder: Path) -> str:
    """Return the scan line of one application."""
    directives = dict(DIRECTIVE.findall((folder / "application.cpp").read_text(encoding="utf-8")))
    files = [os.path.relpath(path, NATIVE) for path in sorted(folder.glob("*.cpp")) if not path.name.endswith("_test.cpp")]
    return "|".join(["application", folder.name, ",".join(files), *(directives.get(key, "").strip() for key in ("requires", "cxxflags", "arch"))])


def main() -> None:
    """Scan the repository that contains this file."""
    wanted = set(sys.argv[1:])
    operators = {f.parent.name for f in (NATIVE / "operators").glob("*/operator.cpp")}
    for root, folder in FOLDERS.items():
        for operator in sorted(operators & wanted if wanted else operators):
            for path in sorted((root / operator).glob("*.cpp")):
                print(describe(operator, path, folder))
    for path in sorted([*(NATIVE.parent / "tests/native").glob("*_test.cpp"), *(NATIVE / "packet").glob("*_test.cpp")]):
        print(describe("", path, ""))
    for path in sorted((NATIVE / "datapath").rglob("*.cpp")):
        print(describe_datapath(path))
    for path in sorted((NATIVE / "headroom").glob("*.cpp")):
        print(f"headroom{'-test' if path.name.endswith('_test.cpp') else ''}|{os.path.relpath(path, NATIVE)}")
    for path in sorted((NATIVE / "offload").glob("*.cpp")):
        print(f"offload{'-test' if path.name.endswith('_test.cpp') else ''}|{os.path.relpath(path, NATIVE)}")
    for path in sorted((NATIVE / "cores").rglob("*.cpp")):
        print(f"cores{'-test' if path.name.endswith('_test.cpp') else ''}|{os.path.relpath(path, NATIVE)}")
    for path in sorted((NATIVE / "applications").glob("*.cpp")):
        print(f"application{'-test' if path.name.endswith('_test.cpp') else 's'}|{os.path.relpath(path, NATIVE)}")
    for path in sorted((NATIVE / "applications").glob("*/*_test.cpp")):
        print(f"application-test|{os.path.relpath(path, NATIVE)}")
    for path in sorted((NATIVE / "applications").glob("*/application.cpp")):
        print(describe_application(path.parent))


if __name__ == "__main__":
    main()
