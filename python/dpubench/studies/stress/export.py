"""Export of analysed runs of stress-ng: one record per stressor and duration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dpubench.analysis import formats
from dpubench.analysis.export import Export
from dpubench.analysis.formats import spread
from dpubench.studies.measured import export as measured
from dpubench.studies.measured.text import interval_text
from dpubench.studies.stress import ranking, text
from dpubench.studies.stress.model import RATE, PointSummary, RunSummary

SCHEMA: Final = "dpubench.stress-export/1"


def record(point: PointSummary, run: RunSummary) -> dict[str, Any]:
    """Return one flat record of ``point``; None stands for a missing value."""
    rank = point.rank
    return measured.record(point, run) | {
        "stressor": point.stressor, "duration_s": point.duration_s, "classes": " ".join(point.classes), "stress_ng_version": run.stress_version,
        "instances": run.instances, "origin": run.origin, "reference": run.reference, **spread("relative", point.relative),
        "rank": rank.value if rank else None, "rank_low": rank.low if rank else None, "rank_high": rank.high if rank else None,
        "ranked_targets": rank.of if rank else None, "missing_targets": rank.missing if rank else None, "too_noisy": point.too_noisy,
        "ranked_at_this_duration": point.is_final, "spared": point.spared,
    }  # fmt: skip


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Return a table for LaTeX's package booktabs: rate, relative performance and rank of each stressor on each target, with 95 % intervals."""
    heads = [
        f"dpubench run {r.name}, version {r.version}, stress-ng {r.stress_version or 'of unknown version'}; {r.label}".rstrip("; ") for r in runs
    ]
    if runs[0].refused:
        heads.append(runs[0].refused)
    names = ["stressor", *(f"{r.target}: bogo ops/s" for r in runs)]
    compared = len(runs) > 1 and not runs[0].refused
    if compared:
        names += [f"{r.target} / {runs[0].reference}" for r in runs if r.target != runs[0].reference] + [f"{r.target}: rank" for r in runs]
    rows = []
    for row in ranking.rank(runs).rows if compared else ranking.rows_of(runs):
        if not any(p is not None and p.figures for p in row.points):
            continue
        cells = [f"{row.stressor}, {row.duration_s:g} s", *(interval_text(p.figures.get(RATE)) if p is not None else "-" for p in row.points)]
        if compared:
            cells += [interval_text(p.relative) if p else "-" for r, p in zip(runs, row.points, strict=True) if r.target != r.reference]
            cells += [text.rank_text(p) for p in row.points]
        rows.append(cells)
    first, *others = [" & ".join(formats.latex(cell) for cell in cells) + r" \\" for cells in [names, *rows]]
    return "\n".join([
        *(formats.latex_comment(head) for head in heads),
        rf"\begin{{tabular}}{{l{'r' * (len(names) - 1)}}}", r"\toprule", first, r"\midrule", *others, r"\bottomrule", r"\end{tabular}", "",
    ])  # fmt: skip


_TEXT: Final = ("reference", "spared")  # the others are never empty in every record
_COUNTS: Final = ("rounds", "instances", "rank", "rank_low", "rank_high", "ranked_targets", "missing_targets")
EXPORT: Final = Export(
    SCHEMA, record, to_latex, _COUNTS, _TEXT, targets=lambda run: (run.target, run.reference), kept=("label", "stress_version")
)  # fmt: skip
