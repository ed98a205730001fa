"""The report of study ``end-to-end`` in a real browser."""

from __future__ import annotations

import base64
import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import arrived
from dpubench.studies.end_to_end.model import SHORT_TRIALS, VIRTUAL_LINK, PointSummary
from end_to_end_fixtures import example_run
from end_to_end_variety import find, mixed_run
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

Open = Callable[..., Any]
KINDS = ["frames", "stages", "throughput", "cpu", "latency", "curve", "loss"]


def all_of(driver: Any, css: str) -> list[Any]:
    return list(driver.find_elements(By.CSS_SELECTOR, css))


def one(driver: Any, css: str) -> Any:
    return driver.find_element(By.CSS_SELECTOR, css)


def click(driver: Any, element: Any) -> None:
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", element)


def bring(driver: Any, anchor: str = "w-flow-table") -> Any:
    """Scroll a part into view and return it once it is drawn."""
    section = one(driver, f"#{anchor}")
    for _ in range(3):  # sections above grow when they are drawn
        driver.execute_script("document.documentElement.style.scrollBehavior='auto'; arguments[0].scrollIntoView()", section)
        WebDriverWait(driver, 10).until(lambda d: section.get_attribute("data-drawn") == "1")
    WebDriverWait(driver, 10).until(lambda d: section.find_elements(By.CSS_SELECTOR, ".canvas .main-svg"))
    return section


def drawn(driver: Any, kind: str, anchor: str = "w-flow-table") -> list[dict[str, Any]]:
    """Return a figure's traces that have a name (of a variant, a stage or a place): name, x, y and marks."""
    script = """return [...arguments[0].querySelector('.canvas').data].filter((t) => t.name).map((t) => ({
      name: t.name, mode: t.mode, x: t.x, y: t.y, symbol: t.marker.symbol, color: t.marker.color}))"""
    found: list[dict[str, Any]] = driver.execute_script(script, one(driver, f"#{anchor} .plot[data-kind='{kind}']"))
    return found


def rates(run: Any, engine: str, frame: str = "64") -> list[PointSummary]:
    return sorted(
        (p for p in run.points if p.workload == "flow-table" and p.frame == frame and p.load_kind == "rate" and engine in p.engines.values()),
        key=lambda p: p.offered_pps or 0,
    )


# --------------------------------------------------------------------------- head


def test_the_answer_is_on_the_first_screen(page: Open) -> None:
    driver = page("end-to-end")
    assert all(e.rect["y"] + e.rect["height"] <= 800 for e in all_of(driver, ".answer-line, .conditions, .trust, .sustained"))
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 1280
    assert [e.text for e in all_of(driver, ".conditions .label")] == [VIRTUAL_LINK, SHORT_TRIALS]
    assert "6.01" in one(driver, ".sustained tbody").text and "xdp: needs root" in one(driver, ".sustained tbody").text


def test_rates_of_the_first_table_are_in_the_unit_that_was_chosen(page: Open) -> None:
    driver = page("end-to-end")
    before = one(driver, ".sustained tbody td").text
    button = one(driver, "[data-unit-choice='gbps']")
    button.send_keys(Keys.ENTER)
    after = one(driver, ".sustained tbody td").text
    assert "6.01" in before and "3.08" in after and "6.01" not in after and button.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("name", ["end-to-end", "end-to-end-limited", "end-to-end-mixed"])
def test_a_rate_stays_in_its_column_however_narrow_that_is(page: Open, name: str) -> None:
    driver = page(name, 820, 800)
    wide: list[str] = driver.execute_script("""return [...document.querySelectorAll('.sustained td')].filter((td) => {
      const text = document.createRange(); text.selectNodeContents(td);
      return text.getBoundingClientRect().right > td.getBoundingClientRect().right + 1; }).map((td) => td.innerText)""")
    assert all_of(driver, ".sustained td") and wide == []


# --------------------------------------------------------------------------- figures


def test_each_figure_is_judged_by_its_own_interval(page: Open) -> None:
    """All CPU shares converged; throughput and latency of some points did not. Hollow marks in figures and tables show this."""
    driver = page("end-to-end")
    section = bring(driver)
    points = [p for engine in ("dpdk-hash", "portable") for p in rates(example_run(), engine)]
    open_marks = {
        kind: sum(color == "#ffffff" for t in drawn(driver, kind) if "null" not in t["name"] and "lines" in t["mode"] for color in t["color"])
        for kind in ("throughput", "cpu", "latency")
    }
    loose = sum("latency.p50" in p.not_converged for p in points)
    assert 0 < loose < len(points) and open_marks == {"throughput": loose, "cpu": 0, "latency": loose}
    click(driver, section.find_element(By.CSS_SELECTOR, ".plot[data-kind='latency'] details.numbers summary"))
    cells = [td.text for td in section.find_elements(By.CSS_SELECTOR, ".plot[data-kind='latency'] details.numbers tbody td:nth-child(4)")]
    nulls = [p for p in example_run().points if p.is_null and p.frame == "64" and p.load_kind == "rate"]
    assert sum(text.startswith("○ ") for text in cells) == loose + sum("latency.p50" in p.not_converged for p in nulls)


@pytest.mark.parametrize("anchor", ["w-flow-table", "w-application-recognition"])
def test_every_figure_has_data_a_table_and_its_labels(page: Open, anchor: str) -> None:
    driver = page("end-to-end")
    section = bring(driver, anchor)
    plots = section.find_elements(By.CSS_SELECTOR, ".plot")
    assert [p.get_attribute("data-kind") for p in plots] == KINDS
    for plot in plots:
        kind = plot.get_attribute("data-kind")
        assert any(t["y"] for t in drawn(driver, kind, anchor)), kind
        under = plot.find_element(By.CSS_SELECTOR, ".under").text
        assert VIRTUAL_LINK in under and SHORT_TRIALS in under and "FCS" in under, kind
        details = plot.find_element(By.CSS_SELECTOR, "details.numbers")
        click(driver, details.find_element(By.CSS_SELECTOR, "summary"))
        rows = details.find_elements(By.CSS_SELECTOR, "tbody tr")
        assert rows and rows[0].is_displayed(), kind
        assert "table below" in plot.find_element(By.CSS_SELECTOR, ".canvas").get_attribute("aria-label")


def test_a_mix_of_frames_has_its_name_on_the_axis(page: Open) -> None:
    driver = page("end-to-end-mixed")
    bring(driver)
    ticks: list[str] = driver.execute_script(
        "return arguments[0].layout.xaxis.ticktext", one(driver, "#w-flow-table .plot[data-kind='frames'] .canvas")
    )
    assert "64" in ticks and "1518" in ticks and "IMIX" in ticks and all(t == "IMIX" or t.isdigit() for t in ticks)


def test_lines_are_the_models_numbers(page: Open) -> None:
    driver = page("end-to-end")
    bring(driver)
    points = rates(example_run(), "dpdk-hash")
    (line,) = [t for t in drawn(driver, "throughput") if t["name"] == "dpdk-hash"]
    assert line["x"] == pytest.approx([(p.offered_pps or 0) / 1e6 for p in points], rel=1e-5)
    assert line["y"] == pytest.approx([p.throughput_pps.value / 1e6 for p in points if p.throughput_pps], rel=1e-5)
    (line,) = [t for t in drawn(driver, "cpu") if t["name"] == "dpdk-hash"]
    assert line["y"] == pytest.approx([100 * p.server_cpu_share.value for p in points if p.server_cpu_share], rel=1e-5)
    (line,) = [t for t in drawn(driver, "latency") if t["name"] == "dpdk-hash"]
    assert line["y"] == pytest.approx([p.latency.p50.value / 1e3 for p in points if p.latency], rel=1e-5)
    places = {t["name"]: t["y"] for t in drawn(driver, "loss")}
    assert list(places) == ["client transmit", "server receive", "server drop", "server transmit", "client receive"]
    slow = find(example_run(), "flow-table", "64", "interval 250 ns", "portable")
    assert max(places["server receive"]) == pytest.approx(100 * slow.loss_by_place["server_receive"].value, rel=1e-4)
    ndr = find(example_run(), "flow-table", "64", "NDR", "dpdk-hash")
    stages = {t["name"]: t["x"] for t in driver.execute_script("return document.querySelector('#w-flow-table [data-kind=stages] .canvas').data")}
    assert [stages[s.name][0] for s in ndr.stages] == pytest.approx([s.ns_per_packet.value for s in ndr.stages], rel=1e-5)


def test_controls_choose_frame_axis_unit_and_percentile(page: Open) -> None:
    driver = page("end-to-end")
    section = bring(driver)
    Select(one(section, "select[aria-label='frame']")).select_by_visible_text("1518 B")
    assert "1518 B frames with FCS" in one(section, ".plot[data-kind='throughput'] .under").text
    click(driver, one(section, "button[aria-label='rates in: Gb/s (L2)']"))
    points = rates(example_run(), "dpdk-hash", "1518")
    (line,) = [t for t in drawn(driver, "throughput") if t["name"] == "dpdk-hash"]
    assert line["y"] == pytest.approx([p.throughput_gbps.value for p in points if p.throughput_gbps], rel=1e-5)
    assert line["x"] == pytest.approx([(p.offered_pps or 0) * 1518 * 8e-9 for p in points], rel=1e-5)
    click(driver, one(section, "button[aria-label='over: packet interval']"))
    (line,) = [t for t in drawn(driver, "cpu") if t["name"] == "dpdk-hash"]
    assert line["x"] == pytest.approx(sorted(1e9 / (p.offered_pps or 1) for p in points))
    Select(one(section, "select[aria-label='latency']")).select_by_visible_text("p99")
    (line,) = [t for t in drawn(driver, "latency") if t["name"] == "dpdk-hash"]
    assert line["y"] == pytest.approx(sorted((p.latency.p99.value / 1e3 for p in points if p.latency), reverse=True), rel=1e-5)
    Select(one(section, "select[aria-label='stages at']")).select_by_visible_text("interval 500 ns")
    assert "Cost per stage at interval 500 ns" in one(section, ".plot[data-kind='stages'] figcaption").text


def test_a_latency_that_may_be_the_clients_is_withheld_with_the_reason_and_its_lag(page: Open) -> None:
    driver = page("end-to-end")
    section = bring(driver)
    box = one(section, ".plot[data-kind='latency']")
    assert "p99.9 is withheld: the client's own lag there is" in box.text
    script = "return [...arguments[0].data].filter((t) => !t.name && t.mode === 'lines' && t.hoverinfo === 'skip' && !t.fill).map((t) => t.y)"
    stems = driver.execute_script(script, one(box, ".canvas"))
    assert stems and all(None not in (low, top) for y in stems for low, top in zip(y[::3], y[1::3], strict=True)), "to the highest that is shown"
    Select(one(section, "select[aria-label='latency']")).select_by_visible_text("p99.9")
    box = one(section, ".plot[data-kind='latency']")  # drawn anew
    (line,) = [t for t in drawn(driver, "latency") if t["name"] == "dpdk-hash"]
    assert len(line["x"]) == 4 and "(interval 500 ns)" in box.text
    click(driver, one(box, "summary"))
    head = [cell.text for cell in box.find_elements(By.CSS_SELECTOR, ".numbers th[scope=col]")]
    assert {"client's lag p50, us", "client's lag p99.9, us", "client's lag maximum, us", "packets behind p99.9"} <= set(head)


def test_a_control_keeps_the_keyboard(page: Open) -> None:
    driver = page("end-to-end")
    section = bring(driver)
    one(section, "button[aria-label='over: packet interval']").send_keys(Keys.ENTER)
    assert driver.switch_to.active_element.get_attribute("aria-label") == "over: packet interval"
    assert driver.switch_to.active_element.get_attribute("aria-pressed") == "true"


def test_what_the_client_or_a_stall_limited_looks_different_and_is_not_joined(page: Open) -> None:
    driver = page("end-to-end-limited")
    bring(driver)
    traces = drawn(driver, "throughput")
    lines = {t["name"]: t for t in traces if t["mode"] == "lines+markers"}
    apart = {t["name"]: t for t in traces if t["mode"] == "markers"}
    assert apart["portable"]["symbol"] == ["x"] and apart["portable"]["x"] == [4] and 4 not in lines["portable"]["x"]
    assert apart["dpdk-hash"]["symbol"] == ["cross"] and apart["dpdk-hash"]["x"] == [2] and 2 not in lines["dpdk-hash"]["x"]
    assert "its latency was not measured" in one(driver, "#w-flow-table .plot[data-kind='latency'] .under").text
    cell = one(driver, ".sustained .silent")
    assert "client-limited" in cell.text and "not the server's limit" in cell.get_attribute("title")
    Select(one(driver, "#w-flow-table select[aria-label='frame']")).select_by_visible_text("512 B")
    box = one(driver, "#w-flow-table .plot[data-kind='cpu']")
    assert "withheld: the kernel's receive work runs on another CPU" in box.text and "Nothing to draw" in box.text


def test_overloaded_points_have_a_mark_and_searched_ones_none(page: Open) -> None:
    driver = page("end-to-end")
    bring(driver)
    (line,) = [t for t in drawn(driver, "throughput") if t["name"] == "portable"]
    limits = [p.limit for p in rates(example_run(), "portable")]
    assert line["symbol"] == ["triangle-down" if limit == "server-limited" else "circle" for limit in limits] and "triangle-down" in line["symbol"]
    weak = [not p.converged for p in rates(example_run(), "portable")]
    assert [c == "#ffffff" for c in line["color"]] == weak


def test_software_links_and_lines_have_figures_of_their_own(page: Open) -> None:
    driver = page("end-to-end-mixed")
    for anchor, virtual in (("w-flow-table", True), ("w-flow-table-line", False)):
        section = bring(driver, anchor)
        unders = [e.text for e in section.find_elements(By.CSS_SELECTOR, ".plot .under")]
        assert len(unders) == len(KINDS) and all((VIRTUAL_LINK in text) == virtual and ("pci" in text) != virtual for text in unders)
    assert {p.port for p in mixed_run().points} == {"memif", "vhost", "pci"}
    lines = {t["name"] for t in drawn(driver, "throughput")}
    assert lines == {"dpdk-hash, memif", "portable, memif", "dpdk-hash, vhost", "null workload (memif)", "null workload (vhost)"}
    assert "it has no offered rate" in one(driver, "#w-flow-table .plot[data-kind='throughput'] .under").text


def test_without_a_search_there_is_no_figure_of_one(page: Open) -> None:
    driver = page("end-to-end-rates")
    section = bring(driver)
    assert [p.get_attribute("data-kind") for p in section.find_elements(By.CSS_SELECTOR, ".plot")] == KINDS[1:]
    assert "No packet was lost: 10 points; a loss below 5.0e-6 would not show at every point." in one(section, ".plot[data-kind='loss']").text


def test_ratios_have_verdicts(page: Open) -> None:
    driver = page("end-to-end")
    text = one(driver, "#w-flow-table .ratios-table").text
    assert "▼ slower" in text and "lower is better" in text and "round by round" in text
    assert "proves correctness only" in one(driver, "#w-application-recognition .under-table").text


# --------------------------------------------------------------------------- downloads


def test_downloads_say_what_they_are(page: Open, downloads: Path) -> None:
    driver = page("end-to-end")
    section = bring(driver)
    for kind in KINDS:
        click(driver, one(section, f".plot[data-kind='{kind}'] [data-figure-format='svg']"))
        file = arrived(downloads, ".svg")
        text = " ".join(ET.fromstring(file.read_text(encoding="utf-8")).itertext())
        assert VIRTUAL_LINK in text and SHORT_TRIALS in text and "flow-table" in text, kind
        file.unlink()
    click(driver, one(section, ".plot[data-kind='throughput'] [data-figure-format='csv']"))
    rows = list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text(encoding="utf-8"))))
    assert len(rows) == 15 and rows[0]["labels"] == f"{VIRTUAL_LINK}; {SHORT_TRIALS}" and rows[0]["Mpps"]


def test_all_points_can_be_read_and_downloaded(page: Open, downloads: Path) -> None:
    driver = page("end-to-end")
    section = bring(driver)
    click(driver, one(section, ".all-points summary"))
    WebDriverWait(driver, 5).until(lambda d: section.find_elements(By.CSS_SELECTOR, ".all-points tbody tr"))
    click(driver, one(section, "[data-points-format='csv']"))
    rows = list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text(encoding="utf-8"))))
    mine = {p.id: p for p in example_run().points if p.workload in {"flow-table", "forward"}}
    assert {r["id"] for r in rows} == set(mine) and len(section.find_elements(By.CSS_SELECTOR, ".all-points tbody tr")) == len(mine)
    for r in rows:
        p = mine[r["id"]]
        assert (float(r["throughput_pps"]) if r["throughput_pps"] else None) == (
            None if p.throughput_pps is None else pytest.approx(p.throughput_pps.value, rel=1e-5)
        )
        assert r["link"] == "virtual" and (r["why_empty"] != "") == (p.throughput_pps is None)


def test_the_first_table_can_be_downloaded(page: Open, downloads: Path) -> None:
    driver = page("end-to-end")
    click(driver, one(driver, "[data-table='tex']"))
    text = arrived(downloads, ".tex").read_text(encoding="utf-8")
    assert "\\toprule" in text and "virtual link" in text and "6.01 [5.83--6.20]" in text


# --------------------------------------------------------------------------- everywhere


@pytest.mark.parametrize("name", ["end-to-end-limited", "end-to-end-mixed"])
def test_it_fits_a_telephone(page: Open, name: str) -> None:
    driver = page(name, 400, 800)
    bring(driver)
    WebDriverWait(driver, 10).until(lambda d: d.execute_script("return document.documentElement.scrollWidth") <= 400)


def test_names_of_a_run_stay_text(page: Open) -> None:
    driver = page("end-to-end-evil")
    section = bring(driver)
    click(driver, one(section, ".all-points summary"))
    for details in section.find_elements(By.CSS_SELECTOR, "details.numbers summary"):
        click(driver, details)
    assert not driver.execute_script("return window.hit") and not all_of(driver, "img, iframe, object, embed, svg script, foreignObject")


def test_printing_draws_every_figure(page: Open) -> None:
    driver = page("end-to-end")
    data = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})["data"])
    assert data.startswith(b"%PDF-") and 4 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 16
    assert len(all_of(driver, "section.part[data-drawn]")) == 2


def test_figures_follow_the_colour_scheme(page: Open) -> None:
    driver = page("end-to-end")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    try:
        canvas = bring(driver).find_element(By.CSS_SELECTOR, ".canvas")
        WebDriverWait(driver, 5).until(lambda d: d.execute_script("return arguments[0].layout.paper_bgcolor", canvas) == "#14181d")
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_tables_have_semantics_and_controls_have_names(page: Open) -> None:
    driver = page("end-to-end")
    bring(driver)
    assert all(t.find_elements(By.CSS_SELECTOR, "th[scope]") for t in all_of(driver, "main table"))
    for control in all_of(driver, "button, select, input"):
        assert (control.get_attribute("aria-label") or control.get_attribute("textContent") or "").strip(), control.get_attribute("outerHTML")
    assert all(e.get_attribute("tabindex") == "0" for e in all_of(driver, ".scroll, .numbers .points-body"))
