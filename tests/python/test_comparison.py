"""Old against new on simulated runs: what is found, what must not be, and what cannot be compared and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dpubench.results.comparison import compare, compare_builds
from dpubench.results.model import Comparison, PointSummary, RunSummary
from dpubench.results.summary import summarize
from simulation import Noise, SimulatedPoint, write_run

EFFECT = 0.03
SIZES = (64, 256, 1024, 4096)
QUIET = Noise(machine=0.005, drift=0.001)


def points(factors: dict[tuple[str, str], float] | None = None) -> list[SimulatedPoint]:
    """24 points: three operators, two engines, four sizes; ``factors`` on the rates of an (operator, engine)."""
    factors = factors or {}
    return [
        SimulatedPoint(operator, engine, rate / size * 64 * factors.get((operator, engine), 1.0), {"size": str(size)})
        for operator, rate in (("aes", 4e6), ("lpm", 2e7), ("sha256", 1e6))
        for size in SIZES
        for engine in ("portable", "openssl")
    ]


def run(path: Path, seed: int, factors: dict[tuple[str, str], float] | None = None, **options: object) -> RunSummary:
    return summarize(write_run(path, points(factors), seed=seed, **options))  # type: ignore[arg-type]


def found(rows: list[Comparison], verdict: str) -> list[str]:
    return [row.configuration for row in rows if row.verdict == verdict]


@pytest.mark.parametrize(
    ("shift", "memory", "scatter"), [(0.0, 0.0, 0.0), (-0.1, -0.1, 0.0), (-0.05, 0.02, 0.03), (0.2, 0.15, 0.02), (-0.15, 0.0, 0.06), (0.0, 0.0, 0.05)]
)
def test_an_unchanged_build_an_hour_later_shows_no_regression(tmp_path: Path, shift: float, memory: float, scatter: float) -> None:
    for seed in range(4):
        old = run(tmp_path / f"old{seed}", seed)
        new = run(tmp_path / f"new{seed}", seed + 100, machine_shift=shift, memory_shift=memory, shift_scatter=scatter)
        rows = compare(old, new, EFFECT)
        assert len(rows) == 24
        assert found(rows, "slower") == []
        assert found(rows, "faster") == []


def test_a_slow_engine_is_found_on_a_quiet_machine(tmp_path: Path) -> None:
    old = run(tmp_path / "old", 1, noise=QUIET)
    new = run(tmp_path / "new", 2, {("sha256", "openssl"): 0.85}, noise=QUIET)
    rows = compare(old, new, EFFECT)
    assert found(rows, "slower") == [f"sha256/size={size}/t1/b32/stream/openssl" for size in SIZES]
    slower = next(row for row in rows if row.verdict == "slower")
    assert slower.ratio is not None and slower.ratio.low <= 0.85 <= slower.ratio.high < 1
    assert slower.p_value is not None and slower.p_value <= 0.05
    assert len(found(compare(old, new, 0.06), "same")) >= 15


def test_a_difference_below_what_the_machine_moved_is_undecided(tmp_path: Path) -> None:
    old = run(tmp_path / "old", 1, noise=QUIET)
    new = run(tmp_path / "new", 2, {("sha256", "openssl"): 0.93}, noise=QUIET, machine_shift=-0.15, memory_shift=-0.15)
    rows = [row for row in compare(old, new, EFFECT) if row.configuration.startswith("sha256") and row.configuration.endswith("openssl")]
    assert {row.verdict for row in rows} == {"undecided"}
    assert "what the machine itself moved (core canary -1" in rows[0].reason


def test_without_canaries_nothing_is_a_finding(tmp_path: Path) -> None:
    old = run(tmp_path / "old", 1, noise=QUIET, canaries=False)
    new = run(tmp_path / "new", 2, {("sha256", "openssl"): 0.5}, noise=QUIET, canaries=False)
    rows = compare(old, new, EFFECT)
    assert {row.verdict for row in rows} == {"undecided"}
    assert "no canary" in rows[0].reason


def test_different_machines_are_compared_plainly(tmp_path: Path) -> None:
    device = {"host": "device", "cpu": "Small Core", "cpus_online": 8}
    old = run(tmp_path / "old", 1, noise=QUIET)
    new = run(tmp_path / "new", 2, noise=QUIET, machine_shift=-0.7, memory_shift=-0.7, changes={"machine": device})
    rows = compare(old, new, EFFECT)
    assert {row.verdict for row in rows} == {"slower"}
    assert all(row.ratio is not None and row.ratio.low <= np.exp(-0.7) * 1.02 and row.reason.startswith("different machines") for row in rows)


def changed(summary: RunSummary, **changes: object) -> RunSummary:
    """``summary`` with its first point changed."""
    return replace(summary, points=[replace(summary.points[0], **changes), *summary.points[1:]])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"operator_version": 2}, "the operator's version differs (1, in the new run 2)"),
        ({"input_sha256": "cd" * 32}, "the input differs (text abababababab, in the new run text cdcdcdcdcdcd)"),
        ({"engine": "isal"}, "engine portable is not in the new run for this configuration"),
        ({"params": {"size": "9000"}, "engine": "other"}, "engine portable is not in the new run for this configuration"),
        ({"operator": "crc"}, "engine portable is not in the new run for this configuration"),
    ],
)
def test_what_has_no_partner_is_listed_with_the_reason(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    old = run(tmp_path / "old", 1)
    rows = compare(old, changed(old, **changes), EFFECT)
    alone = [row for row in rows if row.verdict == "not comparable"]
    assert [(row.old is None, row.new is None) for row in alone] == [(False, True), (True, False)]
    assert alone[0].reason.startswith(reason)
    assert len(rows) == 25


def test_unmeasured_points_are_not_comparable(tmp_path: Path) -> None:
    given = points()
    old = summarize(write_run(tmp_path / "old", given))
    new = summarize(write_run(tmp_path / "new", [replace(given[0], unavailable="needs AVX-512"), *given[1:]], seed=2))
    row = compare(old, new, EFFECT)[0]
    assert (row.verdict, row.reason) == ("not comparable", "not measured in the new run: needs AVX-512")


def test_best_engine_meets_best_engine(tmp_path: Path) -> None:
    old = run(tmp_path / "old", 1, {("aes", "openssl"): 2.0}, noise=QUIET)
    new = run(tmp_path / "new", 2, {("aes", "portable"): 2.0}, noise=QUIET)
    rows = compare(old, new, EFFECT, best_engine=True)
    assert len(rows) == 12
    assert rows[0].configuration == "aes/size=64/t1/b32/stream/openssl -> portable"
    assert rows[0].verdict in ("same", "undecided")


def test_swapped_runs_give_the_inverse_ratio(tmp_path: Path) -> None:
    old, new = run(tmp_path / "old", 1), run(tmp_path / "new", 2)
    there, back = compare(old, new, EFFECT), compare(new, old, EFFECT)
    for a, b in zip(there, back, strict=True):
        assert a.ratio is not None and b.ratio is not None
        assert b.ratio.value == pytest.approx(1 / a.ratio.value)
        assert b.ratio.low == pytest.approx(1 / a.ratio.high)
        assert {a.verdict, b.verdict} in ({"faster", "slower"}, {"same"}, {"undecided"})


def test_a_run_against_itself_differs_nowhere(tmp_path: Path) -> None:
    once = run(tmp_path / "run", 1)
    rows = compare(once, once, EFFECT)
    assert all(row.ratio is not None and row.ratio.value == 1.0 and row.verdict in ("same", "undecided") for row in rows)


@pytest.mark.parametrize("effect", [-0.1, float("nan"), float("inf")])
def test_a_senseless_effect_is_refused(tmp_path: Path, effect: float) -> None:
    once = run(tmp_path / "run", 1)
    with pytest.raises(ValueError, match="min_effect"):
        compare(once, once, effect)


# --------------------------------------------------------------------------- two builds in one run


def live(path: Path, factor: float, seed: int, rounds: int = 6) -> RunSummary:
    new = points()
    old = [replace(point, build="before", rate=point.rate * factor) for point in new]
    return summarize(write_run(path, new + old, rounds=rounds, cycles=8, seed=seed))


def test_live_comparison_finds_three_percent(tmp_path: Path) -> None:
    rows = [row for seed in range(3) for row in compare_builds(live(tmp_path / str(seed), 1 / 0.97, seed), 0.01)]
    assert len(rows) == 72
    assert len(found(rows, "slower")) >= 0.9 * 72
    assert all(row.old == f"{row.new}#before" for row in rows)


def test_live_comparison_of_equal_builds_finds_nothing(tmp_path: Path) -> None:
    rows = [row for seed in range(3) for row in compare_builds(live(tmp_path / str(seed), 1.0, seed), EFFECT)]
    assert found(rows, "slower") + found(rows, "faster") == []
    assert len(found(rows, "same")) >= 0.8 * 72


def test_live_comparison_with_few_rounds_says_so(tmp_path: Path) -> None:
    assert "only 3 rounds" in compare_builds(live(tmp_path / "few", 1.0, 1, rounds=3), EFFECT)[0].reason
    assert compare_builds(live(tmp_path / "one", 1.0, 1, rounds=1), EFFECT)[0].verdict == "not comparable"


def test_a_run_of_one_build_has_no_pairs(tmp_path: Path) -> None:
    assert compare_builds(run(tmp_path / "run", 1), EFFECT) == []


def test_points_of_several_targets_pair_by_target(tmp_path: Path) -> None:
    once = run(tmp_path / "run", 1)
    twice: list[PointSummary] = [*once.points, *(replace(p, id=f"{p.id}@dev", target="dev") for p in once.points)]
    both = replace(once, points=twice)
    rows = compare(both, both, EFFECT)
    assert [row.old for row in rows] == [row.new for row in rows]
