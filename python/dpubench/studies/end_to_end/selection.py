"""Which engines are measured: of each set of candidates those that forward most in a short flood.

One choice holds for every frame size and for all placements whose link ends at the same machine: frame sizes and placements are set side by side, and
would not be the same work otherwise. The flood is of the smallest and of the largest frames, and the geometric mean of both rates decides.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dpubench.studies.end_to_end.expand import Configuration

#: A trial by which an engine is chosen, as long as this.
FLOOD_S: Final = 0.2
#: Of the time that is left choosing takes so much at most: it is no measurement, and a short budget is not spent on it.
SHARE: Final = 0.25


@dataclass
class Selection:
    """What was chosen."""

    rates: dict[str, int] = field(default_factory=dict)  #: of what was flooded, configuration -> packets per second
    chosen: dict[str, dict[str, int]] = field(default_factory=dict)  #: configuration -> rates of all that it was chosen from
    dropped: set[str] = field(default_factory=set)
    by_default: int = 0  #: choices for which there was no time


#: Of one choice: engines -> the configurations that have them, the default engines first.
Candidates = dict[tuple[tuple[str, str], ...], list[Configuration]]


def candidates_of(configurations: Sequence[Configuration]) -> list[Candidates]:
    """The choices that there are."""
    choices: dict[tuple[Any, ...], Candidates] = {}
    for configuration in configurations:
        if configuration.candidate and not configuration.unavailable:
            engines = tuple(sorted(configuration.engines.items()))
            choices.setdefault(configuration.rival, {}).setdefault(engines, []).append(configuration)
    return list(choices.values())


def flooded_of(configurations: Sequence[Configuration]) -> list[Configuration]:
    """Those of the same engines that are flooded: of the first placement the smallest and the largest frames."""
    first = [c for c in configurations if c.placement == configurations[0].placement]
    ordered = sorted(first, key=lambda c: c.frame_bytes)
    return [ordered[0], ordered[-1]] if len(ordered) > 1 else ordered


def choose(choices: Sequence[Candidates], flood: Callable[[Configuration], float | str], until_s: float, note: Callable[[str], None]) -> Selection:
    """Floods the candidates of each choice.

    Args:
        flood: packets per second that came back, or why nothing did
        until_s: on the clock of :func:`time.monotonic`; for what comes later the default engines are kept
    """
    selection = Selection()
    for candidates in choices:
        scores: dict[tuple[tuple[str, str], ...], float] = {}
        in_time = time.monotonic() < until_s
        for engines, configurations in candidates.items() if in_time else ():
            rates: list[float] = []
            for configuration in flooded_of(configurations):
                found = flood(configuration)
                if isinstance(found, str):
                    note(f"not chosen: {configuration.id}: {found}")
                    rates = []
                    break
                selection.rates[configuration.id] = round(found)
                rates.append(found)
            if rates and min(rates) > 0:
                scores[engines] = statistics.geometric_mean(rates)
        best = max(candidates, key=lambda engines: scores.get(engines, -1.0))
        selection.by_default += not in_time
        told = {c.id: selection.rates[c.id] for found_of in candidates.values() for c in found_of if c.id in selection.rates}
        selection.chosen |= {configuration.id: told for configuration in candidates[best]}
        selection.dropped |= {c.id for engines, found_of in candidates.items() if engines != best for c in found_of}
    return selection
