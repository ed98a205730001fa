"""The points of a run of stress-ng: a stressor, and the time for which it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpubench.studies.measured import model as measured


@dataclass(frozen=True)
class Point(measured.Point):
    """A stressor to run for a given time."""

    seconds: float = 0.0

    def record(self) -> dict[str, Any]:
        return {**super().record(), "spared": ""}


def point(stressor: str, seconds: float, unavailable: str = "") -> Point:
    """Return the point of ``stressor`` at a duration of ``seconds``."""
    duration = f"{seconds:g}s"
    return Point(f"{stressor},{duration}", {"stressor": stressor, "duration": duration}, unavailable, seconds)


def described(
    version: str, instances: int, classes: Mapping[str, list[str]], as_root: Sequence[str] = ()
) -> dict[str, Any]:  # fmt: skip
    """Return what ``run.json`` says of stress-ng: ``instances`` of each stressor, ``classes`` by stressor, the stressors that run ``as_root``."""
    told = {name: list(of) for name, of in classes.items()}
    return {"version": version, "instances": instances, "classes": told, "as_root": list(as_root)}
