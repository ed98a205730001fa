"""Both sides of each limit by which the claims of Crowley et al. 1999 are judged, on scripted grids.

A limit on a ratio of two rates is tested at the number itself and at the next one beyond. Where rates are multiplied by something first, the last
digits are not certain: there both sides are :data:`JUST` of the limit away from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from claims_fixtures import CLOCKS, STEPS, Rate, caches, changed, gaining_to, grid, judged, only, paper_rate
from dpubench.analysis.model import Interval
from dpubench.studies.cores import claims, judges
from dpubench.studies.cores.model import Claim, PointSummary
from dpubench.studies.cores.verdicts import Count, Found, Part, Truth, every, of_parts, within

JUST = 1e-9
ORGANISATIONS = {"superscalar": "superscalar", "fgmt": "FGMT", "smt": "SMT"}
KERNELS = {"lookup": "lookup", "md5": "MD5"}
BYTES = {"lookup": 64, "md5": 1500}


def below(value: float) -> float:
    return math.nextafter(value, 0)


def above(value: float) -> float:
    return math.nextafter(value, math.inf)


def failing(claim: Claim) -> str:
    """Return the parts of a claim that do not hold: empty if all hold, "all of it" if none does."""
    if claim.verdict == "partly":
        return claim.part.partition("does not hold: ")[2]
    return {"holds": "", "does not hold": "all of it"}.get(claim.verdict, claim.verdict)


def sustaining(gbps: Rate) -> dict[str, Claim]:
    """Judge configurations that sustain just these lines in Gb/s."""
    return changed(lambda k, o, s, c: gbps(k, o, s, c) * 1e9 / (8 * BYTES[k]))


def first(number: int, line_gbps: float, others: float = 0.0) -> Rate:
    """Return rates in Gb/s of which ``number`` of each organisation just sustain a line. The rest sustain ``others``, or just miss the line."""

    def gbps(_kernel: str, _organisation: str, step: int, clock: float) -> float:
        place = (step - 1) * len(CLOCKS) + CLOCKS.index(clock)
        return line_gbps * (1 + JUST) if place < number else others or line_gbps * (1 - JUST)

    return gbps


# --------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (Interval(0.9, math.nan, math.nan), True),
        (Interval(below(0.9), math.nan, math.nan), False),
        (Interval(1.1, math.nan, math.nan), True),
        (Interval(above(1.1), math.nan, math.nan), False),
        (Interval(1.0, 0.9, 1.1), True),
        (Interval(1.0, below(0.9), 1.1), None),
        (Interval(1.0, 0.9, above(1.1)), None),
        (Interval(0.8, 0.7, 0.9), None),
        (Interval(0.8, 0.7, below(0.9)), False),
        (Interval(1.2, 1.1, 1.3), None),
        (Interval(1.2, above(1.1), 1.3), False),
    ],
)
def test_both_limits_are_included_and_an_interval_over_one_is_undecided(value: Interval, truth: Truth) -> None:
    assert within(value, 0.9, 1.1) is truth


def test_a_side_without_a_limit_is_open() -> None:
    assert within(Interval(1e9, math.nan, math.nan), 3) is True and within(Interval(2, math.nan, math.nan), 3) is False
    assert within(Interval(-1e9, math.nan, math.nan), high=3) is True and within(Interval(4, math.nan, math.nan), high=3) is False


@pytest.mark.parametrize(
    ("count", "truth"),
    [
        (Count(11, 0, 35), True), (Count(10, 0, 35), False), (Count(15, 0, 35), True), (Count(16, 0, 35), False), (Count(11, 4, 35), True),
        (Count(11, 5, 35), None), (Count(10, 1, 35), None), (Count(9, 1, 35), False),
    ],
)  # fmt: skip
def test_a_count_is_between_what_is_certain_and_what_may_be(count: Count, truth: Truth) -> None:
    assert count.within(11, 15) is truth


def test_a_count_in_words() -> None:
    assert (str(Count(3, 0, 35)), str(Count(3, 2, 35))) == ("3 of 35", "3 to 5 of 35")


@pytest.mark.parametrize(
    ("truths", "found"),
    [
        ((True, True), Found("holds", "1")),
        ((True, False), Found("partly", "1", "holds: a; does not hold: b")),
        ((False, False), Found("does not hold", "1")),
        ((True, None), Found("not decidable", "1", "the intervals of the samples are too wide for: b")),
        ((False, None), Found("not decidable", "1", "the intervals of the samples are too wide for: b")),
        ((None, None), Found("not decidable", "1", "the intervals of the samples are too wide for: a, b")),
        ((True, False, None), Found("partly", "1", "holds: a; does not hold: b; undecided: c")),
    ],
)
def test_the_parts_of_a_claim_make_its_verdict(truths: tuple[Truth, ...], found: Found) -> None:
    assert of_parts([Part(name, truth) for name, truth in zip("abc", truths, strict=False)], "1") == found


def test_one_false_condition_is_enough() -> None:
    assert [every(truths) for truths in ([], [True, True], [True, None], [None, False], [True, False])] == [True, True, None, False, False]


# --------------------------------------------------------------------------- caches and clock


def of_caches(change: Callable[[PointSummary], None], kernel: str = "md5") -> Claim:
    """Judge caches with few misses, of which those of ``kernel`` of one associativity are changed."""
    points = caches(0.001)
    change(next(p for p in points if p.kernel == kernel and p.settings["first_caches/ways"] == 4))
    return judged([*only(grid(), lambda p: not p.caches), *points])["misses"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("which", "part"), [(0, "instructions"), (1, "data")])
def test_one_per_cent_of_misses_is_not_below_it(kernel: str, which: int, part: str) -> None:
    def missing(misses: int) -> str:
        def change(p: PointSummary) -> None:
            p.caches[which] = replace(p.caches[which], misses=misses, accesses=1_000_000)

        return failing(of_caches(change, kernel))

    assert (missing(9_999), missing(10_000)) == ("", f"{KERNELS[kernel]}'s {part}")


@pytest.mark.parametrize(("size", "fails"), [((32 << 10) - 1, ""), (32 << 10, "MD5's data"), (64 << 10, "MD5's data")])
def test_caches_count_from_32_kib_on(size: int, fails: str) -> None:
    def change(p: PointSummary) -> None:
        p.caches[1] = replace(p.caches[1], size_bytes=size, misses=p.caches[1].accesses)

    assert failing(of_caches(change)) == fails


@pytest.mark.parametrize(("share", "holds"), [(0.95 - JUST, False), (0.95 + JUST, True), (1.05 - JUST, True), (1.05 + JUST, False)])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("organisation", ORGANISATIONS)
def test_each_series_over_the_clock_is_close_to_proportional(organisation: str, kernel: str, share: float, holds: bool) -> None:
    for step in (1, 7):
        one = (kernel, organisation, step, 500.0)
        claim = changed(lambda *place, at=one: paper_rate(*place) * (share if place == at else 1))["clock"]
        assert failing(claim) == ("" if holds else f"{KERNELS[kernel]} on {ORGANISATIONS[organisation]}")


def test_two_clocks_are_needed_and_the_ends_are_compared() -> None:
    assert judged(only(grid(), lambda p: p.clock_mhz == 500))["clock"].verdict == "not run"
    assert judged(only(grid(), lambda p: p.clock_mhz >= 400))["clock"].verdict == "holds"
    assert changed(lambda k, o, s, c: paper_rate(k, o, s, c) * (1 if c in (100, 500) else 0.5))["clock"].verdict == "holds"


# --------------------------------------------------------------------------- unit sets


@pytest.mark.parametrize("step", [2, 3, 4, 5, 6, 7])
def test_three_per_cent_is_a_gain(step: int) -> None:
    def sets(gain: float) -> tuple[str, str]:
        # Powers of two, so that the ratio is exact.
        found = changed(lambda _k, _o, s, _c: 2.0 ** (s - 1) if s < step else 2.0 ** (step - 2) * gain)
        return found["gains-lookup"].measured.partition(" (")[0], found["gains-md5"].measured.partition(" (")[0]

    def told(number: int) -> tuple[str, str]:
        return f"lookup gains with {number} additional set{'s' * (number != 1)}", f"MD5 gains with {number} additional set{'s' * (number != 1)}"

    assert (sets(1.03), sets(below(1.03))) == (told(step - 1), told(step - 2))


@pytest.mark.parametrize(
    ("additional", "of_lookup", "of_md5"),
    [
        (0, "does not hold", "partly"),
        (1, "does not hold", "partly"),
        (2, "partly", "holds"),
        (3, "partly", "does not hold"),
        (4, "partly", "does not hold"),
        (5, "holds", "does not hold"),
        (6, "partly", "does not hold"),
    ],
)
def test_numbers_of_additional_sets(additional: int, of_lookup: str, of_md5: str) -> None:
    found = changed(gaining_to(additional + 1, additional + 1))
    assert (found["gains-lookup"].verdict, found["gains-md5"].verdict) == (of_lookup, of_md5)


@pytest.mark.parametrize("step", [2, 3, 4, 5, 6])
def test_as_fast_as_linear_is_not_less_than_linear(step: int) -> None:
    def gaining(value: float) -> Claim:
        return changed(lambda _k, _o, s, _c: value if s == step or step == 6 < s else 0.9 * min(s, 6) if s > 1 else 1.0)["gains-lookup"]

    assert failing(gaining(below(step))) == ""
    assert failing(gaining(step)) == "it gains linearly"


def test_an_interval_over_linear_is_not_decidable() -> None:
    def rate(step: int) -> Interval:
        value = 0.95 * min(step, 6) if step > 1 else 1.0
        return Interval(value, 0.93 * value, 1.07 * value)

    # Only the first two processors are of different messages: the other ratios have no interval.
    points = [
        replace(p, messages_per_s=rate(p.step), messages=2 if p.step == 1 else 1) if p.organisation == "superscalar" and not p.caches else p
        for p in grid()
    ]
    claim = judged(points)["gains-lookup"]
    assert (claim.verdict, claim.part) == (
        "not decidable", "the intervals of the samples are too wide to tell whether it gains less than linearly",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lookup", "md5", "verdict"),
    [
        (0, 0, "does not hold"),
        (1, 0, "partly"),
        (1, 1, "does not hold"),
        (2, 3, "does not hold"),
        (6, 5, "partly"),
        (4, 2, "partly"),  # the largest ratio of two counts below 2.5
        (5, 2, "holds"),  # 2.5
        (6, 2, "holds"),  # the largest one up to 3.2
        (4, 1, "partly"),  # the smallest one above 3.2
    ],
)
def test_the_ratio_of_additional_sets_is_nearly_three(lookup: int, md5: int, verdict: str) -> None:
    assert changed(gaining_to(lookup + 1, md5 + 1))["parallelism"].verdict == verdict


@pytest.mark.parametrize("missing", STEPS)
def test_seven_unit_sets_are_needed(missing: int) -> None:
    found = judged(only(grid(), lambda p: p.organisation != "superscalar" or p.step != missing or bool(p.caches)))
    assert {found[key].verdict for key in ("gains-lookup", "gains-md5", "parallelism")} == {"not run"}


# --------------------------------------------------------------------------- lines


@pytest.mark.parametrize(
    ("number", "line", "others", "fails"),
    [
        (32, 1, 0, ""),
        (31, 1, 0, "nearly every one sustains 1 Gb/s"),
        (0, 10, 0, ""),
        (1, 10, 2, "none sustains 10 Gb/s"),
    ],
)
def test_superscalar_lines_of_lookup(number: int, line: float, others: float, fails: str) -> None:
    claim = sustaining(first(number, line, others))["lookup-lines-ss"]
    assert failing(claim) == fails
    assert f"{number} of 35" in claim.measured


@pytest.mark.parametrize(
    ("slow", "enough", "fast", "fails"),
    [
        (0.1 * (1 - JUST), 0.1 * (1 + JUST), 1 - JUST, ""),
        (0.1 * (1 + JUST), 0.1 * (1 + JUST), 1 - JUST, "one unit set at 100 MHz does not sustain 100 Mb/s"),
        (0.1 * (1 - JUST), 0.1 * (1 - JUST), 1 - JUST, "one unit set at 200 MHz sustains 100 Mb/s"),
        (0.1 * (1 - JUST), 0.1 * (1 + JUST), 1 + JUST, "none sustains 1 Gb/s"),
    ],
)
def test_superscalar_lines_of_md5(slow: float, enough: float, fast: float, fails: str) -> None:
    def gbps(_kernel: str, organisation: str, step: int, clock: float) -> float:
        # The other processors sustain what none of the lines is about.
        special = {(1, 100.0): slow, (1, 200.0): enough, (7, 500.0): fast} if organisation == "superscalar" else {}
        return special.get((step, clock), 0.5)

    claim = sustaining(gbps)["md5-lines-ss"]
    assert failing(claim) == fails
    assert f"{int(fast > 1)} of 35 superscalar configurations sustain 1 Gb/s" in claim.measured


@pytest.mark.parametrize(("number", "most"), [(17, False), (18, True)])
def test_most_of_the_smt_configurations_are_more_than_half(number: int, most: bool) -> None:
    for key, line, word in (("smt-lookup", 1.0, "1 Gb/s"), ("smt-md5", 0.1, "100 Mb/s")):
        # As many as claimed sustain the faster line, so that only the slower one decides.
        claimed = {"smt-lookup": 13, "smt-md5": 11}[key]

        def gbps(kernel: str, organisation: str, step: int, clock: float, line: float = line, claimed: int = claimed) -> float:
            fast = first(claimed, 10 * line)(kernel, organisation, step, clock)
            return fast if fast > 10 * line else first(number, line)(kernel, organisation, step, clock)

        assert failing(sustaining(gbps)[key]) == ("" if most else f"most sustain {word}")


@pytest.mark.parametrize(("number", "holds"), [(10, False), (11, True), (13, True), (15, True), (16, False)])
def test_thirteen_smt_configurations_sustain_lookup_at_10_gbps(number: int, holds: bool) -> None:
    assert failing(sustaining(first(number, 10))["smt-lookup"]) == ("" if holds else "13 sustain 10 Gb/s")


@pytest.mark.parametrize(("number", "holds"), [(8, False), (9, True), (11, True), (13, True), (14, False)])
def test_eleven_smt_configurations_sustain_md5_at_1_gbps(number: int, holds: bool) -> None:
    assert failing(sustaining(first(number, 1))["smt-md5"]) == ("" if holds else "11 sustain 1 Gb/s")


@pytest.mark.parametrize(
    ("kernel", "line", "word"), [("lookup", 1, "1 Gb/s"), ("lookup", 10, "10 Gb/s"), ("md5", 0.1, "100 Mb/s"), ("md5", 1, "1 Gb/s")]
)
@pytest.mark.parametrize(("number", "holds"), [(7, False), (8, True), (12, True), (13, False)])
def test_fgmt_sustains_a_line_with_nearly_as_many(kernel: str, line: float, word: str, number: int, holds: bool) -> None:
    def gbps(k: str, organisation: str, step: int, clock: float) -> float:
        return first(number if organisation == "fgmt" and k == kernel else 10, line)(k, organisation, step, clock)

    assert failing(sustaining(gbps)["fgmt-lines"]) == ("" if holds else f"{KERNELS[kernel]} at {word}")


# --------------------------------------------------------------------------- FGMT


def of_fgmt(all_of: float, one: float | None = None, at: tuple[int, float] = (7, 500.0)) -> dict[str, Claim]:
    """Judge FGMT with these ratios to superscalar: ``all_of`` everywhere, but ``one`` at one place. One context is left out, hence far away."""

    def rate(_kernel: str, organisation: str, step: int, clock: float) -> float:
        if organisation != "fgmt":
            return 1.0
        return 5.0 if step == 1 else one if one is not None and (step, clock) == at else all_of

    return changed(rate)


def test_fgmt_that_is_as_fast_is_not_faster() -> None:
    assert failing(of_fgmt(above(1))["fgmt-lookup"]) == ""
    assert failing(of_fgmt(1)["fgmt-lookup"]) == "it improves in the median"


@pytest.mark.parametrize("at", [(2, 100.0), (7, 500.0)])
def test_fgmt_speeds_lookup_up_by_a_tenth_at_most(at: tuple[int, float]) -> None:
    assert failing(of_fgmt(1.02, 1.1, at)["fgmt-lookup"]) == ""
    assert failing(of_fgmt(1.02, above(1.1), at)["fgmt-lookup"]) == "by no more than 10 % anywhere"
    assert failing(of_fgmt(1.02, 0.5, at)["fgmt-lookup"]) == ""


@pytest.mark.parametrize("at", [(2, 100.0), (7, 500.0)])
@pytest.mark.parametrize(("ratio", "holds"), [(0.95, True), (below(0.95), False), (1.05, True), (above(1.05), False)])
def test_md5_on_fgmt_is_unchanged_within_a_twentieth(ratio: float, holds: bool, at: tuple[int, float]) -> None:
    assert failing(of_fgmt(1, ratio, at)["fgmt-md5"]) == ("" if holds else "unchanged everywhere")


@pytest.mark.parametrize(("median", "fails"), [(0.95, False), (below(0.95), True), (1.05, False), (above(1.05), True)])
def test_md5_on_fgmt_is_unchanged_in_the_median(median: float, fails: bool) -> None:
    assert failing(of_fgmt(median, 2.0)["fgmt-md5"]) == ("all of it" if fails else "unchanged everywhere")


def reasons(ipc: dict[str, float], slow: dict[str, float], latency: int = 2) -> Claim:
    """Judge why FGMT gains little, with this IPC of seven contexts at the highest clock and this share of operations of ``latency`` cycles.

    Other places of the grid say the contrary.
    """
    latencies = {"integer": {"latency_cycles": 1}, "multiply": {"latency_cycles": latency}}
    processor: dict[str, Any] = {"units": [{"executes": latencies}], "caches": {}, "data_cache": "l1d"}
    rest = {"lookup": "of no unit", "md5": "integer"}  # neither counts as slow
    points = [
        replace(p, ipc=ipc[p.kernel], kinds={rest[p.kernel]: 1 - slow[p.kernel], "multiply": slow[p.kernel]})
        if (p.organisation, p.step, p.clock_mhz) == ("fgmt", 7, 500)
        else replace(p, ipc=2.0 * p.step, kinds={"multiply": float(p.kernel == "lookup")})
        for p in grid()
    ]
    return judged(points, processor=processor)["fgmt-why"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_half_of_the_issue_slots_is_not_most(kernel: str) -> None:
    shares = {"lookup": 0.25, "md5": 0.5}
    assert failing(reasons({"lookup": 1.0, "md5": 1.0} | {kernel: 7.0}, shares)) == "most issue slots stay unused"
    assert failing(reasons({"lookup": 1.0, "md5": 1.0} | {kernel: 7.0 * (1 - JUST)}, shares)) == ""


def test_md5_needs_more_operations_of_several_cycles() -> None:
    ipc, fails = {"lookup": 1.0, "md5": 1.0}, "MD5 has more operations of several cycles than lookup"
    assert failing(reasons(ipc, {"lookup": 0.25, "md5": above(0.25)})) == ""
    assert failing(reasons(ipc, {"lookup": 0.25, "md5": 0.25})) == fails
    # An operation of one cycle is none of several.
    assert failing(reasons(ipc, {"lookup": 0.25, "md5": 0.5}, latency=1)) == fails


def test_a_load_takes_the_cycles_of_the_data_cache_too() -> None:
    def told(cache_cycles: int) -> str:
        units = [{"executes": {"integer": {"latency_cycles": 1}, "load": {"latency_cycles": 3}}}, {"executes": {"load": {"latency_cycles": 0}}}]
        processor = {"units": units, "caches": {"l1d": {"latency_cycles": cache_cycles}}, "data_cache": "l1d"}
        points = [replace(p, kinds={"integer": 0.75, "load": 0.25, "branch": 0.0}) for p in grid()]
        return judged(points, processor=processor)["fgmt-why"].measured

    assert told(1).endswith("instructions of more than one cycle: lookup 0.0 %, MD5 0.0 %")  # the faster unit decides
    assert told(2).endswith("instructions of more than one cycle: lookup 25.0 %, MD5 25.0 %")


# --------------------------------------------------------------------------- SMT


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("contexts", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize(("share", "holds"), [(0.9 - JUST, False), (0.9 + JUST, True), (1.1 - JUST, True), (1.1 + JUST, False)])
def test_each_number_of_contexts_is_about_proportional(share: float, holds: bool, contexts: int, kernel: str) -> None:
    one = (kernel, "smt", contexts, 300.0)
    claim = changed(lambda *place: paper_rate(*place) * (share if place == one else 1))["smt-linear"]
    assert failing(claim) == ("" if holds else KERNELS[kernel])


@pytest.mark.parametrize(("ratio", "holds"), [(0.9, True), (below(0.9), False), (1.1, True), (above(1.1), False)])
def test_contexts_against_clock_are_about_as_fast(ratio: float, holds: bool) -> None:
    places = {("md5", "smt", 7, 300.0): 1.0, ("md5", "smt", 4, 500.0): ratio}
    assert failing(changed(lambda *place: places.get(place, 100.0))["contexts-clock"]) == ("" if holds else "all of it")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("organisation", ORGANISATIONS)
def test_half_of_seven_times_exploits_the_parallelism(organisation: str, kernel: str) -> None:
    def gaining(gain: float) -> str:
        def rate(k: str, o: str, step: int, clock: float) -> float:
            # Six contexts, and the lower clocks, would say the contrary.
            if (step, clock) != (7, 500.0):
                return 1.0 if step == 1 else 10.0 if o != "smt" else 0.1
            return gain if (k, o) == (kernel, organisation) else 7.0 if o == "smt" else 1.0

        return failing(changed(rate)["conclusion"])

    part = f"{ORGANISATIONS[organisation]} {'exploits' if organisation == 'smt' else 'does not exploit'} it with {KERNELS[kernel]}"
    assert (gaining(3.5), gaining(below(3.5))) == (("", part) if organisation == "smt" else (part, ""))


# --------------------------------------------------------------------------- what the verdicts are told with


def test_a_twentieth_of_the_cycles_is_worth_saying() -> None:
    points = [replace(p, stalls={"queue": 0.5, "branch": 0.05, "window": below(0.05)}) for p in grid()]
    told = {claim.waits.partition("MD5: ")[2] for claim in judged(points).values() if claim.waits}
    assert told == {"issue queue full 50 %, behind a mispredicted branch 5 %"}


def test_what_explains_a_claim_is_in_the_papers_grid() -> None:
    """A processor that is not simulated would explain nothing, and nobody would miss it."""
    found = judged(replace(p, stalls={"queue": 0.5}) for p in grid())
    for claim in claims.CLAIMS:
        if claim.at is None:
            assert claim.judge is judges.few_misses and found[claim.id].waits == ""
            continue
        organisation, step, clock = claim.at
        assert organisation in ORGANISATIONS and step in STEPS and clock in CLOCKS, claim.id
        assert f"({ORGANISATIONS[organisation]}, {step} at {clock:g} MHz): lookup: issue queue full 50 %; MD5: issue" in found[claim.id].waits


def test_criteria_name_the_limits_that_judge() -> None:
    told = {claim.id: claim.criterion for claim in claims.CLAIMS}
    limits = {
        "clock": "within 5 % of", "parallelism": "2.5 to 3.2 times", "lookup-lines-ss": "90 % sustain 1 Gb/s", "fgmt-lines": "give or take 2",
        "smt-lookup": "13 10 Gb/s, give or take 2", "smt-md5": "11 1 Gb/s, give or take 2", "conclusion": "at least 3.5 times",
        "misses": "below 1 % of accesses", "gains-lookup": "at least 3 % over", "gains-md5": "at least 3 % over", "fgmt-lookup": "more than 10 %",
        "fgmt-md5": "within 5 %", "fgmt-why": "more than 50 %", "smt-linear": "within 10 %", "contexts-clock": "within 10 %",
    }  # fmt: skip
    assert {key: text for key, text in limits.items() if text not in told[key]} == {}


def test_the_conventions_are_frames_those_with_preamble_and_gap_and_the_captions() -> None:
    with_gap = {kernel: size + 20 for kernel, size in BYTES.items()}
    assert list(claims.CONVENTIONS.values()) == [BYTES, with_gap, dict.fromkeys(BYTES, 1500)]
