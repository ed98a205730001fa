"""Tests of the choice of the best engines: once for every frame size and placement, within a share of the budget."""

from __future__ import annotations

import math
import time

from dpubench.studies.end_to_end import selection
from dpubench.studies.end_to_end.expand import Configuration

ENGINES = ("first", "second", "third")


def configurations(placements: tuple[str, ...] = ("all-host", "split")) -> list[Configuration]:
    return [
        Configuration("application", {}, {"stage": engine}, placement, "memif", frame, 1, [[]], candidate=True)
        for placement in placements
        for frame in ("1518", "64", "imix")
        for engine in ENGINES
    ]


def rate_of(configuration: Configuration) -> float:
    """Return a rate: the second engine is fastest with small frames, the third with large ones, by fewer packets per second."""
    return {"first": {"64": 3e6, "1518": 1e6}, "second": {"64": 8e6, "1518": 1e6}, "third": {"64": 2e6, "1518": 3e6}}[configuration.engines["stage"]][
        configuration.frame
    ]


def chosen(found: selection.Selection, among: list[Configuration]) -> set[str]:
    return {c.engines["stage"] for c in among if c.id not in found.dropped}


def test_one_choice_holds_for_all_frames_and_placements() -> None:
    among, flooded = configurations(), list[str]()

    def flood(configuration: Configuration) -> float:
        flooded.append(configuration.id)
        return rate_of(configuration)

    found = selection.choose(selection.candidates_of(among), flood, math.inf, print)
    assert chosen(found, among) == {"second"} and found.by_default == 0
    assert len(found.chosen) == 6 and all(rates == found.rates for rates in found.chosen.values())
    assert len(flooded) == 6 and all("/all-host/" in name and "/imix/" not in name for name in flooded)


def test_machines_are_chosen_for_apart() -> None:
    assert [len(c) for c in selection.candidates_of(configurations(("all-host", "all-device", "split")))] == [3, 3]
    assert [len(c) for c in selection.candidates_of(configurations(("split",)))] == [3]


def test_engines_that_do_not_run_at_every_size_are_not_chosen() -> None:
    among, told = configurations(), list[str]()

    def flood(configuration: Configuration) -> float | str:
        return "no room" if configuration.engines["stage"] == "second" and configuration.frame == "1518" else rate_of(configuration)

    found = selection.choose(selection.candidates_of(among), flood, math.inf, told.append)
    assert chosen(found, among) == {"third"}
    assert len(told) == 1 and "stage=second" in told[0] and told[0].endswith("no room")
    nothing = selection.choose(selection.candidates_of(among), lambda _: "no link", math.inf, told.append)
    assert chosen(nothing, among) == {"first"}, "the default engine is kept, and its own trials tell why nothing runs"


def test_without_time_the_default_engines_are_kept() -> None:
    among = configurations()
    found = selection.choose(selection.candidates_of(among), rate_of, time.monotonic() - 1, print)
    assert chosen(found, among) == {"first"} and found.by_default == 1 and not found.rates


def test_what_cannot_run_or_was_named_is_no_candidate() -> None:
    among = configurations()
    for configuration in among[:3]:
        configuration.unavailable = "no such engine"
    among[3].candidate = False
    (choice,) = selection.candidates_of(among)
    assert {c.id for found in choice.values() for c in found} == {c.id for c in among[4:]}
