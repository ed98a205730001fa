"""Tests of the text of a run of study ``end-to-end``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dpubench.analysis.model import Interval
from dpubench.studies.end_to_end import convergence, export, text
from dpubench.studies.end_to_end.model import PointSummary, RunSummary
from end_to_end_fixtures import example_run


def small(run: RunSummary, frame: str = "64") -> RunSummary:
    """Return ``run`` with its points of one frame size and its points without figures."""
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
    assert any("client-limited (6 of 6 rounds): says nothing about the server" in line for line in lines_of(shown, client))


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


def test_each_figure_is_judged_by_its_own_interval() -> None:
    """The throughput converged and the tail of the latency did not. Each figure says so where it stands."""
    run = example_run()
    point = next(p for p in run.points if p.rounds >= 6 and p.latency is not None and p.server_cpu_share is not None and p.stages)
    precise = Interval(1.0, 0.999, 1.001)
    assert point.latency is not None
    point.latency = replace(point.latency, p50=precise, p90=precise, p99=precise, p99_9=Interval(1e6, 5e5, 2e6), max=precise, mean=None)
    point.latency_rounds = point.rounds
    for name in ("throughput_pps", "throughput_gbps", "server_cpu_share"):
        setattr(point, name, precise)
    point.loss_ratio = Interval(0.0, 0.0, 0.0)
    point.residence = None
    point.stages = [replace(s, ns_per_packet=precise) for s in point.stages[:-1]] + [replace(point.stages[-1], ns_per_packet=Interval(9, 1, 17))]
    point.not_converged = convergence.not_converged(point, 0.05)
    assert point.not_converged == ["latency.p99_9", f"stage {point.stages[-1].name}"]
    (line,) = [line for line in lines_of(text.show([small(run, point.frame)]), point) if "1000*" in line]
    assert line.count("*") == 1
    assert "* wider than the ±5 % that the plan asks for, or from fewer than 6 rounds" in text.show([run])
    assert export.EXPORT.records([run])[run.points.index(point)]["not_converged"] == f"latency.p99_9 stage:{point.stages[-1].name}"
    point.loss_ratio, point.latency_rounds = Interval(1e-5, -1e-5, 3e-5), 5
    assert {"loss_ratio", "latency.p50", "latency.p99_9"} <= set(convergence.not_converged(point, 0.05))
