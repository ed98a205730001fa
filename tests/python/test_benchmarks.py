"""Tests of ``make bench``: its leftovers when it is ended, and checks that can fail."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dpubench.analysis import statistics
from dpubench.analysis.model import Comparison, Interval, Verdict
from dpubench.errors import EnvironmentFault
from dpubench.studies.operators.layouts import joined_rounds
from real_program import BUILD, RealBench

from benchmarks import __main__ as bench
from benchmarks import common, distinct, instrument
from benchmarks.apart import claims as apart_claims
from benchmarks.common import Claim, Measured
from benchmarks.datapath import NoAnswer, Receiver, _answered, means, share_fast
from benchmarks.instrument import against_itself_claim, holding
from benchmarks.layouts import judged, planted

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_it_started_and_removes_what_it_wrote(real: RealBench, number: signal.Signals) -> None:
    if not (BUILD / "bare").is_dir():
        pytest.skip("the build has no bare loops (it was configured without -Dtests=true)")
    own = real.watched()
    output = own.folder / "out"
    command = [sys.executable, "-m", "benchmarks", "--only", "bare", "--build", str(BUILD.parent), "--output", str(output)]
    with subprocess.Popen(command, cwd=ROOT, env=own.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while not own.workers():
            assert process.poll() is None and time.monotonic() < until, process.communicate()
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"bench: interrupted; no claim was judged, and {output} was not written" in err
    assert own.processes() == [] and own.half_made() == [] and not output.exists()


def test_what_was_judged_outlives_a_broken_part_and_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (BUILD / "dpubench-operators").is_file():
        pytest.skip("the build has no dpubench-operators")
    begun: list[str] = []

    def part(name: str, *raised: BaseException) -> bench.Part:
        def claims(_: common.Bench) -> Iterator[Claim]:
            begun.append(name)
            yield Claim(name, f"{name} holds", "1.0", "at least 0.9", "pass")
            for error in raised:
                raise error

        return claims

    def kept() -> dict[str, Any]:
        found: dict[str, Any] = json.loads((tmp_path / "bench.json").read_text())
        return found

    monkeypatch.setattr(signal, "signal", lambda *_: None)  # the handlers of pytest stay
    parts = {"first": part("first", ZeroDivisionError("by nothing")), "second": part("second", KeyboardInterrupt()), "third": part("third")}
    monkeypatch.setattr(bench, "PARTS", parts)
    words = ["--build", str(BUILD.parent), "--output", str(tmp_path), *(word for name in parts for word in ("--only", name))]
    assert bench.main(words) == 130 and begun == ["first", "second"]
    said = [(claim["part"], claim["verdict"], claim["measured"]) for claim in kept()["claims"]]
    assert said == [("first", "pass", "1.0"), ("first", "not run", "ZeroDivisionError: by nothing"), ("second", "pass", "1.0")]
    assert kept()["parts_left"] == ["second", "third"]
    out, err = capsys.readouterr()
    assert "second holds" in out and "1 of 3 claims failed" in out
    assert "not judged to the end: second, third" in err and "Not judged to the end: second, third" in (tmp_path / "bench.md").read_text()
    del parts["first"], parts["second"]
    assert bench.main([*words[:4], "--only", "third"]) == 0 and kept()["parts_left"] == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bench.json", "bench.md"]


def test_a_testpmd_that_does_not_answer_is_started_anew_but_not_for_ever() -> None:
    silent = [NoAnswer(), NoAnswer()]

    def stretch() -> float:
        if silent:
            raise silent.pop()
        return 7.0

    assert _answered(stretch) == 7.0
    silent += [NoAnswer()] * 3
    with pytest.raises(NoAnswer):
        _answered(stretch)
    assert not silent


def test_a_link_over_which_nothing_comes_is_no_rate(tmp_path: Path) -> None:
    if not (BUILD.parent / "benchmarks/receiver").is_file():
        pytest.skip("the build has no benchmarks/receiver (it was configured without -Dtests=true, or has no datapath)")
    own = common.Bench(BUILD.parent, True, tmp_path)
    with Receiver(own, min(os.sched_getaffinity(0)), tmp_path / "link") as receiver, pytest.raises(RuntimeError, match="no packet came"):
        receiver.end()
    assert list(tmp_path.iterdir()) == [], "the socket is gone"
    with pytest.raises(RuntimeError, match="CPU 4000 cannot be used"):
        Receiver(own, 4000, tmp_path / "link")


# --- checks that can fail


def test_undecided_fails_a_claim_that_does_not_say_why_it_may_be() -> None:
    assert Claim("bare", "c", "0.96 (0.94 to 0.98)", "at least 0.97", "undecided").failed
    assert not Claim("bare", "c", "0.96 (0.94 to 0.98)", "at least 0.97", "undecided", may_be_undecided="the link has two speeds").failed
    assert Claim("bare", "c", "0.90 (0.88 to 0.92)", "at least 0.97", "MISSED", may_be_undecided="the link has two speeds").failed
    assert Claim("bare", "c", "", "", "not run").failed
    assert not Claim("bare", "c", "", "", "pass").failed


def test_undecided_distinct_messages_are_an_answer_only_where_the_machine_scatters_and_a_large_change_is_not_there() -> None:
    rng = np.random.default_rng(1)

    def excuse(scatter: float, effect: float, rounds: int) -> str:
        found = [np.exp(rng.normal(effect, scatter, 16)) for _ in range(rounds)]
        return distinct.excuse_of({"toeplitz/dpdk-gfni": (statistics.ratio_interval(found), found)})

    assert "toeplitz/dpdk-gfni" in excuse(0.15, 0.0, 18)
    assert not excuse(0.15, 0.1, 18), "a change is there"
    assert not excuse(0.01, 0.0, 18), "the machine is quiet: more rounds would decide"
    assert not excuse(0.4, 0.0, 3), "a large change might be there"
    assert not distinct.excuse_of({})


def test_further_rounds_of_distinct_messages_measure_only_what_they_may_decide() -> None:
    """Point ``a`` is decided, ``b`` lies at the limit; a round with both would take twice as long."""
    rng, measured = np.random.default_rng(1), Measured()
    for point, ratio in (("a", 1.0), ("b", 1 - distinct.MOST)):
        for number in range(3):
            for name, factor in ((point, 1.0), (point + distinct.TWICE, ratio)):
                windows = {(cycle, half): factor * 1e6 * float(np.exp(rng.normal(0.0, 0.001))) for cycle in range(8) for half in (0, 1)}
                measured.rates[name][number].update(windows)
    group = common.group("deflate", {}, {"a": "isal", "b": "zlib"})
    still = distinct._still_open(group, measured)
    assert still is not None and [p["id"] for p in still["points"]] == ["b"] and still["operator"] == "deflate"
    assert distinct._still_open(common.group("deflate", {}, {"a": "isal"}), measured) is None


def _found(rounds: int, cycles: int, layouts: int) -> float:
    """Return the share of simulated points with a planted slowdown of 3 % that are found live, where rounds scatter by 2 % and cycles by 4 %."""
    rng = np.random.default_rng(1)
    found: list[str] = []
    for _ in range(25):
        differences = []
        for _ in instrument.POWER_SIZES:
            logs = rng.normal(-math.log1p(instrument.SLOWED), 0.02, (rounds, 1)) + rng.normal(0.0, 0.04, (rounds, cycles))
            values, counts = joined_rounds(np.exp(np.median(logs, axis=1)), np.full(rounds, cycles), np.arange(rounds) % layouts)
            difference = statistics.difference_of_rounds(values, counts)
            assert difference is not None
            differences.append(difference)
        adjusted = statistics.benjamini_hochberg([d.p_value for d in differences])
        found += [statistics.verdict(d, float(p), instrument.EFFECT) for d, p in zip(differences, adjusted, strict=True)]
    return found.count("slower") / len(found)


@pytest.mark.parametrize("layouts", [1, 8])
def test_the_power_checks_have_the_rounds_that_they_need(layouts: int) -> None:
    """A true 95 % is told from 90 % in most benches; 12 rounds of 50 cycles, which take as long, found less where layouts take turns."""
    assert instrument.whole_turns(instrument.POWER_ROUNDS, layouts) == 32 and instrument.whole_turns(32, 12) == 36
    assert _found(instrument.POWER_ROUNDS, instrument.CYCLES, layouts) >= 0.98
    if layouts > 1:
        assert _found(12, 50, layouts) < 0.9


def _judged(change: float, scatter: float, points: int) -> tuple[float, float]:
    """Return the share of simulated points with a change (log) of their rate that pass, and the mean of their rounds."""
    rng = np.random.default_rng(1)
    passed, rounds = 0, 0
    for _ in range(points):
        ratios = np.exp(rng.normal(change, scatter, distinct.LOOKS[-1]))
        verdicts = ((look, distinct.within(distinct.looked_at(statistics.interval_of_rounds(ratios[:look]), look))) for look in distinct.LOOKS)
        look, verdict = next(((n, v) for n, v in verdicts if v != "undecided"), (distinct.LOOKS[-1], "undecided"))
        passed += verdict == "pass"
        rounds += look
    return passed / points, rounds / points


def test_points_whose_messages_are_too_few_do_not_pass_because_they_are_looked_at_often() -> None:
    limit = math.log(1 - distinct.MOST)
    assert _judged(limit, 0.006, 600)[0] <= 0.08, "one at the limit"
    assert _judged(1.5 * limit, 0.006, 300)[0] == 0.0
    passed, rounds = _judged(0.0, 0.002, 200)
    assert passed == 1.0 and rounds < 3, "a quiet machine needs fewer rounds than the three of every point before"
    assert _judged(0.0, 0.01, 200)[0] >= 0.98


def _outside(scale: float, points: int, rng: np.random.Generator) -> list[str]:
    """Return the numbers of equal pairs of eight rounds whose interval, ``scale`` times as wide as it should be, does not hold 1."""
    found = []
    for number in range(points):
        interval = statistics.interval_of_rounds(np.exp(rng.normal(0.0, 0.0075, 8)))
        half = scale * np.log(interval.high / interval.low) / 2
        if abs(np.log(interval.value)) > half:
            found.append(str(number))
    return found


def test_intervals_half_as_wide_fail_against_themselves_and_right_ones_pass() -> None:
    rng = np.random.default_rng(1)
    verdicts = {scale: [against_itself_claim(_outside(scale, 100, rng), 100).verdict for _ in range(20)] for scale in (1.0, 0.5)}
    assert verdicts[1.0].count("pass") >= 19
    assert verdicts[0.5].count("MISSED") >= 19


def test_few_points_decide_nothing_against_themselves() -> None:
    assert against_itself_claim([], 59).verdict == "not run"
    assert against_itself_claim([], 0).verdict == "not run"


def test_intervals_that_hold_nine_times_of_ten_fail() -> None:
    total = 300
    rng = np.random.default_rng(2)

    def share_passing(truth: float) -> float:
        return float(np.mean([holding(int(k), int(k), total, 1.0).verdict == "pass" for k in rng.binomial(total, truth, 1000)]))

    assert share_passing(0.90) < 0.08
    assert share_passing(0.955) > 0.95
    assert holding(total, total, total, 1.0).verdict == "MISSED"  # the intervals are far too wide


def test_where_the_machine_drifted_the_rounds_dealt_out_decide() -> None:
    assert holding(200, 287, 300, 0.001).verdict == "pass"
    assert "66.7 % in their order" in holding(200, 287, 300, 0.001).measured
    assert holding(200, 287, 300, 0.5).verdict == "MISSED"
    assert holding(287, 200, 300, 0.001).verdict == "MISSED"


def _row(configuration: str, verdict: Verdict, ratio: float = 1.0) -> Comparison:
    return Comparison(configuration, "old", "new", Interval(ratio, ratio * 0.99, ratio * 1.01), verdict, 0.5, "")


def test_two_runs_apart_must_find_what_was_planted_and_nothing_else() -> None:
    others = [_row(f"crc/size={s}/t1/b32/stream/isal", "same") for s in (64, 256)]
    name = "sha256/size={}/t1/b32/stream/portable"
    planted = [_row(name.format(64), "slower", 0.91), _row(name.format(256), "undecided", 0.91)]
    assert [c.verdict for c in apart_claims([*others, *planted], 50)] == ["pass", "pass"]
    blind = [_row(row.configuration, "undecided") for row in (*others, *planted)]
    assert [c.verdict for c in apart_claims(blind, 50)] == ["pass", "MISSED"]
    assert [c.verdict for c in apart_claims([_row("sha256/size=64/t1/b32/stream/openssl", "slower"), *planted], 50)] == ["MISSED", "pass"]
    assert [c.verdict for c in apart_claims(others, 50)] == ["pass", "not run"]


def test_slow_stretches_of_a_link_count() -> None:
    ours = {0: {(0, 0): 16.0, (0, 1): 4.0}, 1: {(0, 0): 16.0, (0, 1): 16.0}, 2: {(0, 0): 9.0}}
    theirs = {0: {(0, 0): 16.0, (0, 1): 16.0}, 1: {(0, 0): 4.0, (0, 1): 4.0}}
    assert means(ours, theirs) == [[10.0 / 16.0], [16.0 / 4.0]]
    assert share_fast(ours, 16.0) == 4 / 5
    assert share_fast(theirs, 16.0) == 2 / 4
    assert share_fast({}, 16.0) == 0.0


def test_the_work_that_is_planted_around_engines_fits_the_sources() -> None:
    lane = (ROOT / "native/operators/lane.hpp").read_text()
    slower = planted(lane)
    assert (
        slower.count("run(kernel_, burst);") == 2
        and slower.count("return run(kernel_, burst);") == 1
        and "(owed_ += 3) >= 100" in slower
        and slower.count("owed_ = 0;") == 1
    )
    with pytest.raises(EnvironmentFault, match="called otherwise than"):
        planted(slower)


def row(verdict: Verdict, ratio: float) -> Comparison:
    return Comparison(f"{verdict}{ratio}", "a", "b", Interval(ratio, ratio, ratio), verdict, 0.01, "")


@pytest.mark.parametrize(
    ("slower", "undecided", "faster", "verdict"),
    [(9, 1, 0, "pass"), (10, 0, 0, "pass"), (8, 2, 0, "MISSED"), (19, 0, 1, "MISSED"), (0, 0, 0, "not run")],
)
def test_slower_points_must_be_found_and_none_called_faster(slower: int, undecided: int, faster: int, verdict: str) -> None:
    rows = [row("slower", 0.97)] * slower + [row("undecided", 0.99)] * undecided + [row("faster", 1.05)] * faster
    claim = judged([*rows, Comparison("gone", None, "b", None, "not comparable", None, "failed")])
    assert claim.verdict == verdict and len(claim.details["faster"]) == faster
