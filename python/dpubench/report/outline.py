"""The outline that the pages of all studies share: title, runs, warnings, failures, citation; and the order of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from dpubench.analysis.model import AnalysedRun
from dpubench.report.machine import bibtex
from dpubench.report.page import RunInfo, Trouble, WarningGroup
from dpubench.report.troubles import LISTED, Advice, warning_groups

_R = TypeVar("_R", bound=AnalysedRun)


def outline(
    runs: Sequence[AnalysedRun], infos: Sequence[RunInfo], advice: Advice, *, note: str | Sequence[str] = "Measured",
    warnings: Sequence[WarningGroup] | None = None,
    failures: Sequence[Trouble] | None = None, unavailable: Sequence[Trouble] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the fields of :class:`dpubench.report.page.Page` besides ``measured`` and ``data``; ``infos`` tells the names of ``runs`` on the page.

    ``note``: what was done, with the date behind it, in the citation; one for all runs or one each. ``warnings`` and ``failures`` are by default
    those that the runs themselves have, without those of their points.
    """
    named = [(run, info.name) for run, info in zip(runs, infos, strict=True)]
    failed = failures if failures is not None else [
        Trouble(name, f.point or f.group or "", f"{f.phase}: {f.message}") for run, name in named for f in run.failures
    ]  # fmt: skip
    return {
        "title": f"dpubench {runs[0].study}: {', '.join(info.name for info in infos)}", "all_runs": list(infos),
        "warnings": warning_groups(((name, w) for run, name in named for w in run.warnings), advice) if warnings is None else list(warnings),
        "failures": list(failed[:LISTED]), "failures_more": max(0, len(failed) - LISTED), "unavailable": list(unavailable),
        "bibtex": bibtex(runs, infos, [note] * len(runs) if isinstance(note, str) else note),
    }  # fmt: skip


def baseline_first(runs: Sequence[_R], baseline: str | None) -> list[_R]:
    """Return ``runs`` with the baseline in front: the first run that ``baseline`` names or that was made on it as a target.

    Without ``baseline`` it is the run that is marked as baseline, else the first. @raises ValueError without runs, or when no run is it
    """
    if not runs:
        raise ValueError("a report needs at least one run: name a run directory, or make one with dpubench run")
    named = [run for run in runs if (run.is_baseline if baseline is None else baseline in (run.name, run.path, run.target))]
    if baseline is not None and not named:
        known = ", ".join(run.name for run in runs)
        raise ValueError(f"baseline {baseline!r} is not among the runs of this report ({known}): name one of them with --baseline")
    first = named[0] if named else runs[0]
    return [first, *(run for run in runs if run is not first)]
