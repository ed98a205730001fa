"""The claims of Crowley, Fiuczynski, Baer and Bershad, "Workloads for Programmable Network Interfaces" (1999), and the verdict of a run on each.

Each claim is a function from a grid of simulations to a verdict and the figure behind it. The criteria were fixed before any simulation. No model or
plan was chosen by its outcome. Each claim is judged again with every variant that was simulated widely enough (window, predictor, caches, policy),
with today's engines, and with the other reading of a line's rate. If one of these changes the verdict, it decides the claim.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dpubench.analysis.digits import significant
from dpubench.studies.cores import wording
from dpubench.studies.cores.grid import LOOKUP, MD5, ROLES, Grid, Missing
from dpubench.studies.cores.model import Claim, PointSummary, Sensitivity, Verdict
from dpubench.studies.cores.plan import BASE, Plan

#: Deviations from the claimed figure that count as agreement, or as partial agreement.
CLOSE: Final = 0.05
ABOUT: Final = 0.10
ROUGHLY: Final = 0.25
#: A gain below this share does not count, as in the comparison of measured runs.
GAIN: Final = 0.03
#: A count is reproduced if it differs by at most this many configurations, because code, compiler and instruction set are not the paper's.
COUNT_SLACK: Final = 2
#: Stalls with a smaller share of cycles are not listed: they explain nothing.
WORTH_SAYING: Final = 0.05
_32K: Final = 32 << 10
#: Overheads of a frame on a line: none, and Ethernet's preamble, delimiter and gap.
OVERHEADS: Final = {0: "preamble and gap not counted", 20: "preamble and gap counted (20 B a frame)"}
_ORGANISATIONS: Final = ("superscalar", "fgmt", "smt")

Found = tuple[Verdict, str]


@dataclass(frozen=True)
class _Claim:
    """A claim of the paper."""

    id: str
    text: str
    criterion: str
    judge: Callable[[Grid], Found]
    at: tuple[str, int, float] | None = None  #: organisation, step and clock whose stalls explain the figure


def evaluate(points: Sequence[PointSummary], plan: Plan) -> list[Claim]:
    """Return every claim, judged on the plan's first model; empty if the plan does not name kernels for the paper's."""
    if plan.claims is None or not points:
        return []
    model = points[0].model
    frames = {kernel: next((p.frame for p in points if p.kernel == kernel), "") for kernel in (*plan.claims.lookup, *plan.claims.md5)}
    own = tuple(p for p in points if p.model == model and frames.get(p.kernel) == p.frame)
    base = Grid(own, {LOOKUP: plan.claims.lookup[0], MD5: plan.claims.md5[0]}, plan.line_overhead, BASE)
    others = list(_alternatives(base, plan))
    found = []
    for claim in CLAIMS:
        verdict, measured = _judged(claim, base)
        sensitivities = [] if verdict == "not run" else _sensitivities(claim, measured, others)
        note = _counted_over(plan) if claim.judge is few_misses_at_32k and verdict != "not run" else ""
        found.append(Claim(claim.id, claim.text, claim.criterion, verdict, measured, _waits(claim, base), sensitivities, note))
    return found


def _counted_over(plan: Plan) -> str:
    """Return in words the messages over which the claims' miss ratios are counted. The section Models has other ratios of the same caches."""
    assert plan.claims is not None  # evaluate() checks it
    named = {kernel.label: kernel for kernel in plan.kernels}
    told = []
    for name in (plan.claims.lookup[0], plan.claims.md5[0]):
        kernel = named[name]
        burst, messages = kernel.burst or plan.burst, kernel.messages or plan.messages
        words = ", ".join([kernel.operator, *(f"{key} {value}" for key, value in sorted(kernel.params.items()))])
        told.append(f"{name} ({words}) over {messages:,} messages {f'in bursts of {burst}' if burst > 1 else 'one by one'}")
    warm = f"after {100 * plan.warm_up:g} % that warm up" if plan.warm_up else "including the cold start"
    return (
        f"counted for {'; '.join(told)}; {warm}. The section Models has another figure of these caches, because it counts messages one by one, "
        "and names them. There the accesses of the harness around a burst count for each message"
    )


def _waits(claim: _Claim, grid: Grid) -> str:
    """Return what the kernels wait for on the processor that explains the figure best; empty if it was not simulated."""
    if claim.at is None:
        return ""
    organisation, step, clock = claim.at
    told = []
    for role in ROLES:
        point = grid.at(role, organisation, step, clock)
        causes = sorted(((share, cause) for cause, share in point.stalls.items() if share >= WORTH_SAYING), reverse=True) if point else []
        if causes:
            told.append(f"{role}: " + ", ".join(f"{wording.STALLS.get(cause, cause)} {_percent(share)}" for share, cause in causes))
    where = f"{wording.ORGANISATIONS[organisation]}, {step} at {clock:g} MHz"
    return f"cycles in which no instruction enters the window ({where}): {'; '.join(told)}" if told else ""


def _sensitivities(claim: _Claim, measured: str, others: Sequence[tuple[str, Grid]]) -> list[Sensitivity]:
    """Return the claim under each simulated alternative with another figure. If several alternatives give the same figure, keep the first."""
    found: dict[str, Sensitivity] = {}
    for what, grid in others:
        verdict, told = _judged(claim, grid)
        if verdict != "not run" and told != measured:
            found.setdefault(told, Sensitivity(what, verdict, told))
    return list(found.values())


def _judged(claim: _Claim, grid: Grid) -> Found:
    try:
        return claim.judge(grid)
    except Missing as missing:
        return "not run", f"not simulated: {missing}"


def _alternatives(base: Grid, plan: Plan) -> list[tuple[str, Grid]]:
    """Return (description of the change, grid with the change) pairs: first with one change each, then with other kernels for both roles."""
    assert plan.claims is not None  # evaluate() checks it
    found = [(words, replace(base, overhead_bytes=overhead)) for overhead, words in OVERHEADS.items() if overhead != base.overhead_bytes]
    found += [(f"variant {name}", replace(base, variant=name)) for name in plan.variants]
    lookups, digests = plan.claims.lookup, plan.claims.md5
    pairs = [*((name, digests[0]) for name in lookups[1:]), *((lookups[0], name) for name in digests[1:])]
    pairs += [(lookup, md5) for lookup in lookups[1:] for md5 in digests[1:]]
    for lookup, md5 in pairs:
        words = [*([f"lookup by {lookup}"] if lookup != lookups[0] else []), *([f"MD5 by {md5}"] if md5 != digests[0] else [])]
        found.append((", ".join(words), replace(base, kernels={LOOKUP: lookup, MD5: md5})))
    return found


# --------------------------------------------------------------------------- the claims


def linear_in_clock(grid: Grid) -> Found:
    """Judge the ratio of rates over the ratio of clocks, between the lowest and the highest clock of every series."""
    shares: list[tuple[float, str]] = []
    for organisation in _present(grid):
        clocks = grid.clocks(organisation)
        if len(clocks) < 2:
            raise Missing(f"{organisation} at two clocks")
        low, high = clocks[0], clocks[-1]
        for step in [s for s in grid.steps(organisation, high) if s in grid.steps(organisation, low)]:
            for role in ROLES:
                share = grid.rate(role, organisation, step, high) / grid.rate(role, organisation, step, low) / (high / low)
                shares.append((share, f"{role}, {organisation}, {step}"))
    least, where = min(shares)
    median = statistics.median(share for share, _ in shares)
    verdict: Verdict = "reproduced" if least >= 1 - CLOSE else "partly" if median >= 1 - ROUGHLY else "not reproduced"
    return verdict, f"median of {len(shares)} series: {_percent(median)} of proportional; lowest: {_percent(least)} ({where})"


def few_misses_at_32k(grid: Grid) -> Found:
    """Judge the miss ratios of both first-level caches of 32 KiB, at every simulated associativity."""
    found: dict[tuple[str, int], float] = {}
    kernels = {kernel: role for role, kernel in grid.kernels.items()}
    for point in grid.points:
        # Use points of the variant at hand; for the base also those of the sweep over caches.
        if point.kernel not in kernels or point.organisation != "superscalar" or not _only_caches_differ(point, grid.variant):
            continue
        firsts = [point.cache(name) for name in (point.instruction_cache, point.data_cache)]
        if any(c is None or c.size_bytes != _32K or c.miss_ratio is None for c in firsts):
            continue
        worst = max(c.miss_ratio or 0.0 for c in firsts if c is not None)
        key = (kernels[point.kernel], min(c.ways for c in firsts if c is not None))
        found[key] = max(worst, found.get(key, 0.0))
    if {role for role, _ in found} != set(ROLES):
        raise Missing("both kernels with first-level caches of 32 KiB")
    below = [ratio < 0.01 for ratio in found.values()]
    told = ", ".join(f"{role} {significant(100 * ratio, 2)} % ({ways} way{'s' if ways > 1 else ''})" for (role, ways), ratio in sorted(found.items()))
    verdict: Verdict = "reproduced" if all(below) else "partly" if any(below) else "not reproduced"
    return verdict, f"the worse of instruction and data cache: {told}"


def gains_of_unit_sets(grid: Grid) -> Found:
    """Judge up to which unit set each kernel gains, by both readings of "the first five additional" and "after two"."""
    clock = grid.clocks("superscalar")[-1]
    steps = grid.steps("superscalar", clock)
    if len(steps) < 7 or steps != list(range(1, len(steps) + 1)):
        raise Missing("both kernels with 1 to 7 unit sets at one clock")
    last = {role: _last_gain(grid, role, steps, clock) for role in ROLES}
    # "Five additional" means six sets in all, or five in all. Likewise "after two" means three or two.
    readings = {"additional to the first": (6, 3), "in all": (5, 2)}
    fitting = [name for name, (lookup, md5) in readings.items() if last[LOOKUP] == lookup and last[MD5] == md5]
    either = any(last[LOOKUP] == lookup or last[MD5] == md5 for lookup, md5 in readings.values())
    verdict: Verdict = "reproduced" if fitting else "partly" if either else "not reproduced"
    gains = "; ".join(
        f"{role} gains up to {last[role]} sets in all ({', '.join(_gains(grid, role, steps, clock))} for each further set)" for role in ROLES
    )
    return verdict, f"{gains}; at {clock:g} MHz" + (f"; fits the sets counted as {' and as '.join(fitting)}" if fitting else "")


def parallelism(grid: Grid) -> Found:
    """Judge the ratio of lookup to MD5 in instructions per cycle with the most unit sets."""
    clock = grid.clocks("superscalar")[-1]
    most = grid.steps("superscalar", clock)[-1]
    if most < 7:
        raise Missing("both kernels with 7 unit sets")
    found = {role: (point.ipc if (point := grid.at(role, "superscalar", most, clock)) is not None else None) for role in ROLES}
    lookup, md5 = found[LOOKUP], found[MD5]
    if not lookup or not md5:
        raise Missing("instructions per cycle of both kernels")
    ratio = lookup / md5
    verdict: Verdict = "reproduced" if 2.5 <= ratio <= 3.2 else "partly" if ratio >= 1.5 else "not reproduced"
    told = f"{significant(lookup, 3)} against {significant(md5, 3)} instructions per cycle with {most} unit sets"
    return verdict, f"{significant(ratio, 3)} times: {told}"


def fgmt_equals_superscalar(grid: Grid) -> Found:
    """Judge the ratio of FGMT to superscalar in rate, with as many unit sets as contexts, at every common clock."""
    ratios = []
    clocks = [c for c in grid.clocks("fgmt") if c in grid.clocks("superscalar")]
    for clock in clocks:
        for step in [s for s in grid.steps("fgmt", clock) if s in grid.steps("superscalar", clock)]:
            for role in ROLES:
                ratio = grid.rate(role, "fgmt", step, clock) / grid.rate(role, "superscalar", step, clock)
                ratios.append((ratio, f"{role}, {step} at {clock:g} MHz"))
    if not ratios:
        raise Missing("fgmt and superscalar with the same number of unit sets at the same clock")
    median = statistics.median(ratio for ratio, _ in ratios)
    (least, at_least), (most, at_most) = min(ratios), max(ratios)
    all_close = least >= 1 - ABOUT and most <= 1 + ABOUT
    verdict: Verdict = "reproduced" if all_close else "partly" if abs(median - 1) <= ABOUT else "not reproduced"
    return verdict, f"{significant(median, 3)} times in the median, from {significant(least, 3)} ({at_least}) to {significant(most, 3)} ({at_most})"


def smt_linear_in_contexts(grid: Grid) -> Found:
    """Judge the rate with n contexts over n times the rate with one context."""
    shares = []
    for clock in grid.clocks("smt"):
        steps = grid.steps("smt", clock)
        if steps[0] != 1 or len(steps) < 2:
            continue
        for role in ROLES:
            one = grid.rate(role, "smt", 1, clock)
            shares += [(grid.rate(role, "smt", n, clock) / (n * one), f"{role}, {n} contexts at {clock:g} MHz") for n in steps[1:]]
    if not shares:
        raise Missing("smt with one context and with several, at one clock")
    least, where = min(shares)
    median = statistics.median(share for share, _ in shares)
    verdict: Verdict = "reproduced" if least >= 1 - ABOUT else "partly" if median >= 1 - ROUGHLY else "not reproduced"
    return verdict, f"median: {_percent(median)} of proportional; lowest: {_percent(least)} ({where})"


def lookup_lines(grid: Grid) -> Found:
    """Judge how many of all configurations sustain lookup at 1 Gb/s, and how many superscalar ones at 10 Gb/s."""
    everything = [p for organisation in _present(grid) for p in _whole(grid, LOOKUP, organisation)]
    at_1 = sum(grid.gbps(p) >= 1 for p in everything)
    fast = sum(grid.gbps(p) >= 10 for p in _whole(grid, LOOKUP, "superscalar"))
    share = at_1 / len(everything)
    holds = (share >= 0.9, fast == 0)
    verdict: Verdict = "reproduced" if all(holds) else "partly" if any(holds) else "not reproduced"
    return verdict, f"{at_1} of {len(everything)} configurations sustain 1 Gb/s ({_percent(share)}), {fast} superscalar ones 10 Gb/s"


def smt_at_10g(grid: Grid) -> Found:
    """Judge how many SMT configurations sustain lookup at 10 Gb/s."""
    points = _whole(grid, LOOKUP, "smt")
    number = sum(grid.gbps(p) >= 10 for p in points)
    verdict: Verdict = "reproduced" if abs(number - 13) <= COUNT_SLACK else "partly" if number else "not reproduced"
    return verdict, f"{number} of {len(points)} SMT configurations sustain 10 Gb/s"


def md5_at_1g(grid: Grid) -> Found:
    """Judge how many SMT configurations, and how many superscalar ones, sustain MD5 at 1 Gb/s."""
    smt, superscalar = _whole(grid, MD5, "smt"), _whole(grid, MD5, "superscalar")
    number, fast = (sum(grid.gbps(p) >= 1 for p in found) for found in (smt, superscalar))
    holds = (abs(number - 11) <= COUNT_SLACK, fast == 0)
    verdict: Verdict = "reproduced" if all(holds) else "partly" if any(holds) or number else "not reproduced"
    return verdict, f"{number} of {len(smt)} SMT configurations sustain 1 Gb/s, {fast} of {len(superscalar)} superscalar ones"


def contexts_for_clock(grid: Grid) -> Found:
    """Judge the rate of 4 contexts at 500 MHz over the rate of 7 contexts at 300 MHz."""
    ratios = {role: grid.rate(role, "smt", 4, 500) / grid.rate(role, "smt", 7, 300) for role in ROLES}
    close = [abs(ratio - 1) <= ABOUT for ratio in ratios.values()]
    verdict: Verdict = "reproduced" if all(close) else "partly" if any(close) else "not reproduced"
    return verdict, ", ".join(f"{role} {significant(ratio, 3)} times" for role, ratio in ratios.items())


# --------------------------------------------------------------------------- shared helpers


def _present(grid: Grid) -> list[str]:
    """Return the three organisations of the paper. @raises Missing if one was not simulated"""
    found = []
    for organisation in _ORGANISATIONS:
        grid.clocks(organisation)  # raises Missing
        found.append(organisation)
    return found


def _whole(grid: Grid, role: str, organisation: str) -> list[PointSummary]:
    """Return the paper's configurations of an organisation: 1 to 7 at 100 to 500 MHz. @raises Missing if one was not simulated"""
    found = []
    for clock in (100.0, 200.0, 300.0, 400.0, 500.0):
        for step in range(1, 8):
            point = grid.at(role, organisation, step, clock)
            if point is None:
                raise Missing(f"{role} on {organisation} with {step} at {clock:g} MHz")
            found.append(point)
    return found


def _gain(grid: Grid, role: str, step: int, clock_mhz: float) -> float:
    return grid.rate(role, "superscalar", step, clock_mhz) / grid.rate(role, "superscalar", step - 1, clock_mhz) - 1


def _gains(grid: Grid, role: str, steps: Sequence[int], clock_mhz: float) -> list[str]:
    return [f"{100 * _gain(grid, role, step, clock_mhz):+.1f} %" for step in steps[1:]]


def _last_gain(grid: Grid, role: str, steps: Sequence[int], clock_mhz: float) -> int:
    """Return the number of unit sets up to which each further set gains."""
    last = steps[0]
    for step in steps[1:]:
        if _gain(grid, role, step, clock_mhz) < GAIN:
            break
        last = step
    return last


def _only_caches_differ(point: PointSummary, variant: str) -> bool:
    """Tell whether a point is of ``variant``, or ``variant`` is the base and only the first-level caches differ (the sweep over caches)."""
    if point.variant == variant:
        return True
    return variant == BASE and all(path.split("/")[0] in ("first_caches", "data_cache", "instruction_cache") for path in point.settings)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


CLAIMS: Final = (
    _Claim("clock", "throughput is linear in the clock",
           f"reproduced: every series has at least {_percent(1 - CLOSE)} of proportional; partly: their median has {_percent(1 - ROUGHLY)}",
           linear_in_clock, ("superscalar", 7, 500)),
    _Claim("misses", "under 1 % of accesses miss with 32 KB caches",
           "reproduced: below 1 % in both first-level caches for both kernels at every associativity; partly: for some", few_misses_at_32k),
    _Claim("unit-sets", "lookup gains through the first five additional unit sets, MD5 stops after two",
           f"a gain is at least {_percent(GAIN)} over one set fewer. Reproduced: both kernels fit one reading (sets additional to the "
           "first, or in all); partly: one kernel fits one reading", gains_of_unit_sets, ("superscalar", 7, 500)),
    _Claim("parallelism", "lookup has nearly three times the parallelism of MD5",
           "instructions per cycle with 7 unit sets. Reproduced: 2.5 to 3.2 times; partly: 1.5 times or more", parallelism, ("superscalar", 7, 500)),
    _Claim("fgmt", "FGMT is about equal to superscalar",
           f"with as many unit sets as contexts. Reproduced: every ratio within {_percent(ABOUT)}; partly: their median", fgmt_equals_superscalar,
           ("fgmt", 7, 500)),
    _Claim("smt-linear", "SMT is linear in the number of contexts",
           f"reproduced: every n contexts give at least {_percent(1 - ABOUT)} of n times the rate of one; partly: their median gives "
           f"{_percent(1 - ROUGHLY)}", smt_linear_in_contexts, ("smt", 7, 500)),
    _Claim("lookup-lines", "nearly all configurations sustain lookup at 1 Gb/s, and no superscalar one at 10 Gb/s",
           "reproduced: 90 % sustain 1 Gb/s, and no superscalar one 10 Gb/s; partly: one of the two", lookup_lines, ("superscalar", 7, 500)),
    _Claim("smt-10g", "13 SMT configurations sustain lookup at 10 Gb/s", f"reproduced: 13, give or take {COUNT_SLACK}; partly: any", smt_at_10g,
           ("smt", 7, 500)),
    _Claim("md5-1g", "11 SMT configurations sustain MD5 at 1 Gb/s, and no superscalar one",
           f"reproduced: 11, give or take {COUNT_SLACK}, and no superscalar one; partly: one of the two, or any SMT one", md5_at_1g, ("smt", 7, 500)),
    _Claim("contexts-clock", "SMT of 4 contexts at 500 MHz is about equal to 7 contexts at 300 MHz",
           f"reproduced: within {_percent(ABOUT)} for both kernels; partly: for one", contexts_for_clock, ("smt", 7, 300)),
)  # fmt: skip
