"""Tests of the search for the edge on simulated curves, where the truth is known, and of step 1."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from dpubench.studies.headroom.search import Configured, Edge, Search, edge_of, pacing_limit_ns, rising, smallest_of_the_best

Curve = Callable[[float], float]
LIMIT = 1000.0


def plateau(end: float) -> Curve:
    """Return a rate that holds up to ``end`` and then falls as bursts become rarer."""
    return lambda delay: min(1.0, end / delay) if delay else 1.0


def with_dip(end: float, low: float, high: float) -> Curve:
    """Return such a rate that falls by a tenth between ``low`` and ``high`` and recovers."""
    return lambda delay: 0.9 if low < delay < high else plateau(end)(delay)


def searched(curve: Curve, noise: float = 0.0, seed: int = 1, threshold: float = 0.97) -> tuple[Edge, Search]:
    """Search the edge of ``curve`` by samples with a relative standard deviation of ``noise``."""
    draw = random.Random(seed)
    search = Search(LIMIT, threshold)
    while (delay := search.next()) is not None:
        assert 0 < delay <= LIMIT
        search.add(delay, curve(delay) * (1 + draw.gauss(0, noise)))
    return search.edge(), search


@pytest.mark.parametrize("end", [50.0, 300.0, 640.0, 900.0])
def test_it_finds_the_edge(end: float) -> None:
    edge, search = searched(plateau(end))
    assert abs(edge.delay_ns - end / 0.97) < 0.02 * LIMIT
    assert edge.fell_ns is not None and edge.survived_ns <= edge.delay_ns <= edge.fell_ns
    assert edge.is_monotone and not edge.is_paced
    assert edge.fell_ns - edge.survived_ns <= search.resolution * LIMIT


@pytest.mark.parametrize(("low", "high"), [(10.0, 200.0), (100.0, 300.0), (300.0, 600.0), (20.0, 640.0)])
def test_a_dip_does_not_mislead_it(low: float, high: float) -> None:
    edge, _ = searched(with_dip(700, low, high))
    assert abs(edge.delay_ns - 700 / 0.97) < 0.02 * LIMIT
    assert edge.first_fall_ns is not None and low < edge.first_fall_ns < high, "and the dip is told"


def test_a_bisection_from_below_would_be_misled() -> None:
    """The dip that the search above passes over: halving the range ends in it."""
    curve, low, high = with_dip(700, 300, 600), 0.0, LIMIT
    while high - low > 1:
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) >= 0.97 else (low, middle)
    assert low < 310


def test_the_pacing_limit_is_told() -> None:
    edge, _ = searched(plateau(LIMIT))
    assert edge.delay_ns == LIMIT and edge.is_paced and edge.fell_ns is None


def test_nothing_may_be_left() -> None:
    edge, _ = searched(lambda delay: 0.0 if delay else 1.0)
    assert edge.survived_ns == 0 and edge.delay_ns == 0
    assert edge_of({}, 1.0) == Edge(0.0, 0.0, None, None, False)


@pytest.mark.parametrize("curve", [plateau(300), plateau(900), with_dip(700, 100, 300)])
def test_noise_moves_the_edge_little_and_to_both_sides(curve: Curve) -> None:
    truth = searched(curve)[0].delay_ns
    found = [searched(curve, 0.02, seed)[0].delay_ns for seed in range(100)]
    mean = sum(found) / len(found)
    assert abs(mean - truth) < 0.01 * LIMIT
    assert sum(abs(one - truth) < 0.05 * LIMIT for one in found) >= 95


def test_it_ends() -> None:
    for seed in range(20):
        draw = random.Random(seed)
        search = Search(LIMIT, 0.97)
        while (delay := search.next()) is not None:
            search.add(delay, draw.uniform(0, 2))
        assert sum(map(len, search.samples.values())) <= search.most


def test_the_pacing_limit_follows_from_bursts_and_rate() -> None:
    # 8 threads, bursts of 25, 10,000 B: 50 Gb/s are 625,000 packets/s.
    assert pacing_limit_ns(8, 25, 50e9 / 80_000) == pytest.approx(320_000)


def test_the_smallest_configuration_of_the_best() -> None:
    tried = [Configured(1, 8, 5.0), Configured(1, 32, 9.0), Configured(2, 8, 9.8), Configured(2, 32, 10.0), Configured(4, 1, 10.1)]
    assert smallest_of_the_best(tried, 0.03) == Configured(2, 8, 9.8), "fewest threads first, then the smallest burst"
    assert smallest_of_the_best(tried, 0.15) == Configured(1, 32, 9.0)
    with pytest.raises(ValueError):
        smallest_of_the_best([], 0.03)


def test_rising_rates_are_told() -> None:
    assert rising([Configured(1, 8, 5.0), Configured(2, 8, 9.0)], 0.03)
    assert not rising([Configured(1, 8, 9.0), Configured(2, 8, 9.1)], 0.03)
    assert rising([Configured(1, 8, 9.0)], 0.03), "nobody knows what a second thread would give"
