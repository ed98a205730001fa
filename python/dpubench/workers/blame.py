"""The search for the point at work when a worker died, from the order in which the contract prepares, verifies and measures points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpubench.workers.checks import Event


class Blame:
    """A follower of a worker's events, which knows its groups' points in job order."""

    def __init__(self, groups: Mapping[str, Sequence[str]], cycles: int) -> None:
        self._groups = {group: list(points) for group, points in groups.items()}
        self._cycles = cycles
        self._prepared: set[str] = set()
        self._verified: set[str] = set()
        self._failed: set[str] = set()
        self._windows: dict[str, int] = {}
        self._last_window = ""
        self._current = ""

    def see(self, event: Event) -> None:
        """Record an event."""
        group, point, kind = event.get("group", ""), event.get("point", ""), event["event"]
        if group in self._groups:
            self._current = group
        if kind == "prepared":
            self._prepared.add(point)
        elif kind == "verified":
            self._verified.add(point)
        elif kind == "failure":
            self._failed.update([point] if point else self._groups.get(group, []))
        elif kind == "window" and not point.startswith("canary-"):
            self._windows[point] = self._windows.get(point, 0) + 1
            self._last_window = point

    def finished(self, group: str) -> bool:
        """Return whether every point of ``group`` has all its windows or failed."""
        return all(p in self._failed or self._windows.get(p, 0) >= 2 * self._cycles for p in self._groups[group])

    @property
    def started(self) -> bool:
        """Return whether any group was begun."""
        return bool(self._current)

    def suspects(self) -> list[str]:
        """Return the point at work; several where the events do not tell which; none when no group had begun.

        Events do not tell it in the warm-up cycle, whose windows are not reported.
        """
        if not self._current:
            return []
        group = self._current
        if self.finished(group):  # The worker died on the way to the next group.
            names = list(self._groups)
            group = next((g for g in names[names.index(group) + 1 :] if not self.finished(g)), "")
            if not group:
                return []
        points = [p for p in self._groups[group] if p not in self._failed]
        for point in points:
            if point in self._prepared and point not in self._verified:
                return [point]
        for point in points:
            if point not in self._prepared:
                return [point]
        if self._last_window not in points:
            return points
        # Windows go p1..pk, pk..p1: find the one after the last.
        index, done = points.index(self._last_window), self._windows[self._last_window]
        going_up = done % 2 == 1  # the first of its two windows of this cycle
        step = index + 1 if going_up else index - 1
        return [points[min(max(step, 0), len(points) - 1)]]
