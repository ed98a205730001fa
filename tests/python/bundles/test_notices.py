"""Tests of the notices of third parties in bundles: made from the files that a bundle has, on a system and in a sysroot."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from dpubench.bundles import notices
from dpubench.bundles.archive import host_architecture

LIBC = Path(f"/lib/{host_architecture()}-linux-gnu/libc.so.6")


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="this system has no packages of Debian")
def test_libraries_of_this_system_have_their_package_version_and_licence(tmp_path: Path) -> None:
    stray = tmp_path / "libstray.so.1"
    stray.touch()
    made = notices.of({"lib/libc.so.6": LIBC.resolve(), "lib/libstray.so.1": stray}, Path("/"), ROOT)
    overview = made[notices.OVERVIEW].decode()
    assert "\nglibc 2." in overview and ": libc.so.6\n" in overview
    assert f"{notices.UNKNOWN}; their licences are not known here:\nlibstray.so.1 ({stray})" in overview
    assert b"Free Software Foundation" in made["licenses/glibc.txt"]
    assert b"GNU LESSER GENERAL PUBLIC LICENSE" in made["licenses/common/LGPL-2.1"]  # to which that text refers
    assert b"Apache License" in made["licenses/dpubench.txt"] and b"GPL-2.0-or-later" in made["licenses/qemu-plugins.txt"]


def test_libraries_of_a_sysroot_have_those_of_the_sysroot(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/libone.so.1").touch()
    (tmp_path / "usr/lib/libtwo.so.1").touch()
    for package, text in (("libone1", "licence of one"), ("libtwo1", "licence of two")):
        (tmp_path / "usr/share/doc" / package).mkdir(parents=True)
        (tmp_path / "usr/share/doc" / package / "copyright").write_text(text)
    (tmp_path / notices.LISTED).write_text("libone1 source 1.2-3 /lib/libone.so.1\nlibtwo1 source 1.2-3 /usr/lib/libtwo.so.1\n")
    found = {f"lib/{name}": tmp_path / "usr/lib" / name for name in ("libone.so.1", "libtwo.so.1")}
    made = notices.of(found, tmp_path, tmp_path)
    assert "source 1.2-3: libone.so.1, libtwo.so.1" in made[notices.OVERVIEW].decode()
    assert notices.UNKNOWN not in made[notices.OVERVIEW].decode()
    assert (made["licenses/source.txt"], made["licenses/source-libtwo1.txt"]) == (b"licence of one", b"licence of two")


def test_a_package_without_a_licence_is_named(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libone.so.1").touch()
    (tmp_path / notices.LISTED).write_text("libone1 one 1 /lib/libone.so.1\n")
    overview = notices.of({"lib/libone.so.1": tmp_path / "lib/libone.so.1"}, tmp_path, tmp_path)[notices.OVERVIEW].decode()
    assert "Packages without a copyright file: libone1" in overview
