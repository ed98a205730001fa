"""Tests of ranks, relative performance, classes and change of rank, on small tables whose answers were computed by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from dpubench.analysis import statistics
from dpubench.studies.stress import compare, export, ranking, text
from dpubench.studies.stress.model import QUANTITIES, RATE, PointSummary, RunSummary
from dpubench.studies.stress.points import point

#: stressor -> rates of its repetitions; for another duration than 60 s, (stressor, seconds).
Rates = Mapping[str | tuple[str, int], Sequence[float]]
CLASSES = {"cpu": ["cpu"], "vm": ["vm", "memory"], "pipe": ["memory"]}


def run_of(target: str, rates: Rates, version: str = "0.15.06", *, mixed: bool = False, reference: str = "") -> RunSummary:
    points = []
    for key, values in rates.items():
        stressor, seconds = key if isinstance(key, tuple) else (key, 60)
        made = point(stressor, seconds)
        summary = PointSummary(made.id, made.parameters, stressor=stressor, duration_s=seconds, classes=CLASSES.get(stressor, []))
        if values:
            summary.rounds = {RATE: list(values)}
            summary.figures = {RATE: statistics.interval_of_rounds(values)}
        points.append(summary)
    return RunSummary(
        name=f"r@{target}", path="", study="stress", plan="quick", status="complete", started="2026-01-01T00:00:00Z", finished="", command="",
        version="0.1.0", precision_target=0.05, machine={"cpus_online": 2}, build_info={}, inputs={}, warnings=[], failures=[], left_out=[],
        target=target, quantities=list(QUANTITIES), points=points, rounds=6, stress_version=version, instances=2, origin="measured",
        wanted_reference=reference, mixed_versions=mixed,
    )  # fmt: skip


def of(run: RunSummary, stressor: str, seconds: int = 60) -> PointSummary:
    return next(p for p in run.points if (p.stressor, p.duration_s) == (stressor, seconds))


def around(centre: float) -> list[float]:
    """Return six repetitions within 1 % of ``centre``."""
    return [centre * (1 + d / 1000) for d in (-10, -6, -2, 2, 6, 10)]


def test_ranks_and_relative_performance() -> None:
    runs = [
        run_of("local", {"cpu": around(100), "vm": around(10)}), run_of("a", {"cpu": around(400), "vm": around(5)}),
        run_of("b", {"cpu": around(200), "vm": around(20)}),
    ]  # fmt: skip
    found = ranking.rank(runs)
    assert runs[found.reference].target == "local" and all(run.reference == "local" for run in runs)
    ranks = {(run.target, p.stressor): p.rank.value for run in runs for p in run.points if p.rank}
    assert ranks == {("a", "cpu"): 1, ("b", "cpu"): 2, ("local", "cpu"): 3, ("b", "vm"): 1, ("local", "vm"): 2, ("a", "vm"): 3}
    assert all(p.rank.decided and p.rank.of == 3 and p.rank.missing == 0 for run in runs for p in run.points if p.rank)
    relative = of(runs[1], "cpu").relative
    assert relative is not None and relative.value == pytest.approx(4, rel=0.001) and relative.low < 4 < relative.high
    own = of(runs[0], "cpu").relative
    assert own is not None and (own.value, own.low, own.high) == (1, 1, 1)
    assert found.distribution(1) == {1: 1, 3: 1} and found.too_noisy() == []


def test_equal_rates_share_a_rank_and_a_missing_one_has_none() -> None:
    runs = [run_of("a", {"cpu": [7, 7]}), run_of("b", {"cpu": [7, 7]}), run_of("c", {"cpu": [3, 3]}), run_of("d", {"cpu": []}), run_of("e", {})]
    ranking.rank(runs)
    assert [text.rank_text(of(run, "cpu")) for run in runs[:4]] == ["1 of 3 (2 missing)", "1 of 3 (2 missing)", "3 of 3 (2 missing)", "-"]
    assert of(runs[3], "cpu").relative is None


def test_a_rank_among_one_is_none() -> None:
    runs = [run_of("a", {"cpu": [7, 8]}), run_of("b", {"vm": [7, 8]})]
    ranking.rank(runs)
    assert of(runs[0], "cpu").rank is None and of(runs[1], "vm").rank is None


def test_one_repetition_gives_a_rank_without_an_interval() -> None:
    runs = [run_of("a", {"cpu": [7]}), run_of("b", {"cpu": [8, 9]})]
    ranking.rank(runs)
    assert text.rank_text(of(runs[0], "cpu")) == "2 [?] of 2"
    relative = of(runs[1], "cpu").relative
    assert relative is not None and relative.value == pytest.approx(math.sqrt(72) / 7) and math.isnan(relative.low)


def test_a_stressor_that_scatters_more_than_the_targets_differ_cannot_be_ranked() -> None:
    wild = [10, 100, 20, 90, 15, 80]
    runs = [run_of("a", {"cpu": wild, "vm": around(1)}), run_of("b", {"cpu": [v * 1.05 for v in reversed(wild)], "vm": around(2)})]
    found = ranking.rank(runs)
    assert found.too_noisy() == ["cpu"] and [p.rank.low for run in runs for p in run.points if p.rank and p.stressor == "cpu"] == [1, 1]
    assert found.distribution(1) == {1: 1}  # vm alone
    assert [row.stressor for row, _ in found.best(1)] == ["vm"] == [row.stressor for row, _ in found.worst(1)]
    assert "too noisy to be ranked" in text.show(runs) and "Not ranked" in text.show(runs)


def test_a_bootstrap_interval_holds_ranks_that_the_scatter_allows() -> None:
    low, high = ranking.ranks_of([np.log(around(100)), np.log(around(100.2)), np.log(around(500))], "s")[1:]
    assert (low, high) == ([2, 2, 1], [3, 3, 1])
    again = ranking.ranks_of([np.log(around(100)), np.log(around(100.2)), np.log(around(500))], "s")
    assert again[1:] == (low, high)


def test_class_means_are_over_stressors_that_all_targets_have() -> None:
    runs = [
        run_of("local", {"cpu": [1, 1], "vm": [1, 1], "pipe": [1, 1], "extra": [1, 1]}), run_of("a", {"cpu": [2, 2], "vm": [8, 8], "pipe": [2, 2]}),
    ]  # fmt: skip
    means = {(m.name, m.target): m for m in ranking.rank(runs).classes}
    assert {name for name, _ in means} == {"cpu", "memory", "vm"}
    memory = means["memory", 1]
    assert memory.count == 2 and memory.mean == pytest.approx(5.0) and memory.geometric == pytest.approx(4.0)
    assert memory.deviation == pytest.approx(math.sqrt((3**2 + 3**2) / 1))
    assert math.isnan(means["cpu", 1].deviation) and means["memory", 0].mean == 1


def test_the_reference_is_the_plans_or_the_one_asked_for() -> None:
    runs = [run_of("local", {"cpu": [1, 1]}, reference="a"), run_of("a", {"cpu": [2, 2]}, reference="a")]
    assert ranking.rank(runs).reference == 1 and ranking.rank(runs, "local").reference == 0 and ranking.rank(runs).reference == 1


def test_ranks_are_taken_at_the_longest_duration_that_all_have() -> None:
    runs = [
        run_of("a", {("cpu", 10): [4, 4], ("cpu", 60): [3, 3], ("vm", 10): around(1), ("vm", 60): []}),
        run_of("b", {("cpu", 10): [2, 2], ("cpu", 60): [5, 5], ("vm", 10): around(2), ("vm", 60): around(3)}),
    ]
    found = ranking.rank(runs)
    assert [(row.stressor, row.duration_s) for row in found.rows] == [("cpu", 60), ("vm", 10)]
    assert of(runs[0], "vm", 10).is_final and not of(runs[0], "vm", 60).is_final
    assert [(m.stressor, m.target, m.before.value, m.after.value, m.decided) for m in found.moved] == [("cpu", 0, 1, 2, True), ("cpu", 1, 2, 1, True)]
    assert found.durations == (10, 60) and found.moved_of == 2  # vm has no rate of 60 s on a


def test_different_versions_are_refused_or_marked() -> None:
    runs = [run_of("a", {"cpu": [1, 1]}, "0.12.01"), run_of("b", {"cpu": [2, 2]}, "0.15.06")]
    found = ranking.rank(runs)
    assert found.refused and "a: stress-ng 0.12.01; b: stress-ng 0.15.06" in text.show(runs)
    assert all(p.rank is None and p.relative is None for run in runs for p in run.points) and found.rows == []
    assert "Targets side by side" not in text.show(runs) and r"\begin{tabular}{lrr}" in export.to_latex(runs)
    (row,) = compare.compared(runs[:1], runs[1:], 0.03, None)[0].rows
    assert row.verdict == "not comparable" and "stress-ng 0.12.01" in row.reason
    marked = [run_of("a", {"cpu": around(1)}, "0.12.01", mixed=True), run_of("b", {"cpu": around(2)}, "0.15.06")]
    assert ranking.rank(marked).refused == "" and [w.code for run in marked for w in run.warnings] == ["mixed-versions"] * 2
    (row,) = compare.compared(marked[:1], marked[1:], 0.03, None)[0].rows
    assert row.verdict == "faster" and "mixed versions" in row.reason


def test_records_and_tables_name_units_and_intervals() -> None:
    runs = [run_of("local", {"cpu": around(100)}), run_of("a", {"cpu": around(400)})]
    ranking.rank(runs)
    first, second = export.EXPORT.records(runs)
    assert (second["rank"], second["rank_low"], second["rank_high"], second["ranked_targets"], second["reference"]) == (1, 1, 1, 2, "local")
    assert second["relative"] == pytest.approx(4, rel=0.001) and first["bogo_ops_per_s"] == pytest.approx(100, rel=0.001)
    latex = export.to_latex(runs)
    assert "a: bogo ops/s" in latex and "a / local" in latex and "1 of 2" in latex
    assert export.EXPORT.table(runs).column("rank").to_pylist() == [2, 1]
    copies = export.EXPORT.anonymous([run_of("ssh://me@there", {"cpu": around(1)}), run_of("local", {"cpu": around(2)})])
    assert [copy.target for copy in copies] == ["target-1", "local"] and copies[0].stress_version == "0.15.06"


def test_kendalls_tau() -> None:
    nan = math.nan
    assert ranking.kendall_tau({"a": [1, 2, 3]}, {"a": [10, 20, 30]}) == 1
    assert ranking.kendall_tau({"a": [1, 2, 3]}, {"a": [3, 2, 1]}) == -1
    assert ranking.kendall_tau({"a": [1, 2, 3], "b": [1, nan, 2]}, {"a": [1, 3, 2], "b": [2, 5, 1]}) == (2 - 1 - 1) / 4
    with pytest.raises(ValueError, match="no pair"):
        ranking.kendall_tau({"a": [1, nan]}, {"a": [1, 2]})
