"""Finds the highest rate within a loss ratio, with the multiple loss ratio search of package MLRsearch (RFC 9971)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

from dpubench.analysis.digits import significant
from dpubench.studies.end_to_end.model import Limit
from dpubench.studies.end_to_end.plan import Search

NDR: Final = "NDR"
PDR: Final = "PDR"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one trial of a search."""

    due: int
    lost: int  #: packets lost; all that were due if the client could not offer the rate
    limit: Limit = ""  #: if client-limited or stall-limited, the trial says nothing of the server


@dataclass(frozen=True, slots=True)
class Found:
    """The bounds that a search found for one goal."""

    goal: str  #: NDR or PDR
    loss_goal: float
    lower_pps: float | None  #: the highest rate within the goal; None: even the lowest rate loses more
    upper_pps: float | None  #: the lowest rate beyond it; None: even the highest rate is within it
    #: client-limited or stall-limited if this caused the upper bound; the server's limit then lies somewhere above ``lower_pps``
    limit: Limit
    reason: str = ""  #: why the search ended, if the server did not end it


class SearchFailed(Exception):
    """A search that came to no end."""


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal that a rate has to meet."""

    loss_ratio: float  #: highest loss ratio of a trial
    exceed_ratio: float  #: share of the trial time at a rate that may lose more


def goals_of(plan: Search) -> dict[str, Goal]:
    """Return the goals of ``plan`` by name."""
    known = {NDR: Goal(0.0, plan.ndr_exceed), PDR: Goal(plan.pdr_loss, plan.pdr_exceed)}
    return {goal: known[goal] for goal in dict.fromkeys(plan.goals)}


def find(plan: Search, measure: Callable[[float, float], Outcome], ceiling_pps: float | None = None) -> list[Found]:
    """Search for all goals of ``plan`` at once and return their bounds.

    Args:
        measure: carries out a trial: ``measure(rate_pps, duration_s)``
        ceiling_pps: the highest rate that the client can offer, if it is known; the search does not go above it

    Raises:
        SearchFailed: the search took longer than the plan's limit.
        Exception: any that ``measure`` raises.
    """
    goals = {
        name: SearchGoal(
            loss_ratio=goal.loss_ratio, exceed_ratio=goal.exceed_ratio, relative_width=plan.width, initial_trial_duration=plan.first_trial,
            final_trial_duration=plan.last_trial, duration_sum=plan.duration_sum, preceding_targets=2, expansion_coefficient=2, fail_fast=False,
        )
        for name, goal in goals_of(plan).items()
    }  # fmt: skip
    capped = ceiling_pps is not None and ceiling_pps < plan.max_rate.pps
    highest = ceiling_pps if capped and ceiling_pps is not None else plan.max_rate.pps
    config = Config()
    config.goals = list(goals.values())
    config.max_load, config.min_load = 1e12, plan.min_rate.pps  # in this order: each is checked against the other
    config.max_load = highest
    config.search_duration_max = plan.limit
    config.warmup_duration = 0.0  # every trial has a ramp of its own
    measurer = _Measurer(measure)
    try:
        results = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)
    except RuntimeError as error:
        if measurer.failed is not None:
            raise measurer.failed from None
        raise SearchFailed(f"the search did not end: {error} (search.limit is {plan.limit:g} s)") from None
    found = []
    for name, goal in goals.items():
        lower, upper = results[goal].relevant_lower_bound, results[goal].relevant_upper_bound
        low, high = (None if bound is None else float(bound) for bound in (lower, upper))
        limit: Limit = "client-limited" if high is None else measurer.limit_at(high)
        found.append(
            Found(name, goal.loss_ratio, low, high, limit, _reason(low, high, limit, "the client's ceiling" if capped else "search.max_rate"))
        )
    return found


def _reason(low: float | None, high: float | None, limit: Limit, highest: str) -> str:
    """Return why a search ended; empty if the server ended it."""
    if high is None and low is not None:
        return f"the search reached {highest}, {significant(low / 1e6)} Mpps"
    if limit and high is not None:
        what = "the client missed its schedule" if limit == "client-limited" else "packets were lost in stalls"
        return f"{what} at {significant(high / 1e6)} Mpps"
    return ""


class _Measurer(AbstractMeasurer):  # type: ignore[misc]  # the package has no types
    def __init__(self, measure: Callable[[float, float], Outcome]) -> None:
        self._measure = measure
        self._limits: list[tuple[float, Limit]] = []
        self.failed: Exception | None = None

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        try:
            outcome = self._measure(intended_load, intended_duration)
        except RuntimeError as error:  # the package's own errors are of this class too
            self.failed = error
            raise
        self._limits.append((intended_load, outcome.limit))
        return MeasurementResult(intended_duration=intended_duration, intended_load=intended_load, offered_count=outcome.due, loss_count=outcome.lost)

    def limit_at(self, rate_pps: float) -> Limit:
        """Return the limit of most trials at this rate, if most of them were limited by something other than the server; else an empty string."""
        here = [limit for rate, limit in self._limits if abs(rate - rate_pps) <= 1e-6 * rate_pps]
        others: list[Limit] = [limit for limit in here if limit in ("client-limited", "stall-limited")]
        return max(others, key=others.count) if 2 * len(others) > len(here) else ""
