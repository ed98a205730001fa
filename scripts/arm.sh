#!/bin/sh
# Compiles the native half for 64-bit Arm on another machine, runs its tests under an emulator, and lists the engines that Arm has.
# Usage: arm.sh BUILD_FOLDER. What is emulated is right or wrong, never a measurement: its times mean nothing.
set -eu
build=$(realpath -m "$1")
sysroot=$build-sysroot
# The core of the first Arm servers (2019). It has what DPUs have: LSE atomics, CRC, AES, SHA-2, PMULL; and no SVE.
core=neoverse-n1
if [ "$(uname -m)" = aarch64 ]; then
    echo "arm: this machine is one: 'make test' shows the same without an emulator" >&2
    exit 1
fi

# What the programs, their engines and their tests are compiled and linked against; of packages.txt, the development packages.
# shellcheck disable=SC2046
scripts/sysroot.sh "$sysroot" arm64 libc6-dev libstdc++6 libgtest-dev \
    $(awk '($1 == "build" || $1 == "engine") && $2 ~ /-dev$/ {print $2}' scripts/packages.txt)

ccache=
! command -v ccache >/dev/null 2>&1 || ccache="'ccache', "
# --sysroot belongs to the compiler's name, not to its options: those are recorded with every result.
cat >"$sysroot/cross.new" <<END
# Written by scripts/arm.sh for: $(cat "$sysroot/.stamp")
[binaries]
cpp = [$ccache'aarch64-linux-gnu-g++', '--sysroot=$sysroot']
ar = 'aarch64-linux-gnu-gcc-ar'
strip = 'aarch64-linux-gnu-strip'
pkg-config = 'pkg-config'
exe_wrapper = ['qemu-aarch64', '-L', '$sysroot', '-cpu', '$core']

[properties]
sys_root = '$sysroot'
pkg_config_libdir = ['$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig', '$sysroot/usr/share/pkgconfig']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = '$core'
endian = 'little'
END
if cmp -s "$sysroot/cross.new" "$sysroot/cross.ini"; then
    rm "$sysroot/cross.new"
else
    # Meson reads it at the first configure, and remembers which libraries it found.
    rm -rf "$build"
    mv "$sysroot/cross.new" "$sysroot/cross.ini"
fi

# They are meant for this machine's builds.
unset CXX CXXFLAGS CPPFLAGS LDFLAGS PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
scripts/build.sh "$build" --cross-file="$sysroot/cross.ini" -Dtests=true

echo "== engines on aarch64"
qemu-aarch64 -L "$sysroot" -cpu "$core" "$build/native/dpubench-operators" --list | .venv/bin/python -c '
import json, sys
for operator in json.loads(sys.stdin.readline())["catalog"]["operators"]:
    for engine in operator["engines"]:
        print("{:12} {:16} {}".format(operator["name"], engine["name"], engine["reason"] or engine["library"] or "here"))'

echo "== native tests under qemu-aarch64"
.venv/bin/meson test -C "$build" --no-rebuild --num-processes 2 --timeout-multiplier 10 || {
    grep -E '^\[  FAILED|Failure|ERROR: |SUMMARY: |qemu: ' "$build/meson-logs/testlog.txt" >&2
    exit 1
}
# Meson shows the two halves; how many tests they held is what says that all ran.
grep -E '^\[  (PASSED|SKIPPED) |tests? suites? ran' "$build/meson-logs/testlog.txt"
