"""Rules for the client's ceiling, the highest rate that it offers on a link, and for the loads above it. They use trials, no process and no clock.

The client is calibrated on the null workload, since no workload leaves it more time. The client keeps up with a rate if one of :data:`TRIES` trials
was not client-limited; a point has as many trials in a round. So a client that is limited only at times loses no load. docs/methodology.md explains
the margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from dpubench.analysis.digits import significant
from dpubench.studies.end_to_end.expand import Configuration, Load
from dpubench.studies.end_to_end.plan import Plan

TRIES: Final = 3
#: Relative distance of the lowest rate missed from the highest rate held at which a calibration ends.
WIDTH: Final = 0.1
#: Fresh processes -> relative margin above the lowest rate missed up to which loads are tried all the same, since processes differ.
_MARGINS: Final = {1: 0.5, 2: 0.33}
_LEAST_MARGIN: Final = 0.25
#: Factor below the lowest rate of a plan down to which a ceiling is searched.
_BELOW: Final = (1 + _MARGINS[1]) * (1 + WIDTH) ** 2
_SEARCHED: Final = ("NDR", "PDR")


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of the trials at one rate."""

    kept_up: bool
    offered_pps: float  #: highest rate that a trial offered


@dataclass
class Ceiling:
    """The highest rate that a client can offer on a link with one schedule."""

    port: str
    frame: str
    server_cpus: int
    end: str  #: one of plan.LINK_ENDS
    schedule: str
    asked_pps: float  #: the highest rate of the plan: nothing above it was tried
    held_pps: float | None = None  #: the highest rate that the client kept up with in any process; None: not even the lowest one tried
    missed_pps: float | None = None  #: the lowest rate above it at which the client kept up in no process; None: it kept up with all
    processes: int = 0
    trials: int = 0
    seconds: float = 0.0
    left_out: int = 0  #: points above it

    @property
    def margin(self) -> float:
        return _MARGINS.get(self.processes, _LEAST_MARGIN)

    @property
    def limit_pps(self) -> float | None:
        """Return the rate above which loads are left out and searches do not go; None if there is no such rate."""
        return None if self.missed_pps is None or not self.processes else self.missed_pps * (1 + self.margin)

    @property
    def may_rise(self) -> bool:
        """Return whether a further process could find a higher one."""
        return not self.processes or self.missed_pps is not None

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        return (self.port, self.frame, self.server_cpus, self.end, self.schedule)

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Ceiling:
        return cls(**{k: v for k, v in record.items() if k in cls.__dataclass_fields__})

    def take(self, held_pps: float | None, missed_pps: float | None) -> None:
        """Take in the result of one more process. The best process determines the client's ceiling."""
        if held_pps is not None:
            self.held_pps = max(held_pps, self.held_pps or 0.0)
        first = not self.processes
        self.missed_pps = missed_pps if first or missed_pps is None or self.missed_pps is None else max(missed_pps, self.missed_pps)
        self.processes += 1


def key_of(configuration: Configuration, load: Load) -> tuple[str, str, int, str, str]:
    """Return the :attr:`Ceiling.key` of the ceiling that holds for a point."""
    return (*configuration.link, load.schedule)


def span_of(plan: Plan, load: Load) -> tuple[float, float] | None:
    """Return the lowest and the highest rate that ``load`` offers; None if it has no rate (flood, a capture's own times)."""
    if load.kind in _SEARCHED:
        return float(plan.search.min_rate.pps), float(plan.search.max_rate.pps)
    return None if load.rate_pps is None else (load.rate_pps, load.rate_pps)


def bounds_a_search(ceiling: Ceiling, loads: Iterable[Load]) -> bool:
    """Return whether a search among ``loads`` has the ceiling's schedule. ``loads`` are those of the ceiling's frame size."""
    return any(load.kind in _SEARCHED and load.schedule == ceiling.schedule for load in loads)


def wanted(plan: Plan, configurations: Iterable[Configuration], loads: Mapping[str, list[Load]]) -> dict[str, list[tuple[Ceiling, float]]]:
    """Return the ceilings to measure: null configuration -> (ceiling, the lowest rate that matters) for each schedule of its loads."""
    found: dict[str, list[tuple[Ceiling, float]]] = {}
    for configuration in configurations:
        if not configuration.is_null or configuration.unavailable:
            continue
        spans: dict[str, list[tuple[float, float]]] = {}
        for load in loads[configuration.frame]:
            if span := span_of(plan, load):
                spans.setdefault(load.schedule, []).append(span)
        for schedule, of in spans.items():
            ceiling = Ceiling(*configuration.link, schedule, asked_pps=max(high for _, high in of))
            # A load is left out if a rate a margin below it was missed. This must be possible for the lowest load too.
            found.setdefault(configuration.id, []).append((ceiling, min(low for low, _ in of) / _BELOW))
    return found


def bracket(attempt: Callable[[float], Tried], lowest_pps: float, highest_pps: float) -> tuple[float | None, float | None]:
    """Return the highest rate kept up with and the lowest one missed, at most :data:`WIDTH` apart.

    None for the first: the client missed its schedule down to ``lowest_pps``. None for the second: it kept up with ``highest_pps``.
    """
    tried = attempt(highest_pps)
    if tried.kept_up:
        return highest_pps, None
    held: float | None = None
    missed = highest_pps
    guess: float | None = 0.9 * tried.offered_pps  # a rate that the overloaded client did manage to offer
    while missed > (1 + WIDTH) * (held or lowest_pps):
        low = held or lowest_pps
        rate = guess if guess is not None and low < guess < missed else math.sqrt(low * missed)
        guess = None
        if attempt(rate).kept_up:
            held = rate
        else:
            missed = rate
    return held, missed


def confirm(attempt: Callable[[float], Tried], missed_pps: float, highest_pps: float) -> tuple[float | None, float | None]:
    """Return (highest rate kept up with, lowest one missed) of a further process. It begins at the rate that others missed and only goes up."""
    if not attempt(missed_pps).kept_up:
        return None, missed_pps
    if missed_pps >= highest_pps:
        return missed_pps, None
    held, missed = bracket(attempt, missed_pps, highest_pps)
    return held or missed_pps, missed


def reason(ceiling: Ceiling, plan: Plan, load: Load) -> str:
    """Return why ``load`` is left out; empty if it is tried."""
    span, limit = span_of(plan, load), ceiling.limit_pps
    if span is None or limit is None or span[0] <= limit:
        return ""
    return f"above the client's ceiling: {words(ceiling)}"


def words(ceiling: Ceiling) -> str:
    """Return a ceiling in words: rate, margin, and number of processes and trials."""
    missed = ceiling.missed_pps
    processes = f"{ceiling.processes} fresh process{'' if ceiling.processes == 1 else 'es'}"
    if missed is None:
        return f"the client kept up with {_mpps(ceiling.asked_pps)}, the highest rate of the plan ({processes})"
    held = f"kept up with {_mpps(ceiling.held_pps)} but not with {_mpps(missed)}" if ceiling.held_pps is not None else f"missed {_mpps(missed)}"
    best = f"the best of {processes}" if ceiling.processes > 1 else processes
    return (
        f"on the null workload the client {held} ({best}, {TRIES} trials at each rate); loads up to {100 * ceiling.margin:.0f} % above that are tried"
    )


def _mpps(rate_pps: float) -> str:
    return f"{significant(rate_pps / 1e6, 3)} Mpps"
