"""Selects the engines to measure: of each set of candidates those that forward most in a short flood.

One choice holds for every frame size and for all placements whose link ends at the same machine. Frame sizes and placements stand side by side, and
must do the same work. There is a flood of the smallest and one of the largest frames, and the geometric mean of both rates decides.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dpubench.studies.end_to_end.expand import Configuration

#: Length of a trial that chooses an engine, in seconds.
FLOOD_S: Final = 0.2
#: Largest share of the remaining time for the choice: it is no measurement, and must not use up a short budget.
SHARE: Final = 0.25


@dataclass
class Selection:
    """The result of all choices."""

    rates: dict[str, int] = field(default_factory=dict)  #: flooded configuration -> packets per second
    chosen: dict[str, dict[str, int]] = field(default_factory=dict)  #: chosen configuration -> rates of all candidates of its choice
    dropped: set[str] = field(default_factory=set)
    by_default: int = 0  #: choices for which no time was left


#: The candidates of one choice: engines -> the configurations that have them, the default engines first.
Candidates = dict[tuple[tuple[str, str], ...], list[Configuration]]


def candidates_of(configurations: Sequence[Configuration]) -> list[Candidates]:
    """Return the choices to make among ``configurations``."""
    choices: dict[tuple[Any, ...], Candidates] = {}
    for configuration in configurations:
        if configuration.candidate and not configuration.unavailable:
            engines = tuple(sorted(configuration.engines.items()))
            choices.setdefault(configuration.rival, {}).setdefault(engines, []).append(configuration)
    return list(choices.values())


def flooded_of(configurations: Sequence[Configuration]) -> list[Configuration]:
    """Return the configurations to flood, out of those with the same engines: the smallest and the largest frames of the first placement."""
    first = [c for c in configurations if c.placement == configurations[0].placement]
    ordered = sorted(first, key=lambda c: c.frame_bytes)
    return [ordered[0], ordered[-1]] if len(ordered) > 1 else ordered


def choose(choices: Sequence[Candidates], flood: Callable[[Configuration], float | str], until_s: float, note: Callable[[str], None]) -> Selection:
    """Flood the candidates of each choice, and return the result of all choices.

    Args:
        flood: returns the packets per second that came back, or why nothing did
        until_s: end of the time, on the clock of :func:`time.monotonic`; later choices keep the default engines
        note: is told why a candidate cannot be chosen
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
