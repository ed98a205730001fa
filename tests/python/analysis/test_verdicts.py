"""Tests of the rule that compares two points, at both sides of each of its limits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from dpubench.analysis import statistics, verdicts
from dpubench.analysis.model import Comparison
from dpubench.analysis.statistics import FALSE_DISCOVERY_RATE, Difference
from dpubench.analysis.verdicts import Rates, Watch
from dpubench.analysis.verdicts import Tested as Row  # pytest would take the name for that of a test

EFFECT = 0.03
LIMIT = math.log1p(EFFECT)
ABOVE, BELOW = math.nextafter(LIMIT, 1), math.nextafter(LIMIT, 0)
JUST_OVER = math.nextafter(FALSE_DISCOVERY_RATE, 1)


def exact(log_ratio: float, moved: float = 0.0) -> Difference:
    """Return a difference without an error, so that its interval is its value and what the machine moved."""
    return Difference(log_ratio, 0.0, 10, -moved, moved)


def wide(log_ratio: float) -> Difference:
    """Return a difference whose interval reaches beyond the minimum effect at both ends."""
    return Difference(log_ratio, 1.0, 10)


@pytest.mark.parametrize(
    ("difference", "p", "verdict"),
    [
        (exact(ABOVE), FALSE_DISCOVERY_RATE, "faster"),
        (exact(-ABOVE), FALSE_DISCOVERY_RATE, "slower"),
        (exact(ABOVE), JUST_OVER, "undecided"),
        (exact(-ABOVE), JUST_OVER, "undecided"),
        (exact(LIMIT), 0.0, "same"),  # a difference of exactly the minimum effect is none
        (exact(-LIMIT), 0.0, "same"),
        (exact(BELOW), 0.0, "same"),
        (exact(0.0), 1.0, "same"),
        (wide(0.0), 1.0, "undecided"),
        (wide(0.5), 0.0, "faster"),
        (wide(-0.5), 0.0, "slower"),
        # One end of the interval reaches beyond the minimum effect, the other does not.
        (exact(0.0, LIMIT), 1.0, "same"),
        (Difference(0.0, 0.0, 10, -ABOVE, 0.0), 1.0, "undecided"),
        (Difference(0.0, 0.0, 10, 0.0, ABOVE), 1.0, "undecided"),
        (exact(ABOVE), math.nan, "undecided"),
    ],
)
def test_the_limits_of_a_verdict(difference: Difference, p: float, verdict: str) -> None:
    assert statistics.verdict(difference, p, EFFECT) == verdict


def test_the_minimum_effect_is_the_same_factor_up_and_down() -> None:
    assert statistics.verdict(exact(math.log(1.0299)), 0.0, EFFECT) == statistics.verdict(exact(-math.log(1.0299)), 0.0, EFFECT) == "same"
    assert (
        statistics.verdict(exact(math.log(1.0301)), 0.0, EFFECT) == "faster" and statistics.verdict(exact(-math.log(1.0301)), 0.0, EFFECT) == "slower"
    )
    assert verdicts.MIN_EFFECT == EFFECT


def test_p_values_of_differences() -> None:
    assert exact(0.1, 0.1).p_value == 1.0 and exact(-0.1, 0.1).p_value == 1.0 and exact(0.1, 0.05).p_value == exact(-0.1, 0.05).p_value == 0.0
    assert math.isnan(Difference(0.1, 0.1, 0.5).p_value) and not math.isnan(Difference(0.1, 0.1, 1.0).p_value)
    assert exact(0.0, 0.1).p_value == 1.0 and Difference(0.0, 1.0, 10, -0.1, 0.1).p_value == 1.0, "well within the machine's movement"
    # Student's t with ten degrees of freedom: 2.228 standard errors leave 5 %.
    t = Difference(2.228139, 1.0, 10, widening=1.0)
    assert t.p_value == pytest.approx(0.05, abs=1e-5) and replace(t, log_ratio=-2.228139).p_value == pytest.approx(0.05, abs=1e-5)
    assert Difference(2.228139, 1.0, 10).p_value > 0.05, "the error is widened where somebody looked at it to stop"
    assert Difference(3.228139, 1.0, 10, -1.0, 1.0, 1.0).p_value == pytest.approx(0.05, abs=1e-5)
    assert (t.interval.low, t.interval.high) == pytest.approx((1.0, math.exp(2 * 2.228139)), rel=1e-4)


def test_bounds_hold_whatever_the_machine_did() -> None:
    low, high = Difference(0.1, 0.0, 10, -0.02, 0.05).bounds
    assert (low, high) == pytest.approx((0.05, 0.12))


def test_false_discoveries_are_controlled_over_all_rows() -> None:
    adjusted = statistics.benjamini_hochberg([0.01, 0.04, 0.03, math.nan, 0.5])
    assert adjusted[[0, 1, 2, 4]] == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5]) and math.isnan(adjusted[3])
    assert statistics.benjamini_hochberg([0.9, 0.8]) == pytest.approx([0.9, 0.9])
    assert statistics.benjamini_hochberg([]).size == 0


# --------------------------------------------------------------------------- rows


def row_of(*differences: Difference, **more: str) -> Row:
    return Row("point", "old", "new", list(differences), **more)  # type: ignore[arg-type]  # only texts


def judged(row: Row, *others: Row) -> Comparison:
    return verdicts.judged([row, *others], EFFECT)[0]


def test_a_row_needs_all_of_its_differences() -> None:
    clear, less = Difference(0.2, 0.001, 10), Difference(0.1, 0.001, 10)
    found = judged(row_of(clear, less, note="a note"))
    assert found.verdict == "faster" and found.reason == "a note" and found.ratio is not None
    assert found.ratio.value == pytest.approx(math.exp(0.2)), "the ratio is that of the first difference"
    assert (found.ratio.low, found.ratio.high) == (less.interval.low, clear.interval.high), "the interval covers all"
    assert found.p_value == pytest.approx(max(clear.p_value, less.p_value))
    assert (found.configuration, found.old, found.new) == ("point", "old", "new")
    assert judged(row_of(clear, exact(0.0))).verdict == "undecided"
    assert judged(row_of(clear, Difference(-0.2, 0.001, 10))).verdict == "undecided"
    assert judged(row_of(exact(0.0), exact(0.001))).verdict == "same"


def test_rows_that_cannot_be_paired_stay_as_they_are() -> None:
    other = Comparison("alone", "old", None, None, "not comparable", None, "only in the first run")
    found = verdicts.judged([other, row_of(exact(0.0))], EFFECT)
    assert found[0] is other and found[1].verdict == "same"


def test_a_finding_among_many_may_be_chance() -> None:
    """One p of 0.04 is a finding alone; among others that show nothing it is none."""
    row = row_of(Difference(2.4, 1.0, 10, widening=1.0))
    assert row.p_value == pytest.approx(0.0374, abs=1e-3)
    assert judged(row).verdict == "faster"
    found = judged(row, *[row_of(exact(0.0))] * 3)
    assert found.verdict == "undecided" and found.reason.startswith("a difference this large arises by chance too often (p = 0.15 after")


def test_an_unwatched_row_is_never_decided() -> None:
    found = judged(row_of(exact(0.2), unwatched="nobody watched", note="a note"))
    assert (found.verdict, found.p_value, found.reason) == ("undecided", None, "nobody watched; a note")
    assert math.isnan(row_of(exact(0.2), unwatched="nobody watched").p_value)


@pytest.mark.parametrize(
    ("row", "p", "reason"),
    [
        (row_of(exact(0.05, 0.05), moved="canary +5 %"), 1.0, "the difference is within what the machine itself moved (canary +5 %)"),
        (row_of(exact(-0.05, 0.05), moved="canary +5 %"), 1.0, "the difference is within what the machine itself moved (canary +5 %)"),
        (
            row_of(exact(0.05, 0.04), moved="canary +4 %"),
            0.5,
            "a difference this large arises by chance too often (p = 0.5 after false-discovery control)",
        ),
        (row_of(exact(LIMIT, 0.1), moved="canary +10 %"), 1.0, "the machine moved by more than the minimum effect of 3 % (canary +10 %)"),
        (row_of(exact(LIMIT)), 0.5, "the interval reaches beyond the minimum effect of 3 %"),
        (row_of(exact(ABOVE)), 0.5, "a difference this large arises by chance too often (p = 0.5 after false-discovery control)"),
        (row_of(exact(ABOVE)), FALSE_DISCOVERY_RATE, "the interval reaches beyond the minimum effect of 3 %"),
        (row_of(exact(ABOVE), exact(LIMIT)), 0.5, "the interval reaches beyond the minimum effect of 3 %"),
        (row_of(wide(0.0), moved="canary +0 %"), 1.0, "the interval reaches beyond the minimum effect of 3 %"),
        (row_of(exact(0.0, LIMIT / 2), moved="canary +1 %"), 1.0, "the interval reaches beyond the minimum effect of 3 %"),
        (row_of(exact(0.0, LIMIT * 0.51), moved="canary +2 %"), 1.0, "the machine moved by more than the minimum effect of 3 % (canary +2 %)"),
    ],
)
def test_why_a_row_is_undecided(row: Row, p: float, reason: str) -> None:
    assert verdicts._why_undecided(row, p, EFFECT) == reason


def test_a_plain_ratio_and_one_over_the_canary_that_disagree_are_told() -> None:
    row = replace(row_of(exact(-0.05, 0.01), exact(0.1, 0.01), moved="canary +1.0 %"), watch=Watch("core canary", 0.01))
    assert verdicts._why_undecided(row, 0.0, EFFECT) == "the plain ratio (+10.5 %) and the one over the core canary (-4.9 %) disagree"
    for agreed in ([exact(0.05, 0.01), exact(0.1, 0.01)], [exact(0.0, 0.0), exact(0.1, 0.01)]):
        assert "disagree" not in verdicts._why_undecided(replace(row, differences=agreed), 0.0, EFFECT)


# --------------------------------------------------------------------------- points of different times


def rates(*values: float) -> list[float]:
    return list(values)


def test_points_without_a_watch() -> None:
    row = row_of()
    found = verdicts.tested(row, Rates(rates(1, 1, 1), []), Rates(rates(2, 2, 2), []))
    assert found is not None and [d.log_ratio for d in found.differences] == [pytest.approx(math.log(2))]
    assert verdicts.tested(row, Rates(rates(1), []), Rates(rates(2, 2), [])) is None


def test_points_beside_a_canary() -> None:
    row = replace(row_of(), watch=Watch("core canary", -0.02))
    old, new = Rates(rates(100, 110), rates(1.0, 1.1)), Rates(rates(200, 220), rates(3.0, 3.3))
    found = verdicts.tested(row, old, new)
    assert found is not None and found.moved == "core canary -2.0 %" and found.unwatched == ""
    over, plain = found.differences
    assert over.log_ratio == pytest.approx(math.log(3)) and plain.log_ratio == pytest.approx(math.log(2))
    assert (plain.moved_down, plain.moved_up) == (-0.02, 0.02), "in either direction"
    # The scatter between runs counts like that between rounds.
    scatter = math.hypot(*(float(statistics.estimate_logs(np.log(side)).scatter[0]) for side in ([100, 110], [200, 220])))
    alone = statistics.unpaired_difference(np.log([100, 110]), np.log([200, 220]))
    assert alone is not None and scatter > 0 and plain.error == pytest.approx(math.hypot(alone.error, scatter))


def test_a_canary_that_is_missing_is_told() -> None:
    row = replace(row_of(), watch=Watch("core canary", None))
    found = verdicts.tested(row, Rates(rates(1, 1), []), Rates(rates(2, 2), []))
    assert found is not None and len(found.differences) == 1
    assert (found.unwatched, found.moved) == ("no core canary watched the machine between the two runs", "")
    assert (found.differences[0].moved_down, found.differences[0].moved_up) == (0.0, 0.0)
    assert verdicts.tested(row, Rates(rates(1), []), Rates(rates(2, 2), [])) is None
    assert verdicts.tested(row, Rates(rates(1, 1), []), Rates(rates(2), [])) is None


def test_rates_that_are_none_do_not_count() -> None:
    assert list(verdicts.logs_of([1.0, 0.0, -1.0, math.nan, math.inf, math.e])) == pytest.approx([0.0, 1.0])
    assert verdicts.percent_of_log(math.log(1.05)) == "+5.0 %" and verdicts.percent_of_log(math.log(0.9)) == "-10.0 %"
