"""Tests of the images of an emulated machine, made of a small repository of Debian packages in a folder. No network is needed."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
from dpubench.emulation import cpio, images
from dpubench.emulation.packages import Apt
from dpubench.errors import EnvironmentFault, UserError

ARCHITECTURE = "aarch64"


class Repository:
    """A repository of Debian packages in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = folder / "its.list"
        folder.mkdir()
        self.sources.write_text(f"deb [trusted=yes] file:{folder} ./\n")
        self._entries: list[str] = []

    def add(self, name: str, files: dict[str, bytes | str], *, depends: str = "", damaged: bool = False) -> None:
        """Add a package: a text is the target of a symbolic link, bytes are the content of a file."""
        tree = self.folder / f"{name}.tree"
        for path, content in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                (tree / path).symlink_to(content)
            else:
                (tree / path).write_bytes(content)
                (tree / path).chmod(0o755 if "bin/" in path else 0o644)
        control = f"Package: {name}\nVersion: 1\nArchitecture: arm64\nMaintainer: x <x@example.org>\nDescription: x\n"
        control += f"Depends: {depends}\n" if depends else ""
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN" / "control").write_text(control)
        archive = self.folder / f"{name}_1_arm64.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, archive], check=True, capture_output=True, timeout=60)
        data = bytearray(archive.read_bytes())
        digest = hashlib.sha256(data).hexdigest()
        self._entries.append(f"{control}Filename: ./{archive.name}\nSize: {len(data)}\nSHA256: {digest}\n")
        if damaged:
            data[-1] ^= 1
            archive.write_bytes(data)
        (self.folder / "Packages").write_text("\n".join(self._entries))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Return a repository with a userland of two packages and a kernel, to which the userland ``small`` is limited."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(images, "USERLANDS", {"small": ("shell",)})
    made = Repository(tmp_path / "repository")
    made.add("shell", {
        "bin/dash": b"shell", "usr/bin/old": b"old", "lib/ld.so": b"loader", "lib/link.so": "ld.so", "usr/share/doc/shell/README": b"long",
        "usr/lib/systemd/system/shell.service": b"unit", "etc/shell.conf": b"settings",
    }, depends="library")  # fmt: skip
    made.add("library", {"usr/lib/library.so": b"library", "etc/init.d/library": b"script"})
    return made


def wanted(repository: Repository) -> images.Wanted:
    return images.Wanted(ARCHITECTURE, "small", "kernel", repository.sources)


def entries(archive: Path) -> dict[str, str]:
    """Return what another program finds in a cpio archive: name (of a link with its target), mode and owner."""
    with archive.open("rb") as stream:
        done = subprocess.run(["busybox", "cpio", "-tv"], stdin=stream, capture_output=True, text=True, check=True, timeout=60)
    rows = [line.split() for line in done.stdout.splitlines()]
    # mode, owner, for devices major and minor or else the size, date, time, name
    return {" ".join(row[next(i for i, word in enumerate(row) if word.count(":") == 2) + 1 :]): f"{row[0]} {row[1]}" for row in rows}


def add_kernel(repository: Repository, *modules: str) -> None:
    """Add a kernel which holds the needed modules itself; those of ``modules`` are empty files."""
    held = "".join(f"kernel/{name}.ko\n" for name in images._MODULES)
    files: dict[str, bytes | str] = {"boot/vmlinuz-1": b"kernel", "lib/modules/1/modules.builtin": held.encode()}
    files |= {f"lib/modules/1/kernel/drivers/{name}.ko": b"" for name in modules}
    repository.add("linux-image-1", files)
    repository.add("kernel", {}, depends="linux-image-1")


def test_images_are_made_of_packages_once(repository: Repository) -> None:
    add_kernel(repository)
    made = images.get(wanted(repository))
    assert made.kernel.read_bytes() == b"kernel"
    userland, modules = map(entries, made.archives)
    assert modules == {}
    assert userland["bin -> usr/bin"] == "lrwxrwxrwx 0/0" and userland["lib -> usr/lib"] == "lrwxrwxrwx 0/0"
    assert userland["usr/bin/dash"] == "-rwxr-xr-x 0/0" and userland["usr/lib/ld.so"] == "-rw-r--r-- 0/0"
    assert {"usr/bin/old", "usr/bin/sh -> dash", "usr/lib/link.so -> ld.so", "usr/lib/library.so", "etc/shell.conf"} <= userland.keys()
    assert not any("share" in name or "systemd" in name or "init.d" in name for name in userland)
    for package in repository.folder.glob("*.deb"):  # from now on they come from the cache
        package.unlink()
    before = [path.stat().st_ino for path in (made.kernel, *made.archives)]
    again = images.get(wanted(repository))
    assert again == made and [path.stat().st_ino for path in (again.kernel, *again.archives)] == before
    assert sorted(path.name.partition("-")[0] for path in made.kernel.parents[1].iterdir()) == ["kernel", "small"]


def test_other_sources_or_packages_are_other_images(repository: Repository) -> None:
    first = wanted(repository)
    assert first.key("kernel") == first.key("kernel") != first.key("other")
    repository.sources.write_text(repository.sources.read_text() + "\n")
    assert wanted(repository).key("kernel") != images.Wanted(ARCHITECTURE, "small", "kernel").key("kernel")


def failed(repository: Repository, kind: type[UserError] = EnvironmentFault) -> str:
    """Return why images cannot be made; nothing is left of the attempt."""
    with pytest.raises(kind) as raised:
        images.get(wanted(repository))
    place = repository.folder.parent / "cache" / "dpubench" / "machines"
    assert all(path.name.startswith(("kernel-", "small-")) for path in place.iterdir())
    return str(raised.value)


def test_what_cannot_be_fetched_is_told(repository: Repository) -> None:
    assert "the package sources here have no kernel for arm64: name sources of Debian" in failed(repository)
    repository.add("kernel", {"usr/bin/no-kernel": b""})
    assert "package kernel: holds no kernel" in failed(repository)
    repository.sources.write_text("deb [trusted=yes] http://127.0.0.1:9/debian ./\n")
    told = failed(repository)
    assert "have no kernel for arm64 (" in told and "127.0.0.1" in told and told.endswith(": check the network")
    repository.sources.write_text("no sources\n")
    assert "`apt-get update` failed" in failed(repository)
    repository.sources.unlink()
    assert "this file of package sources cannot be read" in failed(repository, UserError)


def test_a_damaged_package_is_refused(repository: Repository) -> None:
    repository.add("linux-image-1", {"boot/vmlinuz-1": b"kernel"}, damaged=True)
    repository.add("kernel", {}, depends="linux-image-1")
    assert "Hash Sum mismatch" in failed(repository) or "unexpected" in failed(repository)


def test_a_module_that_is_missing_is_told(repository: Repository) -> None:
    repository.add("linux-image-1", {"boot/vmlinuz-1": b"kernel", "lib/modules/1/modules.builtin": b""})
    repository.add("kernel", {}, depends="linux-image-1")
    assert "this kernel has no module virtio_pci: choose another with kernel=PACKAGE" in failed(repository)


def test_a_module_that_cannot_be_read_is_told(repository: Repository) -> None:
    add_kernel(repository, "tls")
    assert "tls.ko: this module of the kernel cannot be read" in failed(repository)


def test_archives_follow_each_other(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    with archive.open("wb") as stream:
        out = cpio.Writer(stream)
        out.file("a/b/c", b"12345", 0o600)
        out.folder("a")
        out.link("l", "a/b/c")
        out.character_device("console", 5, 1)
        out.close()
        assert stream.tell() % 4 == 0
    assert entries(archive) == {"a": "drwxr-xr-x 0/0", "a/b": "drwxr-xr-x 0/0", "a/b/c": "-rw------- 0/0", "l -> a/b/c": "lrwxrwxrwx 0/0",
                                "console": "crw------- 0/0"}  # fmt: skip
    subprocess.run(["busybox", "cpio", "-id", "a/b/c"], cwd=tmp_path, stdin=archive.open("rb"), check=True, capture_output=True, timeout=60)
    assert (tmp_path / "a" / "b" / "c").read_bytes() == b"12345"


def test_an_apt_of_its_own_needs_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"apt-get is not installed here"):
        Apt(tmp_path / "apt", ARCHITECTURE, None)
