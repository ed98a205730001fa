#!/bin/sh
# Fills FOLDER with the libraries and headers of another Debian architecture, to compile and link against.
# Usage: sysroot.sh FOLDER ARCHITECTURE PACKAGE...   (ARCHITECTURE: for example arm64)
# It names and skips packages that the architecture does not have.
#
# It needs no root and changes nothing on this system: to install development packages of a second architecture would remove those
# of the first. apt works on a separate state, cache and (empty) list of installed packages, with this system's sources and keys.
# The script unpacks the downloaded packages and never configures them. With the same packages as before it does nothing; remove
# FOLDER to fetch anew. SYSROOT_SOURCES=FILE: a sources list to use instead of this system's.
set -eu
[ $# -ge 3 ] || { echo "usage: $0 FOLDER ARCHITECTURE PACKAGE..." >&2; exit 2; }
folder=$1
architecture=$2
shift 2

stamp="$architecture $(cksum <"$0" | cut -d ' ' -f 1) $*"
if [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "sysroot: $folder is up to date"
    exit 0
fi
for tool in apt-get dpkg-deb; do
    command -v "$tool" >/dev/null 2>&1 || { echo "sysroot: this system has no $tool: the sysroot is made of Debian packages" >&2; exit 1; }
done

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$(realpath "$folder").XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
root=$work/root
mkdir -p "$root" "$work/state/lists/partial" "$work/cache/archives/partial" "$work/log"
: >"$work/state/status"

# Keep the settings by which this system reaches its sources (proxies, dates). Drop the others, such as commands to run after an update.
{
    apt-config dump | grep -E '^Acquire::' | grep -vE '^Acquire::(IndexTargets|Languages)'
    cat <<END
Acquire::Languages "none";
APT::Architecture "$architecture";
APT::Architectures "$architecture";
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Dir::Cache "$work/cache";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Log "$work/log";
Dir::State "$work/state";
Dir::State::status "$work/state/status";
END
    [ -z "${SYSROOT_SOURCES:-}" ] || printf 'Dir::Etc::sourcelist "%s";\nDir::Etc::sourceparts "/dev/null";\n' "$(realpath "$SYSROOT_SOURCES")"
} >"$work/apt.conf"
export APT_CONFIG="$work/apt.conf"

echo "sysroot: fetching the lists of $architecture packages"
# Go on when a source has nothing for this architecture; the loop below names missing packages.
apt-get update -qq || true
available=
for package in "$@"; do
    if [ -n "$(apt-cache show "$package" 2>/dev/null)" ]; then
        available="$available $package"
    else
        echo "sysroot: $package does not exist for $architecture"
    fi
done
if [ -z "$available" ]; then
    echo "sysroot: this system's package sources have nothing for $architecture (/etc/apt; Ubuntu keeps it apart, on ports.ubuntu.com):" >&2
    echo "sysroot: name a list of sources that have it with SYSROOT_SOURCES=FILE" >&2
    exit 1
fi
# shellcheck disable=SC2086
apt-get install -qq --yes --download-only $available >"$work/install.log" 2>&1 || { cat "$work/install.log" >&2; exit 1; }

echo "sysroot: unpacking $(find "$work/cache/archives" -name '*.deb' | wc -l) packages"
for package in "$work"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --no-same-owner -C "$root"
    # Whose each library is: for the notices in bundles (python/dpubench/bundles/notices.py).
    # shellcheck disable=SC2016  # dpkg-deb expands what stands in single quotes
    whose=$(dpkg-deb --show --showformat '${Package} ${source:Package} ${source:Version}' "$package")
    dpkg-deb --fsys-tarfile "$package" | tar -t | sed -n "s|^\\.\\(/.*[^/]\\)\$|$whose \\1|p" >>"$work/packages"
done
# Keep only files to compile, link or load. Under an emulator the sysroot's files replace the system's, and an /etc or /tmp in the
# sysroot would hide the real one.
find "$root" -mindepth 1 -maxdepth 1 ! -name usr ! -name lib -exec rm -rf {} +
find "$root/usr" -mindepth 1 -maxdepth 1 ! -name include ! -name lib ! -name share -exec rm -rf {} +
find "$root/usr/share" -mindepth 1 -maxdepth 1 ! -name pkgconfig ! -name cmake ! -name doc -exec rm -rf {} +
find "$root/usr/share/doc" -type f ! -name copyright -delete
grep -E ' /((usr/)?lib|usr/include/(CLI/CLI|nlohmann/json)[.]hpp)' "$work/packages" >"$root/.packages" || true
# Absolute links are meant to point below the sysroot: make them relative.
find "$root" -type l -lname '/*' | while read -r link; do
    ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
done

echo "$stamp" >"$root/.stamp"
rm -rf "$folder"
mv "$root" "$folder"
echo "sysroot: $folder has $(du -sm "$folder" | cut -f 1) MB of $architecture"
