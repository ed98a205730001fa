"""Tests of text, export, comparison and report of study ``cores``: numbers are the points', gaps have a reason, all say that they are modelled."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from cores_fixtures import LINES, PAPER, SAMPLED, by_size, crashing, evil, ideal, run_of
from dpubench.analysis import warnings
from dpubench.analysis.model import Interval
from dpubench.errors import UserError
from dpubench.report import frame
from dpubench.studies.cores import export, report, text, wording
from dpubench.studies.cores.compare import compared
from dpubench.studies.cores.model import CoresNeeded, PointSummary, RunSummary
from dpubench.studies.cores.report import model
from dpubench.studies.cores.report.figures import LINE
from dpubench.studies.cores.report.page import Page
from dpubench.studies.cores.study import STUDY
from dpubench.studies.modelled.models import labels_of_some
from pages import EVIL, Elements

LABEL = "modelled, general-purpose cores only, no accelerators"


@pytest.fixture(scope="module")
def lines_run(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run_of(tmp_path_factory.mktemp("lines"), LINES, by_size, "lines")


@pytest.fixture(scope="module")
def sampled_run(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run_of(tmp_path_factory.mktemp("sampled"), SAMPLED, by_size, "sampled")


@pytest.fixture(scope="module")
def paper_run(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run_of(tmp_path_factory.mktemp("paper"), PAPER, ideal, "paper")


@pytest.fixture(scope="module")
def broken_run(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    return run_of(tmp_path_factory.mktemp("broken"), LINES, crashing, "broken")


def page_of(*runs: RunSummary, baseline: str | None = None) -> Page:
    return model.build(list(runs), warnings.advice, baseline)


def html(*runs: RunSummary) -> str:
    return frame.render([report.section_of(page_of(*runs))])


def rounded(interval: Interval | None) -> list[float | None]:
    if interval is None:
        return [None] * 3
    return [float(f"{v:.6g}") if v == v else None for v in (interval.value, interval.low, interval.high)]


# --------------------------------------------------------------------------- the page


@pytest.mark.parametrize("name", ["lines_run", "sampled_run", "paper_run", "broken_run"])
def test_every_mark_of_a_figure_is_a_points_number(name: str, request: pytest.FixtureRequest) -> None:
    run: RunSummary = request.getfixturevalue(name)
    points = {p.id: p for p in run.points}
    shown = 0
    for part in page_of(run).data["runs"]:
        for figure in part["figures"]:
            assert LABEL in figure["labels"]
            for series in figure["series"]:
                for x, y, low, high, which in [*series["points"], *series["apart"]]:
                    if which == LINE:
                        assert y == pytest.approx(float(series["name"].split()[0]) * 1e3 / 8 / (x + run.line_overhead_bytes), rel=1e-5)
                        continue
                    p = points[which]
                    if figure["title"].endswith("messages over frame size"):
                        assert p.messages_per_s is not None and not p.every_byte
                        assert (y, x) == (pytest.approx(p.messages_per_s.value / 1e6, rel=1e-5), float(f"{p.frame_bytes:.6g}"))
                    elif figure["y"] == "Gb/s":
                        assert ([y, low, high], x) == (rounded(p.line_gbps), float(f"{p.frame_bytes:.6g}"))
                    elif figure["y"] == "million messages/s" and "cache" not in figure["x"]:
                        assert p.messages_per_s is not None
                        assert (y, x) == (pytest.approx(p.messages_per_s.value / 1e6, rel=1e-5), p.step)
                    elif figure["y"] == "misses of accesses, %":
                        ratio = p.cache(p.data_cache if "data cache" in figure["title"] else p.instruction_cache)
                        assert ratio is not None and ratio.miss_ratio is not None and y == pytest.approx(100 * ratio.miss_ratio, rel=1e-5)
                    shown += 1
    assert shown > 10


def test_imix_stands_apart_from_the_line_over_frame_sizes(lines_run: RunSummary) -> None:
    (part,) = page_of(lines_run).data["runs"]
    figure = next(f for f in part["figures"] if f["title"].startswith("md5"))
    assert [len(s["points"]) for s in figure["series"]] == [2] * 4 and [len(s["apart"]) for s in figure["series"]] == [1] * 4
    assert [s["name"] for s in figure["series"]] == [f"{m}, {n}" for m in ("neoverse-n1", "xeon-e5-2620v3") for n in ("1 core", "2 cores")]
    assert figure["references"] == [["10 Gb/s", 10.0], ["100 Gb/s", 100.0]]
    assert figure["labels"] == [LABEL, "A64 trace"]


def test_lines_across_a_figure_of_steps_are_those_of_its_messages(paper_run: RunSummary) -> None:
    (part,) = page_of(paper_run).data["runs"]
    figure = next(f for f in part["figures"] if f["sweep"] == "smt" and f["title"].startswith("lookup"))
    # Only the 64 B count: 19.5 million messages per second fill 10 Gb/s.
    assert figure["references"] == [["100 Mb/s", 0.195312], ["1 Gb/s", 1.95312], ["10 Gb/s", 19.5312]]
    names = [s["name"] for s in figure["series"]]
    assert [name for name in names if name.startswith("base")] == [f"base, {c} MHz" for c in (100, 200, 300, 400, 500)]
    assert {len(s["points"]) for s in figure["series"]} == {7}


def test_organisations_stand_on_one_axis(paper_run: RunSummary, lines_run: RunSummary) -> None:
    (part,) = page_of(paper_run).data["runs"]
    own = [f for f in part["figures"] if f["sweep"] == "Organisations on one axis"]
    assert [f["title"] for f in own] == ["lookup, 64 B, 500 MHz", "md5, 1500 B, 500 MHz"]
    assert [s["name"] for s in own[0]["series"]] == ["superscalar", "FGMT", "SMT"]
    assert [len(s["points"]) for s in own[0]["series"]] == [7, 7, 7]
    assert own[0]["references"][-1] == ["10 Gb/s", 19.5312]
    (other,) = page_of(lines_run).data["runs"]
    assert not any(f["sweep"] == "Organisations on one axis" for f in other["figures"])


def test_a_sweep_that_varies_caches_shows_misses(paper_run: RunSummary) -> None:
    (part,) = page_of(paper_run).data["runs"]
    own = [f for f in part["figures"] if f["sweep"] == "caches"]
    cases, quantities = ("lookup, 64 B", "md5, 1500 B"), ("data cache", "instruction cache", "throughput")
    assert [f["title"] for f in own] == [f"{case}: {what}" for case in cases for what in quantities]
    assert own[0]["x"] == "first caches: size, KiB"
    assert [s["name"] for s in own[0]["series"]] == ["1 way", "2 ways"]
    assert [p[0] for p in own[0]["series"][0]["points"]] == [8, 32]


def test_the_page_says_that_nothing_was_measured_and_what_is_compared(paper_run: RunSummary) -> None:
    page = html(paper_run)
    assert page.count(LABEL) > 10 and page.count("A64 trace") > 10
    assert "Nothing here was measured." in page and "This machine ran the simulations. No figure depends on it" in page
    assert "Measured with dpubench" not in page
    assert "Modelled, not measured; run of" in page and "{Measured" not in page
    for claim in paper_run.claims:
        assert f'id="claim-{claim.id}"' in page
    assert "assumed" in page and "under 1 % misses at 32K" in page


def test_each_table_says_how_many_sustain_a_line(paper_run: RunSummary) -> None:
    (part,) = page_of(paper_run).parts
    row = next(r for r in part.counts if (r.sweep, r.case.kernel, r.variant) == ("smt", "lookup", ""))
    own = [p for p in paper_run.points if "smt" in p.sweeps and p.kernel == "lookup" and p.variant == "base"]
    assert (row.of, row.sustained) == (35, [sum(p.lines[i].sustains == "yes" for p in own) for i in range(3)])
    assert row.sustained[2] == 13
    assert "<b>13</b>" in html(paper_run).replace('<span class="v">13</span>', "<b>13</b>")


def test_what_failed_is_said_where_it_is_missing(broken_run: RunSummary) -> None:
    (part,) = page_of(broken_run).parts
    figure = next(f for s in part.sweeps for f in s.figures if f.title.startswith("md5"))
    processors = [f"{m}, {n}" for m in ("neoverse-n1", "xeon-e5-2620v3") for n in ("1 core", "2 cores")]
    assert figure.gone == [f"{processor}: no trace of md5/64: it crashed (2 points)" for processor in processors]
    page = html(broken_run)
    assert page.count("no trace of md5/64: it crashed") > 4
    assert len(broken_run.failures) == 4 and "4 failures" in page


def test_the_page_is_whole_and_asks_the_network_for_nothing(lines_run: RunSummary, sampled_run: RunSummary) -> None:
    page = html(lines_run, sampled_run)
    tags = Elements(page).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [str(attributes["href"])[1:] for tag, attributes in tags if tag == "a" and str(attributes.get("href", "")).startswith("#")]
    assert set(targets) <= set(ids)
    assert not [tag for tag, attributes in tags if re.match("https?:", str(attributes.get("src") or attributes.get("href") or ""))]


def test_names_from_a_run_are_never_markup(lines_run: RunSummary) -> None:
    page = html(evil(lines_run))
    assert EVIL not in page and "alert(1)" in page
    assert [tag for tag, _ in Elements(page).tags].count("img") == 0


def test_a_baseline_comes_first_and_has_to_be_there(lines_run: RunSummary, sampled_run: RunSummary) -> None:
    page = page_of(lines_run, sampled_run, baseline="sampled")
    assert [info.name for info in page.all_runs] == ["sampled", "lines"]
    with pytest.raises(ValueError, match="baseline 'other' is not among the runs"):
        page_of(lines_run, baseline="other")
    with pytest.raises(ValueError, match="at least one run"):
        page_of()


def test_a_run_of_which_nothing_came_has_a_page(tmp_path: Path) -> None:
    run = run_of(tmp_path, LINES, lambda _cell: "it crashed")
    page = html(run)
    assert "Nothing could be simulated" in page and "it crashed" in page
    assert text.counts(run) == "nothing was simulated"


# --------------------------------------------------------------------------- terminal


def test_show_tells_rate_line_cores_and_labels(lines_run: RunSummary, sampled_run: RunSummary) -> None:
    shown = STUDY.show([lines_run])
    assert shown.startswith(f"lines [{LABEL}]: study cores, plan lines, complete")
    assert f"all figures: {LABEL}" in shown and "a message takes its frame with FCS and 20 B of preamble, delimiter and gap" in shown
    (row,) = [line for line in shown.splitlines() if line.startswith("md5     64 B") and "xeon" in line and "1 core " in line]
    assert "A64 trace" in row
    point = next(p for p in lines_run.points if p.kernel == "md5" and p.frame == "64" and p.model.startswith("xeon") and p.step == 1)
    assert point.messages_per_s is not None and wording.interval_text(point.messages_per_s) in row
    assert "IMIX (mean 361.8 B)" in shown and "composed of its sizes" in shown
    assert "[" in next(line for line in STUDY.show([sampled_run]).splitlines() if line.startswith("lookup"))


def test_show_tells_the_share_of_unknown_instructions(lines_run: RunSummary, broken_run: RunSummary) -> None:
    run = replace(lines_run, points=[replace(p, unknown_share=0.000321 if i else None) for i, p in enumerate(lines_run.points[:2])])
    head, first, second = [line for line in text.points_table(run).splitlines() if line.strip("- ")][:3]
    assert head.split()[-2:] == ["unknown", "remarks"]
    assert (first[: head.index("remarks")].split()[-1], second[: head.index("remarks")].split()[-2:]) == ("-", ["0.0321", "%"])
    assert "unknown: share of the simulated instructions" in text.show([run])
    gone = next(line for line in text.points_table(broken_run).splitlines() if "it crashed" in line)
    assert gone.split("no trace")[0].split()[-6:] == ["-"] * 6  # three figures, two lines, the share


def test_all_of_every_trace_is_no_sample(tmp_path: Path, sampled_run: RunSummary) -> None:
    run = run_of(tmp_path, LINES.replace("exact: true", "sample: {share: 100%}"), by_size)
    assert text.counts(run).endswith("; whole traces") and "95 % interval" not in text.show([run])
    assert "whole traces: the figures have no sampling error" in html(run)
    assert not any(p.sampled or p.messages_per_s is None or p.messages_per_s.low == p.messages_per_s.low for p in run.points)
    assert "sampled messages, " in text.counts(sampled_run) and "95 % interval" in text.show([sampled_run])


def test_show_tells_claims_with_what_decides_them(paper_run: RunSummary) -> None:
    shown = STUDY.show([paper_run])
    assert "Claims of Crowley et al. 1999" in shown
    assert "  HOLDS: most SMT configurations sustain lookup at 1 Gb/s, thirteen at 10 Gb/s" in shown
    assert "    here: 34 of 35 SMT configurations sustain 1 Gb/s, 13 of 35 10 Gb/s (64 B a lookup) (A64 code stands for Alpha code)" in shown
    assert "    decided by 1500 B for both (the paper's captions): partly (" in shown
    assert "    the paper's own figures: contradiction: 10 Gb/s of the captions' 1500 B are 833,333 lookups/s" in shown
    assert "  PARTLY: FGMT gains little" in shown and "    holds: most issue slots stay unused; does not hold: MD5 has more" in shown


def test_kernels_that_look_at_headers_only_have_no_rate_of_bytes(lines_run: RunSummary) -> None:
    of_headers = {p.kernel for p in lines_run.points if not p.every_byte}
    assert of_headers == {"lookup"}
    (part,) = page_of(lines_run).data["runs"]
    assert {f["title"]: f["y"] for f in part["figures"] if "over frame size" in f["title"]} == {
        "lookup: messages over frame size": "million messages/s", "md5: line sustained over frame size": "Gb/s",
    }  # fmt: skip
    shown = [row.split("  ") for row in text.points_table(lines_run).splitlines() if row.startswith("lookup")]
    assert shown and all("headers" in "  ".join(row) for row in shown)
    rows = re.findall(r'<th scope="row" title="lpm[^<]*</th>.*?</tr>', html(lines_run), re.DOTALL)
    assert rows and all("M messages/s" in row and "Gb/s</span>" not in row for row in rows)


def test_eight_claims_are_in_sight_and_the_others_folded(paper_run: RunSummary) -> None:
    page = html(paper_run)
    first, _, rest = page.partition('<details class="more-claims">')
    assert first.count('<tr id="claim-') == 8 and rest.count('<tr id="claim-') == 8
    assert "<summary>8 further claims</summary>" in rest
    assert page.index('<tr id="claim-clock"') < page.index("Configurations that sustain each line")
    assert "in 16 verdicts A64 code stands for Alpha code" in page


def test_cores_that_are_extrapolated_are_marked_and_have_no_interval() -> None:
    assert wording.cores_text(CoresNeeded(3, 3, 4, 8, False)) == "3 to 4"
    assert wording.cores_text(CoresNeeded(3, 3, 3, 8, False)) == "3"
    assert wording.cores_text(CoresNeeded(12, None, None, 8, True)) == "12*"
    assert wording.cores_text(None) == "-"


def test_misses_of_the_claims_and_those_of_the_models_say_what_they_are_of(paper_run: RunSummary) -> None:
    claim = next(c for c in paper_run.claims if c.id == "misses")
    assert claim.note.startswith(
        "counted for lookup (lpm, prefixes 1000) over 70 messages one by one; md5 (md5) over 70 messages one by one; including the cold start."
    )
    assert not any(c.note for c in paper_run.claims if c is not claim)
    (where,) = [where for what, _, where, _, _ in paper_run.models[0].comparisons if "look-ups" in what]
    ours = "; ours: ip4lookup, level-compressed, array, alpha, 20,000 messages one by one, after 2,000 that are not counted"
    assert where.endswith(ours)
    page, shown = html(paper_run), text.show([paper_run])
    assert "Counted for lookup" in page and ours in page and claim.note in shown


def test_only_shows_the_operators_asked_for(lines_run: RunSummary) -> None:
    (found,) = STUDY.only([lines_run], ["md5"])
    assert {p.kernel for p in found.points} == {"md5"}
    with pytest.raises(UserError, match="the run has no such operator"):
        STUDY.only([lines_run], ["sha1"])


# --------------------------------------------------------------------------- export


def test_every_form_has_the_same_figures(lines_run: RunSummary, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(STUDY.export([lines_run], "csv"))))
    whole = json.loads(STUDY.export([lines_run], "json"))["runs"][0]
    STUDY.to_parquet([lines_run], tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert len(rows) == len(whole["points"]) == len(table) == len(lines_run.points)
    for point, row, entry, record in zip(lines_run.points, rows, whole["points"], table, strict=True):
        assert point.line_gbps is not None
        assert float(row["line_gbps"]) == entry["line_gbps"]["value"] == record["line_gbps"] == point.line_gbps.value
        assert row["line_gbps_low"] == "" and entry["line_gbps"]["low"] is None and record["line_gbps_low"] is None
        assert LABEL in row["labels"] and row["line_100_Gbps_sustained"] == point.lines[1].sustains
        assert record["line_100_Gbps_cores"] == (point.lines[1].cores.value if point.lines[1].cores else None)
    tex = STUDY.export([lines_run], "latex")
    assert tex.startswith(f"% dpubench, study cores: {LABEL}") and tex.count(r"\\") == len(lines_run.points) + 1
    assert {type(v) for r in table for v in [r["step"]]} == {int}


def test_claims_are_exported(paper_run: RunSummary) -> None:
    whole = json.loads(STUDY.export([paper_run], "json"))["runs"][0]
    assert [c["verdict"] for c in whole["claims"]] == [c.verdict for c in paper_run.claims]
    tex = STUDY.export([paper_run], "latex")
    assert "thirteen at 10 Gb/s & holds; A64 code stands for Alpha code & 34 of 35" in tex
    # The labels are printed below both tables, not only in a comment.
    printed = [line for line in tex.splitlines() if line.startswith(r"\par\footnotesize")]
    assert printed == [rf"\par\footnotesize alpha21264-1999: {LABEL}; A64 trace"] * 2


def test_anonymous_copies_keep_models_and_lose_paths(lines_run: RunSummary) -> None:
    run = replace(lines_run, machine={**lines_run.machine, "host": "secret-host"}, command="dpubench run /home/someone/plan.yaml")
    (copy,) = STUDY.anonymous([run])
    told = json.dumps(export.EXPORT.json([copy]))
    assert "secret-host" not in told and "/home/someone" not in told and copy.path == ""
    assert [m.name for m in copy.models] == ["neoverse-n1", "xeon-e5-2620v3"]
    assert [p.id for p in copy.points] == [p.id for p in run.points]


# --------------------------------------------------------------------------- comparison


def scaled(run: RunSummary, factor: float, half: float = float("nan")) -> RunSummary:
    def point(p: PointSummary) -> PointSummary:
        if p.messages_per_s is None:
            return p
        value = p.messages_per_s.value * factor
        return replace(p, messages_per_s=Interval(value, value * (1 - half), value * (1 + half)))

    return replace(run, points=[point(p) for p in run.points])


@pytest.mark.parametrize(
    ("factor", "half", "verdict"),
    [(1.0, float("nan"), "same"), (1.05, float("nan"), "faster"), (0.9, float("nan"), "slower"), (1.05, 0.1, "undecided"), (1.2, 0.05, "faster")],
)
def test_two_runs_differ_by_what_the_model_says(lines_run: RunSummary, factor: float, half: float, verdict: str) -> None:
    (part,) = compared([lines_run], [scaled(lines_run, factor, half)], 0.03, None)
    assert {row.verdict for row in part.rows} == {verdict}
    assert part.rows[0].ratio is not None and part.rows[0].ratio.value == pytest.approx(factor)


def test_a_sampled_run_is_the_same_as_itself_however_wide_its_intervals(sampled_run: RunSummary, tmp_path: Path) -> None:
    # Two runs of one plan simulate the same messages, so they share one sampling error, which is no difference between them.
    again = run_of(tmp_path, SAMPLED, by_size, "again")
    wide = [scaled(run, 1.0, 0.1) for run in (sampled_run, again)]
    for old, new in ((sampled_run, again), wide):
        (part,) = compared([old], [new], 0.03, None)
        assert {(row.verdict, row.reason, row.ratio.value if row.ratio else None) for row in part.rows} == {("same", "", 1.0)}
    # A difference within the sampling error is undecided, even where only the intervals differ and not the figures.
    for other in (scaled(again, 1.001, 0.1), scaled(again, 1.0, 0.11)):
        (part,) = compared([wide[0]], [other], 0.03, None)
        assert {row.verdict for row in part.rows} == {"undecided"}


def test_what_has_no_partner_is_not_comparable(lines_run: RunSummary, broken_run: RunSummary) -> None:
    fewer = replace(lines_run, points=lines_run.points[1:])
    (part,) = compared([lines_run], [fewer], 0.03, None)
    assert [(r.verdict, r.reason) for r in part.rows if r.verdict != "same"] == [("not comparable", "this point is not in the other")]
    (part,) = compared([lines_run], [broken_run], 0.03, None)
    assert any(r.reason == "new: no trace of md5/64: it crashed" for r in part.rows)


def test_models_of_one_run_are_set_against_its_first(lines_run: RunSummary, paper_run: RunSummary) -> None:
    (part,) = compared([lines_run], None, 0.03, None)
    assert part.between_targets and part.title == (
        "xeon-e5-2620v3 against neoverse-n1: ratios of modelled messages/s, with as many cores, each model at its own clock; "
        "A64 code stands for x86-64 code on xeon-e5-2620v3"
    )
    clocks = {m.name: m.clock_mhz for m in lines_run.models}
    assert {round(r.ratio.value, 6) for r in part.rows if r.ratio} == {round(clocks["xeon-e5-2620v3"] / clocks["neoverse-n1"], 6)}
    with pytest.raises(UserError, match="has only one model: name a second run"):
        compared([paper_run], None, 0.03, None)
    with pytest.raises(UserError, match="study cores compares points with the same engines"):
        compared([lines_run], [lines_run], 0.03, True)


def test_a_label_that_only_some_models_have_is_told_with_them() -> None:
    points = [
        SimpleNamespace(model=model, labels=labels) for model, labels in (("a", [LABEL]), ("b", [LABEL, "A64 trace"]), ("b", [LABEL, "A64 trace"]))
    ]
    assert labels_of_some(points) == ["A64 trace: b"]
    assert labels_of_some(points[1:]) == [] == labels_of_some([])
