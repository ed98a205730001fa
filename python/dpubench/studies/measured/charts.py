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
    over: str  #: parameter of the horizontal axis: a line for numbers, bars for words; or another quantity: marks without lines
    axis: str  #: words for that axis, with the unit
    where: Mapping[str, str] = field(default_factory=dict)  #: parameters of the points that it shows
    least: int = 1  #: fewest places on the horizontal axis with which there is something to see
    by: Sequence[str] = ()  #: parameters that tell its lines apart; without any, all that differ

    def shows(self, point: PointSummary) -> bool:
        known = self.over in point.parameters or self.over in point.figures
        return known and self.quantity in point.figures and self.where.items() <= point.parameters.items()

    def place(self, point: PointSummary) -> str:
        """Return where ``point`` stands on the horizontal axis."""
        return point.parameters[self.over] if self.over in point.parameters else f"{point.figures[self.over].value:.6g}"


def declared(study: str) -> Sequence[Chart]:
    """Return the charts that a study declares; none where its folder has no module ``charts``."""
    name = f"dpubench.studies.{study.replace('-', '_')}.charts"
    return importlib.import_module(name).CHARTS if importlib.util.find_spec(name) else []


def drawn(run: RunSummary, charts: Sequence[Chart]) -> list[dict[str, Any]]:
    """Return those of ``charts`` that have a point in ``run``, as data for the page."""
    found = [(chart, [p for p in run.points if chart.shows(p)]) for chart in charts]
    return [_drawn(run, chart, shown) for chart, shown in found if shown and len({chart.place(p) for p in shown}) >= chart.least]


def _drawn(run: RunSummary, chart: Chart, shown: Sequence[PointSummary]) -> dict[str, Any]:
    quantity = next(q for q in run.quantities if q.name == chart.quantity)
    differing = [name for name in shown[0].parameters if name != chart.over and len({p.parameters.get(name) for p in shown}) > 1]
    varying = [name for name in differing if name in chart.by] if chart.by else differing
    lines: dict[str, list[dict[str, Any]]] = {}
    for point in shown:
        value, low, high = triple(point.figures[chart.quantity])
        entry = {"x": chart.place(point), "value": value, "low": low, "high": high, "rough": not point.converged}
        lines.setdefault(", ".join(f"{name} {point.parameters[name]}" for name in varying if name in point.parameters), []).append(entry)
    return {
        "title": chart.title, "axis": chart.axis, "quantity": ", ".join(filter(None, [quantity.title, quantity.unit])), "better": quantity.better,
        "fixed": ", ".join(f"{k} {v}" for k, v in shown[0].parameters.items() if k not in differing and k not in {chart.over, *chart.where}),
        "numeric": all(_is_number(chart.place(point)) for point in shown), "marks": chart.over not in shown[0].parameters,
        "note": "modelled, without intervals" if run.origin == "modelled" else "95 % intervals over rounds; hollow: not converged",
        "lines": [{"name": name, "points": points} for name, points in lines.items()],
    }  # fmt: skip


def _is_number(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False
