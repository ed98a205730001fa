#!/usr/bin/env bash
# Resolves the dependencies of pyproject.toml anew for every Python that it allows. Writes them with the hash of each file to
# requirements/*.txt. `make` installs from those files, so that pip refuses a package that changed on its way.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install -q --disable-pip-version-check uv
lock() {
  "$tools/bin/uv" pip compile -q --upgrade --universal --python-version 3.10 --generate-hashes --no-annotate --no-header \
    "${@:2}" | { echo "# Made by \`make lock\`."; cat; } >"$tools/$1"
  mv "$tools/$1" "requirements/$1"
}
lock run.txt pyproject.toml --extra build
lock test.txt pyproject.toml --extra build --extra test
lock docs.txt --group docs
lock mutate.txt pyproject.toml --extra build --extra test --extra mutate
