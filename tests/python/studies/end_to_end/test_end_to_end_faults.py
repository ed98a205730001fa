"""Tests of faults and bad input between a real client and a real server: each ends in accounts that agree or in a message with the remedy."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dpubench import network, receiving
from dpubench.errors import UserError
from dpubench.run.listener import Listener
from dpubench.storage.runs import Event
from dpubench.studies.end_to_end.session import Done, Session, SessionFault
from end_to_end_sessions import Sessions, account_fault, enough_cpus, plan_of, sessions_here
from real_program import BUILD, RealBench

pytestmark = [
    pytest.mark.skipif(not (BUILD / "dpubench-traffic").is_file(), reason="the programs of the datapath are not built: DPDK is not here"),
    pytest.mark.skipif(not enough_cpus(), reason="a client and a server need a CPU each"),
]
needs_root = pytest.mark.skipif(network.unavailable() != "", reason=network.unavailable())

WORKLOADS = ("flow-table", "application-recognition")
CAPTURES = sorted((Path(os.environ.get("DPUBENCH_SHARED_DATA", "/nowhere")) / "pcap").glob("*.pcap"))
FULL_TABLE = {"flows": 10_000, "popularity": "uniform"}
#: Number of trials within which a packet must come back.
TRIES = 5
#: A rule that no engine can run, a malformed rule, a line that is no rule, and a correct rule.
BROKEN_RULES = "1:/a(?=b)/\n2:/unclosed(/\nnonsense\n3:/needle[0-9]+/\n"


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    monkeypatch.setenv("DPUBENCH_PROGRAMS", str(BUILD))
    with sessions_here() as found:
        yield found
    assert of_this_process() == [], "something was left behind"


def of_this_process() -> list[str]:
    """Return the namespaces and socket folders of this process that still exist."""
    places = (Path("/run/netns"), *network._socket_parents())
    return [str(found) for place in dict.fromkeys(places) for found in place.glob(f"{network._own_name()}-*")]


def held_to_account(session: Session, rate_pps: float | None = 20_000, schedule: str = "constant", duration_s: float = 0.2) -> Done:
    """Run a trial, check that its accounts agree, and return it."""
    done = session.trial(rate_pps, schedule, duration_s)
    assert account_fault(session, done) == "", (done.trial, done.served, done.checked)
    return done


def something_back(session: Session, rate_pps: float | None = 20_000, duration_s: float = 0.2) -> Done:
    """Return the first trial from which a packet comes back. Other work may take the CPUs for a while, and a new link needs time."""
    for _ in range(TRIES):
        done = held_to_account(session, rate_pps, duration_s=duration_s)
        if done.trial["received"]:
            return done
    raise AssertionError(f"of {TRIES} trials nothing came back, in the last one: {done.trial}, {done.served}, {done.checked}")


def located(done: Done) -> dict[str, int]:
    """Return the losses by place, without places that lost nothing."""
    assert done.checked is not None
    return {place: n for place, n in done.checked["lost"].items() if n}


# --- captures


@pytest.mark.skipif(not CAPTURES, reason="DPUBENCH_SHARED_DATA names no folder with captures")
@pytest.mark.parametrize("capture", CAPTURES, ids=[c.stem for c in CAPTURES])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_captures_come_back_as_they_should(sessions: Sessions, workload: str, capture: Path) -> None:
    plan = plan_of(workloads=[workload], frame_sizes=["9018B"], traffic={"source": "capture"})
    with sessions.opened(plan, files={"capture": [capture]}) as session:
        templates = int(session.ready["client"]["templates"])
        # The trial has time for twice the capture, so that it sends every packet of it whatever its schedule rounds to.
        done = held_to_account(session, 50_000, duration_s=max(2.2 * templates / 50_000, 0.1))
        assert done.trial["due"] > 2 * templates > 0
        assert located(done).keys() <= {"client_transmit", "server_receive", "server_transmit", "client_receive"}, "no frame is dropped on purpose"
        session.end()


def capture_of(path: Path, packets: list[bytes]) -> Path:
    """Write a capture of Ethernet frames that hold these IP packets; return ``path``."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i, packet in enumerate(packets):
            frame = bytes(12) + (b"\x86\xdd" if packet[:1] and packet[0] >> 4 == 6 else b"\x08\x00") + packet
            file.write(struct.pack("<IIII", i // 1000, i % 1000 * 1000, len(frame), len(frame)) + frame)
    return path


def ipv4(payload: bytes, *, length: int | None = None, words: int = 5, fragment: int = 0, protocol: int = 17, checksum: int = 0) -> bytes:
    """Return an IPv4 packet whose header may lie; ``fragment`` holds flags and offset as in the header."""
    total = 20 + len(payload) if length is None else length
    addresses = socket.inet_aton("10.1.0.1") + socket.inet_aton("10.2.0.1")
    return struct.pack(">BBHHHBBH", 0x40 | words, 0, total, 7, fragment, 64, protocol, checksum) + addresses + payload


def fragments() -> list[bytes]:
    """Return fragments: first, middle and last ones, overlapping and absurd ones, IPv4 and IPv6."""
    data = bytes(range(256))
    found = [ipv4(struct.pack(">HHHH", 4000, 5000, 264, 0) + data[:64], fragment=0x2000)]
    found += [ipv4(data[:64], fragment=0x2000 | offset) for offset in (1, 8, 9, 4000, 0x1FFF)]
    found += [ipv4(data[:n], fragment=offset) for n, offset in ((64, 16), (1, 17), (0, 18), (8, 0x1FFF))]
    addresses = socket.inet_pton(socket.AF_INET6, "fd00::1") + socket.inet_pton(socket.AF_INET6, "fd00::2")
    for offset in (1, 8 << 3 | 1, 16 << 3, 0xFFF8):
        body = struct.pack(">BBHI", 17, 0, offset, 9) + data[:48]
        found.append(struct.pack(">IHBB", 6 << 28, len(body), 44, 64) + addresses + body)
    return found


def malformed() -> list[bytes]:
    """Return malformed packets: shorter than a header, with contradictory lengths, with wrong checksums."""
    udp = struct.pack(">HHHH", 4000, 5000, 12, 0xBEEF) + b"data"
    tcp = struct.pack(">HHIIBBHHH", 4000, 5000, 1, 1, 0xF0, 2, 512, 0xDEAD, 0)
    found = [ipv4(udp)[:n] for n in (1, 8, 19, 20, 23)]
    found += [ipv4(udp, length=n) for n in (0, 19, 20, 27, 31, 33, 1400, 0xFFFF)]
    found += [ipv4(udp, words=n) for n in (0, 4, 6, 15)]
    found += [ipv4(tcp, protocol=6), ipv4(tcp[:12], protocol=6), ipv4(udp, checksum=0xFFFF), ipv4(udp[:4]), ipv4(b"", protocol=255)]
    found += [ipv4(struct.pack(">HHHH", 1, 2, n, 0) + b"data") for n in (0, 7, 8, 0xFFFF)]
    addresses = bytes(32)
    found += [struct.pack(">IHBB", 6 << 28, n, following, 64) + addresses + udp for n in (0, 4, 12, 9000) for following in (0, 17, 43, 60)]
    return found


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("packets", [fragments(), malformed()], ids=["fragments", "malformed"])
def test_fragments_and_malformed_packets_come_back(sessions: Sessions, tmp_path: Path, workload: str, packets: list[bytes]) -> None:
    capture = capture_of(tmp_path / "bad.pcap", packets)
    plan = plan_of(workloads=[workload], traffic={"source": "capture"})
    with sessions.opened(plan, files={"capture": [capture]}) as session:
        something_back(session)
        session.end()


# --- full tables, queues and buffers


@pytest.mark.parametrize("engine", ["portable", "dpdk-hash"])
@pytest.mark.parametrize("full", ["drop", "evict_oldest", "forward_uncounted"])
def test_a_full_table_keeps_its_policy_to_the_packet(sessions: Sessions, engine: str, full: str) -> None:
    workload = {"name": "flow-table", "params": {"flows": "1000", "full": full}, "engines": {"table": engine}}
    with sessions.opened(plan_of(workloads=[workload], traffic=FULL_TABLE)) as session:
        done = held_to_account(session, 50_000)
        table = done.served[0]["workload"]["flow_table"]
        assert table["flows"] == 1000
        if full == "drop":
            # The table also refuses packets of the ramp, which are no loss of the measured part.
            assert table["refused"] == done.served[0]["dropped"]["full"] >= located(done)["server_drop"] > 0
        else:
            assert done.served[0]["dropped"] == {}
            assert (table["evicted"] if full == "evict_oldest" else table["refused"]) > 0
        session.end()


class Halting(Listener):
    """A listener that stops a server during a trial, from its begin until the client reports its end."""

    server: int | None = None  #: process number of the server; None: trials are left alone

    def event(self, event: Event) -> None:
        if self.server is not None and event["event"] == "begun":
            os.kill(self.server, signal.SIGSTOP)
            until = time.monotonic() + 10
            while not stands_still(self.server):
                assert time.monotonic() < until, f"the server {self.server} does not stop"
                time.sleep(0.001)
        if self.server is not None and event["event"] == "trial":
            os.kill(self.server, signal.SIGCONT)


def stands_still(pid: int) -> bool:
    """Return whether every thread of a process is stopped."""
    return all(stat.read_bytes().rpartition(b")")[2].split()[0] == b"T" for stat in Path(f"/proc/{pid}/task").glob("*/stat"))


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("schedule", ["constant", "burst"])
def test_queues_that_overflow_lose_nothing_unlocated(sessions: Sessions, workload: str, schedule: str) -> None:
    """Nothing empties the queues, so they overflow however fast the machine is."""
    halting = Halting()
    # A table that must be filled first would wait for the stopped server.
    empty = {"name": "flow-table", "params": {"start": "cold"}} if workload == "flow-table" else workload
    with sessions.opened(plan_of(workloads=[empty], burst_packets=5000), listener=halting) as session:
        held_to_account(session)  # the link comes up with the first trial, in which a stopped server could not take part
        halting.server = session.pids()["server"]
        done = held_to_account(session, 1e6, schedule)
        halting.server = None
        assert done.trial["sent"] <= session.queue_packets < done.trial["due"]
        assert located(done)["client_transmit"] >= done.trial["due"] - session.queue_packets
        held_to_account(session)  # the excess of the trial before is forgotten
        session.end()


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize(("rate_pps", "schedule"), [(5e6, "constant"), (5e6, "burst"), (None, "flood")])
def test_as_much_as_the_client_sends_is_accounted_for(sessions: Sessions, workload: str, rate_pps: float | None, schedule: str) -> None:
    """The link's share of the load depends on the machine, but every packet must come back or have its place."""
    with sessions.opened(plan_of(workloads=[workload], burst_packets=5000)) as session:
        held_to_account(session, rate_pps, schedule)
        held_to_account(session)  # the excess of the trial before is forgotten
        session.end()


def test_the_least_memory_is_enough_or_more_is_asked_for(sessions: Sessions) -> None:
    with sessions.opened(plan_of(workloads=["flow-table"], memory={"mb": 64})) as session:
        held_to_account(session, None, "flood")
        session.end()
    with (
        pytest.raises(SessionFault, match=r"give the job more memory \(memory\.mb\)"),
        sessions.opened(plan_of(workloads=["flow-table"], memory={"mb": 64}, frame_sizes=["9018B"])),
    ):
        pytest.fail("64 MiB hold all packets of 9 KiB")


def test_huge_pages_that_are_not_there_are_told(sessions: Sessions) -> None:
    free = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("HugePages_Free"))
    if free:
        pytest.skip("this machine has huge pages")
    with (
        pytest.raises(SessionFault, match=r"huge pages: packets need 512 MiB, and 0 MiB are free: reserve some") as raised,
        sessions.opened(plan_of(workloads=["flow-table"], memory={"huge_pages": "yes"})),
    ):
        pytest.fail("huge pages came from nowhere")
    assert raised.value.is_preparing


# --- rules


def test_rules_that_do_not_compile_are_named_and_left_out(sessions: Sessions, tmp_path: Path) -> None:
    (tmp_path / "some.rules").write_text(BROKEN_RULES)
    traffic = {"flows": 100, "payload": {"source": "random", "signature_share": "30%"}}
    plan = plan_of(workloads=["application-recognition"], frame_sizes=["512B"], traffic=traffic)
    with sessions.opened(plan, files={"rules": [tmp_path / "some.rules"]}) as session:
        told = " ".join(w["message"] for w in session.warnings)
        assert "(id 1" in told and "some.rules:3: " in told and "2" in told, session.warnings
        done = held_to_account(session)
        assert done.served[0]["workload"]["classes"]["echo"] > 0
        session.end()


def test_rules_none_of_which_compiles_end_a_run(real: RealBench) -> None:
    (real.folder / "broken.rules").write_text("1:/a(?=b)/\n2:/unclosed(/\n")
    plan = "study: end-to-end\nrates: [20kpps]\nsearch: {goals: []}\ncalibration: {processes: 0}\nrounds: {min: 1, max: 1}\nframe_sizes: [64B]\n"
    (real.folder / "plan.yaml").write_text(plan)
    run = real.start("run", "plan.yaml", "--name", "r", "--set", "workloads=application-recognition", "--input", "rules=broken.rules")
    said = run.communicate(timeout=120)
    assert run.returncode == 4, "the null workload alone is no answer"
    told = " ".join("".join(said).split())
    assert "compiles none of 1 rules: id 2: " in told and "--input rules=FILE" in told, told
    assert real.left_on_the_machine() == []


# --- links


def any_place(kind: str) -> dict[str, Any]:
    """Return settings of a plan that measures flow-table over a kind of port."""
    return {"workloads": ["flow-table"], "ports": [kind], "engines": ["xdp" if kind == "xdp" else "portable"]}


@needs_root
@pytest.mark.parametrize("kind", ["socket", "af_packet", "af_xdp", "xdp", "vhost", "memif"])
def test_every_kind_of_port_gives_accounts_that_agree(sessions: Sessions, kind: str) -> None:
    with sessions.opened(plan_of(**any_place(kind))) as session:
        something_back(session)
        held_to_account(session, 2_000_000)
        # All buffers were in use now. The buffers far back in the pool's memory must work as well as the first ones.
        something_back(session)
        session.end()


@needs_root
@pytest.mark.parametrize("frame", ["1900B", "2816B"])
def test_frames_that_just_fit_beside_the_headroom_of_xdp_arrive(sessions: Sessions, frame: str) -> None:
    with sessions.opened(plan_of(**any_place("af_xdp"), frame_sizes=[frame])) as session:
        something_back(session, 2000, duration_s=0.1)
        session.end()


@needs_root
def test_frames_that_do_not_fit_into_a_page_are_refused(sessions: Sessions) -> None:
    with (
        pytest.raises(UserError, match=r"2817B are larger than XDP takes on veth \(2816 B\)"),
        sessions.opened(plan_of(**any_place("af_xdp"), frame_sizes=["2817B"])),
    ):
        pass


@needs_root
@pytest.mark.parametrize("kind", ["socket", "af_packet", "af_xdp"])
def test_recognition_over_the_kernel(sessions: Sessions, kind: str) -> None:
    traffic = {"flows": 100, "payload": {"source": "random", "signature_share": "30%"}}
    with sessions.opened(plan_of(workloads=["application-recognition"], ports=[kind], frame_sizes=["512B"], traffic=traffic)) as session:
        something_back(session, 5000)
        session.end()


def test_signatures_across_repeated_and_overlapping_segments_are_recognised(sessions: Sessions) -> None:
    """The client compares every answer with the expected one, and half of the messages carry a signature."""
    traffic = {
        "flows": 100, "protocol": "tcp", "segments": 5, "retransmit_share": "20%", "overlap_share": "30%",
        "payload": {"source": "random", "signature_share": "50%"},
    }  # fmt: skip
    workload = {"name": "application-recognition", "params": {"mode": "stream"}}
    with sessions.opened(plan_of(workloads=[workload], frame_sizes=["256B"], traffic=traffic)) as session:
        done = something_back(session, 5000)
        stream, classes = done.served[0]["workload"]["stream"], done.served[0]["workload"]["classes"]
        assert stream["repeated"] > stream["segments"] * 0.15 and stream["out_of_order"] > 0
        assert classes["hash"] + classes["compress"] > 0
        session.end()


@needs_root
def test_a_full_table_in_the_kernel_is_counted(sessions: Sessions) -> None:
    given = any_place("xdp") | {"workloads": [{"name": "flow-table", "params": {"flows": "1000"}}], "traffic": FULL_TABLE}
    with sessions.opened(plan_of(**given)) as session:
        done = held_to_account(session)
        table = done.served[0]["workload"]["flow_table"]
        assert table["flows"] == 1000 and table["refused"] == table["elsewhere"]["dropped"] > 0
        assert done.checked is not None and done.checked["unlocated"] > 0
        session.end()


@needs_root
@pytest.mark.parametrize("end", ["server", "client"])
@pytest.mark.parametrize("kind", ["socket", "af_packet", "af_xdp", "xdp"])
def test_a_link_that_goes_down_in_a_trial_and_comes_back(sessions: Sessions, kind: str, end: str) -> None:
    with sessions.opened(plan_of(**any_place(kind))) as session:
        side = session.ends.receiving if end == "server" else session.ends.returning
        assert side is not None

        def turn(word: str) -> None:
            subprocess.run(["ip", "-n", side.namespace, "link", "set", side.interface, word], check=True, timeout=20)

        timers = [threading.Timer(after_s, turn, [word]) for after_s, word in ((0.2, "down"), (0.5, "up"))]
        for timer in timers:
            timer.start()
        try:
            done = held_to_account(session, duration_s=0.8)
        finally:
            for timer in timers:
                timer.join()
        assert 0 < done.trial["received"] < done.trial["due"]
        assert "is gone" in done.cpu_withheld, "the interface's threads ended with it"
        before = session.pids()
        something_back(session, duration_s=0.3)
        assert not [why for work in session._receive_work if (why := receiving.elsewhere(work))], "the new threads are where the former were"
        assert [w["code"] for w in session.warnings if w["code"] == "link-down"] == ["link-down"]
        assert not set(before.values()) & set(session.pids().values()), "both programs were started anew"
        session.end()


def test_a_split_of_recognition_answers_right_and_one_of_a_single_stage_is_left_out(sessions: Sessions) -> None:
    traffic = {"flows": 100, "payload": {"source": "random", "signature_share": "30%"}}
    plan = plan_of(workloads=list(WORKLOADS), placements=["split"], frame_sizes=["512B"], traffic=traffic)
    configurations = sessions.configurations(plan)
    assert [c.workload for c in configurations] == ["application-recognition"]
    with sessions.opened(plan, configurations[0]) as session:
        # Three programs share two CPUs: many packets may be lost, but every one must be in the accounts.
        done = something_back(session, 5000, duration_s=0.5)
        first, second = done.served
        assert 0 < second["received"] < first["received"] and first["workload"]["searched"] == first["received"]
        session.end()
