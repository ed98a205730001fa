"""Tests of the emulated machine in its unprivileged form: what boots, what runs in it, how it ends, and every way in which it cannot begin.

Programs of the bundle are scripts, for compiling the real ones takes ten minutes (`make vm-test` does). The agent is the real one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, SCRIPTED, Bench
from dpubench import network, targets
from dpubench.bundles import archive as bundle
from dpubench.emulation import cpio, images, machine
from dpubench.errors import EnvironmentFault, TargetLost, UserError
from dpubench.targets import EMULATED, Process
from dpubench.targets.vm import VmTarget
from emulated import ARCHITECTURE, cache_with, emulators, gone, interfaces, left
from sshd import small_bundle

#: What the small form needs, see scripts/packages.txt, group test.
WANTED = images.Wanted(ARCHITECTURE, "small", images.DEFAULT_KERNEL[ARCHITECTURE])
#: Sources of the agent, which is a static program here, for the small userland has no library of C++.
AGENT_SOURCES = ("agent/*.cpp", "programs/agent.cpp", "inputs/digest.cpp")

#: Seconds for what takes moments on an idle host.
LIMIT_S = 60.0
#: A program that tells where it runs and what became of its input, or waits.
PROGRAM = """\
case "$1" in
where) uname -m; echo "$2"; id -u; ls -d "$3"; cat ;;
wait) echo waiting; sleep 3600 ;;
esac
"""
#: A program that speaks the contract as the scripted worker does, for a job of one point; there is no Python in the machine.
WORKER = """\
case " $* " in
*" --list "*) cat <<'END'
{listed}
END
exit ;;
*" --check "*) cat <<'END'
{checked}
END
exit ;;
esac
read -r job
group=${{job#*'"groups":[{{"id":"'}}
group=${{group%%'"'*}}
point=${{job#*'"points":[{{"id":"'}}
point=${{point%%'"'*}}
sed -e "s,GROUP,$group,; s,POINT,$point," <<'END'
{measured}
END
"""
#: Job of the scripted worker whose events :data:`WORKER` repeats, for the group GROUP and the point POINT.
POINTS = [{"id": "POINT", "engine": "portable"}]
JOB = {"control": "auto", "round": 0, "seed": 1, "cycles": 1, "groups": [{"id": "GROUP", "operator": "crc", "points": POINTS}]}
CHECKED = [{"operator": "crc", "params": {"size": "1024"}}]


@pytest.fixture(scope="session")
def made() -> images.Images:
    """Return images from this account's own cache, because fetching packages takes a minute."""
    assert machine.missing(ARCHITECTURE) == ""
    return images.get(WANTED)


@pytest.fixture
def cache(made: images.Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache folder of the test's own, which has the images already. Its name means something to ssh and to QEMU."""
    place = cache_with(made, tmp_path / "cache %h, 'x'")
    monkeypatch.setenv("XDG_CACHE_HOME", str(place.parents[1]))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("DPUBENCH_BUNDLE", raising=False)
    return place


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return dpubench-agent, compiled for the machine once for all workers of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "vm-agent"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "dpubench-agent").exists():
            compile_agent(folder)
    return folder / "dpubench-agent"


def compile_agent(folder: Path) -> None:
    """Compile dpubench-agent as a static program into ``folder``."""
    include = folder / "include"
    include.mkdir(exist_ok=True)
    (include / "nlohmann").symlink_to("/usr/include/nlohmann")  # the only header of this system that a cross compiler may see
    compiler = "g++" if bundle.host_architecture() == ARCHITECTURE else f"{ARCHITECTURE}-linux-gnu-g++"
    ccache = ["ccache"] if shutil.which("ccache") else []
    native = ROOT / "native"
    objects = []
    for source in sorted(file for pattern in AGENT_SOURCES for file in native.glob(pattern)):
        objects.append(folder / f"{source.stem}.o")
        words = [*ccache, compiler, "-std=c++20", "-O0", f"-I{native}", f"-I{include}", "-c", str(source), "-o", str(objects[-1])]
        subprocess.run(words, check=True, timeout=300)
    subprocess.run([compiler, "-static", *map(str, objects), "-o", str(folder / "linked")], check=True, timeout=60)
    (folder / "linked").rename(folder / "dpubench-agent")


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


def output(process: Process, until: bytes = b"") -> str:
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
    cache_there = vm.cache_directory()  # programs find it made
    process = vm.start(vm.program("dpubench-operators"), ["where", "two words; $HOME", cache_there])
    try:
        process.write(b"input\n")
        process.close_stdin()
        assert output(process).splitlines() == [ARCHITECTURE, "two words; $HOME", "0", cache_there, "input"]
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


def scripted_worker(*arguments: str, given: object = None) -> str:
    """Return what the scripted worker says on this machine."""
    words = [sys.executable, "-S", "-E", str(SCRIPTED), *arguments]
    environment = {"PROGRAM": "dpubench-operators"}
    done = subprocess.run(words, input=json.dumps(given), env=environment, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return done.stdout.strip()


def test_a_run_on_the_machine_says_what_is_right_and_no_time(agent: Path, cache: Path, bench: Bench) -> None:
    said = {"listed": ("--list",), "checked": ("--check",), "measured": ()}
    given = {"listed": None, "checked": CHECKED, "measured": JOB}
    program = WORKER.format(**{key: scripted_worker(*words, given=given[key]) for key, words in said.items()})
    archive = small_bundle(bench.folder / "bundle.tar.gz", agent, f"#!/bin/sh\n{program}", architecture=ARCHITECTURE)
    bench.environment |= {"XDG_CACHE_HOME": str(cache.parents[1]), "XDG_CONFIG_HOME": str(bench.folder / "config")}
    assert bench("target", "add", "dev", f"vm:{ARCHITECTURE},memory=256MiB,bundle={archive}").returncode == 0
    words = ("--operator", "crc", "--engine", "portable", "--size", "1KiB", "--threads", "1")
    done = bench("run", "operators", "--target", "dev", "--name", "r", *words, timeout=300)
    assert done.returncode == 0, done.stderr
    record = bench.record("r")
    assert record["target_info"] == {"spec": f"vm:{ARCHITECTURE},memory=256MiB,bundle={archive}", "label": EMULATED, "emulated": True}
    assert [(p["engine"], p["verified"]["compared"]) for p in record["points"]] == [("portable", 32)]
    assert EMULATED in done.stdout and "Gb/s" not in done.stdout
    assert gone(cache, 0) and left(cache) == []
    removed = bench("target", "remove", "dev", "--purge")
    assert removed.returncode == 0 and "forgotten" in removed.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_emulator_ends_with_dpubench(number: signal.Signals, spec: str, cache: Path, bench: Bench) -> None:
    bench.environment["XDG_CACHE_HOME"] = str(cache.parents[1])
    process = bench.start("target", "check", spec)
    given_up = time.monotonic() + LIMIT_S
    while not emulators(cache):
        assert process.poll() is None and time.monotonic() < given_up
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT_S)
    assert gone(cache), out + err
    if number == signal.SIGKILL:
        assert process.returncode == -number and len(left(cache)) == 1
        with machine._folder() as folder:  # the next machine removes what a killed one left
            assert left(cache) == [folder]
    else:
        assert process.returncode == 130
    assert left(cache) == []


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("vm", "cannot boot the architecture ''; known: aarch64"),
        ("vm:x86_64", "cannot boot the architecture 'x86_64'"),
        ("vm:aarch46", "did you mean 'aarch64'?"),
        ("vm:aarch64,memory=1", "memory: '1' has no unit"),
        ("vm:aarch64,memory=64MiB,quota=1", "unknown setting 'quota'"),
        ("vm:aarch64,cpus=0", "cpus: '0' is not a number of CPUs"),
        ("vm:aarch64,cpus=17", "write 1 to 16"),
        ("vm:aarch64,userland=ful", "did you mean 'full'?"),
        ("vm:aarch64,core=max", "core: unknown 'max'"),
        ("vm:aarch64,memory", "write KEY=VALUE"),
    ],
)
def test_wrong_settings_are_told(word: str, told: str) -> None:
    with pytest.raises(UserError, match=r"^--target") as raised:
        targets.find(word)
    assert told in str(raised.value)


def opened(cache: Path, word: str = f"vm:{ARCHITECTURE},memory=256MiB") -> str:
    """Return why a target cannot be opened; nothing is left of it."""
    target = targets.find(word)
    with pytest.raises(UserError) as raised:
        target.open()
    target.close()
    assert gone(cache, 0) and left(cache) == []
    return str(raised.value)


def test_what_is_missing_here_is_told(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert "qemu-system-aarch64 is not installed: install the package qemu-system-arm" in opened(cache)
    for name in ("qemu-system-aarch64", "ssh", "ssh-keygen"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    for entry in cache.iterdir():
        entry.unlink()
    assert "apt-get is not installed here" in opened(cache)


def test_too_little_memory_is_told_with_what_is_needed(cache: Path) -> None:
    told = opened(cache, f"vm:{ARCHITECTURE},memory=128MiB")
    assert "memory: 128MiB are too little for its kernel and userland: give at least memory=" in told


def test_a_boot_that_does_not_finish_shows_the_console(made: images.Images, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = machine.Board(ARCHITECTURE, "cortex-a72", 1, 256 << 20)
    with pytest.raises(EnvironmentFault, match=r"does not boot: the emulator has ended \(status 0\); its kernel says: Kernel panic - not syncing"):
        machine.Machine(board, images.Images(made.kernel, []))  # its first program has no shell
    wrong = tmp_path / "wrong.cpio"
    with wrong.open("wb") as stream:
        out = cpio.Writer(stream)
        out.file("dpubench/modules/99-wrong.ko", b"no module")
        out.close()
    with pytest.raises(EnvironmentFault, match=r"does not boot: the kernel refuses the module /dpubench/modules/99-wrong.ko; its console ends with"):
        machine.Machine(board, images.Images(made.kernel, [*made.archives, wrong]))
    with pytest.raises(EnvironmentFault, match=r"does not boot: .*unable to find CPU model 'cortex-z'"):
        machine.Machine(dataclasses.replace(board, core="cortex-z"), made)
    monkeypatch.setattr(machine, "BOOT_LIMIT_S", 0.5)
    with pytest.raises(EnvironmentFault, match=r"did not boot within 0.5 s; its console is empty"):
        machine.Machine(board, made)
    assert gone(cache, 0) and left(cache) == []


@pytest.mark.skipif(network.missing_link() != "", reason=network.missing_link())
def test_virtual_links_join_the_machine_to_this_one(made: images.Images, cache: Path) -> None:
    before = interfaces()
    booted = machine.Machine(machine.Board(ARCHITECTURE, "cortex-a72", 1, 256 << 20), made, links=2, mtu=9000)
    try:
        assert [link.there_interface for link in booted.links] == ["eth1", "eth2"]
        for link in booted.links:
            script = (
                f"import socket; s = socket.create_connection(({link.there_address!r}, 22), {LIMIT_S}); "
                "print(s.getsockname()[0], s.recv(8), s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG))"
            )
            told = subprocess.run([*link.here.prefix, sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT_S)
            address, greeting, segment = told.stdout.split()
            assert (address, greeting) == (link.here.address, "b'SSH-2.0-'")
            assert 8900 < int(segment) < link.mtu, "the machine announces the largest segment that its interface takes"
        assert interfaces() == before  # each link is in a namespace of its own
        namespaces = [Path(link.here.namespace_file) for link in booted.links]
        assert len(set(namespaces)) == 2 and all(namespace.exists() for namespace in namespaces)
    finally:
        booted.close()
    assert gone(cache, 0) and left(cache) == [] and not any(namespace.exists() for namespace in namespaces)


def test_a_link_needs_root_and_taps(monkeypatch: pytest.MonkeyPatch) -> None:
    target = targets.find(f"vm:{ARCHITECTURE}")
    assert isinstance(target, VmTarget)
    monkeypatch.setattr(network, "unavailable", lambda: "network namespaces need root: run dpubench as root, or use memif or vhost")
    with pytest.raises(UserError, match=r"no virtual link can be made to the machine: network namespaces need root: run dpubench as root$"):
        target.join()
    monkeypatch.setattr(network, "unavailable", lambda: "")
    monkeypatch.setattr(network, "TAP_DEVICE", "/nonexistent")
    with pytest.raises(UserError, match=r"/nonexistent cannot be used: load the module tun, as root$"):
        target.join()
    assert target.unavailable() == ""


def test_a_port_that_was_taken_is_replaced(made: images.Images, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = iter([taken.getsockname()[1]] * 2 + [machine._free_port()])
        monkeypatch.setattr(machine, "_free_port", lambda: next(ports))
        booted = machine.Machine(machine.Board(ARCHITECTURE, "cortex-a72", 1, 256 << 20), made)
        try:
            assert booted.port != taken.getsockname()[1] and booted.ended() == ""
        finally:
            booted.close()
    assert gone(cache, 0) and left(cache) == []


def test_a_key_that_is_not_whole_yet_is_no_key() -> None:
    line = "dpubench-machine: ready ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 root@vm\n"
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"
    found = [ready[1] for end in range(len(line) + 1) if (ready := machine._READY.search(line[:end]))]
    assert found and set(found) == {key}
