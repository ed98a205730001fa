"""A run of study ``end-to-end`` as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dpubench.results.model import Interval
from dpubench.studies.end_to_end import text
from dpubench.studies.end_to_end.model import PointSummary, RunSummary
from end_to_end_fixtures import example_run


def small(run: RunSummary, frame: str = "64") -> RunSummary:
    """Points of one frame size and, of the largest, those of which nothing can be said."""
    return replace(run, points=[p for p in run.points if p.frame == frame or p.throughput_pps is None])


def lines_of(shown: str, point: PointSummary) -> list[str]:
    return [line for line in shown.splitlines() if line.startswith(point.workload) and f" {point.frame} " in line and point.load in line]


def test_output(golden: Callable[[str, str], None]) -> None:
    golden("end-to-end-show.txt", text.show([small(example_run())]))


def test_every_point_has_a_line_and_every_figure_its_labels() -> None:
    run = example_run()
    shown = text.show([run])
    assert "all figures: virtual link; short trials, not RFC 2544" in shown
    assert sum(p.load in line for p in run.points[:1] for line in shown.splitlines()) == sum(p.load == run.points[0].load for p in run.points)
    split = [line for line in shown.splitlines() if " split " in line]
    assert len(split) == sum(p.placement == "split" for p in run.points)
    assert all("split on too few CPUs: proves correctness only" in line for line in split)


def test_what_is_missing_says_why() -> None:
    run = example_run()
    shown = text.show([run])
    failed, missing, client = run.points[-1], run.points[-2], run.points[-3]
    assert any("failed: trial: the server was killed by SIGKILL" in line for line in lines_of(shown, failed))
    assert any("cannot run here: xdp: needs root" in line for line in lines_of(shown, missing))
    assert any("client-limited (6 of 6 rounds): no statement on the server" in line for line in lines_of(shown, client))


def test_a_limit_of_the_client_is_never_one_of_the_server() -> None:
    run = example_run()
    point = run.points[0]
    point.limit, point.limits = "stall-limited", {"": 2, "stall-limited": 4}
    (line,) = [line for line in lines_of(text.show([run]), point) if "null" in line]
    assert "stall-limited (4 of 6 rounds): not the server's limit" in line and ">= 4.000" in line


def test_withheld_cpu_says_why_and_one_round_has_no_interval() -> None:
    run = example_run()
    point = run.points[0]
    point.server_cpu_share, point.server_cpu_withheld = None, "the kernel's receive work runs on another CPU"
    point.throughput_pps, point.precision = Interval(1e6, math.nan, math.nan), math.nan
    point.latency = None
    (line,) = [line for line in lines_of(text.show([run]), point) if "null" in line]
    assert "CPU withheld: the kernel's receive work runs on another CPU" in line
    assert "one round" in line and " - " in line


def test_an_empty_run_says_so() -> None:
    run = replace(example_run(), points=[], warnings=[], failures=[], left_out=[])
    assert "nothing was measured" in text.show([run])
