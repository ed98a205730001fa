"""Tests of failures and warnings in a run's record: each stands once, none is longer than a page, and there are no more than a reader can take."""

from __future__ import annotations

from typing import Any

from dpubench import schemas
from dpubench.run.journal import MOST_LISTED, enlist


def test_what_is_listed_is_bounded_and_the_rest_is_counted() -> None:
    entries: list[dict[str, Any]] = []
    for number in range(MOST_LISTED + 500):
        enlist(entries, {"phase": "measure", "message": f"{number} " + "x" * 1_000_000, "point": "noisy"})
    assert enlist(entries, {"phase": "measure", "message": "once", "point": "quiet"})
    assert not enlist(entries, {"phase": "measure", "message": "once", "point": "quiet"})
    assert len(entries) == MOST_LISTED + 2 and max(len(e["message"]) for e in entries) < 4200
    (more,) = (e for e in entries if "unlisted" in e)
    assert more["unlisted"] == 500 and more["message"] == "500 more, which are not listed" and more["point"] == "noisy"
    items = schemas.schema("run")["properties"]["failures"]["items"]
    assert all(set(e) <= set(items["properties"]) for e in entries)
