"""Pairs the runs given to ``dpubench compare`` and compares each pair."""

from __future__ import annotations

from collections.abc import Sequence

from dpubench.analysis.model import Comparison
from dpubench.errors import UserError
from dpubench.studies import Part
from dpubench.studies.operators import comparison
from dpubench.studies.operators.model import RunSummary


def compared(before: Sequence[RunSummary], after: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
    """Return the comparisons. ``best``: compare best engine with best engine; None if the user did not say. @raises UserError"""
    if after is None:
        live = [(run, rows) for run in before if (rows := comparison.compare_builds(run, effect))]
        if live:
            return [Part(run.target if len(before) > 1 else "", rows) for run, rows in live]
        base = next((run for run in before if run.is_baseline), before[0])
        others = [run for run in before if run is not base]
        if not others:
            raise UserError(f"{base.path}: this run has one build and one target: name a second run, or measure with `dpubench run --against BUILD`")
        return [
            Part(f"{run.target} against {base.target}", _nothing(run) or comparison.compare(base, run, effect, best_engine=best is not False), True)
            for run in others
        ]
    if len(before) == len(after) == 1:
        apart = before[0].target != after[0].target
        best = apart if best is None else best
        rows = comparison.compare(before[0], after[0], effect, best_engine=best)
        return [Part("", rows, apart, movement=comparison.movement(before[0], after[0], best_engine=best))]
    # A run of one target is compared with the same target of a set.
    shared = {run.target for run in before} & {run.target for run in after}
    if not shared:
        raise UserError("these runs have no target in common: name one target of each, as NAME@local and OTHER@bf2")
    if min(len(before), len(after)) == 1:
        before, after = ([run for run in side if run.target in shared] for side in (before, after))
    moved = {run.target: comparison.movement(run, other, best_engine=bool(best)) for run in before for other in after if run.target == other.target}
    compared_targets = comparison.compare_targets(before, after, effect, best_engine=bool(best))
    return [Part(target, rows, movement=moved.get(target)) for target, rows in compared_targets]


def _nothing(run: RunSummary) -> list[Comparison]:
    """Return one row with the reason if ``run`` has nothing to compare, else an empty list."""
    reason = run.label if run.times_mean_nothing else "" if run.points else f"nothing was measured: {run.lost or run.status}"
    return [Comparison("every configuration", None, None, None, "not comparable", None, reason)] if reason else []
