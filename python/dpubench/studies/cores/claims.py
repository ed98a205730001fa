"""The claims of Crowley, Fiuczynski, Baer and Bershad, "Workloads for Programmable Network Interfaces" (1999), and the verdict of a run on each.

Each claim is a function of :mod:`dpubench.studies.cores.judges` from a grid of simulations to a verdict and the figure behind it. The criteria were
fixed before any simulation. No model or plan was chosen by its outcome. Each claim is judged again with every variant that was simulated widely
enough (window, predictor, caches, policy, memory), with the other kernels that the plan names, and with the other conventions for a message's bytes
on a line. If one of these changes the verdict, it decides the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dpubench.simulation.models import OTHER_ARCHITECTURE
from dpubench.studies.cores import crowley, judges, wording
from dpubench.studies.cores.grid import LOOKUP, MD5, ROLES, Grid, Missing
from dpubench.studies.cores.model import Claim, PointSummary, Sensitivity
from dpubench.studies.cores.plan import BASE, Plan
from dpubench.studies.cores.verdicts import Found

#: Stalls with a smaller share of cycles are not listed: they explain nothing.
WORTH_SAYING: Final = 0.05
#: Conventions for the bytes that a message takes on a line, by role. The captions of the paper's figures say 1500 B for both kernels.
CONVENTIONS: Final[Mapping[str, Mapping[str, float]]] = {
    "64 B a lookup, 1500 B an MD5": {LOOKUP: 64, MD5: 1500},
    "84 B a lookup, 1520 B an MD5 (with preamble and gap)": {LOOKUP: 84, MD5: 1520},
    "1500 B for both (the paper's captions)": {LOOKUP: 1500, MD5: 1500},
}


@dataclass(frozen=True)
class _Claim:
    """A claim of the paper."""

    id: str
    text: str
    criterion: str
    judge: Callable[[Grid], Found]
    at: tuple[str, int, float] | None = None  #: organisation, step and clock whose stalls explain the figure
    arithmetic: Callable[[], str] | None = None
    leading: bool = False


def evaluate(points: Sequence[PointSummary], plan: Plan, processor: Mapping[str, Any]) -> list[Claim]:
    """Return every claim, judged on :func:`judged_model`; empty if the plan does not name kernels for the paper's.

    ``processor`` is the description of that model.
    """
    if plan.claims is None or not points:
        return []
    model = judged_model(points, plan)
    frames = {kernel: next((p for p in points if p.kernel == kernel), None) for kernel in (*plan.claims.lookup, *plan.claims.md5)}
    own = tuple(p for p in points if p.model == model and (first := frames.get(p.kernel)) is not None and first.frame == p.frame)
    kernels = {LOOKUP: plan.claims.lookup[0], MD5: plan.claims.md5[0]}
    sizes = {role: (first.frame_bytes if (first := frames[kernel]) else 0.0) + plan.line_overhead for role, kernel in kernels.items()}
    base = Grid(own, kernels, sizes, BASE, _latencies(processor))
    others = list(_alternatives(base, plan))
    code = "A64 code stands for Alpha code" if any(OTHER_ARCHITECTURE in p.labels for p in own if p.kernel in kernels.values()) else ""
    found = []
    for claim in CLAIMS:
        judged = _judged(claim, base)
        run = judged.verdict != "not run"
        found.append(Claim(
            claim.id, claim.text, claim.criterion, judged.verdict, judged.measured, judged.part, _waits(claim, base),
            _sensitivities(claim, judged.measured, others) if run else [], _counted_over(plan) if claim.judge is judges.few_misses and run else "",
            claim.arithmetic() if claim.arithmetic is not None else "", code if run else "", claim.leading,
        ))  # fmt: skip
    return found


def judged_model(points: Sequence[PointSummary], plan: Plan) -> str:
    """Return the model on which claims are judged: the first one with a superscalar processor of the claims' kernels, else the first of all."""
    kernels = {*plan.claims.lookup, *plan.claims.md5} if plan.claims is not None else set()
    return next((p.model for p in points if p.organisation == "superscalar" and p.kernel in kernels), points[0].model)


def _latencies(processor: Mapping[str, Any]) -> dict[str, int]:
    """Return, by kind of instruction, the cycles until a dependent one can issue. Those of a load include the data cache's."""
    found: dict[str, int] = {}
    for unit in processor.get("units", []):
        for kind, execution in unit["executes"].items():
            found[kind] = min(int(execution["latency_cycles"]), found.get(kind, int(execution["latency_cycles"])))
    if "load" in found:
        found["load"] += int(processor["caches"][processor["data_cache"]].get("latency_cycles", 0))
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
            told.append(f"{judges.NAMES[role]}: " + ", ".join(f"{wording.STALLS.get(cause, cause)} {100 * share:.0f} %" for share, cause in causes))
    where = f"{wording.ORGANISATIONS[organisation]}, {step} at {clock:g} MHz"
    return f"cycles in which no instruction enters the window ({where}): {'; '.join(told)}" if told else ""


def _sensitivities(claim: _Claim, measured: str, others: Sequence[tuple[str, Grid]]) -> list[Sensitivity]:
    """Return the claim under each simulated alternative with another figure. If several alternatives give the same figure, keep the first."""
    found: dict[str, Sensitivity] = {}
    for what, grid in others:
        judged = _judged(claim, grid)
        if judged.verdict != "not run" and judged.measured != measured:
            found.setdefault(judged.measured, Sensitivity(what, judged.verdict, judged.measured, judged.part))
    return list(found.values())


def _judged(claim: _Claim, grid: Grid) -> Found:
    try:
        return claim.judge(grid)
    except Missing as missing:
        return Found("not run", f"not simulated: {missing}")


def _alternatives(base: Grid, plan: Plan) -> Iterator[tuple[str, Grid]]:
    """Yield (description of the change, grid with the change): first with one change each, then with other kernels for both roles."""
    assert plan.claims is not None  # evaluate() checks it
    for words, sizes in CONVENTIONS.items():
        if sizes != base.message_bytes:
            yield words, replace(base, message_bytes=sizes)
    for name in plan.variants:
        yield f"variant {name}", replace(base, variant=name)
    lookups, digests = plan.claims.lookup, plan.claims.md5
    pairs = [*((name, digests[0]) for name in lookups[1:]), *((lookups[0], name) for name in digests[1:])]
    pairs += [(lookup, md5) for lookup in lookups[1:] for md5 in digests[1:]]
    for lookup, md5 in pairs:
        changes = [*([f"lookup by {lookup}"] if lookup != lookups[0] else []), *([f"MD5 by {md5}"] if md5 != digests[0] else [])]
        yield ", ".join(changes), replace(base, kernels={LOOKUP: lookup, MD5: md5})


_SLACK: Final = f"give or take {judges.COUNT_SLACK}"
_GAIN: Final = f"a gain is at least {100 * judges.GAIN:g} % over one set fewer"
_CLOSE: Final = f"{100 * judges.CLOSE:g} %"
_ABOUT: Final = f"{100 * judges.ABOUT:g} %"

CLAIMS: Final = (
    _Claim("clock", "both kernels scale linearly with the clock, on all three organisations",
           f"holds: from the lowest to the highest clock every series is within {_CLOSE} of proportional; partly: every series of a kernel on an "
           "organisation", judges.linear_in_clock, ("superscalar", 7, 500), leading=True),
    _Claim("parallelism",
           "lookup has nearly three times the instruction-level parallelism of MD5, inferred from five additional unit sets against two",
           "counts of additional unit sets that gain. Holds: 2.5 to 3.2 times as many; partly: more", judges.parallelism, ("superscalar", 7, 500),
           crowley.parallelism, leading=True),
    _Claim("lookup-lines-ss", "nearly every superscalar configuration sustains lookup at 1 Gb/s, none at 10 Gb/s",
           f"holds: {100 * judges.NEARLY_ALL:g} % sustain 1 Gb/s, none 10 Gb/s; partly: one of the two", judges.lookup_lines_superscalar,
           ("superscalar", 7, 500), crowley.lookup_lines, leading=True),
    _Claim("md5-lines-ss", "MD5 at 100 Mb/s needs 200 MHz with one unit set; no superscalar configuration sustains 1 Gb/s",
           "holds: one unit set does not sustain 100 Mb/s at 100 MHz, does at 200 MHz, and none sustains 1 Gb/s; partly: one or two of the three",
           judges.md5_lines_superscalar, ("superscalar", 1, 200), crowley.md5_superscalar, leading=True),
    _Claim("fgmt-lines", "FGMT sustains in essence the lines that superscalar sustains",
           f"holds: at each of four lines as many configurations, {_SLACK}; partly: at some", judges.fgmt_lines, ("fgmt", 7, 500), leading=True),
    _Claim("smt-lookup", "most SMT configurations sustain lookup at 1 Gb/s, thirteen at 10 Gb/s",
           f"holds: more than half sustain 1 Gb/s, and 13 10 Gb/s, {_SLACK}; partly: one of the two", judges.lookup_lines_smt, ("smt", 7, 500),
           crowley.lookup_lines, leading=True),
    _Claim("smt-md5", "most SMT configurations sustain MD5 at 100 Mb/s, eleven at 1 Gb/s",
           f"holds: more than half sustain 100 Mb/s, and 11 1 Gb/s, {_SLACK}; partly: one of the two", judges.md5_lines_smt, ("smt", 7, 500),
           crowley.smt_md5, leading=True),
    _Claim("conclusion", "SMT exploits the parallelism between packets; superscalar and FGMT do not",
           f"with seven unit sets or contexts against one at the highest clock, SMT gives at least {7 * judges.MOST:g} times the rate and the others "
           "less. Holds: for both kernels; partly: for some organisation and kernel", judges.conclusion, ("smt", 7, 500), leading=True),
    _Claim("misses", "instructions and data of both kernels fit first-level caches of 32 KB and more: miss rates below 1 %",
           "holds: below 1 % of accesses in both caches, for both kernels, at every simulated size from 32 KiB and every associativity; partly: for "
           "some kernel and cache", judges.few_misses, arithmetic=crowley.misses),
    _Claim("gains-lookup", "lookup gains, less than linearly, with the first five additional unit sets",
           f"{_GAIN}. Holds: with five additional sets and no more, less than linearly; partly: with two or more", judges.gains_of_lookup,
           ("superscalar", 7, 500)),
    _Claim("gains-md5", "MD5 stagnates after two additional unit sets",
           f"{_GAIN}. Holds: with two additional sets and no more; partly: it stagnates earlier", judges.gains_of_md5, ("superscalar", 7, 500)),
    _Claim("fgmt-lookup", "FGMT improves lookup over superscalar, slightly",
           f"with a unit set for each of two and more contexts. Holds: faster in the median, and nowhere by more than {_ABOUT}; partly: one of both",
           judges.fgmt_lookup, ("fgmt", 7, 500)),
    _Claim("fgmt-md5", "FGMT leaves MD5 unchanged",
           f"with as many unit sets as contexts, two and more. Holds: every ratio within {_CLOSE}; partly: their median", judges.fgmt_md5,
           ("fgmt", 7, 500)),
    _Claim("fgmt-why", "FGMT gains little, as most issue slots stay unused, and MD5 has mostly operations of more than a few cycles",
           f"holds: with 7 contexts more than {100 * judges.MOST:g} % of issue slots are unused for both kernels, and MD5 has a larger share of "
           "instructions of several cycles than lookup; partly: one of the two", judges.fgmt_why, ("fgmt", 7, 500)),
    _Claim("smt-linear", "SMT is linear in the number of contexts",
           f"holds: every n contexts are within {_ABOUT} of n times one; partly: for one kernel", judges.smt_linear, ("smt", 7, 500)),
    _Claim("contexts-clock", "MD5 on SMT of 4 contexts at 500 MHz is about as fast as on 7 contexts at 300 MHz",
           f"holds: within {_ABOUT}", judges.contexts_for_clock, ("smt", 7, 300), crowley.contexts_for_clock),
)  # fmt: skip
