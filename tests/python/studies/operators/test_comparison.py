"""Tests of comparisons on simulated runs: true findings, false findings, and points that cannot be compared, with the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dpubench.analysis.model import EMULATED, Comparison
from dpubench.analysis.statistics import unpaired_difference
from dpubench.studies.operators.comparison import compare, compare_builds, compare_targets, movement
from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.summary import summaries, summarize
from simulated_runs import Noise, SimulatedPoint, SimulatedTarget, log_rates, write_run, write_set

EFFECT = 0.03
SIZES = (64, 256, 1024, 4096)
QUIET = Noise(machine=0.005, drift=0.001)


def points(factors: dict[tuple[str, str], float] | None = None) -> list[SimulatedPoint]:
    """Return 24 points: three operators, two engines, four sizes; ``factors`` scale the rates of an (operator, engine)."""
    factors = factors or {}
    return [
        SimulatedPoint(operator, engine, rate / size * 64 * factors.get((operator, engine), 1.0), {"size": str(size)})
        for operator, rate in (("aes", 4e6), ("lpm", 2e7), ("sha256", 1e6))
        for size in SIZES
        for engine in ("portable", "openssl")
    ]


def run(path: Path, seed: int, factors: dict[tuple[str, str], float] | None = None, **options: Any) -> RunSummary:
    return summarize(write_run(path, points(factors), seed=seed, **options))


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
    again = run(tmp_path / "again", 3, noise=QUIET)
    assert len(found(compare(old, again, 0.06), "same")) >= 20


def test_a_slow_engine_is_found_although_the_machine_moved_further(tmp_path: Path) -> None:
    old = run(tmp_path / "old", 1, noise=QUIET)
    new = run(tmp_path / "new", 2, {("sha256", "openssl"): 0.88}, noise=QUIET, machine_shift=-0.15, memory_shift=-0.15)
    rows = compare(old, new, EFFECT)
    assert found(rows, "slower") == [f"sha256/size={size}/t1/b32/stream/openssl" for size in SIZES]
    moved = movement(old, new)
    assert moved is not None and moved.interval is not None
    assert moved.interval.low <= np.exp(-0.15) <= moved.interval.high


def test_where_nothing_tells_who_follows_the_memory_canary_its_movement_makes_uncertain_and_not_blind(tmp_path: Path) -> None:
    old = run(tmp_path / "old", 1)
    rows = compare(old, run(tmp_path / "new", 2, {("sha256", "openssl"): 0.7}, memory_shift=-0.15), EFFECT)
    assert found(rows, "slower") == [f"sha256/size={size}/t1/b32/stream/openssl" for size in SIZES]


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


def changed(summary: RunSummary, **changes: Any) -> RunSummary:
    """Return ``summary`` with its first point changed."""
    return replace(summary, points=[replace(summary.points[0], **changes), *summary.points[1:]])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"operator_version": 3}, "the operator's version differs (2, in the new run 3)"),
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
    rows = [row for seed in range(3) for row in compare_builds(live(tmp_path / str(seed), 1 / 0.97, seed, rounds=8), 0.01)]
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


# --------------------------------------------------------------------------- targets


def targets(path: Path, device: list[SimulatedPoint], seed: int = 1, **options: Any) -> list[RunSummary]:
    """Return one run of a host and a device with the same kind of CPU."""
    return summaries(write_set(path, [SimulatedTarget("local", points()), SimulatedTarget("dev", device)], seed=seed, **options))


def at(factor: float) -> list[SimulatedPoint]:
    return [replace(p, rate=factor * p.rate) for p in points()]


def test_the_interval_of_a_ratio_of_independent_rounds_holds_the_planted_one() -> None:
    generator = np.random.default_rng(7)
    held = 0
    for rounds in (6, 8, 12):
        host, device = (
            np.median(log_rates(generator, np.array([rate]), 700, rounds, 4, Noise()).mean(axis=-1), axis=-1)[:, :, 0] for rate in (1e6, 3.7e5)
        )
        found = [unpaired_difference(a, b) for a, b in zip(host, device, strict=True)]
        intervals = [d.interval for d in found if d is not None]
        held += sum(i.low <= 0.37 <= i.high for i in intervals)
    assert 0.93 <= held / 2100 <= 0.98  # intervals are WIDENING times the t quantile, and there is no stopping rule


def test_ratios_between_targets_are_plain_although_the_canaries_differ_as_much(tmp_path: Path) -> None:
    """A slower core slows its canary as much. Divided by the canary, the device would pass for a slow moment of the host."""
    host, device = targets(tmp_path / "set", at(0.5), noise=QUIET)
    for summary in (host, device):
        summary.machine = dict(host.machine)  # even for the same kind of machine
    device.canaries = {name: [0.5 * rate for rate in rates] for name, rates in device.canaries.items()}
    rows = compare(host, device, EFFECT)
    assert {row.verdict for row in rows} == {"slower"}
    assert all(row.ratio is not None and row.ratio.value == pytest.approx(0.5, rel=0.03) for row in rows)
    assert all(row.reason == "different targets: the ratio includes the machine" for row in rows)


def test_a_target_against_itself_at_another_time_is_watched_by_its_canaries(tmp_path: Path) -> None:
    _, before = targets(tmp_path / "a", at(0.5))
    _, after = targets(tmp_path / "b", at(0.5), seed=50, machine_shift=-0.12, memory_shift=-0.12)
    rows = compare(before, after, EFFECT)
    assert found(rows, "slower") == [] and movement(before, after) is not None
    # There is no movement between two different targets.
    assert movement(targets(tmp_path / "c", at(0.5))[0], after) is None


def test_an_emulated_target_has_no_ratio(tmp_path: Path) -> None:
    made = write_set(tmp_path / "set", [SimulatedTarget("local", points()), SimulatedTarget("qemu:aarch64", at(0.01), label=EMULATED)])
    host, emulated = summaries(made)
    assert all(p.ops_per_s is None and p.build_ns is None and p.verified for p in emulated.points)
    assert emulated.canaries == {} and emulated.times_mean_nothing
    for rows in (compare(host, emulated, EFFECT), compare(emulated, host, EFFECT, best_engine=True)):
        assert {(row.verdict, row.ratio, row.reason) for row in rows} == {("not comparable", None, "qemu:aarch64 is emulated: correctness only")}


def test_a_label_is_in_the_reason_of_every_row(tmp_path: Path) -> None:
    label = "restricted host, not a device"
    host, restricted = summaries(
        write_set(tmp_path / "s", [SimulatedTarget("local", points()), SimulatedTarget("local:cpus=0", at(0.5), label=label)])
    )
    assert all(f"local:cpus=0: {label}" in row.reason for row in compare(host, restricted, EFFECT))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 3}, "the operator's version differs (2, on dev 3)"),
        ({"input_sha256": "cd" * 32}, "the input differs (text abababababab, on dev text cdcdcdcdcdcd)"),
        ({"engine": "isal"}, "engine portable is not on dev for this configuration"),
        ({"threads": 8}, "1 thread was not measured on dev (only 8)"),
        ({"in_flight": 32}, "jobs in flight differ (the default of engine portable, on dev 32)"),
        ({"unavailable": "no such library"}, "cannot run on dev: no such library"),
        ({"failure": "it crashed"}, "not measured on dev: it crashed"),
    ],
)
def test_between_targets_too_what_cannot_be_paired_says_why(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    mine = [p for p in points() if p.engine == "portable"][:1]
    host, device = summaries(
        write_set(tmp_path / "s", [SimulatedTarget("local", mine), SimulatedTarget("dev", [replace(p, **change) for p in mine])])
    )
    if "failure" in change:
        device.points[0].ops_per_s = None  # an output that disagrees withdraws its point's figures
    assert compare(host, device, EFFECT)[0].reason.startswith(reason)


def test_a_missing_engine_has_the_reason_of_the_catalog(tmp_path: Path) -> None:
    host, device = targets(tmp_path / "s", [p for p in at(0.5) if p.engine == "portable"])
    device.operators["aes"]["engines"] = [{"name": "openssl", "available": False, "reason": "libcrypto.so.3 is not there"}]
    reasons = {row.configuration.split("/")[0]: row.reason for row in compare(host, device, EFFECT) if row.configuration.endswith("openssl")}
    assert reasons["aes"] == "engine openssl cannot run on dev: libcrypto.so.3 is not there"
    assert reasons["lpm"] == "engine openssl is not on dev for this configuration"


def test_jobs_in_flight_are_points_of_their_own_and_the_best_of_them_meets_the_best(tmp_path: Path) -> None:
    engine = SimulatedPoint("aes", "cryptodev", 1e6, {"size": "64"}, path={"in_flight": 32})
    mine = [engine, replace(engine, in_flight=8, rate=5e5), replace(engine, in_flight=128, rate=2e6)]
    host, device = summaries(write_set(tmp_path / "s", [SimulatedTarget("local", mine), SimulatedTarget("dev", mine)], noise=QUIET))
    names = [f"aes/size=64/t1/b32/stream/{name}" for name in ("cryptodev", "cryptodev~8", "cryptodev~128")]
    assert [row.configuration for row in compare(host, device, EFFECT)] == names
    assert [row.configuration for row in compare(host, device, EFFECT, best_engine=True)] == names[2:]


def test_two_builds_on_two_targets_pair_build_by_build(tmp_path: Path) -> None:
    mine = points()[:2]
    both = [*mine, *(replace(p, build="before") for p in mine)]
    host, device = summaries(write_set(tmp_path / "s", [SimulatedTarget("local", both), SimulatedTarget("dev", both)]))
    rows = compare(host, device, EFFECT)
    assert [row.new for row in rows] == [f"{row.old}@dev" if "#" not in str(row.old) else str(row.old).replace("#", "@dev#") for row in rows]


def test_two_runs_of_several_targets_are_compared_target_by_target(tmp_path: Path) -> None:
    old = targets(tmp_path / "a", at(0.5), noise=QUIET)
    new = targets(tmp_path / "b", at(0.4), seed=30, noise=QUIET)
    parts = dict(compare_targets(old, new, EFFECT))
    assert list(parts) == ["local", "dev"]
    assert found(parts["local"], "slower") == [] and len(found(parts["dev"], "slower")) + len(found(parts["dev"], "undecided")) == 24
    alone = dict(compare_targets(old, new[:1], EFFECT))
    assert {row.reason for row in alone["dev"]} == {"target dev is not in the new run"}
