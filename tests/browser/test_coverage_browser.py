"""The report of study ``coverage`` in a real browser: figures draw the points' values, labels stand everywhere, downloads hold the same values."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import arrived, coverage_runs, fitting_tables, gap_behind_label
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

Open = Callable[..., Any]
LABEL = "modelled, general-purpose cores only, no accelerators"


def click(driver: Any, element: Any) -> None:
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", element)


def figures(driver: Any) -> dict[str, Any]:
    """Return all figures by kind, once they are drawn."""
    found = {f.get_attribute("data-figure"): f for f in driver.find_elements(By.CSS_SELECTOR, "figure.plot")}
    driver.execute_script("document.documentElement.style.scrollBehavior='auto'")
    for figure in found.values():
        driver.execute_script("arguments[0].scrollIntoView()", figure)
        WebDriverWait(figure, 10).until(lambda f: f.find_elements(By.CSS_SELECTOR, ".canvas svg, .canvas .empty"))
    return found


@pytest.mark.parametrize("name", ["coverage", "coverage-broken", "coverage-operators"])
@pytest.mark.parametrize("width", [1400, 400])
def test_every_figure_is_drawn_with_its_labels_and_fits(page: Open, name: str, width: int) -> None:
    driver = page(name, width, 900)
    found = figures(driver)
    assert set(found) >= {"radars", "components"}
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    for figure in found.values():
        assert LABEL in figure.find_element(By.CSS_SELECTOR, ".under").text
    there = [p for p in coverage_runs()[name].points if p.kind == "operator" and p.there]
    charts = found["radars"].find_elements(By.CSS_SELECTOR, ".canvas svg")
    assert len(charts) == len(there) and all(chart.rect["width"] > 120 for chart in charts)


@pytest.mark.parametrize("name", ["coverage", "coverage-broken", "coverage-operators"])
@pytest.mark.parametrize("width", [1280, 1024, 400])
def test_no_table_is_cut(page: Open, name: str, width: int) -> None:
    driver = page(name, width, 900)
    fitting = fitting_tables(driver, width)
    if width >= 1024:
        assert {e.get_attribute("aria-label") for e in driver.find_elements(By.CSS_SELECTOR, ".scroll")} <= set(fitting)


def test_a_label_is_followed_by_its_comma(page: Open) -> None:
    assert gap_behind_label(page("coverage")) < 3


def test_a_corner_says_its_value(page: Open) -> None:
    driver = page("coverage")
    found = figures(driver)
    told = [t.get_attribute("textContent") for t in found["radars"].find_elements(By.CSS_SELECTOR, "circle title")]
    assert len(told) == 7 * 3
    assert "lpm: integer 40 %" in [text.replace(".0", "") for text in told] and "md5: IPC 2.50" in told
    both = found["composed"].find_elements(By.CSS_SELECTOR, "svg")[0]
    assert len(both.find_elements(By.CSS_SELECTOR, "circle title")) == 14  # the application and its composition


def test_components_show_operators_programs_and_phases(page: Open) -> None:
    driver = page("coverage")
    figure = figures(driver)["components"]
    marks = driver.execute_script("return arguments[0].querySelector('.canvas').data.map((t) => [t.name, t.x.length])", figure)
    assert dict(marks) == {"files": 6, "packets": 4, "forward": 4, "operators": 3, "whole programs": 3}
    space = coverage_runs()["coverage"].space
    assert space is not None
    click(driver, figure.find_element(By.CSS_SELECTOR, "details.numbers summary"))
    assert len(figure.find_elements(By.CSS_SELECTOR, "details.numbers tbody tr")) == len(space.scores)


def test_the_answer_is_on_the_first_screen(page: Open) -> None:
    driver = page("coverage")
    answer = driver.find_element(By.CSS_SELECTOR, ".answer-line")
    assert answer.text.startswith("3 operators cover") and "no interval: fewer than 3 inputs each" in answer.text
    assert answer.rect["y"] + answer.rect["height"] < 300


def test_downloads_hold_what_is_shown(page: Open, downloads: Path) -> None:
    driver = page("coverage")
    found = figures(driver)
    click(driver, found["radars"].find_element(By.CSS_SELECTOR, "[data-figure-format='csv']"))
    rows = list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text())))
    points = {p.name: p for p in coverage_runs()["coverage"].points if p.kind == "operator"}
    assert {row["operator"] for row in rows} == set(points)
    for row in rows:
        value = points[row["operator"]].characteristics["l1d_miss_ratio"]
        assert value is not None and float(row["l1d_miss_ratio"]) == pytest.approx(value, rel=1e-5) and row["labels"] == LABEL
    for figure in found.values():
        for file in downloads.iterdir():
            file.unlink()
        click(driver, figure.find_element(By.CSS_SELECTOR, "[data-figure-format='svg']"))
        drawn = arrived(downloads, ".svg").read_text()
        ET.fromstring(drawn)
        assert LABEL in drawn and "Modelled, not measured" in drawn and "with dpubench" in drawn


def test_the_table_of_all_points_is_whole(page: Open, downloads: Path) -> None:
    driver = page("coverage-broken")
    details = driver.find_element(By.CSS_SELECTOR, "details.all-points")
    click(driver, details.find_element(By.CSS_SELECTOR, "summary"))
    run = coverage_runs()["coverage-broken"]
    WebDriverWait(driver, 10).until(lambda _d: len(details.find_elements(By.CSS_SELECTOR, "tbody tr")) == len(run.points))
    assert "it crashed" in details.text
    click(driver, details.find_element(By.CSS_SELECTOR, "[data-points-format='csv']"))
    assert len(list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text())))) == len(run.points)


def test_names_from_a_run_do_nothing(page: Open) -> None:
    driver = page("coverage-evil")
    figures(driver)
    assert driver.execute_script("return document.images.length") == 0
