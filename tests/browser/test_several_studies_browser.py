"""A page of several studies in a browser: one navigation, sections that do not disturb each other, figures and controls of each."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import arrived
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

Driver = Any
STUDIES = ("operators", "end-to-end", "cores", "coverage", "counts")


def section(driver: Driver, study: str) -> Any:
    return driver.find_element(By.CSS_SELECTOR, f"#study-{study}")


def shows(what: str) -> Callable[[Any], Any]:
    """Return a condition: a part of the page shows what a selector is for."""
    return lambda part: part.find_elements(By.CSS_SELECTOR, what)


def click(driver: Driver, inside: Any, selector: str) -> None:
    """Click an element, wherever the page is scrolled to."""
    driver.execute_script("arguments[0].click()", inside.find_element(By.CSS_SELECTOR, selector))


@pytest.mark.parametrize("name", ["several", "several-evil"])
def test_ids_are_unique_and_every_link_has_its_end(page: Callable[..., Driver], name: str) -> None:
    driver = page(name)
    ids = driver.execute_script("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids)) > 100
    links = [a.get_attribute("href").partition("#")[2] for a in driver.find_elements(By.CSS_SELECTOR, 'a[href^="#"]')]
    named = [e.get_attribute("aria-labelledby") for e in driver.find_elements(By.CSS_SELECTOR, "[aria-labelledby]")]
    ends = [*links, *named]
    assert set(ends) <= set(ids)


def test_the_navigation_names_every_study_and_leads_to_its_sections(page: Callable[..., Driver]) -> None:
    driver = page("several")
    navigations = driver.find_elements(By.CSS_SELECTOR, "nav")
    assert len(navigations) == 1 and driver.execute_script("return document.documentElement.scrollWidth") <= 1280
    assert [a.text for a in navigations[0].find_elements(By.CSS_SELECTOR, "a.study-name")] == list(STUDIES)
    navigations[0].find_element(By.CSS_SELECTOR, 'a[href="#study-cores-models"]').click()
    assert driver.execute_script("return document.querySelector('#study-cores-models').closest('section.study').dataset.study") == "cores"
    assert [len(section(driver, study).find_elements(By.CSS_SELECTOR, "header .when")) for study in STUDIES] == [1] * len(STUDIES)


def test_each_section_draws_its_own_figures(page: Callable[..., Driver]) -> None:
    driver = page("several")
    for study, drawn in (
        ("operators", ".js-plotly-plot"),
        ("end-to-end", ".js-plotly-plot"),
        ("cores", ".js-plotly-plot"),
        ("coverage", ".radars svg"),
    ):
        box = section(driver, study).find_element(By.CSS_SELECTOR, "figure.plot, article.operator, section.part")
        driver.execute_script("arguments[0].scrollIntoView({behavior: 'instant'})", box)
        WebDriverWait(section(driver, study), 30).until(shows(drawn))


def test_controls_of_a_section_change_nothing_in_another(page: Callable[..., Driver], downloads: Path) -> None:
    driver = page("several")
    operators, end_to_end = section(driver, "operators"), section(driver, "end-to-end")
    operators.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys("sha256")
    shown = [b.get_attribute("data-operator") for b in operators.find_elements(By.CSS_SELECTOR, "tbody[data-operator]:not([hidden])")]
    assert shown == ["hmac", "sha256"] and end_to_end.find_element(By.CSS_SELECTOR, ".sustained tbody tr").is_displayed()
    click(driver, end_to_end, "[data-unit-choice=gbps]")
    assert (
        not end_to_end.find_element(By.CSS_SELECTOR, ".u-mpps").is_displayed() and end_to_end.find_element(By.CSS_SELECTOR, ".u-gbps").is_displayed()
    )
    # Both studies have a button of this kind: each saves its own table, once.
    click(driver, end_to_end, "button[data-table=csv]")
    with arrived(downloads, ".csv").open(newline="") as file:
        assert "workload" in next(csv.reader(file))


def test_rules_for_ids_and_the_styles_of_a_study_keep_to_its_section(page: Callable[..., Driver]) -> None:
    driver = page("several")

    def style(selector: str, name: str) -> str:
        found: str = driver.execute_script("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, name)
        return found

    assert style("#study-operators-filter", "width") == "250px"
    assert style("#study-end-to-end .table-note", "marginTop") == "-6px" and style("#study-cores .table-note", "marginTop") == "4px"
