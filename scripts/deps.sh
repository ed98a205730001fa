#!/bin/sh
# Installs the packages of scripts/packages.txt that are missing, after listing them. Usage: deps.sh GROUP...
# Only this step needs root; other users run it through sudo.
set -eu
list=$(dirname "$0")/packages.txt
if ! command -v apt-get >/dev/null 2>&1; then
    echo "deps: this system has no apt-get. Install what $list names under your distribution's names;"
    echo "deps: of the packages of the group 'build' all are needed, the others add engines, data and tests."
    exit 0
fi

wanted=
for group in "$@"; do
    wanted="$wanted $(awk -v g="$group" '$1 == g {print $2}' "$list")"
done

missing=
for package in $wanted; do
    case $package in
    # Both packages provide the same library. The first exists for x86-64 only.
    libhyperscan-dev) [ "$(uname -m)" = x86_64 ] || continue ;;
    libvectorscan-dev) [ "$(uname -m)" != x86_64 ] || continue ;;
    esac
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || { echo "deps: everything is installed"; exit 0; }

as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "deps: missing:$missing" >&2; echo "deps: installing them needs root (there is no sudo here): run 'make deps' as root once" >&2; exit 1; }
    as_root=sudo
fi
echo "deps: will install:$missing"
$as_root apt-get update -qq
available=
for package in $missing; do
    if apt-cache show "$package" >/dev/null 2>&1; then
        available="$available $package"
    else
        echo "deps: $package is not in this distribution: what needs it will be listed as unavailable"
    fi
done
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $available >/dev/null
