"""Tests of the machine's movement between two runs: its estimate, claims beyond it, and, by simulation, true and false findings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from dpubench.analysis import tables
from dpubench.analysis.model import Comparison
from dpubench.analysis.movement import Machine, null_of, qn
from dpubench.studies.operators.comparison import compare, movement
from dpubench.studies.operators.sensitivity import PRIOR_DEVIATION, slopes
from two_times import QUIET, Place, Scatter, pair, suite

EFFECT = 0.03
PLACES = suite(20, 2, 1)
#: The point whose operator and engine become slower; it does not wait for memory.
LAST = len(PLACES) - 1


def test_qn_against_its_definition() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    # h = 3, so the third of the ten distances 1, 2, 3, 4, 6, 7, 8, 12, 14, 15 counts.
    assert qn(values) == pytest.approx(2.2219 * 3.0 * 5 / 6.8)


@pytest.mark.parametrize("n", [8, 9, 20, 61])
def test_the_mean_square_of_qn_is_that_of_normal_values(n: int) -> None:
    drawn = np.random.default_rng(n).standard_normal((2000, n))
    assert math.sqrt(np.mean([qn(row) ** 2 for row in drawn])) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("n", [3, 4, 7, 8, 12, 30])
def test_the_null_holds_a_further_point_as_often_as_it_says(n: int) -> None:
    """The difference of a further normal point, over the null's scatter, exceeds the 95 % quantile of its t in one case of twenty.

    With many points it does so less often, because the null allows for longer tails.
    """
    generator = np.random.default_rng(n)
    beyond = 0
    for _ in range(1500):
        values = generator.standard_normal(n + 1)
        machine = Machine([str(i) for i in range(n + 1)], ["e"] * (n + 1), values, np.zeros(n + 1), np.full(n + 1, 5.0), None, None)
        difference = machine.difference(n)
        assert difference is not None
        beyond += difference.p_value <= 0.05
    assert (0.025 if n < 12 else 0.005) <= beyond / 1500 <= 0.07


def test_up_to_half_of_the_points_may_have_changed() -> None:
    changes = np.concatenate([np.linspace(-0.01, 0.01, 13), np.full(7, -0.3)])
    null = null_of(changes, np.zeros(20), [str(i) for i in range(20)])
    assert null is not None and abs(null.centre) < 0.01 and null.scatter < 0.03


def test_owners_count_not_points() -> None:
    many = [f"o{i // 10}" for i in range(40)]
    changes = 0.01 * np.random.default_rng(1).standard_normal(40)
    null = null_of(changes, np.zeros(40), many)
    assert null is not None and (null.points, null.owners, null.freedom) == (40, 4, 3)
    assert null_of(changes[:20], np.zeros(20), many[:20]) is None


def found(rows: Sequence[Comparison], verdict: str) -> list[int]:
    return [i for i, row in enumerate(rows) if row.verdict == verdict]


def power(scatter: Scatter, factor: float, pairs: int, places: list[Place] = PLACES, rounds: int = 8) -> tuple[float, float, float]:
    """Return, for pairs of runs whose last owner is slower by ``factor``, the shares of pairs found and of other rows called changed or the same."""
    changed = [i for i, p in enumerate(places) if (p.operator, p.engine) == (places[-1].operator, places[-1].engine)]
    hits, false, same = 0, 0, 0
    for seed in range(pairs):
        rows = compare(*pair(places, seed, scatter, dict.fromkeys(changed, factor), rounds), EFFECT)
        hits += bool(set(changed) & set(found(rows, "slower")))
        false += len(set(found(rows, "slower") + found(rows, "faster")) - set(changed))
        same += len(set(found(rows, "same")) - set(changed))
    return hits / pairs, false / pairs / (len(places) - len(changed)), same / pairs / (len(places) - len(changed))


def test_slowdowns_of_one_engine_are_found_although_the_machine_moves() -> None:
    assert power(Scatter(), 0.9, 40)[0] >= 0.5
    assert power(Scatter(), 0.8, 40)[0] >= 0.95


@pytest.mark.parametrize("scatter", [Scatter(), Scatter(memory=0.05, lasting=0.02), Scatter(lasting=0.03, owner=0.03), Scatter(core=0.2, memory=0.1)])
def test_an_unchanged_build_has_no_findings(scatter: Scatter) -> None:
    assert power(scatter, 1.0, 20)[1] <= 0.01


def test_on_a_calm_machine_the_same_is_called_the_same() -> None:
    hits, false, same = power(replace(QUIET, core=0.1), 0.93, 15)
    assert (hits, false) == (1.0, 0.0) and same >= 0.9


@pytest.mark.parametrize("others", range(8))
def test_few_points_claim_little_and_nothing_false(others: int) -> None:
    places = suite(others + 1, 1, 1)
    rows = [row for seed in range(12) for row in compare(*pair(places, seed, Scatter()), EFFECT)]
    assert not [row for row in rows if row.verdict in ("slower", "faster")]
    few = compare(*pair(places, 1, replace(QUIET, core=0.1), {others: 0.6}), EFFECT)[-1]
    if others < 3:
        assert (few.verdict, few.p_value) == ("undecided", None)
        assert few.reason.startswith(f"too little to tell how the machine moved: {others or 'no'} other pairs of operator and engine")
    else:
        assert few.verdict == "slower"


def test_a_library_that_became_slower_everywhere_does_not_pass_for_the_machine() -> None:
    places = suite(16, 3, 1)
    library = {i: 0.85 for i, p in enumerate(places) if p.engine == "openssl"}
    assert len(library) == 8
    rows = compare(*pair(places, 3, replace(QUIET, core=0.1), library), EFFECT)
    assert found(rows, "slower") == sorted(library) and not found(rows, "faster")


def test_a_change_of_everything_is_no_finding_and_the_text_says_what_to_do() -> None:
    runs = pair(PLACES, 1, QUIET, dict.fromkeys(range(len(PLACES)), 0.85))
    rows, moved = compare(*runs, EFFECT), movement(*runs)
    assert {row.verdict for row in rows} == {"undecided"}
    assert "the machine moved by more than the minimum effect of 3 % (all points -1" in rows[0].reason
    assert moved is not None and math.exp(moved.together) == pytest.approx(0.85, abs=0.01)
    told = tables.compare(rows, EFFECT, moved=moved)
    assert "all points moved together, further than the core canary: either the machine did this, or the whole build changed" in told
    assert "dpubench run --against anchor" in told
    # Where the canaries move as well, the machine is the cause.
    runs = pair(PLACES, 1, replace(QUIET, core=0.15))
    assert found(compare(*runs, EFFECT), "same") and not found(compare(*runs, EFFECT), "slower")


def test_without_canaries_every_row_is_undecided() -> None:
    rows = compare(*pair(PLACES, 1, QUIET, {LAST: 0.5}, canaries=False), EFFECT)
    assert {(row.verdict, row.reason) for row in rows} == {("undecided", "no canary watched the machine between the two runs")}


def test_rates_over_the_core_canary_are_taken_where_they_scatter_less() -> None:
    noisy = movement(*pair(PLACES, 1, replace(QUIET, moment=0.05)))
    runs = pair(PLACES, 1, QUIET)
    for number, point in enumerate(runs[1].points):
        point.round_canary_ratios = [r * (1.02 if number % 2 else 0.98) for r in point.round_canary_ratios]
    calm = movement(*runs)
    assert noisy is not None and noisy.over_canary
    assert calm is not None and not calm.over_canary


def test_slopes_are_learnt_within_runs_and_only_there() -> None:
    generator = np.random.default_rng(2)
    memory = [0.2 * generator.standard_normal((4, 8)), 0.2 * generator.standard_normal((4, 8)) - 0.5]
    truth = np.array([0.0, 0.3, 1.0, 0.0])
    rates = [truth[:, None] * x + 0.01 * generator.standard_normal((4, 8)) for x in memory]
    rates[1][3] -= 0.5  # moves with the memory canary between the runs, and never within one
    rates[0][0, 2] -= 0.4  # a disturbed round
    found = slopes(rates, memory)
    assert found.values == pytest.approx(truth, abs=0.06) and (found.errors < 0.1).all()
    # Rounds in which memory stood still tell nothing. The slope then comes from the other points and is as uncertain as slopes are.
    memory[0][0] = memory[1][0] = 0.0
    assert slopes(rates, memory).errors[0] == pytest.approx(PRIOR_DEVIATION)
    assert slopes([np.full((2, 0), np.nan)] * 2, [np.full((2, 0), np.nan)] * 2).values == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("memory", [-0.2, 0.2])
def test_what_waits_for_memory_is_no_finding_when_memory_moved(memory: float) -> None:
    places = suite(20, 2, 1, waiting=0.2)
    scatter = replace(Scatter(), memory=0.0, waiting=0.05)
    for seed in range(8):
        old, new = pair(places, seed, scatter)
        for place, point in zip(places, new.points, strict=True):
            factor = math.exp(memory * place.waits)
            point.round_rates, point.round_canary_ratios = ([r * factor for r in rs] for rs in (point.round_rates, point.round_canary_ratios))
            point.round_memory = [r * math.exp(memory) for r in point.round_memory]
        rows = compare(old, new, EFFECT)
        assert not found(rows, "slower") and not found(rows, "faster")


def test_memory_canaries_of_unlike_windows_are_not_compared() -> None:
    old, new = pair(PLACES, 1, replace(QUIET, memory=0.0))
    new.canaries["canary-memory"] = [0.8 * rate for rate in new.canaries["canary-memory"]]
    old.canary_window_ms, new.canary_window_ms = {"canary-memory": 0.5}, {"canary-memory": 3.0}
    moved = movement(old, new)
    assert moved is not None and moved.memory is None and "0.5 ms and 3.0 ms: it cannot be compared" in moved.remarks[0]
    new.canary_window_ms = {"canary-memory": 0.5}
    moved = movement(old, new)
    assert moved is not None and moved.memory is not None and "too short to show more" in moved.remarks[0]


def test_the_same_runs_give_the_same_rows() -> None:
    once, again = (compare(*pair(PLACES, 5, Scatter(), {LAST: 0.8}), EFFECT) for _ in range(2))
    assert once == again
