"""Tests of a configuration's headline, its best engine beside the next best of another library, on the terminal and in exports."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench
from dpubench.report import frame
from dpubench.studies.operators import export, report, text
from dpubench.studies.operators.headline import OWN_CODE, best_and_next, library_of
from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.report import model
from dpubench.studies.operators.summary import summarize
from dpubench.studies.operators.tell import _best_lines
from simulated_runs import CATALOG, Noise, SimulatedPoint, write_run

QUIET = Noise(process=0.003, machine=0.004, drift=0.0005, window=0.01, stall_share=0.0)


def entry(name: str, library: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "summary": name, "library": library, "available": True, "reason": ""} | more


ENTRIES = {
    e["name"]: e
    for e in (
        entry("portable"),
        entry("patricia"),
        entry("dpdk-fib", "DPDK 22.11.11"),
        entry("dpdk-fib-avx512", "DPDK 22.11.11"),
        entry("openssl", "OpenSSL 3.0.19 27 Jan 2026"),
        entry("pcre2", "PCRE2 10.42 2022-12-11"),
        entry("cryptodev", "DPDK 22.11.11", in_flight=32),
        entry("cryptodev-openssl", "DPDK 22.11.11", in_flight=32, software_device=True),
        entry("hashlib", program="/opt/mine"),
    )
}


@pytest.mark.parametrize(
    ("engine", "library"),
    [
        ("dpdk-fib", "dpdk"),
        ("openssl", "openssl"),
        ("pcre2", "pcre2"),
        ("portable", OWN_CODE),
        ("patricia", OWN_CODE),
        ("cryptodev", "cryptodev"),  # a device, not the library that reaches it
        ("cryptodev-openssl", "dpdk"),
        ("hashlib", "hashlib"),
        ("unheard-of", "unheard-of"),
    ],
)
def test_what_variants_have_in_common(engine: str, library: str) -> None:
    assert library_of(engine, ENTRIES) == library


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ({"dpdk-fib": 3, "dpdk-fib-avx512": 4, "portable": 2, "patricia": 1}, ("dpdk-fib-avx512", "portable")),
        ({"portable": 4, "patricia": 3, "dpdk-fib": 2}, ("portable", "dpdk-fib")),
        ({"cryptodev": 1, "cryptodev~32": 5, "cryptodev~512": 6, "openssl": 2, "portable": 1}, ("cryptodev~512", "openssl")),
        ({"openssl": 5, "cryptodev-openssl~64": 4, "portable": 1}, ("openssl", "portable")),
        ({"dpdk-fib": 3, "dpdk-fib-avx512": 4}, ("dpdk-fib-avx512", "")),
        ({"openssl": float("nan"), "portable": 1}, ("portable", "")),
        ({}, ("", "")),
    ],
)
def test_the_next_best_is_another_library(rates: dict[str, float], found: tuple[str, str]) -> None:
    assert best_and_next(rates, ENTRIES) == found


AES = {"mode": "gcm", "size": "1024"}
THREE = [SimulatedPoint("aes", e, r, AES) for e, r in (("portable", 1e5), ("openssl", 1e6), ("ipsec-mb", 5.7e6))]


def run_of(folder: Path, points: list[SimulatedPoint], **changes: Any) -> RunSummary:
    return summarize(write_run(folder / "run", points, noise=QUIET, changes=changes))


def best_of(run: RunSummary) -> PointSummary:
    (best,) = [p for p in run.points if p.is_best]
    return best


def test_the_ratio_is_to_the_next_best_and_not_to_plain_code(tmp_path: Path) -> None:
    run = run_of(tmp_path, THREE)
    best = best_of(run)
    assert best.engine == "ipsec-mb" and best.next_best == "openssl" and best.next_best_unmeasured == []
    assert best.ratio_to_next_best is not None and best.ratio_to_reference is not None
    assert best.ratio_to_next_best.value == pytest.approx(5.7, rel=0.02) and best.ratio_to_reference.value == pytest.approx(57, rel=0.02)
    assert best.ratio_to_next_best.low < 5.7 < best.ratio_to_next_best.high
    assert all(p.next_best == "" and p.ratio_to_next_best is None for p in run.points if p is not best)
    assert re.fullmatch(r"5\.[67]\d x openssl ±0\.\d+ %", text.beside_text(best))


def test_where_plain_code_wins_the_library_is_named(tmp_path: Path) -> None:
    best = best_of(run_of(tmp_path, [replace(p, rate={"portable": 2e6, "openssl": 1.6e6}[p.engine]) for p in THREE[:2]]))
    assert best.engine == "portable" and text.beside_text(best).startswith("1.2") and "x openssl" in text.beside_text(best)


def test_engines_that_are_alike_are_said_to_be(tmp_path: Path) -> None:
    best = best_of(run_of(tmp_path, [replace(p, rate=1e6) for p in THREE[:2]]))
    assert text.beside_text(best).endswith("(no difference seen)")


def test_one_engine_stands_beside_none(tmp_path: Path) -> None:
    best = best_of(run_of(tmp_path, THREE[:1]))
    assert best.next_best == "" and text.beside_text(best) == "no other engine measured"


def stored(engines: list[str], dropped: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    """Return ``configurations`` of run.json: ``engines`` could run, and a selection round dropped those in ``dropped``."""
    return [
        {"id": THREE[0].configuration, "operator": "aes", "params": AES, "threads": 1, "burst": 32, "footprint": "stream", "reference": "portable",
         "candidates": engines, "not_measured": dropped | {"gpu": "no such device"}} | more
    ]  # fmt: skip


DROPPED = {"openssl": "5.70 times slower than ipsec-mb in the selection round"}
ALL = ["portable", "openssl", "ipsec-mb"]


def test_a_run_that_dropped_the_next_best_says_what_was_measured(tmp_path: Path) -> None:
    run = run_of(tmp_path, [THREE[0], THREE[2]], configurations=stored(ALL, DROPPED))
    best = best_of(run)
    assert best.next_best == "portable" and best.next_best_unmeasured == ["openssl"]
    assert text.beside_text(best).endswith("(only portable was measured beside it)")
    assert "5.7" not in text.beside_text(best)  # the selection round's ratio is no measured ratio
    assert "only portable was measured beside it" in text.show([run])
    assert export.EXPORT.records([run])[1]["next_best_unmeasured"] == "openssl"


def test_a_run_that_kept_the_next_best_says_nothing_of_the_others(tmp_path: Path) -> None:
    kept = stored([*ALL, "isal"], {"isal": "9.00 times slower than ipsec-mb in the selection round"}, next_best="openssl")
    assert best_of(run_of(tmp_path, THREE, configurations=kept)).next_best_unmeasured == []


def test_variants_that_were_dropped_are_no_other_library(tmp_path: Path) -> None:
    engines = [entry("portable"), entry("openssl", "IPsec 1"), entry("ipsec-mb", "IPsec 1")]
    operators = {"aes": CATALOG["aes"] | {"engines": engines}}
    best = best_of(run_of(tmp_path, [THREE[0], THREE[2]], configurations=stored(ALL, DROPPED), operators=operators))
    assert best.next_best == "portable" and best.next_best_unmeasured == []


GCM = "aes/mode=gcm,size=1024/t1/b32/stream"


def test_the_selection_keeps_the_next_best_of_another_library(bench: Bench) -> None:
    engines = ["portable", "openssl", "isal", "ipsec-mb", "ipsec-old"]
    bench.script(rates={"ipsec-mb": 9e6, "ipsec-old": 8e6, "isal": 2.5e6}, engines={"aes": engines})
    done = bench("run", "--name", "r", "--rounds", "2", "--operator", "aes")
    assert done.returncode == 0, done.stderr
    record = bench.record("r")
    assert [p["engine"] for p in record["points"] if p["configuration"] == GCM] == ["portable", "openssl", "ipsec-mb"]
    (chosen,) = [c for c in record["configurations"] if c["id"] == GCM]
    assert chosen["next_best"] == "openssl"  # not ipsec-old, which is faster but of the same library
    assert sorted(chosen["not_measured"]) == ["ipsec-old", "isal"]
    assert "slower than ipsec-mb" in chosen["not_measured"]["isal"]
    best = best_of(RunSummary(**vars_of(summarize(bench.results / "r"), GCM)))
    assert best.next_best == "openssl" and best.next_best_unmeasured == []
    assert "aes gcm 1 KiB" in " ".join(done.stdout.split()) and "x openssl" in done.stdout and "1 thread, stream footprint" in done.stdout


def vars_of(run: RunSummary, configuration: str) -> dict[str, Any]:
    """Return the fields of ``run`` with the points of one configuration."""
    fields = {name: getattr(run, name) for name in RunSummary.__dataclass_fields__}
    return fields | {"points": [p for p in run.points if p.id.startswith(f"{configuration}/")]}


def test_a_reference_that_is_the_best_has_another_beside_it(bench: Bench) -> None:
    bench.script(rates={"portable": 9e6})
    assert bench("run", "--name", "r", "--rounds", "1", "--operator", "aes").returncode == 0
    record = bench.record("r")
    assert [p["engine"] for p in record["points"] if p["configuration"] == GCM] == ["portable", "openssl"]


def test_the_dry_run_says_what_the_selection_keeps(bench: Bench) -> None:
    done = bench("run", "--dry-run", "--operator", "aes")
    assert "keeps the best, one that may be as fast, the next best of another library, and the reference" in done.stdout
    assert "5 points" in done.stdout  # three of gcm, two of xts
    assert json.loads(bench("run", "--dry-run", "--operator", "aes", "--json").stdout)["points"] == 5


def test_every_operator_is_named_however_many_there_are(bench: Bench) -> None:
    many = [f"op{n}" for n in range(25)]
    bench.script(foreign=many)
    bench.environment["COLUMNS"] = "80"
    done = bench("run", "--name", "r", "--rounds", "1", "--operator", ",".join(many))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(any(line.startswith(f"{name}: portable ") for line in lines) for name in many) or all(
        any(line.split()[:2] == [name, "portable"] for line in lines) for name in many
    )
    assert "25 of 25 rates did not reach" in done.stdout and "warnings: few-rounds" in done.stdout
    assert len(lines) <= len(many) + 9 and max(map(len, lines[:-3])) <= 80


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_headlines_fit_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    run = run_of(tmp_path, [*THREE, SimulatedPoint("lpm", "dpdk-fib-avx512", 2e8, {"lookup": "bulk", "stream": "zipf", "prefixes": "0"}, threads=4)])
    lines = _best_lines(run, [p for p in run.points if p.is_best])
    told = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= columns
    for fact in (
        "aes gcm 1 KiB",
        "1 thread, stream footprint",
        "x openssl",
        "bulk prefixes 0 zipf",
        "4 threads, stream footprint",
        "no other engine measured",
    ):
        assert fact in told
    same = _best_lines(run, [p for p in run.points if p.is_best and p.operator == "aes"])
    told = " ".join(" ".join(same).split())
    assert "; 1 thread, stream footprint" in told and told.count("1 thread") == 1


def first_table(run: RunSummary) -> str:
    """Return the text of the page's first table: one line per row, one space between cells."""
    page = model.build([run], None, lambda old, new: [], lambda code: "")
    html = frame.render([report.section_of(page)])
    body = html[html.index('<table id="results-table"') : html.index("</table>")]
    rows = re.split(r"</tr>", body)
    return "\n".join(" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in rows)


def test_the_page_leads_with_the_next_best_and_never_with_the_reference(tmp_path: Path) -> None:
    winning = replace(THREE[0], operator="sha256", params={"size": "64"}, rate=2e6)
    points = [*THREE, winning, replace(winning, engine="openssl", rate=1.6e6), SimulatedPoint("lpm", "portable", 2e7)]
    told = first_table(run_of(tmp_path, points))
    lines = {line.split()[0]: line for line in told.splitlines() if line}
    assert re.search(r"ipsec-mb \d+\.\d+ Gb/s \S+ 5\.[67]\d+× openssl \S+ 0\.\d+$", lines["aes"]), lines["aes"]  # the last cell is portable's
    assert re.search(r"portable \S+ Gb/s \S+ 1\.2\d+× openssl \S+ is the best$", lines["sha256"]), lines["sha256"]
    assert "no other engine measured" in lines["lpm"]
    assert "reference" not in told and "no difference seen" not in told
    alike = first_table(run_of(tmp_path / "alike", [replace(p, rate=1e6) for p in THREE[:2]]))
    assert "no difference seen" in alike


def test_the_page_says_that_a_run_did_not_measure_the_next_best(tmp_path: Path) -> None:
    told = first_table(run_of(tmp_path, [THREE[0], THREE[2]], configurations=stored(ALL, DROPPED)))
    assert "portable only one measured" in told and "5.70" not in told
