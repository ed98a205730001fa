"""``make bench``: what it leaves when it is ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dpubench.errors import EnvironmentFault
from dpubench.results.model import Comparison, Interval, Verdict
from real_program import BUILD, RealBench

from benchmarks.datapath import NoAnswer, _answered, fast
from benchmarks.layouts import judged, planted

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_it_started_and_removes_what_it_wrote(real: RealBench, number: signal.Signals) -> None:
    if not (BUILD / "bare").is_dir():
        pytest.skip("the build has no bare loops (it was configured without -Dtests=true)")
    bench = real.watched()
    output = bench.folder / "out"
    command = [sys.executable, "-m", "benchmarks", "--only", "bare", "--build", str(BUILD.parent), "--output", str(output)]
    with subprocess.Popen(command, cwd=ROOT, env=bench.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while not bench.workers():
            assert process.poll() is None and time.monotonic() < until, process.communicate()
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"bench: interrupted; 0 claims were judged, and {output} was not written" in err
    assert bench.processes() == [] and bench.half_made() == [] and not output.exists()


def test_rounds_in_which_a_side_had_only_slow_stretches_say_nothing() -> None:
    ours = {
        0: {(0, 0): 18.0, (0, 1): 4.0, (1, 0): 12.0, (1, 1): 16.0},
        1: {(0, 0): 3.9, (0, 1): 4.0},
        2: {(0, 0): 4.0, (0, 1): 17.0},
        3: {(0, 0): 16.0},
    }
    theirs = {0: {(0, 0): 4.0, (0, 1): 16.0}, 1: {(0, 0): 15.0, (0, 1): 4.0}, 2: {(0, 0): 4.0, (0, 1): 4.1}, 3: {(0, 0): 20.0}}
    assert fast(ours, theirs) == [[16.0 / 16.0], [16.0 / 20.0]]
    assert fast({}, {}) == []


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


def test_the_work_that_is_planted_around_engines_fits_the_sources() -> None:
    lane = (ROOT / "native/operators/lane.hpp").read_text()
    slower = planted(lane)
    assert slower.count("run(kernel_, burst);") == 2 and "(owed_ += 3) >= 100" in slower and slower.count("owed_ = 0;") == 1
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
