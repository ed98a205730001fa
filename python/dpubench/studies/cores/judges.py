"""The judgement of each claim of Crowley et al. 1999: functions from a grid of simulations to a verdict and the figure behind it.

A claim may have several parts. It holds if all parts hold, and holds partly if some do. The criteria were fixed before any simulation.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from dpubench.analysis.digits import significant
from dpubench.analysis.model import Interval
from dpubench.studies.cores import crowley
from dpubench.studies.cores.grid import LOOKUP, MD5, ROLES, Grid, Missing
from dpubench.studies.cores.model import PointSummary
from dpubench.studies.cores.plan import BASE
from dpubench.studies.cores.verdicts import Count, Found, Part, Truth, every, of_parts, within
from dpubench.studies.modelled.versus import bounds

#: Deviations from the claimed figure that count as agreement: of what is exact in the paper, and of what is "about" or "linear".
CLOSE: Final = 0.05
ABOUT: Final = 0.10
#: A gain below this share does not count, as in the comparison of measured runs.
GAIN: Final = 0.03
#: A count holds if it differs by at most this many configurations, because code, compiler and processor are not the paper's.
COUNT_SLACK: Final = 2
#: "Nearly every" and "most" of the configurations.
NEARLY_ALL: Final = 0.9
MOST: Final = 0.5
_32K: Final = 32 << 10
NAMES: Final = {LOOKUP: "lookup", MD5: "MD5"}
_ORGANISATIONS: Final = {"superscalar": "superscalar", "fgmt": "FGMT", "smt": "SMT"}


# --------------------------------------------------------------------------- caches and clock


def few_misses(grid: Grid) -> Found:
    """Judge the miss ratios of both first-level caches of 32 KiB and more, at every simulated size and associativity."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    roles = {kernel: role for role, kernel in grid.kernels.items()}
    shapes = set()
    for point in grid.points:
        if point.kernel not in roles or point.organisation != "superscalar" or not _only_caches_differ(point, grid.variant):
            continue
        for which, name in (("instructions", point.instruction_cache), ("data", point.data_cache)):
            cache = point.cache(name)
            if cache is not None and cache.size_bytes >= _32K and cache.miss_ratio is not None:
                per_1000 = 1000 * cache.misses / point.instructions if point.instructions else 0.0
                found.setdefault((roles[point.kernel], which), []).append((cache.miss_ratio, per_1000))
                shapes.add((cache.size_bytes >> 10, cache.ways))
    if {role for role, _ in found} != set(ROLES):
        raise Missing("both kernels with first-level caches of 32 KiB")
    parts, told = [], []
    for (role, which), misses in sorted(found.items()):
        ratios, counts = zip(*misses, strict=True)
        parts.append(Part(f"{NAMES[role]}'s {which}", max(ratios) < 0.01))
        told.append(f"{NAMES[role]} {which} {_span([100 * r for r in ratios])} % of accesses ({_span(counts)} per 1000 instructions)")
    sizes, ways = sorted({size for size, _ in shapes}), sorted({way for _, way in shapes})
    where = f"{' and '.join(map(str, sizes))} KiB, {', '.join(map(str, ways))} way{'s' * (ways != [1])}"
    return of_parts(parts, f"{'; '.join(told)}; {where}")


def linear_in_clock(grid: Grid) -> Found:
    """Judge the ratio of rates over the ratio of clocks, between the lowest and the highest clock of every series."""
    parts, shares = [], []
    for organisation, word in _ORGANISATIONS.items():
        for role in ROLES:
            clocks = grid.clocks(role, organisation)
            if len(clocks) < 2:
                raise Missing(f"{role} on {organisation} at two clocks")
            low, high = clocks[0], clocks[-1]
            own = []
            for step in [s for s in grid.steps(role, organisation, high) if s in grid.steps(role, organisation, low)]:
                ratio = grid.ratio(role, (organisation, step, low), (organisation, step, high))
                own.append(_scaled(ratio, low / high))
                shares.append((own[-1].value, f"{NAMES[role]}, {word}, {step}"))
            parts.append(Part(f"{NAMES[role]} on {word}", every([within(share, 1 - CLOSE, 1 + CLOSE) for share in own])))
    least, where = min(shares)
    median = statistics.median(share for share, _ in shares)
    return of_parts(parts, f"median of {len(shares)} series: {_percent(median)} of proportional; lowest: {_percent(least)} ({where})")


# --------------------------------------------------------------------------- unit sets


def gains_of_lookup(grid: Grid) -> Found:
    """Judge with how many additional unit sets lookup gains, and whether it gains less than linearly."""
    last, low, high, told = _gaining(grid, LOOKUP)
    if low != high:
        return Found("not decidable", told, f"the intervals of the samples allow {low - 1} to {high - 1} additional sets")
    claimed = crowley.ADDITIONAL_SETS[LOOKUP]
    less = every(_sublinear(grid, last))
    if last - 1 == claimed and less is None:
        return Found("not decidable", told, "the intervals of the samples are too wide to tell whether it gains less than linearly")
    if last - 1 == claimed and less:
        return Found("holds", told)
    if last - 1 >= 2:
        return Found("partly", told, f"holds: it gains with {_first(min(last - 1, claimed))}; does not hold: {_beyond(last - 1, claimed)}")
    return Found("does not hold", told)


def gains_of_md5(grid: Grid) -> Found:
    """Judge after how many additional unit sets MD5 stagnates."""
    last, low, high, told = _gaining(grid, MD5)
    if low != high:
        return Found("not decidable", told, f"the intervals of the samples allow {low - 1} to {high - 1} additional sets")
    claimed = crowley.ADDITIONAL_SETS[MD5]
    if last - 1 == claimed:
        return Found("holds", told)
    if last - 1 < claimed:
        stops = "from the first" if last == 1 else f"after {last - 1} additional set{'s' * (last > 2)}"
        return Found("partly", told, f"holds: it stagnates; does not hold: it does so {stops}, not after {claimed}")
    return Found("does not hold", told)


def parallelism(grid: Grid) -> Found:
    """Judge the ratio of the numbers of additional unit sets with which both kernels gain. Beside it stands the ratio in instructions per cycle."""
    found = {role: _gaining(grid, role) for role in ROLES}
    clock = grid.clocks(LOOKUP, "superscalar")[-1]
    lookup, md5 = (found[role][0] - 1 for role in ROLES)
    fast, slow = (grid.point(role, "superscalar", 7, clock).ipc for role in ROLES)
    told = f"{_sets(lookup)} against {md5}"
    if fast and slow:
        told += f"; in instructions per cycle {significant(fast, 3)} against {significant(slow, 3)}, {significant(fast / slow, 3)} times"
    if any(low != high for _, low, high, _ in found.values()):
        return Found("not decidable", told, "the intervals of the samples are too wide for the numbers of sets")
    ratio = lookup / md5 if md5 else float("inf") if lookup else 0.0
    if 2.5 <= ratio <= 3.2:
        return Found("holds", told)
    if ratio > 1:
        return Found("partly", told, "holds: lookup gains with more additional sets than MD5; does not hold: nearly three times as many")
    return Found("does not hold", told)


# --------------------------------------------------------------------------- lines


def lookup_lines_superscalar(grid: Grid) -> Found:
    """Judge how many superscalar configurations sustain lookup at 1 and at 10 Gb/s."""
    points = _whole(grid, LOOKUP, "superscalar")
    slow, fast = (grid.sustained(points, LOOKUP, line) for line in (1, 10))
    parts = [Part("nearly every one sustains 1 Gb/s", slow.within(NEARLY_ALL * slow.of)), Part("none sustains 10 Gb/s", fast.within(0, 0))]
    return of_parts(parts, f"{slow} superscalar configurations sustain 1 Gb/s, {fast} 10 Gb/s ({_frame(grid, LOOKUP)})")


def md5_lines_superscalar(grid: Grid) -> Found:
    """Judge the least clock for MD5 at 100 Mb/s with one unit set, and how many superscalar configurations sustain 1 Gb/s."""
    points = _whole(grid, MD5, "superscalar")
    ones = [(clock, grid.sustained([grid.point(MD5, "superscalar", 1, clock)], MD5, 0.1)) for clock in crowley.CLOCKS_MHZ]
    enough = [clock for clock, count in ones if count.certain]
    fast = grid.sustained(points, MD5, 1)
    parts = [
        Part("one unit set at 100 MHz does not sustain 100 Mb/s", ones[0][1].within(0, 0)),
        Part("one unit set at 200 MHz sustains 100 Mb/s", ones[1][1].within(1)),
        Part("none sustains 1 Gb/s", fast.within(0, 0)),
    ]
    least = f"from {enough[0]:g} MHz on" if enough else "at no clock"
    return of_parts(parts, f"one unit set sustains 100 Mb/s {least}; {fast} superscalar configurations sustain 1 Gb/s ({_frame(grid, MD5)})")


def lookup_lines_smt(grid: Grid) -> Found:
    """Judge how many SMT configurations sustain lookup at 1 and at 10 Gb/s."""
    return _smt_lines(grid, LOOKUP, (1, "1 Gb/s"), (10, "10 Gb/s"), 13)


def md5_lines_smt(grid: Grid) -> Found:
    """Judge how many SMT configurations sustain MD5 at 100 Mb/s and at 1 Gb/s."""
    return _smt_lines(grid, MD5, (0.1, "100 Mb/s"), (1, "1 Gb/s"), 11)


def _smt_lines(grid: Grid, role: str, low: tuple[float, str], high: tuple[float, str], claimed: int) -> Found:
    points = _whole(grid, role, "smt")
    most, counted = (grid.sustained(points, role, line) for line, _ in (low, high))
    parts = [
        Part(f"most sustain {low[1]}", most.within(MOST * most.of + 0.5)),
        Part(f"{claimed} sustain {high[1]}", counted.within(claimed - COUNT_SLACK, claimed + COUNT_SLACK)),
    ]
    return of_parts(parts, f"{most} SMT configurations sustain {low[1]}, {counted} {high[1]} ({_frame(grid, role)})")


def fgmt_lines(grid: Grid) -> Found:
    """Judge the numbers of FGMT configurations that sustain each line against those of superscalar ones."""
    parts, told = [], []
    for role, line, word in ((LOOKUP, 1, "1 Gb/s"), (LOOKUP, 10, "10 Gb/s"), (MD5, 0.1, "100 Mb/s"), (MD5, 1, "1 Gb/s")):
        one, other = (grid.sustained(_whole(grid, role, organisation), role, line) for organisation in ("fgmt", "superscalar"))
        parts.append(Part(f"{NAMES[role]} at {word}", _as_many(one, other)))
        told.append(f"{NAMES[role]} at {word}: {one} against {other}")
    return of_parts(parts, f"FGMT against superscalar: {'; '.join(told)} ({_frame(grid, LOOKUP)}, {_frame(grid, MD5)})")


# --------------------------------------------------------------------------- FGMT


def fgmt_lookup(grid: Grid) -> Found:
    """Judge whether FGMT speeds lookup up, and only slightly."""
    ratios = list(_fgmt_ratios(grid, LOOKUP))
    median = statistics.median(ratio.value for ratio, _ in ratios)
    slightly = every([within(ratio, 0, 1 + ABOUT) for ratio, _ in ratios])
    parts = [Part("it improves in the median", median > 1), Part(f"by no more than {_percent(ABOUT)} anywhere", slightly)]
    return of_parts(parts, _ratios_told(ratios))


def fgmt_md5(grid: Grid) -> Found:
    """Judge whether FGMT leaves MD5 unchanged."""
    ratios = list(_fgmt_ratios(grid, MD5))
    close = every([within(ratio, 1 - CLOSE, 1 + CLOSE) for ratio, _ in ratios])
    if close is False:
        median = statistics.median(ratio.value for ratio, _ in ratios)
        return of_parts(
            [Part("unchanged in the median", 1 - CLOSE <= median <= 1 + CLOSE), Part("unchanged everywhere", False)], _ratios_told(ratios)
        )
    return of_parts([Part("unchanged everywhere", close)], _ratios_told(ratios))


def fgmt_why(grid: Grid) -> Found:
    """Judge the reason for the small gains of FGMT: unused issue slots, and MD5's operations of more than a few cycles."""
    unused, slow = {}, {}
    for role in ROLES:
        clock = grid.clocks(role, "fgmt")[-1]
        point = grid.point(role, "fgmt", 7, clock)
        if point.ipc is None or not point.kinds or not grid.latencies:
            raise Missing(f"the kinds of instructions of {role}")
        unused[role] = 1 - point.ipc / (2 * point.step)
        slow[role] = sum(share for kind, share in point.kinds.items() if grid.latencies.get(kind, 1) > 1)
    parts = [
        Part("most issue slots stay unused", all(share > MOST for share in unused.values())),
        Part("MD5 has more operations of several cycles than lookup", slow[MD5] > slow[LOOKUP]),
    ]
    idle = ", ".join(f"{NAMES[role]} {_percent(share)}" for role, share in unused.items())
    long = ", ".join(f"{NAMES[role]} {100 * share:.1f} %" for role, share in slow.items())
    return of_parts(parts, f"unused issue slots of 7 contexts with a unit set each: {idle}; instructions of more than one cycle: {long}")


def _fgmt_ratios(grid: Grid, role: str) -> Iterator[tuple[Interval, str]]:
    """Yield the ratio of FGMT to superscalar with as many unit sets as contexts. One context is the same processor, and left out."""
    found = False
    for clock in [c for c in grid.clocks(role, "fgmt") if c in grid.clocks(role, "superscalar")]:
        for step in [s for s in grid.steps(role, "fgmt", clock) if s > 1 and s in grid.steps(role, "superscalar", clock)]:
            found = True
            yield grid.ratio(role, ("superscalar", step, clock), ("fgmt", step, clock)), f"{step} at {clock:g} MHz"
    if not found:
        raise Missing(f"{role} on fgmt and superscalar with the same number of unit sets at the same clock")


def _ratios_told(ratios: Sequence[tuple[Interval, str]]) -> str:
    values = sorted((ratio.value, where) for ratio, where in ratios)
    (least, at_least), (most, at_most) = values[0], values[-1]
    median = statistics.median(value for value, _ in values)
    return f"{significant(median, 3)} times in the median, from {significant(least, 3)} ({at_least}) to {significant(most, 3)} ({at_most})"


# --------------------------------------------------------------------------- SMT


def smt_linear(grid: Grid) -> Found:
    """Judge the rate with n contexts over n times the rate with one context."""
    parts, shares = [], []
    for role in ROLES:
        own = []
        for clock in grid.clocks(role, "smt"):
            steps = grid.steps(role, "smt", clock)
            if steps[0] == 1:
                own += [(_scaled(grid.ratio(role, ("smt", 1, clock), ("smt", n, clock)), 1 / n), n, clock) for n in steps[1:]]
        if not own:
            raise Missing(f"{role} on smt with one context and with several, at one clock")
        parts.append(Part(NAMES[role], every([within(share, 1 - ABOUT, 1 + ABOUT) for share, _, _ in own])))
        shares += [(share.value, f"{NAMES[role]}, {n} contexts at {clock:g} MHz") for share, n, clock in own]
    least, where = min(shares)
    median = statistics.median(share for share, _ in shares)
    return of_parts(parts, f"median: {_percent(median)} of proportional; lowest: {_percent(least)} ({where})")


def contexts_for_clock(grid: Grid) -> Found:
    """Judge MD5's rate of 4 contexts at 500 MHz over its rate of 7 contexts at 300 MHz."""
    ratio = grid.ratio(MD5, ("smt", 7, 300), ("smt", 4, 500))
    return of_parts([Part("about as fast", within(ratio, 1 - ABOUT, 1 + ABOUT))], f"MD5 {significant(ratio.value, 3)} times")


def conclusion(grid: Grid) -> Found:
    """Judge how much of seven times the rate of one each organisation gives with seven, at the highest clock."""
    parts, told = [], []
    for organisation, word in _ORGANISATIONS.items():
        gains = {role: grid.ratio(role, (organisation, 1, clock), (organisation, 7, clock))
                 for role in ROLES for clock in [grid.clocks(role, organisation)[-1]]}  # fmt: skip
        for role, gain in gains.items():
            much = within(gain, 7 * MOST)
            wanted = organisation == "smt"
            parts.append(Part(f"{word} {'exploits' if wanted else 'does not exploit'} it with {NAMES[role]}", much if wanted else _not(much)))
        told.append(f"{word} " + ", ".join(f"{NAMES[role]} {significant(gain.value, 3)} times" for role, gain in gains.items()))
    return of_parts(parts, f"seven unit sets or contexts against one: {'; '.join(told)}")


# --------------------------------------------------------------------------- shared helpers


def _whole(grid: Grid, role: str, organisation: str) -> list[PointSummary]:
    """Return the paper's configurations of an organisation: 1 to 7 at 100 to 500 MHz. @raises Missing if one was not simulated"""
    return [grid.point(role, organisation, step, clock) for clock in crowley.CLOCKS_MHZ for step in crowley.STEPS]


def _gaining(grid: Grid, role: str) -> tuple[int, int, int, str]:
    """Return the unit sets up to which each further one gains: the number, its least and its most by the intervals; and the gains in words."""
    clock = grid.clocks(role, "superscalar")[-1]
    if [s for s in grid.steps(role, "superscalar", clock) if s in crowley.STEPS] != list(crowley.STEPS):
        raise Missing(f"{role} with 1 to 7 unit sets at one clock")
    ratios = [grid.ratio(role, ("superscalar", step - 1, clock), ("superscalar", step, clock)) for step in list(crowley.STEPS)[1:]]

    def last(gains: Sequence[float]) -> int:
        return next((i for i, gain in enumerate(gains, 1) if gain < 1 + GAIN), 7)

    values, lows, highs = [r.value for r in ratios], [bounds(r)[0] for r in ratios], [bounds(r)[1] for r in ratios]
    words = ", ".join(f"{100 * (value - 1):+.1f} %" for value in values)
    told = f"{NAMES[role]} gains with {_sets(last(values) - 1)} ({words} for each further set at {clock:g} MHz)"
    return last(values), last(lows), last(highs), told


def _sublinear(grid: Grid, last: int) -> list[Truth]:
    clock = grid.clocks(LOOKUP, "superscalar")[-1]
    ratios = ((grid.ratio(LOOKUP, ("superscalar", 1, clock), ("superscalar", step, clock)), step) for step in range(2, last + 1))
    return [within(ratio, 0, math.nextafter(step, 0)) for ratio, step in ratios]


def _sets(number: int) -> str:
    return f"{number} additional set{'s' * (number != 1)}"


def _first(number: int) -> str:
    return f"the first {number} additional sets"


def _beyond(found: int, claimed: int) -> str:
    return f"it gains with {found} sets, not with {claimed}" if found != claimed else "it gains linearly"


def _as_many(one: Count, other: Count) -> Truth:
    difference = one.certain - other.certain
    return within(Interval(difference, difference - other.undecided, difference + one.undecided), -COUNT_SLACK, COUNT_SLACK)


def _frame(grid: Grid, role: str) -> str:
    return f"{grid.message_bytes[role]:g} B a message" if role == MD5 else f"{grid.message_bytes[role]:g} B a lookup"


def _only_caches_differ(point: PointSummary, variant: str) -> bool:
    """Tell whether a point is of ``variant``, or ``variant`` is the base and only the first-level caches differ (the sweep over caches)."""
    if point.variant == variant:
        return True
    return variant == BASE and all(path.split("/")[0] in ("first_caches", "data_cache", "instruction_cache") for path in point.settings)


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _scaled(interval: Interval, factor: float) -> Interval:
    return Interval(interval.value * factor, interval.low * factor, interval.high * factor)


def _span(values: Sequence[float]) -> str:
    low, high = significant(min(values), 2), significant(max(values), 2)
    return low if low == high else f"{low} to {high}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
