"""Charts that a study of figures declares in the module ``charts`` of its folder (``CHARTS``): a quantity over a parameter."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpubench.report.figures import triple
from dpubench.studies.measured.model import PointSummary, RunSummary


@dataclass(frozen=True)
class Chart:
    """A quantity of some points over one of their parameters, with a line for every combination of the others."""

    title: str
    quantity: str
    over: str  #: parameter of the horizontal axis: a line for numbers, bars for words
    axis: str  #: words for that axis, with the unit
    where: Mapping[str, str] = field(default_factory=dict)  #: parameters of the points that it shows

    def shows(self, point: PointSummary) -> bool:
        return self.over in point.parameters and self.quantity in point.figures and self.where.items() <= point.parameters.items()


def declared(study: str) -> Sequence[Chart]:
    """Return the charts that a study declares; none where its folder has no module ``charts``."""
    name = f"dpubench.studies.{study.replace('-', '_')}.charts"
    return importlib.import_module(name).CHARTS if importlib.util.find_spec(name) else []


def drawn(run: RunSummary, charts: Sequence[Chart]) -> list[dict[str, Any]]:
    """Return those of ``charts`` that have a point in ``run``, as data for the page."""
    return [_drawn(run, chart, shown) for chart in charts if (shown := [p for p in run.points if chart.shows(p)])]


def _drawn(run: RunSummary, chart: Chart, shown: Sequence[PointSummary]) -> dict[str, Any]:
    quantity = next(q for q in run.quantities if q.name == chart.quantity)
    varying = [name for name in shown[0].parameters if name != chart.over and len({p.parameters.get(name) for p in shown}) > 1]
    lines: dict[str, list[dict[str, Any]]] = {}
    for point in shown:
        value, low, high = triple(point.figures[chart.quantity])
        entry = {"x": point.parameters[chart.over], "value": value, "low": low, "high": high, "rough": not point.converged}
        lines.setdefault(", ".join(f"{name} {point.parameters[name]}" for name in varying if name in point.parameters), []).append(entry)
    return {
        "title": chart.title, "axis": chart.axis, "quantity": f"{quantity.title}, {quantity.unit}", "better": quantity.better,
        "fixed": ", ".join(f"{k} {v}" for k, v in shown[0].parameters.items() if k not in varying and k not in {chart.over, *chart.where}),
        "numeric": all(_is_number(point.parameters[chart.over]) for point in shown),
        "lines": [{"name": name, "points": points} for name, points in lines.items()],
    }  # fmt: skip


def _is_number(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False
