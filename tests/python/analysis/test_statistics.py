"""Tests of intervals, tests and verdicts on simulated measurements with a known truth; seeds are fixed, so that each test is deterministic."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
import scipy.stats
from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_runs import FloatArray, Noise, log_rates

EFFECT = 0.03
ROUNDS_MAX = 24
#: Limits on the share of intervals that hold the truth, wherever a run stops: those of docs/methodology.md, "Stopping", and 0.5 % for 3000 runs.
LEAST, MOST = 0.92, 0.978


def round_ratios(experiments: int, ratio: float, rounds: int, seed: int, noise: Noise | None = None) -> FloatArray:
    """Return the logs of each round's ratio of two alternating points, shape ``(experiments, rounds)``, computed as in the summary."""
    logs = log_rates(np.random.default_rng(seed), np.array([1e6, 1e6 * ratio]), experiments, rounds, 6, noise or Noise())
    cycles = logs.mean(axis=4)
    medians: FloatArray = np.median(cycles[:, :, 1] - cycles[:, :, 0], axis=2)
    return medians


def stopped(logs: FloatArray, target: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return location, half width and rounds of each row if its run stops at the first look with a half width of at most ``target``."""
    mean, half, taken = (np.full(len(logs), np.nan) for _ in range(3))
    for rounds in range(statistics.MINIMUM_ROUNDS, logs.shape[1] + 1):
        estimates = statistics.estimate_logs(logs[:, :rounds])
        now = np.isnan(taken) & ((estimates.half_width <= np.log1p(target)) | (rounds == logs.shape[1]))
        mean[now], half[now], taken[now] = estimates.location[now], estimates.half_width[now], rounds
    return mean, half, taken


# --------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("target", [0.002, 0.004, 0.006, 0.008, 0.02])
def test_intervals_of_ratios_hold_the_truth_with_stopping_on(target: float) -> None:
    truth = math.log(1.2)
    mean, half, _ = stopped(round_ratios(3000, 1.2, ROUNDS_MAX, seed=11), target)
    coverage = float(np.mean(np.abs(mean - truth) <= half))
    assert LEAST <= coverage <= MOST


@pytest.mark.parametrize("target", [0.03, 0.05, 0.08, 0.2])
def test_intervals_of_rates_hold_the_truth_with_stopping_on(target: float) -> None:
    logs = log_rates(np.random.default_rng(12), np.array([1e6]), 3000, ROUNDS_MAX, 6, Noise())
    medians = np.median(logs.mean(axis=4)[:, :, 0], axis=2)
    # Stalls lower a typical window, so the truth is the value on which 72,000 rounds agree.
    truth = float(statistics.estimate_logs(medians.ravel()).location[0])
    mean, half, _ = stopped(medians, target)
    assert LEAST <= float(np.mean(np.abs(mean - truth) <= half)) <= MOST


def test_stopping_without_widening_would_hold_the_truth_too_rarely() -> None:
    # This is the reason for WIDENING: a run that stops by the plain t interval holds the truth too rarely at its worst precision.
    normal = np.random.default_rng(13).standard_normal((10_000, 60)) * 2.0
    mean, half, _ = stopped(normal, math.expm1(1.0))
    assert LEAST <= np.mean(np.abs(mean) <= half) <= MOST
    mean, half, _ = stopped(normal, math.expm1(statistics.WIDENING))  # it stops where the plain half width is at most one
    assert np.mean(np.abs(mean) <= half / statistics.WIDENING) < 0.91


# --------------------------------------------------------------------------- disturbed rounds


def disturbed_rounds(experiments: int, rounds: int, seed: int, share: float = 0.05) -> FloatArray:
    """Return logs of rounds that scatter by 0.75 % around 0; a share of ``share`` is off by +10 to +45 %."""
    generator = np.random.default_rng(seed)
    shape = (experiments, rounds)
    calm = 0.0075 * generator.standard_normal(shape)
    return np.where(generator.random(shape) < share, calm + np.log(generator.uniform(1.10, 1.45, shape)), calm)


def held(logs: FloatArray, truth: float, trim: float) -> float:
    """Return the share of rows whose interval holds ``truth``, with a number of rounds that was fixed beforehand."""
    found = statistics.estimate_logs(logs, trim=trim)
    half = found.half_width / statistics.WIDENING
    return float(np.mean(np.abs(found.location - truth) <= half))


@pytest.mark.parametrize("rounds", [6, 8, 12, 20])
def test_disturbed_rounds_do_not_spoil_an_interval(rounds: int) -> None:
    long = disturbed_rounds(1, 200_000, seed=51)
    logs = disturbed_rounds(4000, rounds, seed=52)
    trimmed, plain = (float(statistics.estimate_logs(long, trim=trim).location[0]) for trim in (statistics.TRIM, 0.0))
    assert abs(trimmed) < 0.001 < 0.01 < plain  # no round is like the plain mean
    assert 0.93 <= held(logs, trimmed, statistics.TRIM) <= 0.97
    assert 0.93 <= held(logs, 0.0, statistics.TRIM) <= 0.97
    # This is the reason for trimming: a short run that by luck saw no disturbance is certain of a value that the long run does not have.
    assert held(logs, plain, 0.0) < 0.7


def test_disturbed_rounds_hardly_widen_an_interval() -> None:
    calm, disturbed = (disturbed_rounds(4000, 12, 53, share) for share in (0.0, 0.05))
    widths = [np.median(statistics.estimate_logs(logs).half_width) for logs in (calm, disturbed)]
    assert widths[1] < 1.15 * widths[0]


@pytest.mark.parametrize("target", [0.002, 0.003, 0.005, 0.01])
def test_intervals_of_disturbed_rounds_hold_the_truth_with_stopping_on(target: float) -> None:
    truth = float(statistics.estimate_logs(disturbed_rounds(1, 200_000, seed=54)).location[0])
    location, half, _ = stopped(disturbed_rounds(3000, ROUNDS_MAX, seed=55), target)
    assert LEAST <= float(np.mean(np.abs(location - truth) <= half)) <= MOST


def test_more_disturbed_rounds_than_are_trimmed_are_no_outliers() -> None:
    quiet, two = [1.0, 1.01, 0.99, 1.0, 1.01, 1.3], [1.0, 1.01, 0.99, 1.0, 1.3, 1.3]
    assert statistics.interval_of_rounds(quiet).value == pytest.approx(1.005, abs=1e-3)
    assert statistics.interval_of_rounds(two).high > 1.3


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=30), st.integers(0, 5))
@settings(max_examples=200, deadline=None)
def test_trimmed_means_are_those_of_scipy(logs: list[float], missing: int) -> None:
    found = statistics.estimate_logs([math.nan] * missing + logs)
    n, g = len(logs), len(logs) // 5
    kept = np.sort(logs)[g : n - g]
    winsorized = np.clip(logs, kept[0], kept[-1])
    assert found.location[0] == pytest.approx(scipy.stats.trim_mean(logs, statistics.TRIM), abs=1e-9)
    assert found.error[0] == pytest.approx(np.std(winsorized, ddof=1) * math.sqrt((n - 1) / (kept.size * (kept.size - 1))), abs=1e-9)
    assert (found.freedom[0], found.rounds[0]) == (kept.size - 1, n)


def test_independent_trimmed_means_differ_as_after_yuen() -> None:
    old, new = disturbed_rounds(1, 8, seed=56)[0], disturbed_rounds(1, 13, seed=57)[0]
    found = statistics.unpaired_difference(old, new)
    expected = scipy.stats.ttest_ind(new, old, equal_var=False, trim=statistics.TRIM)
    assert found is not None
    assert found.log_ratio / found.error == pytest.approx(expected.statistic)
    assert 2 * scipy.stats.t.sf(abs(found.log_ratio / found.error), found.freedom) == pytest.approx(expected.pvalue)


# --------------------------------------------------------------------------- intervals of single points


def test_more_rounds_narrow_the_interval() -> None:
    logs = round_ratios(1, 1.0, 24, seed=14)[0]
    few, many = (statistics.interval_of_rounds(np.exp(logs[:n])) for n in (6, 24))
    assert statistics.precision(many) < statistics.precision(few)


def test_too_few_rounds_have_no_interval() -> None:
    assert math.isnan(statistics.interval_of_rounds([]).value)
    one = statistics.interval_of_rounds([5.0])
    assert one.value == pytest.approx(5.0)
    assert math.isnan(one.low) and math.isnan(one.high)
    assert statistics.paired_difference([[1.0, 1.1]]) is None


def test_missing_rounds_are_left_out() -> None:
    assert statistics.interval_of_rounds([1.0, math.nan, 2.0, 0.0, 4.0]) == statistics.interval_of_rounds([1.0, 2.0, 4.0])


def test_value_against_a_worked_example() -> None:
    # Logs 0, 1, 2: mean 1, standard error 1/sqrt(3); t quantile of 2 degrees of freedom 4.302653 (any table).
    interval = statistics.interval_of_rounds(np.exp([0.0, 1.0, 2.0]))
    half = statistics.WIDENING * 4.302652729911275 / math.sqrt(3)
    assert interval.value == pytest.approx(math.e)
    assert interval.low == pytest.approx(math.exp(1 - half))
    assert interval.high == pytest.approx(math.exp(1 + half))


def test_trimmed_value_against_a_worked_example() -> None:
    # Logs 0, 1, 2, 3, 4, 50: without 0 and 50 the mean is 2.5. Winsorized 1, 1, 2, 3, 4, 4: squared deviations 9.5, so that the standard error is
    # sqrt(9.5 / (4 * 3)); t quantile of 3 degrees of freedom 3.182446 (any table).
    interval = statistics.linear_interval_of_rounds([3.0, 50.0, 0.0, 2.0, 4.0, 1.0])
    half = statistics.WIDENING * 3.182446305284263 * math.sqrt(9.5 / 12)
    assert interval.value == pytest.approx(2.5)
    assert (interval.low, interval.high) == pytest.approx((2.5 - half, 2.5 + half))


def test_an_account_of_all_rounds_is_not_trimmed() -> None:
    losses = [0.0, 0.0, 0.0, 0.0, 0.0, 0.6]
    assert statistics.linear_interval_of_rounds(losses).value == 0
    assert statistics.linear_interval_of_rounds(losses, trim=0).value == pytest.approx(0.1)


def test_converged_needs_rounds_and_precision() -> None:
    assert not statistics.has_converged([1.0] * 5, 0.01)
    assert statistics.has_converged([1.0, 1.001] * 3, 0.01)
    assert not statistics.has_converged([1.0, 1.5] * 3, 0.01)


rates = st.lists(st.floats(1e-3, 1e12), min_size=2, max_size=30)


@given(rates, st.floats(1e-6, 1e6))
@settings(max_examples=200, deadline=None)
def test_units_do_not_matter(values: list[float], factor: float) -> None:
    plain, scaled = statistics.interval_of_rounds(values), statistics.interval_of_rounds(np.array(values) * factor)
    for a, b in zip((plain.value, plain.low, plain.high), (scaled.value, scaled.low, scaled.high), strict=True):
        assert b == pytest.approx(a * factor, rel=1e-6) or not math.isfinite(a * factor) or a * factor < 1e-300


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=30))
@settings(max_examples=200, deadline=None)
def test_the_inverse_ratio_has_the_inverse_interval(values: list[float]) -> None:
    there, back = statistics.interval_of_rounds(values), statistics.interval_of_rounds(1 / np.array(values))
    assert back.low == pytest.approx(1 / there.high, rel=1e-6)
    assert back.high == pytest.approx(1 / there.low, rel=1e-6)
    assert there.low <= there.value * (1 + 1e-12) and there.value <= there.high * (1 + 1e-12)


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=30), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_rounds_does_not_matter(values: list[float], random: Random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert statistics.interval_of_rounds(shuffled).low == pytest.approx(statistics.interval_of_rounds(values).low, rel=1e-9)


def test_a_linear_drift_cancels_in_palindromic_means() -> None:
    drift = np.exp(-0.01 * np.arange(4))  # A B B A
    a = statistics.palindromic_mean(2e6 * drift[0], 2e6 * drift[3])
    b = statistics.palindromic_mean(1e6 * drift[1], 1e6 * drift[2])
    assert a / b == pytest.approx(2.0, rel=1e-12)


# --------------------------------------------------------------------------- unequal rounds


def unequal_rounds(seed: int) -> list[FloatArray]:
    generator = np.random.default_rng(seed)
    logs = round_ratios(1, 1.1, 8, seed)[0]
    return [np.exp(log + 0.02 * generator.standard_normal(cycles)) for log, cycles in zip(logs, (6, 6, 6, 6, 6, 6, 6, 1), strict=True)]


def test_intervals_hold_the_truth_with_unequal_rounds() -> None:
    intervals = [statistics.ratio_interval(unequal_rounds(seed)) for seed in range(600)]
    coverage = np.mean([i.low <= 1.1 <= i.high for i in intervals])
    assert 0.93 <= coverage <= 0.985


def test_the_interval_of_unequal_rounds_is_that_of_their_test() -> None:
    interval, difference = statistics.ratio_interval(unequal_rounds(1)), statistics.paired_difference(unequal_rounds(1))
    assert difference is not None
    for a, b in zip(
        (interval.value, interval.low, interval.high), (difference.interval.value, difference.interval.low, difference.interval.high), strict=True
    ):
        assert a == pytest.approx(b)


def test_equal_weights_are_no_weights() -> None:
    logs = round_ratios(20, 1.1, 11, seed=21)
    plain, weighted = statistics.estimate_logs(logs), statistics.estimate_logs(logs, np.full(11, 7.3))
    assert weighted.location == pytest.approx(plain.location) and weighted.error == pytest.approx(plain.error)
    assert weighted.freedom.tolist() == plain.freedom.tolist() == [6] * 20


def test_a_short_round_weighs_less() -> None:
    rounds: list[FloatArray] = [np.full(6, ratio) for ratio in (1.0, 1.01, 1.02, 1.03, 1.04, 1.05)]
    cut = statistics.paired_difference([*rounds, np.full(1, 1.045)])
    full = statistics.paired_difference([*rounds, np.full(6, 1.045)])
    assert cut is not None and full is not None
    assert 0 < cut.log_ratio < full.log_ratio
    assert cut.freedom < full.freedom == 4


def test_a_short_round_beside_a_whole_one_makes_no_two() -> None:
    assert statistics.paired_difference([np.full(100, 1.0), np.full(1, 1.1)]) is None
    assert math.isnan(statistics.ratio_interval([np.full(100, 1.0), np.full(1, 1.1)]).low)


# --------------------------------------------------------------------------- tests and verdicts


def verdicts(logs: FloatArray, minimum_effect: float = EFFECT) -> list[str]:
    """Return the verdict of each row, judged alone."""
    differences = [statistics.difference_of_rounds(np.exp(row), np.full(len(row), 6)) for row in logs]
    return [statistics.verdict(d, d.p_value, minimum_effect) for d in differences if d is not None]


def test_a_point_against_itself_is_rarely_called_different() -> None:
    found = verdicts(round_ratios(2000, 1.0, 6, seed=31), minimum_effect=0.0)
    assert np.mean([v in ("faster", "slower") for v in found]) <= 0.05
    with_effect = verdicts(round_ratios(2000, 1.0, 6, seed=31))
    assert np.mean([v in ("faster", "slower") for v in with_effect]) <= 0.001
    assert np.mean([v == "same" for v in with_effect]) >= 0.8
    assert np.mean([v == "same" for v in verdicts(round_ratios(2000, 1.0, 8, seed=31))]) >= 0.95


@pytest.mark.parametrize("ratio", [0.97, 1 / 0.97])
def test_three_percent_are_found_in_six_rounds(ratio: float) -> None:
    found = verdicts(round_ratios(1500, ratio, 6, seed=32), minimum_effect=0.01)
    assert np.mean([v == ("slower" if ratio < 1 else "faster") for v in found]) >= 0.9


def test_five_percent_exceed_the_default_effect() -> None:
    found = verdicts(round_ratios(1500, 0.95, 6, seed=33))
    assert np.mean([v == "slower" for v in found]) >= 0.95


def test_verdicts_need_both_size_and_significance() -> None:
    small = statistics.Difference(math.log(1.02), 1e-4, 5)
    unsure = statistics.Difference(math.log(1.10), 0.2, 5)
    large = statistics.Difference(math.log(1.10), 0.005, 5)
    assert statistics.verdict(small, small.p_value, EFFECT) == "same"
    assert statistics.verdict(unsure, unsure.p_value, EFFECT) == "undecided"
    assert statistics.verdict(large, large.p_value, EFFECT) == "faster"
    assert statistics.verdict(large, 0.2, EFFECT) == "undecided"


def test_nothing_below_the_machine_s_movement_is_a_finding() -> None:
    moved = statistics.Difference(math.log(1.10), 0.001, 10, moved_up=math.log(1.12))
    assert moved.p_value == 1.0
    assert statistics.verdict(moved, moved.p_value, EFFECT) == "undecided"
    assert moved.interval.low < 1 < moved.interval.high
    down = statistics.Difference(math.log(0.90), 0.001, 10, moved_up=math.log(1.12))
    assert statistics.verdict(down, down.p_value, EFFECT) == "slower"  # the machine moved the other way


def test_benjamini_hochberg_against_the_published_example() -> None:
    # Benjamini and Hochberg 1995, section 3.2: 15 tests, of which the first four are findings at q = 0.05.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    adjusted = statistics.benjamini_hochberg(p)
    assert np.flatnonzero(adjusted <= 0.05).tolist() == [0, 1, 2, 3]


@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=40))
@settings(max_examples=200, deadline=None)
def test_adjusted_p_values_keep_order_and_are_no_smaller(p: list[float]) -> None:
    adjusted = statistics.benjamini_hochberg(p)
    known = [(a, b) for a, b in zip(p, adjusted.tolist(), strict=True) if not math.isnan(a)]
    assert all(b >= a - 1e-12 and b <= 1 for a, b in known)
    ordered = [b for _, b in sorted(known)]
    assert ordered == sorted(ordered)
    assert np.isnan(adjusted).sum() == sum(map(math.isnan, p))


def test_false_discoveries_stay_below_their_share() -> None:
    generator = np.random.default_rng(34)
    shares = []
    for _ in range(150):
        truly = np.arange(60) < 15
        logs = 0.01 * generator.standard_normal((60, 6)) + np.where(truly, 0.05, 0.0)[:, None]
        differences = [statistics.difference_of_rounds(np.exp(row), np.full(6, 6)) for row in logs]
        found = statistics.benjamini_hochberg([d.p_value for d in differences if d is not None]) <= statistics.FALSE_DISCOVERY_RATE
        shares.append((found & ~truly).sum() / max(found.sum(), 1))
    assert np.mean(shares) <= 0.05


def test_precision_is_the_relative_half_width() -> None:
    assert statistics.precision(Interval(100.0, 100 / 1.05, 105.0)) == pytest.approx(0.05)
    assert math.isnan(statistics.precision(Interval(1.0, math.nan, math.nan)))
