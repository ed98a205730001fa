"""Export of an analysed run of figures: one record per point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dpubench.analysis import formats
from dpubench.analysis.export import Export, words
from dpubench.analysis.formats import number, spread
from dpubench.studies.measured import text
from dpubench.studies.measured.model import PointSummary, RunSummary

SCHEMA: Final = "dpubench.figures-export/1"


def record(point: PointSummary, run: RunSummary) -> dict[str, Any]:
    """Return one flat record of ``point``; None stands for a missing value."""
    row: dict[str, Any] = {"study": run.study, "id": point.id, "target": run.target, "label": run.label, "params": words(point.parameters)}
    row |= {f"param_{name}": value for name, value in sorted(point.parameters.items())}
    for quantity in run.quantities:
        row |= spread(f"{quantity.name}", point.figures.get(quantity.name))
    return row | {
        "rounds": max(map(len, point.rounds.values()), default=0), "converged": point.converged, "precision": number(point.precision),
        "verified": point.verified, "warnings": " ".join(sorted({w.code for w in point.warnings})), "unavailable": point.unavailable,
        "failure": point.failure,
    }  # fmt: skip


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Return a table for LaTeX's package booktabs, with 95 % intervals."""
    run = runs[0]
    head = ["parameters", *(f"{q.title} ({q.unit})" for q in run.quantities)]
    rows = [(words(p.parameters), *(text.interval_text(p.figures.get(q.name)) for q in run.quantities)) for r in runs for p in r.points if p.figures]
    cells = (" & ".join(formats.latex(cell) for cell in row) + r" \\" for row in [head, *rows])
    first, *others = cells
    return "\n".join([
        *(formats.latex_comment(f"dpubench run {r.name}, version {r.version}; {r.label or '95 % intervals'}") for r in runs),
        rf"\begin{{tabular}}{{l{'r' * len(run.quantities)}}}", r"\toprule", first, r"\midrule", *others, r"\bottomrule", r"\end{tabular}", "",
    ])  # fmt: skip


EXPORT: Final = Export(SCHEMA, record, to_latex, ("rounds",), targets=lambda run: (run.target,), kept=("label",))
