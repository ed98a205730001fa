"""Tests of code layouts: builds have them, rounds take them in turn, intervals and comparisons allow for them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Bench, make_program
from dpubench import programs
from dpubench.analysis import statistics
from dpubench.storage.runs import RunDirectory
from dpubench.studies.operators import layouts, stopping, text
from dpubench.studies.operators.comparison import compare_builds
from dpubench.studies.operators.configuration import Configuration, Point
from dpubench.studies.operators.rounds import windows_of
from dpubench.studies.operators.summary import summarize
from dpubench.studies.query import query
from real_program import BUILD, PROGRAM, RealBench, job, kinds
from simulated_runs import Noise, SimulatedPoint, write_run

sys.path.insert(0, str(ROOT / "native"))
import layout as writer

STILL = Noise(process=0, machine=0, drift=0, window=0, stall_share=0)
POINTS = [SimulatedPoint("aes", "portable", 1e6, {"size": "1000"}), SimulatedPoint("aes", "openssl", 4e6, {"size": "1000"})]


# --------------------------------------------------------------------------- statistics


def drawn(rounds: int, between: float, within: float, number: int = 8, runs: int = 3000, seed: int = 1) -> tuple[Any, Any]:
    """Return logs of ``runs`` runs that take ``number`` layouts in turn, and the layout of each round."""
    generator = np.random.default_rng(seed)
    of = np.arange(rounds) % number
    return generator.normal(0, between, (runs, number))[:, of] + generator.normal(0, within, (runs, rounds)), of


def held(logs: Any) -> float:
    estimates = statistics.estimate_logs(logs)
    return float(np.mean(np.abs(estimates.location) <= estimates.half_width))


@pytest.mark.parametrize("rounds", [6, 8, 12, 16, 30])
@pytest.mark.parametrize("between", [0.0, 0.01, 0.02])
def test_intervals_hold_the_value_over_all_layouts(rounds: int, between: float) -> None:
    logs, of = drawn(rounds, between, 0.01)
    assert 0.93 <= held(layouts.joined(logs, of)) <= 0.98


def test_rounds_of_one_layout_are_not_independent() -> None:
    """This is the reason for :func:`joined`: without it, intervals from 30 rounds of 8 layouts hold the truth for only about 80 % of the points."""
    logs, of = drawn(30, 0.02, 0.01)
    assert held(logs) < 0.85 < 0.93 < held(layouts.joined(logs, of))


def test_rounds_are_joined_only_where_layouts_repeat_and_are_many_enough() -> None:
    logs = np.log(np.arange(1.0, 13.0))[None, :]
    for of in (np.arange(12), np.arange(12) % 5, np.zeros(12, int), np.where(np.arange(12) == 3, layouts.UNKNOWN, np.arange(12) % 8)):
        np.testing.assert_array_equal(layouts.joined(logs, of), logs)
    known = layouts.joined(logs, np.arange(12) % 8)
    assert np.isfinite(known).sum() == 8 and known[0, 0] == pytest.approx((np.log(1) + np.log(9)) / 2)
    missing = logs.copy()
    missing[0, 8:] = np.nan  # a point without the rounds in which layouts repeat
    np.testing.assert_array_equal(layouts.joined(missing, np.arange(12) % 8), missing)
    values, cycles = layouts.joined_rounds([1.0, 4.0, *range(1, 8)], [3, 5, *[4] * 7], [0, 0, *range(1, 8)])
    assert values.size == 8 and values[0] == pytest.approx(2) and cycles[0] == 5


@pytest.mark.parametrize(("between", "within"), [(0.01, 0.01), (0.0, 0.01), (0.02, 0.005)])
@pytest.mark.parametrize("rounds", [10, 12, 16])
def test_the_share_of_layouts_comes_with_an_interval_that_holds_it(rounds: int, between: float, within: float) -> None:
    truth = between**2 / (between**2 + within**2)
    logs, of = drawn(rounds, between, within, runs=500, seed=rounds)
    found = [layouts.share(row, of) for row in logs]
    shares = [s.share for s in found if s is not None]
    assert len(shares) == 500
    inside = np.mean([s.low <= truth <= s.high for s in shares])
    assert 0.92 <= inside <= 0.995, inside
    assert all(0 <= s.low <= s.value <= s.high <= 1 for s in shares)


def test_there_is_no_share_where_no_layout_came_twice() -> None:
    assert layouts.share([0.0, 0.1, 0.2], [0, 1, 2]) is None
    assert layouts.share([0.0, 0.1, 0.2], [0, 0, 0]) is None
    assert layouts.share([0.0, 0.1, 0.2], [0, 0, layouts.UNKNOWN]) is None
    assert layouts.share([0.5] * 4, [0, 0, 1, 1]) is None


def test_a_point_has_converged_by_its_layouts_and_not_by_its_rounds() -> None:
    configuration = Configuration("aes", {}, 1, 32, "stream", "portable", ["portable"])
    effects = [1.0, 1.02, 0.98, 1.01, 0.99, 1.015, 0.985, 1.0]
    point = Point(configuration, "portable", "local", "", 1, rates={n: [1e6 * effects[n % 8]] for n in range(24)})
    before = stopping.precision(point)
    point.layouts = {n: n % 8 for n in range(24)}
    assert stopping.precision(point) > 1.5 * before
    assert stopping.has_converged(point, 1.01 * stopping.precision(point), 12)
    assert not stopping.has_converged(point, before, 12)
    assert not stopping.has_converged(point, 1, 25)


# --------------------------------------------------------------------------- runs


def test_a_run_tells_of_its_layouts(tmp_path: Path) -> None:
    run = summarize(write_run(tmp_path / "run", POINTS, noise=STILL, rounds=12, cycles=3, layouts=8, layout_deviation=0.02))
    point = run.points[0]
    assert (point.rounds, point.layouts, point.round_layouts) == (12, 8, [n % 8 for n in range(12)])
    assert point.layout_share is not None and point.layout_share.value > 0.99
    assert point.layout_deviation == pytest.approx(0.02, rel=0.6)
    assert "8 code layouts" in text.show([run])
    rows = query([tmp_path / "run"], "SELECT DISTINCT round, layout FROM windows ORDER BY round")
    assert [(r["round"], r["layout"]) for r in rows] == [(n, n % 8) for n in range(12)]
    assert query([tmp_path / "run"], "SELECT layouts, layout_share FROM points")[0]["layouts"] == 8


def test_an_earlier_run_says_that_its_intervals_do_not_hold_it(tmp_path: Path) -> None:
    run = summarize(write_run(tmp_path / "run", POINTS, noise=STILL, rounds=12, cycles=3))
    assert [(p.layouts, p.round_layouts, p.layout_share) for p in run.points] == [(0, [], None)] * 2
    assert "one code layout" in text.show([run])
    assert query([tmp_path / "run"], "SELECT count(*) AS n FROM windows WHERE layout IS NOT NULL")[0]["n"] == 0


def test_what_only_layouts_differ_in_is_no_finding(tmp_path: Path) -> None:
    """Two builds have the same speed, and each draws its own places in each layout. 24 rounds of 8 layouts must not count as 24 draws."""
    many = [SimulatedPoint("aes", f"e{i}", 1e6, {"size": "1000"}, build=build) for i in range(60) for build in ("", "against")]
    noise = Noise(process=0.002, machine=0.05, drift=0, window=0.005, stall_share=0)
    run = summarize(write_run(tmp_path / "run", many, noise=noise, rounds=24, cycles=3, layouts=8, layout_deviation=0.01))
    rows = compare_builds(run, 0.0)
    bare = sum(row.p_value is not None and row.p_value <= 0.05 for row in rows) / len(rows)
    assert len(rows) == 60 and bare <= 0.12
    run.build_pairs = [replace(pair, round_layouts=[]) for pair in run.build_pairs]  # as of programs that do not report layouts
    assert sum(row.p_value is not None and row.p_value <= 0.05 for row in compare_builds(run, 0.0)) / len(rows) >= 2 * bare


def with_layouts(folder: Path, number: int) -> None:
    for n in range(1, number):
        make_program(folder / "layouts" / str(n))


def test_rounds_take_layouts_in_turn(bench: Bench) -> None:
    with_layouts(bench.programs, 4)
    bench.script(layouts=4, window_s=0.0001)
    done = bench("run", "--operator", "crc", "--engine", "all", "--rounds", "6", "--name", "r", "--budget", "60s")
    assert done.returncode == 0, done.stderr
    record = bench.record("r")
    assert [r["layout"] for r in record["rounds"]] == [0, 1, 2, 3, 0, 1]
    assert record["build"]["layouts"] == 4 and "layout" not in record["build"]
    run = summarize(bench.results / "r")
    assert {tuple(p.round_layouts) for p in run.points if p.rounds} == {(0, 1, 2, 3, 0, 1)}


def test_another_build_takes_the_same_ones_and_one_without_stays_as_it_is(bench: Bench) -> None:
    with_layouts(bench.programs, 4)
    for name, number, expected in (("same", 4, [0, 1, 2, 3, 0, 1]), ("old", 1, [0] * 6)):
        make_program(bench.folder / name)
        with_layouts(bench.folder / name, number)
        bench.script(layouts=4, window_s=0.0001)
        words = ("run", "--operator", "crc", "--engine", "portable", "--rounds", "6", "--budget", "60s", "--name", name)
        done = bench(*words, "--against", str(bench.folder / name))
        assert done.returncode == 0, done.stderr
        points = {p.build: p for p in summarize(bench.results / name).points}
        assert points[""].round_layouts == [0, 1, 2, 3, 0, 1]
        assert points["against"].round_layouts == expected
        assert ("has one code layout" in done.stderr) == (number == 1)


def test_programs_that_do_not_say_have_none(bench: Bench) -> None:
    done = bench("run", "--operator", "crc", "--engine", "portable", "--rounds", "6", "--budget", "60s", "--name", "r")
    assert done.returncode == 0, done.stderr
    assert all("layout" not in r for r in bench.record("r")["rounds"])


# --------------------------------------------------------------------------- builds


def test_a_fragment_depends_on_names_alone() -> None:
    names = {f".text.f{i}" for i in range(40)}
    first = writer.fragment("m", names, 1)
    assert first == writer.fragment("m", names, 1) != writer.fragment("m", names, 2)
    line = next(text for text in first.splitlines() if '".text.f7"' in text)
    assert line in writer.fragment("other", names | {".text.g"}, 1), "an unchanged function keeps its place in a cache line"
    order = [text.split('"')[1] for text in first.splitlines() if '"' in text]
    assert set(order) == names and order != sorted(order)
    wider = [text.split('"')[1] for text in writer.fragment("m", names | {".text.g"}, 1).splitlines() if '"' in text]
    assert [n for n in wider if n != ".text.g"] == order, "and its neighbours"


def test_what_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.o").write_bytes(b"LLVM bitcode")
    words = [sys.executable, str(ROOT / "native/layout.py"), "m", str(tmp_path), "2", str(tmp_path / "x.o")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "x.o: is not an ELF-64 object" in done.stderr


def functions(library: Path) -> dict[str, tuple[int, int, str]]:
    """Return the address, size and section of each function by name."""
    from elftools.elf.elffile import ELFFile

    with library.open("rb") as stream:
        elf = ELFFile(stream)
        sections = [s.name for s in elf.iter_sections()]
        table: Any = elf.get_section_by_name(".symtab")
        symbols = [s for s in table.iter_symbols() if s["st_info"]["type"] == "STT_FUNC" and s["st_size"]]
        return {s.name: (s["st_value"], s["st_size"], sections[s["st_shndx"]]) for s in symbols}


needs_layouts = pytest.mark.skipif(programs.layouts(PROGRAM) == 1, reason="this build has one code layout")


@needs_layouts
def test_each_layout_has_the_same_functions_elsewhere(real: RealBench) -> None:
    folders = [BUILD, *(BUILD / "layouts" / str(n) for n in range(1, programs.layouts(PROGRAM)))]
    plain, *others = (functions(folder / "engines/snappy__portable.so") for folder in folders)
    placed = [name for name, (_, _, section) in others[0].items() if section == ".text.layout"]
    assert len(placed) > 10 and {plain[name][0] % 64 for name in placed} == {0}
    for other in others:
        assert {name: other[name][1] for name in placed} == {name: plain[name][1] for name in placed}
        assert {other[name][2] for name in placed} == {".text.layout"}
    # The compiler gives the one section of a constructor two names.
    own = [name for name in placed if not re.search(r"[CD][12]E", name)]
    for n, other in enumerate(others, 1):
        assert {name: other[name][0] % 64 for name in own} == {name: writer.drawn(n, "line", f".text.{name}") % 4 * 16 for name in own}
    addresses = [{name: found[name][0] for name in placed} for found in [plain, *others]]
    assert len({tuple(sorted(placed, key=at.__getitem__)) for at in addresses}) == 1 + len(others)


@needs_layouts
def test_each_layout_knows_itself_and_gives_right_answers(real: RealBench) -> None:
    number = programs.layouts(PROGRAM)
    for n in (0, 1, number - 1):
        program = programs.in_layout(str(PROGRAM), n)
        done = subprocess.run([program], input=json.dumps(job("portable", cycles=1)).encode(), capture_output=True, timeout=60, check=False)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == 0, done.stderr
        assert events[0]["build"]["layout"] == n and events[0]["build"]["layouts"] == number
        assert kinds(events, "verified") and kinds(events, "window")


@needs_layouts
def test_modules_are_those_of_the_layout(real: RealBench) -> None:
    """A program in a layout maps no module and no core library of another layout."""
    program = Path(programs.in_layout(str(PROGRAM), 2))
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "hello"  # the program has loaded its modules by then
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        process.stdin.close()
        process.wait(timeout=30)
    mapped = {line.split()[-1] for line in maps.splitlines() if str(BUILD.resolve()) in line and line.split()[-1].endswith(".so")}
    assert mapped and all(f"{BUILD.resolve()}/layouts/2/" in path for path in mapped), mapped


def test_builds_of_an_engine_change_places_from_cycle_to_cycle(bench: Bench) -> None:
    """The last build before a cycle turns back finds its own data in the caches, so each build must be last equally often."""
    assert bench("run", "--name", "r", "--rounds", "2", "--operator", "crc", "--against", str(bench.programs)).returncode == 0
    windows = [w for w in windows_of(RunDirectory(bench.results / "r")).to_pylist() if not w["point"].startswith("canary-")]
    of_round = [w for w in windows if w["round"] == windows[0]["round"]]
    turns = defaultdict[int, list[str]](list)
    for window in of_round:
        turns[window["cycle"]].append(window["point"])
    last = [points[len(points) // 2 - 1] for _, points in sorted(turns.items())]
    assert len(last) >= 2 and all(points == points[::-1] for points in turns.values()), turns
    assert abs(sum(name.endswith("#against") for name in last) * 2 - len(last)) <= 1, last
    assert len(set(last)) == 2 and last[0] != last[1]
