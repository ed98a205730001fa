"""Tests of the emulated machine in its unprivileged form: what boots, what runs in it, how it ends, and every way in which it cannot begin.

Programs of the bundle are scripts, for compiling the real ones takes ten minutes (`make vm-test` does). The agent is the real one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, SCRIPTED, Bench
from dpubench import targets
from dpubench.bundles import archive as bundle
from dpubench.emulation import images, machine, packages
from dpubench.errors import EnvironmentFault, TargetLost, UserError
from dpubench.targets import EMULATED
from dpubench.remote.agent import AgentProcess
from dpubench.targets.vm import VmTarget
from sshd import small_bundle

ARCHITECTURE = "aarch64"
#: What the small form needs, see scripts/packages.txt, group test.
WANTED = images.Wanted(ARCHITECTURE, "small", images.DEFAULT_KERNEL[ARCHITECTURE])
#: The agent alone: a static program, for the small userland has no library of C++.
AGENT_SOURCES = ("agent/*.cpp", "programs/agent.cpp", "inputs/digest.cpp")

#: Seconds for what takes moments on an idle host.
LIMIT_S = 60.0
#: A program that tells where it runs, what became of its input, and that waits.
PROGRAM = """\
case "$1" in
where) uname -m; echo "$2"; id -u; cat ;;
wait) echo waiting; sleep 3600 ;;
esac
"""


@pytest.fixture(scope="session")
def made() -> images.Images:
    """Return images from this account's own cache, because fetching packages takes a minute."""
    assert machine.missing(ARCHITECTURE) == ""
    return images.get(WANTED)


@pytest.fixture
def cache(made: images.Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache folder of the test's own, which has the images already."""
    place = tmp_path / "cache" / "dpubench" / "machines"
    place.mkdir(parents=True)
    for folder in {made.kernel.parent, *(archive.parent for archive in made.archives)}:
        (place / folder.name).symlink_to(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("DPUBENCH_BUNDLE", raising=False)
    return place


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return dpubench-agent, compiled for the machine."""
    folder = tmp_path_factory.mktemp("agent")
    # The only header of this system that a cross compiler may see.
    (folder / "nlohmann").symlink_to("/usr/include/nlohmann")
    compiler = "g++" if bundle.host_architecture() == ARCHITECTURE else f"{ARCHITECTURE}-linux-gnu-g++"
    ccache = ["ccache"] if shutil.which("ccache") else []
    native = ROOT / "native"
    objects = []
    for source in sorted(file for pattern in AGENT_SOURCES for file in native.glob(pattern)):
        objects.append(folder / f"{source.stem}.o")
        words = [*ccache, compiler, "-std=c++20", "-O0", f"-I{native}", f"-I{folder}", "-c", source, "-o", objects[-1]]
        subprocess.run(words, check=True, timeout=300)
    subprocess.run([compiler, "-static", *objects, "-o", folder / "dpubench-agent"], check=True, timeout=60)
    return folder / "dpubench-agent"


@pytest.fixture
def spec(agent: Path, cache: Path, tmp_path: Path) -> str:
    """Return a target whose program is :data:`PROGRAM`."""
    archive = small_bundle(tmp_path / "bundle.tar.gz", agent, f"#!/bin/sh\n{PROGRAM}", architecture=ARCHITECTURE)
    return f"vm:{ARCHITECTURE},memory=256MiB,bundle={archive}"


@pytest.fixture
def vm(spec: str) -> Iterator[VmTarget]:
    target = targets.find(spec)
    assert isinstance(target, VmTarget)
    try:
        target.open()
        yield target
    finally:
        target.close()


def emulators(of: Path) -> list[int]:
    """Return the processes of emulators (and of starters that become one) whose machines have their files below ``of``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"-initrd" in words and words[words.index(b"-initrd") + 1].startswith(bytes(of)):
                    found.append(int(entry.name))
    return found


def gone(cache: Path, within_s: float = 10.0) -> bool:
    """Return whether no emulator runs, at the latest after ``within_s``."""
    given_up = time.monotonic() + within_s
    while emulators(cache) and time.monotonic() < given_up:
        time.sleep(0.02)
    return not emulators(cache)


def left(cache: Path) -> list[Path]:
    return list((cache / "running").iterdir()) if (cache / "running").is_dir() else []


def output(process: AgentProcess, until: bytes = b"") -> str:
    """Return the output of ``process`` as soon as it holds ``until``, or all of it."""
    given_up, data = time.monotonic() + LIMIT_S, b""
    while not process.output_ended and not (until and until in data):
        assert time.monotonic() < given_up, data
        with contextlib.suppress(BlockingIOError):
            data += process.read_output()
        time.sleep(0.01)
    return data.decode()


def test_a_program_runs_in_the_machine(vm: VmTarget, cache: Path, tmp_path: Path) -> None:
    assert vm.label == EMULATED and vm.times_mean_nothing and not vm.is_here and vm.cpus() == [0]
    process = vm.start(vm.program("dpubench-operators"), ["where", "two words; $HOME"])
    try:
        process.write(b"input\n")
        process.close_stdin()
        assert output(process).splitlines() == [ARCHITECTURE, "two words; $HOME", "0", "input"]
        assert process.wait(LIMIT_S) == 0
    finally:
        process.close()
    table = tmp_path / "routes.txt"
    table.write_bytes(b"10.0.0.0/8\n" * 50_000)
    (there,) = vm.place([table])
    told = vm.describe()
    assert vm.place([table]) == [there] and there.startswith(f"{told['disk']['path']}/cache/inputs/")
    assert told["cpus"]["online"] == [0] and 150 << 20 < told["memory_bytes"] < 256 << 20
    assert [nic["driver"] for nic in told["nics"]] == ["virtio_net"]
    (folder,) = left(cache)  # nobody else may read the key
    assert folder.stat().st_mode & 0o777 == 0o700 and (folder / "key").stat().st_mode & 0o777 == 0o600
    vm.close()
    assert gone(cache, 0) and left(cache) == []


def test_a_machine_that_ends_is_a_lost_target(vm: VmTarget, cache: Path) -> None:
    process = vm.start(vm.program("dpubench-operators"), ["wait"])
    try:
        output(process, until=b"waiting")
        (emulator,) = emulators(cache)
        os.kill(emulator, signal.SIGKILL)
        output(process)
        assert process.wait(LIMIT_S) is not None
        assert "the emulator has ended (signal 9); its console ends with: dpubench-machine: ready" in process.lost()
    finally:
        process.close()
    with pytest.raises(TargetLost, match="the emulator has ended"):
        vm.place([ROOT / "README.md"])


