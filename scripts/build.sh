#!/bin/sh
# Configures when needed and builds. Usage: build.sh FOLDER [--cross-file=FILE] [meson option...]
# Compares the scan's result with its result at the last configure, so that a new operator or engine needs no manual step.
set -eu
build=$1
shift
# Pass the cross file to the first configure only: Meson cannot change it later.
cross=
case ${1:-} in --cross-file=*) cross=$1; shift ;; esac
meson=.venv/bin/meson
mkdir -p "$build"
.venv/bin/python native/scan.py >"$build/units.new"
printf '%s\n' "$@" >>"$build/units.new"
if [ ! -f "$build/build.ninja" ]; then
    $meson setup "$build" ${cross:+"$cross"} "$@" >"$build/setup.log" 2>&1 || { cat "$build/setup.log" >&2; exit 1; }
elif ! cmp -s "$build/units" "$build/units.new"; then
    [ $# -eq 0 ] || $meson configure "$build" "$@"
    $meson setup --reconfigure "$build" >"$build/setup.log" 2>&1 || { cat "$build/setup.log" >&2; exit 1; }
fi
mv "$build/units.new" "$build/units"
ninja -C "$build" --quiet
