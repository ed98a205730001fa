"""Tests of files kept on a machine behind a real sshd: bundles, folders with any name, inputs, and full disks."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dpubench.bundles import archive as bundle
from dpubench.errors import EnvironmentFault, UserError
from dpubench.targets.ssh import SshTarget
from sshd import Sshd, gone

OTHER = next(a for a in bundle.ARCHITECTURES if a != bundle.host_architecture())


def test_a_bundle_is_sent_once_and_checked_each_time(sshd: Sshd, make: Callable[..., SshTarget], capsys: pytest.CaptureFixture[str]) -> None:
    target = make()
    target.open()
    assert "sending the native programs" in capsys.readouterr().err
    (bundles,) = (sshd.home / "bundles").iterdir()
    again = SshTarget("dev", sshd.spec, "", target._bundle)
    again.open()
    again.close()
    assert "sending" not in capsys.readouterr().err
    (bundles / "lib/dpubench-operators").write_text("#!/bin/sh\necho changed\n")
    repaired = SshTarget("dev", sshd.spec, "", target._bundle)
    repaired.open()
    repaired.close()
    assert "sending" in capsys.readouterr().err
    assert "changed" not in (bundles / "lib/dpubench-operators").read_text()
    assert [p.name for p in (sshd.home / "bundles").iterdir()] == [bundles.name]


def test_an_older_bundle_and_what_a_cut_install_left_go(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    make("echo old\n").open()
    (old,) = (sshd.home / "bundles").iterdir()
    (sshd.home / "bundles/.new.999999999").mkdir()
    (sshd.home / "bundles/mine").mkdir()
    target = make("echo new\n")
    target.open()
    assert {p.name for p in (sshd.home / "bundles").iterdir()} == {target._digest, old.name, "mine"}  # the first target is still connected
    third = make("echo newest\n")
    target.close()
    for session in sshd.sessions():
        with contextlib.suppress(ProcessLookupError):
            os.kill(session, signal.SIGKILL)
    assert gone(sshd)
    third.open()
    assert {p.name for p in (sshd.home / "bundles").iterdir()} == {third._digest, "mine"}


def test_bundles_that_do_not_fit(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"is a bundle for {OTHER}, but the target is {bundle.host_architecture()}: make one with"):
        make(architecture=OTHER).open()
    with pytest.raises(UserError, match=r"is a bundle of dpubench 0\.0\.1, but this is"):
        make(version="0.0.1").open()
    rubbish = tmp_path / "rubbish.tar.gz"
    rubbish.write_bytes(b"no archive")
    with pytest.raises(UserError, match="is not a bundle of dpubench"):
        SshTarget("dev", sshd.spec, "", rubbish).open()
    with pytest.raises(EnvironmentFault, match="No such file"):
        SshTarget("dev", sshd.spec, "", tmp_path / "missing").open()
    assert not sshd.home.exists()


NAMES = ["with blanks", "quo'te", 'dou"ble', "semi;touch x", "$(touch x)", "`touch x`", "-n", "ünï", "a*b", "back\\slash", "*"]


@pytest.mark.parametrize("names", [NAMES, NAMES[::-1], NAMES[6:7]], ids=["in turn", "backwards", "a dash"])
def test_any_folder_name_is_only_a_name(sshd: Sshd, make: Callable[..., SshTarget], names: list[str], tmp_path: Path) -> None:
    folder = tmp_path.joinpath("f", *names)
    target = make("cat\n", str(folder))
    target.open()
    source = tmp_path / "in;put 'x\".txt"
    source.write_text("abc")
    (placed,) = target.place([source])
    assert placed == str(folder / "cache/inputs" / hashlib.sha256(b"abc").hexdigest() / source.name) and Path(placed).read_text() == "abc"
    assert target.cache_directory() == str(folder / "cache/prepared")
    for private in (folder, folder / "bundles", folder / "cache", *(folder / "cache").rglob("*")):
        assert private.stat().st_mode & 0o077 == 0, f"{private} is the user's alone"
    target.close()
    assert target.purge() == str(folder)
    assert list(folder.parent.iterdir()) == [] and not list(tmp_path.rglob("x"))


def test_a_line_break_in_a_folders_name_is_refused() -> None:
    for name in ("a\nb", "a\0b", "\x7f"):
        with pytest.raises(UserError, match="cannot be used: choose another folder"):
            SshTarget("dev", "ssh://h", name)


def test_a_folder_of_somebody_elses_is_left_alone(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    foreign = tmp_path / "photos"
    (foreign / "bundles").mkdir(parents=True)
    target = make(directory=str(foreign))
    with pytest.raises(UserError, match="holds files that do not belong to dpubench"):
        target.open()
    with pytest.raises(UserError, match="has no mark of dpubench: nothing in it is removed"):
        target.purge()
    assert (foreign / "bundles").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file is not a folder"):
        make(directory=str(tmp_path / "file" / "x")).open()


def test_purge_leaves_what_is_not_ours(sshd: Sshd, make: Callable[..., SshTarget]) -> None:
    target = make()
    target.open()
    target.close()
    (sshd.home / "notes.txt").touch()
    target.purge()
    assert [p.name for p in sshd.home.iterdir()] == ["notes.txt"]
    (sshd.home / "notes.txt").unlink()
    sshd.home.rmdir()
    target.purge()  # nothing exists: nothing to do


def test_a_folder_that_cannot_be_written(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path) -> None:
    if os.geteuid() == 0:  # permissions do not stop root
        with pytest.raises(EnvironmentFault, match="the bundle cannot be installed in /proc/dpubench: mkdir: "):
            make(directory="/proc/dpubench").open()
    else:
        (tmp_path / "mine").mkdir(0o555)
        with pytest.raises(UserError, match="mine is not writable: choose another"):
            make(directory=str(tmp_path / "mine" / "x")).open()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a disk of 2 MiB. Only a user who may mount can fill a disk without filling the machine's; otherwise skip the test."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here (it needs root)")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk(sshd: Sshd, make: Callable[..., SshTarget], small_disk: Path, tmp_path: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (2 << 20))
    (small_disk / "d").mkdir()
    full = make(directory=str(small_disk / "d"))
    with pytest.raises(EnvironmentFault, match=r"(?s)cannot be installed in .*No space left on device.*free some space there"):
        full.open()
    assert list((small_disk / "d/bundles").iterdir()) == []
    filler.unlink()
    full.open()  # it opens as if nothing had happened
    large = tmp_path / "large"
    large.write_bytes(os.urandom(3 << 20))
    with pytest.raises(EnvironmentFault, match=r"large: cannot be written: No space left on device \(errno 28\)"):
        full.place([large])
    assert list((small_disk / "d/cache/inputs").iterdir()) == []
    small = tmp_path / "small"
    small.write_text("x")
    assert Path(full.place([small])[0]).read_text() == "x"


def test_inputs_travel_once(sshd: Sshd, make: Callable[..., SshTarget], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = make()
    target.open()
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    contents = [b"", b"two", os.urandom(600_000)]
    for i, data in enumerate(contents):
        (corpus / f"{i}").write_bytes(data)
    odd = tmp_path / ("é" * 120)
    odd.write_bytes(b"two")
    files = sorted(corpus.iterdir())
    first = target.place([*files, odd])
    assert [Path(p).read_bytes() for p in first] == [*contents, b"two"]
    assert capsys.readouterr().err.count("sending") == 5  # the programs are among them
    assert target.place([*files, odd]) == first
    assert "sending" not in capsys.readouterr().err
    Path(first[1]).write_text("cut")
    assert target.place(files) == first[:3]  # a file of the same length is not read again
    Path(first[1]).write_text("c")
    assert Path(target.place(files)[1]).read_bytes() == b"two"
    target.close()
    assert target.place([odd]) == first[3:]  # a closed conversation begins anew
