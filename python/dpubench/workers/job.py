"""Jobs of ``dpubench-operators`` (schema ``dpubench.job/1``), built in this one place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from dpubench import schemas


class Window(TypedDict):
    """The length of a window, in milliseconds and bursts."""

    min_ms: float
    max_ms: float
    min_bursts: int
    threaded_min_ms: float


def point(name: str, engine: str, in_flight: int = 0) -> dict[str, Any]:
    """Return a point of a group. ``in_flight`` is the number of jobs to keep in flight; 0 leaves it to the engine."""
    return {"id": name, "engine": engine, **({"in_flight": in_flight} if in_flight else {})}


def group(
    name: str, operator: str, params: Mapping[str, str], points: Sequence[Mapping[str, Any]], *, threads: int, burst: int, footprint: str
) -> dict[str, Any]:
    """Return a group: one configuration and its points."""
    return {
        "id": name, "operator": operator, "params": dict(params), "threads": threads, "burst": burst, "footprint": footprint,
        "points": list(points),
    }  # fmt: skip


def job(
    groups: Sequence[Mapping[str, Any]],
    *,
    seed: int,
    number: int,
    control: str,
    inputs: Mapping[str, Sequence[str]],
    cpus: Sequence[int],
    window: Window,
    cycles: int,
    limit_s: float,
    canaries: bool = True,
    cache_directory: str = "",
    operations: int = 0,
) -> bytes:
    """Return a job in one line.

    ``number`` is the number of the round. The program keeps prepared data in ``cache_directory``, or nowhere if it is empty. ``operations`` belong
    to the control ``traced`` alone.
    """
    whole = {
        "schema": schemas.JOB,
        "seed": seed,
        "round": number,
        "control": control,
        **({"operations": operations} if operations else {}),
        "inputs": {kind: list(paths) for kind, paths in inputs.items()},
        **({"cache_dir": cache_directory} if cache_directory else {}),
        "cpus": list(cpus),
        "window": window,
        "cycles": cycles,
        "canaries": canaries,
        "time_limit_s": limit_s,
        "groups": list(groups),
    }
    return json.dumps(whole, separators=(",", ":")).encode() + b"\n"
