"""The figures of a run of figures: the quantities that its record declares."""

from __future__ import annotations

from dpubench.analysis.figures import of_point
from dpubench.analysis.model import Figure
from dpubench.studies.measured.model import RunSummary


def figures(run: RunSummary) -> list[Figure]:
    """Return the figures of every point of ``run``. Times of an emulated target mean nothing, so it has no intervals."""
    emulated = run.origin == "emulated"
    return [
        figure
        for point in run.points
        for figure in of_point(
            run, point.id, point.parameters, [(q, None if emulated else point.figures.get(q.name)) for q in run.quantities], origin=run.origin,
            labels=[run.label], warnings=[w.code for w in point.warnings], failure=point.failure,
            unavailable=point.unavailable or (run.label if emulated else ""),
        )
    ]  # fmt: skip
