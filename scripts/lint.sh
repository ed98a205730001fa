#!/bin/sh
# Format and static checks. Usage: lint.sh BUILD_FOLDER (configured, with tests: its compile_commands.json is read).
set -eu
build=$1
echo "== clang-format"
git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 --dry-run --Werror
echo "== clang-tidy"
# Not the tests: GoogleTest's macros take the checker minutes a file. Clang's own errors count too, so that this is also a build check.
if ! git ls-files 'native/*.cpp' | grep -v _test.cpp |
    xargs -P "$(nproc)" -n 4 clang-tidy-14 -p "$build" --quiet --warnings-as-errors='*' >"$build/clang-tidy.log" 2>&1; then
    grep -vE '^[0-9]+ warnings? (generated|treated)|^$' "$build/clang-tidy.log" || true
    echo "lint: clang-tidy found $(grep -cE '(error|warning): ' "$build/clang-tidy.log") faults" >&2
    exit 1
fi
echo "== ruff"
.venv/bin/ruff format --check .
.venv/bin/ruff check .
echo "== mypy"
.venv/bin/mypy
