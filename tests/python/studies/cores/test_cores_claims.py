"""Tests of the claims of Crowley et al. 1999 on scripted outcomes: each verdict, its figure, and the sensitivities that decide it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from cores_fixtures import PAPER, ideal, plan_of, point, run_of
from dpubench.studies.cores import claims
from dpubench.studies.cores.grid import Grid
from dpubench.studies.cores.model import CacheUse, Claim, PointSummary
from dpubench.studies.cores.plan import Plan

CLOCKS = (100.0, 200.0, 300.0, 400.0, 500.0)
STEPS = range(1, 8)
PLAN = plan_of(PAPER)

Rate = Callable[[str, str, int, float], float]


def paper_rate(kernel: str, organisation: str, step: int, clock_mhz: float) -> float:
    """Return the messages per second of a processor that does what the paper claims."""
    cycles = {"lookup": 67.0, "md5": 18_500.0}[kernel]
    if organisation == "smt":
        return step * clock_mhz * 1e6 / cycles
    useful = min(step, {"lookup": 6, "md5": 3}[kernel])
    return clock_mhz * 1e6 / cycles * (1 + 0.1 * (useful - 1))


def paper_ipc(kernel: str) -> float:
    return {"lookup": 5.6, "md5": 2.0}[kernel]


def grid(rate: Rate = paper_rate, ipc: Callable[[str], float] = paper_ipc, **more: str) -> list[PointSummary]:
    """Return points of every configuration of the paper, and of 32 KiB caches with few misses at three associativities."""
    points = [
        point(kernel, organisation, step, clock, rate(kernel, organisation, step, clock), ipc=ipc(kernel), **more)
        for kernel in ("lookup", "md5") for organisation in ("superscalar", "fgmt", "smt") for step in STEPS for clock in CLOCKS
    ]  # fmt: skip
    return points + caches(0.004)


def caches(misses: float, size_bytes: int = 32 << 10, md5_misses: float | None = None) -> list[PointSummary]:
    found = []
    for kernel, share in (("lookup", misses), ("md5", misses if md5_misses is None else md5_misses)):
        for ways in (1, 2, 4):
            settings = {"first_caches/size_bytes": f"{size_bytes >> 10}KiB", "first_caches/ways": ways}
            made = point(kernel, "superscalar", 1, 500.0, 1e6, variant=f"caches {ways}", settings=settings)
            made.instruction_cache, made.data_cache = "l1i", "l1d"
            made.caches = [CacheUse("l1i", size_bytes, ways, 10_000, 1), CacheUse("l1d", size_bytes, ways, 10_000, round(10_000 * share))]
            found.append(made)
    return found


def judged(points: Iterable[PointSummary], plan: Plan = PLAN) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims.evaluate(list(points), plan)}


def only(points: Iterable[PointSummary], keep: Callable[[PointSummary], bool]) -> list[PointSummary]:
    return [p for p in points if keep(p)]


def changed(rate: Rate) -> dict[str, Claim]:
    return judged(grid(rate))


# --------------------------------------------------------------------------- all claims


def test_a_processor_that_does_what_the_paper_says_reproduces_every_claim() -> None:
    found = judged(grid())
    assert {claim.id: claim.verdict for claim in found.values()} == {claim.id: "reproduced" for claim in claims.CLAIMS}
    assert found["smt-10g"].measured == "13 of 35 SMT configurations sustain 10 Gb/s"
    assert found["lookup-lines"].measured == "96 of 105 configurations sustain 1 Gb/s (91 %), 0 superscalar ones 10 Gb/s"
    assert found["parallelism"].measured == "2.80 times: 5.60 against 2.00 instructions per cycle with 7 unit sets"
    assert found["contexts-clock"].measured == "lookup 0.952 times, md5 0.952 times"


def test_every_claim_of_the_issue_is_there_once() -> None:
    assert [claim.id for claim in claims.CLAIMS] == [
        "clock", "misses", "unit-sets", "parallelism", "fgmt", "smt-linear", "lookup-lines", "smt-10g", "md5-1g", "contexts-clock",
    ]  # fmt: skip
    assert all(claim.criterion.count("eproduced") and "partly" in claim.criterion for claim in claims.CLAIMS)


def test_what_was_not_simulated_is_said_and_not_judged() -> None:
    found = judged(only(grid(), lambda p: p.organisation != "fgmt"))
    assert (found["fgmt"].verdict, found["fgmt"].sensitivities) == ("not run", [])
    assert found["fgmt"].measured == "not simulated: lookup and md5 on fgmt at a common clock"
    assert found["smt-10g"].verdict == "reproduced"
    gap = judged(only(grid(), lambda p: (p.organisation, p.step, p.clock_mhz) != ("smt", 7, 300)))
    assert gap["smt-10g"].measured == "not simulated: lookup on smt with 7 at 300 MHz"
    assert gap["contexts-clock"].measured == "not simulated: lookup on smt with 7 at 300 MHz"
    nothing = judged(only(grid(), lambda p: p.kernel == "lookup"))
    assert {claim.verdict for claim in nothing.values()} == {"not run", "reproduced"}
    assert nothing["lookup-lines"].verdict == "not run"  # it asks for the organisations of both kernels
    assert claims.evaluate([], PLAN) == []
    assert claims.evaluate(grid(), PLAN.model_copy(update={"claims": None})) == []


def test_a_claim_says_what_the_kernels_wait_for() -> None:
    points = [replace(p, stalls={"queue": 0.54, "branch": 0.21, "window": 0.01}) if p.kernel == "lookup" else p for p in grid()]
    found = judged(points)
    where = "cycles in which no instruction enters the window (superscalar, 7 at 500 MHz)"
    told = f"{where}: lookup: issue queue full 54 %, behind a mispredicted branch 21 %"
    assert found["parallelism"].waits == told
    assert found["smt-linear"].waits.startswith("cycles in which no instruction enters the window (SMT, 7 at 500 MHz)")
    assert found["misses"].waits == "" and judged(grid())["parallelism"].waits == ""


def test_points_that_failed_count_as_not_simulated() -> None:
    points = grid()
    broken = [replace(p, messages_per_s=None, failure="it crashed") if (p.organisation, p.kernel) == ("smt", "md5") else p for p in points]
    assert judged(broken)["md5-1g"].verdict == "not run"


# --------------------------------------------------------------------------- single claims


def test_a_rate_that_memory_holds_back_is_not_linear_in_the_clock() -> None:
    def bound(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) / (1 + clock / 1000)

    claim = changed(bound)["clock"]
    assert claim.verdict == "not reproduced"
    assert claim.measured.startswith("median of 42 series: 73 % of proportional; lowest: 73 % (")
    one = changed(lambda k, o, s, c: bound(k, o, s, c) if (k, o, s) == ("md5", "fgmt", 7) else paper_rate(k, o, s, c))["clock"]
    assert one.verdict == "partly"
    assert one.measured == "median of 42 series: 100 % of proportional; lowest: 73 % (md5, fgmt, 7)"


@pytest.mark.parametrize(("lookup", "md5", "verdict"), [(0.009, 0.0099, "reproduced"), (0.009, 0.02, "partly"), (0.01, 0.05, "not reproduced")])
def test_misses_are_those_of_32_kib(lookup: float, md5: float, verdict: str) -> None:
    points = [*only(grid(), lambda p: not p.caches), *caches(lookup, md5_misses=md5), *caches(0.5, size_bytes=8 << 10)]
    claim = judged(points)["misses"]
    assert claim.verdict == verdict
    assert f"lookup {100 * lookup:.2g} % (1 way)" in claim.measured.replace("0.90", "0.9").replace("1.0 %", "1 %")
    assert judged([*only(grid(), lambda p: not p.caches), *caches(0.5, size_bytes=8 << 10)])["misses"].verdict == "not run"


def gaining_to(lookup: int, md5: int) -> Rate:
    def rate(kernel: str, organisation: str, step: int, clock: float) -> float:
        return clock * 1e3 * (1 + 0.1 * (min(step, {"lookup": lookup, "md5": md5}[kernel]) - 1))

    return rate


@pytest.mark.parametrize(
    ("lookup", "md5", "verdict", "reading"),
    [
        (6, 3, "reproduced", "additional to the first"),
        (5, 2, "reproduced", "in all"),
        (6, 2, "partly", ""),  # each kernel fits another reading
        (7, 3, "partly", ""),
        (7, 1, "not reproduced", ""),
    ],
)
def test_both_readings_of_the_first_five_additional_unit_sets(lookup: int, md5: int, verdict: str, reading: str) -> None:
    claim = changed(gaining_to(lookup, md5))["unit-sets"]
    assert claim.verdict == verdict
    assert f"lookup gains up to {lookup} sets in all (+10.0 %" in claim.measured and f"md5 gains up to {md5} sets in all" in claim.measured
    assert ("fits the sets counted as " + reading in claim.measured) == bool(reading)


@pytest.mark.parametrize(("lookup", "verdict"), [(3.3, "partly"), (5.0, "reproduced"), (6.4, "reproduced"), (8.0, "partly"), (2.0, "not reproduced")])
def test_parallelism_is_instructions_per_cycle_with_seven_unit_sets(lookup: float, verdict: str) -> None:
    assert judged(grid(ipc=lambda kernel: lookup if kernel == "lookup" else 2.0))["parallelism"].verdict == verdict


@pytest.mark.parametrize(("factor", "of", "verdict"), [(0.95, "all", "reproduced"), (0.7, "all", "not reproduced"), (0.5, "md5", "partly")])
def test_fgmt_is_set_against_superscalar_of_as_many_unit_sets(factor: float, of: str, verdict: str) -> None:
    def rate(kernel: str, organisation: str, step: int, clock: float) -> float:
        slow = organisation == "fgmt" and (of == "all" or (kernel == of and step == 7))
        return paper_rate(kernel, organisation, step, clock) * (factor if slow else 1)

    claim = changed(rate)["fgmt"]
    assert claim.verdict == verdict
    assert f"from {factor:.3f}" in claim.measured


@pytest.mark.parametrize(("loss", "verdict"), [(0.01, "reproduced"), (0.03, "partly"), (0.08, "not reproduced")])
def test_smt_loses_a_share_with_each_further_context(loss: float, verdict: str) -> None:
    def rate(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) * (1 - loss * (step - 1) if organisation == "smt" else 1)

    claim = changed(rate)["smt-linear"]
    assert claim.verdict == verdict
    assert f"lowest: {100 * (1 - 6 * loss):.0f} % (lookup, 7 contexts at" in claim.measured


def test_counts_of_configurations_have_slack_and_halves() -> None:
    def faster(factor: float, organisation: str = "") -> dict[str, Claim]:
        return changed(lambda k, o, s, c: paper_rate(k, o, s, c) * (factor if organisation in ("", o) else 1))

    assert faster(0.93)["smt-10g"].measured == "12 of 35 SMT configurations sustain 10 Gb/s"
    assert faster(0.93)["smt-10g"].verdict == "reproduced"
    assert faster(2)["smt-10g"].verdict == "partly"
    assert faster(0.1)["smt-10g"].verdict == "not reproduced"
    assert faster(3, "superscalar")["lookup-lines"].verdict == "partly"  # some superscalar configurations reach 10 Gb/s
    assert faster(0.05)["lookup-lines"].verdict == "partly"  # no configuration reaches 10 Gb/s, few reach 1 Gb/s
    assert faster(4, "superscalar")["md5-1g"].verdict == "partly"
    assert faster(0.1)["md5-1g"].verdict == "partly"  # no superscalar configuration reaches it, which is half of the claim


def test_contexts_against_clock() -> None:
    def poor(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) * (0.5 if organisation == "smt" and step == 7 and kernel == "md5" else 1)

    claim = changed(poor)["contexts-clock"]
    assert (claim.verdict, claim.measured) == ("partly", "lookup 0.952 times, md5 1.90 times")


# --------------------------------------------------------------------------- both sides of each limit


def below(value: float) -> float:
    return math.nextafter(value, 0)


def above(value: float) -> float:
    return math.nextafter(value, math.inf)


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(below(1.5), "not reproduced"), (1.5, "partly"), (below(2.5), "partly"), (2.5, "reproduced"), (3.2, "reproduced"), (above(3.2), "partly")],
)
def test_the_limits_of_parallelism(ratio: float, verdict: str) -> None:
    assert judged(grid(ipc=lambda kernel: ratio if kernel == "lookup" else 1.0))["parallelism"].verdict == verdict


def with_rates(monkeypatch: pytest.MonkeyPatch, share: Callable[[str, str, int, float], float]) -> dict[str, Claim]:
    """Judge rates that are in proportion to the clock (and to the contexts of SMT), each times ``share`` of it."""

    def rate(_grid: Grid, role: str, organisation: str, step: int, clock: float) -> float:
        return clock * (step if organisation == "smt" else 1) * share(role, organisation, step, clock)

    monkeypatch.setattr(Grid, "rate", rate)
    return judged(grid())


@pytest.mark.parametrize(("least", "verdict"), [(0.95, "reproduced"), (0.9499, "partly")])
def test_the_limit_of_a_single_series_over_the_clock(monkeypatch: pytest.MonkeyPatch, least: float, verdict: str) -> None:
    one = with_rates(monkeypatch, lambda r, o, s, c: least if (r, o, s, c) == ("md5", "fgmt", 7, 500) else 1.0)
    assert one["clock"].verdict == verdict


@pytest.mark.parametrize(("median", "verdict"), [(0.75, "partly"), (0.7499, "not reproduced")])
def test_the_limit_of_the_median_over_the_clock(monkeypatch: pytest.MonkeyPatch, median: float, verdict: str) -> None:
    assert with_rates(monkeypatch, lambda _r, _o, _s, c: median if c == 500 else 1.0)["clock"].verdict == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(0.9, "reproduced"), (0.8999, "not reproduced"), (1.1, "reproduced"), (1.1001, "not reproduced")])
def test_the_limits_of_fgmt(monkeypatch: pytest.MonkeyPatch, ratio: float, verdict: str) -> None:
    assert with_rates(monkeypatch, lambda _r, o, _s, _c: ratio if o == "fgmt" else 1.0)["fgmt"].verdict == verdict
    one = with_rates(monkeypatch, lambda r, o, s, _c: ratio if (r, o, s) == ("lookup", "fgmt", 2) else 1.0)["fgmt"]
    assert one.verdict == ("reproduced" if verdict == "reproduced" else "partly")


@pytest.mark.parametrize(("share", "verdict"), [(0.9, "reproduced"), (0.8999, "partly"), (0.75, "partly"), (0.7499, "not reproduced")])
def test_the_limits_of_smt(monkeypatch: pytest.MonkeyPatch, share: float, verdict: str) -> None:
    assert with_rates(monkeypatch, lambda _r, o, s, _c: share if o == "smt" and s > 1 else 1.0)["smt-linear"].verdict == verdict
    for step in (2, 7):  # each number of contexts counts, the first and the last too
        one = with_rates(monkeypatch, lambda r, o, s, c, step=step: share if (r, o, s, c) == ("md5", "smt", step, 100) else 1.0)  # type: ignore[misc]
        assert one["smt-linear"].verdict == ("reproduced" if share >= 0.9 else "partly")


@pytest.mark.parametrize(("gain", "last"), [(0.03, 7), (0.0299, 1)])
def test_the_limit_of_a_gain(monkeypatch: pytest.MonkeyPatch, gain: float, last: int) -> None:
    found = with_rates(monkeypatch, lambda _r, o, s, _c: (1 + gain + 1e-12) ** s if o == "superscalar" else 1.0)
    assert f"lookup gains up to {last} sets in all" in found["unit-sets"].measured


@pytest.mark.parametrize(("ratio", "verdict"), [(0.9, "reproduced"), (0.8999, "not reproduced"), (1.0999, "reproduced"), (1.1001, "not reproduced")])
def test_the_limits_of_contexts_against_clock(monkeypatch: pytest.MonkeyPatch, ratio: float, verdict: str) -> None:
    found = with_rates(monkeypatch, lambda _r, _o, s, c: {(4, 500): ratio / 2000, (7, 300): 1 / 2100}.get((s, int(c)), 1.0))
    assert found["contexts-clock"].verdict == verdict


def with_lines(monkeypatch: pytest.MonkeyPatch, gbps: Callable[[str, str, int, float], float]) -> dict[str, Claim]:
    """Judge configurations that sustain lines of these rates, exactly."""
    monkeypatch.setattr(Grid, "gbps", lambda _grid, p: gbps(p.kernel, p.organisation, p.step, p.clock_mhz))
    return judged(grid())


def place(step: int, clock: float) -> int:
    """Return a configuration's number among those of its organisation, from 0 to 34."""
    return (step - 1) * len(CLOCKS) + CLOCKS.index(clock)


@pytest.mark.parametrize(
    ("number", "verdict"), [(0, "not reproduced"), (10, "partly"), (11, "reproduced"), (13, "reproduced"), (15, "reproduced"), (16, "partly")]
)
def test_configurations_that_just_sustain_10_gbps(monkeypatch: pytest.MonkeyPatch, number: int, verdict: str) -> None:
    claim = with_lines(monkeypatch, lambda _k, _o, s, c: 10.0 if place(s, c) < number else below(10.0))["smt-10g"]
    assert (claim.verdict, claim.measured) == (verdict, f"{number} of 35 SMT configurations sustain 10 Gb/s")


@pytest.mark.parametrize(("number", "verdict"), [(8, "partly"), (9, "reproduced"), (11, "reproduced"), (13, "reproduced"), (14, "partly")])
def test_configurations_that_just_sustain_md5_at_1_gbps(monkeypatch: pytest.MonkeyPatch, number: int, verdict: str) -> None:
    def gbps(_kernel: str, organisation: str, step: int, clock: float) -> float:
        return 1.0 if organisation == "smt" and place(step, clock) < number else below(1.0)

    assert with_lines(monkeypatch, gbps)["md5-1g"].verdict == verdict
    one = with_lines(monkeypatch, lambda k, o, s, c: 1.0 if (o, s, c) == ("superscalar", 7, 500) else gbps(k, o, s, c))["md5-1g"]
    assert one.verdict == "partly" and one.measured.endswith("1 of 35 superscalar ones")


@pytest.mark.parametrize(("slow", "verdict"), [(10, "reproduced"), (11, "partly")])
def test_nine_of_ten_configurations_are_nearly_all(monkeypatch: pytest.MonkeyPatch, slow: int, verdict: str) -> None:
    claim = with_lines(monkeypatch, lambda _k, o, s, c: below(1.0) if o == "fgmt" and place(s, c) < slow else 1.0)["lookup-lines"]
    assert claim.verdict == verdict and claim.measured.startswith(f"{105 - slow} of 105 configurations")
    fast = with_lines(monkeypatch, lambda _k, o, s, c: 10.0 if (o, s, c) == ("superscalar", 7, 500) else 1.0)["lookup-lines"]
    assert fast.verdict == "partly" and fast.measured.endswith("1 superscalar ones 10 Gb/s")


@pytest.mark.parametrize(("misses", "verdict"), [(0.0099, "reproduced"), (0.01, "not reproduced")])
def test_one_per_cent_of_misses_is_not_under_it(misses: float, verdict: str) -> None:
    assert judged([*only(grid(), lambda p: not p.caches), *caches(misses)])["misses"].verdict == verdict


def test_seven_unit_sets_are_needed() -> None:
    for missing in (1, 4, 7):
        found = judged(only(grid(), lambda p, m=missing: p.organisation != "superscalar" or p.step != m or bool(p.caches)))  # type: ignore[misc]
        assert found["unit-sets"].verdict == "not run"
    assert judged(only(grid(), lambda p: p.organisation != "superscalar" or p.step != 7))["parallelism"].verdict == "not run"


def test_what_explains_a_claim_is_in_the_papers_grid() -> None:
    """A processor that is not simulated would explain nothing, and nobody would miss it."""
    waits = judged(replace(p, stalls={"queue": 0.5, "branch": 0.05, "window": below(0.05)}) for p in grid())
    for claim in claims.CLAIMS:
        told = waits[claim.id].waits
        assert bool(told) == (claim.at is not None)
        assert not told or told.endswith("md5: issue queue full 50 %, behind a mispredicted branch 5 %")


# --------------------------------------------------------------------------- sensitivities


def test_a_variant_that_changes_the_verdict_decides() -> None:
    def narrow(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) * (1 - 0.03 * (step - 1) if organisation == "smt" else 1)

    wide = [p for p in grid(variant="perfect") if not p.caches]
    claim = judged([*grid(narrow), *wide])["smt-linear"]
    assert claim.verdict == "partly"
    assert [(s.what, s.verdict) for s in claim.deciding] == [("variant perfect", "reproduced")]
    # A variant with the same verdict is listed with its figure. A variant with the same figure too is not listed.
    narrower = grid(lambda k, o, s, c: narrow(k, o, s, c) * (0.99 if s > 3 else 1), variant="perfect")
    same = judged([*grid(narrow), *only(narrower, lambda p: not p.caches)])
    assert [(s.what, s.verdict) for s in same["smt-linear"].sensitivities] == [("variant perfect", "partly")]
    assert same["smt-linear"].deciding == []
    assert all("variant" not in s.what for s in judged(grid())["clock"].sensitivities)


def test_the_overhead_of_a_frame_is_the_other_reading_of_a_line() -> None:
    def at_the_edge(kernel: str, organisation: str, step: int, clock: float) -> float:
        return paper_rate(kernel, organisation, step, clock) * 0.8  # fewer configurations reach 10 Gb/s without the overhead than with it

    claim = changed(at_the_edge)["smt-10g"]
    assert [s.what for s in claim.sensitivities] == ["preamble and gap counted (20 B a frame)"]
    assert claim.sensitivities[0].verdict == "reproduced"


def test_todays_engines_play_the_part_of_the_papers_kernels() -> None:
    plan = PLAN.model_copy(update={"claims": PLAN.claims.model_copy(update={"lookup": ["lookup", "lookup-dir"]}) if PLAN.claims else None})
    fast = [replace(p, kernel="lookup-dir", messages_per_s=p.messages_per_s and replace(p.messages_per_s, value=4 * p.messages_per_s.value))
            for p in grid() if p.kernel == "lookup" and not p.caches]  # fmt: skip
    claim = judged([*grid(), *fast], plan)["smt-10g"]
    assert ("lookup by lookup-dir", "partly") in [(s.what, s.verdict) for s in claim.deciding]


def test_claims_of_a_whole_run(tmp_path: Path) -> None:
    run = run_of(tmp_path, PAPER, ideal)
    found = {claim.id: claim for claim in run.claims}
    assert found["clock"].verdict == "reproduced"
    assert found["smt-linear"].verdict == "reproduced"
    assert found["smt-10g"].measured == "13 of 35 SMT configurations sustain 10 Gb/s"
    assert found["misses"].verdict == "reproduced"
    assert found["fgmt"].verdict == "reproduced"
    assert run.labels == ["modelled, general-purpose cores only, no accelerators", "A64 trace"]
