"""The measurements of study ``link``: one program at each end, the server first."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dpubench.studies.link.ends import End
from dpubench.studies.link.plan import Plan
from dpubench.studies.measured.execute import PointFailed
from dpubench.workers.process import StopRequest, WorkerFault
from dpubench.workers.tool import CpuTimes, Ended, Tool, busy_ns

#: Seconds beyond a measurement's own: starting both programs, connecting, retransmissions of a broken link.
MARGIN_S: Final = 20.0
#: Ports of servers: above those of services, below those that Linux gives to clients.
_PORTS: Final = (20_000, 32_000)
_PORT: Final = "PORT"
_MOST_TRIES: Final = 4
#: Bytes of sockperf's header.
_LEAST_SOCKPERF: Final = 14
#: Share of a CPU from which a program counts as held up by it.
SATURATED: Final = 0.95
#: Outside programs that are started at both ends, by what measures.
_RDMA: Final = {("bandwidth", "send"): "ib_send_bw", ("bandwidth", "write"): "ib_write_bw", ("bandwidth", "read"): "ib_read_bw",
                ("latency", "send"): "ib_send_lat", ("latency", "write"): "ib_write_lat", ("latency", "read"): "ib_read_lat"}  # fmt: skip
#: Messages of network programs -> what to do.
_ADVICE: Final = (
    (r"Connection refused", "the server does not listen at that address, or a firewall refuses it: check the address (--set addresses.NAME=ADDRESS)"),
    (r"No route to host|Network is unreachable", "there is no way between the ends: check that both interfaces are up and the addresses are theirs"),
    (r"timed out|Operation now in progress|longer than it may",
     "nothing came back: a firewall drops the packets, the interface at the other end is down, or an MTU on the way is too small"),
    (r"Cannot assign requested address", "the address is not this end's: give its own (--set addresses.NAME=ADDRESS)"),
)  # fmt: skip


@dataclass
class Found:
    """The figures of one measurement by quantity, and warnings by code."""

    figures: dict[str, float]
    warnings: dict[str, str] = field(default_factory=dict)

    def warning(self, code: str, message: str) -> None:
        """Add a warning to the figures."""
        self.warnings[code] = message


def tools_of(parameters: Mapping[str, str]) -> str:
    """Return the outside program that a point needs at both ends; empty if it needs none."""
    test = parameters["test"]
    if test == "throughput":
        return "iperf3"
    if test == "latency":
        return "" if parameters["tool"] == "dpubench-link" else parameters["tool"]
    return _RDMA[parameters["measure"], parameters["verb"]] if test == "rdma" else ""


def unsuitable(parameters: Mapping[str, str]) -> str:
    """Return why the program of a point cannot measure it anywhere; empty if it can."""
    small = parameters.get("tool") == "sockperf" and int(parameters["bytes"]) < _LEAST_SOCKPERF
    return f"sockperf sends at least {_LEAST_SOCKPERF} B, its header" if small else ""


class Pair:
    """Two ends between which one point is measured at a time."""

    def __init__(self, plan: Plan, sender: End, receiver: End, stop: StopRequest) -> None:
        self.plan, self.sender, self.receiver, self.stop = plan, sender, receiver, stop

    @property
    def one_machine(self) -> bool:
        """Return whether both ends share their CPUs."""
        return self.sender.machine == self.receiver.machine

    def throughput(self, size: int, streams: int) -> Found:
        """Return the goodput of TCP with iperf3, and the CPUs that both ends keep busy. @raises PointFailed"""
        seconds = math.ceil(self.plan.duration)
        words = ["-c", self.receiver.address, "-p", _PORT, "-l", str(size), "-P", str(streams), "-t", str(seconds), "-J"]
        done, cpu = self._exchange(
            "iperf3", ["-s", "-1", "-p", _PORT, "--forceflush", "-B", self.receiver.address], words, "Server listening", seconds
        )
        told = _document(done, "iperf3")
        if said := told.get("error"):
            raise PointFailed("measure", explained(f"iperf3: {said}"))
        return throughput_of(told, cpu, streams)

    def sockperf(self, size: int) -> Found:
        """Return round-trip times with percentiles from sockperf's ping-pong over TCP. @raises PointFailed"""
        seconds = math.ceil(self.plan.duration)
        server = ["server", "--tcp", "-i", self.receiver.address, "-p", _PORT]
        words = ["ping-pong", "--tcp", "-i", self.receiver.address, "-p", _PORT, "-m", str(size), "-t", str(seconds), "--full-rtt"]
        done, _ = self._exchange("sockperf", server, words, "[SERVER] listen on", seconds)
        return Found(sockperf_figures(done.stdout))

    def qperf(self, size: int) -> Found:
        """Return the mean round-trip time from qperf's tcp_lat. @raises PointFailed"""
        seconds = math.ceil(self.plan.duration)
        words = [self.receiver.address, "--listen_port", _PORT, "-t", str(seconds), "-m", str(size), "-uu", "tcp_lat"]
        done, _ = self._exchange("qperf", ["--listen_port", _PORT], words, "", seconds)
        return Found(qperf_figures(done.stdout))

    def rdma(self, measure: str, verb: str, size: int) -> Found:
        """Return the bandwidth or the latency of RDMA verbs from perftest. @raises PointFailed"""
        name = _RDMA[measure, verb]
        words = [
            "-p",
            _PORT,
            "-s",
            str(size),
            *(["-D", str(math.ceil(self.plan.duration)), "--report_gbits"] if measure == "bandwidth" else ["-n", "5000"]),
        ]
        done, cpu = self._exchange(name, words, [*words, self.receiver.address], "Waiting for client", self.plan.duration)
        return Found(perftest_figures(done.stdout, measure) | (cpu if measure == "bandwidth" else {}))

    def _exchange(
        self, name: str, server: Sequence[str], client: Sequence[str], ready: str, seconds: float
    ) -> tuple[Ended, dict[str, float]]:  # fmt: skip
        """Run ``name`` at both ends; :data:`_PORT` among their words becomes a port.

        Return how the client ended, and the CPUs that were busy. @raises PointFailed, TargetLost, Interrupted
        """
        limit_s = seconds + MARGIN_S
        for _ in range(_MOST_TRIES):
            port = _any_port()
            serve, send = ([port if word == _PORT else word for word in words] for words in (server, client))
            try:
                with Tool(self.receiver.target, name, serve, limit_s=limit_s, stop=self.stop, ready=ready) as serving:
                    if ready:
                        serving.wait_ready()
                    with Tool(self.sender.target, name, send, limit_s=limit_s, stop=self.stop) as sending:
                        done = sending.result()
                    served = serving.end()
            except WorkerFault as fault:
                if "ddress already in use" in fault.reason:
                    continue
                raise PointFailed("measure", explained(fault.reason)) from None
            if not done.good and not done.stdout.lstrip().startswith("{"):
                raise PointFailed("measure", explained(f"{name}: {done.why()}"))
            times = (done.cpu_before, done.cpu_after), (served.cpu_before, served.cpu_after)
            return done, cpus(*times, seconds, one_machine=self.one_machine)
        raise PointFailed("measure", f"{name}: found no free port in {_MOST_TRIES} tries")


def _any_port() -> str:
    """Return a port of servers. It does not follow from the plan's seed: runs of one plan at the same time would all take the same one."""
    return str(random.SystemRandom().randint(*_PORTS))


def cpus(
    sender: tuple[CpuTimes, CpuTimes], receiver: tuple[CpuTimes, CpuTimes], seconds: float, *, one_machine: bool
) -> dict[str, float]:  # fmt: skip
    """Return how many CPUs were busy at both ends during ``seconds`` of measurement, by quantity.

    Kernels count for the whole machine, interrupts included. Where both ends share a machine, only their sum is known.
    """
    if one_machine:
        return {"both_cpus": busy_ns(*receiver) / 1e9 / seconds}
    return {"sender_cpus": busy_ns(*sender) / 1e9 / seconds, "receiver_cpus": busy_ns(*receiver) / 1e9 / seconds}


def throughput_of(told: Mapping[str, Any], cpu: Mapping[str, float], streams: int) -> Found:
    """Return the figures of iperf3's document. @raises PointFailed when it tells of no received byte"""
    try:
        end = told["end"]
        received, sent = end["sum_received"], end["sum_sent"]
        if not 0 < received["bytes"] <= sent["bytes"]:
            raise PointFailed("verify", f"iperf3: {received['bytes']} B arrived of {sent['bytes']} B: no rate follows from this")
        retransmits = int(sent.get("retransmits", 0))  # absent where the sender's kernel does not tell
        used = {side: float(end["cpu_utilization_percent"][f"{key}_total"]) / 100 for side, key in (("sending", "host"), ("receiving", "remote"))}
    except (KeyError, TypeError, ValueError) as error:
        raise PointFailed("measure", f"iperf3: its document lacks what every version writes ({error!r})") from None
    found = Found({"goodput_gbps": received["bits_per_second"] / 1e9, **cpu})
    saturated = [f"the {side} iperf3 used {100 * share:.0f} % of a CPU" for side, share in used.items() if share >= SATURATED]
    if saturated:
        found.warning("end-saturated", f"{' and '.join(saturated)}, with {streams} stream{'s' if streams > 1 else ''}")
    if retransmits:
        found.warning("retransmitted", f"{retransmits} segments were sent again in a measurement of {sent['bytes']} B")
    return found


def sockperf_figures(text: str) -> dict[str, float]:
    """Return the round-trip times in what ``sockperf ping-pong --full-rtt`` prints. @raises PointFailed without them"""
    found = {name: float(value) for name, value in re.findall(r"percentile (50\.000|90\.000|99\.000|99\.900) = +([0-9.]+)", text)}
    largest = re.search(r"<MAX> observation = +([0-9.]+)", text)
    mean = re.search(r"avg-rtt=([0-9.]+)", text)
    lost = re.search(r"dropped messages = (\d+); # duplicated messages = (\d+); # out-of-order messages = (\d+)", text)
    names = {"50.000": "rtt_p50_us", "90.000": "rtt_p90_us", "99.000": "rtt_p99_us", "99.900": "rtt_p999_us"}
    if found.keys() != names.keys() or not (largest and mean and lost):
        raise PointFailed("measure", f"sockperf: printed no percentiles: {_last_line(text)}")
    if any(int(number) for number in lost.groups()):
        raise PointFailed("verify", f"sockperf: {lost[0]} over TCP, which loses and reorders nothing")
    return {names[key]: value for key, value in found.items()} | {"rtt_max_us": float(largest[1]), "rtt_mean_us": float(mean[1])}


def qperf_figures(text: str) -> dict[str, float]:
    """Return the mean round-trip time in what ``qperf tcp_lat`` prints: its latency is one way, half a round trip. @raises PointFailed"""
    found = re.search(r"latency += +([0-9.]+) (ns|us|ms|sec)", text)
    if not found or not float(found[1]) > 0:
        raise PointFailed("measure", f"qperf: printed no latency: {_last_line(text)}")
    return {"rtt_mean_us": 2 * float(found[1]) * {"ns": 1e-3, "us": 1.0, "ms": 1e3, "sec": 1e6}[found[2]]}


def perftest_figures(text: str, measure: str) -> dict[str, float]:
    """Return the figures in the last row of perftest's table. @raises PointFailed without one"""
    rows = [line.split() for line in text.splitlines() if re.fullmatch(r"[\s0-9.]+", line) and line.strip()]
    if not rows or len(rows[-1]) < (4 if measure == "bandwidth" else 9):
        raise PointFailed("measure", f"perftest: printed no figures: {_last_line(text)}")
    row = list(map(float, rows[-1]))
    # bandwidth: bytes, iterations, peak, average, message rate; latency: bytes, iterations, min, max, typical, average, deviation, 99 %, 99.9 %
    if measure == "bandwidth":
        return {"goodput_gbps": row[3]}
    return {"rtt_p50_us": 2 * row[4], "rtt_p99_us": 2 * row[7], "rtt_p999_us": 2 * row[8], "rtt_max_us": 2 * row[3], "rtt_mean_us": 2 * row[5]}


def explained(reason: str) -> str:
    """Return a program's message with what to do about it."""
    advice = next((what for pattern, what in _ADVICE if re.search(pattern, reason)), "")
    return f"{reason}; {advice}" if advice else reason


def _document(done: Ended, name: str) -> dict[str, Any]:
    try:
        told = json.loads(done.stdout)
    except ValueError:
        told = None
    if not isinstance(told, dict) or done.cut:
        raise PointFailed("measure", f"{name}: printed no document: {done.why()}")
    return told


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "nothing"
