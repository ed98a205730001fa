"""Tests of the report of runs of several targets: facts of the page, and the command that writes it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from dpubench.analysis.model import EMULATED
from dpubench.cli.report import command
from dpubench.errors import UserError
from dpubench.report import frame
from dpubench.studies.operators import report
from dpubench.studies.operators.model import RunSummary
from dpubench.studies.operators.report import model
from dpubench.studies.operators.report.page import BEST, SAME, Cell, Page, Versus
from dpubench.studies.operators.report.points import engine_label, path_text, rerun_command
from dpubench.studies.operators.summary import summaries
from report_fixtures import RESTRICTED, five_targets, host_and_device, make_run
from simulated_runs import Noise, SimulatedPoint, SimulatedTarget, write_set
from typer.testing import CliRunner

QUIET = Noise(process=0.003, machine=0.004, drift=0.0005, window=0.01, stall_share=0.01)


def page_of(runs: list[RunSummary], baseline: str | None = None) -> Page:
    return model.build(runs, baseline, report.compare_best, lambda code: "", report.compare_builds, report.compare_same)


def cell_of(page: Page, operator: str, name: str, pairing: str = BEST) -> Cell:
    index = next(i for i, run in enumerate(page.runs) if run.name == name)
    cell = next(row for row in page.operators if row.name == operator).default.cells[index]
    chosen = cell if pairing == BEST else cell.same
    assert chosen is not None
    return chosen


def versus_of(page: Page, operator: str, name: str, pairing: str = BEST) -> Versus:
    versus = cell_of(page, operator, name, pairing).versus
    assert versus is not None
    return versus


@pytest.fixture(scope="module")
def five() -> Page:
    return page_of(five_targets())


@pytest.fixture(scope="module")
def two() -> Page:
    return page_of(host_and_device((64, 1024), (1, 2, 4)))


# --------------------------------------------------------------------------- columns


def test_targets_are_columns_by_their_names_and_local_is_the_baseline(five: Page) -> None:
    assert [r.name for r in five.runs] == ["local", "bf2", "local:cpus=0,quota=50%"]
    assert five.baseline == 0 and five.targets and five.set_name == "operators-quick-20261121T090000Z"
    assert [r.name for r in five.emulated] == ["qemu:aarch64"] and [r.name for r in five.absent] == ["bf3"]
    assert [r.label for r in five.all_runs] == ["", "", RESTRICTED, EMULATED, ""]


def test_labels_stand_at_every_column_figure_and_table(five: Page, tmp_path: Path) -> None:
    frame.write([report.section(five_targets())], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    body = text.split("<body", 1)[1].split('<script type="application/json"', 1)[0]
    for section in ("results", "ratios", "paths", "reproduce", "machine"):
        part = body.split(f'<section id="{section}"', 1)[1].split("</section>", 1)[0]
        assert f'<span class="label">{RESTRICTED}</span>' in part, section
    captions = re.findall(r"<figcaption>local:cpus=0,quota=50%(.*?)</figcaption>", body, re.DOTALL)
    assert len(captions) == 2 and all(RESTRICTED in c for c in captions)
    assert {r["label"] for r in five.data["runs"]} == {"", RESTRICTED}
    assert {row[five.data["table"]["columns"].index("label")] for row in five.data["table"]["rows"]} == {"", RESTRICTED}
    assert {m["label"] for m in five.data["heat"]} == {"", RESTRICTED}


def test_an_emulated_target_says_what_was_verified_and_no_more(five: Page) -> None:
    found = {name: cells[0] for name, cells in five.correctness}
    lpm, aes = found["lpm"], found["aes"]
    assert lpm is not None and aes is not None
    assert (lpm.points, lpm.verified, lpm.known_answers, lpm.compared) == (12, 12, 12 * 12, 12 * 8192)
    assert aes.wrong == ["openssl: verify: item 17: output differs from the reference engine at byte 4"]
    assert aes.verified == 31 and "ipsec-mb: libipsec-mb.so" in aes.unavailable[0]
    assert all(run["name"] != "qemu:aarch64" for run in five.data["runs"])
    assert all(len(row.default.cells) == len(five.runs) for row in five.operators)


def test_a_page_of_an_emulated_target_alone_has_no_figures(tmp_path: Path) -> None:
    emulated = five_targets()[3]
    page = page_of([emulated])
    assert page.runs == [] and page.operators == [] and page.trust.points == 0 and page.heat == []
    frame.write([report.section([emulated])], tmp_path / "r.html")
    body = (tmp_path / "r.html").read_text(encoding="utf-8").split("<script type", 1)[0]
    assert "16 operators verified on qemu:aarch64" in body and 'id="results"' not in body and 'id="calculator"' not in body


def test_a_lost_target_keeps_what_it_has_and_says_why() -> None:
    host, device = host_and_device((64, 1024), (1,))
    device.lost, device.status = "connection closed", "interrupted"
    device.points = [p for p in device.points if p.operator in ("lpm", "aes")]
    page = page_of([host, device])
    assert versus_of(page, "lpm", "bf2").verdict == "slower"
    gone = versus_of(page, "sha256", "bf2")
    assert (gone.verdict, gone.reason) == ("not measured", "the target was lost: connection closed")
    assert any(f.where == "target bf2" and f.reason.startswith("lost: connection closed; its measurements are kept") for f in page.failures)


# --------------------------------------------------------------------------- pairings


def test_best_engine_meets_best_engine_and_the_same_engine_itself(two: Page) -> None:
    best, same = versus_of(two, "hmac", "bf2"), versus_of(two, "hmac", "bf2", SAME)
    assert best.old and best.new and (best.old.engine, best.new.engine) == ("ipsec-mb", "openssl")
    assert same.old and same.new and same.old.engine == same.new.engine == "openssl"
    assert best.ratio and same.ratio and best.ratio.high < same.ratio.low < 0.34 < same.ratio.high
    assert same.cores and best.cores and same.cores.value > best.cores.value  # compared with one core that runs the same engine


def test_the_same_engine_is_the_baselines_fastest_that_both_have(two: Page) -> None:
    assert cell_of(two, "crc", "bf2", SAME).engine == "dpdk"  # the host's isal cannot run on bf2
    assert cell_of(two, "toeplitz", "bf2", SAME).engine == "portable"


def test_without_an_engine_in_common_it_says_why() -> None:
    host, device = host_and_device((64,), (1,))
    host.points = [p for p in host.points if not (p.operator == "hmac" and p.engine == "openssl")]
    versus = versus_of(page_of([host, device]), "hmac", "bf2", SAME)
    assert versus.verdict == "no engine in common"
    assert versus.reason == "ipsec-mb cannot run there: is not built for aarch64; bf2 has openssl"


def test_cannot_run_there_names_every_engine() -> None:
    host, device = host_and_device((64,), (1,))
    for point in device.points:
        if point.operator == "sha256":
            point.primary = point.ops_per_s = None
            point.unavailable = f"{point.engine} needs the SHA extension"
    versus = versus_of(page_of([host, device]), "sha256", "bf2")
    assert versus.verdict == "cannot run there"
    assert versus.reason.startswith("portable: portable needs the SHA extension; openssl: openssl needs")


def test_cannot_run_there_is_told_from_the_catalog_too() -> None:
    host, device = host_and_device((64,), (1,))
    device.points = [p for p in device.points if p.operator != "regex"]
    for engine in device.operators["regex"]["engines"]:
        engine["available"], engine["reason"] = False, "hyperscan is for x86 only"
    versus = versus_of(page_of([host, device]), "regex", "bf2")
    assert (versus.verdict, versus.reason) == ("cannot run there", "pcre2: hyperscan is for x86 only; hyperscan: hyperscan is for x86 only")


@pytest.mark.parametrize("pairing", [BEST, SAME])
def test_ratios_of_every_size_and_thread_count_are_in_the_page(two: Page, pairing: str) -> None:
    at = {name: i for i, name in enumerate(two.data["ratioFields"])}
    entry = next(o for o in two.data["operators"] if o["name"] == "sha256")
    found = {(entry["params"][r[at["params"]]]["size"], r[at["threads"]]): r[at[pairing] : at[pairing] + 3] for r in entry["ratios"]}
    assert sorted(found) == sorted((size, threads) for size in ("64", "1024") for threads in (1, 2, 4))
    assert all(low < value < high for value, low, high in found.values())
    cells = [c for m in two.heat if m.pairing == pairing for name, _, cells, _ in m.rows if name == "sha256" for c in cells]
    shown = [c.versus.ratio.value for c in cells if c and c.versus and c.versus.ratio]
    assert shown == pytest.approx([found["64", 1][0], found["1024", 1][0]], rel=1e-5)


def test_whole_machines_are_compared_at_their_best(two: Page) -> None:
    entry = next(o for o in two.data["operators"] if o["name"] == "memcpy")
    (run, params, _, _, value, low, high, engines) = entry["whole"][0]
    best = [max(p.ops_per_s.value for p in r.points if p.operator == "memcpy" and p.params == entry["params"][params] and p.ops_per_s)
            for r in host_and_device((64, 1024), (1, 2, 4))]  # fmt: skip
    assert run == 1 and value == pytest.approx(best[1] / best[0], rel=1e-5) and low < value < high
    assert engines < len(two.data["texts"]) and "4 threads / " in two.data["texts"][engines]


# --------------------------------------------------------------------------- paths


def test_compilers_libraries_and_drivers_stand_side_by_side(two: Page) -> None:
    assert [r.build for r in two.runs] == [
        "compiler gcc 12.2.0, flags -O3, type release",
        "compiler gcc 13.2.0, flags -O3 -mcpu=cortex-a72, type release",
    ]
    rows = [r for r in two.paths if r.operator == "hmac"]
    assert [(r.pairing, [p[0] if p else "" for p in r.paths]) for r in rows] == [(BEST, ["ipsec-mb", "openssl"]), (SAME, ["openssl", "openssl"])]
    assert [p[1] if p else "" for p in rows[0].paths] == ["AVX-512, ipsec-mb 1.0, multi-buffer", "NEON, openssl 1.1"]
    assert rows[0].modes == ["sha256", "sha1", "md5"]
    device = next(p for r in two.paths if r.operator == "aes" and r.pairing == BEST for p in r.paths[1:] if p)
    assert device == ("cryptodev~128", "driver crypto_mlx5, device 0000:03:00.0, DPDK 22.11.11, hardware, 128 jobs in flight")


def test_software_over_a_device_api_is_called_software() -> None:
    point = next(p for p in host_and_device((64,), (1,))[0].points if p.engine == "cryptodev-aesni-mb")
    assert "driver crypto_aesni_mb" in path_text(point) and ", software" in path_text(point)


# --------------------------------------------------------------------------- jobs in flight


def test_jobs_in_flight_are_named_only_where_they_were_asked_for() -> None:
    host = host_and_device((64,), (1,))[0]
    points = [p for p in host.points if p.engine == "cryptodev-aesni-mb" and p.params["mode"] == "gcm"][:5]
    assert [engine_label(p) for p in points] == ["cryptodev-aesni-mb", *(f"cryptodev-aesni-mb ~{n} in flight" for n in (8, 32, 64, 128))]


def test_a_curve_over_jobs_in_flight_has_the_effective_number_and_one_name(two: Page) -> None:
    data = two.data
    at = {name: i for i, name in enumerate(data["fields"])}
    aes = next(o for o in data["operators"] if o["name"] == "aes")
    curve = {
        (data["texts"][p[at["base"]]], aes["engines"][p[at["engine"]]], p[at["flight"]])
        for p in aes["points"]
        if p[at["run"]] == 1 and p[at["flight"]]
    }
    assert {(base, flight) for base, _, flight in curve} == {("cryptodev", n) for n in (8, 32, 64, 128)}
    assert ("cryptodev", "cryptodev", 32) in curve and ("cryptodev", "cryptodev ~32 in flight", 32) in curve
    sync = {p[at["flight"]] for p in aes["points"] if aes["engines"][p[at["engine"]]] == "openssl"}
    assert sync == {0}


# --------------------------------------------------------------------------- names and commands


def test_a_column_does_not_repeat_its_target_but_a_modelled_one_always_says_so() -> None:
    point = host_and_device((64,), (1,))[1].points[0]
    assert engine_label(point, "bf2") == point.engine and engine_label(point) == f"{point.engine} @bf2"
    assert engine_label(replace(point, target="model:bf2"), "model:bf2") == f"{point.engine} @model:bf2 (modelled)"


def test_commands_name_every_target_and_what_else_the_run_had() -> None:
    runs = host_and_device((64,), (1,))
    row = next(r for r in page_of(runs).operators if r.name == "aes").default
    assert row.rerun.endswith("--footprint stream --in-flight 8,32,64,128 --target local --target bf2")
    restricted = replace(make_run("r", sizes=(64,), threads=(1,)), target="local:cpus=0,quota=50%", devices=["0000:03:00.0", "crypto_x,a=b"])
    told = rerun_command(restricted, ("lpm", (("ip", "4"),), 1, 32, "stream"))
    assert told.endswith("--device 0000:03:00.0 --device crypto_x,a=b --target local:cpus=0,quota=50%")
    assert "--target" not in rerun_command(make_run("r", sizes=(64,), threads=(1,)), ("lpm", (("ip", "4"),), 1, 32, "stream"))


@pytest.mark.parametrize(("wanted", "index"), [("bf2", 1), ("operators-quick-20261121T090000Z@bf2", 1), ("local", 0), (None, 0)])
def test_the_baseline_is_chosen_by_target_or_by_name(wanted: str | None, index: int) -> None:
    page = page_of(host_and_device((64,), (1,)), wanted)
    assert page.baseline == index
    assert page.measured.endswith(("bf2 against local", "local against bf2")[index])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [("nowhere", "is not among the runs"), ("qemu:aarch64", "its times mean nothing"), ("bf3", "holds no measurement")],
)
def test_a_baseline_that_cannot_be_one_says_why(wanted: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        page_of(five_targets(), wanted)


def test_two_sets_call_their_runs_by_full_name_and_an_ambiguous_baseline_is_refused() -> None:
    first, second = host_and_device((64,), (1,)), host_and_device((64,), (1,))
    for run in second:
        run.run_set, run.name = "later", f"later@{run.target}"
    page = page_of([*first, *second])
    assert [r.name for r in page.runs][2:] == ["later@local", "later@bf2"] and not page.targets
    with pytest.raises(ValueError, match="is in several runs of this report"):
        page_of([*first, *second], "bf2")


# --------------------------------------------------------------------------- from disk


POINTS = [SimulatedPoint("aes", e, r, {"mode": "gcm", "size": "1024"}) for e, r in (("portable", 1e6), ("openssl", 4e6))]
POINTS += [SimulatedPoint("lpm", "portable", 2e7), SimulatedPoint("sha256", "portable", 3e5, {"size": "64"})]

app = typer.Typer()
app.command("report")(command)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    device = [replace(p, rate=0.4 * p.rate) for p in POINTS[:2]]
    device += [replace(POINTS[2], version=3), replace(POINTS[3], input_sha256="cd" * 32)]
    members = [
        SimulatedTarget("local", POINTS),
        SimulatedTarget("bf2", device, cpu="Small Core"),
        SimulatedTarget("qemu:aarch64", POINTS[:1], label=EMULATED),
        SimulatedTarget("gone", [], lost="no route to host"),
    ]
    write_set(folder / "s", members, noise=QUIET)
    write_set(folder / "t", members[:2], seed=9, noise=QUIET)
    (folder / "latest").symlink_to("s")
    return folder


def call(results: Path, *arguments: str) -> dict[str, Any]:
    outcome = CliRunner().invoke(app, [*arguments, "--results", str(results), "--json"])
    if isinstance(outcome.exception, Exception):
        raise outcome.exception
    assert outcome.exit_code == 0, outcome.output
    return dict(json.loads(outcome.stdout))


def test_what_is_not_the_same_work_is_not_compared(results: Path) -> None:
    page = page_of(summaries(results / "s"))
    ratio = versus_of(page, "aes", "bf2").ratio
    assert ratio is not None and ratio.low < 0.4 < ratio.high
    assert versus_of(page, "lpm", "bf2").reason.startswith("the operator's version differs (3, on local 2)")
    assert versus_of(page, "sha256", "bf2").reason.startswith("the input differs (text cdcdcdcdcdcd, on local text abababababab)")


def test_the_report_of_a_set_lies_in_it(results: Path) -> None:
    told = call(results)
    assert Path(told["report"]) == (results / "s" / "report.html").resolve()
    assert told["runs"] == ["s@local", "s@bf2", "s@qemu:aarch64", "s@gone"]
    text = Path(told["report"]).read_text(encoding="utf-8")
    assert 'data-pairing="best"' in text and "no route to host" in text


@pytest.mark.parametrize("baseline", ["bf2", "s@bf2", "latest@bf2"])
def test_report_takes_a_target_as_baseline(results: Path, tmp_path: Path, baseline: str) -> None:
    told = call(results, "s", "--baseline", baseline, "--pairing", "same-engine", "-o", str(tmp_path / "r.html"))
    text = Path(told["report"]).read_text(encoding="utf-8")
    assert "local against bf2" in text and 'data-pairing="same"' in text


def test_a_baseline_from_elsewhere_is_added(results: Path, tmp_path: Path) -> None:
    told = call(results, "s@bf2", "--baseline", "t@local", "-o", str(tmp_path / "r.html"))
    assert told["runs"] == ["t@local", "s@bf2"]
    assert call(results, "s", "--baseline", "s", "-o", str(tmp_path / "r.html"))["runs"][0] == "s@local"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["s", "s@bf2"], "a run is named twice"),
        (["s", "--baseline", "qemu:aarch64"], "its times mean nothing"),
        (["s", "--baseline", "bf3"], "unknown run 'bf3'"),
        (["s", "t", "--baseline", "bf2"], "is in several runs of this report: name one of s@bf2, t@bf2"),
        (["--baseline", "t@local"], "the latest run lacks it: name runs to compare (dpubench report RUN"),
        (["s", "--pairing", "same"], "--pairing same: unknown pairing; known: best-engine, same-engine"),
        (["s@nowhere"], "was not measured on 'nowhere'"),
    ],
)
def test_mistakes_are_named(results: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        call(results, *arguments)
    assert message in str(caught.value)
