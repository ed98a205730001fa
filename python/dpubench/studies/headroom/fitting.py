"""Operators of a run of study ``operators`` set against what is left of the CPU, and their check inside the transmit loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from dpubench import studies
from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.analysis.naming import parameters_text
from dpubench.catalog import inputs_of
from dpubench.errors import UserError
from dpubench.storage.runs import find_run

#: Properties of a machine that both runs must share.
_OF_MACHINE: Final = ("host", "cpu", "architecture", "cpus_online")

Verdict = Literal["fits", "does not fit", "undecided"]


@dataclass(frozen=True)
class Candidate:
    """The fastest engine of an operator on one message, on one thread."""

    operator: str
    engine: str
    params: dict[str, str]
    words: str  #: the parameters for people
    size: int | None  #: bytes of a message; None: the operator has no message
    ns: float  #: CPU time of an operation
    low_ns: float
    high_ns: float
    inputs: list[str]  #: kinds of input that it reads

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Candidate:
        """Return the candidate that :meth:`record` wrote. @raises TypeError"""
        return cls(**record)


def candidates(run: str, results: Path, target: str, machine: Mapping[str, Any]) -> tuple[str, list[Candidate]]:
    """Return the name of the run of study operators, and its fastest engines on one thread of ``target``, whose machine is ``machine``.

    @raises UserError it is of another study or machine, was not measured on the target, or has no such point
    """
    found = find_run(run, results)
    study = studies.of_run(found)
    if study.name != "operators":
        raise UserError(f"operators={run}: is a run of study {study.name}: name one of study operators")
    summary = next((one for one in study.summaries(found.path) if one.target == target and not one.times_mean_nothing), None)
    if summary is None:
        raise UserError(f"operators={run}: was not measured on target {target}: `dpubench run operators --target {target}`")
    there = summary.machine
    differs = [f"{key} '{there.get(key)}', here '{machine.get(key)}'" for key in _OF_MACHINE if there.get(key) != machine.get(key)]
    if differs:
        raise UserError(f"operators={run}: was measured on another machine ({'; '.join(differs)}): measure the operators here")
    best = [_candidate(point, summary.operators.get(point.operator, {})) for point in summary.points if _is_able(point)]
    if not best:
        raise UserError(f"operators={run}: has no operator with an interval on one thread: give it more rounds (`dpubench resume {run}`)")
    return summary.name, best


def _is_able(point: Any) -> bool:
    known = point.ns_per_op is not None and point.ns_per_op.low == point.ns_per_op.low
    return bool(known and point.is_best and point.threads == 1 and not point.build and not point.program and not point.in_flight)


def _candidate(point: Any, entry: Mapping[str, Any]) -> Candidate:
    time = point.ns_per_op
    reads = sorted(inputs_of(dict(entry), point.params)) if entry else []
    words = parameters_text(point.params, entry)
    return Candidate(point.operator, point.engine, dict(point.params), words, point.size_bytes, time.value, time.low, time.high, reads)


def for_packets(found: Iterable[Candidate], size: int) -> list[Candidate]:
    """Return for each operator and mode the candidate whose message is the largest that a packet of ``size`` bytes holds; else its smallest."""
    best: dict[tuple[str, tuple[tuple[str, str], ...]], Candidate] = {}
    for one in found:
        mode = (one.operator, tuple(sorted((k, v) for k, v in one.params.items() if k != "size")))
        known = best.get(mode)
        if known is None or _nearer(one, known, size):
            best[mode] = one
    return list(best.values())


def _nearer(one: Candidate, known: Candidate, size: int) -> bool:
    """Return whether ``one`` stands for packets of ``size`` bytes better than ``known``; of two footprints the slower one does."""
    mine, other = one.size or 0, known.size or 0
    if mine == other:
        return one.ns > known.ns
    if mine <= size and other <= size:
        return mine > other
    return mine < other


def verdict(one: Candidate, left_ns: Interval) -> Verdict:
    """Return whether an operator fits what is left per packet: where both intervals lie apart, else undecided."""
    if not (left_ns.low == left_ns.low and left_ns.high == left_ns.high):
        return "undecided"
    return "fits" if one.high_ns < left_ns.low else "does not fit" if one.low_ns > left_ns.high else "undecided"


def predicted_gbps(size: int, threads: int, burst: int, burst_ns: float, peak_gbps: float, operator_ns: float) -> float:
    """Return the rate in Gb/s with an operator after each burst: that of the threads, or the highest rate where the device sets it."""
    period_ns = burst_ns + burst * operator_ns
    return min(peak_gbps, threads * burst / period_ns * size * 8)


def to_check(found: Sequence[tuple[Candidate, Verdict]]) -> list[Candidate]:
    """Return the operators whose rates in the transmit loop are measured: the largest that fits, and the smallest that does not."""
    fits = [one for one, said in found if said == "fits"]
    others = [one for one, said in found if said != "fits"]
    return [*([max(fits, key=lambda c: c.ns)] if fits else []), *([min(others, key=lambda c: c.ns)] if others else [])]


def interval_of(values: Sequence[float]) -> Interval:
    """Return the interval of a rate over processes."""
    return statistics.interval_of_rounds(values)
