"""The report of study ``offload``: the page of figures, with published trends beside a model and the model's parameters."""

from __future__ import annotations

from dpubench.report.frame import Section
from dpubench.studies.measured import report as measured
from dpubench.studies.measured.report import MoreTable
from dpubench.studies.offload import text
from dpubench.studies.offload.model import RunSummary


def section(runs: list[RunSummary], baseline: str | None = None) -> Section:
    """Return the report of ``runs``; ``baseline`` names the run that comes first. @raises ValueError without runs, or if none has that name"""
    page = measured.build(list(runs), baseline)
    for part in page.parts:
        own = next(run for run in runs if run is part.run)
        part.more += _more(own)
        if own.started_by:
            part.counts += f"; {own.started_by}"
    return measured.section_of(page, runs[0].study)


def _more(run: RunSummary) -> list[MoreTable]:
    found = []
    if reasons := text.withheld_lines(run):
        found.append(MoreTable("Withheld", ["What, and why"], [[reason] for reason in reasons]))
    if run.trends:
        rows = [[t.claim, t.verdict, t.reason, t.criterion, text.without_words(t)] for t in run.trends]
        note = "Published by Michalowicz et al. (DPU-Bench, PEARC 2023). The other side is modelled, by the time of pure communication, staged."
        found.append(MoreTable("Published trends beside the model", ["Trend", "Verdict", "Reason", "Criterion", "Contention"], rows, note))
    if run.cluster is not None:
        rows = [[s.name, f"{s.value:g} {s.unit}", s.meaning, s.source or f"assumed: {s.assumed}"] for s in run.cluster.sources]
        found.append(MoreTable(f"Parameters of the model: {run.cluster.title}", ["Parameter", "Value", "Meaning", "Source"], rows))
    return found
