"""Tests of the wheel where nothing of this machine is: Debian 12 and a system with C library 2.31, without a compiler and without a network.

They take minutes and fetch packages: `make wheel-test`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import roots
from conftest import ROOT
from dpubench.bundles.archive import host_architecture

pytestmark = [pytest.mark.wheel, pytest.mark.skipif(host_architecture() != "x86_64", reason="the roots here are made for x86-64")]

#: Tags of wheels that run with C library 2.31.
_PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in (31, 28, 27, 24, 17, 12, 5)] + ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel of DPUBENCH_WHEEL and the packages that it needs, as the lock has them."""
    folder = tmp_path_factory.mktemp("wheels")
    [wheel] = Path(os.environ["DPUBENCH_WHEEL"]).glob("*.whl")
    shutil.copy(wheel, folder)
    words = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--only-binary=:all:"]
    words += ["-r", str(ROOT / "requirements/run.txt"), "-d", str(folder), "--implementation=cp", "--python-version=3.11"]
    words += [f"--abi={abi}" for abi in ("cp311", "abi3", "none")] + [f"--platform={platform}" for platform in _PLATFORMS]
    subprocess.run(words, check=True, timeout=600)
    return folder


@pytest.fixture(scope="session", params=[roots.debian_12, roots.glibc_2_31], ids=["debian-12", "glibc-2.31"])
def system(request: pytest.FixtureRequest, wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> roots.Root:
    """Return a root in which the wheel was installed by pip, and nothing else."""
    make: Callable[[], roots.Root] = request.param
    root = make().copy(tmp_path_factory.mktemp("system") / "root")
    shutil.copytree(wheels, root.folder / "wheels")
    for words in (
        (root.python, "-m", "venv", "/venv"),
        ("/bin/sh", "-c", "/venv/bin/pip install -q --no-index --find-links /wheels /wheels/dpubench-*.whl"),
    ):
        done = root.run(*words)
        assert done.returncode == 0, done.stderr + done.stdout
    return root


def test_the_system_has_no_compiler_and_the_c_library_that_it_is_named_for(system: roots.Root, request: pytest.FixtureRequest) -> None:
    assert system.run("/bin/sh", "-c", "command -v gcc cc g++ make meson ninja").returncode != 0
    version = system.run(system.python, "-c", "import os; print(os.confstr('CS_GNU_LIBC_VERSION'))").stdout.split()[1]
    assert version == {"debian-12": "2.36", "glibc-2.31": "2.31"}[request.node.callspec.id]


def test_it_measures_every_operator(system: roots.Root) -> None:
    done = system.run("/bin/sh", "-c", "cd /tmp && /venv/bin/dpubench run --budget 30s --name r", limit_s=300)
    assert done.returncode == 0, done.stderr + done.stdout
    record = json.loads((system.folder / "tmp/results/r/run.json").read_text())
    assert record["status"] == "complete" and not record["failures"]
    assert "explained in: /venv/share/doc/dpubench/operators-study.md" in done.stdout
    assert (system.folder / "tmp/results/r/report.html").stat().st_size > 100_000


def test_it_has_the_engines_of_the_build(system: roots.Root) -> None:
    done = system.run("/venv/bin/dpubench", "list", "engines", "--json")
    assert done.returncode == 0, done.stderr
    here = {(e["operator"], e["engine"]) for e in json.loads(done.stdout) if e["available"]}
    assert {("aes", "openssl"), ("aes", "ipsec-mb"), ("crc", "isal"), ("lpm", "dpdk-fib"), ("regex", "hyperscan"), ("memcpy", "libc")} <= here


def test_other_studies_find_their_programs(system: roots.Root) -> None:
    done = system.run("/venv/bin/dpubench", "list", "ports", "--json")
    assert done.returncode == 0 and {"memif", "null", "ring"} <= {p["port"] for p in json.loads(done.stdout) if p["available"]}, done.stderr
    done = system.run("/bin/sh", "-c", "/venv/lib/python3*/site-packages/dpubench/native/dpubench-cores --help")
    assert done.returncode == 0, done.stderr


def test_it_packs_a_bundle_of_its_own_programs(system: roots.Root) -> None:
    done = system.run("/venv/bin/dpubench", "bundle", "-o", "/tmp/b.tar.gz")
    assert done.returncode == 0 and "engine modules" in done.stdout, done.stderr
    with tarfile.open(system.folder / "tmp/b.tar.gz") as bundle:
        bundle.extractall(system.folder / "tmp")
    done = system.run("/bin/sh", "-c", "/tmp/dpubench-*/run --list")
    assert done.returncode == 0 and json.loads(done.stdout)["program"] == "dpubench-operators", done.stderr


def test_the_shared_files_are_where_shells_and_man_look(system: roots.Root) -> None:
    share = system.folder / "venv/share"
    for name in (
        "man/man1/dpubench.1", "bash-completion/completions/dpubench", "zsh/site-functions/_dpubench",
        "fish/vendor_completions.d/dpubench.fish", "doc/dpubench/operators-study.md",
    ):  # fmt: skip
        assert (share / name).stat().st_size > 500, name
    assert "aes checksum" in (share / "bash-completion/completions/dpubench").read_text(), "operators of the build"


def test_removing_it_leaves_nothing(system: roots.Root) -> None:
    done = system.run("/venv/bin/pip", "uninstall", "-q", "-y", "dpubench")
    assert done.returncode == 0, done.stderr
    left = [f for f in (system.folder / "venv").rglob("*") if "dpubench" in f.name.lower() and not f.is_dir()]
    assert not left
