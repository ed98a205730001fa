"""Study ``coverage``: how operators behave, and whether the set of them covers whole applications."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dpubench.studies import Part, Request, check_names
from dpubench.studies.coverage.plan import Plan

if TYPE_CHECKING:
    from dpubench.plans.load import Where
    from dpubench.plans.model import StudyPlan
    from dpubench.results.store import RunDirectory
    from dpubench.studies.coverage.model import RunSummary


class Coverage:
    """Seven characteristics and the space that they make. What is heavy to import is imported when it is used."""

    name = "coverage"
    question = "how do operators behave on a processor, and does the set of them cover whole applications (modelled)"
    plan_model: type[StudyPlan] = Plan
    run_options: frozenset[str] = frozenset()

    def run(self, plan: StudyPlan, where: Where, request: Request) -> int:
        from dpubench.studies.coverage import carry

        assert isinstance(plan, Plan)  # plans are read by the model of their study
        return carry.run(plan, where, request)

    def resume(self, found: RunDirectory, request: Request) -> int:
        from dpubench.studies.coverage import carry

        return carry.resume(found, request)

    def summaries(self, path: Path) -> list[RunSummary]:
        from dpubench.studies.coverage.summary import summaries

        return summaries(path)

    def only(self, runs: list[RunSummary], names: Sequence[str]) -> list[RunSummary]:
        """Points alone: the space is of all of them, and stays what it is."""
        from dataclasses import replace

        check_names(names, (name for found in runs for point in found.points for name in (point.name, *point.operators)), "operator")
        return [
            replace(found, points=[p for p in found.points if p.name in names or any(operator in names for operator in p.operators)])
            for found in runs
        ]

    def show(self, runs: Sequence[RunSummary]) -> str:
        from dpubench.studies.coverage import text

        return text.show(runs)

    def export(self, runs: Sequence[RunSummary], form: Literal["csv", "json", "latex"]) -> str:
        from dpubench.studies.coverage import export

        return {"csv": export.to_csv, "json": export.to_json, "latex": export.to_latex}[form](runs)

    def to_parquet(self, runs: Sequence[RunSummary], path: Path) -> None:
        from dpubench.studies.coverage import export

        export.to_parquet(runs, path)

    def anonymous(self, runs: Sequence[RunSummary]) -> list[RunSummary]:
        from dpubench.studies.coverage import export

        return export.anonymous(runs)

    def compare(self, old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
        from dpubench.studies.coverage.compare import compared

        return compared(old, new, effect, best)

    def write_report(self, runs: list[RunSummary], output: Path, baseline: str | None = None, pairing: str = "best") -> None:
        from dpubench.studies.coverage import report

        report.write(runs, output, baseline)


STUDY = Coverage()
