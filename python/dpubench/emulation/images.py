"""The images of an emulated machine: Debian's kernel with some of its modules, and a userland as the first file system. Both are made once and kept.

The kernel unpacks several archives in a row, so that a machine's own files (its first program, the key that opens it) are an archive behind them.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import lzma
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from dpubench import programs, scratch, terminal
from dpubench.emulation import cpio
from dpubench.emulation.packages import Apt
from dpubench.errors import EnvironmentFault

#: Raised when the same packages give other images than before.
_VERSION: Final = 1
#: What a machine with nothing but a shell and an ssh server needs; busybox is also what its first program is written for.
_SMALL: Final = ("busybox-static", "dropbear-bin")
#: Debian's usual programs, and those that studies stress and link measure with.
_FULL: Final = (
    "busybox-static", "bash", "coreutils", "dash", "ethtool", "grep", "gzip", "iperf3", "iproute2", "openssh-server", "openssl", "procps", "qperf",
    "sed", "sockperf", "stress-ng", "tar", "util-linux",
)  # fmt: skip
USERLANDS: Final = {"small": _SMALL, "full": _FULL}
DEFAULT_KERNEL: Final = {"aarch64": "linux-image-arm64"}
#: Modules that the machine loads, with those that they need. A kernel may hold some of them itself.
_MODULES: Final = ("virtio_pci", "virtio_net")
#: Modules that it loads where the kernel has them. The kernel's TLS takes its AES-GCM from those behind it, which nothing in the machine would load.
_IF_PRESENT: Final = ("virtio_rng", "tls", "gcm", "ctr", "ghash_generic", "aes_generic")
#: Folders of packages that hold programs, libraries and their settings. Today's Debian has the first three below usr only.
_MERGED: Final = ("bin", "sbin", "lib")
_WANTED: Final = ("etc", "usr/bin", "usr/sbin", "usr/lib", "usr/libexec")
#: Parts of those folders that no program of a userland reads. They would take memory of the machine.
_UNWANTED: Final = re.compile(r"(usr/lib/(systemd|udev|[^/]+/(perl|perl-base|gconv))|etc/(init\.d|cron\.\w+|pam\.d))(/|$)")


@dataclass(frozen=True)
class Wanted:
    """What a machine is made of."""

    architecture: str  #: such as ``aarch64``
    userland: str  #: a key of :data:`USERLANDS`
    kernel: str  #: Debian package of a kernel, or one that depends on it
    sources: Path | None = None  #: file of package sources; None: this system's

    def key(self, *more: object) -> str:
        """Return digits that change with the packages of an image, ``more``, and with the way in which images are made."""
        given = self.sources.read_text(encoding="utf-8", errors="replace") if self.sources is not None and self.sources.is_file() else ""
        return hashlib.sha256(json.dumps([_VERSION, self.architecture, given, *more]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Images:
    """Files of a machine."""

    kernel: Path
    archives: Sequence[Path]  #: of the first file system, in order


def get(wanted: Wanted) -> Images:
    """Return the images of a machine; fetch packages and make them if they are not in the cache.

    Raises:
        UserError: this system cannot fetch Debian packages.
        EnvironmentFault: a package cannot be had, or the disk is full.
    """
    place = programs.cache_directory() / "machines"
    kernel = place / f"kernel-{wanted.key(wanted.kernel, _MODULES, _IF_PRESENT)}"
    userland = place / f"{wanted.userland}-{wanted.key(USERLANDS[wanted.userland], _WANTED, _UNWANTED.pattern)}"
    try:
        if not (kernel.is_dir() and userland.is_dir()):
            terminal.note(f"emulated machine: fetching Debian's packages for {wanted.architecture} (once)")
            place.mkdir(parents=True, exist_ok=True)
            scratch.sweep(place)
            with scratch.folder(place) as work:
                (work / "apt").mkdir()
                apt = Apt(work / "apt", wanted.architecture, wanted.sources)
                if not kernel.is_dir():
                    _made(_kernel, apt, wanted.kernel, work / "kernel", kernel)
                if not userland.is_dir():
                    _made(_userland, apt, USERLANDS[wanted.userland], work / "userland", userland)
    except OSError as error:
        raise EnvironmentFault(f"{place}: an image of a machine cannot be made: {error.strerror or error}") from None
    return Images(kernel / "vmlinuz", [userland / "userland.cpio", kernel / "modules.cpio"])


def _made(make: Callable[[Apt, Any, Path], None], apt: Apt, packages: object, folder: Path, final: Path) -> None:
    """Make an image in ``folder`` and give it its name when it is complete. @raises OSError, EnvironmentFault"""
    folder.mkdir()
    make(apt, packages, folder)
    try:
        folder.rename(final)
    except OSError:
        if not final.is_dir():  # otherwise another process was faster
            raise


def _kernel(apt: Apt, package: str, folder: Path) -> None:
    """Write the kernel of ``package`` as ``vmlinuz``, and its modules in the order of their insertion as ``modules.cpio``."""
    # A package without a version depends on one with the present version.
    names = [name for name in apt.needed(package) if name.startswith("linux-image-")] or [package]
    (archive,) = apt.fetch(names[:1], alone=True)
    root = folder / "root"
    with _content(archive) as tar:
        root.mkdir()
        for member in tar:
            if member.isfile() and re.match(r"\./(boot/vmlinuz-|(usr/)?lib/modules/[^/]+/(modules\.builtin$|kernel/.*\.ko))", member.name):
                path = root / Path(member.name).name
                path.write_bytes(_data(tar, member))
    kernels = list(root.glob("vmlinuz-*"))
    if len(kernels) != 1:
        raise EnvironmentFault(f"package {package}: holds no kernel: name one such as {', '.join(DEFAULT_KERNEL.values())}")
    kernels[0].rename(folder / "vmlinuz")
    with (folder / "modules.cpio").open("wb") as stream:
        out = cpio.Writer(stream)
        for number, path in enumerate(_modules(root)):
            data = path.read_bytes()
            name = path.name.removesuffix(".xz")
            out.file(f"dpubench/modules/{number:02}-{name}", data if name == path.name else lzma.decompress(data))
        out.close()
    shutil.rmtree(root)


def _modules(root: Path) -> list[Path]:
    """Return the files of the wanted modules in ``root`` and of those that they need, each behind what it needs. @raises EnvironmentFault"""
    files = {_module_name(path): path for path in root.glob("*.ko*")}
    held = {_module_name(Path(line)) for line in (root / "modules.builtin").read_text(encoding="utf-8").splitlines()}
    found: list[Path] = []

    def add(name: str) -> None:
        if name in held or files.get(name) in found:
            return
        if name not in files:
            raise EnvironmentFault(f"this kernel has no module {name}: choose another with kernel=PACKAGE")
        for needed in _needed(files[name]):
            add(needed)
        found.append(files[name])

    for name in (*_MODULES, *(name for name in _IF_PRESENT if name in files)):
        add(name)
    return found


def _module_name(path: Path) -> str:
    return path.name.partition(".")[0].replace("-", "_")


def _needed(module: Path) -> list[str]:
    """Return the names of the modules that ``module`` needs (its ``depends=``)."""
    data = module.read_bytes()
    try:
        section = ELFFile(io.BytesIO(lzma.decompress(data) if module.suffix == ".xz" else data)).get_section_by_name(".modinfo")
    except (ELFError, lzma.LZMAError) as error:
        raise EnvironmentFault(f"{module.name}: this module of the kernel cannot be read: {error}") from None
    words = section.data().split(b"\0") if section is not None else []
    depends = next((word.removeprefix(b"depends=") for word in words if word.startswith(b"depends=")), b"")
    return [name.replace("-", "_") for name in depends.decode().split(",") if name]


def _userland(apt: Apt, packages: Sequence[str], folder: Path) -> None:
    """Write the programs and libraries of ``packages``, and of all that they need, as ``userland.cpio``."""
    archives = apt.fetch(packages)
    with (folder / "userland.cpio").open("wb") as stream:
        out = cpio.Writer(stream)
        for name in _MERGED:
            out.folder(f"usr/{name}")
            out.link(name, f"usr/{name}")
        for archive in archives:
            with _content(archive) as tar:
                for member in tar:
                    _copy(tar, member, out)
        # The package of a shell gives it this name when it is configured.
        if "usr/bin/dash" in out and "usr/bin/sh" not in out:
            out.link("usr/bin/sh", "dash")
        out.close()


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, out: cpio.Writer) -> None:
    """Copy an entry of a package to a userland, unless no program needs it."""
    name = _place(member.name)
    if not any(name == wanted or name.startswith(f"{wanted}/") for wanted in _WANTED) or _UNWANTED.match(name) or name in out:
        return
    if member.isdir():
        out.folder(name, member.mode)
    elif member.issym():
        out.link(name, member.linkname)
    elif member.islnk():
        out.link(name, f"/{_place(member.linkname)}")
    elif member.isfile():
        out.file(name, _data(tar, member), member.mode)


def _place(name: str) -> str:
    """Return where an entry of a package lies in a userland."""
    path = name.removeprefix("./").rstrip("/")
    return f"usr/{path}" if path.partition("/")[0] in _MERGED else path


def _data(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None  # the member is a regular file
    return file.read()


@contextlib.contextmanager
def _content(archive: Path) -> Iterator[tarfile.TarFile]:
    """Yield the files of a package, to be read in order. @raises EnvironmentFault it is damaged"""
    words = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as reader:
        assert reader.stdout is not None  # it is a PIPE
        try:
            with tarfile.open(fileobj=reader.stdout, mode="r|") as tar:
                yield tar
        except tarfile.TarError as error:
            raise EnvironmentFault(f"{archive.name}: this package cannot be unpacked: {error}") from None
        finally:
            reader.kill()
