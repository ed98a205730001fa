"""``make bench``: what it leaves when it is ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_program import BUILD, RealBench

from benchmarks.datapath import NoAnswer, _answered, fast

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
