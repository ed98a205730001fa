#!/usr/bin/env bash
# Resolves the dependencies of pyproject.toml anew for every Python that it allows, with the hash of each file: requirements/*.txt.
# `make` installs from those, so that a package that changes on its way is refused.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install -q --disable-pip-version-check uv
lock() {
  "$tools/bin/uv" pip compile -q --upgrade --universal --python-version 3.10 --generate-hashes --no-annotate --no-header \
    pyproject.toml "${@:2}" | { echo "# Made by \`make lock\`."; cat; } >"$tools/$1"
  mv "$tools/$1" "requirements/$1"
}
lock run.txt --extra build
lock test.txt --extra build --extra test
