"""What a plan of study ``link`` comes to: ends, points and quantities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from dpubench import network
from dpubench.analysis.model import Quantity
from dpubench.inputs import Resolved
from dpubench.plans.load import Where
from dpubench.plans.quantities import format_bytes
from dpubench.run import session
from dpubench.run.listener import Listener
from dpubench.run.record import Head, TargetInfo, check_same_machine
from dpubench.run.work import Budget
from dpubench.studies import Request
from dpubench.studies.link import ends as link_ends
from dpubench.studies.link import protected
from dpubench.studies.link.ends import End, Ends
from dpubench.studies.link.measure import Found, Pair, tools_of, unsuitable
from dpubench.studies.link.plan import Plan
from dpubench.studies.measured.draft import WRITER, MeasuredDraft  # noqa: F401  # as every study has it
from dpubench.studies.measured.execute import MeasuredRun
from dpubench.studies.measured.model import Point
from dpubench.studies.measured.rounds import FiguresWriter
from dpubench.workers.process import StopRequest

#: The first one that a point has decides when it is known well enough.
QUANTITIES: Final = [
    Quantity("goodput_gbps", "goodput", "Gb/s", "more"),
    Quantity("rtt_p50_us", "round trip, median", "us", "less"),
    Quantity("rtt_mean_us", "round trip, mean", "us", "less"),
    Quantity("rtt_p90_us", "round trip, 90 %", "us", "less"),
    Quantity("rtt_p99_us", "round trip, 99 %", "us", "less"),
    Quantity("rtt_p999_us", "round trip, 99.9 %", "us", "less"),
    Quantity("rtt_max_us", "round trip, longest", "us", "less"),
    Quantity("sender_cpus", "busy CPUs, sender", "CPUs", "less"),
    Quantity("receiver_cpus", "busy CPUs, receiver", "CPUs", "less"),
    Quantity("both_cpus", "busy CPUs, both ends", "CPUs", "less"),
]


class Run(MeasuredRun):
    """A run of study ``link``."""

    plan: Plan

    def __init__(self, ends: Ends, *given: Any) -> None:
        super().__init__(*given)
        self._ends = ends

    def measure(self, point: str, parameters: dict[str, str], number: int) -> dict[str, float]:
        sender, receiver = (self._ends.named(parameters[side]) for side in ("from", "to"))
        pair = Pair(self.plan, sender, receiver, self.stop)
        found = self._measured(pair, parameters)
        for code, message in found.warnings.items():
            self.journal.warn({"code": code, "message": message, "point": point})
        return found.figures

    def _measured(self, pair: Pair, parameters: Mapping[str, str]) -> Found:
        test, size = parameters["test"], int(parameters.get("bytes", 0))
        if test == "throughput":
            return pair.throughput(size, int(parameters["streams"]))
        if test == "rdma":
            return pair.rdma(parameters["measure"], parameters["verb"], size)
        if test == "transfer":
            return protected.transfer(pair, parameters["protection"])
        tool = parameters["tool"]
        return pair.sockperf(size) if tool == "sockperf" else pair.qperf(size) if tool == "qperf" else protected.latency(pair, size)


class Draft(MeasuredDraft):
    """A plan of study ``link`` between its ends."""

    plan: Plan

    def __init__(self, plan: Plan, ends: Ends, points: list[Point]) -> None:
        first = ends.ends[0]
        target = TargetInfo("+".join(plan.target), "+".join(dict.fromkeys(end.target.spec for end in ends.ends)), ends.label,
                            any(end.target.times_mean_nothing for end in ends.ends))  # fmt: skip
        super().__init__(plan, target, first.present.hello, points, QUANTITIES)
        self._ends = ends

    def record(self, head: Head) -> dict[str, Any]:
        return super().record(head) | {"path": self._ends.path, "ends": link_ends.facts(self._ends)}

    def check_same(self, path: Path, record: Mapping[str, Any]) -> None:
        for end, before in zip(self._ends.ends, record["ends"], strict=True):
            # Each end has its own build: another machine runs a bundle. Runs of earlier versions tell one alone.
            own = {"machine": before["machine"], "build": before.get("build", record["build"])}
            check_same_machine(path, {**record, **own}, end.present.hello)

    def work(
        self, writer: FiguresWriter, record: dict[str, Any], files: Resolved, stop: StopRequest, display: Listener, budget: Budget
    ) -> Run:  # fmt: skip
        for what in network.sweep():
            display.note(f"removed leftovers of a killed run: {what}")
        return Run(self._ends, writer, self.plan, self.quantities, record, stop, display, budget)


def drafts(plan: Plan, where: Where, request: Request, opened: ExitStack) -> list[session.Draft]:
    """Return what ``plan`` comes to: one run, whatever the number of its ends. @raises UserError, PlanError"""
    ends = link_ends.joined(plan, where, opened)
    return [Draft(plan, ends, list(_points(plan, ends)))]


def draft_again(plan: Plan, where: Where, record: Mapping[str, Any], request: Request, opened: ExitStack) -> Draft:
    """Return what is needed to continue the run of ``record``. @raises UserError"""
    return Draft(plan, link_ends.joined(plan, where, opened), [])


def _points(plan: Plan, ends: Ends) -> Iterator[Point]:
    for pair in ends.pairs:
        for direction in plan.directions:
            sender, receiver = pair if direction == "forward" else pair[::-1]
            for parameters in _parameters(plan):
                whole = {"test": parameters["test"], "from": sender.name, "to": receiver.name, **parameters}
                name = ",".join(f"{k}={v}" for k, v in parameters.items() if k != "test")
                point = f"{whole['test']}/{sender.name}>{receiver.name}" + (f"/{name}" if name else "")
                yield Point(point, whole, unsuitable(whole) or _unavailable(whole, sender, receiver))


def _parameters(plan: Plan) -> Iterator[dict[str, str]]:
    """Yield the parameters of the points of one direction, beside its ends."""
    for test in dict.fromkeys(plan.tests):
        if test == "throughput":
            yield from ({"test": test, "bytes": str(size), "streams": str(n)} for n in plan.streams for size in plan.sizes)
        elif test == "latency":
            yield from ({"test": test, "bytes": str(size), "tool": tool} for tool in plan.latency_tools for size in plan.latency_sizes)
        elif test == "transfer":
            yield from ({"test": test, "file": format_bytes(plan.file), "protection": protection} for protection in plan.protections)
        else:
            for what in ("bandwidth", "latency"):
                sizes = plan.sizes if what == "bandwidth" else plan.latency_sizes
                yield from ({"test": test, "measure": what, "verb": verb, "bytes": str(size)} for verb in plan.verbs for size in sizes)


def _unavailable(parameters: Mapping[str, str], sender: End, receiver: End) -> str:
    """Return why a point cannot be measured between two ends; empty if it can."""
    for end in (sender, receiver):
        if parameters["test"] == "rdma" and not end.present.verbs_devices:
            return f"{end.name}: has no device for RDMA verbs (/sys/class/infiniband is empty)"
        if (name := tools_of(parameters)) and (lack := end.present.lack(name)):
            return f"{end.name}: {lack}"
    if parameters["test"] == "transfer":
        return protected.unavailable(parameters["protection"], sender, receiver)
    return ""
