"""Whether the operators' distinct messages are enough: rates with twice as many, side by side in the same processes.

A processor that has seen the same few messages a thousand times predicts their branches, and an engine is faster than on traffic. Both sides have
the same number of buffers and bytes, so that they differ in what repeats, not in which cache it lies.
"""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from dpubench import targets
from dpubench.results import statistics
from dpubench.results.model import Interval
from dpubench.runner.model import Configuration
from dpubench.workers.process import Worker, WorkerFault

from benchmarks import common
from benchmarks.bare import SUFFIX
from benchmarks.common import Bench, Claim, Event, Group, Measured, Verdict

#: A rate may change by so much.
MOST: Final = 0.02
TWICE: Final = " twice"
CYCLES: Final = 8
#: Rounds added for points whose interval reaches beyond the limit while their value does not, or the other way round.
MORE_ROUNDS: Final = 6
#: Configurations that one process holds prepared: tables of look-ups are large.
GROUPS: Final = 2


def within(interval: Interval) -> Verdict:
    """*MISSED* only where the whole interval is beyond the limit; *undecided* where a part of it is."""
    if not math.isfinite(interval.value):
        return "not run"
    low, high = 1 - MOST, 1 / (1 - MOST)
    if interval.high < low or interval.low > high:
        return "MISSED"
    return "pass" if low <= interval.low and interval.high <= high else "undecided"


def pairs(bench: Bench, one: Configuration) -> Iterator[list[Group]]:
    """Yield, per size of a configuration (default, smallest published), the groups with the operator's number of messages and with twice as many."""
    engines = [e for e in one.candidates if not e.endswith(SUFFIX)]
    parameters = bench.catalog.operator(one.operator)["parameters"]
    least = next((p["values"][0] for p in parameters if p["name"] == "size" and p["values"]), None)
    sizes = [one.params] + ([one.params | {"size": least}] if least not in (None, one.params.get("size")) and not bench.quick else [])
    for params in sizes:
        key = f"{one.operator}/{common.label(params)}"
        found = []
        for suffix, factor in (("", 1), (TWICE, 2)):
            points = {f"{key}/{e}{suffix}": e for e in engines}
            group = common.group(one.operator, params, points, name=key + suffix, burst=one.burst, footprint="stream")
            found.append(group | {"distinct_factor": factor, "ring_factor": 2})
        yield found


def measure(bench: Bench) -> Iterator[Claim]:
    """A line per operator: the point that differs most."""
    by_operator: dict[str, list[list[Group]]] = defaultdict(list)
    for one in bench.configurations:
        by_operator[one.operator] += pairs(bench, one)
    cycles = 2 if bench.quick else CYCLES
    for operator, groups in by_operator.items():
        measured = Measured()
        _rounds(bench, groups, range(3 if bench.quick else bench.rounds), cycles, measured)
        open_ones = [pair for pair in groups if any(within(_ratio(measured, p["id"])) == "undecided" for p in pair[0]["points"])]
        if open_ones and not bench.quick:
            _rounds(bench, open_ones, range(bench.rounds, bench.rounds + MORE_ROUNDS), cycles, measured)
        yield _claim(operator, groups, measured)


def _claim(operator: str, groups: Sequence[list[Group]], measured: Measured) -> Claim:
    claim, limit = f"{operator}: rate with twice as many distinct messages over that with as many as it has", f"{1 - MOST:g} to {1 / (1 - MOST):.3g}"
    names = [p["id"] for pair in groups for p in pair[0]["points"]]
    seen = {name: ratio for name in names if math.isfinite((ratio := _ratio(measured, name)).value)}
    broken = {name: reason for name in names if (reason := measured.failures.get(name) or measured.failures.get(name + TWICE))}
    if broken or not seen:
        name, reason = next(iter(broken.items()), ("", next(iter(measured.failures.values()), "no window was measured")))
        return Claim("distinct", claim, f"{name} {reason}".strip(), limit, "not run", {"failures": measured.failures})
    verdicts = {name: within(ratio) for name, ratio in seen.items()}
    worst = common.worst(verdicts.values())
    most = max((name for name in seen if verdicts[name] == worst), key=lambda name: abs(math.log(seen[name].value)))
    where = f", furthest of {len(seen)}: {most.split('/', 1)[1]}" if len(seen) > 1 else ""
    details = {"ratios": {name: {"ratio": r.value, "low": r.low, "high": r.high} for name, r in seen.items()}}
    return Claim("distinct", claim, common.span(seen[most]) + where, limit, worst, details)


def _ratio(measured: Measured, point: str) -> Interval:
    return statistics.ratio_interval(common.ratios(measured.rates, point, point + TWICE))


def _rounds(bench: Bench, groups: Sequence[list[Group]], rounds: range, cycles: int, measured: Measured) -> None:
    for number in rounds:
        for at in range(0, len(groups), GROUPS):
            try:
                _round(bench, groups[at : at + GROUPS], number, cycles, measured)
            except WorkerFault as fault:
                measured.failures[groups[at][0]["operator"]] = fault.reason
                return


def _round(bench: Bench, groups: Sequence[list[Group]], number: int, cycles: int, measured: Measured) -> None:
    """A fresh process; of each point N, 2N, 2N, N in each cycle."""
    cpus = sorted(os.sched_getaffinity(0))
    job = json.loads(common.job(bench, [group for pair in groups for group in pair], number, cycles, [cpus[-1]])) | {"control": "stepped"}
    with Worker(targets.find("local"), str(bench.program), [], silence_s=common.SILENCE_S, limit_s=common.LIMIT_S) as worker:
        worker.send(json.dumps(job).encode() + b"\n")
        measured.take(_until(worker, "ready"), number)
        for name in (p["id"] for pair in groups for p in pair[0]["points"]):
            for cycle in range(1, cycles + 1):
                for half, order in ((0, (name, name + TWICE)), (1, (name + TWICE, name))):
                    for point in order:
                        if measured.failures.keys() & {name, name + TWICE}:
                            break
                        worker.send(json.dumps({"window": point}).encode() + b"\n")
                        measured.take([event | {"cycle": cycle, "half": half} for event in _until(worker, "window")], number)
        worker.send(b'{"end": true}\n', last=True)
        while worker.next_event() is not None:
            pass


def _until(worker: Worker, kind: str) -> list[Event]:
    """Events up to the one of ``kind``, or up to a failure where a window was asked for. @raises WorkerFault when the worker ends before"""
    events = []
    while (event := worker.next_event()) is not None:
        events.append(event)
        if event["event"] == kind or (event["event"] == "failure" and kind == "window"):
            return events
    raise WorkerFault(f"it ended without a {kind} event", "crash")
