"""The entry point of study ``operators``: the speed of each basic operator on each engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dpubench.studies import Part, Request, check_names
from dpubench.studies.operators.plan import Plan

if TYPE_CHECKING:
    from dpubench.plans.load import Where
    from dpubench.plans.model import StudyPlan
    from dpubench.storage.runs import RunDirectory
    from dpubench.studies.operators.model import RunSummary


class Operators:
    """Study ``operators``. It imports heavy modules only when it uses them, so that `dpubench list` starts fast."""

    name = "operators"
    question = "how fast is each basic operator, at which packet size and thread count"
    plan_model: type[StudyPlan] = Plan
    run_options = frozenset({"--engine-dir", "--device", "--against"})
    default_effect = "3%"

    def run(self, plan: StudyPlan, where: Where, request: Request) -> int:
        from dpubench.studies.operators import carry

        return carry.run(_own(plan), where, request)

    def resume(self, found: RunDirectory, request: Request) -> int:
        from dpubench.studies.operators import carry

        return carry.resume(found, request)

    def summaries(self, path: Path) -> list[RunSummary]:
        from dpubench.studies.operators.summary import summaries

        return summaries(path)

    def only(self, runs: list[RunSummary], names: Sequence[str]) -> list[RunSummary]:
        check_names(names, (point.operator for found in runs for point in found.points), "operator")
        return [replace(found, points=[point for point in found.points if point.operator in names]) for found in runs]

    def show(self, runs: Sequence[RunSummary]) -> str:
        from dpubench.studies.operators import text

        return text.show(runs)

    def export(self, runs: Sequence[RunSummary], form: Literal["csv", "json", "latex"]) -> str:
        from dpubench.studies.operators import export

        return {"csv": export.to_csv, "json": export.to_json, "latex": export.to_latex}[form](runs)

    def to_parquet(self, runs: Sequence[RunSummary], path: Path) -> None:
        from dpubench.studies.operators import export

        export.to_parquet(runs, path)

    def anonymous(self, runs: Sequence[RunSummary]) -> list[RunSummary]:
        from dpubench.studies.operators import export

        return export.anonymous(runs)

    def compare(self, old: Sequence[RunSummary], new: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[Part]:
        from dpubench.studies.operators.compare import compared

        return compared(old, new, effect, best)

    def write_report(self, runs: list[RunSummary], output: Path, baseline: str | None = None, pairing: str = "best") -> None:
        from dpubench.studies.operators import report

        report.write(runs, output, baseline, pairing)


def _own(plan: StudyPlan) -> Plan:
    assert isinstance(plan, Plan)  # the loader reads each plan with the model of its study
    return plan


STUDY = Operators()
