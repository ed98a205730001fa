"""Tests of the report without a browser: facts of the page model, size, escaping, and content that must never be in it."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from dpubench.analysis import naming
from dpubench.analysis.model import Comparison, Interval, Warning_
from dpubench.report import frame, words
from dpubench.studies.operators import report
from dpubench.studies.operators.model import RunSummary
from dpubench.studies.operators.report import model, versus
from dpubench.studies.operators.report.page import OperatorRow, Page
from dpubench.studies.operators.report.points import best, rerun_command
from pages import EVIL, Elements, poison
from report_fixtures import SPECS, cost_ns, five_targets, make_run, three_devices

ONE_THREAD = (1,)


def no_advice(code: str) -> str:
    return f"advice for {code}"


def page_of(*runs: RunSummary, baseline: str | None = None, compare: model.Compare | None = None) -> Page:
    return model.build(list(runs), baseline, compare or (lambda old, new: []), no_advice)


def row_of(page: Page, name: str) -> OperatorRow:
    return next(row for row in page.operators if row.name == name)


@pytest.fixture(scope="module")
def run() -> RunSummary:
    return make_run(sizes=(64, 1024, 4096), threads=(1, 2, 4))


# --------------------------------------------------------------------------- golden facts


def test_best_engine_of_the_default_configuration_is_the_fastest_measured_one(run: RunSummary) -> None:
    aes = row_of(page_of(run), "aes")
    cell = aes.default.cells[0]
    assert (aes.default.label, aes.default.at) == ("gcm · encrypt · 128 bit", "1 KiB")
    assert cell.engine == "ipsec-mb" and cell.point is not None and cell.point.primary is not None
    true_ns = cost_ns(next(s for s in SPECS if s.name == "aes"), "ipsec-mb", cell.point.params)
    assert cell.point.primary.value == pytest.approx(8 * 1024 / true_ns, rel=1e-9)
    assert aes.default.unit == "Gb/s"


def test_every_mode_is_a_family_in_the_order_of_the_catalog(run: RunSummary) -> None:
    aes = row_of(page_of(run), "aes")
    assert len(aes.families) == 4 * 2 * 2
    assert [f.label for f in aes.families[:3]] == ["gcm · encrypt · 128 bit", "gcm · encrypt · 256 bit", "gcm · decrypt · 128 bit"]
    assert all(f.at == "1 KiB" for f in aes.families)


def test_operators_without_bytes_have_no_gigabits(run: RunSummary) -> None:
    page = page_of(run)
    assert row_of(page, "lpm").default.unit == "Mops/s" and row_of(page, "rsa").default.unit == "kops/s"
    entry = next(o for o in page.data["operators"] if o["name"] == "lpm")
    assert entry["unit"] == "Mops/s" and not entry["bytes"]


def test_trust_counts_what_the_points_say(run: RunSummary) -> None:
    trust = page_of(run).trust
    measured = [p for p in run.points if p.primary is not None]
    assert trust.points == len(measured)
    assert trust.windows == sum(p.windows for p in measured)
    loose = [p for p in measured if not p.converged]
    assert trust.not_converged == len(loose) > 0
    assert trust.widest == max(p.precision for p in loose)
    assert trust.worst_code == "canary-moved" and "11.8 %" in trust.worst
    assert trust.failed == 1


def test_a_warning_listed_with_its_point_and_with_the_run_counts_once(run: RunSummary) -> None:
    groups = {g.code: g for g in page_of(run).warnings}
    loose = [p for p in run.points if any(w.code == "not-converged" for w in p.warnings)]
    assert len(groups["not-converged"].items) + groups["not-converged"].more == len(loose)
    assert groups["not-converged"].advice == "advice for not-converged"


def test_an_unknown_warning_code_is_shown_first(run: RunSummary) -> None:
    changed = make_run(sizes=(64,), threads=ONE_THREAD)
    changed.warnings.append(Warning_("from-the-future", "something new", None, None))
    assert page_of(changed).trust.worst_code == "from-the-future"


def test_failures_and_unavailable_engines_carry_their_reasons(run: RunSummary) -> None:
    page = page_of(run)
    assert [f.reason for f in page.failures] == ["verify: item 17: output differs from the reference engine at byte 4"]
    assert [(u.where, u.reason) for u in page.unavailable] == [("ipsec-mb (aes)", "ipsec-mb has no XTS")]
    assert page.unavailable[0].count == sum(bool(p.unavailable) for p in run.points)


def test_an_operator_of_which_nothing_was_measured_says_why() -> None:
    changed = make_run(sizes=(64,), threads=ONE_THREAD, missing=("openssl", "ipsec-mb", "portable"))
    row = row_of(page_of(changed), "sha256")
    assert "cannot open shared object file" in row.nothing and row.default.cells[0].point is None


def test_an_empty_run_still_has_a_page(tmp_path: Path) -> None:
    empty = make_run(sizes=(64,), threads=ONE_THREAD)
    empty.points, empty.warnings, empty.failures, empty.status = [], [], [], "interrupted"
    frame.write([report.section([empty])], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "0 operators" in text and "interrupted" in text


def test_without_catalog_entries_the_page_still_holds_all_points(run: RunSummary) -> None:
    bare = make_run(sizes=(64, 1024), threads=ONE_THREAD)
    bare.operators = {}
    page = page_of(bare)
    assert sum(len(o["points"]) for o in page.data["operators"]) == page.trust.points


def test_a_modelled_target_is_called_modelled() -> None:
    changed = make_run(sizes=(64,), threads=ONE_THREAD)
    for p in changed.points:
        p.target = "model:bluefield2"
    assert "(modelled)" in row_of(page_of(changed), "aes").default.cells[0].engine


# --------------------------------------------------------------------------- several runs


def verdict_rows(verdict: Any, ratio: Interval | None, reason: str) -> model.Compare:
    def compare(old: RunSummary, new: RunSummary) -> Sequence[Comparison]:
        best_old = {p.configuration: best(q for q in old.points if q.configuration == p.configuration) for p in old.points if p.operator == "memcpy"}
        best_new = {p.configuration: best(q for q in new.points if q.configuration == p.configuration) for p in new.points if p.operator == "memcpy"}
        return [
            Comparison("c", a.id, b.id, ratio, verdict, 0.01, reason)
            for c, a in best_old.items()
            if a is not None and (b := best_new.get(c)) is not None
        ]

    return compare


@pytest.mark.parametrize("verdict", ["faster", "slower", "same", "undecided"])
def test_verdicts_are_those_of_the_comparison(verdict: str) -> None:
    runs = [make_run(n, sizes=(64, 1024), threads=ONE_THREAD, seed=i) for i, n in enumerate(("a", "b"))]
    page = page_of(*runs, compare=verdict_rows(verdict, Interval(1.5, 1.4, 1.6), "because"))
    versus = row_of(page, "memcpy").default.cells[1].versus
    assert versus is not None and (versus.verdict, versus.reason) == (verdict, "because")
    assert versus.ratio == Interval(1.5, 1.4, 1.6)
    assert page.heat[0].sizes == [64, 1024]
    shade = next(cells for name, _, cells, _ in page.heat[0].rows if name == "memcpy")[0]
    assert shade is not None and (shade.shade > 0) == (verdict in {"faster", "slower"})


def test_what_is_missing_in_one_run_is_not_comparable_and_says_which() -> None:
    host, _, epyc = three_devices()
    page = page_of(host, epyc, baseline="host")
    versus = row_of(page, "lpm").default.cells[1].versus
    assert versus is not None and versus.verdict == "not comparable" and versus.reason == "not measured in this run"
    assert versus.cores is None


def test_host_core_equivalents_are_best_rate_over_one_baseline_core() -> None:
    base, device = (make_run(n, sizes=(1024,), threads=(1, 4), seed=s, speed=v) for n, s, v in (("a", 1, 1.0), ("b", 2, 0.5)))
    page = page_of(base, device, compare=verdict_rows("slower", Interval(0.5, 0.4, 0.6), ""))
    versus = row_of(page, "memcpy").default.cells[1].versus
    one = max(p.ops_per_s.value for p in base.points if p.operator == "memcpy" and p.threads == 1 and p.ops_per_s)
    all_ = max(p.ops_per_s.value for p in device.points if p.operator == "memcpy" and p.ops_per_s)
    assert versus is not None and versus.cores is not None
    assert versus.cores.value == pytest.approx(all_ / one) and versus.cores.low < versus.cores.value < versus.cores.high


def test_independent_ratio_adds_widths_in_quadrature() -> None:
    ratio = versus.independent_ratio(Interval(6, 6 / 1.1, 6 * 1.1), Interval(2, 2 / 1.2, 2 * 1.2))
    assert ratio.value == 3
    assert math.log(ratio.high / 3) == pytest.approx(math.hypot(math.log(1.1), math.log(1.2)))


def test_the_real_comparison_judges_a_device_of_half_the_speed(tmp_path: Path) -> None:
    base, device = (make_run(n, sizes=(1024,), threads=ONE_THREAD, seed=s, speed=v, cpu=n) for n, s, v in (("a", 1, 1.0), ("b", 2, 0.5)))
    page = model.build([base, device], "a", report.compare_best, no_advice)
    versus = row_of(page, "sha256").default.cells[1].versus
    assert versus is not None and versus.verdict == "slower" and versus.ratio is not None
    assert versus.ratio.low < 0.5 < versus.ratio.high


def test_a_baseline_that_is_not_there_is_an_error_that_names_the_runs(run: RunSummary) -> None:
    with pytest.raises(ValueError, match=r"'nowhere' is not among the runs of this report .operators-paper"):
        page_of(run, baseline="nowhere")
    with pytest.raises(ValueError, match="at least one run"):
        model.build([], None, lambda a, b: [], no_advice)


# --------------------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("interval", "value", "shown"),
    [
        (Interval(41.62, 40.9, 42.3), "41.6", "40.9–42.3"),
        (Interval(7.1612, 7.1012, 7.2100), "7.16", "7.10–7.21"),
        (Interval(1.2993, 1.2901, 1.3081), "1.299", "1.290–1.308"),
        (Interval(123456.7, 120000.0, 130000.0), "123,457", "120,000–130,000"),
        (Interval(0.00152, 0.0014, 0.0016), "0.00152", "0.00140–0.00160"),
        (Interval(5.0, math.nan, math.nan), "5.00", "no interval"),
        (Interval(math.nan, math.nan, math.nan), "–", "no interval"),
    ],
)
def test_value_and_interval_have_the_same_places(interval: Interval, value: str, shown: str) -> None:
    text = words.quantity(interval)
    assert (text.value, text.range) == (value, shown)


@pytest.mark.parametrize(
    ("size", "text"), [(64, "64 B"), (1024, "1 KiB"), (1500, "1,500 B"), (65536, "64 KiB"), (1 << 20, "1 MiB"), (9000, "9,000 B")]
)
def test_sizes(size: int, text: str) -> None:
    assert naming.size_text(size) == text


def test_rerun_command_quotes_what_a_shell_would_read(run: RunSummary) -> None:
    command = rerun_command(run, ("aes", (("mode", "a b;$(x)'"), ("size", "64")), 2, 32, "stream"))
    assert command == (
        "dpubench run operators --plan paper --operator aes --param 'mode=a b;$(x)'\\''' --size 64B --threads 2 --burst 32 --footprint stream"
    )


def test_rerun_command_gives_the_same_inputs_and_engines() -> None:
    made = make_run("host", sizes=(64,), threads=ONE_THREAD)
    made.operators["regex"]["inputs"] = [{"name": "rules"}, {"name": "capture", "only_with": {"payload": "capture"}}]
    made.given_inputs = {"rules": ["/a b/my.rules"], "capture": ["/c.pcap"], "routes4": ["/r"]}
    made.engine_dirs = ["/engines"]
    text = rerun_command(made, ("regex", (("payload", "text"), ("size", "64")), 1, 1, "stream"))
    assert text.endswith("--footprint stream --input 'rules=/a b/my.rules' --engine-dir /engines")
    capture = rerun_command(made, ("regex", (("payload", "capture"), ("size", "64")), 1, 1, "stream"))
    assert "--input capture=/c.pcap" in capture and "routes4" not in capture


def test_bibtex_has_an_entry_per_run_and_survives_special_characters() -> None:
    odd = make_run("a_b%{c}", sizes=(64,), threads=ONE_THREAD)
    text = page_of(odd).bibtex
    assert text.startswith("@misc{dpubench-abc,") and "a\\_b\\%\\{c\\}" in text
    assert "year         = {2026}" in text


# --------------------------------------------------------------------------- the file


@pytest.mark.parametrize("count", [1, 2, 5])
def test_text_of_a_run_never_becomes_markup(tmp_path: Path, count: int) -> None:
    clean, dirty = tmp_path / "clean.html", tmp_path / "dirty.html"
    runs = five_targets() if count == 5 else [make_run(f"r{i}", sizes=(64, 1024), threads=ONE_THREAD, seed=i) for i in range(count)]
    frame.write([report.section(runs)], clean)
    for r in runs:
        poison(r)
        if count == 5:
            r.target = r.spec = r.lost = EVIL
            r.label = r.label if r.times_mean_nothing else EVIL
            r.run_set, r.devices = EVIL, [EVIL]
    frame.write([report.section(runs)], dirty)
    elements = Elements(dirty.read_text(encoding="utf-8"))
    assert not [t for t, a in elements.tags if t in {"img", "iframe", "object", "embed"} or any(k.startswith("on") for k in a)]
    wanted = sorted(t for t, _ in Elements(clean.read_text(encoding="utf-8")).tags if t in {"script", "style", "link", "meta"})
    assert sorted(t for t, _ in elements.tags if t in {"script", "style", "link", "meta"}) == wanted
    assert EVIL in json.dumps(json.loads(elements.scripts["data"]), ensure_ascii=False).replace('\\"', '"').replace("\\u2028", "\u2028")


def test_nothing_in_the_file_refers_to_another(tmp_path: Path, run: RunSummary) -> None:
    frame.write([report.section([run])], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    for tag, attributes in Elements(text).tags:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), f"<{tag} {name}={value!r}>"
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style and "url(" not in style[1] and "@import" not in style[1]
    assert "sourceMappingURL" not in text


def test_the_policy_names_every_script_that_may_run_and_no_other(tmp_path: Path, run: RunSummary) -> None:
    frame.write([report.section([run])], tmp_path / "r.html")
    elements = Elements((tmp_path / "r.html").read_text(encoding="utf-8"))
    policy = next(a["content"] or "" for t, a in elements.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy")
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    assert sorted(allowed) == sorted(frame.sha256(s) for name, s in elements.scripts.items() if name != "data")
    assert "default-src 'none'" in policy and "connect-src" not in policy
    scripts = re.search(r"script-src[^;]*", policy)
    assert scripts is not None and "unsafe-inline" not in scripts[0]


def test_the_page_never_shows_a_score_or_sigma(tmp_path: Path, run: RunSummary) -> None:
    frame.write([report.section([run])], tmp_path / "r.html")
    elements = (tmp_path / "r.html").read_text(encoding="utf-8").split("<script", 1)[0].lower()
    assert "σ" not in elements and "geometric mean" not in elements and "sigma" not in elements


def test_a_million_windows_fit_into_ten_megabytes_and_two_seconds(tmp_path: Path) -> None:
    big = make_run(sizes=tuple(64 + 64 * i for i in range(24)), threads=(1, 2, 4, 6, 8, 12, 16))
    assert sum(p.windows for p in big.points) > 1_000_000
    start = time.process_time()  # CPU time: other work on the machine does not count
    frame.write([report.section([big])], tmp_path / "r.html")
    assert time.process_time() - start < 2.0
    assert (tmp_path / "r.html").stat().st_size < 10_000_000


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, run: RunSummary) -> None:
    target = tmp_path / "missing" / "r.html"
    with pytest.raises(OSError):
        frame.write([report.section([run])], target)
    target = tmp_path / "r.html"
    target.write_text("old")
    frame.write([report.section([run])], target)
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_json_is_safe_inside_a_script_element() -> None:
    text = frame.embedded_json({"a": "</script><!-- &\u2028", "b": 1.5})
    assert "<" not in text and ">" not in text and "&" not in text and "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!-- &\u2028", "b": 1.5}
    with pytest.raises(ValueError, match="Out of range"):
        frame.embedded_json(math.nan)


def test_vendored_libraries_come_with_their_licences() -> None:
    vendor = Path(frame.__file__).parent / "vendor"
    scripts = sorted(p.name for p in vendor.glob("*.js"))
    assert sorted(f for files in frame.LIBRARIES.values() for f in files) == scripts
    for name in scripts:
        licence = vendor / (re.split(r"-\d", name)[0] + ".LICENSE")
        assert "Permission is hereby granted" in licence.read_text(encoding="utf-8")
