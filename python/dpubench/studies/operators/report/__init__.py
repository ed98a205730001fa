"""The report of study ``operators``: one offline HTML file, in the frame that the pages of all studies share."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dpubench.analysis import warnings
from dpubench.analysis.model import Comparison
from dpubench.analysis.verdicts import MIN_EFFECT
from dpubench.report.frame import Section
from dpubench.studies.operators import comparison
from dpubench.studies.operators.model import ENERGY, RunSummary
from dpubench.studies.operators.report import model
from dpubench.studies.operators.report.page import BEST, Page

HERE: Final = Path(__file__).parent


def section(runs: list[RunSummary], baseline: str | None = None, pairing: str = BEST) -> Section:
    """Return the report of ``runs``.

    ``baseline`` names one of the runs, or its target (default with several runs: the baseline of their set, else the first run). ``pairing`` is the
    comparison that the page shows at first: the best engine of each side (``best``) or the same engine on both (``same``).

    Raises :class:`ValueError` without runs or with a baseline that is not among them.
    """
    return section_of(model.build(runs, baseline, compare_best, warnings.advice, compare_builds, compare_same, pairing))


def section_of(page: Page) -> Section:
    return Section("operators", page, HERE, more={"energy": ENERGY})


def compare_best(baseline: RunSummary, run: RunSummary) -> list[Comparison]:
    """Return the best engine of each configuration in ``run`` against the best in ``baseline``."""
    return comparison.compare(baseline, run, MIN_EFFECT, best_engine=True)


def compare_same(baseline: RunSummary, run: RunSummary) -> list[Comparison]:
    """Return each engine of ``run`` against the same engine in ``baseline``."""
    return comparison.compare(baseline, run, MIN_EFFECT)


def compare_builds(run: RunSummary) -> list[Comparison]:
    """Return the two builds that alternated in ``run``; empty for an ordinary run."""
    return comparison.compare_builds(run, MIN_EFFECT)
