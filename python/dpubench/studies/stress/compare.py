"""Comparison of two runs of stress-ng, stressor by stressor. Different versions of stress-ng are refused, or marked where a plan insists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpubench.analysis.model import Comparison
from dpubench.studies import Part
from dpubench.studies.measured import compare as measured
from dpubench.studies.stress import ranking
from dpubench.studies.stress.model import RunSummary


def compared(old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """Return the comparisons, see :meth:`dpubench.studies.Study.compare`. @raises UserError"""
    parts = measured.compared(old, new, effect, best)
    runs = [*old, *(new or [])]
    mixed = ranking.versions_differ(runs)
    if not mixed:
        return parts
    if any(run.mixed_versions for run in runs):
        return [part._replace(rows=[_marked(row, mixed) for row in part.rows]) for part in parts]
    why = f"{mixed}: their stressors do different work (--set mixed_versions=true in a plan, or at import, compares them all the same)"
    return [part._replace(rows=[_refused(row, why) for row in part.rows]) for part in parts]


def _marked(row: Comparison, mixed: str) -> Comparison:
    return row if row.verdict == "not comparable" else replace(row, reason="; ".join(filter(None, [f"mixed versions ({mixed})", row.reason])))


def _refused(row: Comparison, why: str) -> Comparison:
    return replace(row, ratio=None, verdict="not comparable", p_value=None, reason=why)
