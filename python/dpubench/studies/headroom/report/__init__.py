"""The report of study ``headroom``: one offline HTML file, in the page frame that all studies share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dpubench.report.figures import rounded, triple
from dpubench.report.frame import TABLES, Section
from dpubench.studies.headroom import model, text
from dpubench.studies.headroom.model import PointSummary, RunSummary
from dpubench.studies.headroom.plan import packet_text
from dpubench.studies.headroom.points import placed
from dpubench.studies.measured import report as measured
from dpubench.studies.measured.text import remarks

HERE: Final = Path(__file__).parent


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the run that comes first. @raises ValueError without runs, or if none has that name"""
    page = measured.build(list(runs), baseline)
    crossing = any(point.placement == "embedded" for run in runs for point in run.points)
    page.measured = f"CPU time left while transmitting{' or forwarding' if crossing else ''}" + (
        "" if any(not run.imported for run in runs) else ", from recorded sweeps"
    )
    found = [run for part in page.parts for run in runs if run is part.run]
    page.data = {"study": "headroom", "runs": [_data(run) for run in found]}
    filters: dict[str, Callable[..., Any]] = {
        "bytes": lambda size: packet_text(int(size)), "limit_words": text.limit_words, "placed": placed, "remarks": remarks, "mpps": _mpps,
        "fit_lines": text.fit_lines, "shown_quantities": text.shown_quantities,
    }  # fmt: skip
    return Section("headroom", page, HERE, filters, styles=(TABLES,))


def _mpps(selection: model.Selection) -> float:
    """Return the highest rate of a packet size in million packets per second."""
    return selection.gbps * 1e3 / (8 * selection.size)


def _data(run: RunSummary) -> dict[str, Any]:
    """Return the data of a run's figures: curves over the delay, and shares over the packet size."""
    curves: dict[str, list[PointSummary]] = defaultdict(list)
    shares: dict[str, dict[str, list[PointSummary]]] = defaultdict(lambda: defaultdict(list))
    for point in run.points:
        if point.figures:
            if point.samples:
                curves[_setting(point)].append(point)
            shares[point.parameters["rate"]][_series(point)].append(point)
    return {
        "name": run.name, "label": run.label, "tolerance": run.tolerance, "imported": run.imported,
        "curves": [{"title": title, "lines": [_curve(point) for point in of]} for title, of in curves.items()],
        "shares": [
            {"rate": rate, "lines": [{"name": name, "points": [_share(point) for point in _by_size(of)]} for name, of in series.items()]}
            for rate, series in shares.items()
        ],
    }  # fmt: skip


def _setting(point: PointSummary) -> str:
    """Return what the curves of one figure share: all but the kind of work."""
    own = point.parameters
    more = [f"{own['threads']} threads, bursts of {own['burst']}"] if "threads" in own else []
    more += [f"each packet sent {own['reuse']} times"] if own.get("reuse", "1") != "1" else []
    return ", ".join([placed(own["backend"], point.placement), packet_text(int(own["size"])), *more, f"rate {own['rate']}"])


def _series(point: PointSummary) -> str:
    own = point.parameters
    more = [f"{own['threads']} threads"] if "threads" in own else []
    return ", ".join([placed(own["backend"], point.placement), own["work"], *more, *([f"x{own['reuse']}"] if own.get("reuse", "1") != "1" else [])])


def _by_size(points: list[PointSummary]) -> list[PointSummary]:
    return sorted(points, key=lambda point: int(point.parameters["size"]))


def _curve(point: PointSummary) -> dict[str, Any]:
    return {
        "work": point.work, "wanted": rounded(point.wanted_gbps), "edge": triple(point.figures.get(model.DELAY)),
        "samples": [[rounded(s.delay_us), rounded(s.gbps), rounded(s.low_gbps), rounded(s.high_gbps), s.number] for s in point.samples],
    }  # fmt: skip


def _share(point: PointSummary) -> list[Any]:
    return [int(point.parameters["size"]), *triple(point.figures.get(model.LEFT))]
