"""Tests of the client's ceiling on simulated clients: it is found and confirmed, and loads above it are left out."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from dpubench.plans.load import parse_plan
from dpubench.studies.end_to_end import ceiling
from dpubench.studies.end_to_end.ceiling import Ceiling, Tried
from dpubench.studies.end_to_end.expand import Configuration, loads_of
from dpubench.studies.end_to_end.plan import Plan

#: Scatter of a client's speed from process to process and from trial to trial, as logarithms; for processes twice that in docs/methodology.md.
OF_PROCESSES, OF_TRIALS = 0.13, 0.05


def plan(text: str = "rates: [100kpps, 5Mpps]\nintervals: [200ns]") -> Plan:
    found, _ = parse_plan(f"study: end-to-end\n{text}\n", "p.yaml")
    assert isinstance(found, Plan)
    return found


def null(frame: str = "64") -> Configuration:
    return Configuration("forward", {}, {}, "all-host", "memif", frame, 1, [[]])


def client(capacity_pps: float, asked: list[float] | None = None) -> Callable[[float], Tried]:
    """Return a client that offers at most ``capacity_pps``; it adds the rates that it is asked for to ``asked``."""

    def attempt(rate_pps: float) -> Tried:
        if asked is not None:
            asked.append(rate_pps)
        return Tried(rate_pps <= capacity_pps, min(rate_pps, capacity_pps))

    return attempt


@pytest.mark.parametrize("capacity_pps", [15e3, 80e3, 1.3e6, 9.7e6, 19e6])
def test_the_ceiling_lies_between_what_was_kept_and_what_was_missed(capacity_pps: float) -> None:
    asked: list[float] = []
    held, missed = ceiling.bracket(client(capacity_pps, asked), 10e3, 20e6)
    assert held is not None and missed is not None and held <= capacity_pps < missed <= 1.1001 * held
    assert len(asked) <= 10


def test_a_client_that_keeps_up_with_all_has_no_ceiling() -> None:
    found = Ceiling("memif", "64", 1, "all-host", "constant", asked_pps=2e6)
    found.take(*ceiling.bracket(client(5e6), 10e3, 2e6))
    assert (found.held_pps, found.missed_pps, found.limit_pps, found.may_rise) == (2e6, None, None, False)
    assert "kept up with 2.00 Mpps, the highest rate of the plan" in ceiling.words(found)


def test_a_client_that_misses_the_lowest_rate_too() -> None:
    held, missed = ceiling.bracket(client(1e3), 10e3, 20e6)
    assert held is None and missed is not None and missed <= 11e3


def test_a_further_process_only_raises_it() -> None:
    found = Ceiling("memif", "64", 1, "all-host", "constant", asked_pps=20e6)
    found.take(*ceiling.bracket(client(1e6), 10e3, 20e6))
    first = found.missed_pps
    assert first is not None and found.margin == 0.5
    found.take(*ceiling.confirm(client(0.5e6), first, found.asked_pps))
    assert found.missed_pps == first and found.margin == 0.33
    found.take(*ceiling.confirm(client(2e6), first, found.asked_pps))
    assert found.held_pps is not None and found.held_pps <= 2e6 < (found.missed_pps or 0) and found.margin == 0.25
    found.take(*ceiling.confirm(client(50e6), found.missed_pps or 0, found.asked_pps))
    assert found.missed_pps is None and found.limit_pps is None


def test_each_schedule_and_link_has_its_own() -> None:
    text = "frame_sizes: [64B, 1518B]\nrates: [1Mpps, flood]\nintervals: [1us, 200ns]\nsearch: {min_rate: 20kpps, max_rate: 10Mpps}"
    made = plan(text)
    loads = {frame: loads_of(made, frame) for frame in ("64", "1518")}
    found = ceiling.wanted(made, [null(), null("1518")], loads)
    assert [[(c.frame, c.schedule, c.asked_pps) for c, _ in of] for of in found.values()] == [
        [(frame, "constant", 10e6), (frame, "interval", pytest.approx(5e6))] for frame in ("64", "1518")
    ]
    assert all(low < 20e3 for of in found.values() for c, low in of if c.schedule == "constant")


def test_loads_above_are_left_out_and_those_within_the_margin_are_not() -> None:
    made = plan("rates: [1Mpps, 1.2Mpps, 1.3Mpps, flood]\nsearch: {min_rate: 20kpps}")
    found = Ceiling("memif", "64", 1, "all-host", "constant", 20e6, held_pps=0.95e6, missed_pps=1e6, processes=3)
    why = {load.name: ceiling.reason(found, made, load) for load in loads_of(made, "64")}
    assert [name for name, reason in why.items() if reason] == ["1.3Mpps"]
    assert why["1.3Mpps"].startswith("above the client's ceiling: on the null workload the client kept up with 0.950 Mpps but not with 1.00 Mpps")
    assert found.limit_pps == 1.25e6


def test_a_single_load_far_above_is_left_out() -> None:
    made = plan("rates: [5Mpps]\nsearch: {goals: []}")
    ((of, lowest_pps),) = ceiling.wanted(made, [null()], {"64": loads_of(made, "64")})[null().id]
    of.take(*ceiling.bracket(client(1e6), lowest_pps, of.asked_pps))
    assert ceiling.reason(of, made, loads_of(made, "64")[0])


def _missed(processes: int, runs: int, seed: int) -> np.ndarray:
    """Return, per run, the rate above which a calibration of a client of median speed 1 leaves out loads."""
    random = np.random.default_rng(seed)
    limits = np.empty(runs)
    for i in range(runs):
        found = Ceiling("memif", "64", 1, "all-host", "constant", asked_pps=10.0)
        for speed in np.exp(random.normal(0, OF_PROCESSES, processes)):

            def attempt(rate: float, speed: float = speed) -> Tried:
                fastest = speed * math.exp(random.normal(0, OF_TRIALS, ceiling.TRIES).max())
                return Tried(rate <= fastest, min(rate, fastest))

            if found.missed_pps is None:
                found.take(*ceiling.bracket(attempt, 0.01, found.asked_pps))
            else:
                found.take(*ceiling.confirm(attempt, found.missed_pps, found.asked_pps))
        limits[i] = found.limit_pps or np.inf
    return limits


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_client_that_is_only_at_times_limited_loses_no_point(processes: int) -> None:
    """Rounds are processes too. A load that half of them can offer is never left out; a load that a sixth of them can offer hardly ever is."""
    limits = _missed(processes, 2000, processes)
    best_of_three = np.exp(np.random.default_rng(0).normal(0, OF_PROCESSES, 100_000)) * np.exp(
        np.random.default_rng(1).normal(0, OF_TRIALS, (ceiling.TRIES, 100_000)).max(axis=0)
    )
    half, sixth = np.quantile(best_of_three, [1 / 2, 5 / 6])
    assert np.mean(limits < half) <= 0.005
    assert np.mean(limits < sixth) <= 0.02
    # A load that no round can offer is left out, so the margin is not too wide.
    assert np.mean(limits < 2.5) >= 0.99
