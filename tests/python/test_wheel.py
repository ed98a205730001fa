"""Tests of the wheel: complete, with the right tag, rights and digests, and its programs run from where it is unpacked.

`make wheel-test` installs it in roots of other systems.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import dpubench
import pytest
from conftest import ROOT
from dpubench import programs
from dpubench.bundles import archive, notices
from dpubench.errors import UserError
from real_program import BUILD

sys.path.insert(0, str(ROOT / "scripts"))
import make_wheel

INFO = "dpubench-1.dist-info"


def plain() -> bytes:
    """Return a wheel such as setuptools makes."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as made:
        made.writestr("dpubench/__init__.py", "")
        made.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n")
        made.writestr(f"{INFO}/RECORD", "dpubench/__init__.py,,\n")
    return raw.getvalue()


def test_files_are_added_with_rights_digests_and_the_tag() -> None:
    more = {"dpubench/native/lib/libx.so": b"x", "dpubench/native/dpubench-agent": b"y", "dpubench/native/THIRD-PARTY.txt": b"z"}
    with zipfile.ZipFile(io.BytesIO(make_wheel.with_files(plain(), more, "py3-none-some_tag", zipfile.ZIP_STORED))) as made:
        rights = {info.filename: oct(info.external_attr >> 16) for info in made.infolist()}
        about = made.read(f"{INFO}/WHEEL").decode()
        rows = list(csv.reader(made.read(f"{INFO}/RECORD").decode().splitlines()))
        contents = {info.filename: made.read(info) for info in made.infolist()}
    assert rights["dpubench/native/dpubench-agent"] == rights["dpubench/native/lib/libx.so"] == "0o100755"
    assert rights["dpubench/native/THIRD-PARTY.txt"] == rights["dpubench/__init__.py"] == "0o100644"
    assert about.splitlines() == ["Wheel-Version: 1.0", "Generator: x", "Root-Is-Purelib: false", "Tag: py3-none-some_tag"]
    assert {row[0] for row in rows} == set(contents)
    for name, digest, size in rows:
        if name != f"{INFO}/RECORD":
            data = contents[name]
            expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert (digest, size) == (f"sha256={expected}", str(len(data)))


@pytest.mark.usefixtures("real")
def test_a_library_without_a_known_licence_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "collected", lambda *_, **__: {notices.OVERVIEW: f"{notices.UNKNOWN}: libx.so".encode()})
    with pytest.raises(UserError, match="the licence of a library is not known"):
        make_wheel.make(BUILD, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("real")
def test_the_wheel_of_this_build_runs_where_it_is_unpacked(tmp_path: Path) -> None:
    made = make_wheel.make(BUILD, tmp_path / "dist", compression=zipfile.ZIP_STORED)
    assert made.name == f"dpubench-{dpubench.__version__}-py3-none-manylinux_2_31_{archive.host_architecture()}.whl"
    with zipfile.ZipFile(made) as packed:
        for info in packed.infolist():
            packed.extract(info, tmp_path / "site")
            (tmp_path / "site" / info.filename).chmod(info.external_attr >> 16 & 0o777)
    site = tmp_path / "site"
    shared, about = site / f"dpubench-{dpubench.__version__}.data/data/share", site / f"dpubench-{dpubench.__version__}.dist-info"
    assert (shared / "man/man1/dpubench.1").read_text().startswith(".TH DPUBENCH")
    assert {page.name for page in (ROOT / "docs").glob("*.md")} == {page.name for page in (shared / "doc/dpubench").glob("*.md")}
    assert (about / "licenses/LICENSE").is_file() and "glibc" in (about / "licenses" / notices.OVERVIEW).read_text()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DPUBENCH_")}
    environment |= {"PYTHONPATH": str(site), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = [sys.executable, "-m", "dpubench", "list", "engines", "--json"]
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert {e["operator"] for e in json.loads(done.stdout) if e["available"]} >= {"aes", "crc", "lpm"}
    words = [sys.executable, "-c", "import dpubench.programs as p; print(p.operators_program(), p.layouts(p.operators_program()), p.find(p.CORES))"]
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    program, layouts, cores = done.stdout.split()
    assert Path(program) == site / "dpubench/native/dpubench-operators" and Path(cores).parent == Path(program).parent
    assert int(layouts) == programs.layouts(BUILD / "dpubench-operators")
