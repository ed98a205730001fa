"""The report of study ``cores`` in a real browser: figures draw the points' values, labels stand everywhere, downloads hold the same values."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import arrived, cores_runs, fitting_tables, gap_behind_label
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

Open = Callable[..., Any]
LABEL = "modelled, general-purpose cores only, no accelerators"


def click(driver: Any, element: Any) -> None:
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", element)


def figures(driver: Any) -> list[Any]:
    """Return all figures, once they are drawn."""
    found = list(driver.find_elements(By.CSS_SELECTOR, "figure.plot"))
    driver.execute_script("document.documentElement.style.scrollBehavior='auto'")
    for figure in found:
        driver.execute_script("arguments[0].scrollIntoView()", figure)
        WebDriverWait(figure, 10).until(lambda f: f.find_elements(By.CSS_SELECTOR, ".canvas .main-svg, .canvas .empty"))
    return found


@pytest.mark.parametrize("name", ["cores-lines", "cores-sampled", "cores-paper", "cores-broken", "cores-wide"])
def test_every_figure_is_drawn_with_its_labels_and_numbers(page: Open, name: str) -> None:
    driver = page(name)
    found = figures(driver)
    assert found
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 1280
    for figure in found:
        assert LABEL in figure.find_element(By.CSS_SELECTOR, ".under").text
        data = driver.execute_script("return arguments[0].querySelector('.canvas').data.map((t) => t.y.length)", figure)
        click(driver, figure.find_element(By.CSS_SELECTOR, "details.numbers summary"))
        assert len(figure.find_elements(By.CSS_SELECTOR, "details.numbers tbody tr")) == sum(data)


@pytest.mark.parametrize("name", ["cores-wide", "cores-paper"])
@pytest.mark.parametrize("width", [1280, 1024, 400])
def test_no_table_is_cut(page: Open, name: str, width: int) -> None:
    driver = page(name, width, 900)
    fitting = fitting_tables(driver, width)
    if width >= 1024:
        shown = {e.get_attribute("aria-label") for e in driver.find_elements(By.CSS_SELECTOR, ".scroll")}
        assert {"The kernels", "Configurations that sustain each line"} <= shown <= set(fitting)


@pytest.mark.parametrize("name", ["cores-lines", "cores-wide", "cores-paper"])
@pytest.mark.parametrize("width", [1280, 400])
def test_names_of_lines_lie_beside_the_curves(page: Open, name: str, width: int) -> None:
    driver = page(name, width, 900)
    found = 0
    for figure in figures(driver):
        covered = driver.execute_script(
            """const box = arguments[0], names = [...box.querySelectorAll(".annotation")].filter((a) => / [GM]b\\/s$/.test(a.textContent));
            const touched = (r, x, y) => x > r.left && x < r.right && y > r.top && y < r.bottom;
            const marks = [...box.querySelectorAll(".scatterlayer .trace .point")].map((p) => p.getBoundingClientRect());
            const drawn = marks.map((r) => [r.left, (r.top + r.bottom) / 2]);
            for (const path of box.querySelectorAll(".scatterlayer .trace path.js-line")) {
              const to = path.getScreenCTM(), length = path.getTotalLength();
              for (let i = 0; i <= 200; i++) { const p = path.getPointAtLength((length * i) / 200).matrixTransform(to); drawn.push([p.x, p.y]); }
            }
            const hidden = (a) => drawn.filter(([x, y]) => touched(a.getBoundingClientRect(), x, y)).length;
            return names.map((a) => [a.textContent, getComputedStyle(a.querySelector("rect")).fillOpacity, hidden(a)])""",
            figure,
        )
        assert not [entry for entry in covered if entry[1] != "1" or entry[2]]
        found += len(covered)
    assert found


@pytest.mark.parametrize("name", ["cores-lines", "cores-wide"])
def test_figures_of_another_instruction_set_say_so_wherever_they_stand(page: Open, name: str) -> None:
    driver = page(name)
    run = cores_runs()[name]
    assert [e.text for e in driver.find_elements(By.CSS_SELECTOR, ".conditions .label")] == [LABEL]  # some models are of A64
    other = {m.name for m in run.models if "A64 trace" in m.labels}
    assert 0 < len(other) < len(run.models)
    heads = driver.find_elements(By.CSS_SELECTOR, ".lines-table thead th.sep")
    assert {e.text.split()[0] for e in heads if "A64 trace" in e.text} == other and len(heads) == len(run.models)
    for panel in ("The kernels", "Configurations that sustain each line"):
        for row in driver.find_elements(By.CSS_SELECTOR, f"[aria-label='{panel}'] tbody tr"):
            assert ("A64 trace" in row.text) == any(model in row.text for model in other)
    kernels = driver.find_elements(By.CSS_SELECTOR, "[aria-label='The kernels'] tbody tr")
    assert kernels and all(run.models[0].name in row.text for row in kernels)
    for figure in figures(driver):
        assert "A64 trace" in figure.find_element(By.CSS_SELECTOR, ".under").text
    sections = driver.find_elements(By.CSS_SELECTOR, "#models h3")
    assert {m.name for m, e in zip(run.models, sections, strict=True) if "A64 trace" in e.text} == other


def test_a_label_is_followed_by_its_comma(page: Open) -> None:
    assert gap_behind_label(page("cores-lines")) < 3


def test_the_answer_is_on_the_first_screen(page: Open) -> None:
    driver = page("cores-paper")
    answer = driver.find_element(By.CSS_SELECTOR, ".answer-line")
    assert "of Crowley et al. 1999" in answer.text and "holds" in answer.text
    assert answer.rect["y"] + answer.rect["height"] < 400
    assert [e.text for e in driver.find_elements(By.CSS_SELECTOR, ".conditions .label")] == [LABEL, "A64 trace"]


def test_cores_are_those_of_the_line_that_was_chosen(page: Open) -> None:
    driver = page("cores-lines")
    run = cores_runs()["cores-lines"]
    choice = Select(driver.find_element(By.CSS_SELECTOR, "select.line-choice"))
    for i, line in enumerate(("10 Gb/s", "100 Gb/s")):
        choice.select_by_visible_text(line)
        shown = [e.text for e in driver.find_elements(By.CSS_SELECTOR, ".lines-table tbody .for-line b") if e.is_displayed()]
        own = [p for p in run.points if p.step == 1]
        assert sorted(shown) == sorted(f"{p.lines[i].cores.value}{'*' if p.lines[i].cores.extrapolated else ''}" for p in own if p.lines[i].cores)


def test_downloads_hold_what_is_shown(page: Open, downloads: Path) -> None:
    driver = page("cores-lines")
    figure = next(f for f in figures(driver) if f.find_element(By.CSS_SELECTOR, "figcaption").text.startswith("md5"))
    click(driver, figure.find_element(By.CSS_SELECTOR, "[data-figure-format='csv']"))
    rows = list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text())))
    points = {p.id: p for p in cores_runs()["cores-lines"].points}
    assert len(rows) == 12
    for row in rows:
        gbps = points[row["point"]].line_gbps
        assert gbps is not None and float(row["modelled Gb/s"]) == pytest.approx(gbps.value, rel=1e-5) and LABEL in row["labels"]
    click(driver, figure.find_element(By.CSS_SELECTOR, "[data-figure-format='svg']"))
    drawn = arrived(downloads, ".svg").read_text()
    ET.fromstring(drawn)
    assert LABEL in drawn
    click(driver, driver.find_element(By.CSS_SELECTOR, "[data-table='tex']"))
    tex = arrived(downloads, ".tex").read_text()
    assert LABEL in tex and "Modelled, not measured: simulated with dpubench" in tex
    # A kernel that looks at headers only has no rate of bytes.
    assert all("& headers &" in line for line in tex.splitlines() if line.strip().startswith("lookup"))


def test_the_table_of_all_points_is_whole(page: Open, downloads: Path) -> None:
    driver = page("cores-broken")
    details = driver.find_element(By.CSS_SELECTOR, "details.all-points")
    click(driver, details.find_element(By.CSS_SELECTOR, "summary"))
    run = cores_runs()["cores-broken"]
    WebDriverWait(driver, 10).until(lambda _d: len(details.find_elements(By.CSS_SELECTOR, "tbody tr")) == len(run.points))
    assert "it crashed" in details.text
    click(driver, details.find_element(By.CSS_SELECTOR, "[data-points-format='csv']"))
    assert len(list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text())))) == len(run.points)


def test_names_from_a_run_do_nothing(page: Open) -> None:
    driver = page("cores-evil")
    figures(driver)
    assert driver.execute_script("return document.images.length") == 0
