"""The figures of a run of stress-ng in the form that all studies share: rate and CPU time of each stressor."""

from __future__ import annotations

from dataclasses import replace

from dpubench.analysis.model import Figure
from dpubench.studies.measured import figures as measured
from dpubench.studies.stress.model import RunSummary


def figures(run: RunSummary) -> list[Figure]:
    """Return the figures of every point of ``run``; those that adaptive mode did not need say so."""
    spared = {point.id: point.spared for point in run.points if point.spared}
    return [replace(figure, unavailable=spared[figure.point]) if figure.point in spared else figure for figure in measured.figures(run)]
