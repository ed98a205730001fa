"""Tests of the claims of Crowley et al. 1999 on scripted outcomes: each verdict, its figure, and the sensitivities that decide it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from claims_fixtures import PLAN, PROCESSOR, caches, changed, gaining_to, grid, judged, only, paper_rate
from cores_fixtures import PAPER, ideal, run_of
from dpubench.analysis.model import Interval
from dpubench.simulation import models
from dpubench.studies.cores import claims, crowley
from dpubench.studies.cores.model import Claim, PointSummary

# --------------------------------------------------------------------------- all claims


def test_a_processor_that_does_what_the_paper_says_fulfils_every_claim_that_does_not_contradict_another() -> None:
    found = judged(grid())
    verdicts = {claim.id: claim.verdict for claim in found.values()}
    # Two additional sets against five are 2.5 times, and a 21264 has no operation of MD5 that takes several cycles.
    assert {key: verdict for key, verdict in verdicts.items() if verdict != "holds"} == {"fgmt-why": "partly"}
    assert found["fgmt-why"].part == "holds: most issue slots stay unused; does not hold: MD5 has more operations of several cycles than lookup"
    assert found["smt-lookup"].measured == "34 of 35 SMT configurations sustain 1 Gb/s, 13 of 35 10 Gb/s (64 B a lookup)"
    assert found["smt-md5"].measured == "34 of 35 SMT configurations sustain 100 Mb/s, 10 of 35 1 Gb/s (1500 B a message)"
    assert found["md5-lines-ss"].measured.startswith("one unit set sustains 100 Mb/s from 200 MHz on; 0 of 35")
    assert found["parallelism"].measured == "5 additional sets against 2; in instructions per cycle 5.60 against 2.00, 2.80 times"
    assert found["contexts-clock"].measured == "MD5 0.952 times"
    assert found["misses"].measured == (
        "lookup data 0.40 % of accesses (1.0 per 1000 instructions); lookup instructions 0.010 % of accesses (0.025 per 1000 instructions); "
        "MD5 data 0.40 % of accesses (1.0 per 1000 instructions); MD5 instructions 0.010 % of accesses (0.025 per 1000 instructions); "
        "32 KiB, 1, 2, 4 ways"
    )


def test_all_sixteen_claims_are_there_once_and_eight_lead() -> None:
    assert sorted(claim.id for claim in claims.CLAIMS) == [
        "clock", "conclusion", "contexts-clock", "fgmt-lines", "fgmt-lookup", "fgmt-md5", "fgmt-why", "gains-lookup", "gains-md5", "lookup-lines-ss",
        "md5-lines-ss", "misses", "parallelism", "smt-linear", "smt-lookup", "smt-md5",
    ]  # fmt: skip
    assert [claim.leading for claim in claims.CLAIMS] == [True] * 8 + [False] * 8
    assert all("olds:" in claim.criterion or "olds" in claim.criterion for claim in claims.CLAIMS)


def test_other_code_than_the_papers_is_named_with_every_verdict() -> None:
    assert {claim.code for claim in judged(grid()).values()} == {"A64 code stands for Alpha code"}
    own = [replace(p, labels=[models.LABEL]) for p in grid()]
    assert {claim.code for claim in judged(own).values()} == {""}


def test_what_was_not_simulated_is_said_and_not_judged() -> None:
    found = judged(only(grid(), lambda p: p.organisation != "fgmt"))
    assert (found["fgmt-md5"].verdict, found["fgmt-md5"].sensitivities) == ("not run", [])
    assert found["fgmt-md5"].measured == "not simulated: md5 on fgmt"
    assert found["smt-lookup"].verdict == "holds"
    gap = judged(only(grid(), lambda p: (p.organisation, p.step, p.clock_mhz) != ("smt", 7, 300)))
    assert gap["smt-lookup"].measured == "not simulated: lookup on smt with 7 at 300 MHz"
    assert gap["contexts-clock"].measured == "not simulated: md5 on smt with 7 at 300 MHz"
    nothing = judged(only(grid(), lambda p: p.kernel == "lookup"))
    runs = {claim.id for claim in nothing.values() if claim.verdict != "not run"}
    assert runs == {"lookup-lines-ss", "smt-lookup", "gains-lookup", "fgmt-lookup"}
    assert claims.evaluate([], PLAN, PROCESSOR) == []
    assert claims.evaluate(grid(), PLAN.model_copy(update={"claims": None}), PROCESSOR) == []


def test_a_claim_says_what_the_kernels_wait_for() -> None:
    points = [replace(p, stalls={"queue": 0.54, "branch": 0.21, "window": 0.01}) if p.kernel == "lookup" else p for p in grid()]
    found = judged(points)
    where = "cycles in which no instruction enters the window (superscalar, 7 at 500 MHz)"
    told = f"{where}: lookup: issue queue full 54 %, behind a mispredicted branch 21 %"
    assert found["parallelism"].waits == told
    assert found["smt-linear"].waits == found["smt-lookup"].waits
    assert found["smt-lookup"].waits.startswith("cycles in which no instruction enters the window (SMT, 7 at")
    assert found["misses"].waits == "" and judged(grid())["parallelism"].waits == ""


def test_points_that_failed_count_as_not_simulated() -> None:
    points = grid()
    broken = [replace(p, messages_per_s=None, failure="it crashed") if (p.organisation, p.kernel) == ("smt", "md5") else p for p in points]
    assert judged(broken)["smt-md5"].verdict == "not run"


# --------------------------------------------------------------------------- the paper's own figures


def test_the_paper_contradicts_itself_in_lines_of_lookup() -> None:
    told = judged(grid())["lookup-lines-ss"].arithmetic
    assert "10 Gb/s of the captions' 1500 B are 833,333 lookups/s of 120 instructions, 100 million instructions/s" in told
    assert "At 64 B it is 19.5 million lookups/s, 2,344 million instructions/s, or 4.7 a cycle at 500 MHz" in told


def test_the_paper_contradicts_itself_in_lines_of_md5() -> None:
    assert crowley.smt_configurations(crowley.TABLE_2["md5"], 1, 1500) == 9
    assert "at most 9 of 35 configurations reach it, not eleven" in judged(grid())["smt-md5"].arithmetic
    assert "it needs at least 172 MHz" in judged(grid())["md5-lines-ss"].arithmetic


def test_the_papers_own_counts_leave_md5_just_below_one_percent() -> None:
    assert "23.4 lines of 64 B" in crowley.misses() and "= 2,369 accesses they are 0.99 %" in crowley.misses()
    assert "5 / 2 = 2.5" in crowley.parallelism() and "6 / 3 = 2.0" in crowley.parallelism()
    assert "0.952" in crowley.contexts_for_clock()


# --------------------------------------------------------------------------- single claims


def test_a_rate_that_memory_holds_back_is_not_linear_in_the_clock() -> None:
    def bound(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) / (1 + clock / 1000)

    claim = changed(bound)["clock"]
    assert claim.verdict == "does not hold"
    assert claim.measured.startswith("median of 42 series: 73 % of proportional; lowest: 73 % (")
    one = changed(lambda k, o, s, c: bound(k, o, s, c) if (k, o, s) == ("md5", "fgmt", 7) else paper_rate(k, o, s, c))["clock"]
    assert (one.verdict, one.part.partition("; does not hold: ")[2]) == ("partly", "MD5 on FGMT")
    assert one.measured == "median of 42 series: 100 % of proportional; lowest: 73 % (MD5, FGMT, 7)"


@pytest.mark.parametrize(
    ("lookup", "md5", "verdict", "fails"),
    [(0.009, 0.0099, "holds", ""), (0.009, 0.02, "partly", "MD5's data"), (0.01, 0.05, "partly", "lookup's data")],
)
def test_misses_are_those_of_32_kib_and_more(lookup: float, md5: float, verdict: str, fails: str) -> None:
    points = [*only(grid(), lambda p: not p.caches), *caches(lookup, md5_misses=md5), *caches(0.5, size_bytes=8 << 10)]
    claim = judged(points)["misses"]
    assert claim.verdict == verdict and (fails in claim.part.partition("does not hold")[2] if fails else claim.part == "")
    assert judged([*points, *caches(0.5, size_bytes=64 << 10)])["misses"].verdict == "partly"
    assert judged([*only(grid(), lambda p: not p.caches), *caches(0.5, size_bytes=8 << 10)])["misses"].verdict == "not run"


@pytest.mark.parametrize(
    ("lookup", "md5", "of_lookup", "of_md5", "of_both"),
    [
        (6, 3, "holds", "holds", "holds"),
        (7, 4, "partly", "does not hold", "partly"),
        (3, 2, "partly", "partly", "partly"),
        (2, 1, "does not hold", "partly", "partly"),
        (2, 2, "does not hold", "partly", "does not hold"),
        (2, 4, "does not hold", "does not hold", "does not hold"),
    ],
)
def test_gains_of_additional_unit_sets(lookup: int, md5: int, of_lookup: str, of_md5: str, of_both: str) -> None:
    found = changed(gaining_to(lookup, md5))
    assert found["gains-lookup"].measured.startswith(f"lookup gains with {lookup - 1} additional set{'s' * (lookup != 2)} (+10.0 %")
    assert found["gains-md5"].measured.startswith(f"MD5 gains with {md5 - 1} additional set{'s' * (md5 != 2)} (")
    assert (found["gains-lookup"].verdict, found["gains-md5"].verdict) == (of_lookup, of_md5)
    # One set more for lookup and none for MD5 is more, but not nearly three times as many.
    assert found["parallelism"].verdict == of_both if md5 > 1 else "does not hold"
    assert bool(found["gains-lookup"].part) == (of_lookup == "partly") and bool(found["gains-md5"].part) == (of_md5 == "partly")


def test_linear_gains_of_lookup_are_more_than_the_paper_says() -> None:
    claim = changed(lambda k, _o, s, c: c * 1e3 * (min(s, 6) if k == "lookup" else 1) * 1.001 ** min(s, 6))["gains-lookup"]
    assert (claim.verdict, claim.part.partition("; ")[2]) == ("partly", "does not hold: it gains linearly")


@pytest.mark.parametrize(
    ("factor", "of_lookup", "of_md5", "of_lines"),
    [
        (1.05, "holds", "holds", "holds"),
        (0.97, "partly", "holds", "holds"),
        (1.5, "partly", "does not hold", "partly"),
        (0.6, "partly", "does not hold", "partly"),
    ],
)
def test_fgmt_is_set_against_superscalar_of_as_many_unit_sets(factor: float, of_lookup: str, of_md5: str, of_lines: str) -> None:
    found = changed(lambda k, o, s, c: paper_rate(k, o, s, c) * (factor if o == "fgmt" else 1))
    assert [found[key].verdict for key in ("fgmt-lookup", "fgmt-md5", "fgmt-lines")] == [of_lookup, of_md5, of_lines]
    assert f"{factor:.2f} times in the median" in found["fgmt-md5"].measured.replace("0.970", "0.97").replace("0.600", "0.60")


@pytest.mark.parametrize(("loss", "verdict"), [(0.01, "holds"), (0.03, "does not hold")])
def test_smt_loses_a_share_with_each_further_context(loss: float, verdict: str) -> None:
    def rate(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) * (1 - loss * (step - 1) if organisation == "smt" else 1)

    claim = changed(rate)["smt-linear"]
    assert claim.verdict == verdict
    assert f"lowest: {100 * (1 - 6 * loss):.0f} % (MD5, 7 contexts at" in claim.measured or "(lookup, 7 contexts at" in claim.measured
    one = changed(lambda k, o, s, c: rate(k, o, s, c) if k == "md5" else paper_rate(k, o, s, c))["smt-linear"]
    assert one.part == ("" if loss < 0.02 else "holds: lookup; does not hold: MD5")


def test_counts_of_configurations_have_slack_and_parts() -> None:
    def faster(factor: float, organisation: str = "") -> dict[str, Claim]:
        return changed(lambda k, o, s, c: paper_rate(k, o, s, c) * (factor if organisation in ("", o) else 1))

    assert faster(0.93)["smt-lookup"].measured == "34 of 35 SMT configurations sustain 1 Gb/s, 12 of 35 10 Gb/s (64 B a lookup)"
    assert faster(0.93)["smt-lookup"].verdict == "holds"
    assert faster(2)["smt-lookup"].part == "holds: most sustain 1 Gb/s; does not hold: 13 sustain 10 Gb/s"
    assert faster(0.05)["smt-lookup"].verdict == "does not hold"
    assert faster(30, "superscalar")["lookup-lines-ss"].part == "holds: nearly every one sustains 1 Gb/s; does not hold: none sustains 10 Gb/s"
    assert faster(0.05)["lookup-lines-ss"].part.startswith("holds: none sustains 10 Gb/s")
    assert faster(30, "superscalar")["md5-lines-ss"].verdict == "partly"
    assert faster(0.5)["md5-lines-ss"].part.partition("does not hold: ")[2] == "one unit set at 200 MHz sustains 100 Mb/s"
    assert faster(0.5)["md5-lines-ss"].measured.startswith("one unit set sustains 100 Mb/s from 400 MHz on")
    assert faster(0.1)["md5-lines-ss"].measured.startswith("one unit set sustains 100 Mb/s at no clock")


def test_the_conclusion_names_the_organisation_that_disagrees() -> None:
    slow = changed(lambda k, o, s, c: paper_rate(k, "superscalar" if o == "smt" and k == "md5" else o, s, c))["conclusion"]
    assert (slow.verdict, slow.part.partition("does not hold: ")[2]) == ("partly", "SMT exploits it with MD5")
    wide = changed(lambda k, o, s, c: paper_rate(k, "smt", s, c))["conclusion"]
    assert wide.part.partition("does not hold: ")[2].count("does not exploit it") == 4


def test_contexts_against_clock_is_of_md5() -> None:
    def poor(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) * (0.5 if organisation == "smt" and step == 7 and kernel == "md5" else 1)

    claim = changed(poor)["contexts-clock"]
    assert (claim.verdict, claim.measured) == ("does not hold", "MD5 1.90 times")


def test_what_the_intervals_of_samples_leave_open_is_not_decidable() -> None:
    def loose(p: PointSummary) -> PointSummary:
        assert p.messages_per_s is not None
        rate = p.messages_per_s.value
        return replace(p, messages_per_s=Interval(rate, 0.8 * rate, 1.2 * rate))

    found = judged([loose(p) for p in grid()])
    assert found["smt-lookup"].measured == "34 of 35 SMT configurations sustain 1 Gb/s, 9 to 16 of 35 10 Gb/s (64 B a lookup)"
    assert {found[key].verdict for key in ("smt-lookup", "fgmt-lookup", "contexts-clock", "smt-linear")} == {"not decidable"}
    assert found["smt-lookup"].part == "the intervals of the samples are too wide for: 13 sustain 10 Gb/s"
    assert found["lookup-lines-ss"].verdict == "not decidable" and found["md5-lines-ss"].verdict == "holds"
    # Processors that simulated the same messages are compared as they are: one context of superscalar, equal numbers of contexts.
    assert {found[key].verdict for key in ("gains-lookup", "gains-md5", "clock")} == {"holds"}
    # Other messages have an error between them.
    others = judged([replace(loose(p), messages=int(p.step * p.clock_mhz)) for p in grid()])
    assert {others[key].verdict for key in ("gains-lookup", "gains-md5", "clock")} == {"not decidable"}


# --------------------------------------------------------------------------- sensitivities


def test_a_variant_that_changes_the_verdict_decides() -> None:
    def narrow(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) * (1 - 0.03 * (step - 1) if organisation == "smt" else 1)

    wide = [p for p in grid(variant="perfect") if not p.caches]
    claim = judged([*grid(narrow), *wide])["smt-linear"]
    assert claim.verdict == "does not hold"
    assert [(s.what, s.verdict) for s in claim.deciding] == [("variant perfect", "holds")]
    # A variant with the same verdict is listed with its figure. A variant with the same figure too is not listed.
    narrower = grid(lambda k, o, s, c: narrow(k, o, s, c) * (0.99 if s > 3 else 1), variant="perfect")
    same = judged([*grid(narrow), *only(narrower, lambda p: not p.caches)])
    assert [(s.what, s.verdict) for s in same["smt-linear"].sensitivities] == [("variant perfect", "does not hold")]
    assert same["smt-linear"].deciding == []
    assert all("variant" not in s.what for s in judged(grid())["clock"].sensitivities)


def test_the_bytes_of_a_message_on_the_line_are_judged_by_every_convention() -> None:
    claim, part = judged(grid())["lookup-lines-ss"], "holds: nearly every one sustains 1 Gb/s; does not hold: none sustains 10 Gb/s"
    assert [(s.what, s.verdict, s.part) for s in claim.sensitivities] == [
        ("84 B a lookup, 1520 B an MD5 (with preamble and gap)", "partly", part),
        ("1500 B for both (the paper's captions)", "partly", part),
    ]  # fmt: skip
    assert "(84 B a lookup)" in claim.sensitivities[0].measured and "(1500 B a lookup)" in claim.sensitivities[1].measured
    with_gap = judged(grid(), PLAN.model_copy(update={"line_overhead": 20}))["lookup-lines-ss"]
    assert "(84 B a lookup)" in with_gap.measured and with_gap.sensitivities[0].what == "64 B a lookup, 1500 B an MD5"


def test_other_kernels_play_the_part_of_the_papers() -> None:
    plan = PLAN.model_copy(update={"claims": PLAN.claims.model_copy(update={"lookup": ["lookup", "lookup-dir"]}) if PLAN.claims else None})
    fast = [replace(p, kernel="lookup-dir", messages_per_s=p.messages_per_s and replace(p.messages_per_s, value=4 * p.messages_per_s.value))
            for p in grid() if p.kernel == "lookup" and not p.caches]  # fmt: skip
    claim = judged([*grid(), *fast], plan)["smt-lookup"]
    assert ("lookup by lookup-dir", "partly") in [(s.what, s.verdict) for s in claim.deciding]


def test_claims_of_a_whole_run(tmp_path: Path) -> None:
    run = run_of(tmp_path, PAPER, ideal)
    found = {claim.id: claim for claim in run.claims}
    assert len(found) == 16
    assert found["clock"].verdict == "holds"
    assert found["smt-linear"].verdict == "holds"
    assert found["smt-lookup"].measured == "34 of 35 SMT configurations sustain 1 Gb/s, 13 of 35 10 Gb/s (64 B a lookup)"
    assert found["misses"].verdict == "holds"
    assert found["fgmt-md5"].verdict == "holds"
    assert run.labels == ["modelled, general-purpose cores only, no accelerators", "A64 trace"]
