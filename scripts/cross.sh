#!/bin/sh
# Compiles the native half for another architecture. Usage: cross.sh ARCHITECTURE BUILD_FOLDER [meson option...]
# ARCHITECTURE: aarch64 or x86_64. This system does not change: headers and libraries come from a separate sysroot.
set -eu
architecture=$1
build=$(realpath -m "$2")
shift 2
# core: the processor that the emulator models. The compiler gets no core and keeps to the architecture's baseline, so that older
# cores run the programs too, such as the Cortex-A72 of BlueField-2. Single engines have cxxflags of their own; they check the
# processor before they run.
case $architecture in
# neoverse-n1 is the core of the first Arm servers (2019). It has LSE atomics, CRC, AES, SHA-2 and PMULL, but no SVE.
aarch64) debian=arm64 core=neoverse-n1 package=g++-aarch64-linux-gnu other=libhyperscan-dev ;;
x86_64) debian=amd64 core=Nehalem package=g++-x86-64-linux-gnu other=libvectorscan-dev ;;
*) echo "cross: no architecture '$architecture': aarch64 or x86_64" >&2; exit 2 ;;
esac
triplet=$architecture-linux-gnu
sysroot=$(dirname "$build")/build-sysroot-$architecture
command -v "$triplet-g++" >/dev/null 2>&1 || { echo "cross: there is no $triplet-g++ here: install the package $package" >&2; exit 1; }

# The packages to compile and link programs, engines and tests against. They include the development packages of packages.txt.
# shellcheck disable=SC2046
scripts/sysroot.sh "$sysroot" "$debian" libc6-dev libstdc++6 libgtest-dev \
    $(awk -v other="$other" '($1 == "build" || $1 == "engine") && $2 ~ /-dev$/ && $2 != other {print $2}' scripts/packages.txt)

ccache=
! command -v ccache >/dev/null 2>&1 || ccache="'ccache', "
wrapper=
emulator=
if command -v "qemu-$architecture" >/dev/null 2>&1; then
    wrapper="exe_wrapper = ['qemu-$architecture', '-L', '$sysroot', '-cpu', '$core']"
    # Some tests start programs of their own build. They read this property, because Meson does not tell them its wrapper.
    emulator="emulator${wrapper#exe_wrapper}"
fi
mkdir -p "$build"
# --sysroot is part of the compiler's command, not of its options, because every result records the options.
cat >"$build/cross.new" <<END
# Written by scripts/cross.sh for: $(cat "$sysroot/.stamp")
[binaries]
cpp = [$ccache'$triplet-g++', '--sysroot=$sysroot']
ar = '$triplet-gcc-ar'
strip = '$triplet-strip'
pkg-config = 'pkg-config'
$wrapper

[properties]
sys_root = '$sysroot'
$emulator
pkg_config_libdir = ['$sysroot/usr/lib/$triplet/pkgconfig', '$sysroot/usr/share/pkgconfig']

[host_machine]
system = 'linux'
cpu_family = '$architecture'
cpu = '$core'
endian = 'little'
END
# Meson reads the cross file at the first configure only and remembers which libraries it found. A changed file needs a new build folder.
if ! cmp -s "$build/cross.new" "$build/cross.ini"; then
    mv "$build/cross.new" "$sysroot/cross.new"
    rm -rf "$build"
    mkdir "$build"
    mv "$sysroot/cross.new" "$build/cross.ini"
fi
rm -f "$build/cross.new"

# These variables are meant for this machine's own builds.
unset CXX CXXFLAGS CPPFLAGS LDFLAGS PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
scripts/build.sh "$build" --cross-file="$build/cross.ini" "$@"
