"""Pairs of runs of any studies that `dpubench compare` compares, and the runs that have no partner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dpubench import studies
from dpubench.analysis.model import Comparison
from dpubench.errors import EnvironmentFault, UserError
from dpubench.studies import Part

if TYPE_CHECKING:
    from dpubench.storage.runs import RunDirectory
    from dpubench.studies import Study


class Pair(NamedTuple):
    """Two runs of one study, or a run alone: for its own builds or targets, or because it has no partner."""

    study: Study
    old: RunDirectory | None
    new: RunDirectory | None
    reason: str = ""  #: why the run has no partner; empty if it needs none

    @property
    def title(self) -> str:
        """Return the study and the runs, each with the folder that it is in: both sides may have the same names."""
        runs = [f"{run.path.parent.name}/{run.path.name}" for run in (self.new, self.old) if run is not None]
        return f"study {self.study.name}: {' against '.join(runs)}"


def pairs(old: Sequence[RunDirectory], new: Sequence[RunDirectory] | None, names: tuple[str, str]) -> list[Pair]:
    """Return the pairs of ``old`` and ``new``, study by study; the runs of ``old`` alone if ``new`` is None. ``names`` are the user's for both sides.

    Runs of a study pair by name. What is left pairs if both sides have one run more of that study.
    """
    if new is None:
        return [Pair(studies.of_run(run), run, None) for run in old]
    found = []
    sides = [[(studies.of_run(run), run) for run in side] for side in (old, new)]
    for study in dict.fromkeys(study for side in sides for study, _ in side):
        before, after = ([run for of, run in side if of is study] for side in sides)
        common = {run.path.name for run in before} & {run.path.name for run in after}
        named = [(a, b) for a in before for b in after if a.path.name == b.path.name and a.path.name in common]
        rest = [[run for run in side if run.path.name not in common] for side in (before, after)]
        if len(rest[0]) == len(rest[1]) == 1:
            named, rest = [*named, (rest[0][0], rest[1][0])], [[], []]
        found += [Pair(study, a, b) for a, b in named]
        found += [Pair(study, run, None, _alone(study, names[1], after)) for run in rest[0]]
        found += [Pair(study, None, run, _alone(study, names[0], before)) for run in rest[1]]
    return found


def _alone(study: Study, side: str, others: Sequence[RunDirectory]) -> str:
    """Return why a run has no partner on ``side``, whose runs of its study are ``others``."""
    if not others:
        return f"{side} has no run of study {study.name}: only runs of one study can be compared"
    return f"{side} has other runs of study {study.name} ({', '.join(run.path.name for run in others)}): name two runs to compare them"


def compared(chosen: Sequence[Pair], effects: Mapping[str, float], best: bool | None) -> list[tuple[Pair, list[Part]]]:
    """Return the comparisons of each pair, by the smallest effect of its study. A pair that cannot be compared has one row, which says why.

    @raises UserError with every reason when no pair can be compared
    """
    found, refusals = [], []
    for pair in chosen:
        try:
            parts = _compared(pair, effects[pair.study.name], best)
        except EnvironmentFault:
            raise
        except UserError as error:
            refusals.append(str(error))
            parts = [Part("", [Comparison("every configuration", None, None, None, "not comparable", None, str(error))])]
        found.append((pair, parts))
    if len(refusals) == len(found):
        raise UserError("; ".join(dict.fromkeys(refusals)))
    return found


def _compared(pair: Pair, effect: float, best: bool | None) -> list[Part]:
    """Return the comparisons of ``pair``. @raises UserError when there are none"""
    if pair.old is None or pair.reason:
        raise UserError(pair.reason)
    before, after = pair.study.summaries(pair.old.path), pair.study.summaries(pair.new.path) if pair.new is not None else None
    if after is None and len(before) == 1 and best:
        raise UserError("--best-engine needs two runs: name NEW too")
    return pair.study.compare(before, after, effect, best)
