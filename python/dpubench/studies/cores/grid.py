"""The simulations behind a verdict on a claim: a kernel's rate at each clock and step of an organisation, on one model, under one variant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dpubench.analysis.model import Interval
from dpubench.studies.cores import lines
from dpubench.studies.cores.model import PointSummary
from dpubench.studies.cores.verdicts import Count
from dpubench.studies.modelled.versus import ratio_of

#: Roles of kernels in the paper.
LOOKUP = "lookup"
MD5 = "md5"
ROLES = (LOOKUP, MD5)


#: Organisation, step and clock in MHz.
Place = tuple[str, int, float]


class Missing(Exception):
    """The error that a claim cannot be judged. Its text names the missing simulation."""


@dataclass(frozen=True)
class Grid:
    """The points of one model that claims read. ``kernels`` maps each role to its kernel.

    The methods see only points of this variant that were simulated and have one unit set per step.
    """

    points: tuple[PointSummary, ...]
    kernels: Mapping[str, str]
    message_bytes: Mapping[str, float]  #: bytes that a message of each role takes on a line
    variant: str
    latencies: Mapping[str, int] = field(default_factory=dict)  #: kind of instruction -> cycles until a dependent one can issue

    def at(self, role: str, organisation: str, step: int, clock_mhz: float) -> PointSummary | None:
        """Return the point at this place, or None if it was not simulated."""
        return self._places.get((role, organisation, step, clock_mhz))

    def point(self, role: str, organisation: str, step: int, clock_mhz: float) -> PointSummary:
        """Return the point at this place. @raises Missing"""
        found = self.at(role, organisation, step, clock_mhz)
        if found is None:
            raise Missing(f"{role} on {organisation} with {step} at {clock_mhz:g} MHz")
        return found

    def rate(self, role: str, organisation: str, step: int, clock_mhz: float) -> Interval:
        """Return messages per second. @raises Missing"""
        rate = self.point(role, organisation, step, clock_mhz).messages_per_s
        assert rate is not None  # _places holds only such points
        return rate

    def ratio(self, role: str, old: Place, new: Place) -> Interval:
        """Return the rate at ``new`` over that at ``old``. @raises Missing

        Samples of the same messages give a ratio without an interval: only the processors differ.
        """
        one, other = self.point(role, *old), self.point(role, *new)
        rates = self.rate(role, *old), self.rate(role, *new)
        if (one.messages, one.contexts * one.cores) == (other.messages, other.contexts * other.cores) and rates[0].value:
            return Interval(rates[1].value / rates[0].value, math.nan, math.nan)
        return ratio_of(*rates)

    def clocks(self, role: str, organisation: str) -> list[float]:
        """Return the clocks at which a role was simulated on ``organisation``, ascending. @raises Missing"""
        return [float(clock) for clock in self._values(3, role, organisation)]

    def steps(self, role: str, organisation: str, clock_mhz: float) -> list[int]:
        """Return the steps with which a role was simulated at this clock, ascending. @raises Missing"""
        return [int(step) for step in self._values(2, role, organisation, clock_mhz)]

    def sustained(self, points: Iterable[PointSummary], role: str, line_gbps: float) -> Count:
        """Return how many of ``points`` sustain a line, with this grid's bytes of a message."""
        answers = [lines.sustains(self._gbps(point, role), line_gbps) for point in points]
        return Count(answers.count("yes"), answers.count("undecided"), len(answers))

    def _gbps(self, point: PointSummary, role: str) -> Interval:
        assert point.messages_per_s is not None  # _places holds only such points
        return lines.line_rate_gbps(point.messages_per_s, self.message_bytes[role], 0)

    def _values(self, index: int, role: str, organisation: str, clock_mhz: float | None = None) -> list[float]:
        found = {place[index] for place in self._places if place[:2] == (role, organisation) and clock_mhz in (None, place[3])}
        if not found:
            raise Missing(f"{role} on {organisation}" + ("" if clock_mhz is None else f" at {clock_mhz:g} MHz"))
        return sorted(float(value) for value in found)

    @cached_property
    def _places(self) -> dict[tuple[str, str, int, float], PointSummary]:
        roles = {kernel: role for role, kernel in self.kernels.items()}
        return {
            (roles[p.kernel], p.organisation, p.step, p.clock_mhz): p
            for p in self.points
            if p.kernel in roles and p.variant == self.variant and p.messages_per_s is not None and p.unit_sets == p.step
        }
