#!/bin/sh
# Boots emulated 64-bit Arm machines with the whole bundle and runs every study on them. Usage: vm.sh BUILD_FOLDER [pytest option...]
# A run there shows only whether results are right; its times mean nothing. Virtual links need root; without it their tests are skipped.
set -eu
build=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
DPUBENCH_PROGRAMS=$(realpath "$build")/native
DPUBENCH_BUNDLE=${DPUBENCH_BUNDLE:-$work/bundle.tar.gz}
export DPUBENCH_PROGRAMS DPUBENCH_BUNDLE

[ -e "$DPUBENCH_BUNDLE" ] || {
    echo "== bundle for aarch64"
    .venv/bin/dpubench bundle --arch aarch64 -o "$DPUBENCH_BUNDLE"
}
echo "== studies on an emulated machine"
.venv/bin/python -m pytest -q -m vm --durations 20 tests/python/vm "$@"
