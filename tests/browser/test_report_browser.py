"""The report in a real browser, used as a reader uses it."""

from __future__ import annotations

import base64
import csv
import io
import re
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SIZES, arrived
from report_fixtures import SPECS, make_run
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

Open = Callable[..., Any]


def all_of(driver: Any, css: str) -> list[Any]:
    return list(driver.find_elements(By.CSS_SELECTOR, css))


def one(driver: Any, css: str) -> Any:
    return driver.find_element(By.CSS_SELECTOR, css)


def shown(driver: Any, css: str) -> list[Any]:
    return [e for e in all_of(driver, css) if e.is_displayed()]


def bring(driver: Any, name: str) -> Any:
    """Scroll an operator's section into view and return it once it is drawn."""
    article = one(driver, f"#op-{name}")
    for _ in range(3):  # sections above grow when they are drawn
        driver.execute_script("document.documentElement.style.scrollBehavior='auto'; arguments[0].scrollIntoView()", article)
        WebDriverWait(driver, 10).until(lambda d: article.get_attribute("data-drawn") == "1")
    WebDriverWait(driver, 10).until(lambda d: article.find_elements(By.CSS_SELECTOR, ".canvas .main-svg"))
    return article


def click(driver: Any, element: Any) -> None:
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", element)


# --------------------------------------------------------------------------- first screen


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
@pytest.mark.parametrize("name", ["one", "three"])
def test_the_first_screen_holds_every_operator_without_scrolling(page: Open, name: str, size: tuple[int, int]) -> None:
    driver = page(name, *size)
    bottom = max(e.rect["y"] + e.rect["height"] for e in all_of(driver, "#results-table tr.head"))
    assert len(all_of(driver, "#results-table tr.head")) == len(SPECS)
    assert bottom <= size[1]
    assert driver.execute_script("return document.documentElement.scrollWidth") <= size[0]
    assert not shown(driver, "#results-table tr.mode")


def test_the_trust_line_leads_to_the_worst_warning(page: Open) -> None:
    driver = page("one")
    link = one(driver, ".trust a[href^='#w-']")
    assert link.text == "canary-moved"
    click(driver, link)
    group = one(driver, "#w-canary-moved")
    assert group.get_attribute("open") is not None and "11.8 %" in group.text and "What to do" in group.text


def test_one_run_says_that_no_other_device_is_there(page: Open) -> None:
    driver = page("one")
    assert "No other device is in this report" in one(driver, ".when").text
    assert "--baseline" in one(driver, "#add").text


# --------------------------------------------------------------------------- table


def test_filter_and_chips(page: Open) -> None:
    driver = page("one")
    one(driver, "body").send_keys("/")
    box = driver.switch_to.active_element
    assert box.get_attribute("id") == "filter"
    box.send_keys("isal")
    assert [e.get_attribute("data-operator") for e in shown(driver, "#results-table tbody")] == ["crc", "deflate"]
    assert one(driver, "#shown").text == f"2 of {len(SPECS)} operators"
    box.clear()
    box.send_keys("aes xts")
    assert [e.get_attribute("data-operator") for e in shown(driver, "#results-table tbody")] == ["aes"]
    assert len(shown(driver, "#results-table tr.mode")) == 4 and all("xts" in e.text for e in shown(driver, "#results-table tr.mode"))
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(Keys.DELETE)
    assert not shown(driver, "#results-table tr.mode")
    click(driver, one(driver, ".chip[data-scenario='storage']"))
    storage = [s.name for s in SPECS if "storage" in s.scenarios]
    assert sorted(e.get_attribute("data-operator") for e in shown(driver, "#results-table tbody")) == sorted(storage)
    assert sorted(e.get_attribute("id") for e in all_of(driver, "article.operator:not([hidden])")) == sorted(f"op-{n}" for n in storage)
    click(driver, one(driver, ".chip[data-scenario='']"))
    assert len(shown(driver, "#results-table tbody")) == len(SPECS)


def test_a_row_unfolds_by_keyboard(page: Open) -> None:
    driver = page("one")
    button = one(driver, "tbody[data-operator='aes'] .fold")
    button.send_keys(Keys.ENTER)
    assert button.get_attribute("aria-expanded") == "true" and len(shown(driver, "#results-table tr.mode")) == 16
    button.send_keys(Keys.SPACE)
    assert button.get_attribute("aria-expanded") == "false" and not shown(driver, "#results-table tr.mode")
    click(driver, one(driver, "#expand"))
    assert len(shown(driver, "#results-table tr.mode")) == len(all_of(driver, "#results-table tr.mode")) > 50


def test_the_compared_table_shows_ratio_verdict_and_host_cores(page: Open) -> None:
    driver = page("three")
    row = one(driver, "tbody[data-operator='sha256'] tr.head").get_attribute("textContent")
    assert "slower" in row and "×" in row
    assert "not measured in this run" in one(driver, "tbody[data-operator='lpm'] tr.head").text
    caption = one(driver, "#results-table caption").text
    assert "operator alone, no data movement" in caption
    assert len(shown(driver, ".heatmap")) == 2 and len(all_of(driver, "#heat0-table .cell")) > 80


# --------------------------------------------------------------------------- figures


def test_figures_show_engines_threads_cores_and_weak_points(page: Open) -> None:
    driver = page("one")
    article = bring(driver, "aes")
    assert [f.get_attribute("data-kind") for f in article.find_elements(By.CSS_SELECTOR, ".plot")] == ["axis", "threads"]
    texts = article.find_element(By.CSS_SELECTOR, ".plot[data-kind='threads'] .canvas").get_attribute("textContent")
    assert "8 cores" in texts and "16 CPUs" in texts and "ipsec-mb" in texts
    before = article.find_element(By.CSS_SELECTOR, ".plot .canvas").get_attribute("aria-label")
    Select(article.find_element(By.CSS_SELECTOR, "select[aria-label='mode']")).select_by_visible_text("cbc")
    after = article.find_element(By.CSS_SELECTOR, ".plot .canvas").get_attribute("aria-label")
    assert "gcm" in before and "cbc" in after
    assert "--param mode=cbc" in article.find_element(By.CSS_SELECTOR, ".rerun code").text


@pytest.mark.parametrize("name", ["aes", "sha256", "memcpy", "regex"])
def test_points_that_did_not_converge_are_hollow_and_counted(page: Open, name: str) -> None:
    driver = page("one")
    article = bring(driver, name)
    spec = next(s for s in SPECS if s.name == name)
    chosen = {k: v[0] for k, v in spec.modes.items()}
    points = [
        p
        for p in make_run(sizes=SIZES, threads=(1, 2, 4, 8, 16)).points
        if p.operator == name and p.threads == 1 and p.primary is not None and all(p.params[k] == v for k, v in chosen.items())
    ]
    weak = sum(not p.converged or p.rounds < 6 for p in points)
    canvas = article.find_element(By.CSS_SELECTOR, ".plot[data-kind='axis'] .canvas")
    fills = driver.execute_script("return arguments[0].data.filter((t) => t.name).flatMap((t) => t.marker.color)", canvas)
    assert len(fills) == len(points) and fills.count("#ffffff") == weak
    under = article.find_element(By.CSS_SELECTOR, ".plot[data-kind='axis'] .under").text
    assert (f"{weak} of {len(points)} points hollow" in under) == (weak > 0)


def test_key_size_is_an_axis_where_there_is_no_size(page: Open) -> None:
    driver = page("one")
    article = bring(driver, "rsa")
    assert "over key bits" in article.find_element(By.CSS_SELECTOR, "figcaption").text


def test_one_thread_count_draws_no_scaling(page: Open) -> None:
    driver = page("quick")
    article = bring(driver, "sha256")
    assert not article.find_elements(By.CSS_SELECTOR, ".plot[data-kind='threads']")


def test_no_figure_has_more_than_eight_lines(page: Open) -> None:
    driver = page("crowd")  # five runs of three engines
    article = bring(driver, "sha256")
    names = driver.execute_script(
        "return arguments[0].data.filter((t) => t.name).map((t) => t.name)", article.find_element(By.CSS_SELECTOR, ".canvas")
    )
    assert len(set(names)) == len(names) == 8
    assert {n.split(":")[0] for n in names} == {f"run{i}" for i in range(5)}, "every run has its best engine"
    left = article.find_element(By.CSS_SELECTOR, ".under").text.split("beyond 8 lines: ")[1].rstrip(".").split(", ")
    assert len(left) == 7 and not set(left) & set(names)


def test_all_points_of_an_operator_are_listed(page: Open) -> None:
    driver = page("one")
    article = bring(driver, "sha256")
    click(driver, article.find_element(By.CSS_SELECTOR, ".all-points summary"))
    WebDriverWait(driver, 10).until(lambda d: article.find_elements(By.CSS_SELECTOR, ".values tbody tr"))
    expected = [p for p in make_run(sizes=SIZES, threads=(1, 2, 4, 8, 16)).points if p.operator == "sha256"]
    assert len(article.find_elements(By.CSS_SELECTOR, ".values tbody tr")) == len(expected)


def headings(driver: Any, operator: str) -> tuple[Any, list[str]]:
    article = bring(driver, operator)
    click(driver, article.find_element(By.CSS_SELECTOR, ".all-points summary"))
    WebDriverWait(driver, 10).until(lambda d: article.find_elements(By.CSS_SELECTOR, ".values tbody tr"))
    return article, [th.get_attribute("textContent") for th in article.find_elements(By.CSS_SELECTOR, ".values thead th")]


def test_counters_are_shown_where_something_counted(page: Open) -> None:
    article, names = headings(page("one"), "sha256")
    assert "cycles (estimated)" in names and not any("nJ" in n for n in names)
    options = [o.text for o in Select(article.find_element(By.CSS_SELECTOR, "select[aria-label='show']")).options]
    assert "cycles (estimated)" in options and not any("energy" in o for o in options)


def test_cycles_of_several_sources_say_which(page: Open) -> None:
    driver = page("three")
    article, names = headings(driver, "sha256")
    energy = names.index("nJ per operation (package energy)")
    cells = [[td.get_attribute("textContent") for td in tr.find_elements(By.CSS_SELECTOR, "td")] for tr in
             article.find_elements(By.CSS_SELECTOR, ".values tbody tr")[:40]]  # fmt: skip
    assert {c[names.index("cycles")].split(" ", 1)[1] for c in cells} <= {"(estimated)", "(hardware counter)"}
    assert all((c[energy] == "–") == (c[0] != "host") for c in cells)
    select = Select(article.find_element(By.CSS_SELECTOR, "select[aria-label='show']"))
    assert "cycles (estimated or hardware counter)" in [o.text for o in select.options]
    select.select_by_visible_text("nJ per operation, package energy")
    WebDriverWait(driver, 10).until(lambda d: "Package energy per operation" in article.find_element(By.CSS_SELECTOR, "figcaption").text)


# --------------------------------------------------------------------------- downloads


def test_figure_downloads_are_what_their_names_say(page: Open, downloads: Path) -> None:
    driver = page("one")
    article = bring(driver, "sha256")
    for kind in ("svg", "png", "pdf"):
        click(driver, article.find_element(By.CSS_SELECTOR, f"[data-figure-format='{kind}']"))
    root = ET.fromstring(arrived(downloads, ".svg").read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    words = " ".join(root.itertext())
    assert "openssl" in words and "Gb/s" in words and "Measured" in words and "sha256" in words
    png = arrived(downloads, ".png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and struct.unpack(">II", png[16:24]) == (1920, 1260)
    pdf = arrived(downloads, ".pdf").read_bytes()
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    assert b"/Subtype /Image" not in pdf, "the PDF is to be vectors"
    assert b"Helvetica" in pdf and len(pdf) > 3000


def test_table_downloads(page: Open, downloads: Path) -> None:
    driver = page("one")
    for kind in ("csv", "tex"):
        click(driver, one(driver, f"[data-table='results'][data-format='{kind}']"))
    rows = list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text(encoding="utf-8"))))
    assert len(rows) == sum(1 for _ in all_of(driver, "#results-table tr.mode")) + len(all_of(driver, ".nofold"))
    aes = next(r for r in rows if r["operator"] == "aes" and r["default"] == "1")
    assert aes["engine"] == "ipsec-mb" and float(aes["low95"]) < float(aes["value"]) < float(aes["high95"])
    assert aes["next_best"] == "openssl" and float(aes["next_low95"]) < float(aes["ratio_to_next_best"]) < float(aes["next_high95"])
    text = arrived(downloads, ".tex").read_text(encoding="utf-8")
    assert "ratio to the next best" in text and re.search(r"\[4\.\d+--4\.\d+\] openssl", text)
    assert text.count("\\toprule") == 1 and "tcp\\_segment" in text and text.count("{") == text.count("}")
    body = text.split("\\midrule")[1].split("\\bottomrule")[0].strip().splitlines()
    assert all(line.count("&") == 4 and line.endswith("\\\\") for line in body) and len(body) > 50


def test_points_and_heat_map_downloads(page: Open, downloads: Path) -> None:
    driver = page("three")
    for kind in ("svg", "png", "pdf"):
        click(driver, one(driver, f".heatmap [data-heat-format='{kind}']"))
    assert "against host" in " ".join(ET.fromstring(arrived(downloads, ".svg").read_text(encoding="utf-8")).itertext())
    assert arrived(downloads, ".png").read_bytes().startswith(b"\x89PNG")
    assert arrived(downloads, ".pdf").read_bytes().startswith(b"%PDF-")
    click(driver, one(driver, "[data-table='heat0'][data-format='csv']"))
    file = arrived(downloads, ".csv")
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert {"operator", "size", "ratio", "verdict"} <= set(rows[0]) and len(rows) > 80
    file.unlink()
    article = bring(driver, "lpm")
    click(driver, article.find_element(By.CSS_SELECTOR, ".all-points summary"))
    WebDriverWait(driver, 10).until(lambda d: article.find_elements(By.CSS_SELECTOR, "[data-points-format]"))
    click(driver, article.find_element(By.CSS_SELECTOR, "[data-points-format='csv']"))
    points = list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text(encoding="utf-8"))))
    assert len(points) > 50 and {p["run"] for p in points} == {"host", "bluefield"}
    assert {(p["run"], p["cycles_source"], p["energy_nj_per_op"] != "") for p in points} == {
        ("host", "hardware counter", True), ("bluefield", "estimated", False)}  # fmt: skip


# --------------------------------------------------------------------------- calculator


def answer(driver: Any, operator: str, gbps: str, size: str, layer: str = "L2") -> Any:
    Select(one(driver, "#calc-operator")).select_by_visible_text(operator)
    Select(one(driver, "#calc-layer")).select_by_value(layer)
    for box, value in (("#calc-gbps", gbps), ("#calc-size", size)):
        driver.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", one(driver, box), value
        )
    return one(driver, "#calc-out")


def ns_of(operator: str, engine: str, size: str | None) -> float:
    run = make_run(sizes=SIZES, threads=(1, 2, 4, 8, 16))
    point = next(p for p in run.points if p.operator == operator and p.engine == engine and p.threads == 1 and p.params.get("size") == size)
    assert point.ns_per_op is not None
    return point.ns_per_op.value


def test_calculator_at_a_measured_size(page: Open) -> None:
    driver = page("one")
    out = answer(driver, "sha256", "100", "1024", "L2")
    engine = one(driver, "#calc-engine").get_attribute("value")
    expected = 100e9 / (8 * 1024) * ns_of("sha256", engine, "1024") * 1e-9
    assert float(out.get_attribute("data-cores")) == pytest.approx(expected, rel=1e-4)
    # The answer is more cores than were measured together. The interval of one core says nothing about how well several add up.
    assert expected > 1 and (out.get_attribute("data-low"), out.get_attribute("data-high")) == ("", "")
    assert "* cores no interval" in out.text and "Extrapolated from 1 core" in out.text
    assert "Interpolated" not in out.text and "cores add up linearly" in out.text
    part = answer(driver, "sha256", "1", "1024", "L2")
    assert float(part.get_attribute("data-low")) < expected / 100 < float(part.get_attribute("data-high")) and "Extrapolated" not in part.text
    answer(driver, "sha256", "100", "1024", "L2")
    out = answer(driver, "sha256", "100", "1024", "L1")
    assert float(out.get_attribute("data-cores")) == pytest.approx(expected * 1024 / 1044, rel=1e-4)


def test_calculator_interpolates_and_says_so(page: Open) -> None:
    driver = page("one")
    out = answer(driver, "sha256", "10", "1500", "L1")
    engine = one(driver, "#calc-engine").get_attribute("value")
    a, b = ns_of("sha256", engine, "1024"), ns_of("sha256", engine, "4096")
    ns = a + (1500 - 1024) / (4096 - 1024) * (b - a)
    assert float(out.get_attribute("data-cores")) == pytest.approx(10e9 / (8 * 1520) * ns * 1e-9, rel=1e-4)
    assert "Interpolated" in out.text and "1 KiB and 4 KiB" in out.text and out.get_attribute("data-low") == ""


def test_calculator_counts_packets_where_there_are_no_bytes_and_never_extrapolates(page: Open) -> None:
    driver = page("one")
    out = answer(driver, "toeplitz", "100", "64", "L1")
    engine = one(driver, "#calc-engine").get_attribute("value")
    assert float(out.get_attribute("data-cores")) == pytest.approx(100e9 / (8 * 84) * ns_of("toeplitz", engine, None) * 1e-9, rel=1e-4)
    assert "one operation, whatever its size" in out.text
    out = answer(driver, "sha256", "100", "60")
    assert out.get_attribute("data-cores") is None and "nothing is extrapolated" in out.text
    out = answer(driver, "sha256", "-1", "64")
    assert out.get_attribute("data-cores") is None and "above 0" in out.text


# --------------------------------------------------------------------------- safety, print, colour scheme


@pytest.mark.parametrize("name", ["evil", "evil-targets"])
def test_names_of_a_hostile_run_do_nothing(page: Open, name: str, downloads: Path) -> None:
    driver = page(name)
    driver.execute_script("window.alert = () => { window.hit = true; }")
    if name == "evil-targets":
        drawn_ratios(driver)
        click(driver, one(driver, "[data-pairing-choice='same']"))
    for article in all_of(driver, "article.operator")[::4]:
        bring(driver, article.get_attribute("id")[3:])
        click(driver, article.find_element(By.CSS_SELECTOR, ".all-points summary"))
    click(driver, one(driver, "[data-figure-format='svg']"))
    ET.fromstring(arrived(downloads, ".svg").read_text(encoding="utf-8"))
    assert not driver.execute_script("return window.hit")
    assert not all_of(driver, "img, iframe, object, embed, svg script, foreignObject")
    # The page's policy must stop a script that got into the page anyway.
    driver.execute_script("const s = document.createElement('script'); s.textContent = 'window.hit = true'; document.body.append(s);")
    assert not driver.execute_script("return window.hit")
    refused = [e["message"] for e in driver.get_log("browser")]
    assert len(refused) == 1 and "Content Security Policy" in refused[0]


def test_printing_draws_every_figure(page: Open) -> None:
    driver = page("one")
    data = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})["data"])
    assert data.startswith(b"%PDF-")
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    assert 6 <= pages <= 25
    assert len(all_of(driver, "article.operator[data-drawn]")) == len(SPECS)


def test_figures_follow_the_colour_scheme(page: Open) -> None:
    driver = page("one")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    try:
        article = bring(driver, "sha256")
        canvas = article.find_element(By.CSS_SELECTOR, ".canvas")
        WebDriverWait(driver, 5).until(lambda d: d.execute_script("return arguments[0].layout.paper_bgcolor", canvas) == "#14181d")
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_tables_have_semantics_and_controls_have_names(page: Open) -> None:
    driver = page("three")
    assert all(t.find_elements(By.CSS_SELECTOR, "th[scope]") for t in all_of(driver, "main table"))
    bring(driver, "aes")
    for control in all_of(driver, "button, select, input"):
        assert (control.get_attribute("aria-label") or control.get_attribute("textContent") or "").strip(), control.get_attribute("outerHTML")


# --------------------------------------------------------------------------- several targets


def drawn_ratios(driver: Any) -> Any:
    section = one(driver, "#ratios")
    driver.execute_script("document.documentElement.style.scrollBehavior='auto'; arguments[0].scrollIntoView()", section)
    WebDriverWait(driver, 10).until(lambda d: section.find_elements(By.CSS_SELECTOR, ".canvas .main-svg"))
    return section


def ratio_texts(driver: Any) -> str:
    return str(driver.execute_script("return document.querySelector('#ratios .canvas').textContent"))


def test_the_reader_chooses_which_engines_meet(page: Open) -> None:
    driver = page("targets")
    row = "tbody[data-operator='hmac'] tr.head"
    assert "ipsec-mb" in one(driver, row).text and len(shown(driver, ".heatmap")) == 1
    section = drawn_ratios(driver)
    assert "openssl / ipsec-mb" in ratio_texts(driver)
    before = one(driver, row).text
    click(driver, one(driver, "[data-pairing-choice='same']"))
    after = one(driver, row).text
    assert before != after and "Engine on both" in one(driver, "#results-table").text and "Verdict" in one(driver, "#results-table").text
    assert "openssl / ipsec-mb" not in ratio_texts(driver) and "openssl" in ratio_texts(driver)
    assert "same engine on both" in section.text and len(shown(driver, ".heatmap")) == 1
    assert [e.text.split()[0] for e in shown(driver, ".paths tbody tr")].count("hmac") == 1
    click(driver, one(driver, "[data-pairing-choice='best']"))
    assert one(driver, row).text == before


def test_the_ratio_figure_follows_size_and_threads(page: Open) -> None:
    driver = page("targets")
    section = drawn_ratios(driver)
    assert "1 KiB, 1 thread" in section.text
    Select(one(driver, "#ratios select[aria-label='size']")).select_by_visible_text("64 KiB")
    Select(one(driver, "#ratios select[aria-label='threads']")).select_by_visible_text("best of each side")
    assert "64 KiB, each side at its best number of threads" in section.text
    assert "8 threads" in ratio_texts(driver)


def test_every_ratio_can_be_downloaded(page: Open, downloads: Path) -> None:
    driver = page("targets")
    drawn_ratios(driver)
    click(driver, one(driver, "[data-ratio-format='csv']"))
    rows = list(csv.DictReader(io.StringIO(arrived(downloads, ".csv").read_text())))
    assert {r["pairing"] for r in rows} == {"best", "same"} and {r["target"] for r in rows} == {"bf2"}
    sha = [r for r in rows if r["operator"] == "sha256" and r["pairing"] == "best"]
    assert len(sha) == len(SIZES) * 4 and all(float(r["low95"]) < float(r["ratio"]) < float(r["high95"]) for r in sha)
    click(driver, one(driver, "[data-ratio-format='svg']"))
    text = "".join(ET.parse(arrived(downloads, ".svg")).getroot().itertext())
    assert "Ratio to local, best engine against best engine: 1 KiB, 1 thread" in text and "0.05×" in text


def test_an_operator_shows_its_ratio_over_size_and_threads(page: Open) -> None:
    driver = page("targets")
    article = bring(driver, "aes")
    Select(article.find_element(By.CSS_SELECTOR, "select[aria-label='show']")).select_by_visible_text("ratio to local")
    captions = [e.text for e in article.find_elements(By.CSS_SELECTOR, "figcaption")]
    assert captions[0].startswith("Ratio to the baseline over size") and captions[1].startswith("Ratio to the baseline over threads")
    assert "best engine against best engine" in article.text


def test_throughput_against_jobs_in_flight(page: Open) -> None:
    driver = page("targets")
    article = bring(driver, "aes")
    assert [e.get_attribute("data-kind") for e in article.find_elements(By.CSS_SELECTOR, ".plot")] == ["axis", "threads", "flight"]
    text = driver.execute_script("return document.querySelector('#op-aes .plot[data-kind=flight] .canvas').textContent")
    assert all(word in text for word in ("local: cryptodev-aesni-mb", "bf2: cryptodev", "local: ipsec-mb, synchronous", "jobs in flight", "128"))
    assert "--in-flight 8,32,64,128 --target local --target bf2" in article.find_element(By.CSS_SELECTOR, ".rerun code").text
    over_size = driver.execute_script("return document.querySelector('#op-aes .plot[data-kind=axis] .canvas').textContent")
    assert "~128" in over_size and "~8 " not in over_size  # only the fastest number of jobs
    assert [e.get_attribute("data-kind") for e in bring(driver, "sha256").find_elements(By.CSS_SELECTOR, ".plot")] == ["axis", "threads"]


def test_labels_stand_beside_figures_and_emulated_targets_have_none(page: Open) -> None:
    driver = page("five")
    assert one(driver, "#ratios .legend").text.count("restricted host, not a device") == 1
    article = bring(driver, "sha256")
    assert "local:cpus=0,quota=50% (restricted host, not a device)" in article.find_element(By.CSS_SELECTOR, ".under").text
    assert "lost: connection closed by 10.0.0.7 port 22" in one(driver, ".when").text
    assert "31 of 48" in one(driver, "#correctness").text and "emulated: correctness only" in one(driver, "#correctness").text
    for section in ("results", "ratios", "heat", "paths", "operators", "calculator"):
        assert "qemu" not in driver.execute_script(f"return document.getElementById('{section}').textContent")


def test_a_page_without_times_works(page: Open) -> None:
    driver = page("emulated")
    assert "verified on qemu:aarch64" in one(driver, "h1").text and not all_of(driver, "#results-table, #calc, .plot")


@pytest.mark.parametrize("name", ["targets", "five", "emulated"])
def test_pages_of_targets_fit_a_telephone(page: Open, name: str) -> None:
    driver = page(name, 400, 800)
    if name != "emulated":
        drawn_ratios(driver)
    WebDriverWait(driver, 10).until(lambda d: d.execute_script("return document.documentElement.scrollWidth") <= 400)
