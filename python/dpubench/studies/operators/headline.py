"""The main figure of a configuration: its best engine beside the next best engine of another library.

A ratio to dpubench's own plain code tells only how slow that code is. A reader who chooses a library wants to know the gain of the best one over the
next best, so that terminal, report and export show this ratio first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from dpubench.studies.operators.model import PointSummary

#: Common name of engines without a library.
OWN_CODE: Final = "plain code of dpubench"


def library_of(engine: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the family that ``engine`` shares with its variants: the name of its library without the version, or a substitute.

    ``entries`` are the operator's engines in the catalog, by name. Engines of dpubench without a library are one family. A device is a family of its
    own, whatever library reaches it. An engine that is missing in the catalog, or that belongs to another program and names no library, is a family
    of its own too.
    """
    entry = entries.get(engine)
    if entry is None or _is_device(entry):
        return engine
    words = takewhile(lambda word: not word[0].isdigit(), str(entry.get("library", "")).split())
    return " ".join(words).lower() or (engine if entry.get("program") else OWN_CODE)


def _is_device(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("in_flight")) and not entry.get("software_device")


def best_and_next(rates: Mapping[str, float], entries: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """Return the fastest of ``rates`` and the fastest one of another library, as keys of ``rates``; "" where there is none.

    A key may hold the jobs in flight: ``cryptodev~128`` is engine ``cryptodev``. A software driver of a device API calls a library that is an engine
    of its own, so that it is never the next best.
    """
    ordered = sorted((word for word in rates if math.isfinite(rates[word])), key=lambda word: -rates[word])
    if not ordered:
        return "", ""
    own = library_of(_engine(ordered[0]), entries)

    def is_another(word: str) -> bool:
        engine = _engine(word)
        return library_of(engine, entries) != own and not entries.get(engine, {}).get("software_device")

    return ordered[0], next((word for word in ordered[1:] if is_another(word)), "")


def _engine(word: str) -> str:
    """Return the engine of a word that may end in its jobs in flight."""
    engine, tilde, jobs = word.rpartition("~")
    return engine if tilde and jobs.isdigit() else word


def engines_of(operator: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the engines of an operator's catalog entry by name."""
    return {str(entry["name"]): entry for entry in operator.get("engines", [])}


def dropped_unseen(configurations: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], list[str]]:
    """Return, per configuration, the engines that a selection round of an earlier version dropped without keeping the next best.

    ``configurations`` come from ``run.json``. The key is :attr:`~dpubench.studies.operators.model.PointSummary.configuration`.
    """
    found: dict[tuple[Any, ...], list[str]] = {}
    for entry in configurations:
        dropped = [_engine(word) for word in entry.get("candidates", []) if word in entry.get("not_measured", {})]
        if dropped and "next_best" not in entry:
            params = tuple(sorted((str(k), str(v)) for k, v in entry["params"].items()))
            found[entry["operator"], params, int(entry["threads"]), int(entry["burst"]), str(entry["footprint"])] = list(dict.fromkeys(dropped))
    return found


def set_next_best(
    points: Sequence[PointSummary], operators: Mapping[str, Mapping[str, Any]], dropped: Mapping[tuple[Any, ...], Sequence[str]]
) -> list[tuple[int, int]]:
    """Mark the best point of each configuration, target and build, set its next best, and return both as indices of ``points``.

    Only pairs with a next best are returned: the caller computes their ratio.
    """
    together: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    for index, point in enumerate(points):
        if point.primary is not None and not point.failure:
            together[point.configuration, point.target, point.build][point.engine_word] = index
    pairs = []
    for (configuration, _, _), members in together.items():
        entries = engines_of(operators.get(configuration[0], {}))
        rates = {word: _rate(points[index]) for word, index in members.items()}
        best, beside = best_and_next(rates, entries)
        if not best:
            continue
        top = points[members[best]]
        top.is_best, top.next_best = True, beside
        own = library_of(top.engine, entries)
        top.next_best_unmeasured = [engine for engine in dropped.get(configuration, ()) if library_of(engine, entries) != own]
        if beside:
            pairs.append((members[best], members[beside]))
    return pairs


def _rate(point: PointSummary) -> float:
    return point.primary.value if point.primary is not None else math.nan
