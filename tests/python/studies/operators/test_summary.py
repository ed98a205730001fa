"""Tests of the summary of a run directory: values, units, damaged and unfinished runs, and the time that a large one takes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpubench.analysis.model import EMULATED
from dpubench.analysis.warnings import advice
from dpubench.errors import UserError
from dpubench.report.machine import run_info
from dpubench.storage.runs import DamagedRunError
from dpubench.studies.operators import text
from dpubench.studies.operators.comparison import compare
from dpubench.studies.operators.model import RunSummary
from dpubench.studies.operators.report.figures import chart_data
from dpubench.studies.operators.report.points import OperatorPoints
from dpubench.studies.operators.rounds import windows_schema
from dpubench.studies.operators.summary import baseline_target, summaries, summarize
from dpubench.studies.operators.windows import read_windows
from simulated_runs import CLOCK, Noise, SimulatedPoint, SimulatedTarget, write_run, write_set

STILL = Noise(process=0, machine=0, drift=0, window=0, stall_share=0)
POINTS = [
    SimulatedPoint("aes", "portable", 1e6, {"size": "1000"}),
    SimulatedPoint("aes", "openssl", 4e6, {"size": "1000"}),
    SimulatedPoint("lpm", "portable", 2e7),
    SimulatedPoint("lpm", "dpdk", 1e7, unavailable="libdpdk is missing"),
]


def test_values_and_units_without_noise(tmp_path: Path) -> None:
    summary = summarize(write_run(tmp_path / "run", POINTS, noise=STILL, rounds=6, cycles=3))
    portable, openssl, lpm, dpdk = summary.points
    assert openssl.ops_per_s is not None and openssl.ops_per_s.value == pytest.approx(4e6)
    assert openssl.ns_per_op is not None and openssl.ns_per_op.value == pytest.approx(250)
    assert openssl.gbps is not None and openssl.gbps.value == pytest.approx(32)
    assert openssl.primary == openssl.gbps and openssl.primary_unit == "Gb/s"
    assert openssl.cycles_per_op is not None and openssl.cycles_per_op.value == pytest.approx(675)
    assert openssl.canary_ratio is not None and openssl.canary_ratio.value == pytest.approx(0.01)
    assert openssl.ratio_to_reference is not None and openssl.ratio_to_reference.value == pytest.approx(4)
    assert portable.ratio_to_reference is not None and portable.ratio_to_reference.value == pytest.approx(1)
    assert lpm.gbps is None and lpm.primary is not None
    assert lpm.primary.value == pytest.approx(20) and lpm.primary_unit == "Mops/s"
    assert (openssl.rounds, openssl.windows, openssl.converged) == (6, 36, True)
    assert openssl.precision == pytest.approx(0, abs=1e-9)
    assert openssl.build_ns == 2000
    assert summary.canaries["canary-core"] == pytest.approx([4e8] * 6)
    assert dpdk.ops_per_s is None and dpdk.unavailable == "libdpdk is missing" and dpdk.windows == 0
    assert [w.code for p in summary.points for w in p.warnings] == []


def test_gbps_stands_beside_the_primary_rate_in_modes_that_process_all_bytes(tmp_path: Path) -> None:
    points = [SimulatedPoint("checksum", "portable", 1e6, {"mode": mode, "size": "1000"}) for mode in ("full", "incremental")]
    summary = summarize(write_run(tmp_path / "run", points, noise=STILL, rounds=6, cycles=3))
    full, incremental = summary.points
    assert full.gbps is not None and full.gbps.value == pytest.approx(8)
    assert incremental.gbps is None
    for point in (full, incremental):
        assert point.primary is not None and point.primary.value == pytest.approx(1) and point.primary_unit == "Mops/s"
    data = chart_data([summary], [run_info(summary, "r")], None, [OperatorPoints("checksum", [summary])], [None])
    [entry] = data["operators"]
    assert [m["unit"] for m in entry["metrics"]] == ["Gb/s"], "the report's table of points has it, too"
    assert [point[data["fields"].index("metrics")] for point in entry["points"]] == [[8], [None]]


def test_cycles_are_the_counters_where_there_is_one(tmp_path: Path) -> None:
    points = [
        SimulatedPoint("aes", "portable", 1e6, {"size": "1000"}, cycles=2500, energy_nj=40000),
        SimulatedPoint("aes", "openssl", 4e6, {"size": "1000"}),
    ]
    counted, estimated = summarize(write_run(tmp_path / "run", points, noise=STILL, rounds=6, cycles=3)).points
    assert counted.cycles_per_op is not None and counted.cycles_per_op.value == pytest.approx(2500, rel=1e-4)  # the clock would give 2700
    assert counted.cycles_source == "hardware counter"
    assert counted.energy_nj_per_op is not None and counted.energy_nj_per_op.value == pytest.approx(40000)
    assert counted.energy_nj_per_op.low == pytest.approx(40000)
    assert estimated.cycles_per_op is not None and estimated.cycles_per_op.value == pytest.approx(675)
    assert estimated.cycles_source == "estimated" and estimated.energy_nj_per_op is None


def test_cycles_of_the_user_mode_alone_say_so(tmp_path: Path) -> None:
    machine = {"cpus_online": 2, "cycle_counter": {"source": "hardware counter, user mode only"}, "clock_estimate": CLOCK}
    points = [SimulatedPoint("lpm", "portable", 1e6, cycles=100), SimulatedPoint("lpm", "dpdk", 1e6)]
    run = summarize(write_run(tmp_path / "run", points, rounds=6, changes={"machine": machine}))
    assert [p.cycles_source for p in run.points] == ["hardware counter, user mode only", "estimated"]


def test_the_clock_is_that_of_the_canary_where_windows_have_none(tmp_path: Path) -> None:
    own = summarize(write_run(tmp_path / "own", POINTS, noise=STILL, rounds=6))
    beside = summarize(write_run(tmp_path / "beside", POINTS, noise=STILL, rounds=6, own_clock=False))
    assert own.points == beside.points and own.points[0].cycles_source == "estimated"
    nothing = summarize(write_run(tmp_path / "nothing", POINTS, noise=STILL, rounds=6, own_clock=False, canaries=False)).points[0]
    assert nothing.ops_per_s is not None and nothing.cycles_per_op is None and nothing.cycles_source == ""


@pytest.mark.parametrize(
    ("clock", "reason"),
    [
        ({}, "assumed three cycles for a multiplication on every x86-64 processor"),
        ({"clock_estimate": {"unavailable": "AuthenticAMD family 15 model 107 is not in the list"}}, "family 15 model 107 is not in the list"),
    ],
)
def test_no_cycles_are_estimated_of_a_processor_that_nobody_named(tmp_path: Path, clock: dict[str, Any], reason: str) -> None:
    # The first case is a run of an earlier version. Its clocks assume three cycles, whatever the processor.
    machine = {"cpus_online": 2, **clock}
    run = summarize(write_run(tmp_path / "run", POINTS, rounds=6, own_clock=False, changes={"machine": machine}))
    assert all(p.cycles_per_op is None and p.cycles_source == "" for p in run.points) and any(p.ops_per_s for p in run.points)
    [line] = [line for line in run.left_out if line.startswith("cycles per operation")]
    assert reason in line and line in text.show([run])


def test_a_refused_reading_loses_its_cycle_only(tmp_path: Path) -> None:
    points = [SimulatedPoint("lpm", "portable", 1e6, cycles=100, energy_nj=500)]
    run = write_run(tmp_path / "run", points, rounds=6, cycles=4, noise=STILL)
    for path in sorted(run.glob("rounds/*.parquet")):
        table = pq.read_table(path).to_pylist()
        for row in table:
            if row["point"] == points[0].id and row["cycle"] == 2:
                row["core_cycles"] = None  # the counter was multiplexed
        pq.write_table(pa.Table.from_pylist(table, schema=windows_schema()), path)
    point = summarize(run).points[0]
    assert point.cycles_source == "hardware counter"
    assert point.cycles_per_op is not None and point.cycles_per_op.value == pytest.approx(100, rel=1e-4)


def test_energy_is_that_of_a_round_not_of_its_windows(tmp_path: Path) -> None:
    points = [SimulatedPoint("lpm", "portable", 1e6, energy_nj=500)]
    run = write_run(tmp_path / "run", points, rounds=6, cycles=4, noise=STILL)
    for path in sorted(run.glob("rounds/*.parquet")):
        table = pq.read_table(path).to_pylist()
        windows = [row for row in table if row["point"] == points[0].id]
        whole = sum(row["energy_uj"] for row in windows)
        for row in windows:  # the counter takes one step over all windows, and one window has no reading
            row["energy_uj"] = 0.0
        windows[3]["energy_uj"] = whole * (len(windows) - 1) / len(windows)
        windows[5]["energy_uj"] = None
        pq.write_table(pa.Table.from_pylist(table, schema=windows_schema()), path)
    energy = summarize(run).points[0].energy_nj_per_op
    assert energy is not None and energy.value == pytest.approx(500) and energy.low == pytest.approx(500)


def test_a_run_of_before_the_counters_is_read(tmp_path: Path) -> None:
    new = write_run(tmp_path / "new", POINTS, seed=3)
    old = write_run(tmp_path / "old", POINTS, seed=3)
    for path in sorted(old.glob("rounds/*.parquet")):
        table = pq.read_table(path)
        pq.write_table(table.select([n for n in table.column_names if n not in ("core_cycles", "energy_uj")]), path)
    assert summarize(old).points == summarize(new).points
    assert np.isnan(read_windows(old).core_cycles).all() and np.isnan(read_windows(old).energy_uj).all()


def test_intervals_hold_the_truth_under_noise(tmp_path: Path) -> None:
    many = [
        SimulatedPoint("aes", engine, rate, {"size": str(size)}) for size in range(64, 164) for engine, rate in (("portable", 1e6), ("openssl", 3e6))
    ]
    summaries = [summarize(write_run(tmp_path / str(seed), many, seed=seed)) for seed in (5, 6)]
    ratios = [p.ratio_to_reference for summary in summaries for p in summary.points if p.engine == "openssl"]
    inside = sum(r is not None and r.low <= 3 <= r.high for r in ratios)
    assert 183 <= inside <= 198


def test_warnings_of_the_analysis(tmp_path: Path) -> None:
    few = summarize(write_run(tmp_path / "few", POINTS, rounds=3))
    assert {w.code for w in few.points[0].warnings} >= {"few-rounds"}
    assert "canary-moved" in {w.code for w in few.warnings}
    assert not few.points[0].converged
    wide = summarize(write_run(tmp_path / "wide", POINTS, rounds=6, noise=Noise(machine=0.2)))
    assert {w.code for w in wide.points[0].warnings} >= {"not-converged"}
    assert "canary-moved" in {w.code for w in wide.warnings}
    calm = summarize(write_run(tmp_path / "calm", POINTS, rounds=6, noise=Noise(machine=0.001, drift=0.0005, window=0.005, stall_share=0)))
    assert [w.code for w in calm.points[0].warnings] == [] and calm.all_warnings() == []


MANY = [SimulatedPoint("aes", e, r, {"size": str(s)}) for s in range(64, 64 + 12) for e, r in (("portable", 1e6), ("openssl", 3e6))]
MOVING = Noise(machine=0.08, drift=0.0005, window=0.005, stall_share=0)


def disturb(run: Path, configuration: str, rounds: range, factor: float) -> None:
    """Slow down everything measured in a configuration in some rounds, canaries included."""
    for number in rounds:
        file = run / f"rounds/{number:04}.parquet"
        table = pq.read_table(file)
        hit = np.array([g == configuration for g in table.column("group").to_pylist()])
        operations = np.where(hit, table.column("operations").to_numpy() * factor, table.column("operations").to_numpy()).astype(np.int64)
        at = table.column_names.index("operations")
        pq.write_table(table.set_column(at, table.schema.field(at), pa.array(operations)), file)


def marked(summary: RunSummary, code: str) -> list[str]:
    return [p.id for p in summary.points if any(w.code == code for w in p.warnings)]


def test_what_the_machine_does_to_all_points_is_said_once(tmp_path: Path) -> None:
    summary = summarize(write_run(tmp_path / "run", MANY, rounds=6, noise=MOVING))
    found = [w for w in summary.all_warnings() if w.code == "canary-moved"]
    assert [w.point for w in found] == [None, None] and marked(summary, "canary-moved") == []
    assert [w.message.split()[0] for w in found] == ["canary-core", "canary-memory"]
    assert "% beside a typical configuration" in found[0].message


def test_what_the_machine_did_beside_one_configuration_is_said_there(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", MANY, rounds=6, noise=replace(MOVING, machine=0.01))
    assert marked(summarize(run), "canary-moved") == []
    disturb(run, MANY[6].configuration, range(3), 0.7)
    summary = summarize(run)
    assert marked(summary, "canary-moved") == [p.id for p in MANY[6:8]]
    assert all(w.point for w in summary.all_warnings() if w.code == "canary-moved")  # there is no warning about the run


def test_a_code_at_most_points_is_said_of_the_run(tmp_path: Path) -> None:
    coarse = [{"code": "clock-coarse", "message": f"{n} ns", "point": p.id} for n, p in enumerate(MANY[:20])]
    own = [{"code": "few-bursts", "message": "12 bursts", "point": MANY[3].id}]
    summary = summarize(write_run(tmp_path / "run", MANY, rounds=3, noise=replace(MOVING, machine=0.0), changes={"warnings": coarse + own}))
    codes = [(w.code, w.point) for w in summary.all_warnings()]
    assert codes == [("few-bursts", MANY[3].id), ("clock-coarse", None), ("few-rounds", None)]
    told = {w.code: w.message.removesuffix(" (3 in the run)") for w in summary.all_warnings()}
    assert told["clock-coarse"].startswith("at 20 of 24 points: ") and told["few-rounds"] == "at 24 of 24 points: 3 of at least 6 rounds"
    assert all(p.rounds == 3 and not p.converged for p in summary.points)  # the facts of each point stay with it


def test_a_code_at_fewer_than_half_of_the_points_stays_with_them(tmp_path: Path) -> None:
    coarse = [{"code": "clock-coarse", "message": "m", "point": p.id} for p in MANY[:11]]
    summary = summarize(write_run(tmp_path / "run", MANY, rounds=6, noise=STILL, changes={"warnings": coarse}))
    assert marked(summary, "clock-coarse") == [p.id for p in MANY[:11]] and all(w.point for w in summary.all_warnings())


def test_each_figure_is_judged_by_itself(tmp_path: Path) -> None:
    """Rates scatter from round to round far more than the ratios, so only the rates are marked."""
    summary = summarize(write_run(tmp_path / "run", POINTS, rounds=6, noise=Noise(process=0.001, machine=0.2, drift=0, window=0.001, stall_share=0)))
    portable, openssl, lpm, _ = summary.points
    assert not openssl.converged and {"ops_per_s", "ns_per_op", "primary", "gbps", "cycles_per_op"} <= set(openssl.not_converged)
    assert not {"ratio_to_reference", "ratio_to_next_best", "canary_ratio"} & set(openssl.not_converged)
    assert "gbps" not in lpm.not_converged  # lpm has no such figure
    still = summarize(write_run(tmp_path / "still", POINTS, rounds=6, noise=STILL))
    assert [p.not_converged for p in still.points] == [[], [], [], []]
    few = summarize(write_run(tmp_path / "few", POINTS, rounds=5, noise=STILL))
    assert set(few.points[0].not_converged) >= {"ops_per_s", "ratio_to_reference", "canary_ratio"} and portable.rounds == 6


def test_one_round_has_values_but_no_interval(tmp_path: Path) -> None:
    point = summarize(write_run(tmp_path / "run", POINTS, rounds=1)).points[0]
    assert point.ops_per_s is not None and point.ops_per_s.value > 0
    assert math.isnan(point.ops_per_s.low) and math.isnan(point.precision)


def test_an_unfinished_round_counts(tmp_path: Path) -> None:
    whole = summarize(write_run(tmp_path / "whole", POINTS, seed=3))
    torn = summarize(write_run(tmp_path / "torn", POINTS, seed=3, unfinished=True))
    assert (tmp_path / "torn/rounds/0007.ndjson").is_file()
    for a, b in zip(whole.points, torn.points, strict=True):
        assert a == b


def test_a_round_kept_twice_counts_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", POINTS, unfinished=True)
    before = len(read_windows(run))
    (run / "rounds/0000.ndjson").write_text((run / "rounds/0007.ndjson").read_text(encoding="utf-8"), encoding="utf-8")
    assert len(read_windows(run)) == before


def test_metrics_are_read_from_maps(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", POINTS, unfinished=True, noise=STILL)
    events = run / "rounds/0007.ndjson"
    lines = events.read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines[:-1]]
    for row in rows:
        if row.get("point") == POINTS[1].id:
            row["metrics"] = {"ratio": 2.5, "matches": 0}
    events.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    metrics = summarize(run).points[1].metrics
    assert metrics["ratio"].value == 2.5 and metrics["matches"].value == 0
    assert summarize(run).points[0].metrics == {}


def test_a_run_without_windows_is_a_summary_without_figures(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", POINTS, rounds=1)
    (run / "rounds/0000.parquet").unlink()
    assert all(p.ops_per_s is None and p.rounds == 0 for p in summarize(run).points)


def test_failures_and_warnings_reach_their_points(tmp_path: Path) -> None:
    changes = {
        "failures": [{"phase": "verify", "message": "item 3 differs", "point": POINTS[0].id}],
        "warnings": [
            {"code": "few-bursts", "message": "12 bursts", "point": POINTS[1].id},
            {"code": "few-rounds", "message": "said when there were two", "point": POINTS[1].id},
        ],
    }
    summary = summarize(write_run(tmp_path / "run", POINTS, changes=changes))
    assert summary.points[0].failure == "verify: item 3 differs"
    assert summary.points[0].ops_per_s is None and summary.points[1].ops_per_s is not None  # a point whose output disagreed has no figure
    assert summary.points[1].ratio_to_reference is None
    assert "few-bursts" in {w.code for w in summary.points[1].warnings}
    assert "few-rounds" not in {w.code for w in [*summary.points[1].warnings, *summary.warnings]}  # there are eight rounds


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: (run / "run.json").unlink(), "is .* a run directory"),
        (lambda run: (run / "run.json").write_text("{"), "is damaged"),
        (lambda run: (run / "run.json").write_text("[]"), "is no dpubench.run/1"),
        (
            lambda run: (run / "run.json").write_text('{"schema": "dpubench.run/9"}'),
            "or dpubench.run-set/1: it was written by another version",
        ),
        (lambda run: (run / "run.json").write_text('{"schema": "dpubench.run/1", "points": [{}]}'), "does not follow dpubench.run/1"),
        (
            lambda run: (run / "run.json").write_text(
                '{"schema": "dpubench.run/1", "configurations": [{"candidates": ["a"], "not_measured": {"a": "slower"}}]}'
            ),
            "does not follow dpubench.run/1",
        ),
        (lambda run: (run / "rounds/0001.parquet").write_bytes(b"PAR1"), "0001.parquet: this round is damaged .*move the file away"),
    ],
)
def test_damage_is_named(tmp_path: Path, damage: Callable[[Path], object], message: str) -> None:
    run = write_run(tmp_path / "run", POINTS, rounds=2)
    damage(run)
    with pytest.raises(UserError, match=message):
        summarize(run)


def test_a_million_windows_are_summarized(tmp_path: Path) -> None:
    sizes = range(64, 64 + 66)
    many = [SimulatedPoint(o, e, 1e6, {"size": str(s)}) for o in ("aes", "lpm", "sha256") for s in sizes for e in ("portable", "openssl")]
    run = write_run(tmp_path / "run", many, rounds=30, cycles=21)
    windows = sum(pq.read_metadata(path).num_rows for path in run.glob("rounds/*.parquet"))
    summary = summarize(run)  # how long that takes is a claim of `make bench`, part startup
    assert windows > 990_000 and len(summary.points) == 396


# --------------------------------------------------------------------------- runs of several targets


def test_a_set_is_analysed_target_by_target(tmp_path: Path) -> None:
    members = [
        SimulatedTarget("dev", POINTS),
        SimulatedTarget("local", POINTS),
        SimulatedTarget("qemu:aarch64", POINTS, label=EMULATED, options={"canaries": True}),
        SimulatedTarget("gone", [], lost="no route to host"),
    ]
    runs = summaries(write_set(tmp_path / "s", members, rounds=6))
    assert [r.name for r in runs] == ["s@dev", "s@local", "s@qemu:aarch64", "s@gone"]
    assert [(r.target, r.run_set, r.is_baseline) for r in runs][:2] == [("dev", "s", False), ("local", "s", True)]
    assert [r.lost for r in runs] == ["", "", "", "no route to host"] and runs[3].points == [] and runs[3].status == "interrupted"
    assert runs[0].points[0].ops_per_s is not None and runs[2].points[0].ops_per_s is None
    assert [r.times_mean_nothing for r in runs] == [False, False, True, False]
    assert summarize(Path(runs[2].path)).times_mean_nothing  # also when it is summarized alone
    with pytest.raises(UserError, match="is a run of several targets: name one of them, as s@dev"):
        summarize(tmp_path / "s")


@pytest.mark.parametrize(
    ("targets", "wanted", "baseline"),
    [
        ([("a", False), ("b", False)], "", "a"),
        ([("a", False), ("local", False)], "", "local"),
        ([("a", False), ("local", False)], "a", "a"),
        ([("q", True), ("b", False)], "q", "b"),
        ([("a", False), ("b", False)], "c", "a"),
        ([("q", True)], "", ""),
    ],
)
def test_the_baseline_of_a_set(targets: list[tuple[str, bool]], wanted: str, baseline: str) -> None:
    assert baseline_target(targets, wanted) == baseline


def test_warnings_about_times_are_not_an_emulated_targets(tmp_path: Path) -> None:
    warnings = [{"code": c, "message": "m"} for c in ("clock-drift", "input-skipped")]
    (run,) = summaries(write_set(tmp_path / "s", [SimulatedTarget("q", POINTS, label=EMULATED)], rounds=2))
    assert run.all_warnings() == []
    made = write_run(tmp_path / "r", POINTS, rounds=2, changes={"warnings": warnings, "target_info": {"spec": "q", "label": EMULATED}})
    assert [w.code for w in summarize(made).all_warnings()] == ["input-skipped"]


@pytest.mark.parametrize("earlier", [False, True])
def test_a_point_that_leaves_much_undecided_has_no_ratio(tmp_path: Path, earlier: bool) -> None:
    points = [SimulatedPoint("aes", engine, rate, {"size": "64"}) for engine, rate in (("portable", 1e6), ("openssl", 8e6))]
    path = write_run(tmp_path / "run", points, rounds=6)
    record = json.loads((path / "run.json").read_text())
    if earlier:  # an earlier version counted the pairs of all engines of the configuration together
        message = "96 of 3200 pairs of payload and rule were undecided in one of the engines of this configuration and were not compared"
        record["warnings"] = [{"code": "input-skipped", "message": message, "point": p["id"]} for p in record["points"]]
    else:
        for point, share in zip(record["points"], (0.0, 0.03), strict=True):
            point["verified"] = {"known_answers": 14, "compared": 32, "how": "identical", "undecided_share": share}
    (path / "run.json").write_text(json.dumps(record))
    run = summarize(path)
    reference, other = run.points
    assert reference.ops_per_s is not None and other.ops_per_s is not None and other.ratio_to_reference is None
    [warning] = [w for w in run.all_warnings() if w.code == "undecided"]
    assert warning.point == other.id and "left 3 % of its work undecided" in warning.message and advice(warning.code)
    assert "undecided" in text.show([run])
    # The same engine does the same work at two times; another engine does not.
    assert not any(row.verdict == "not comparable" for row in compare(run, run, 0.03))
    changed = replace(other, verified=other.verified | {"undecided_share": 0.2})
    [row] = compare(replace(run, points=[other]), replace(run, points=[changed]), 0.03)
    assert earlier or (row.verdict == "not comparable" and "3 % of its work undecided before and 20 % now" in row.reason)
    alone = replace(run, points=[reference])
    [row] = compare(alone, replace(run, points=[other]), 0.03, best_engine=True)
    assert row.verdict == "not comparable" and "its rate is not compared with another engine's" in row.reason


def test_a_point_that_leaves_little_undecided_keeps_its_ratio(tmp_path: Path) -> None:
    points = [SimulatedPoint("aes", engine, rate, {"size": "64"}) for engine, rate in (("portable", 1e6), ("openssl", 8e6))]
    path = write_run(tmp_path / "run", points, rounds=6)
    record = json.loads((path / "run.json").read_text())
    record["points"][1]["verified"] = {"known_answers": 14, "compared": 32, "how": "identical", "undecided_share": 0.01}
    (path / "run.json").write_text(json.dumps(record))
    ratio = summarize(path).points[1].ratio_to_reference
    assert ratio is not None and ratio.value == pytest.approx(8, rel=0.1)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("threads", 1e300), ("burst", None), ("operator_version", "2"), ("in_flight", -1), ("memory_bytes", "many"), ("touched_bytes", []),
        ("footprint_bytes", -1), ("distinct_messages", True), ("distinct_keys", 0.5), ("verified/known_answers", "lpm"),
        ("verified/compared", {"": ""}), ("verified/undecided_share", "x"),
    ],
)  # fmt: skip
def test_a_record_with_counts_that_are_none_is_damaged(tmp_path: Path, place: str, value: Any) -> None:
    """The record may come from anywhere. Such counts ended exports and pages in a traceback."""
    run = write_run(tmp_path / "r", [SimulatedPoint("aes", "portable", 1e6, {"size": "64"})], rounds=2, cycles=2)
    record = json.loads((run / "run.json").read_text())
    *outer, last = place.split("/")
    holder = record["points"][0]
    for key in outer:
        holder = holder.setdefault(key, {})
    holder[last] = value
    (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(DamagedRunError, match=r"run\.json: does not follow dpubench\.run/1"):
        summarize(run)
