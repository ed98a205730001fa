"""Bundles: complete, relocatable, the same bytes for the same build; and what is said when one cannot be made."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from dpubench import bundle
from dpubench.errors import UserError
from real_program import BUILD, PROGRAM, RealBench, job, kinds

pytestmark = pytest.mark.usefixtures("real")
BARE: dict[str, str] = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bundle.Bundle:
    return bundle.pack(BUILD, bundle.host_architecture(), tmp_path_factory.mktemp("bundle") / "b.tar.gz")


@pytest.fixture
def unpacked(archive: bundle.Bundle, tmp_path: Path) -> Path:
    """Somewhere else than where it was made, under a name with a blank."""
    place = tmp_path / "some where"
    with tarfile.open(archive.path) as tar:
        tar.extractall(place)
    return place / bundle.folder_name(archive.architecture)


def hello(*command: str | Path) -> dict[str, Any]:
    done = subprocess.run([*command, "--list"], capture_output=True, env=BARE, timeout=60, check=True)
    return dict(json.loads(done.stdout))


def test_a_bundle_has_the_engines_of_its_build(unpacked: Path) -> None:
    ours, theirs = hello(PROGRAM), hello(unpacked / "run")
    assert theirs["catalog"] == ours["catalog"]
    assert theirs["build"] == ours["build"]


def test_it_measures_and_verifies(unpacked: Path) -> None:
    given = json.dumps(job(*(e["name"] for o in hello(PROGRAM)["catalog"]["operators"] if o["name"] == "sha256" for e in o["engines"] if e["available"])))
    done = subprocess.run([unpacked / "run"], input=given.encode(), capture_output=True, env=BARE, timeout=60, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert kinds(events, "window") and not kinds(events, "failure")
    assert all(e["known_answers"] > 0 for e in kinds(events, "verified"))


def test_nothing_outside_it_is_used(unpacked: Path) -> None:
    """A program that holds its engines loaded maps no file but the bundle's: neither the C library nor the build folder of this machine."""
    given = json.dumps(job("portable", control="stepped")).encode() + b"\n"
    with subprocess.Popen([unpacked / "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=BARE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(given)
            process.stdin.flush()
            assert any(json.loads(line)["event"] == "ready" for line in process.stdout)
            mapped = {line.split(maxsplit=5)[5].strip() for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines() if "/" in line}
        finally:
            process.kill()
    files = {m for m in mapped if not m.startswith(("/dev/", "/memfd:", "/SYSV"))}
    assert any("/lib/engines/" in m for m in files)
    assert {m for m in files if not m.startswith(str(unpacked))} == set()


def test_it_runs_where_nothing_else_is(unpacked: Path) -> None:
    """In a root of its own, with /proc alone beside it: no shell, no library, no file of this machine."""
    (unpacked / "proc").mkdir()
    loader = next((unpacked / "lib").glob("ld-linux-*"))
    confined = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", f"--mount-proc={unpacked / 'proc'}", "chroot", str(unpacked)]
    if subprocess.run([*confined, f"/lib/{loader.name}", "--help"], env=BARE, capture_output=True, timeout=30, check=False).returncode != 0:
        pytest.skip("this system lets its users make no namespaces")
    ours, theirs = hello(PROGRAM), hello(*confined, f"/lib/{loader.name}", "--library-path", "/lib", "/lib/dpubench-operators")
    assert theirs["catalog"] == ours["catalog"]


def test_json_describes_the_archive(archive: bundle.Bundle) -> None:
    told = archive.record()
    assert (told["path"], told["bytes"]) == (str(archive.path), archive.path.stat().st_size)
    assert json.loads(json.dumps(told)) == told


def test_the_same_build_gives_the_same_archive_and_the_manifest_is_true(archive: bundle.Bundle, unpacked: Path, tmp_path: Path) -> None:
    time.sleep(1.1)  # a time of packing in it would show
    again = bundle.pack(BUILD, archive.architecture, tmp_path / "again.tar.gz")
    assert again.sha256 == archive.sha256 == hashlib.sha256(archive.path.read_bytes()).hexdigest()
    manifest = json.loads((unpacked / "manifest.json").read_text())
    present = {str(f.relative_to(unpacked)) for f in unpacked.rglob("*") if f.is_file()} - {"manifest.json"}
    assert set(manifest["files"]) == present
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((unpacked / name).read_bytes()).hexdigest() == digest, name


def test_the_command_packs_a_build_and_says_how_to_use_it(real: RealBench) -> None:
    done = real("bundle", "--build", str(BUILD), "-o", "x.tar.gz")
    assert done.returncode == 0, done.stderr
    assert "tar xzf x.tar.gz" in done.stdout and "engine modules" in done.stdout
    assert hashlib.sha256((real.folder / "x.tar.gz").read_bytes()).hexdigest() in done.stdout
    assert [p.name for p in real.folder.glob("x.tar.gz*")] == ["x.tar.gz"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--arch", "arm64"), 2, "no bundles for it; did you mean"),
        (("--arch", "riscv64"), 2, "no bundles for it; known: aarch64, x86_64"),
        (("-o", "no/where/x.tar.gz"), 2, "there is no folder"),
        (("--build", "/nonexistent"), 2, "there is no such program"),
        (("--build", str(BUILD), "-o", "/proc/x.tar.gz"), 1, "cannot be written"),
    ],
)
def test_what_cannot_be_packed(real: RealBench, arguments: tuple[str, ...], status: int, words: str) -> None:
    done = real("bundle", *arguments)
    assert done.returncode == status, done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr


def test_a_build_of_another_architecture_or_without_a_library_is_refused(tmp_path: Path) -> None:
    other = next(a for a in bundle.ARCHITECTURES if a != bundle.host_architecture())
    with pytest.raises(UserError, match=f"is not for {other}"):
        bundle.pack(BUILD, other, tmp_path / "x.tar.gz")
    broken = tmp_path / "native"
    shutil.copytree(PROGRAM.parent, broken, ignore=shutil.ignore_patterns("*.p", "bare", "fixtures"))
    next((broken / "engines").glob("*.so")).write_bytes(b"no library")
    with pytest.raises(UserError, match="is no program and no library"):
        bundle.pack(broken, bundle.host_architecture(), tmp_path / "x.tar.gz")
    assert not list(tmp_path.glob("x.tar.gz*"))
