"""The end-to-end study's programs beside dpdk-testpmd, and an operator's lane in the server beside the same lane in the harness.

The client's packet rate stands beside testpmd's txonly, the server's forwarding beside its macswap. The lane in a stage of the server stands beside
the one in the operators study's harness (``places.cpp``).

Both sides have the same port, frame size, burst and CPUs, one after the other in ABBA order within a round. The mean of a side over all its
stretches counts. The program on the other end of the link (``receiver.cpp``, or dpdk-testpmd flowgen) is the same for both. Rates are from a stretch
in the middle, by each program's own counters and clock.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

import numpy as np
from dpubench import targets
from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.workers.checks import parse_event
from dpubench.workers.process import Worker, WorkerFault

from benchmarks import common
from benchmarks.common import Bench, Claim, Rates, Verdict

TESTPMD: Final = "dpdk-testpmd"
SIZES: Final = (64, 1518)  #: bytes with FCS
BURST: Final = 32
FLOWS: Final = 1000  #: flows of our client, which writes their headers anew; txonly has its own number of flows
LEAST_MEMIF, LEAST_NULL, LEAST_FORWARD = 1.0, 0.7, 0.9
#: Pairs of stretches of a side in a round. A link of shared memory may keep to a slower way of running from its beginning (how far apart both ends
#: happen to be). All stretches count, since a user meets all. The bench publishes the share of fast ones. One pair is enough: each stretch has a link
#: of its own, so that further pairs tell as much as further rounds.
CYCLES: Final = 1
#: Most further sets of rounds of a frame size that is undecided. Each stretch starts both programs, which takes longer than measuring.
MORE_TIMES: Final = 2
#: A stretch is fast if its rate is at least this share of the fastest stretch's rate on both sides.
FAST: Final = 0.5
#: Factor on the number of rounds on such a link: its rates scatter from stretch to stretch.
LINK_ROUNDS: Final = 2
#: Reasons why *undecided* is an answer for such a link while the whole interval lies above a share of the other side's rate. A sender that is as fast
#: as the other one, whose ratio is 1, would be found below 1 in every second bench. The generator of forwarded frames also receives them, without a
#: pause (dpdk-testpmd flowgen).
AS_FAST: Final = ("it is as fast within 3 %", 0.97)
TWO_SPEEDS: Final = ("a memory link whose one end polls without a pause keeps to one of two speeds by chance", 0.8)
#: Most stretches in a row with a dpdk-testpmd that does not answer; each starts it anew.
MOST_SILENT: Final = 3
SETTLE_S, MEASURE_S = 0.2, 0.4
LIMIT_S: Final = 30.0
#: Operators of a workload's stages, each with its stage's default engine, in the direction of the stage.
LANES: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    ("sha256", "openssl", {}),
    ("deflate", "isal", {"direction": "compress"}),
    ("regex", "hyperscan", {}),
)
LANE_BYTES: Final = (64, 1024)
LANE_TOLERANCE: Final = 0.05
LANE_LIMIT_S: Final = 120.0  #: seconds for a round of one lane; the first one compiles the rules
#: Without huge pages, which some machines lack, as for dpubench's programs by default.
EAL: Final = ("--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level=error", "--force-max-simd-bitwidth=512")


When = tuple[int, int]  #: round and cycle
S = TypeVar("S", bound="Started")


class NoAnswer(RuntimeError):
    """A dpdk-testpmd that still runs but does not answer."""


class Testpmd:
    """One dpdk-testpmd on one CPU and one port, driven by its command line. Forwarding begins with :meth:`start`."""

    def __init__(self, bench: Bench, name: str, cpu: int, vdev: str, *words: str) -> None:
        # Line buffering, because its output is no terminal.
        head = ["stdbuf", "-oL", TESTPMD, *EAL, "--file-prefix", f"bench-{os.getpid()}-{name}", "--lcores", f"0@{cpu},1@{cpu}", "--vdev", vdev]
        tail = ["--", "-i", "--total-num-mbufs=16384", f"--burst={BURST}", *words]
        self._output = (bench.scratch / f"testpmd-{name}").open("w+b")
        environment = {**os.environ, "RUNTIME_DIRECTORY": str(bench.scratch)}
        self._process = subprocess.Popen(
            [*head, *tail], stdin=subprocess.PIPE, stdout=self._output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        try:
            self._await(re.compile(r"Checking link statuses.*\nDone", re.DOTALL), 0)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Testpmd:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """Quit. The reader of a memif link must quit before its sender: net_memif of DPDK 22.11 may crash the one that stays."""
        if self._output.closed:
            return
        try:
            self._send("quit")
            self._process.wait(LIMIT_S)
        except (subprocess.TimeoutExpired, OSError):
            self._process.kill()
            self._process.wait()
        self._output.close()

    def start(self) -> None:
        self._send("start")

    def rates(self) -> dict[str, float]:
        """Return received and sent packets per second (``Rx``, ``Tx``), over the measured stretch. @raises RuntimeError"""
        time.sleep(SETTLE_S)
        self._show()  # rates count from the last show
        time.sleep(MEASURE_S)
        return {side: float(rate) for side, rate in re.findall(r"(Rx|Tx)-pps: +(\d+)", self._show())}

    def _show(self) -> str:
        before = os.fstat(self._output.fileno()).st_size
        self._send("show port stats 0")
        return self._await(re.compile(r"Rx-pps: +\d+.*Tx-pps: +\d+.*\n +#{20,}", re.DOTALL), before)

    def _send(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command.encode() + b"\n")
        self._process.stdin.flush()

    def _await(self, pattern: re.Pattern[str], begin: int) -> str:
        """Return the output from ``begin`` on, once it contains ``pattern``. Without a terminal there is no prompt. @raises RuntimeError"""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            self._output.seek(begin)
            text = self._output.read().decode("utf-8", "replace")
            if pattern.search(text):
                return text
            if self._process.poll() is not None:
                said = text.strip().splitlines()
                raise RuntimeError(f"{TESTPMD}: ended with status {self._process.returncode}: {said[-1] if said else 'without a word'}")
            time.sleep(0.02)
        raise NoAnswer(f"{TESTPMD}: no answer within {LIMIT_S:g} s")


class Started:
    """A program that speaks in events, from its event ``ready`` on. A context manager."""

    def __init__(self, program: Path, arguments: Sequence[str], first: bytes, parse: Callable[[bytes], dict[str, Any]] = parse_event) -> None:
        self._worker = Worker(targets.find("local"), str(program), arguments, silence_s=LIMIT_S, limit_s=10 * LIMIT_S, parse=parse)
        self._ended = False
        try:
            self._worker.send(first)
            self.answer("ready")
        except BaseException:
            self._worker.__exit__(None, None, None)
            raise

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.end()
        self._worker.__exit__(kind, value, trace)

    def end(self) -> None:
        """End its input and read its remaining events. @raises RuntimeError when it failed"""
        if not self._ended:
            self._ended = True
            self._worker.send(b'{"end": true}\n', last=True)
            self.last_events()

    def last_events(self) -> None:
        """Read what comes after the end of its input."""
        while self._worker.next_event() is not None:
            pass

    def answer(self, kind: str) -> dict[str, Any]:
        """Return the next event of ``kind``. @raises RuntimeError with the failure that came instead"""
        while (event := self._worker.next_event()) is not None:
            if event["event"] == "failure":
                raise RuntimeError(event["message"])
            if event["event"] == kind:
                return event
        raise RuntimeError(f"the program ended without a {kind} event")


class Ours(Started):
    """A ready dpubench-traffic or dpubench-server."""

    def __init__(self, bench: Bench, program: str, job: dict[str, Any]) -> None:
        super().__init__(bench.programs / program, [], json.dumps(job).encode() + b"\n")

    def ask(self, command: dict[str, Any], answer: str) -> dict[str, Any]:
        """Send a command and return the event that answers it. @raises RuntimeError with the failure that came instead"""
        self._worker.send(json.dumps(command).encode() + b"\n")
        return self.answer(answer)


class Receiver(Started):
    """The other end of a memory link whose senders are compared (``receiver.cpp``), ready for a sender.

    It pauses where it found nothing. dpdk-testpmd rxonly does not, and its polls take the ring's cache lines from the sender: the link then runs at
    one of two speeds by chance, up to four times as long per packet, whoever sends.
    """

    def __init__(self, bench: Bench, cpu: int, socket: Path) -> None:
        program = bench.build / "benchmarks/receiver"
        if not program.is_file():
            raise RuntimeError(f"{program}: there is no such program: configure the build with -Dtests=true (`make build-tests`)")
        super().__init__(program, [str(socket), str(cpu)], b"", json.loads)

    def last_events(self) -> None:
        """Read how many packets came. @raises RuntimeError when none did"""
        if self.answer("received")["packets"] == 0:
            raise RuntimeError("no packet came to the receiver of the memif link")


@dataclass(frozen=True)
class Place:
    """The place of a comparison: CPUs of both ends, and the socket of their link."""

    ours: int
    other: int
    socket: Path

    def memif(self, role: str) -> str:
        return f"net_memif0,role={role},id=0,socket={self.socket},socket-abstract=no,bsize=2048,rsize=10"

    def port(self, role: str) -> dict[str, Any]:
        # No secret, because dpdk-testpmd on the other end knows of none.
        return {"kind": "memif", "role": role, "arguments": {"socket": str(self.socket), "secret": ""}}


def _payload(size: int) -> str:
    """Return dpdk-testpmd's option for a frame of ``size`` bytes with FCS."""
    return f"--txpkts={size - 4}"


def _flood(bench: Bench, cpu: int, port: dict[str, Any], size: int, flows: int, receiver: Receiver | None = None) -> float:
    """Return packets per second of our client alone."""
    job = {
        "schema": "dpubench.traffic-job/1", "seed": 1, "port": port, "cpu": cpu, "burst": BURST, "receive": False,
        "traffic": {"source": "model", "flows": flows, "frame_sizes": [[size, 1]]},
    }  # fmt: skip
    trial = {"number": 1, "schedule": "flood", "ramp_s": SETTLE_S, "duration_s": MEASURE_S, "drain_s": 0}
    with Ours(bench, "dpubench-traffic", job) as client:
        event = client.ask({"trial": trial}, "trial")
        if receiver is not None:
            receiver.end()
    return float(event["sent"]) / float(event["elapsed_ns"]) * 1e9


def _txonly(bench: Bench, cpu: int, vdev: str, size: int, flows: int, receiver: Receiver | None = None) -> float:
    many = () if flows == 1 else ("--txonly-multi-flow",)
    with Testpmd(bench, "sender", cpu, vdev, "--forward-mode=txonly", _payload(size), *many) as sender:
        sender.start()
        rate = sender.rates()["Tx"]
        if receiver is not None:
            receiver.end()
    return rate


def _sending_memif(bench: Bench, place: Place, size: int, rates: Rates, when: Sequence[When], flows: int) -> None:
    def received(send: Callable[[Receiver], float]) -> float:
        with Receiver(bench, place.other, place.socket) as receiver:
            return send(receiver)

    for at in when:
        _alternate(
            rates, at, size,
            lambda: received(lambda receiver: _flood(bench, place.ours, place.port("client"), size, flows, receiver)),
            lambda: received(lambda receiver: _txonly(bench, place.ours, place.memif("client"), size, flows, receiver)),
        )  # fmt: skip


def _sending_null(bench: Bench, place: Place, size: int, rates: Rates, when: Sequence[When], flows: int) -> None:
    for at in when:
        _alternate(
            rates, at, size,
            lambda: _flood(bench, place.ours, {"kind": "null", "role": "client", "arguments": {}}, size, flows),
            lambda: _txonly(bench, place.ours, "net_null0", size, flows),
        )  # fmt: skip


def _forwarding(bench: Bench, place: Place, size: int, rates: Rates, when: Sequence[When]) -> None:
    """Measure the rate at which frames come back to a generator that sends as fast as it can."""

    def generated(end_server: Callable[[], None]) -> float:
        words = ("--forward-mode=flowgen", _payload(size))
        with Testpmd(bench, "generator", place.other, place.memif("client"), *words) as generator:
            generator.start()
            rate = generator.rates()["Rx"]
            end_server()
        return rate

    def ours() -> float:
        job = {
            "schema": "dpubench.server-job/1", "ports": [place.port("server")], "cpus": [place.ours], "burst": BURST, "workload": {"name": "forward"},
        }  # fmt: skip
        with Ours(bench, "dpubench-server", job) as server:
            return generated(server.end)

    def theirs() -> float:
        with Testpmd(bench, "server", place.ours, place.memif("server"), "--forward-mode=macswap") as server:
            server.start()
            return generated(server.end)

    for at in when:
        _alternate(rates, at, size, ours, theirs)


def _alternate(rates: Rates, when: When, size: int, ours: Callable[[], float], theirs: Callable[[], float]) -> None:
    number, cycle = when
    for half, order in enumerate((("ours", "theirs"), ("theirs", "ours"))):
        for side in order:
            rates[f"{side} {size}"][number][(cycle, half)] = _answered(ours if side == "ours" else theirs)


def _answered(stretch: Callable[[], float]) -> float:
    """Return the rate of a stretch, with retries. @raises NoAnswer when dpdk-testpmd gave none several times"""
    for _ in range(MOST_SILENT - 1):
        with contextlib.suppress(NoAnswer):
            return stretch()
    return stretch()


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield a claim per comparison, with its worst frame size."""
    memif, null, many = "client on memif: packets", "client on null: packets", f"of {FLOWS} flows, over dpdk-testpmd txonly with many flows"
    subjects = (
        (f"{memif} sent, over dpdk-testpmd txonly", partial(_sending_memif, flows=1), LEAST_MEMIF, AS_FAST),
        (f"{memif} {many}", partial(_sending_memif, flows=FLOWS), LEAST_MEMIF, AS_FAST),
        (f"{null} sent, over dpdk-testpmd txonly", partial(_sending_null, flows=1), LEAST_NULL, None),
        (f"{null} {many}", partial(_sending_null, flows=FLOWS), LEAST_NULL, None),
        ("server on memif: packets forwarded, over dpdk-testpmd macswap", _forwarding, LEAST_FORWARD, TWO_SPEEDS),
    )
    for claim, run, least, excuse in subjects:
        try:
            if shutil.which(TESTPMD) is None:
                raise RuntimeError(f"{TESTPMD} is not installed (package dpdk-dev)")
            yield _compared(bench, claim, run, least, excuse)
        except (WorkerFault, RuntimeError, OSError) as fault:
            yield Claim("datapath", claim, str(fault), f"at least {least}", "not run")
    yield from _lanes(bench)


def means(ours: dict[int, dict[When, float]], theirs: dict[int, dict[When, float]]) -> list[list[float]]:
    """Return, per round that both sides have, the ratio of the mean rates over all stretches, ours over theirs."""
    return [[float(np.mean(list(ours[n].values())) / np.mean(list(theirs[n].values())))] for n in sorted(ours.keys() & theirs.keys())]


def share_fast(side: dict[int, dict[When, float]], fastest: float) -> float:
    """Return the share of a side's stretches that reached at least :data:`FAST` of ``fastest``, in packets per second."""
    rates = [rate for stretches in side.values() for rate in stretches.values()]
    return sum(rate >= FAST * fastest for rate in rates) / len(rates) if rates else 0.0


def _compared(
    bench: Bench, claim: str, run: Callable[[Bench, Place, int, Rates, Sequence[When]], None], least: float, excuse: tuple[str, float] | None
) -> Claim:  # fmt: skip
    """Return a claim on a comparison. ``excuse`` is of a memory link: why *undecided* is an answer, while the interval lies above which share."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise RuntimeError("needs two CPUs: one for each end of the link")
    place = Place(cpus[1], cpus[0], bench.scratch / "memif")
    rates: Rates = defaultdict(lambda: defaultdict(dict))
    rounds = 2 if bench.quick else bench.rounds * (1 if excuse is None else LINK_ROUNDS)
    for size in SIZES:
        for begin in range(0, rounds * (1 if bench.quick else 1 + MORE_TIMES), rounds):
            for number in range(begin, begin + rounds):
                run(bench, place, size, rates, [(number, cycle) for cycle in range(CYCLES)])
            if common.at_least(statistics.ratio_interval(means(rates[f"ours {size}"], rates[f"theirs {size}"])), least) != "undecided":
                break
    found: dict[int, Interval] = {}
    details: dict[str, dict[str, Any]] = {}
    for size in SIZES:
        ours, theirs = rates[f"ours {size}"], rates[f"theirs {size}"]
        fastest = max(rate for side in (ours, theirs) for stretches in side.values() for rate in stretches.values())
        found[size] = statistics.ratio_interval(means(ours, theirs))
        details[str(size)] = {"ratio": asdict(found[size]), "rounds": len(ours)} | {
            f"{name}_{what}": value
            for name, side in (("ours", ours), ("theirs", theirs))
            for what, value in (
                ("mean_mpps", float(np.mean([rate for stretches in side.values() for rate in stretches.values()])) / 1e6),
                ("share_fast", share_fast(side, fastest)),
            )
        }
    low = min(found, key=lambda size: found[size].value)
    of_low = details[str(low)]
    text = f"{common.span(found[low])} at {low} B"
    if excuse is not None:
        text += f"; fast stretches: {100 * of_low['ours_share_fast']:.0f} % of ours, {100 * of_low['theirs_share_fast']:.0f} % of theirs"
    verdict = common.worst([common.at_least(interval, least) for interval in found.values()])
    tolerated = excuse[0] if excuse is not None and all(interval.low >= excuse[1] for interval in found.values()) else ""
    return Claim("datapath", claim, text, f"at least {least}", verdict, details, tolerated)


def _lanes(bench: Bench) -> Iterator[Claim]:
    """Yield a claim per operator, with its worst size."""
    limit = f"within {100 * LANE_TOLERANCE:g} %"
    for operator, engine, params in LANES:
        claim = f"{operator}: {engine} in a stage of the server, over the same lane in the harness"
        try:
            found = {size: _lane(bench, operator, engine, {**params, "size": str(size)}) for size in LANE_BYTES}
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as fault:
            yield Claim("datapath", claim, str(fault), limit, "not run")
            continue
        worst = max(found, key=lambda size: abs(found[size].value - 1))
        verdict = common.worst([_within(interval) for interval in found.values()])
        details = {str(size): asdict(interval) for size, interval in found.items()}
        yield Claim("datapath", claim, f"{common.span(found[worst])} at {worst} B", limit, verdict, details)


def _lane(bench: Bench, operator: str, engine: str, params: dict[str, str]) -> Interval:
    """Return the rate in the stage over the rate in the harness. @raises RuntimeError"""
    program = bench.build / "benchmarks/places"
    if not program.is_file():
        raise RuntimeError(f"{program}: there is no such program: configure the build with -Dtests=true and DPDK (`make build-tests`)")
    files = [f"{kind}:{file}" for kind, paths in bench.inputs.for_job().items() if kind in ("rules", "corpus") for file in paths]
    words = [operator, engine, *(f"{key}={value}" for key, value in params.items()), *files]
    pairs = []
    for number in range(2 if bench.quick else bench.rounds):
        command = [str(program), str(bench.programs / "engines"), str(number), "4" if bench.quick else "24", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LANE_LIMIT_S)
        if done.returncode != 0:
            raise RuntimeError(f"{operator}, {engine}: {done.stderr.strip()[-300:] or f'ended with status {done.returncode}'}")
        stage, harness = (np.asarray(json.loads(done.stdout)["rates"][side]) for side in ("stage", "harness"))
        pairs.append(statistics.palindromic_mean(stage[:, 0], stage[:, 1]) / statistics.palindromic_mean(harness[:, 0], harness[:, 1]))
    return statistics.ratio_interval(pairs)


def _within(interval: Interval) -> Verdict:
    """Return *MISSED* if the whole interval is further from 1 than allowed, *undecided* if only its value is."""
    if abs(interval.value - 1) <= LANE_TOLERANCE:
        return "pass"
    return "MISSED" if interval.high < 1 - LANE_TOLERANCE or interval.low > 1 + LANE_TOLERANCE else "undecided"
