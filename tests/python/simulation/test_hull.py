"""Tests of the space of characteristics: hulls, distances, components, shares and intervals, against values computed by hand or another way."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from dpubench.simulation import characteristics
from dpubench.simulation import hull as space
from dpubench.simulation.characteristics import CHARACTERISTICS, Counts
from hypothesis import given, settings
from hypothesis import strategies as st

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def counts(**more: float) -> Counts:
    """Return counts of a thousand instructions in five hundred cycles."""
    plain = {
        "instructions": 1000, "cycles": 500, "itlb_accesses": 200, "itlb_misses": 2, "dtlb_accesses": 300, "dtlb_misses": 30, "l1d_accesses": 300,
        "l1d_misses": 60, "integer": 400, "branches": 100, "loads_and_stores": 300,
    }  # fmt: skip
    return Counts(**{**plain, **more})


# --------------------------------------------------------------------------- characteristics


def test_characteristics_are_ratios_of_counts() -> None:
    found = dict(zip(CHARACTERISTICS, counts().characteristics(), strict=True))
    assert list(found.values()) == pytest.approx([2, 0.01, 0.1, 0.2, 0.4, 0.1, 0.3])
    assert list(found) == ["ipc", "itlb_miss_ratio", "dtlb_miss_ratio", "l1d_miss_ratio", "integer_share", "branch_share", "load_store_share"]
    nothing = counts(dtlb_accesses=0, dtlb_misses=0).characteristics()
    assert nothing[2] == 0  # without accesses there are no misses
    assert math.isnan(counts(integer=math.nan).characteristics()[4])


def test_a_mixture_adds_counts_per_instruction() -> None:
    fast, slow = counts(), counts(cycles=2000, l1d_accesses=100, l1d_misses=100)
    mixture = characteristics.mixed([fast, slow], [0.5, 0.5]).characteristics()
    assert mixture[0] == pytest.approx(1 / (0.5 * 0.5 + 0.5 * 2))  # a harmonic mean of the IPCs
    assert mixture[3] == pytest.approx((60 + 100) / (300 + 100))  # each has 1000 instructions
    # Programs that run one after the other mix in the same way, by their instructions.
    assert characteristics.total([fast, slow]).characteristics() == pytest.approx(mixture)
    alone = characteristics.mixed([fast, slow], [1.0, 0.0])
    assert alone.characteristics() == pytest.approx(fast.characteristics()) and alone.instructions == 1


def test_counts_come_from_results_and_phases() -> None:
    part = {
        "instructions": 100, "cycles": 50, "kinds": {"integer": 30, "multiply": 5, "divide": 1, "simd": 20, "load": 20, "store": 10, "branch": 14},
        "branches": 14, "loads": 22, "stores": 11,
    }  # fmt: skip
    touched = {"accesses": 10, "misses": 1}
    phase = {**part, "itlb": touched, "dtlb": {"accesses": 33, "misses": 3}, "l1d": {"accesses": 33, "misses": 11}}
    tlbs = {"instruction": touched, "data": phase["dtlb"]}
    caches = {"d": phase["l1d"], "l2": {}}
    result: dict[str, Any] = {"contexts": [{**part, "phases": [phase, {**phase, "instructions": 40}]}], "tlbs": tlbs, "caches": caches}
    whole = characteristics.of_result(result, "d")
    assert whole.characteristics() == pytest.approx((2, 0.1, 1 / 11, 1 / 3, 0.36, 0.14, 0.33))
    assert characteristics.of_phases(result["contexts"][0], 50) == [whole]
    assert len(characteristics.of_phases(result["contexts"][0], 40)) == 2


# --------------------------------------------------------------------------- scale and components


def test_standardised_points_have_mean_zero_and_deviation_one() -> None:
    points = np.array([[1.0, 10.0, 5.0], [3.0, 30.0, 5.0]])
    scale = space.scale_of(points)
    assert scale.standardised(points).tolist() == [[-1, -1, 0], [1, 1, 0]]
    # A characteristic that is the same everywhere keeps its unit.
    assert scale.constant.tolist() == [False, False, True]
    assert scale.standardised(np.array([2.0, 20.0, 6.0])).tolist() == [0, 0, 1]


def test_a_characteristic_that_differs_by_rounding_alone_is_constant() -> None:
    scale = space.scale_of(np.array([[0.1 + 0.2], [0.3]]))
    assert scale.constant.all() and scale.deviation.tolist() == [1.0]


def test_components_of_points_on_a_line_are_one() -> None:
    line = np.outer([-2.0, -1.0, 0.0, 3.0], [3.0, -4.0]) / 5
    found = space.principal_components(line)
    assert found.variance == pytest.approx([1, 0])
    assert found.axes[0] == pytest.approx([-0.6, 0.8])  # its largest entry is positive
    assert found.scores[:, 0] == pytest.approx([2, 1, 0, -3])


def test_components_are_those_of_the_covariance() -> None:
    points = np.random.default_rng(7).normal(size=(20, 4)) * [1, 2, 3, 4]
    found = space.principal_components(points)
    values = np.linalg.eigvalsh(np.cov(points.T))[::-1]
    assert found.variance == pytest.approx(values / values.sum())
    assert found.scores @ found.axes == pytest.approx(points - points.mean(axis=0))
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in found.axes)


def test_points_that_are_all_the_same_have_no_variance() -> None:
    found = space.principal_components(np.ones((3, 2)))
    assert found.variance.tolist() == [0, 0] and not found.scores.any()


# --------------------------------------------------------------------------- hulls


@pytest.mark.parametrize(
    ("point", "inside", "distance"),
    [
        ((0.5, 0.5), True, 0), ((0.5, 1.0), True, 0), ((1.0, 1.0), True, 0), ((0.3, 0.0), True, 0), ((1.0 + 1e-3, 0.5), False, 1e-3),
        ((2.0, 2.0), False, math.sqrt(2)), ((0.5, -3.0), False, 3), ((1.0 + 1e-9, 0.5), True, 0),
    ],
)  # fmt: skip
def test_a_square(point: tuple[float, float], inside: bool, distance: float) -> None:
    at = np.array(point)
    assert space.is_inside(SQUARE, at) is inside
    assert space.inside(SQUARE, at[None]).tolist() == [inside]
    off = space.nearest(SQUARE, at)
    assert off.distance == pytest.approx(distance, abs=1e-8)
    assert off.weights.sum() == pytest.approx(1) and (off.weights >= 0).all()
    assert off.weights @ SQUARE + off.beyond == pytest.approx(at)


def test_the_characteristic_that_is_off_is_told_with_its_direction() -> None:
    assert space.nearest(SQUARE, np.array([0.5, -3.0])).beyond == pytest.approx([0, -3])
    assert space.nearest(SQUARE, np.array([4.0, 0.2])).beyond == pytest.approx([3, 0])


@pytest.mark.parametrize("hull", [SQUARE[:1], np.repeat(SQUARE[:1], 4, axis=0)])
def test_a_hull_of_one_point_holds_that_point_alone(hull: space.Floats) -> None:
    assert space.inside(hull, SQUARE).tolist() == [True, False, False, False]
    assert space.nearest(hull, np.array([3.0, 4.0])).distance == pytest.approx(5)


def test_a_flat_hull_holds_what_lies_on_it() -> None:
    edge = np.array([[0.0, 0.0, 7.0], [2.0, 2.0, 7.0], [1.0, 1.0, 7.0]])  # a segment; the third characteristic is constant
    on, beside, beyond, above = [1.5, 1.5, 7.0], [1.5, 1.4, 7.0], [2.1, 2.1, 7.0], [1.0, 1.0, 8.0]
    assert space.inside(edge, np.array([on, beside, beyond, above])).tolist() == [True, False, False, False]
    assert space.nearest(edge, np.array(beside)).distance == pytest.approx(0.1 / math.sqrt(2))
    assert space.nearest(edge, np.array(above)).beyond == pytest.approx([0, 0, 1])


def test_points_of_the_hull_are_inside_in_seven_dimensions() -> None:
    hull = np.random.default_rng(3).normal(size=(12, 7))
    middle = hull.mean(axis=0)
    assert space.inside(hull, np.vstack([hull, middle])).all()
    assert not space.inside(hull, middle + 3 * (hull - middle)).any()  # three times as far from the middle as a corner


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 4))
def test_the_quick_way_decides_as_the_linear_program(seed: int, number: int, dimensions: int) -> None:
    generator = np.random.default_rng(seed)
    hull = generator.integers(0, 3, size=(number, dimensions)).astype(float)
    points = generator.integers(0, 5, size=(8, dimensions)) / 2
    assert space.inside(hull, points).tolist() == [space.is_inside(hull, point) for point in points]


def test_a_hull_tells_how_many_of_its_points_the_others_hold() -> None:
    assert space.own_inside(SQUARE) == 0 == space.own_inside(SQUARE[:1])
    assert space.own_inside(np.vstack([SQUARE, [[0.5, 0.5], [0.2, 0.9]]])) == 2
    assert space.own_inside(np.vstack([SQUARE, SQUARE[:1]])) == 2  # each of the equal points holds the other
    assert (space.rank(SQUARE), space.rank(SQUARE[:2]), space.rank(SQUARE[:1])) == (2, 1, 0)
    # In seven dimensions nearly all of some twenty points are corners, and a further point of the same kind is rarely inside. With many points
    # it often is.
    generator = np.random.default_rng(7)
    few, many, others = (generator.normal(size=(number, 7)) for number in (20, 600, 200))
    assert space.own_inside(few) <= 1 and space.inside(few, others).mean() < 0.02
    share = space.own_inside(many) / len(many)
    assert 0.2 < share < 0.9 and space.inside(many, others).mean() == pytest.approx(share, abs=0.12)


def test_the_distance_is_that_of_a_search() -> None:
    triangle = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    point = np.array([1.0, 1.0, -1.0])
    grid = ((i / 200, j / 200) for i, j in itertools.product(range(201), repeat=2) if i + j <= 200)
    least = min(float(np.linalg.norm(point - (a * triangle[1] + b * triangle[2]))) for a, b in grid)
    assert space.nearest(triangle, point).distance == pytest.approx(least, abs=1e-3)


def test_leaving_one_out_loses_what_it_alone_holds() -> None:
    points = np.array([[0.5, 0.5], [0.9, 0.9], [2.0, 2.0], [0.0, 0.0]])
    within = space.inside(SQUARE, points)
    assert within.tolist() == [True, True, False, True]
    left = space.leave_one_out(SQUARE, ["a", "a", "b", "c"], points, within)
    assert {name: flags.tolist() for name, flags in left.items()} == {
        "a": [False, False, False, False],
        "b": [True, False, False, True],
        "c": [True, True, False, True],
    }
    assert not space.leave_one_out(SQUARE, ["a"] * 4, points, within)["a"].any()


# --------------------------------------------------------------------------- shares


def test_applications_weigh_alike_however_many_phases_they_have() -> None:
    together, each = space.share_inside([[(1, 1), (1, 1), (3, 3)], [(0, 100), (0, 300), (0, 200)]])
    assert together.value == 0.5 and [share.value for share in each] == [1, 0]
    # Inputs that all agree may still differ from other inputs, so a share of 1 or 0 has an interval.
    assert (each[0].high, each[1].low) == (1, 0) and 0.2 < each[0].low < 1 and each[1].high == pytest.approx(1 - each[0].low)


def test_an_interval_lies_between_that_of_inputs_and_that_of_phases() -> None:
    from scipy.stats import beta

    def exact(held: float, of: float) -> tuple[float, float]:
        return float(beta.ppf(0.025, held, of - held + 1)), float(beta.ppf(0.975, held + 1, of - held))

    # If all phases of an input are alike, four inputs are four draws. If all inputs are alike, they count as their phases.
    (clustered,) = space.share_inside([[(10, 10), (10, 10), (0, 10), (0, 10)]])[1]
    (alike,) = space.share_inside([[(5, 10)] * 4])[1]
    assert (clustered.low, clustered.high) == pytest.approx(exact(2, 4))
    assert (alike.low, alike.high) == pytest.approx(exact(20, 40))
    (nearly,) = space.share_inside([[(50, 100), (50, 100), (50, 100), (51, 100)]])[1]
    assert (nearly.low, nearly.high) == pytest.approx(exact(201, 400))


def test_too_few_inputs_have_no_interval() -> None:
    together, (share,) = space.share_inside([[(3, 4), (2, 4)]])
    assert share.value == together.value == 0.625 and math.isnan(share.low) and math.isnan(together.high)
    together, (few, enough) = space.share_inside([[(4, 4)], [(1, 4), (2, 4), (3, 4)]])
    assert math.isnan(few.low) and enough.low < 0.5 < enough.high and together.low < 0.75 < together.high
    assert math.isnan(space.share_inside([])[0].value)


@pytest.mark.parametrize("inputs", [3, 4])
@pytest.mark.parametrize("applications", [1, 4])
def test_intervals_over_three_or_four_inputs_hold_the_share_of_all(inputs: int, applications: int) -> None:
    """In these cases the percentiles of a bootstrap, used here before, hold the share in 47 to 81 %, and an interval of t in 57 to 93 %."""
    generator = np.random.default_rng(12)
    for concentration, mean in itertools.product((2.0, 8.0), (0.1, 0.5, 0.8, 0.95)):
        held, trials = 0, 500
        for _ in range(trials):
            shares = generator.beta(mean * concentration, (1 - mean) * concentration, size=(applications, inputs))
            phases = generator.integers(10, 41, size=shares.shape)
            inside = generator.binomial(phases, shares)
            drawn = [list(zip(a.tolist(), b.tolist(), strict=True)) for a, b in zip(inside, phases, strict=True)]
            together, _ = space.share_inside(drawn)
            held += together.low <= mean <= together.high
        assert held / trials >= 0.91, (concentration, mean, held / trials)
