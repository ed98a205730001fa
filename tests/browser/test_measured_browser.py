"""The pages of studies stress, headroom, link and offload in a browser: every figure is drawn with its texts, saved, and fits the window."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import arrived, fitting_tables
from measured_runs import PLATFORMS, STRESSORS
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

Driver = Any
NAMES = ("stress", "headroom", "link", "offload")


def figures(driver: Driver) -> list[Any]:
    """Return all figures, once each is drawn."""
    driver.execute_script("document.documentElement.style.scrollBehavior='auto'")
    found: list[Any] = driver.find_elements(By.CSS_SELECTOR, "figure.plot")
    for figure in found:
        driver.execute_script("arguments[0].scrollIntoView()", figure)
        WebDriverWait(figure, 20).until(lambda f: f.find_elements(By.CSS_SELECTOR, ".canvas svg text"))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_drawn_with_its_texts(page: Callable[..., Driver], name: str) -> None:
    driver = page(name)
    drawn = figures(driver)
    assert len(drawn) >= {"stress": 2, "headroom": 2, "link": 1, "offload": 6}[name]
    for figure in drawn:
        texts = driver.execute_script("return [...arguments[0].querySelectorAll('.canvas svg text')].map((t) => t.textContent)", figure)
        assert len([text for text in texts if text.strip()]) > 3, texts
        assert not [text for text in texts if "NaN" in text or "undefined" in text or "null" in text], texts


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", NAMES)
def test_the_page_fits_the_window(page: Callable[..., Driver], name: str, width: int) -> None:
    fitting_tables(page(name, width), width)


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_a_figure_are_saved(page: Callable[..., Driver], downloads: Path, name: str) -> None:
    figure = figures(page(name))[0]
    figure.find_element(By.CSS_SELECTOR, ".downloads button:last-child").click()
    with arrived(downloads, ".csv").open(newline="") as file:
        header, *rows = list(csv.reader(file))
    assert rows and all(len(row) == len(header) for row in rows)
    if name == "stress":
        assert {row[0] for row in rows} == set(STRESSORS) and {row[header.index("target")] for row in rows} == set(PLATFORMS)


def test_a_mark_moves_the_order_of_stressors(page: Callable[..., Driver]) -> None:
    driver = page("stress")
    box = figures(driver)[0]

    def order() -> list[str]:
        found: list[str] = driver.execute_script("return [...arguments[0].querySelectorAll('.canvas svg text')].map((t) => t.textContent)", box)
        return [text for text in found if text in STRESSORS]

    before = order()
    assert sorted(before) == sorted(STRESSORS)
    Select(box.find_element(By.ID, "mark")).select_by_visible_text("bf2")
    assert sorted(order()) == sorted(before) and order() != before


def test_a_name_of_a_target_is_no_markup(page: Callable[..., Driver]) -> None:
    driver = page("stress")
    assert not driver.find_elements(By.CSS_SELECTOR, "main i, header i, td i, th i")
    assert PLATFORMS[2] in driver.find_element(By.CSS_SELECTOR, "table.ranks").text


def test_published_trends_stand_beside_the_model(page: Callable[..., Driver]) -> None:
    driver = page("offload")
    titles = [figure.find_element(By.CSS_SELECTOR, "figcaption").text for figure in figures(driver)]
    for title in ("Gather, staged: efficiency over message size", "Gain over bytes through memory per byte communicated"):
        assert any(title in shown for shown in titles), titles
    text = driver.find_element(By.ID, "results").text
    for wanted in ("gather: one worker per node is best", "differs", "assumed: HDR100", "modelled in closed form, not measured"):
        assert wanted.lower() in text.lower()
