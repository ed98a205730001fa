"""Tests of intervals from samples of messages: figures worked out by hand, coverage on series with a known truth, real results."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arm_kernels import processor
from dpubench.simulation import sampling, simulator


def context(costs: list[int] | np.ndarray[Any, Any], every: int = 1) -> dict[str, Any]:
    """Return the event of dpubench-cores for a context whose messages took ``costs`` cycles, one after another."""
    ends = [0, *(int(t) for t in np.cumsum(costs))]
    return {"messages": len(costs), "cycles": ends[-1], "message_cycles": {"every": every, "cycles": ends[::every]}}


def test_an_interval_worked_out_by_hand() -> None:
    found = sampling.cycles_per_message(context([9, 11, 11, 13] * 5))
    assert found.batches == 20  # each message is a batch: neighbours show no correlation
    # Ten messages of 10, 12, 10, 12, ... cycles: mean 11, standard deviation sqrt(10 / 9), t(9, 97.5 %) = 2.262157.
    found = sampling.cycles_per_message(context([10, 12] * 5))
    assert (found.value, found.batches) == (11.0, 10)
    half = 2.262157 * math.sqrt(10 / 9) / math.sqrt(10)
    assert found.low == pytest.approx(11 - half, rel=1e-6)
    assert found.high == pytest.approx(11 + half, rel=1e-6)
    assert found.precision == pytest.approx(half / 11, rel=1e-6)


def test_neighbours_that_go_together_are_put_into_larger_batches() -> None:
    generator = np.random.default_rng(5)
    independent = generator.normal(1000, 50, 3000)
    assert sampling.cycles_per_message(context(independent)).batches == 30
    slow = np.repeat(generator.normal(1000, 50, 12), 250)  # the state changes every 250 messages; thirty batches would have 100 each
    assert sampling.cycles_per_message(context(slow)).batches < 30


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_intervals_hold_the_truth_about_as_often_as_they_say(memory: float) -> None:
    """Costs are autoregressive with mean 1000. Of 400 intervals at 95 %, between 360 (fewer is a fault of the method) and 396 hold the mean."""
    generator = np.random.default_rng(11)
    held = 0
    for _ in range(400):
        noise = generator.normal(0, 40, 3000 + 200)
        costs = np.empty_like(noise)
        state = 0.0
        for i, step in enumerate(noise):
            state = memory * state + step
            costs[i] = 1000 + state
        found = sampling.cycles_per_message(context(np.maximum(costs[200:], 1).round()))
        held += found.low <= 1000 <= found.high
    assert 360 <= held <= 396


def test_times_that_were_thinned_out_give_nearly_the_same() -> None:
    costs = np.random.default_rng(3).integers(100, 200, 4003)
    whole, thin = sampling.cycles_per_message(context(costs)), sampling.cycles_per_message(context(costs, every=4))
    assert whole.value == thin.value == costs.sum() / 4003
    assert thin.high - thin.low == pytest.approx(whole.high - whole.low, rel=0.5)


def test_too_few_messages_have_no_interval() -> None:
    found = sampling.cycles_per_message(context([7] * 9))
    assert (found.value, found.batches) == (7.0, 1)
    assert math.isnan(found.low) and math.isnan(found.high)
    assert math.isnan(sampling.cycles_per_message(context([])).value)


def test_what_was_simulated_whole_has_no_sampling_error() -> None:
    found = sampling.cycles_per_message(context([5, 9] * 20), exact=True)
    assert (found.value, found.low, found.high, found.batches) == (7.0, 7.0, 7.0, 0)
    assert sampling.is_exact({}) and sampling.is_exact({"every": 3, "measured": 3, "warm_up_messages": 10})
    assert not any(sampling.is_exact(extent) for extent in ({"every": 7}, {"messages": 5}, {"instructions": 9}))


def test_rates_of_a_chip_are_sums_with_the_widest_interval() -> None:
    one, two = context([10, 12] * 5), context([20, 24] * 5)
    found = sampling.messages_per_s({"clock_mhz": 1000, "contexts": [one, two]}, bursts=[32, 1])
    parts = [sampling.messages_per_s({"clock_mhz": 1000, "contexts": [c]}) for c in (one, two)]
    assert found.value == pytest.approx(32e9 / 11 + 1e9 / 22)
    assert found.low == pytest.approx(32 * parts[0].low + parts[1].low)
    assert found.high == pytest.approx(32 * parts[0].high + parts[1].high)
    assert parts[0].low < parts[0].value < parts[0].high
    assert parts[0].scaled(8).value == 8 * parts[0].value
    whole = sampling.messages_per_s({"clock_mhz": 1000, "contexts": [one, two]}, exact=True)
    assert (whole.low, whole.high, whole.batches) == (whole.value, whole.value, 0)
    assert sampling.messages_per_s({"clock_mhz": 1000, "contexts": [one, context([7] * 9)]}).batches == 1
    with pytest.raises(ValueError, match="2 contexts, but bursts for 1"):
        sampling.messages_per_s({"clock_mhz": 1000, "contexts": [one, two]}, bursts=[1])


def test_a_real_result(loop: Path) -> None:
    """Each message takes four cycles. A sample finds this, with an interval."""
    for every in (1, 7):
        extent = {"warm_up_messages": 50, "every": every}
        job = simulator.job([{"id": "one", "processor": processor(), "contexts": [{"trace": str(loop)}], "extent": extent}])
        result = simulator.simulate_one(job, str(simulator.program()))
        found = sampling.cycles_per_message(result["contexts"][0])
        assert found.batches >= 10
        assert found.low <= found.value <= found.high
        assert found.value == pytest.approx(4, rel=0.05)  # four dependent additions
        rate = sampling.messages_per_s(result)
        assert rate.value == pytest.approx(result["messages_per_s"], rel=1e-12)
