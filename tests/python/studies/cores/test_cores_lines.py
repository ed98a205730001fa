"""Tests of line rates: the rate that messages fill, whether a line is sustained, and the cores that it needs, at each of their limits."""

from __future__ import annotations

import math

import pytest
from dpubench.analysis.model import Interval
from dpubench.studies.cores import lines


def whole(value: float) -> Interval:
    return Interval(value, float("nan"), float("nan"))


def test_a_message_takes_its_frame_and_the_overhead_of_a_line() -> None:
    # 14.88 million frames of 64 B per second fill 10 Gb/s of Ethernet.
    assert lines.line_rate_gbps(whole(14_880_952), 64, 20).value == pytest.approx(10, rel=1e-6)
    assert lines.line_rate_gbps(whole(19_531_250), 64, 0).value == pytest.approx(10, rel=1e-6)


def test_a_line_is_sustained_undecided_or_not() -> None:
    assert lines.sustains(whole(10), 10) == "yes"
    assert lines.sustains(whole(9.99), 10) == "no"
    assert lines.sustains(Interval(10.5, 9.9, 11.1), 10) == "undecided"
    assert lines.sustains(Interval(10.5, 10, 11), 10) == "yes"
    assert lines.sustains(Interval(9.5, 9, 9.9), 10) == "no"


def test_cores_are_those_simulated_or_fewer_and_extrapolated_beyond() -> None:
    # One core sustains 6 Gb/s. Eight cores, which share caches, sustain 40 Gb/s.
    together = {1: whole(6), 8: whole(40)}
    needed = [lines.cores_needed(line, together) for line in (5, 10, 40, 100)]
    assert [(n.value, n.extrapolated) for n in needed if n is not None] == [(1, False), (2, False), (8, False), (20, True)]
    sampled = lines.cores_needed(10, {1: Interval(5, 4, 6), 4: Interval(20, 16, 24)})
    assert sampled is not None and (sampled.low, sampled.value, sampled.high) == (2, 2, 3)
    assert lines.cores_needed(10, {}) is None
    assert lines.cores_needed(10, {1: whole(0)}) is None


def test_what_is_extrapolated_has_no_interval() -> None:
    simulated = {1: Interval(10.0, 9.0, 11.0), 8: Interval(80.0, 72.0, 88.0)}
    inside, edge, beyond = (lines.cores_needed(line, simulated) for line in (40.0, 78.0, 200.0))
    assert inside is not None and (inside.low, inside.value, inside.high, inside.extrapolated) == (4, 4, 5, False)
    # Eight cores are enough by the value. By the interval nine may be needed, but nine were not simulated.
    assert edge is not None and (edge.value, edge.low, edge.high, edge.extrapolated) == (8, None, None, True)
    assert beyond is not None and (beyond.value, beyond.low, beyond.high, beyond.extrapolated) == (20, None, None, True)


def test_all_ends_of_a_rate_are_of_the_same_line() -> None:
    rate = lines.line_rate_gbps(Interval(1e6, 0.5e6, 2e6), 105, 20)
    assert (rate.value, rate.low, rate.high) == pytest.approx((1.0, 0.5, 2.0))


def test_a_line_at_the_very_end_of_an_interval() -> None:
    assert lines.sustains(Interval(9.5, 9, 10), 10) == "undecided"
    assert lines.sustains(Interval(9.5, 9, math.nextafter(10, 0)), 10) == "no"
    assert lines.sustains(Interval(11, 10, 12), 10) == "yes"
    assert lines.sustains(Interval(11, math.nextafter(10, 0), 12), 10) == "undecided"


def test_cores_at_the_limits() -> None:
    def told(line: float, simulated: dict[int, Interval]) -> tuple[int, int | None, int | None, bool]:
        found = lines.cores_needed(line, simulated)
        assert found is not None and found.simulated == max(simulated)
        return found.value, found.low, found.high, found.extrapolated

    # Low and high are those of the number of cores: the slowest rate needs most of them.
    assert told(10, {1: Interval(5, 4, 6), 4: Interval(20, 16, 24)}) == (2, 2, 3, False)
    # A rate that is exactly enough is enough, and a rounding error in the share of a core adds none.
    assert told(30, {1: whole(10), 3: whole(30)}) == (3, 3, 3, False)
    assert told(0.3, {3: whole(0.1 + 0.2)}) == (3, 3, 3, False)
    # Fewer cores may have been simulated with more than their share, or with less.
    assert told(12, {1: whole(4), 2: whole(12), 8: whole(24)}) == (2, 2, 2, False)
    assert told(6, {1: whole(4), 2: whole(6), 8: whole(48)}) == (1, 1, 1, False)
    # Just the most that was simulated, and one more.
    assert told(80, {1: whole(10), 8: whole(80)}) == (8, 8, 8, False)
    assert told(81, {1: whole(10), 8: whole(80)}) == (9, None, None, True)
    # Each of value, low and high must be known.
    assert lines.cores_needed(10, {1: Interval(5, 0, 6)}) is None
    assert lines.cores_needed(10, {1: Interval(5, 4, 6), 2: Interval(0, 0, 0)}) is None
