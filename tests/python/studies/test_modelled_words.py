"""Tests of the words of modelled figures: every table says *modelled*, none says *measured*, and intervals stand where they are known."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import cores_fixtures
import coverage_fixtures
import pytest
from dpubench.analysis import figures
from dpubench.analysis.model import Interval, Origin, Quantity
from dpubench.report import frame
from dpubench.studies.cores import report as cores_report
from dpubench.studies.cores import tell as cores_tell
from dpubench.studies.cores import text as cores_text
from dpubench.studies.cores import wording as cores_wording
from dpubench.studies.cores.export import EXPORT as CORES_EXPORT
from dpubench.studies.cores.model import RunSummary as CoresRun
from dpubench.studies.coverage import report as coverage_report
from dpubench.studies.coverage import tell as coverage_tell
from dpubench.studies.coverage import text as coverage_text
from dpubench.studies.coverage import wording as coverage_wording
from dpubench.studies.coverage.export import EXPORT as COVERAGE_EXPORT
from dpubench.studies.coverage.model import RunSummary as CoverageRun

#: A statement that something was measured; "not measured" and "nothing here was measured" say the opposite.
CLAIMED = re.compile(r"(?<!not )(?<!nothing here was )\bmeasured\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def cores(tmp_path_factory: pytest.TempPathFactory) -> CoresRun:
    """Return a run of study cores with sampled messages, so that its rates have intervals."""
    return cores_fixtures.run_of(tmp_path_factory.mktemp("cores"), cores_fixtures.SAMPLED, cores_fixtures.jittering, "sampled")


@pytest.fixture(scope="module")
def coverage(tmp_path_factory: pytest.TempPathFactory) -> CoverageRun:
    """Return a run of study coverage whose first operator has an interval."""
    run = coverage_fixtures.run_of(tmp_path_factory.mktemp("coverage"))
    first = run.points[0]
    return replace(run, points=[replace(first, ipc=Interval(1.5, 1.25, 1.75)), *run.points[1:]])


def visible(page: str) -> str:
    """Return the words of a page without its scripts, styles and tags, and without the sources of the models, which quote measurements of others."""
    page = re.sub(r'(?s)<section id="models".*?</section>|<(script|style).*?</\1>', " ", page)
    return re.sub(r"<[^>]+>", " ", page)


def test_tables_of_study_cores(cores: CoresRun, tmp_path: Path) -> None:
    summary = "\n".join(cores_tell.summary(cores, {"failures": []}, tmp_path, None))
    shown, latex = cores_text.show([cores]), CORES_EXPORT.latex([cores])
    for text in (shown, summary, latex):
        assert "modelled" in text and not CLAIMED.search(text), text
    for heading in ("modelled messages/s", "modelled Gb/s", "modelled IPC"):
        assert heading in shown
    assert "modelled sustained" in summary and "modelled messages/s & modelled Gb/s" in latex
    rates = [p.line_gbps for p in cores.points if p.line_gbps is not None and p.every_byte]
    assert rates and all(math.isfinite(rate.low) for rate in rates) and any(rate.low < rate.high for rate in rates)
    for rate in rates:
        assert all(cores_wording.interval_text(rate, 3) in text for text in (shown, latex))
    headers = [p.messages_per_s for p in cores.points if p.messages_per_s is not None and not p.every_byte]
    assert headers and all(cores_wording.interval_text(rate) in shown for rate in headers)


def test_tables_of_study_coverage(coverage: CoverageRun, tmp_path: Path) -> None:
    summary = "\n".join(coverage_tell.summary(coverage, {"failures": []}, tmp_path, None))
    shown, latex = coverage_text.show([coverage]), COVERAGE_EXPORT.latex([coverage])
    for text in (shown, summary, latex):
        assert "modelled" in text and not CLAIMED.search(text), text
        assert coverage_wording.characteristic_text(coverage.points[0], "ipc") in text
    assert coverage_wording.characteristic_text(coverage.points[0], "ipc").endswith("[1.25, 1.75]")
    assert "Characteristics, modelled" in shown


def test_a_run_by_hardware_counters_is_called_measured(coverage: CoverageRun) -> None:
    measured = replace(coverage, name="counters", models=[])
    assert "Characteristics, measured" in coverage_text.show([measured])
    latex = COVERAGE_EXPORT.latex([coverage, measured])
    origins = [line.split("&")[0].strip() for line in latex.partition("\\midrule")[2].partition("\\bottomrule")[0].splitlines() if "&" in line]
    there = sum(p.there for p in coverage.points)
    assert origins == ["modelled"] * there + ["measured"] * there
    page = frame.render([coverage_report.section([coverage, measured])])
    assert "Modelled, not measured; run of" in page and "note         = {Measured " in page
    assert "Operator, modelled" in page and "Operator, measured" in page


@pytest.mark.parametrize("study", ["cores", "coverage"])
def test_pages_claim_no_measurement(study: str, cores: CoresRun, coverage: CoverageRun) -> None:
    section = cores_report.section([cores]) if study == "cores" else coverage_report.section([coverage])
    words = visible(frame.render([section]))
    assert "Nothing here was measured" in words
    assert not (found := CLAIMED.search(words)), words[max(found.start() - 200, 0) : found.end() + 50]


@pytest.mark.parametrize(
    ("origin", "reason"),
    [("measured", "not measured"), ("modelled", "not modelled"), ("emulated", "not counted"), ("imported", "not in the imported files")],
)
def test_a_missing_figure_says_what_was_not_done(origin: Origin, reason: str, cores: CoresRun) -> None:
    rate = Quantity("rate", "rate", "Gb/s", "more")
    (figure,) = figures.of_point(cores, "point", {}, [(rate, None)], origin=origin)
    assert figure.unavailable == reason and figure.interval is None
