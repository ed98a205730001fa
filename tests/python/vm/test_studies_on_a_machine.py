"""Every study on an emulated machine, with the real programs of a whole bundle: what comes out right, what is labelled, and that nothing is left.

A newcomer's commands, in their smallest form. Each test boots a machine, so that ``make test`` leaves them out (marker ``vm``): ``make vm-test`` runs
them, and names the bundle in DPUBENCH_BUNDLE.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dpubench import network, targets
from dpubench.emulation import images
from dpubench.run.listener import Listener
from dpubench.storage.runs import RunDirectory
from dpubench.studies.end_to_end import trials
from dpubench.studies.headroom import links
from dpubench.studies.headroom import rounds as headroom
from dpubench.studies.headroom.crossing import Crossing
from dpubench.studies.headroom.session import SessionFault, Setting, Spec
from dpubench.targets import EMULATED, vm
from dpubench.workers.process import StopRequest
from emulated import ARCHITECTURE, cache_with, emulators, gone, interfaces, left
from real_program import RealBench

pytestmark = pytest.mark.vm
VM = f"vm:{ARCHITECTURE}"
needs_link = pytest.mark.skipif(network.missing_link() != "", reason=network.missing_link())
#: Seconds for a run, which takes half a minute on an idle host.
LIMIT_S = 600.0
#: A figure of time, or a rate over time, in text for a person.
TIME = re.compile(r"\d\s?(?:[GMk]?b/s|[GMk]?pps|[GMk]?ops/s|bogo ops/s|ns|us|ms|cycles)\b")
NETNS = Path("/run/netns")


@pytest.fixture(scope="session")
def made() -> images.Images:
    """Return images of both userlands from this account's own cache."""
    found = [images.get(images.Wanted(ARCHITECTURE, userland, images.DEFAULT_KERNEL[ARCHITECTURE])) for userland in images.USERLANDS]
    return images.Images(found[0].kernel, [archive for one in found for archive in one.archives])


class Bench:
    """Runs studies, and knows what was on this machine before."""

    def __init__(self, real: RealBench, cache: Path) -> None:
        self.real, self.cache = real, cache
        self._before = interfaces()

    def run(self, study: str, words: str, *, status: int = 0) -> dict[str, Any]:
        """Run a study as a person would, check what every run on an emulated machine has in common, and return its record."""
        done = self.real("run", study, "--name", "r", *shlex.split(words), timeout=LIMIT_S)
        assert done.returncode == status, done.stderr
        self.nothing_left()
        record = self.real.record("r")
        assert record["status"] == "complete" and record["failures"] == []
        assert record["target_info"]["label"] == EMULATED and record["target_info"]["emulated"] is True
        self.no_times(done)
        return record

    def no_times(self, done: subprocess.CompletedProcess[str]) -> None:
        """Check that neither the run's last lines nor anything that reads it shows a time."""
        shown = self.real("show", "r")
        results = done.stdout.partition("r on ")[2] or done.stdout
        asked = [p["id"].rpartition("/")[2] for p in self.real.record("r")["points"]]  # such as a load of 100pps
        for text in (results, shown.stdout.partition("Left out")[0]):
            for words in asked:
                text = text.replace(words, "")
            assert EMULATED in text and not TIME.search(text), text
        figures = json.loads(self.real("export", "r", "--figures", "--json").stdout)["figures"]
        assert figures and {figure["origin"] for figure in figures} == {"emulated"}
        # What an operator counts on its way to a verdict is no time.
        timed = [f for f in figures if f["unit"] not in ("", "B", "instructions") and f["value"] is not None]
        assert timed == [] and all(EMULATED in figure["labels"] for figure in figures)
        report = self.real("report", "r", "--output", "page.html")
        assert report.returncode == 0, report.stderr
        assert EMULATED in (self.real.folder / "page.html").read_text(encoding="utf-8")

    def nothing_left(self) -> None:
        """Check that everything that was made is gone: machines, processes, interfaces, namespaces, files."""
        assert gone(self.cache) and left(self.cache) == []
        self.real.ended()
        assert self.namespaces() == [] and self.real.left_on_the_machine() == []
        assert not {name for name in interfaces() - self._before if name.startswith("tap")}

    def namespaces(self) -> list[str]:
        """Return the network namespaces that runs of this bench made: other programs may make some at the same time."""
        names = [entry.name for entry in NETNS.iterdir()] if NETNS.is_dir() else []
        return [name for name in names if any(f"-{pid}-" in name for pid in self.real.started)]

    def verified(self) -> dict[str, str]:
        """Return what is said of each point: that it works, or why it cannot be tried."""
        rows = json.loads(self.real("export", "r", "--json").stdout)
        points = rows["points"] if "points" in rows else [p for run in rows["runs"] for p in run["points"]]
        return {p["id"]: p["verified"] or p["failure"] or p["unavailable"] for p in points}


@pytest.fixture
def bench(real: RealBench, made: images.Images, tmp_path: Path) -> Iterator[Bench]:
    bundle = os.environ.get("DPUBENCH_BUNDLE", "")
    if not Path(bundle).is_file():
        pytest.fail("DPUBENCH_BUNDLE names no bundle: run `make vm-test`, or `dpubench bundle --arch aarch64` first")
    cache = cache_with(made, Path(real.environment["XDG_CACHE_HOME"]))
    real.environment |= {"DPUBENCH_BUNDLE": bundle, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    yield Bench(real, cache)


@pytest.mark.parametrize("spec", [VM, f"{VM},userland=full,core=neoverse-n1,cpus=2"])
def test_a_machine_tells_what_it_has(bench: Bench, spec: str) -> None:
    done = bench.real("target", "check", spec, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert EMULATED in done.stdout and "engines" in done.stdout
    bench.nothing_left()


def test_operators_give_right_outputs(bench: Bench) -> None:
    record = bench.run("operators", f"--target {VM} --operator crc,memcpy,sha256,lpm --size 1KiB")
    assert {p["engine"] for p in record["points"] if p["id"].startswith("lpm/")} >= {"dpdk-fib", "portable"}
    wrong = [p["id"] for p in record["points"] if p["unavailable"] == "" and not (p["verified"]["compared"] or p["verified"]["known_answers"])]
    assert len(record["points"]) > 10 and wrong == []


def test_stressors_of_its_own_stress_ng_work(bench: Bench) -> None:
    record = bench.run("stress", f"--target {VM} --workload cpu,memcpy,pipe")
    assert record["stress_ng"]["version"] and record["stress_ng"]["instances"] == 1
    assert set(bench.verified().values()) == {"works (1 verified round)"} and len(record["points"]) == 3


def test_the_list_of_stressors_is_that_of_the_machine(bench: Bench) -> None:
    done = bench.real("run", "stress", "--target", VM, "--set", "stressors=all", "--dry-run", "--json", timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["stress_ng"]["classes"]) > 200
    reasons = {p["unavailable"] for p in told["points"]}
    assert "" in reasons and len(reasons) > 3, "some cannot run in a machine without a disk, and the reason is told"
    bench.nothing_left()


def test_a_small_userland_has_no_programs_for_studies(bench: Bench) -> None:
    done = bench.real("run", "stress", "--target", f"{VM},userland=small", timeout=LIMIT_S)
    assert done.returncode != 0 and "stress-ng is not installed there: leave userland=small out" in done.stderr
    bench.nothing_left()


def samples(bench: Bench) -> dict[str, list[dict[str, Any]]]:
    """Return the trials of each point of headroom, which nothing shows."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in headroom.samples(bench.real.results / "r"):
        found.setdefault(row["point"], []).append(row)
    return found


def test_headroom_sends_and_counts_inside_the_machine(bench: Bench) -> None:
    record = bench.run("headroom", f"--target {VM} --size 128B --set works=spacing,spin --set threads=1 --set bursts=8")
    assert set(bench.verified().values()) == {"works (1 verified round)"}
    assert {p["parameters"]["backend"] for p in record["points"]} == {"null", "memif", "udp"}
    for backend, how in {"null": "no link", "memif": "virtual link: shared memory", "udp": "virtual link: loopback"}.items():
        assert record["links"][backend].startswith(how)
    assert set(samples(bench)) == {p["id"] for p in record["points"]}
    assert all(sample["lost"] < 1 for of in samples(bench).values() for sample in of), "the sink counted packets in every trial"


@needs_link
@pytest.mark.parametrize("words", [f"--target {VM} --set peer=local", f"--target local --set peer={VM}"])
def test_headroom_crosses_the_virtual_link(bench: Bench, words: str) -> None:
    record = bench.run("headroom", f"{words} --set backends=udp --size 128B --set works=spacing --set threads=1 --set bursts=8")
    assert record["links"]["udp"].startswith("virtual link: tap between this machine and an emulated one")
    assert set(bench.verified().values()) == {"works (1 verified round)"}
    assert all(sample["lost"] < 1 for of in samples(bench).values() for sample in of)


@needs_link
def test_packets_cross_the_machine(bench: Bench) -> None:
    few = "--size 128B --set works=spin --set threads=1 --set bursts=8"
    record = bench.run("headroom", f"--target {VM} --set peer=local --set placement=embedded --set backends=kernel,af_packet,memif {few}")
    said = bench.verified()
    assert "cannot cross the virtual links of an emulated machine: choose af_packet or kernel" in said.pop("embedded/memif/128B/spin/50%")
    assert said == {f"embedded/{backend}/128B/spin/50%": "works (1 verified round)" for backend in ("kernel", "af_packet")}
    for backend in ("kernel", "af_packet"):
        assert record["links"][f"{backend} (embedded)"].startswith("virtual links: taps between this machine and an emulated one")
    assert all(sample["lost"] < 1 for of in samples(bench).values() for sample in of) and "embedded/af_packet/128B/spin/50%" in samples(bench)


def passed(link: network.TapLink) -> tuple[int, int]:
    """Return how many packets came to this machine's end of a link and left there, as its kernel counts, which knows nothing of trials."""
    words = ["ip", "-n", link.here.namespace, "-s", "-j", "link", "show", link.here.interface]
    found = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)[0]["stats64"]
    return found["rx"]["packets"], found["tx"]["packets"]


@pytest.fixture
def crossed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Setting, network.TapChain]]:
    """Yield the setting of sessions whose packets cross a machine, and its links."""
    for name in ("DPUBENCH_BUNDLE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, bench.real.environment[name])
    with contextlib.ExitStack() as opened:
        here, machine = targets.find("local"), targets.find(VM)
        assert isinstance(machine, vm.VmTarget)
        machine.join(vm.LINKS_TO_CROSS, network.LARGE_MTU)
        for target in (here, machine):
            opened.callback(target.close)
            target.open()
        assert machine.chain is not None
        stop = opened.enter_context(StopRequest())
        yield Setting(machine, here, stop, Listener(), LIMIT_S, 1, {}, "02:00:00:00:00:02", False), machine.chain
    bench.nothing_left()


#: Queries of the kernels who has an address, and their answers, beside the packets of a trial.
QUERIES = 10


@needs_link
@pytest.mark.parametrize("backend", links.BY_TAPS)
def test_every_packet_that_crosses_is_counted_and_a_loss_is_seen(crossed: tuple[Setting, network.TapChain], backend: str) -> None:
    setting, chain = crossed
    with Crossing(setting, backend, 1514, 1) as session:
        # 8 packets each 20 ms, and more than an emulated machine can take.
        for spec, is_flood in ((Spec(128, 1, 8, 1, 0.5, due_ns=2e7), False), (Spec(1500, 1, 32, 1, 0.1), True)):
            session.trial(spec)  # the first trial of a size comes after another one, in which the device reads numbers
            (_, left), (came, _) = passed(chain.near), passed(chain.far)
            trial = session.trial(spec)
            left, came = passed(chain.near)[1] - left, passed(chain.far)[0] - came
            sent, received, forwarded = int(trial.sent["packets"]), int(trial.device["received"]), int(trial.device["forwarded"])
            assert 0 < trial.packets <= forwarded <= received <= left + QUERIES
            assert left <= sent + QUERIES and trial.packets <= came
            assert (trial.lost > 0) == (trial.packets < sent) and (trial.lost > 0 or not is_flood)
        subprocess.run(["ip", "-n", chain.far.here.namespace, "link", "set", chain.far.here.interface, "down"], check=True)
        with pytest.raises(SessionFault, match="packets, and none arrived"):
            session.trial(Spec(128, 1, 8, 1, 0.1, due_ns=2e7))


@needs_link
def test_link_goes_both_ways(bench: Bench) -> None:
    small = "--size 64KiB --set latency_sizes=64B --set file=1MiB"
    record = bench.run("link", f"--target local --target {VM} {small}")
    assert (record["path"], [end["target"] for end in record["ends"]]) == ("network", ["local", VM])
    assert "aarch64" in json.dumps(record["ends"][1]["machine"])
    said = bench.verified()
    for sender, receiver in (("local", VM), (VM, "local")):
        for point in ("throughput/{}/bytes=65536,streams=1", "latency/{}/bytes=64,tool=dpubench-link", "transfer/{}/file=1MiB,protection=tls"):
            assert said[point.format(f"{sender}>{receiver}")] == "works (1 verified round)"
    # The kernel of the machine encrypts, whatever that of this machine can do.
    assert said[f"transfer/{VM}>local/file=1MiB,protection=ktls"] == "works (1 verified round)"
    assert "encrypts" in said[f"transfer/{VM}>local/file=1MiB,protection=ktls-nic"]


@needs_link
@pytest.mark.parametrize(
    ("words", "port"),
    [(f"--target {VM}", "socket"), (f"--target local --set client={VM}", "socket"), (f"--target {VM}", "af_packet")],
)
def test_end_to_end_crosses_the_virtual_link(bench: Bench, words: str, port: str) -> None:
    few = "--workload flow-table --size 64B --set traffic.flows=16 --set rates=100pps --rounds 1"
    record = bench.run("end-to-end", f"{words} --set ports={port} {few}")
    rows = [row for row in trials.read(bench.real.results / "r") if row["event"] == trials.TRIAL]
    assert {row["configuration"] for row in rows} == {c["id"] for c in record["configurations"]} and len(rows) == 2
    assert all(row["received"] > 0 and not row["wrong"] and not row["corrupted"] and not row["duplicates"] for row in rows)
    assert all(re.fullmatch(r"works: \d+ of \d+ packets came back, and all that did are right", said) for said in bench.verified().values())
    assert any("search for NDR and PDR" in line for line in record["left_out"])


@needs_link
def test_a_port_that_cannot_cross_the_link_is_told(bench: Bench) -> None:
    done = bench.real("run", "end-to-end", "--target", VM, "--workload", "flow-table", timeout=LIMIT_S)
    assert done.returncode != 0
    assert "a port of kind memif cannot reach an emulated machine: choose socket or af_packet (--set ports=KIND)" in " ".join(done.stderr.split())
    bench.nothing_left()


@needs_link
def test_ctrl_c_leaves_nothing_and_the_run_goes_on(bench: Bench) -> None:
    words = ("run", "link", "--target", "local", "--target", VM, "--name", "r", "--size", "64KiB,1KiB", "--workload", "throughput", "--json")
    running = bench.real.start(*words)
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line)["event"] == "figure":
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 130, out + err
    assert bench.real.record("r")["status"] == "interrupted"
    bench.nothing_left()
    again = bench.real("resume", "r", timeout=LIMIT_S)
    assert again.returncode == 0, again.stderr
    assert bench.real.record("r")["status"] == "complete" and len(bench.verified()) == 4
    bench.nothing_left()


@needs_link
def test_ctrl_c_while_it_boots_leaves_nothing(bench: Bench) -> None:
    running = bench.real.start("run", "headroom", "--target", VM, "--set", "peer=local", "--set", "backends=udp", "--name", "r")
    given_up = time.monotonic() + LIMIT_S
    while not emulators(bench.cache):
        assert running.poll() is None and time.monotonic() < given_up, running.communicate()
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 130, out + err
    bench.nothing_left()
    assert not RunDirectory(bench.real.results / "r").run_file.exists(), "nothing was measured"


@pytest.mark.parametrize("study", ["coverage", "counts"])
def test_studies_of_models_take_no_machine(bench: Bench, study: str) -> None:
    done = bench.real("run", study, "--target", VM, timeout=LIMIT_S)
    assert done.returncode == 2 and VM in done.stderr
    bench.nothing_left()
