"""Fixtures: a headless Chromium, and reports of synthetic runs for it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "python", HERE.parents[1] / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

webdriver = pytest.importorskip("selenium.webdriver", reason="the browser tests need selenium (pip install selenium)")

import cores_fixtures  # noqa: E402
import coverage_fixtures  # noqa: E402
import end_to_end_variety  # noqa: E402
from counts_fixtures import a_point, a_run  # noqa: E402
from dpubench.report import frame  # noqa: E402
from dpubench.studies.cores import report as cores_report  # noqa: E402
from dpubench.studies.counts import report as counts_report  # noqa: E402
from dpubench.studies.coverage import report as coverage_report  # noqa: E402
from dpubench.studies.end_to_end import report as end_to_end_report  # noqa: E402
from dpubench.studies.operators import report  # noqa: E402
from end_to_end_fixtures import example_run  # noqa: E402
from measured_runs import measured_reports  # noqa: E402
from report_fixtures import SPECS, five_targets, host_and_device, make_run, three_devices  # noqa: E402
from screenshot import CHROMEDRIVER, CHROMIUM, start, viewport  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

Driver = Any


def evil_targets() -> list[Any]:
    """Return runs of two targets whose names and labels try to become markup."""
    from pages import EVIL, poison

    runs = [poison(run) for run in host_and_device((64, 1024, 4096), (1, 2, 4))]
    for i, run in enumerate(runs):
        run.target, run.label, run.spec, run.run_set = f"{EVIL}{i}", EVIL, EVIL, EVIL
    return runs


SIZES = (64, 256, 1024, 4096, 65536)


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write reports of runs of all studies; return their paths by name. Some runs' names try to become markup."""
    from pages import poison

    folder = tmp_path_factory.mktemp("reports")
    made = {
        "one": [make_run(sizes=SIZES, threads=(1, 2, 4, 8, 16))],
        "three": three_devices(),
        "evil": [poison(make_run("evil", sizes=(64, 1024, 4096), threads=(1, 2, 4)))],
        "evil-targets": evil_targets(),
        "crowd": [
            make_run(f"run{i}", sizes=SIZES, threads=(1,), seed=i, cpu=f"CPU {i}", specs=tuple(s for s in SPECS if s.name == "sha256"))
            for i in range(5)
        ],
        "targets": host_and_device(SIZES, (1, 2, 4, 8)),
        "five": five_targets(),
        "emulated": [five_targets()[3]],
        "quick": [make_run("quick", sizes=(1024,), threads=(1,), plan="quick")],
    }
    for name, runs in made.items():
        frame.write([report.section(runs)], folder / f"{name}.html")
    end_to_end = {
        "end-to-end": [example_run()],
        "end-to-end-limited": [end_to_end_variety.limited_run()],
        "end-to-end-mixed": [end_to_end_variety.mixed_run()],
        "end-to-end-rates": [end_to_end_variety.rates_only()],
        "end-to-end-evil": [end_to_end_variety.evil_run()],
    }
    for name, found in end_to_end.items():
        frame.write([end_to_end_report.section(found)], folder / f"{name}.html")
    cores = cores_runs()
    for name, run in cores.items():
        frame.write([cores_report.section([run])], folder / f"{name}.html")
    covered = coverage_runs()
    for name, found_run in covered.items():
        frame.write([coverage_report.section([found_run])], folder / f"{name}.html")
    sections = {
        "several": [
            report.section(made["targets"]), end_to_end_report.section(end_to_end["end-to-end"]), cores_report.section([cores["cores-paper"]]),
            coverage_report.section([covered["coverage"]]), counts_report.section([a_run("counted", a_point("x", 12_345, 12_345))]),
        ],
        "several-evil": [
            report.section(made["evil"]), end_to_end_report.section(end_to_end["end-to-end-evil"]), cores_report.section([cores["cores-evil"]]),
            coverage_report.section([covered["coverage-evil"]]),
        ],
    }  # fmt: skip
    for name, parts in sections.items():
        frame.write(parts, folder / f"{name}.html")
    written = {name: folder / f"{name}.html" for name in (*made, *end_to_end, *cores, *covered, *sections)}
    return written | measured_reports(folder)


@functools.cache
def cores_runs() -> dict[str, Any]:
    """Return analysed runs of study cores, by name."""
    from cores_fixtures import by_size, crashing, evil, jittering

    with tempfile.TemporaryDirectory() as folder:
        lines = cores_fixtures.run_of(Path(folder), cores_fixtures.LINES, by_size, "lines")
        return {
            "cores-lines": lines,
            "cores-sampled": cores_fixtures.run_of(Path(folder), cores_fixtures.SAMPLED, by_size, "sampled"),
            "cores-paper": cores_fixtures.run_of(Path(folder), cores_fixtures.PAPER, name="paper"),
            "cores-broken": cores_fixtures.run_of(Path(folder), cores_fixtures.LINES, crashing, "broken"),
            "cores-evil": evil(lines),
            "cores-wide": cores_fixtures.run_of(Path(folder), cores_fixtures.WIDE, jittering, "wide"),
        }


@functools.cache
def coverage_runs() -> dict[str, Any]:
    """Return analysed runs of study coverage, by name."""
    from coverage_fixtures import evil

    plan = coverage_fixtures.PLAN
    with tempfile.TemporaryDirectory() as folder:
        whole = coverage_fixtures.run_of(Path(folder), name="whole")
        alone = plan.replace("[files, packets]", "none").replace("[forward]", "none")
        return {
            "coverage": whole,
            "coverage-broken": coverage_fixtures.run_of(Path(folder), script=coverage_fixtures.crashing, name="broken"),
            "coverage-operators": coverage_fixtures.run_of(Path(folder), alone, name="operators"),
            "coverage-evil": evil(whole),
        }


@pytest.fixture(scope="session")
def _browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Driver, Path]]:
    if not (shutil.which(CHROMIUM) and shutil.which(CHROMEDRIVER)):
        pytest.skip(f"{CHROMIUM} or {CHROMEDRIVER} is not here (apt install chromium chromium-driver, or set CHROMIUM and CHROMEDRIVER)")
    driver = start(tmp_path_factory.mktemp("profile"), performance=True)
    downloads = tmp_path_factory.mktemp("downloads")
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": os.fspath(downloads)})
    yield driver, downloads
    driver.quit()


@pytest.fixture
def downloads(_browser: tuple[Driver, Path]) -> Path:
    """Return the folder of downloads, empty at the start of a test."""
    for file in _browser[1].iterdir():
        file.unlink()
    return _browser[1]


@pytest.fixture
def page(_browser: tuple[Driver, Path], reports: dict[str, Path]) -> Iterator[Callable[..., Driver]]:
    """Yield a function that opens a report, at 1280 x 800 by default. Afterwards check: no console message, no request except for reports."""
    driver = _browser[0]
    driver.get_log("browser")
    driver.get_log("performance")

    def open_report(name: str, width: int = 1280, height: int = 800) -> Driver:
        driver.get("about:blank")
        viewport(driver, width, height)
        driver.get(reports[name].as_uri())
        assert driver.find_element("css selector", "html").get_attribute("data-ready") == "1", driver.get_log("browser")
        return driver

    yield open_report
    said = [entry["message"] for entry in driver.get_log("browser")]
    assert not said
    asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    urls = {m["params"]["request"]["url"] for m in asked if m["method"] == "Network.requestWillBeSent"}
    own = {path.as_uri() for path in reports.values()}
    assert urls and not {u for u in urls if u.split("#")[0] not in own and not u.startswith(("data:", "blob:", "about:"))}


def fitting_tables(driver: Driver, width: int) -> list[str]:
    """Return the names of the panels whose tables fit into a window of ``width`` pixels; check that the others scroll to their last column."""
    driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    WebDriverWait(driver, 10).until(lambda d: all(e.find_elements(By.CSS_SELECTOR, "table") for e in d.find_elements(By.CSS_SELECTOR, ".all-points")))
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    tables = driver.execute_script("""return [...document.querySelectorAll("table")].map((table) => {
      const panel = table.parentElement, style = getComputedStyle(panel), last = table.rows[0].lastElementChild;
      const fits = table.offsetWidth <= panel.clientWidth;
      panel.scrollLeft = 1e6;
      const reached = last.getBoundingClientRect().right <= panel.getBoundingClientRect().right + 1;
      panel.scrollLeft = 0;
      const shades = style.backgroundAttachment.includes("local") && style.backgroundImage.split("gradient").length === 5;
      return { name: panel.getAttribute("aria-label") || panel.className, fits, scrolls: style.overflowX === "auto" && reached && shades };
    })""")
    assert tables and not [t["name"] for t in tables if not (t["fits"] or t["scrolls"])]
    return [t["name"] for t in tables if t["fits"]]


def gap_behind_label(driver: Driver) -> float:
    """Return the pixels between the label beside a run's name and the comma after it."""
    gap: float = driver.execute_script("""const label = document.querySelector(".when .label"), range = document.createRange();
      range.setStart(label.nextSibling, 0);
      range.setEnd(label.nextSibling, 1);
      if (range.toString() !== ",") throw new Error(`no comma: ${range}`);
      return range.getBoundingClientRect().left - label.getBoundingClientRect().right""")
    return gap


def arrived(folder: Path, suffix: str, seconds: float = 20) -> Path:
    """Wait for the download with this suffix to finish; return its path."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = [f for f in folder.iterdir() if f.suffix == suffix and f.stat().st_size]
        if found and not list(folder.glob("*.crdownload")):
            assert len(found) == 1, found
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"no {suffix} file arrived within {seconds} s: {list(folder.iterdir())}")
