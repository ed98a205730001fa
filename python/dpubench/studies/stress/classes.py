"""The classes of stressors of one version of stress-ng, for results whose stress-ng cannot be asked."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


@cache
def _table() -> tuple[str, dict[str, list[str]]]:
    content = json.loads(resources.files(__package__).joinpath("classes.json").read_text(encoding="utf-8"))
    return content["version"], content["classes"]


def version() -> str:
    """Return the version of stress-ng whose classes these are."""
    return _table()[0]


def of(stressor: str) -> list[str]:
    """Return the classes of ``stressor``; none for one that this version does not have."""
    return list(_table()[1].get(stressor, []))
