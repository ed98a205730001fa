"""The simulations behind a verdict on a claim: a kernel's rate at each clock and step of an organisation, on one model, under one variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dpubench.studies.cores import lines
from dpubench.studies.cores.model import PointSummary

#: Roles of kernels in the paper.
LOOKUP = "lookup"
MD5 = "md5"
ROLES = (LOOKUP, MD5)


class Missing(Exception):
    """The error that a claim cannot be judged. Its text names the missing simulation."""


@dataclass(frozen=True)
class Grid:
    """The points of one model that claims read. ``kernels`` maps each role to its kernel.

    The methods see only points of this variant that were simulated and have one unit set per step.
    """

    points: tuple[PointSummary, ...]
    kernels: Mapping[str, str]
    overhead_bytes: int
    variant: str

    def at(self, role: str, organisation: str, step: int, clock_mhz: float) -> PointSummary | None:
        """Return the point at this place, or None if it was not simulated."""
        return self._places.get((role, organisation, step, clock_mhz))

    def rate(self, role: str, organisation: str, step: int, clock_mhz: float) -> float:
        """Return messages per second. @raises Missing"""
        point = self.at(role, organisation, step, clock_mhz)
        if point is None or point.messages_per_s is None:
            raise Missing(f"{role} on {organisation} with {step} at {clock_mhz:g} MHz")
        return point.messages_per_s.value

    def clocks(self, organisation: str) -> list[float]:
        """Return the clocks at which every role was simulated on ``organisation``, ascending. @raises Missing"""
        return [float(clock) for clock in self._common(3, organisation, "clock")]

    def steps(self, organisation: str, clock_mhz: float) -> list[int]:
        """Return the steps with which every role was simulated at this clock, ascending. @raises Missing"""
        return [int(step) for step in self._common(2, organisation, "step", clock_mhz)]

    def all(self, role: str, organisation: str) -> list[PointSummary]:
        """Return every point of a role on an organisation. @raises Missing"""
        found = [p for (r, o, _, _), p in self._places.items() if (r, o) == (role, organisation)]
        if not found:
            raise Missing(f"{role} on {organisation}")
        return found

    def gbps(self, point: PointSummary) -> float:
        """Return the line rate in Gb/s that a point sustains, with this grid's overhead per frame."""
        assert point.messages_per_s is not None  # _places holds only such points
        return lines.line_rate_gbps(point.messages_per_s, point.frame_bytes, self.overhead_bytes).value

    def _common(self, index: int, organisation: str, what: str, clock_mhz: float | None = None) -> list[float]:
        found = [{place[index] for place in self._places if place[:2] == (role, organisation) and clock_mhz in (None, place[3])} for role in ROLES]
        shared = sorted(float(value) for value in set.intersection(*found))
        if not shared:
            raise Missing(f"{LOOKUP} and {MD5} on {organisation} at a common {what}")
        return shared

    @cached_property
    def _places(self) -> dict[tuple[str, str, int, float], PointSummary]:
        roles = {kernel: role for role, kernel in self.kernels.items()}
        return {
            (roles[p.kernel], p.organisation, p.step, p.clock_mhz): p
            for p in self.points
            if p.kernel in roles and p.variant == self.variant and p.messages_per_s is not None and p.unit_sets == p.step
        }
