"""Tests of the search for NDR and PDR on a simulated device of known capacity: the results lie within the search's width."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable

import pytest
from dpubench.plans.load import parse_plan
from dpubench.studies.end_to_end.plan import Plan, Search
from dpubench.studies.end_to_end.search import Found, Outcome, SearchFailed, find


def search(**keys: str) -> Search:
    words = "".join(f"  {k}: {v}\n" for k, v in keys.items())
    plan, _ = parse_plan("study: end-to-end\nsearch:\n" + (words or "  width: 2%\n"), "p.yaml")
    assert isinstance(plan, Plan)
    return plan.search


class Device:
    """A device that forwards at most ``capacity_pps`` and loses the rest; its client offers at most ``client_pps``."""

    def __init__(self, capacity_pps: float, client_pps: float = math.inf) -> None:
        self.capacity_pps, self.client_pps = capacity_pps, client_pps
        self.trials = 0

    def measure(self, rate_pps: float, duration_s: float) -> Outcome:
        self.trials += 1
        due = round(rate_pps * duration_s)
        if rate_pps > self.client_pps:
            return Outcome(due, due, "client-limited")
        lost = max(due - round(self.capacity_pps * duration_s), 0)
        return Outcome(due, lost)


def by_goal(found: list[Found]) -> dict[str, Found]:
    return {f.goal: f for f in found}


@pytest.mark.parametrize("capacity_pps", [50e3, 333_333, 1.234e6, 7.7e6])
def test_both_rates_of_a_device_are_found_within_the_width(capacity_pps: float) -> None:
    device = Device(capacity_pps)
    found = by_goal(find(search(), device.measure))
    for goal, loss in (("NDR", 0.0), ("PDR", 0.005)):
        truth = capacity_pps / (1 - loss)
        bounds = found[goal]
        assert bounds.loss_goal == loss
        assert bounds.lower_pps is not None and bounds.upper_pps is not None
        # At the bound a single packet decides, because a trial's number of packets is rounded.
        assert bounds.lower_pps <= truth * 1.0001 and bounds.upper_pps >= truth * 0.9999
        assert bounds.upper_pps - bounds.lower_pps <= 0.0201 * bounds.upper_pps
        assert bounds.limit == ""
    assert device.trials < 80


def test_what_the_client_cannot_offer_is_not_the_servers_limit() -> None:
    found = by_goal(find(search(), Device(5e6, client_pps=1e6).measure))
    for bounds in found.values():
        assert bounds.limit == "client-limited"
        assert bounds.lower_pps is not None and 0.97e6 <= bounds.lower_pps <= 1e6


def test_a_device_that_holds_the_highest_rate_has_no_upper_bound() -> None:
    found = find(search(max_rate="1Mpps"), Device(5e6).measure)
    assert all(f.upper_pps is None and f.limit == "client-limited" and f.lower_pps == pytest.approx(1e6) for f in found)


def test_a_search_that_reaches_the_clients_ceiling_says_so() -> None:
    device = Device(5e6)
    found = find(search(), device.measure, 1e6)
    assert all(f.upper_pps is None and f.limit == "client-limited" and f.lower_pps == pytest.approx(1e6) for f in found)
    assert {f.reason for f in found} == {"the search reached the client's ceiling, 1.000 Mpps"}
    assert {f.reason for f in find(search(max_rate="1Mpps"), device.measure, 2e6)} == {"the search reached search.max_rate, 1.000 Mpps"}
    assert {f.reason for f in find(search(), device.measure, 10e6)} == {""}


def test_a_rate_without_loss_loses_in_no_trial() -> None:
    """The device loses a packet in one of three trials at each rate above 500 kpps. With half of the trial time excused this was no loss."""

    def lossy(device: Device) -> Callable[[float, float], Outcome]:
        tried: Counter[float] = Counter()

        def measure(rate_pps: float, duration_s: float) -> Outcome:
            outcome = device.measure(rate_pps, duration_s)
            tried[rate_pps] += 1
            return Outcome(outcome.due, outcome.lost + (rate_pps > 500e3 and tried[rate_pps] % 3 == 1), outcome.limit)

        return measure

    strict = by_goal(find(search(first_trial="1s", last_trial="1s", duration_sum="3s"), lossy(Device(1e6))))
    former = by_goal(find(search(first_trial="1s", last_trial="1s", duration_sum="3s", ndr_exceed="50%"), lossy(Device(1e6))))
    assert strict["NDR"].lower_pps is not None and strict["NDR"].lower_pps <= 500e3
    assert former["NDR"].lower_pps is not None and former["NDR"].lower_pps >= 0.98e6
    assert strict["PDR"].lower_pps is not None and strict["PDR"].lower_pps >= 0.98e6


def test_a_device_that_loses_at_the_lowest_rate_has_no_lower_bound() -> None:
    found = by_goal(find(search(min_rate="100kpps"), Device(10e3).measure))
    assert found["NDR"].lower_pps is None and found["NDR"].limit == ""


def test_one_goal_alone() -> None:
    assert [f.goal for f in find(search(goals="[PDR]"), Device(1e6).measure)] == ["PDR"]


def test_a_search_without_end_is_ended() -> None:
    device = Device(1e6)

    def slow(rate_pps: float, duration_s: float) -> Outcome:
        time.sleep(0.1)
        return device.measure(rate_pps, duration_s)

    with pytest.raises(SearchFailed, match=r"search\.limit is 0\.2 s"):
        find(search(limit="200ms", width="0.01%"), slow)


def test_what_a_trial_raises_comes_through() -> None:
    class Broken(RuntimeError):
        pass

    def fail(rate_pps: float, duration_s: float) -> Outcome:
        raise Broken("the server died")

    with pytest.raises(Broken, match="the server died"):
        find(search(), fail)
