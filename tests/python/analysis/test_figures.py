"""The figures of runs of all studies: each declared quantity at each point, with unit, direction and origin; one file for runs of several studies."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import cores_fixtures
import coverage_fixtures
import pytest
from counts_fixtures import a_point, a_run
from dpubench import studies
from dpubench.analysis import figures
from dpubench.analysis.model import EMULATED, Failure, Figure, Interval, Quantity
from dpubench.studies.cores import figures as cores
from dpubench.studies.coverage import figures as coverage
from dpubench.studies.end_to_end import figures as end_to_end
from dpubench.studies.measured import model as measured
from dpubench.studies.measured.figures import figures as figures_of_measured
from dpubench.studies.operators import figures as operators
from dpubench.studies.operators.summary import summaries
from end_to_end_fixtures import example_run
from report_fixtures import make_run
from simulated_runs import SimulatedPoint, SimulatedTarget, write_set


def is_of_time(figure: Figure) -> bool:
    """Return whether a figure is a time, or a rate over time: an emulated target can have none."""
    return figure.quantity.unit in ("ns", "cycles") or figure.quantity.unit.endswith("/s")


def by_point(found: list[Figure]) -> dict[tuple[str, str], dict[str, Figure]]:
    """Return (run, point) -> name of a quantity -> figure; check that no quantity comes twice."""
    told: dict[tuple[str, str], dict[str, Figure]] = defaultdict(dict)
    for figure in found:
        point = told[figure.run, figure.point]
        assert figure.quantity.name not in point
        point[figure.quantity.name] = figure
    return told


def check(run: Any, declared: list[Quantity]) -> dict[tuple[str, str], dict[str, Figure]]:
    """Return the figures of ``run`` by point, all of which have the quantities ``declared``, and a value or a reason."""
    found = studies.find(run.study).figures([run])
    told = by_point(found)
    assert [point for _, point in told] == [point.id for point in run.points] and found
    for point in told.values():
        assert {q.name for q in declared} <= set(point)
        for quantity in declared:
            assert point[quantity.name].quantity.better == quantity.better and quantity.unit in ("", point[quantity.name].quantity.unit)
    for figure in found:
        assert (figure.interval is None) == bool(figure.failure or figure.unavailable), figure
        assert not (figure.failure and figure.unavailable)
        assert figure.quantity.title and figure.quantity.name not in figure.quantity.title
    return told


def test_operators() -> None:
    run = make_run(sizes=(64, 1024), threads=(1,))
    told = check(run, [*operators.INTERVALS, *operators.OF_TABLES])
    for point in run.points:
        of = told[run.name, point.id]
        assert {f.origin for f in of.values()} == {"measured"} and of["ops_per_s"].parameters["operator"] == point.operator
        assert of["ops_per_s"].interval == (None if point.failure else point.ops_per_s) and of["ops_per_s"].quantity.better == "more"
        if point.primary is not None and not point.failure:
            assert of["primary"].quantity.unit == point.primary_unit and of["primary"].interval == point.primary
        if point.cycles_per_op is not None and not point.failure:
            assert point.cycles_source in of["cycles_per_op"].labels
        elif not point.failure and not point.unavailable:
            assert of["cycles_per_op"].unavailable == "not counted"
        assert of["ops_per_s"].unavailable == point.unavailable


def test_metrics_of_an_operator_have_the_unit_and_direction_of_its_catalog() -> None:
    run = make_run(sizes=(1024,), threads=(1,))
    point = run.points[0]
    entry = {"name": "ratio", "unit": "bytes in/byte out", "summary": "", "higher_is_better": True}
    run.operators[point.operator] = {**run.operators[point.operator], "metrics": [entry, {**entry, "name": "lost", "higher_is_better": False}]}
    point.metrics = {"ratio": Interval(2.5, 2.4, 2.6)}
    of = by_point(studies.find("operators").figures([run]))[run.name, point.id]
    assert of["metric_ratio"].quantity == Quantity("metric_ratio", "ratio", "bytes in/byte out", "more")
    assert of["metric_ratio"].interval == point.metrics["ratio"]
    assert of["metric_lost"].quantity.better == "less" and of["metric_lost"].unavailable == "not measured"


def test_an_emulated_target_has_no_times(tmp_path: Path) -> None:
    points = [SimulatedPoint("sha256", "portable", 1e6, {"size": "64"}), SimulatedPoint("lpm", "fib", 1e7)]
    write_set(tmp_path / "set", [SimulatedTarget("local", points), SimulatedTarget("qemu:aarch64", points, label=EMULATED)])
    found = studies.find("operators").figures(summaries(tmp_path / "set"))
    emulated = [f for f in found if f.origin == "emulated"]
    assert {f.target for f in emulated} == {"qemu:aarch64"} and len(emulated) == len(found) / 2
    assert all(EMULATED in f.labels for f in emulated)
    assert all(f.interval is None and f.unavailable == EMULATED for f in emulated if is_of_time(f) or not f.quantity.unit)
    assert any(f.interval is not None for f in found if f.target == "local" and f.quantity.unit == "operations/s")


def test_end_to_end() -> None:
    run = example_run()
    times = [q for name in ("latency", "lag", "residence") for q in end_to_end.times_of(name, name)]
    told = check(run, [*end_to_end.RATES, *end_to_end.LOSSES, *times])
    for point in run.points:
        of = told[run.name, point.id]
        assert {f.origin for f in of.values()} == {"measured"} and set(point.labels) <= set(of["throughput_pps"].labels)
        assert of["throughput_pps"].interval == (None if point.failure else point.throughput_pps)
        for stage in point.stages:
            assert of[f"stage_{stage.name}_ns_per_packet"].quantity.unit == "ns"
        if point.left_out:
            assert of["throughput_pps"].unavailable == point.left_out
        if point.limit == "client-limited" and point.throughput_pps is not None and not point.failure:
            assert any("says nothing about the server" in label for label in of["throughput_pps"].labels)
    assert any(f.failure for of in told.values() for f in of.values())


def test_cores_are_modelled(tmp_path: Path) -> None:
    run = cores_fixtures.run_of(tmp_path, cores_fixtures.SAMPLED, cores_fixtures.by_size, "sampled")
    told = check(run, [*cores.RATES, *cores.COUNTS])
    point = run.points[0]
    of = told[run.name, point.id]
    assert {f.origin for all_ in told.values() for f in all_.values()} == {"modelled"}
    assert of["messages_per_s"].interval == point.messages_per_s and of["messages_per_s"].target == f"model:{point.model}"
    assert set(point.labels) <= set(of["line_gbps"].labels)
    lines = {line.line_gbps: line for line in point.lines}
    assert [f.quantity.unit for name, f in of.items() if name.startswith("line_") and name.endswith("_cores")] == ["cores"] * len(lines)
    for gbps, line in lines.items():
        needed = of[f"{cores.line_name(gbps)}_cores"]
        assert line.cores is not None and needed.interval is not None and needed.interval.value == line.cores.value
        assert any("extrapolated" in label for label in needed.labels) == line.cores.extrapolated


def test_coverage_tells_models_from_counters(tmp_path: Path) -> None:
    run = coverage_fixtures.run_of(tmp_path, name="whole")
    told = check(run, [*coverage.OF_PROCESSOR, coverage.SHARE_INSIDE])
    for point in run.points:
        of = told[run.name, point.id]
        assert {f.origin for f in of.values()} == {"modelled"} and of["ipc"].interval == point.ipc
        assert (of["share_inside"].interval is None) == (point.kind == "operator")
    run.models = []
    assert {f.origin for f in studies.find("coverage").figures([run])} == {"measured"}


def test_counts_are_emulated_and_their_cycles_modelled() -> None:
    run = a_run("c", a_point("x", 500, 500, cycles=900), a_point("y", failure="it crashed"), model="neoverse-n1", model_labels=["A64 trace"])
    told = check(run, [])
    of = told["c", run.points[0].id]
    assert [(f.quantity.name, f.quantity.unit, f.quantity.better, f.origin, f.interval and f.interval.value) for f in of.values()] == [
        ("instructions_per_op", "instructions", "less", "emulated", 5.0), ("modelled_cycles_per_op", "cycles", "less", "modelled", 9.0),
    ]  # fmt: skip
    assert "exact" in of["instructions_per_op"].labels and "A64 trace" in of["modelled_cycles_per_op"].labels
    assert {f.failure for f in told["c", run.points[1].id].values()} == {"it crashed"}
    assert not any(is_of_time(f) for all_ in told.values() for f in all_.values() if f.origin == "emulated" and f.interval)


def a_measured_run(**more: Any) -> measured.RunSummary:
    """Return a run of a study of figures with a point that was measured, one that failed and one that cannot run here."""
    points = [
        measured.PointSummary("a", {"op": "read"}, {"calls_per_s": Interval(2e6, 1e6, 3e6)}),
        measured.PointSummary("b", {"op": "write"}, {"calls_per_s": Interval(2e6, 1e6, 3e6)}, failure="it crashed"),
        measured.PointSummary("c", {"op": "seek"}, unavailable="no such call here"),
    ]
    head = {"name": "m", "path": "/m", "study": "headroom", "plan": "quick", "status": "complete", "started": "", "finished": "", "command": ""}
    rest: dict[str, Any] = {"version": "0", "precision_target": 0.05, "machine": {}, "build_info": {}, "inputs": {}, "warnings": [], "left_out": []}
    quantities = [Quantity("calls_per_s", "system calls", "calls/s", "more"), Quantity("ns_per_call", "time", "ns", "less")]
    base = {**head, **rest, "failures": [Failure("measure", "it crashed", "b")], "quantities": quantities, "points": points, "rounds": 6}
    return measured.RunSummary(**(base | {"origin": "measured"} | more))


def test_studies_of_figures_have_those_that_they_declare() -> None:
    told = {(f.point, f.quantity.name): f for f in figures_of_measured(a_measured_run())}
    assert len(told) == 6 and told["a", "calls_per_s"].interval == Interval(2e6, 1e6, 3e6)
    assert told["b", "calls_per_s"].interval is None and told["b", "calls_per_s"].failure == "it crashed"
    assert told["c", "calls_per_s"].unavailable == "no such call here" and told["a", "ns_per_call"].unavailable == "not measured"
    assert {f.origin for f in figures_of_measured(a_measured_run(origin="imported"))} == {"imported"}
    emulated = figures_of_measured(a_measured_run(origin="emulated", label=EMULATED))
    assert all(f.interval is None for f in emulated) and {f.unavailable for f in emulated if f.point == "a"} == {EMULATED}


def test_files_have_a_row_per_figure_of_all_studies() -> None:
    found = [*studies.find("counts").figures([a_run("c", a_point("x", 500, 500))]), *figures_of_measured(a_measured_run())]
    rows = list(csv.DictReader(io.StringIO(figures.csv(found))))
    assert list(rows[0]) == [
        "study", "run", "target", "origin", "point", "parameters", "quantity", "title", "unit", "better", "value", "value_low", "value_high",
        "labels", "warnings", "failure", "unavailable",
    ]  # fmt: skip
    assert [row["study"] for row in rows] == ["counts"] * 2 + ["headroom"] * 6
    assert (rows[0]["unit"], rows[0]["value"], rows[0]["value_low"]) == ("instructions", "5.0", "")
    assert (rows[2]["parameters"], rows[2]["value_high"], rows[5]["unavailable"]) == ("op=read", "3000000.0", "")
    told = json.loads(figures.json_of(found))
    assert told["schema"] == "dpubench.figures/1" and len(told["figures"]) == len(rows)
    for row, entry in zip(rows, told["figures"], strict=True):
        assert entry["quantity"] == row["quantity"] and (entry["value"] is None) == (row["value"] == "")
        assert row["value"] == "" or math.isclose(entry["value"], float(row["value"]))
    assert told["figures"][2]["parameters"] == {"op": "read"} and told["figures"][4]["failure"] == "it crashed"


@pytest.mark.parametrize("name", studies.names())
def test_every_study_gives_its_figures(name: str) -> None:
    assert studies.find(name).figures([]) == []
