#!/bin/sh
# Boots an emulated 64-bit Arm machine with the whole bundle and runs studies on it. Usage: vm.sh BUILD_FOLDER
# A run there shows only whether results are right; its times mean nothing. Study link needs root, for its virtual link.
set -eu
build=$1
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

run() {
    echo "== $*"
    .venv/bin/dpubench "$@" --results "$work/results"
}

for machine in vm:aarch64 vm:aarch64,userland=full,core=neoverse-n1,cpus=2; do
    echo "== target check $machine"
    .venv/bin/dpubench target check "$machine"
    run run operators --operator crc,memcpy,sha256 --size 1KiB --target "$machine"
done
if [ "$(id -u)" = 0 ]; then
    run run link --target local --target vm:aarch64,userland=full --rounds 1 --size 64KiB --set latency_sizes=64B --set file=1MiB
else
    echo "vm: study link is left out: its virtual link needs root"
fi
echo "vm: everything passed"
