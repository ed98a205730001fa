"""Roots of other systems, made of Debian packages: what a container's image holds, and nothing of this machine.

A root is unpacked, not installed: nothing of it runs before a test does. It is kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpubench import programs, scratch
from dpubench.bundles.archive import host_architecture
from dpubench.emulation.packages import Apt

_KEY: Final = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
_DEBIAN: Final = "http://deb.debian.org/debian"
_LIMIT_S: Final = 3000
#: A shell and its tools; the library that Python's own packages expect of every system.
_BASE: Final = ("dash", "coreutils", "libstdc++6")
_MOUNTS: Final = """\
mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && exec chroot "$0" "$@"
"""


@dataclass(frozen=True)
class Root:
    """A folder that a command sees as ``/``."""

    folder: Path
    python: str  #: command of its Python

    def run(self, *words: str, limit_s: float = _LIMIT_S, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in it, in a namespace without a network. Return how it ended."""
        enter = ["unshare", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child", f"--mount-proc={self.folder / 'proc'}"]
        command = [*enter, "sh", "-c", _MOUNTS, str(self.folder), *words]
        bare = {"PATH": "/opt/python/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", **(environment or {})}
        return subprocess.run(command, env=bare, capture_output=True, text=True, timeout=limit_s, stdin=subprocess.DEVNULL, check=False)

    def copy(self, place: Path) -> Root:
        """Return a copy in ``place`` that a test may change."""
        shutil.copytree(self.folder, place, symlinks=True)
        return Root(place, self.python)


def debian_12() -> Root:
    """Return Debian 12 with its own Python, and no compiler."""
    sources = f"deb {_KEY} {_DEBIAN} bookworm main\n"
    return Root(_kept("debian-12", sources, (*_BASE, "python3-venv")), "python3")


def glibc_2_31() -> Root:
    """Return Debian 11, whose C library is 2.31, and no compiler. Its Python is too old: a later one is compiled, in a root of its own."""
    sources = f"deb {_KEY} {_DEBIAN} bullseye main\ndeb-src {_KEY} {_DEBIAN} bookworm main\n"
    needs = ("zlib1g", "libffi7", "libbz2-1.0", "liblzma5", "libssl1.1")
    return Root(_kept("glibc-2.31", sources, (*_BASE, *needs), compiled="python3.11"), "python3.11")


def _kept(name: str, sources: str, packages: Sequence[str], compiled: str = "") -> Path:
    """Return a root of the cache; make it first if there is none yet, or if this file has changed."""
    digest = hashlib.sha256(inspect.getsource(sys.modules[__name__]).encode()).hexdigest()[:16]
    place = programs.cache_directory() / "roots"
    place.mkdir(parents=True, exist_ok=True)
    folder = place / f"{name}-{digest}"
    if folder.is_dir():
        return folder
    for old in place.glob(f"{name}-*"):
        shutil.rmtree(old)
    scratch.sweep(place)
    with scratch.folder(place) as work:
        (work / "sources.list").write_text(sources)
        (work / "apt").mkdir()
        apt = Apt(work / "apt", host_architecture(), work / "sources.list")
        made = _unpacked(apt, packages, work / "root")
        if compiled:
            _compile(apt, compiled, work, made)
        made.rename(folder)
    return folder


def _unpacked(apt: Apt, packages: Sequence[str], root: Path) -> Path:
    root.mkdir()
    for package in apt.fetch(packages):
        # Through tar, because dpkg-deb sets owners, which a user without root cannot.
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as deb:
            subprocess.run(["tar", "-x", "--no-same-owner", "--keep-directory-symlink", "-C", root], stdin=deb.stdout, check=True)
        if deb.returncode != 0:
            raise OSError(f"{package}: cannot be unpacked")
    for name in ("dev", "proc", "sys", "tmp", "root", "etc"):
        (root / name).mkdir(exist_ok=True)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    return root


def _compile(apt: Apt, package: str, work: Path, root: Path) -> None:
    """Compile Python from Debian's source ``package`` and put it into ``/opt/python`` of ``root``."""
    tools = ("gcc", "libc6-dev", "make", "sed", "grep", "gawk", "diffutils", "findutils", "bash", "tar", "gzip", "hostname")
    developing = ("zlib1g-dev", "libffi-dev", "libbz2-dev", "liblzma-dev", "libssl-dev", "pkg-config")
    factory = _unpacked(apt, (*_BASE, *tools, *developing), work / "factory")
    source = next(file for file in apt.source(package) if ".orig.tar." in file.name)
    (factory / "src").mkdir()
    subprocess.run(["tar", "-xf", source, "-C", factory / "src", "--strip-components=1", "--no-same-owner"], check=True)
    if not (factory / "usr/bin/awk").exists():
        (factory / "usr/bin/awk").symlink_to("gawk")
    script = (
        "cd /src && ./configure -q --prefix=/opt/python --disable-test-modules --with-ensurepip=install >/dev/null && "
        f"make -s -j{os.cpu_count()} >/dev/null 2>&1 && make -s install >/dev/null"
    )
    done = Root(factory, "").run("bash", "-c", script)
    if done.returncode != 0:
        raise OSError(f"Python cannot be compiled: {done.stderr[-2000:]}")
    shutil.copytree(factory / "opt/python", root / "opt/python", symlinks=True)
