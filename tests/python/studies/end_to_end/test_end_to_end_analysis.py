"""Tests of export, comparison and progress of study ``end-to-end``, on a run with made-up figures."""

from __future__ import annotations

import copy
import csv
import dataclasses
import io
import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from dpubench.errors import UserError
from dpubench.run.progress import Trial
from dpubench.studies.end_to_end import compare, export
from dpubench.studies.end_to_end.model import PLACES, RunSummary
from dpubench.studies.end_to_end.study import STUDY
from end_to_end_fixtures import example_run


def changed(factor: float, *, null_too: bool = False) -> RunSummary:
    """Return the example with every rate times ``factor``; the null workload's rates change only with ``null_too``."""
    run = copy.deepcopy(example_run("changed"))
    for point in run.points:
        if null_too or not point.is_null:
            point.round_pps = [rate * factor for rate in point.round_pps]
        if null_too and point.floor is not None and point.floor.throughput_pps is not None:
            moved = point.floor.throughput_pps
            new = type(moved)(moved.value * factor, moved.low * factor, moved.high * factor)
            point.floor = type(point.floor)(point.floor.point, new, point.floor.latency, point.floor.residence, point.floor.server_cpu_share)
    return run


def test_a_run_is_the_same_as_itself() -> None:
    rows = compare.compare(example_run(), example_run(), 0.10)
    assert {row.verdict for row in rows} <= {"same", "undecided", "not comparable"} and any(row.verdict == "same" for row in rows)


def test_half_the_rate_is_slower_and_twice_is_faster() -> None:
    for factor, verdict in ((0.5, "slower"), (2.0, "faster")):
        rows = [r for r in compare.compare(example_run(), changed(factor), 0.03) if r.ratio is not None and not r.configuration.startswith("forward")]
        assert rows and {r.verdict for r in rows} == {verdict}
        assert all(math.isclose(r.ratio.value, factor, rel_tol=0.1) for r in rows if r.ratio is not None)


def test_what_the_null_workload_did_too_is_no_finding() -> None:
    rows = [r for r in compare.compare(example_run(), changed(0.5, null_too=True), 0.03) if r.ratio is not None and "forward" not in r.configuration]
    assert rows and {r.verdict for r in rows} == {"undecided"}
    assert all("what the machine itself moved (null workload -50.0 %)" in r.reason for r in rows)


def test_the_null_workload_itself_is_no_finding() -> None:
    new = changed(0.5, null_too=True)
    for point in new.points:
        if point.is_null and point.throughput_pps is not None:
            point.throughput_pps = type(point.throughput_pps)(*(v / 2 for v in dataclasses.astuple(point.throughput_pps)))
    rows = [r for r in compare.compare(example_run(), new, 0.03) if r.ratio is not None and "forward" in r.configuration]
    assert rows and {r.verdict for r in rows} == {"undecided"}


def test_without_a_null_workload_beside_it_a_difference_is_undecided() -> None:
    old, new = example_run(), changed(0.5)
    for run in (old, new):
        for point in run.points:
            point.floor = None
    rows = [r for r in compare.compare(old, new, 0.03) if r.ratio is not None and "forward" not in r.configuration]
    assert rows and {r.verdict for r in rows} == {"undecided"}
    assert all("no null workload watched the machine between the two runs" in r.reason for r in rows)


def test_what_machines_differ_in_is_part_of_the_ratio() -> None:
    new = changed(0.5)
    new.machine = new.machine | {"cpu": "another"}
    rows = [r for r in compare.compare(example_run(), new, 0.03) if r.ratio is not None and "forward" not in r.configuration]
    assert rows and {r.verdict for r in rows} == {"slower"}
    assert all("different machines: the ratio includes the machine" in r.reason for r in rows)


def test_searches_that_asked_for_different_things_are_not_compared() -> None:
    """Earlier runs excused half of the trial time for NDR too."""
    old = example_run()
    for point in old.points:
        if point.required is not None:
            point.required = dataclasses.replace(point.required, exceed_ratio=0.5, width=0.1)
    rows = {r.new: r for r in compare.compare(old, example_run(), 0.03)}
    ndr, pdr = (next(p.id for p in old.points if p.workload == "flow-table" and p.load == load) for load in ("NDR", "PDR"))
    assert rows[ndr].verdict == "not comparable"
    assert "different goals: NDR: no packet lost in at least 50 %" in rows[ndr].reason and "| NDR: no packet lost in any trial" in rows[ndr].reason
    assert rows[pdr].verdict in {"same", "undecided"}


def test_parts_of_a_split_that_share_cpus_are_not_compared() -> None:
    rows = [r for r in compare.compare(example_run(), changed(0.5), 0.03) if "/split/" in r.configuration]
    assert rows and {r.verdict for r in rows} == {"not comparable"}
    assert any("split on too few CPUs: proves correctness only" in r.reason for r in rows)


def test_what_says_nothing_of_the_server_is_not_compared() -> None:
    rows = {row.configuration: row for row in compare.compare(example_run(), example_run(), 0.03)}
    failed, missing, client = (example_run().points[i].id for i in (-1, -2, -3))
    assert "failed: trial" in rows[failed].reason and "cannot run here" in rows[missing].reason and "client-limited" in rows[client].reason
    assert {rows[name].verdict for name in (failed, missing, client)} == {"not comparable"}


def test_points_without_a_partner_are_listed() -> None:
    new = example_run()
    gone = new.points.pop(0)
    rows = {row.configuration: row for row in compare.compare(example_run(), new, 0.03)}
    assert rows[gone.id].reason == "this point is not in the new run" and rows[gone.id].new is None


def test_one_run_alone_is_compared_with_nothing() -> None:
    with pytest.raises(UserError, match="name a second run"):
        STUDY.compare([example_run()], None, 0.03, None)
    with pytest.raises(UserError, match="--best-engine"):
        STUDY.compare([example_run()], [example_run()], 0.03, True)


def test_each_export_has_the_same_figures(tmp_path: Path) -> None:
    run = example_run()
    rows = list(csv.DictReader(io.StringIO(export.EXPORT.csv([run]))))
    export.EXPORT.write_parquet([run], tmp_path / "x.parquet")
    columns = pq.read_table(tmp_path / "x.parquet").to_pylist()
    told = json.loads(export.EXPORT.json([run]))["runs"][0]["points"]
    assert len(rows) == len(columns) == len(told) == len(run.points)
    for row, column, point in zip(rows, columns, run.points, strict=True):
        assert row["id"] == column["id"] == point.id and row["labels"] == "; ".join(point.labels)
        if point.throughput_pps is not None:
            assert float(row["throughput_pps"]) == column["throughput_pps"] == point.throughput_pps.value
            assert all(column[f"loss_{place}"] == point.loss_by_place[place].value for place in PLACES)
        else:
            assert row["throughput_pps"] == "" and column["throughput_pps"] is None


def test_an_anonymous_export_keeps_no_host() -> None:
    run = example_run()
    run.machine["host"], run.failures[0] = "secret-host", type(run.failures[0])("trial", "on secret-host in /home/someone/x at 10.1.2.3")
    text = export.EXPORT.json(export.EXPORT.anonymous([run]))
    assert not any(word in text for word in ("secret-host", "/home/someone", "10.1.2.3", run.path))
    assert "forward/-/all-host/memif/64/NDR" in text


def test_only_chosen_workloads_are_shown() -> None:
    chosen = STUDY.only([example_run()], ["flow-table"])
    assert {p.workload for p in chosen[0].points} == {"flow-table"}
    with pytest.raises(UserError, match="did you mean 'flow-table'"):
        STUDY.only([example_run()], ["flow-tabel"])


def test_a_trial_under_way_is_told_by_rate_and_loss() -> None:
    trial = Trial()
    trial.see({"event": "begun", "trial": 1})
    trial.see({"event": "progress", "phase": "trial", "done": 0.5, "of": 1, "sent": 500_000, "received": 450_000})
    assert trial.text == "0.9 Mpps, loss 10 %"
    trial.see({"event": "progress", "phase": "trial", "done": 1.0, "of": 1, "sent": 1_000_000, "received": 950_000})
    assert trial.text == "1 Mpps, loss 0 %"
    trial.see({"event": "trial", "trial": 1, "due": 2_000_000, "received": 1_900_000, "duration_s": 1.0})
    assert trial.text == "1.9 Mpps, loss 5 %"
    trial.see({"event": "progress", "phase": "ports", "done": 0, "of": 1})
    assert trial.text == "1.9 Mpps, loss 5 %"
