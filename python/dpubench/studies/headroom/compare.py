"""Comparison of two runs of headroom, by the figures that are never zero: a ratio of what is left would be none where nothing is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpubench.studies import Part
from dpubench.studies.headroom.model import MAY_BE_ZERO, RunSummary
from dpubench.studies.measured import compare as measured


def compared(old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """Return the comparisons, see :meth:`dpubench.studies.Study.compare`. @raises UserError"""
    return measured.compared([_positive(run) for run in old], None if new is None else [_positive(run) for run in new], effect, best)


def _positive(run: RunSummary) -> RunSummary:
    return replace(run, quantities=[quantity for quantity in run.quantities if quantity.name not in MAY_BE_ZERO])
