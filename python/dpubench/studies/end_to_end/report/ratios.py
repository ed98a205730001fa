"""Compares placements and engines: a variant against another at the same frame size and load, and against the null workload.

Two variants of one run were measured in the same rounds. Ratios are formed round by round if both have every round, else by the medians of
independent rounds. Verdicts come from :mod:`dpubench.analysis.statistics`, under false-discovery control over all tests. A point that the client or
stalls limited says nothing of the server, and the latency of an overloaded server is the length of its queues: neither is compared.
:mod:`dpubench.studies.end_to_end.compare` compares variants of different runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpubench.analysis import statistics
from dpubench.analysis.model import Comparison, Interval
from dpubench.analysis.statistics import Difference
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PointSummary
from dpubench.studies.end_to_end.report.page import Beyond, Ratio, Variant

THROUGHPUT: Final = "throughput"
_KINDS: Final = ("NDR", "PDR", "flood", "recorded", "rate")  #: order of the rows
#: Quantity -> (figure of a point's latency, its values by round).
LATENCY: Final = {"latency p50": ("p50", "round_p50_ns"), "latency p99": ("p99", "round_p99_ns")}


@dataclass(frozen=True, slots=True)
class _Tested:
    row: Ratio
    difference: Difference  #: difference of speeds: above zero is faster


Judgeable = Ratio | _Tested


def difference(old: Sequence[float], new: Sequence[float], rounds: int) -> tuple[Difference | None, bool]:
    """Return the difference new / old of two points' values by round, and whether it was formed round by round (both have all ``rounds``)."""
    a, b = (np.asarray(values, dtype=np.float64) for values in (old, new))
    if not (a.size and b.size and np.all(np.isfinite(a)) and np.all(np.isfinite(b)) and np.all(a > 0) and np.all(b > 0)):
        return None, False
    if a.size == b.size == rounds:
        return statistics.difference_of_rounds(b / a, np.ones(a.size)), True
    return statistics.unpaired_difference(np.log(a), np.log(b)), False


def against(
    variants: Sequence[Variant],
    by_variant: Sequence[dict[tuple[str, str], PointSummary]],
    baseline: int,
    frames: Sequence[str],
    rounds: Sequence[int],
) -> list[Judgeable]:
    """Return every variant of a part against ``baseline``, with points by (frame, load). :func:`judged` gives verdicts later, over all parts."""
    rows: list[Judgeable] = []
    for index, variant in enumerate(variants):
        if index == baseline or variant.is_null or variant.run != variants[baseline].run:
            continue
        keys = sorted(by_variant[baseline], key=lambda key: (frames.index(key[0]), _KINDS.index(by_variant[baseline][key].load_kind)))
        for key in keys:
            if key in by_variant[index]:
                rows += _rows(index, by_variant[baseline][key], by_variant[index][key], rounds[variant.run])
    return rows


def across(rows: Sequence[Comparison], places: Sequence[Mapping[str, tuple[int, PointSummary]]], frames: Sequence[str]) -> list[Ratio]:
    """Return the rows of one part from the comparison of two runs. ``places``: for the old and the new run, id of a point -> (variant, point).

    An offered rate that was limited in neither run came back as it was sent, so it has no row. The null workload has none either; the reasons of the
    other rows tell how much it moved.
    """
    found: list[tuple[PointSummary, Ratio]] = []
    for row in rows:
        old, new = (places[i].get(name or "") for i, name in enumerate((row.old, row.new)))
        shown = new or old
        if shown is None or shown[1].is_null or any(side is None and name for side, name in ((old, row.old), (new, row.new))):
            continue
        points = [side[1] for side in (old, new) if side is not None]
        if points[0].load_kind == "rate" and row.ratio is not None and not any(p.limit for p in points):
            continue
        point, number = shown[1], min(len(p.round_pps) for p in points)
        against = old[0] if old is not None else -1
        found.append((point, Ratio(point.frame, point.load, THROUGHPUT, shown[0], row.ratio, row.verdict, row.reason, False, number, against)))
    found.sort(key=lambda entry: (frames.index(entry[0].frame), _KINDS.index(entry[0].load_kind)))
    return [ratio for _, ratio in found]


def _rows(index: int, old: PointSummary, new: PointSummary, rounds: int) -> list[Judgeable]:
    """Return the rows that may be compared at one frame size and load: the rate of a search or a flood, the latency of an offered rate."""
    if old.load_kind == "recorded":
        return []
    quantities = [THROUGHPUT] if old.load_kind in {"NDR", "PDR", "flood"} else list(LATENCY)
    why = _why_not(old, new)
    if why:
        return [Ratio(old.frame, old.load, quantities[-1], index, None, "not comparable", why, False, 0)]
    return [_row(index, old, new, quantity, rounds) for quantity in quantities]


def _why_not(old: PointSummary, new: PointSummary) -> str:
    """Return why two points are not compared; empty if they may be."""
    for point, who in ((new, ""), (old, "baseline: ")):
        if why := wording.why_no_statement(point):
            return f"{who}{why}"
        if old.load_kind == "rate" and point.limit:
            return f"{who}overloaded at this rate, so its latency is the length of its queues"
    return ""


def _row(index: int, old: PointSummary, new: PointSummary, quantity: str, rounds: int) -> Judgeable:
    for point, who in ((new, ""), (old, "baseline: ")):
        if quantity != THROUGHPUT and (why := point.latency_withheld.get(LATENCY[quantity][0])):
            return Ratio(old.frame, old.load, quantity, index, None, "not comparable", f"{who}{quantity} is withheld: {why}", False, 0)
    values = [p.round_pps if quantity == THROUGHPUT else getattr(p, LATENCY[quantity][1]) for p in (old, new)]
    found, paired = difference(values[0], values[1], rounds)
    number = min(len(v) for v in values)
    if found is None:
        return Ratio(old.frame, old.load, quantity, index, None, "not comparable", "fewer than two rounds have both", False, number)
    row = Ratio(old.frame, old.load, quantity, index, found.interval, "", "", paired, number)
    faster = found if quantity == THROUGHPUT else Difference(-found.log_ratio, found.error, found.freedom, -found.moved_up, -found.moved_down)
    return _Tested(row, faster)


def judged(rows: Sequence[Judgeable], min_effect: float) -> list[Ratio]:
    """Return ``rows`` with their verdicts."""
    adjusted = iter(statistics.benjamini_hochberg([row.difference.p_value for row in rows if isinstance(row, _Tested)]))
    return [_judged(row, float(next(adjusted)), min_effect) if isinstance(row, _Tested) else row for row in rows]


def _judged(tested: _Tested, adjusted_p: float, min_effect: float) -> Ratio:
    verdict = statistics.verdict(tested.difference, adjusted_p, min_effect)
    reason = ""
    if verdict == "undecided":
        far = abs(tested.difference.log_ratio) > math.log1p(min_effect)
        reason = (
            f"a difference this large arises by chance too often (p = {adjusted_p:.2g} after false-discovery control)"
            if far
            else f"the interval reaches beyond the minimum effect of {100 * min_effect:g} %"
        )
    row = tested.row
    few = f"only {row.rounds} rounds" if row.rounds < statistics.MINIMUM_ROUNDS else ""
    told = "; ".join(filter(None, [reason, few]))
    return Ratio(row.frame, row.load, row.quantity, row.variant, row.ratio, verdict, told, row.paired, row.rounds)


def beyond(point: PointSummary, null: PointSummary, rounds: int) -> tuple[Beyond | None, str]:
    """Return the cost of ``point`` beyond ``null`` at the rates that both sustain, or why it cannot be said.

    The time per packet is the busy time of the server's CPUs. The half widths of the two times add in quadrature.
    """
    for p in (point, null):
        who = "null workload" if p.is_null else p.load
        if why := wording.why_empty(p):
            return None, f"{who}: {why}"
        if not wording.says_of_the_server(p):
            return None, f"{who}: {wording.limit_text(p)}"
    if wording.proves_correctness_only(point):
        return None, "split on too few CPUs: proves correctness only"
    if point.server_cpus != null.server_cpus:
        return None, "the null workload ran on a different number of CPUs"
    found, _ = difference(null.round_pps, point.round_pps, rounds)
    rate, floor = point.throughput_pps, null.throughput_pps
    if rate is None or floor is None or not (rate.value > 0 and floor.value > 0):
        return None, "no rate was found"
    ratio = found.interval if found is not None else Interval(rate.value / floor.value, math.nan, math.nan)
    extra, why = _extra(point, null)
    return Beyond(ratio, extra, why), ""


def _extra(point: PointSummary, null: PointSummary) -> tuple[Interval | None, str]:
    """Return the time of a server CPU per packet of ``point`` less the time of ``null``, or why it is not known."""
    for p in (point, null):
        if p.server_cpu_ns_per_packet is None:
            return None, f"{'null workload' if p.is_null else p.load}: {p.server_cpu_withheld or 'its CPU time was not measured'}"
    times = [p.server_cpu_ns_per_packet for p in (point, null) if p.server_cpu_ns_per_packet is not None]
    extra = times[0].value - times[1].value
    half = math.hypot(*((t.high - t.low) / 2 for t in times))
    return Interval(extra, extra - half, extra + half), ""
