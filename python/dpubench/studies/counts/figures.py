"""The figures of study ``counts``: instructions counted under an emulator, and the cycles that a processor model needs for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from dpubench.analysis.figures import of_point
from dpubench.analysis.model import Figure, Interval, Quantity
from dpubench.studies.counts.model import PointSummary, RunSummary
from dpubench.studies.counts.wording import repeats_text

INSTRUCTIONS: Final = Quantity("instructions_per_op", "instructions per operation", "instructions", "less")
CYCLES: Final = Quantity("modelled_cycles_per_op", "modelled cycles per operation", "cycles", "less")


def figures(run: RunSummary) -> list[Figure]:
    """Return the figures of every point of ``run``. Instructions are counted under an emulator, cycles are modelled."""
    return [figure for point in run.points for figure in _of(point, run)]


def _of(point: PointSummary, run: RunSummary) -> Iterator[Figure]:
    # Two or three counts that differ give no 95 % interval; the label tells how they differ.
    counted = Interval(point.per_op, math.nan, math.nan) if point.there else None
    parameters = {"operator": point.operator, **point.params, "burst": point.burst, "footprint": point.footprint, "engine": point.engine}
    about = (run, point.id, parameters)
    labels = [run.label, repeats_text(point)]
    yield from of_point(*about, [(INSTRUCTIONS, counted)], origin="emulated", labels=labels, failure=point.failure, unavailable="not counted")
    why = point.no_cycles or "the plan names no processor model"
    cycles = [(CYCLES, point.cycles_per_op)]
    yield from of_point(*about, cycles, origin="modelled", labels=[run.model, *run.model_labels], failure=point.failure, unavailable=why)
