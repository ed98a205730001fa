"""Tests of the badges in reports (`virtual link`, `modelled ...`): the same one stands once in a section, and each figure has the words as text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cores_fixtures
import coverage_fixtures
import end_to_end_fixtures
import pytest
from conftest import ROOT
from dpubench import studies
from dpubench.report import frame


class Badges(HTMLParser):
    """A parser that collects the badges of each section, without those in the rows of tables, which tell rows apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}
        self._section, self._in_rows, self._label, self._skipped = "head", False, False, False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section" and given.get("id"):
            self._section = str(given["id"])
        self._in_rows = (self._in_rows or tag == "tbody") and tag != "section"
        self._label = tag == "span" and given.get("class") == "label" and not self._in_rows

    def handle_endtag(self, tag: str) -> None:
        self._in_rows = self._in_rows and tag != "tbody"
        self._label = False

    def handle_data(self, data: str) -> None:
        if self._label:
            self.found.setdefault(self._section, []).append(data)


def badges(study: str, run: Any) -> dict[str, list[str]]:
    """Return the badges of a run's page, by section."""
    return Badges(frame.render([studies.find(study).section([run])])).found


@pytest.mark.parametrize("text", [cores_fixtures.LINES, cores_fixtures.PAPER, cores_fixtures.WIDE], ids=["lines", "paper", "wide"])
def test_a_page_of_study_cores_has_each_badge_once_a_section(text: str, tmp_path: Path) -> None:
    run = cores_fixtures.run_of(tmp_path, text)
    found = badges("cores", run)
    del found["models"]  # Each model has its own there.
    assert set(found.pop("head")) == set(run.labels), "the conditions, and what the run itself is called"
    assert found["results"][: len(run.labels)] == run.labels
    assert all(len(shown) == len(set(shown)) for shown in found.values()), found


def test_a_page_of_study_coverage_has_each_badge_once_a_section(tmp_path: Path) -> None:
    run = coverage_fixtures.run_of(tmp_path)
    found = badges("coverage", run)
    del found["models"]
    assert set(found.pop("head")) == set(run.labels) and found["results"] == run.labels
    assert all(len(shown) == len(set(shown)) for shown in found.values()), found


def test_a_page_of_study_end_to_end_has_each_badge_once_a_section() -> None:
    run = end_to_end_fixtures.example_run()
    found = badges("end-to-end", run)
    assert "virtual link" in found["head"] and set(found["results"]) == set(found["head"])
    assert all(len(shown) == len(set(shown)) for shown in found.values()), found


def test_figures_have_the_words_as_text() -> None:
    """No figure stands without them."""
    for script in sorted((ROOT / "python/dpubench").glob("**/report/*.js")):
        assert 'class: "label"' not in script.read_text(), script
    assert "${under(part, key)}" in (ROOT / "python/dpubench/studies/end_to_end/report/report.js").read_text()
    assert "[figure.label, figure.fixed" in (ROOT / "python/dpubench/studies/measured/report/report.js").read_text()
    for study in ("cores", "coverage"):
        page = (ROOT / f"python/dpubench/studies/{study}/report/report.html.j2").read_text()
        assert page.count('<p class="under">{{ ') == page.count('labels | join("; ") }}. ') >= 1
