"""Tests of adaptive mode's rule, alone and on recorded runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dpubench.studies.stress.ranking import kendall_tau
from dpubench.studies.stress.schedule import Measured, Rule, may_repeat, wanted

from benchmarks import stress

RECORDED = Path(os.environ.get("DPUBENCH_SHARED_DATA", "/nowhere")) / "wu"
RULE = Rule(precision=0.02, drift=0.2, shorts=2, longs=3)


def test_everyone_begins_with_short_runs() -> None:
    assert wanted({"a": Measured(), "b": Measured([1.0, 1.0])}, RULE) == {"a": "short"}


def test_targets_that_are_far_apart_need_no_long_run() -> None:
    assert wanted({"a": Measured([1.0, 1.01]), "b": Measured([2.0, 2.01])}, RULE) == {}


@pytest.mark.parametrize("other", [[1.15, 1.16], [1.0, 3.0]])
def test_targets_within_drift_or_scatter_run_long(other: list[float]) -> None:
    assert wanted({"a": Measured([1.0, 1.01]), "b": Measured(other)}, RULE) == {"a": "long", "b": "long"}


def test_long_runs_are_repeated_by_those_that_are_not_apart_alone() -> None:
    far, near, close = Measured([9.0, 9.1], [9.0]), Measured([1.0, 1.3], [1.0]), Measured([1.0, 1.3], [1.1])
    assert wanted({"far": far, "near": near, "close": close}, RULE) == {"near": "long", "close": "long"}
    near.long, close.long = [1.0, 1.1, 1.2], [1.1, 1.0, 1.2]
    assert wanted({"far": far, "near": near, "close": close}, RULE) == {}  # each has its three


def test_a_rate_that_is_known_is_not_measured_again_although_the_rank_is_undecided() -> None:
    same = {name: Measured([1.0, 1.001], [1.0, 1.001]) for name in "ab"}
    assert same["a"].is_known(0.02) and wanted(same, RULE) == {}


def test_a_target_that_ended_is_ranked_by_what_it_has_and_asked_for_nothing() -> None:
    ended, there = Measured([1.0, 1.01], open=False), Measured([1.0, 1.01])
    assert wanted({"ended": ended, "there": there}, RULE) == {"there": "long"}
    there.long = [1.0]
    assert wanted({"ended": ended, "there": there}, RULE) == {}  # nobody to compare long runs with
    assert wanted({"gone": Measured(open=False), "there": Measured([1.0, 1.01], [1.0, 1.2])}, RULE) == {"there": "long"}


def test_one_target_alone_runs_long_until_its_rate_is_known() -> None:
    assert wanted({"a": Measured([1.0, 1.0])}, RULE) == {"a": "long"}
    assert wanted({"a": Measured([1.0, 1.0], [1.0])}, RULE) == {}  # short runs tell the scatter
    assert wanted({"a": Measured([1.0, 1.2], [1.0])}, RULE) == {"a": "long"}


def test_long_runs_are_repeated_within_a_third_of_five_of_each_stressor() -> None:
    assert may_repeat(40.0, 1, 60.0) and not may_repeat(41.0, 1, 60.0)
    assert may_repeat(80.0 * 3, 3, 60.0) and not may_repeat(80.0 * 3 + 1, 3, 60.0)  # of three stressors one is repeated
    assert not may_repeat(80.0 * 2, 2, 60.0)


@pytest.mark.skipif(not (RECORDED / "stress_ng.csv").is_file(), reason="DPUBENCH_SHARED_DATA names no folder with recorded runs")
def test_recorded_runs_give_the_same_ranking_in_a_third_of_the_time() -> None:
    runs = stress.recorded(RECORDED)
    assert len(runs) > 200 and sum(len(of) == 6 for of in runs.values()) > 150
    replayed = stress.replay(runs, Rule(), order=0)
    assert replayed.share <= 1 / 3
    assert kendall_tau(replayed.found, replayed.all_long) >= 0.95 and kendall_tau(replayed.found, replayed.others) >= 0.95
    assert stress.replay(runs, Rule(), order=0) == replayed  # nan is the same object in both: the replay is deterministic
