"""A check that operators have enough distinct messages: rates with twice as many, on the same messages in the same memory (``repeats.cpp``).

A processor that has seen a few messages a thousand times predicts their branches, and an engine is then faster than on traffic.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.analysis.statistics import FloatArray
from dpubench.studies.operators.configuration import Configuration

from benchmarks import common
from benchmarks.bare import SUFFIX, variants
from benchmarks.common import Bench, Claim, Group, Measured, Verdict

#: Largest change of a rate.
MOST: Final = 0.02
#: *Undecided* is an answer for a point if its interval is at least this narrow and holds 1, and its neighbouring windows scatter by at least this
#: much (a standard deviation). The speed of memory changes from window to window where others use the machine, and no number of rounds that fits in
#: a bench averages this out.
KNOWN_TO, SCATTER = 0.06, 0.05
#: Suffix in repeats.cpp of the point with twice as many messages.
TWICE: Final = " twice"
#: Least cycles; repeats.cpp adds more where windows are short.
CYCLES: Final = 1
#: Numbers of rounds at which a point is judged; it gets no further rounds once it is decided. With many messages and long windows, two rounds give a
#: ratio to half a per cent.
LOOKS: Final = (2, 3, 4, 6, 8, 12, 18)
#: Factors on the width of an interval at the first look and at later ones, which pay for looking so often. A change of exactly the limit passes in
#: 6 % of the cases, as often as with looks after 3, 6, 9, 12, 15 and 18 rounds and no factor, and one of 2.5 % in 0.3 % (simulated, rounds that
#: scatter by 0.6 %).
WIDER_FIRST, WIDER = 1.5, 1.1
#: Looks of a quick bench, and at a figure for orientation, which nothing has to decide.
FEW_LOOKS: Final = (3,)
#: With this many messages or fewer, an operator declares that nothing depends on the contents (docs/adding-an-operator.md): one size is enough.
FEW: Final = 256


def within(interval: Interval) -> Verdict:
    """Return *MISSED* if the whole interval is beyond the limit, *undecided* if a part of it is."""
    if not math.isfinite(interval.value):
        return "not run"
    low, high = 1 - MOST, 1 / (1 - MOST)
    if interval.high < low or interval.low > high:
        return "MISSED"
    return "pass" if low <= interval.low and interval.high <= high else "undecided"


def groups_of(bench: Bench, one: Configuration) -> Iterator[Group]:
    """Yield a group with every engine of a configuration per size (default; where messages matter, also the smallest published)."""
    engines = [e for e in one.candidates if not e.endswith(SUFFIX)]
    few = bench.catalog.operator(one.operator)["distinct_messages"] <= FEW
    for params in [one.params] if few else variants(bench, one):
        points = {f"{one.operator}/{common.label(params)}/{e}": e for e in engines}
        yield common.group(one.operator, params, points, burst=one.burst, footprint="stream")


def measure(bench: Bench) -> Iterator[Claim]:
    """Yield a claim per operator: the point that differs most."""
    by_operator: dict[str, list[Group]] = defaultdict(list)
    for one in bench.configurations:
        by_operator[one.operator] += groups_of(bench, one)
    carry_out = common.loops(bench, "repeats", [bench.programs / "engines"])
    for operator, groups in by_operator.items():
        measured, keyed = Measured(), bench.catalog.operator(operator)["keyed"]
        still, rounds = groups, 0
        for look in FEW_LOOKS if bench.quick or keyed else LOOKS:
            common.measure_with(carry_out, bench, still, range(rounds, look), CYCLES, measured)
            rounds = look
            still = [of for group in still if (of := _still_open(group, measured))]
        yield _claim(operator, groups, measured, keyed=keyed)


def _still_open(group: Group, measured: Measured) -> Group | None:
    """Return ``group`` with the points that further rounds may decide alone, because a round of deflate takes minutes; None without any."""
    found = {p["id"]: (ratio, _ratios(measured, p["id"])) for p in group["points"] if within(ratio := _ratio(measured, p["id"])) == "undecided"}
    if not found or excuse_of(found):
        return None
    return {**group, "points": [p for p in group["points"] if p["id"] in found]}


def _claim(operator: str, groups: Sequence[Group], measured: Measured, *, keyed: bool) -> Claim:
    """Return the claim on the points of an operator.

    For an operator with tables the figure is for orientation: twice as many keys touch more of the table. That is a larger working set, which every
    point names (distinct_keys, state_level), and no number of keys would be enough.
    """
    claim = f"{operator}: rate with twice as many distinct messages over that with as many as it has"
    limit = "" if keyed else f"{1 - MOST:g} to {1 / (1 - MOST):.3g}"
    names = [p["id"] for group in groups for p in group["points"]]
    seen = {name: ratio for name in names if math.isfinite((ratio := _ratio(measured, name)).value)}
    broken = {name: reason for name in [operator, *(group["id"] for group in groups), *names] if (reason := measured.failures.get(name))}
    if broken or not seen:
        name, reason = next(iter(broken.items()), ("", "no window was measured"))
        return Claim("distinct", claim, f"{name} {reason}".strip(), limit, "not run", {"failures": broken})
    verdicts = {name: within(ratio) for name, ratio in seen.items()}
    worst = common.worst(verdicts.values())
    most = max((name for name in seen if keyed or verdicts[name] == worst), key=lambda name: abs(math.log(seen[name].value)))
    where = f", furthest of {len(seen)}: {most.split('/', 1)[1]}" if len(seen) > 1 else ""
    details = {"ratios": {name: {"ratio": r.value, "low": r.low, "high": r.high} for name, r in seen.items()}}
    if keyed:
        where += "; more keys touch more of its table"
    excuse = "" if keyed else excuse_of({name: (seen[name], _ratios(measured, name)) for name in seen if verdicts[name] == "undecided"})
    return Claim("distinct", claim, common.span(seen[most]) + where, limit, "" if keyed else worst, details, excuse)


def excuse_of(undecided: Mapping[str, tuple[Interval, Sequence[FloatArray]]]) -> str:
    """Return why *undecided* is an answer for these points, given their ratios of each round's cycles; empty where it is none."""
    scatters = {name: _scatter(rounds) for name, (_, rounds) in undecided.items()}
    for name, (interval, _) in undecided.items():
        if not (1 - KNOWN_TO <= interval.low <= 1 <= interval.high <= 1 / (1 - KNOWN_TO) and scatters[name] >= SCATTER):
            return ""
    if not undecided:
        return ""
    name = max(scatters, key=lambda name: scatters[name])
    return f"neighbouring windows of {name} scatter by {scatters[name]:.0%}; the interval holds 1 and lies within {KNOWN_TO:.0%} of it"


def _scatter(rounds: Sequence[FloatArray]) -> float:
    """Return the standard deviation of the logarithms of a round's ratios, pooled over rounds; 0 where no round has two."""
    variances = [float(np.var(np.log(ratios), ddof=1)) for ratios in rounds if len(ratios) > 1]
    return math.sqrt(np.mean(variances)) if variances else 0.0


def _ratio(measured: Measured, point: str) -> Interval:
    ratios = _ratios(measured, point)
    return looked_at(statistics.ratio_interval(ratios), len(ratios))


def looked_at(interval: Interval, rounds: int) -> Interval:
    """Return the interval of a point that is judged after ``rounds`` rounds, so wide that looking after fewer of them is paid for."""
    factor = WIDER_FIRST if rounds <= LOOKS[0] else WIDER
    low, high = (interval.value * (bound / interval.value) ** factor for bound in (interval.low, interval.high))
    return Interval(interval.value, low, high)


def _ratios(measured: Measured, point: str) -> list[FloatArray]:
    return common.ratios(measured.rates, point, point + TWICE)
