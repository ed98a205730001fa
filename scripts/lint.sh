#!/bin/sh
# Format and static checks. Usage: lint.sh BUILD_FOLDER (configured, with tests: its compile_commands.json is read).
set -eu
build=$1
echo "== clang-format"
git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 --dry-run --Werror
echo "== clang-tidy"
# clang-tidy skips the tests, because GoogleTest's macros cost it minutes a file. Clang's own errors count too, so this also checks
# that the code compiles.
git ls-files 'native/*.cpp' | grep -v _test.cpp | xargs .venv/bin/python scripts/tidy.py "$build"
echo "== shellcheck"
git ls-files '*.sh' .ci/run | xargs shellcheck
echo "== biome"
git ls-files '*.js' ':!*/vendor/*' | xargs .venv/bin/python scripts/biome.py
echo "== ruff"
.venv/bin/ruff format --check .
.venv/bin/ruff check .
echo "== mypy"
.venv/bin/mypy
.venv/bin/mypy tests/browser
echo "== documentation"
make -s docs-site BUILD="$build"
