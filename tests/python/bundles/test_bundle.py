"""Tests of bundles: complete, relocatable, the same bytes for the same build; and the messages when one cannot be made."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from dpubench import network, programs
from dpubench.bundles import archive as bundle
from dpubench.bundles import notices
from dpubench.errors import EnvironmentFault, UserError
from real_program import BUILD, PROGRAM, RealBench, job, kinds

pytestmark = pytest.mark.usefixtures("real")
needs_datapath = pytest.mark.skipif(not PROGRAM.with_name("dpubench-server").exists(), reason="this build has no dpubench-server: it needs libdpdk")
BARE: dict[str, str] = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bundle.Bundle:
    """Return a bundle that the first of pytest's processes that needs it packs once."""
    ours = tmp_path_factory.getbasetemp()
    folder = (ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours) / "bundle"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = folder / "bundle.pickle"
        if not kept.exists():
            kept.write_bytes(pickle.dumps(bundle.pack(BUILD, bundle.host_architecture(), folder / "b.tar.gz")))
    found = pickle.loads(kept.read_bytes())
    assert isinstance(found, bundle.Bundle)
    return found


@pytest.fixture(scope="module")
def unpacked_once(archive: bundle.Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive.path) as tar:
        tar.extractall(place)
    return place / bundle.folder_name(archive.architecture)


@pytest.fixture
def unpacked(unpacked_once: Path, tmp_path: Path) -> Path:
    """Return the unpacked bundle in another place, under a path with a blank. Its files are links: a test may add files but change none."""
    return Path(shutil.copytree(unpacked_once, tmp_path / "some where" / unpacked_once.name, symlinks=True, copy_function=os.link))


def hello(*command: str | Path) -> dict[str, Any]:
    done = subprocess.run([*command, "--list"], capture_output=True, env=BARE, timeout=60, check=True)
    return dict(json.loads(done.stdout))


def engines_of(hello: dict[str, Any]) -> Any:
    """Return the catalog without the folders in which the program looked for drivers."""
    return json.loads(re.sub(r"(no librte_\w+\.so in )[^(]*", r"\1FOLDER ", json.dumps(hello["catalog"])))


def test_a_bundle_has_the_engines_of_its_build(unpacked: Path) -> None:
    ours, theirs = hello(PROGRAM), hello(unpacked / "run")
    assert engines_of(theirs) == engines_of(ours)
    assert theirs["build"] == ours["build"]


def test_its_code_layouts_are_those_of_the_build(unpacked: Path) -> None:
    number = programs.layouts(PROGRAM)
    assert programs.layouts(unpacked / "run") == number
    for n in {0, 1, number - 1} & set(range(number)):
        theirs = hello(programs.in_layout(str(unpacked / "run"), n))
        assert engines_of(theirs) == engines_of(hello(PROGRAM)), "drivers of DPDK too, which only the first has beside it"
        assert (theirs["build"]["layout"], theirs["build"]["layouts"]) == (n, number)


def test_it_measures_and_verifies(unpacked: Path) -> None:
    engines = [e for o in hello(PROGRAM)["catalog"]["operators"] if o["name"] == "sha256" for e in o["engines"]]
    given = json.dumps(job(*(e["name"] for e in engines if e["available"])))
    done = subprocess.run([unpacked / "run"], input=given.encode(), capture_output=True, env=BARE, timeout=60, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert kinds(events, "window") and not kinds(events, "failure")
    assert all(e["known_answers"] > 0 for e in kinds(events, "verified"))


def test_nothing_outside_it_is_used(unpacked: Path) -> None:
    """A program with loaded engines and DPDK drivers maps the bundle's files only: neither the C library nor drivers of this machine."""
    names = {o["name"]: [e["name"] for e in o["engines"] if e["available"]] for o in hello(PROGRAM)["catalog"]["operators"]}
    given = job("portable", control="stepped")
    if "dmadev-skeleton" in names["memcpy"]:
        more = job("dmadev-skeleton", operator="memcpy")["groups"][0]
        given["groups"].append(more | {"id": "device"})
    with subprocess.Popen([unpacked / "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=BARE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(given).encode() + b"\n")
            process.stdin.flush()
            seen = []
            for line in process.stdout:
                seen.append(json.loads(line))
                if seen[-1]["event"] == "ready":
                    break
            mapped = {line.split(maxsplit=5)[5].strip() for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines() if "/" in line}
        finally:
            process.kill()
    assert len(kinds(seen, "verified")) == len(given["groups"]) and not kinds(seen, "failure")
    files = {m for m in mapped if not m.startswith(("/dev/", "/memfd:", "/SYSV"))}
    assert any("/lib/engines/" in m for m in files)
    assert len(given["groups"]) == 1 or any("/lib/pmds/" in m for m in files)
    assert {m for m in files if not m.startswith(str(unpacked))} == set()


def confined(root: Path, program: str = "dpubench-operators") -> list[str | Path]:
    """Return a command that runs a program in its own root, which has nothing of this machine but /proc, /sys and a folder to write to."""
    for folder in ("proc", "sys", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    loader = f"/lib/{next((root / 'lib').glob('ld-linux-*')).name}"
    # DPDK counts CPUs in /sys and makes a folder in RUNTIME_DIRECTORY.
    enter = 'mount --rbind /sys "$0/sys" && RUNTIME_DIRECTORY=/tmp exec chroot "$0" "$@"'
    command: list[str | Path] = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", f"--mount-proc={root / 'proc'}", "sh", "-c", enter, root]
    if subprocess.run([*command, loader, "--help"], env=BARE, capture_output=True, timeout=30, check=False).returncode != 0:
        pytest.skip("this system lets its users make no namespaces")
    return [*command, loader, "--library-path", "/lib", f"/lib/{program}"]


def test_it_runs_where_nothing_else_is(unpacked: Path) -> None:
    assert engines_of(hello(*confined(unpacked))) == engines_of(hello(PROGRAM))


def test_the_drivers_of_dpdk_work_where_no_dpdk_is(unpacked: Path) -> None:
    """The test covers software drivers of every device class that has one."""
    command = confined(unpacked)
    drivers = [
        (operator["name"], engine["name"])
        for operator in hello(PROGRAM)["catalog"]["operators"]
        for engine in operator["engines"]
        if engine.get("software_device") and engine["available"]
    ]
    if not drivers:
        pytest.skip("no driver in software is here")
    (unpacked / "corpus").write_bytes(bytes(range(256)) * 200 + b"the same words, the same words " * 2000)
    given = job(inputs={"corpus": ["/corpus"]})
    given["groups"] = [job(name, operator=operator, params={})["groups"][0] | {"id": f"{operator} {name}"} for operator, name in drivers]
    for group in given["groups"]:
        group["points"][0]["id"] = group["id"]
    done = subprocess.run(command, input=json.dumps(given).encode(), capture_output=True, env=BARE, timeout=120, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert not kinds(events, "failure"), done.stderr.decode()
    assert {e["point"] for e in kinds(events, "verified")} == {group["id"] for group in given["groups"]}
    assert {"compress", "dma"} & {e["path"]["driver"].partition("_")[0] for e in kinds(events, "prepared")}
    assert not list((unpacked / "tmp").iterdir())  # DPDK's runtime folder is gone


def test_each_driver_is_in_one_place_and_the_systems_are_not_looked_for(archive: bundle.Bundle, unpacked: Path) -> None:
    """DPDK registers a driver twice if it is loaded from two places. DPDK also loads the drivers of its own folder, whatever else it is given."""
    libraries = {f.name.partition(".so")[0] for f in (unpacked / "lib").glob("librte_*.so.*")}
    drivers = {f.name.partition(".so")[0] for f in (unpacked / "lib/pmds").glob("*")}
    assert bundle.drivers(list(archive.files)) == len(drivers)
    if not libraries:
        pytest.skip("this build has no DPDK")
    assert {"librte_mempool_ring", "librte_compress_zlib", "librte_dma_skeleton"} <= drivers
    assert "librte_bus_vdev" in libraries and not drivers & libraries
    ports = {f"librte_net_{name}" for name in ("af_packet", "af_xdp", "memif", "null", "pcap", "ring", "tap", "vhost", "virtio")}
    cards = {f"librte_net_{name}" for name in ("bnxt", "cnxk", "dpaa2", "ice", "idpf", "ionic", "mlx5", "nfp")}  # of DPUs, and as hosts see them
    assert ports | cards <= drivers | libraries
    assert not {"librte_net_bond", "librte_net_failsafe", "librte_net_softnic", "librte_net_vdev_netvsc"} & drivers
    assert b"/dpdk/pmds" not in next((unpacked / "lib").glob("librte_eal.so.*")).read_bytes()


@needs_datapath
def test_each_script_starts_its_program(unpacked: Path) -> None:
    started = {script: hello(unpacked / script)["program"] for script in ("run", "server", "traffic")}
    assert started == {"run": "dpubench-operators", "server": "dpubench-server", "traffic": "dpubench-traffic"}


@needs_datapath
def test_the_server_lists_what_its_build_does_where_nothing_else_is(unpacked: Path) -> None:
    ours, theirs = (hello(*words)["catalog"] for words in ([PROGRAM.with_name("dpubench-server")], confined(unpacked, "dpubench-server")))
    assert engines_of({"catalog": theirs["workloads"]}) == engines_of({"catalog": ours["workloads"]})
    assert [p["name"] for p in theirs["ports"]] == [p["name"] for p in ours["ports"]]
    # These ports need nothing from the system.
    assert {"memif", "null", "pcap", "ring", "socket"} <= {p["name"] for p in theirs["ports"] if p["available"]}


def served_on(kind: str, arguments: dict[str, str]) -> bytes:
    """Return the input of a server with a port of ``kind`` for a trial in which no packet comes."""
    given = {
        "schema": "dpubench.server-job/1", "seed": 1, "time_limit_s": 60, "memory": {"huge_pages": False, "mb": 128},
        "ports": [{"kind": kind, "role": "server", "arguments": arguments}], "burst": 32, "sample_every": 16, "max_frame": 1518,
        "workload": {"name": "forward", "params": {}, "engines": {"swap": "portable"}},
    }  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in (given, {"begin": 1}, {"collect": 1}, {"end": True})).encode()


@needs_datapath
@pytest.mark.skipif(network.unavailable() != "", reason=network.unavailable())
@pytest.mark.parametrize("elsewhere", [False, True])
def test_sockets_of_af_xdp_have_their_program_where_no_libxdp_is(unpacked: Path, *, elsewhere: bool) -> None:
    for folder in ("proc", "sys", "tmp", "nowhere"):
        (unpacked / folder).mkdir()
    loader = next((unpacked / "lib").glob("ld-linux-*")).name
    enter = 'mount --rbind /sys "$0/sys" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
    program = [f"/lib/{loader}", "--library-path", "/lib", "/lib/dpubench-server"]
    environment = BARE | {"RUNTIME_DIRECTORY": "/tmp"} | ({"LIBXDP_OBJECT_PATH": "/nowhere"} if elsewhere else {})
    with network.veth_pair(1518) as pair:
        words: list[str | Path] = [*pair.server.prefix, "unshare", "--mount", "sh", "-c", enter, unpacked, *program]
        given = served_on("af_xdp", {"interface": pair.server.interface})
        done = subprocess.run(words, input=given, capture_output=True, env=environment, timeout=60, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    if elsewhere:
        assert "libxdp's xsk_def_xdp_prog.o is not in /nowhere (LIBXDP_OBJECT_PATH)" in events[-1]["message"], events
    else:
        assert [e["event"] for e in events][-3:] == ["begun", "served", "done"], (events, done.stderr.decode())


@needs_datapath
@pytest.mark.parametrize(("kind", "driver"), [("null", "net_null"), ("memif", "net_memif")])
def test_ports_open_where_no_dpdk_is(unpacked: Path, kind: str, driver: str) -> None:
    arguments = {"socket": "/tmp/link"} if kind == "memif" else {}
    done = subprocess.run(
        confined(unpacked, "dpubench-server"), input=served_on(kind, arguments), capture_output=True, env=BARE, timeout=60, check=False
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["event"] for e in events][-3:] == ["begun", "served", "done"], done.stderr.decode()
    assert kinds(events, "ready")[0]["ports"][0]["driver"] == driver
    assert not list((unpacked / "tmp").iterdir())


def test_json_describes_the_archive(archive: bundle.Bundle) -> None:
    told = archive.record()
    assert (told["path"], told["bytes"]) == (str(archive.path), archive.path.stat().st_size)
    assert json.loads(json.dumps(told)) == told


def test_the_same_build_gives_the_same_archive_and_the_manifest_is_true(archive: bundle.Bundle, unpacked: Path, tmp_path: Path) -> None:
    time.sleep(1.1)  # a packing time in the archive would differ now
    again = bundle.pack(BUILD, archive.architecture, tmp_path / "again.tar.gz")
    assert again.sha256 == archive.sha256 == hashlib.sha256(archive.path.read_bytes()).hexdigest()
    manifest = json.loads((unpacked / "manifest.json").read_text())
    present = {str(f.relative_to(unpacked)) for f in unpacked.rglob("*") if f.is_file()} - {"manifest.json"}
    assert set(manifest["files"]) == present
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((unpacked / name).read_bytes()).hexdigest() == digest, name


def test_every_library_in_it_has_a_notice(archive: bundle.Bundle, unpacked: Path) -> None:
    overview = (unpacked / notices.OVERVIEW).read_text()
    ours = {f.name for f in PROGRAM.parent.rglob("*")}
    foreign = {Path(name).name for name in archive.files if name.startswith("lib/")} - ours
    assert "libc.so.6" in foreign and foreign <= set(re.split(r"[ ,:\n]+", overview))
    if shutil.which("dpkg-query") is not None:
        assert notices.UNKNOWN not in overview and (unpacked / notices.FOLDER / "glibc.txt").stat().st_size > 1000
    assert "(compiled in)" in overview


def test_the_programs_of_an_installed_wheel_are_a_bundle_already(archive: bundle.Bundle, unpacked: Path, tmp_path: Path) -> None:
    contents = {name: (unpacked / name).read_bytes() for name in (*archive.files, bundle.MANIFEST)}
    for name, data in bundle.starters(contents).items():
        (unpacked / name).write_bytes(data)
        (unpacked / name).chmod(0o755)
    assert engines_of(hello(unpacked / "dpubench-operators")) == engines_of(hello(PROGRAM))
    assert programs.layouts(unpacked / "dpubench-operators") == programs.layouts(PROGRAM)
    assert bundle.pack(unpacked, archive.architecture, tmp_path / "again.tar.gz").sha256 == archive.sha256
    changed = unpacked / "lib/dpubench-agent"
    changed.unlink()  # a link to a file of other tests
    changed.write_bytes(b"something else")
    with pytest.raises(UserError, match="dpubench-agent: was changed after the installation"):
        bundle.pack(unpacked, archive.architecture, tmp_path / "x.tar.gz")


def test_the_command_packs_a_build_and_says_how_to_use_it(real: RealBench) -> None:
    done = real("bundle", "--build", str(BUILD), "-o", "x.tar.gz")
    assert done.returncode == 0, done.stderr
    assert "tar xzf x.tar.gz" in done.stdout and "engine modules" in done.stdout
    assert hashlib.sha256((real.folder / "x.tar.gz").read_bytes()).hexdigest() in done.stdout
    assert [p.name for p in real.folder.glob("x.tar.gz*")] == ["x.tar.gz"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--arch", "arm64"), 2, "no bundles for this architecture; did you mean"),
        (("--arch", "riscv64"), 2, "no bundles for this architecture; known: aarch64, x86_64"),
        (("-o", "no/where/x.tar.gz"), 2, "there is no folder"),
        (("--build", "/nonexistent"), 2, "there is no such program"),
        (("--build", str(BUILD), "-o", "/proc/x.tar.gz"), 1, "cannot be written"),
    ],
)
def test_what_cannot_be_packed(real: RealBench, arguments: tuple[str, ...], status: int, words: str) -> None:
    done = real("bundle", *arguments)
    assert done.returncode == status, done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr


def test_bundles_are_compiled_from_the_sources_of_the_package() -> None:
    assert programs.repository() == ROOT
    with pytest.raises(EnvironmentFault, match=r"scripts/cross.sh pdp11 .*: failed; the reason is above"):
        bundle.build("pdp11")  # the script itself refuses it
    assert not (ROOT / "build-bundle-pdp11").exists()


def test_a_build_of_another_architecture_or_without_a_library_is_refused(tmp_path: Path) -> None:
    other = next(a for a in bundle.ARCHITECTURES if a != bundle.host_architecture())
    with pytest.raises(UserError, match=f"this file is not for {other}"):
        bundle.pack(BUILD, other, tmp_path / "x.tar.gz")
    broken = tmp_path / "native"
    shutil.copytree(PROGRAM.parent, broken, ignore=shutil.ignore_patterns("*.p", "bare", "fixtures"))
    next((broken / "engines").glob("*.so")).write_bytes(b"no library")
    with pytest.raises(UserError, match="this file is neither a program nor a library"):
        bundle.pack(broken, bundle.host_architecture(), tmp_path / "x.tar.gz")
    assert not list(tmp_path.glob("x.tar.gz*"))


@pytest.mark.parametrize("page_bytes", [4096, 65536])
def test_every_file_for_arm_loads_with_pages_of_64_kib(tmp_path: Path, page_bytes: int) -> None:
    """Kernels of Arm devices have pages of 4, 16 or 64 KiB. A library that was linked for the smallest alone would fail on the device only."""
    source, thing, library = tmp_path / "l.s", tmp_path / "l.o", tmp_path / "libl.so"
    source.write_text(".globl l\nl: ret\n")
    subprocess.run(["aarch64-linux-gnu-as", "-o", thing, source], check=True, timeout=60)
    subprocess.run(["aarch64-linux-gnu-ld", "-shared", "-z", f"max-page-size={page_bytes}", "-o", library, thing], check=True, timeout=60)
    closure = bundle._Closure("aarch64", tmp_path, {})
    if page_bytes == 65536:
        closure.add(library)
        return
    with pytest.raises(
        UserError, match=r"libl\.so: this file cannot be loaded where pages have 64 KiB.* 4096 B apart; link it with -z max-page-size"
    ):
        closure.add(library)
