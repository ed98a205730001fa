"""Tests of the rule that ends the measurement of a point, at both sides of its limits."""

from __future__ import annotations

import math

import pytest
from dpubench.analysis import statistics
from dpubench.analysis.model import Interval
from dpubench.studies.operators import stopping
from dpubench.studies.operators.configuration import Configuration, Point


def point_of(*rates: float, layouts: int = 0) -> Point:
    """Return a point with a round for each of ``rates``, in which all windows are alike; rounds take ``layouts`` code layouts in turn."""
    configuration = Configuration(operator="crc", params={}, threads=1, burst=32, footprint="stream", candidates=["portable"], reference="portable")
    found = Point(configuration, "portable", "local", "", 1)
    for number, rate in enumerate(rates):
        found.rates[number] = [rate, rate]
        if layouts:
            found.layouts[number] = number % layouts
    return found


def test_six_rounds_are_the_least() -> None:
    assert stopping.MINIMUM_ROUNDS == 6
    assert not stopping.has_converged(point_of(*[1e6] * 5), 0.05, 1)
    assert stopping.has_converged(point_of(*[1e6] * 6), 0.05, 1)
    assert stopping.has_converged(point_of(*[1e6] * 7), 0.05, 7) and not stopping.has_converged(point_of(*[1e6] * 7), 0.05, 8)


def test_rounds_without_a_window_do_not_count() -> None:
    point = point_of(*[1e6] * 6)
    point.rates[3] = []
    assert len(stopping.round_medians(point)) == 5 and not stopping.has_converged(point, 0.05, 1)


def test_the_precision_decides_on_its_own_side() -> None:
    point = point_of(1e6, 1.01e6, 0.99e6, 1.02e6, 0.98e6, 1e6)
    reached = stopping.precision(point)
    assert 0 < reached < 0.1
    assert stopping.has_converged(point, reached * 1.001, 6) and not stopping.has_converged(point, reached * 0.999, 6)


def test_medians_are_in_the_order_of_rounds() -> None:
    point = point_of(3.0, 1.0, 2.0)
    point.rates = {2: [5.0, 7.0, 100.0], 0: [1.0], 1: [2.0, 4.0]}
    assert stopping.round_medians(point) == [1.0, 3.0, 7.0]


def test_one_round_has_no_precision() -> None:
    assert math.isnan(stopping.precision(point_of(1e6)))


def test_rounds_of_one_layout_are_one_value() -> None:
    """Twelve rounds of six layouts are six values. Each layout has a fast and a slow round here, which make the same median."""
    rates = [0.9e6] * 6 + [1.1e6] * 6
    assert stopping.precision(point_of(*rates, layouts=6)) == pytest.approx(0.0) and stopping.has_converged(point_of(*rates, layouts=6), 0.01, 6)
    assert stopping.precision(point_of(*rates)) > 0.05 and not stopping.has_converged(point_of(*rates), 0.01, 6)


@pytest.mark.parametrize(("half", "known"), [(0.05, True), (math.nextafter(0.05, 1) + 1e-9, False)])
def test_a_figure_is_known_at_exactly_the_precision(half: float, known: bool) -> None:
    assert statistics.is_known(Interval(1.0, 1 / (1 + half), 1 + half), 0.05 + 1e-12) is known
    assert statistics.is_known(Interval(0.0, -half, half), 1.0) is False, "a value of 0 that varied is never known"
    assert statistics.is_known(Interval(0.0, 0.0, 0.0), 0.0) is True


def test_two_rounds_are_the_least_whatever_is_asked_for() -> None:
    assert statistics.has_converged([1.0, 1.0], 0.05, 1) and statistics.has_converged([1.0, 1.0], 0.05, 2)
    assert not statistics.has_converged([1.0], 0.05, 1) and not statistics.has_converged([1.0, 1.0], 0.05, 3)


def test_a_round_without_a_rate_is_none() -> None:
    assert statistics.has_converged([1.0] * 6 + [0.0], 0.05, 6) and not statistics.has_converged([1.0] * 5 + [0.0], 0.05, 6)


def test_an_interval_that_reaches_zero_is_judged_by_its_half_width() -> None:
    assert statistics.is_known(Interval(1.0, -0.5, 0.5), 0.5) and not statistics.is_known(Interval(1.0, -0.5, 0.5), 0.49)
    assert statistics.is_known(Interval(-1.0, -1.5, -0.5), 0.5) and not statistics.is_known(Interval(-1.0, -1.5, -0.5), 0.49)
