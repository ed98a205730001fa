"""Tests of text, export, comparison and report of study ``coverage``: numbers are the points', gaps have a reason, all say that they are modelled."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from coverage_fixtures import OPERATORS, PLAN, Mix, crashing, evil, run_of
from dpubench.analysis import warnings
from dpubench.analysis.model import Interval
from dpubench.errors import UserError
from dpubench.report import frame
from dpubench.simulation.characteristics import CHARACTERISTICS
from dpubench.studies.coverage import export, report, tell, text, wording
from dpubench.studies.coverage.compare import compare, compared
from dpubench.studies.coverage.expand import Cell
from dpubench.studies.coverage.model import Hull, RunSummary
from dpubench.studies.coverage.report import model
from dpubench.studies.coverage.report.page import Page
from dpubench.studies.coverage.study import STUDY
from pages import EVIL, Elements

LABEL = "modelled, general-purpose cores only, no accelerators"


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run_of(tmp_path_factory.mktemp("whole"), name="whole")


@pytest.fixture(scope="module")
def broken_run(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run_of(tmp_path_factory.mktemp("broken"), script=crashing, name="broken")


@pytest.fixture(scope="module")
def sampled_run(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run_of(tmp_path_factory.mktemp("sampled"), PLAN.replace("exact: true", "sample: {share: 50%}\nphases: 3"), name="sampled")


@pytest.fixture(scope="module")
def operators_run(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run_of(tmp_path_factory.mktemp("o"), PLAN.replace("[files, packets]", "none").replace("[forward]", "none"), name="operators")


def page_of(*runs: RunSummary, baseline: str | None = None) -> Page:
    return model.build(list(runs), warnings.advice, baseline)


def html(*runs: RunSummary) -> str:
    return frame.render([report.section_of(page_of(*runs))])


# --------------------------------------------------------------------------- the page


def test_the_answer_comes_first_with_its_interval(whole_run: RunSummary) -> None:
    assert whole_run.space is not None and whole_run.space.share is not None
    # The applications have two inputs and one input: too few for an interval. The page gives the numbers.
    assert wording.share_text(whole_run.space.share) == "75 %" and "no interval: fewer than 3 inputs each" in html(whole_run)
    assert "Too few: files (2 inputs), packets (1 input)" in html(whole_run)
    known = replace(whole_run, space=replace(whole_run.space, share=Interval(0.75, 0.61, 0.87)))
    assert known.space is not None
    share = wording.share_text(known.space.share)
    assert "[61" in share
    page = html(known)
    answer = page.index(f"3 operators cover {share} of the phases of 2 applications")
    assert answer < page.index("<main>")
    assert "Lowest for packets" in page[answer : page.index("<main>")] and "outside by" in page[answer : page.index("<main>")]


def test_data_of_figures_are_the_points_numbers(whole_run: RunSummary) -> None:
    (data,) = page_of(whole_run).data["runs"]
    points = {p.id: p for p in whole_run.points}
    for shown in data["points"]:
        of = points[shown["id"]].characteristics
        assert shown["values"] == [model.number(of[name]) for name in CHARACTERISTICS]
    assert [key for key, _, _ in data["characteristics"]] == list(CHARACTERISTICS)
    for i, name in enumerate(CHARACTERISTICS):
        values = [p.characteristics[name] or 0 for p in whole_run.points]
        assert data["largest"][i] >= float(f"{max(values):.6g}")
    space = whole_run.space
    assert space is not None
    assert data["scores"] == {k: [model.number(v) for v in row] for k, row in space.scores.items()}
    assert [row[0] for row in data["components"]] == [model.number(c.variance) for c in space.components]
    assert {c["id"]: dict(c["weights"]) for c in data["composed"]}["application/files"] == {"md5": 1.0}


@pytest.mark.parametrize("name", ["whole_run", "broken_run", "sampled_run", "operators_run"])
def test_a_page_says_that_it_is_modelled_at_every_figure_and_table(name: str, request: pytest.FixtureRequest) -> None:
    run: RunSummary = request.getfixturevalue(name)
    page = html(run)
    assert "Nothing here was measured" in page
    assert page.count(LABEL) >= 1 + page.count('<figure class="plot')
    for point in run.points:
        if point.failure:
            assert point.failure in page
    elements = Elements(page)
    assert elements is not None


def test_text_from_a_run_is_never_markup(whole_run: RunSummary) -> None:
    run = evil(whole_run)
    page = html(run)
    assert EVIL not in page
    assert EVIL in text.show([run])  # a terminal shows it unchanged


def test_several_runs_stand_one_below_the_other(whole_run: RunSummary, broken_run: RunSummary) -> None:
    page = page_of(whole_run, broken_run, baseline="broken")
    assert [r.name for r in page.all_runs] == ["broken", "whole"]
    assert html(whole_run, broken_run).count('data-figure="radars"') == 2
    with pytest.raises(ValueError, match="baseline 'none' is not among the runs"):
        page_of(whole_run, baseline="none")
    with pytest.raises(ValueError, match="needs at least one run"):
        page_of()


def test_a_run_of_operators_alone_says_that_it_covers_nothing(operators_run: RunSummary) -> None:
    page = html(operators_run)
    assert "no whole program was traced" in page and "No whole program is in this run." in page
    assert operators_run.space is not None and operators_run.space.share is None


# --------------------------------------------------------------------------- terminal


def test_text_has_every_point_and_what_is_covered(whole_run: RunSummary, broken_run: RunSummary) -> None:
    shown = text.show([whole_run])
    for expected in (
        "3 operators cover",
        "Phases of 1,000 instructions inside",
        "Without one operator",
        "packets: ",
        "Principal components explain",
        LABEL,
    ):
        assert expected in shown
    assert "the same for every point: instruction-TLB misses, data-TLB misses" in shown
    broken = text.show([broken_run])
    assert "no trace: it crashed" in broken and "two.bin: no trace: it crashed" in broken


def test_how_much_was_simulated_is_what_was(tmp_path: Path, sampled_run: RunSummary, operators_run: RunSummary) -> None:
    def told(name: str, more: str) -> tuple[str, list[str]]:
        run = run_of(tmp_path, PLAN.replace("exact: true", more), name=name)
        assert f"; {text.how_text(run)}" in html(run) and all(line in html(run) and line in text.show([run]) for line in run.left_out)
        return text.how_text(run), [line for line in run.left_out if "instructions" in line]

    # Files have 4 and 2 phases, packets 4, the workload 3 and 1.
    cut = (
        "only the first {} instructions are simulated of application/files ({} of 2 inputs), application/packets (1 of 1 inputs){}: "
        "use --exact or more phases"
    )
    assert told("half", "sample: {share: 50%}\nphases: 3") == (
        "operators sampled, whole programs with the first 3 phases of each input",
        [cut.format("3,000", 1, ", workload/forward (1 of 2 inputs)")],
    )
    assert told("all", "sample: {share: 100%}\nphases: 4") == (
        "operators with all messages of their traces, whole programs with the first 4 phases of each input",
        [cut.format("4,000", 1, "")],
    )
    assert told("whole", "phases: 5") == ("operators with all messages of their traces, whole programs with all their phases", [])
    assert all(p.sampled == (p.kind == "operator") for p in sampled_run.points)
    assert text.how_text(operators_run) == "whole traces"
    alone = run_of(tmp_path, PLAN.replace("exact: true", "phases: 4").replace("[files, packets]", "none").replace("[forward]", "none"), name="alone")
    assert text.how_text(alone) == "operators with all messages of their traces"
    assert all(p.ipc is not None and math.isnan(p.ipc.low) for p in alone.points) and "95 % interval over" not in text.show([alone])


def test_programs_that_do_nothing_but_an_operators_work_are_inside(tmp_path: Path) -> None:
    def script(cell: Cell) -> list[Mix] | str:
        return [OPERATORS[cell.operators[0]]] if cell.kind == "operator" else [OPERATORS[name] for name in ("lpm", "md5", "tcp_segment")]

    space = run_of(tmp_path, script=script).space
    assert space is not None and space.share is not None and space.share.value == 1
    assert all(c.inside == c.phases and c.median_distance != c.median_distance for c in space.covered)


def test_a_share_of_a_hull_of_few_points_says_so(whole_run: RunSummary, operators_run: RunSummary, tmp_path: Path) -> None:
    space = whole_run.space
    assert space is not None
    # Three points form a triangle in the space of the five characteristics that differ.
    told = "the hull has 3 points in 5 dimensions, of which its points span 2; 0 of them are mixtures of the others"
    assert (wording.hull_text(space.hull), space.hull.thin) == (told, True)
    assert [(w.code, w.message) for w in whole_run.warnings] == [("thin-hull", told)] and warnings.advice("thin-hull")
    page = html(whole_run)
    assert page.index("Few points for a hull:") < page.index("<main>") and page.count(told[1:]) >= 3 and 'id="w-thin-hull"' in page
    assert f"warning: {told}: with so few points another operator would be outside too" in text.show([whole_run])
    assert any(line.startswith(f"warning: {told}") for line in tell.summary(whole_run, {"failures": []}, tmp_path, None))
    # Many points give no warning. Without whole programs there is no share to warn about.
    enough = replace(space, hull=Hull(200, 5, 5, 40))
    assert wording.thin_text(enough) == "" and wording.hull_text(enough.hull).endswith("in 5 dimensions; 40 of them are mixtures of the others")
    run = replace(whole_run, space=enough, warnings=[])
    assert "Few points for a hull" not in html(run) and "warning: " not in text.show([run]) and "40 of them are mixtures" in html(run)
    assert Hull(200, 5, 4, 40).thin and Hull(200, 5, 5, 19).thin
    assert operators_run.warnings == [] and "Few points for a hull" not in html(operators_run)


def test_the_summary_is_short(whole_run: RunSummary, tmp_path: Path) -> None:
    lines = tell.summary(whole_run, {"failures": []}, tmp_path, tmp_path / "report.html")
    assert len("\n".join(lines).splitlines()) <= 20 and any(line.startswith("3 operators cover") for line in lines)


# --------------------------------------------------------------------------- export and comparison


def test_csv_json_parquet_and_latex_hold_the_same_points(whole_run: RunSummary, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(export.EXPORT.csv([whole_run]))))
    assert [row["id"] for row in rows] == [p.id for p in whole_run.points]
    for row, point in zip(rows, whole_run.points, strict=True):
        assert row["labels"] == LABEL and row["origin"] == "modelled, of neoverse-n1"
        for name in CHARACTERISTICS:
            value = point.characteristics[name]
            assert value is not None and float(row[name]) == pytest.approx(value)
    packets = next(row for row in rows if row["name"] == "packets")
    assert packets["phases"] == "4" and "operator" not in packets["composition"] and float(packets["component_1"])
    content = json.loads(export.EXPORT.json([whole_run]))
    assert content["schema"] == export.SCHEMA and content["runs"][0]["space"]["characteristics"] == list(CHARACTERISTICS)
    export.EXPORT.write_parquet([whole_run], tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet")
    assert table.num_rows == len(rows) and table.schema.field("phases").type == "int64"
    latex = export.EXPORT.latex([whole_run])
    assert latex.count(r"\begin{tabular}") == 2
    printed = [line for line in latex.splitlines() if line.startswith(r"\par\footnotesize")]
    assert len(printed) == 2 and all(LABEL in line for line in printed)


def test_anonymous_exports_name_no_machine(whole_run: RunSummary) -> None:
    run = replace(whole_run, machine={"host": "secret-host", "cpu": "a CPU"}, command="dpubench on secret-host")
    (copy,) = export.EXPORT.anonymous([run])
    assert "secret-host" not in export.EXPORT.json([copy]) and copy.models == run.models and copy.path == ""


def test_runs_are_compared_characteristic_by_characteristic(whole_run: RunSummary, broken_run: RunSummary) -> None:
    (part,) = compared([whole_run], [whole_run], 0.03, None)
    assert {row.verdict for row in part.rows} == {"same"} and len(part.rows) == 7 * len(whole_run.points)
    rows = compare(whole_run.points, broken_run.points, 0.03)
    lost = next(row for row in rows if row.old == "operator/md5")
    assert (lost.verdict, lost.reason) == ("not comparable", "new: no trace: it crashed")
    quick = [replace(p, ipc=Interval((p.ipc.value if p.ipc else 1) * 2, math.nan, math.nan)) for p in whole_run.points]
    found = {row.configuration: row for row in compare(whole_run.points, quick, 0.03)}
    assert found["operator/lpm ipc"].verdict == "faster"
    less = [replace(p, characteristics={**p.characteristics, "branch_share": 0.0}) for p in whole_run.points]
    other = {row.configuration: row for row in compare(whole_run.points, less, 0.03)}["operator/lpm branch_share"]
    assert (other.verdict, other.reason) == ("not comparable", "less now")
    with pytest.raises(UserError, match="name a second run"):
        compared([whole_run], None, 0.03, None)


def test_a_sampled_run_is_the_same_as_itself_however_wide_its_intervals(whole_run: RunSummary) -> None:
    wide = [replace(p, ipc=Interval(p.ipc.value, 0.9 * p.ipc.value, 1.1 * p.ipc.value) if p.ipc else None) for p in whole_run.points]
    assert {row.verdict for row in compare(wide, wide, 0.03)} == {"same"}
    other = [replace(p, ipc=Interval(p.ipc.value, 0.8 * p.ipc.value, 1.1 * p.ipc.value) if p.ipc else None) for p in wide]
    assert {row.verdict for row in compare(wide, other, 0.03) if row.configuration.endswith(" ipc")} == {"undecided"}


def test_points_of_one_operator_can_be_shown(whole_run: RunSummary) -> None:
    (only,) = STUDY.only([whole_run], ["md5"])
    assert [p.id for p in only.points] == ["operator/md5", "application/files", "application/packets"]
    assert "md5" in text.show([only]) and frame.render([report.section_of(page_of(only))])
    with pytest.raises(UserError, match="--operator md6: the run has no such operator; did you mean 'md5'"):
        STUDY.only([whole_run], ["md6"])
