"""The figures of a run of study ``offload``; an efficiency that is withheld has its reason."""

from __future__ import annotations

from dpubench.analysis.figures import of_point
from dpubench.analysis.model import Figure
from dpubench.studies.offload.model import RunSummary


def figures(run: RunSummary) -> list[Figure]:
    """Return the figures of every point of ``run``."""
    return [
        figure
        for point in run.points
        for figure in of_point(
            run, point.id, point.parameters, [(q, point.figures.get(q.name)) for q in run.quantities], origin=run.origin, labels=[run.label],
            warnings=[w.code for w in point.warnings], failure=point.failure, unavailable=point.unavailable, why_none=point.withheld,
        )
    ]  # fmt: skip
