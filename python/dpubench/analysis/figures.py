"""The figures of runs of all studies in one form, and their files: one row per figure, whatever its study.

Each study declares its quantities in the module ``figures`` of its folder, whose function ``figures`` gives its points in this form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dpubench.analysis import formats
from dpubench.analysis.export import words
from dpubench.analysis.model import AnalysedRun, Figure, Interval, Origin, Quantity

SCHEMA: Final = "dpubench.figures/1"
#: Why a figure has no value where nothing else is known, by its origin: a modelled figure is never said to be measured.
_NO_VALUE: Final[Mapping[Origin, str]] = {
    "measured": "not measured", "modelled": "not modelled", "emulated": "not counted", "imported": "not in the imported files"
}  # fmt: skip
_NOTHING: Final[Mapping[str, str]] = {}


def of_point(
    run: AnalysedRun, point: str, parameters: Mapping[str, Any], values: Iterable[tuple[Quantity, Interval | float | None]], *, origin: Origin,
    target: str = "", labels: Sequence[str] = (), warnings: Iterable[str] = (), failure: str = "", unavailable: str = "",
    notes: Mapping[str, str] = _NOTHING, why_none: Mapping[str, str] = _NOTHING,
) -> Iterator[Figure]:  # fmt: skip
    """Yield a figure for each quantity of ``values``, with its interval or the reason why there is none.

    A point with a ``failure`` has no interval: what failed once may have been wrong all along. ``target`` is that of the run by default. By name of
    a quantity, ``notes`` holds words that stand beside its figure together with the ``labels`` of the point, and ``why_none`` why it has no value.
    """
    text = {name: str(value) for name, value in parameters.items()}
    for quantity, value in values:
        interval = None if failure else _interval(value)
        reason = "" if interval is not None or failure else unavailable or why_none.get(quantity.name, _NO_VALUE[origin])
        beside = tuple(dict.fromkeys(filter(None, (*labels, notes.get(quantity.name, "") if interval is not None else ""))))
        yield Figure(
            run.study, run.name, point, text, target or run.target, quantity, interval, origin, beside, tuple(sorted(set(warnings))), failure, reason
        )


def _interval(value: Interval | float | None) -> Interval | None:
    """Return ``value`` as an interval, which has no ends where only a number is known; None where it is not finite."""
    if value is None:
        return None
    found = value if isinstance(value, Interval) else Interval(float(value), math.nan, math.nan)
    return found if math.isfinite(found.value) else None


def record(figure: Figure) -> dict[str, Any]:
    """Return ``figure`` as a flat record, with None for missing numbers."""
    quantity = figure.quantity
    return {
        "study": figure.study, "run": figure.run, "target": figure.target, "origin": figure.origin, "point": figure.point,
        "parameters": words(figure.parameters), "quantity": quantity.name, "title": quantity.title, "unit": quantity.unit,
        "better": quantity.better, **formats.spread("value", figure.interval), "labels": "; ".join(figure.labels),
        "warnings": " ".join(figure.warnings), "failure": figure.failure, "unavailable": figure.unavailable,
    }  # fmt: skip


def csv(figures: Iterable[Figure]) -> str:
    """Return CSV with a header line and one row per figure; a missing number is an empty field."""
    return formats.csv_of([record(figure) for figure in figures])


def json_of(figures: Iterable[Figure]) -> str:
    """Return JSON with one object per figure; parameters are an object, labels and warnings are lists."""
    found = [
        {**record(figure), "parameters": dict(figure.parameters), "labels": list(figure.labels), "warnings": list(figure.warnings)}
        for figure in figures
    ]
    return json.dumps({"schema": SCHEMA, "figures": found}, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
