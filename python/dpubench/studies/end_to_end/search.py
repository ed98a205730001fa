"""The highest rate within a loss ratio, by the multiple loss ratio search of package MLRsearch (draft-ietf-bmwg-mlrsearch)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

from dpubench.studies.end_to_end.model import Limit
from dpubench.studies.end_to_end.plan import Search

NDR: Final = "NDR"
PDR: Final = "PDR"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one trial of a search brought."""

    due: int
    lost: int  #: of them; all where the client could not offer the rate
    limit: Limit = ""  #: client-limited or stall-limited: what it says is nothing of the server


@dataclass(frozen=True, slots=True)
class Found:
    """The bounds of one goal."""

    goal: str  #: NDR or PDR
    loss_goal: float
    lower_pps: float | None  #: the highest rate within the goal; None: even the lowest rate loses more
    upper_pps: float | None  #: the lowest rate beyond it; None: even the highest rate is within it
    #: client-limited or stall-limited where the upper bound is their doing: the server's limit lies somewhere above ``lower_pps`` then
    limit: Limit


class SearchFailed(Exception):
    """A search came to no end."""


def loss_goals(plan: Search) -> dict[str, float]:
    """Goal -> loss ratio."""
    known = {NDR: 0.0, PDR: plan.pdr_loss}
    return {goal: known[goal] for goal in dict.fromkeys(plan.goals)}


def find(plan: Search, measure: Callable[[float, float], Outcome]) -> list[Found]:
    """Searches for all goals of ``plan`` at once. ``measure(rate_pps, duration_s)`` carries a trial out.

    Raises:
        SearchFailed: it took longer than the plan's limit.
        whatever ``measure`` raises.
    """
    goals = {
        name: SearchGoal(
            loss_ratio=ratio, exceed_ratio=0.5, relative_width=plan.width, initial_trial_duration=plan.first_trial,
            final_trial_duration=plan.last_trial, duration_sum=plan.duration_sum, preceding_targets=2, expansion_coefficient=2, fail_fast=False,
        )
        for name, ratio in loss_goals(plan).items()
    }  # fmt: skip
    config = Config()
    config.goals = list(goals.values())
    config.max_load, config.min_load = 1e12, plan.min_rate.pps  # in this order: each is checked against the other
    config.max_load = plan.max_rate.pps
    config.search_duration_max = plan.limit
    config.warmup_duration = 0.0  # every trial has a ramp of its own
    measurer = _Measurer(measure)
    try:
        results = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)
    except RuntimeError as error:
        if measurer.failed is not None:
            raise measurer.failed from None
        raise SearchFailed(f"the search came to no end: {error} (search.limit is {plan.limit:g} s)") from None
    found = []
    for name, goal in goals.items():
        lower, upper = results[goal].relevant_lower_bound, results[goal].relevant_upper_bound
        low, high = (None if bound is None else float(bound) for bound in (lower, upper))
        found.append(Found(name, goal.loss_ratio, low, high, "client-limited" if high is None else measurer.limit_at(high)))
    return found


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
        """What most trials at this rate were limited by, where that was not the server."""
        here = [limit for rate, limit in self._limits if abs(rate - rate_pps) <= 1e-6 * rate_pps]
        others: list[Limit] = [limit for limit in here if limit in ("client-limited", "stall-limited")]
        return max(others, key=others.count) if 2 * len(others) > len(here) else ""
