"""Export of an analysed run as CSV, Parquet, JSON or LaTeX: one record per point, with the same columns in every form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dpubench.analysis import formats
from dpubench.analysis.export import Export, words
from dpubench.studies.counts import wording
from dpubench.studies.counts.figures import CYCLES, INSTRUCTIONS
from dpubench.studies.counts.model import PointSummary, RunSummary
from dpubench.studies.modelled import export as common

SCHEMA: Final = "dpubench.counts-export/1"
_COUNTS: Final = ("burst", "operator_version", "operations", "counts", "instructions_min", "instructions_max", "in_bytes", "footprint_bytes")


def record(point: PointSummary, run: RunSummary) -> dict[str, Any]:
    """Return one flat record of ``point``; None stands for a missing value."""
    there = point.there
    return {
        "id": point.id, "operator": point.operator, "engine": point.engine, "params": words(point.params), "burst": point.burst,
        "footprint": point.footprint, "footprint_bytes": point.footprint_bytes, "operator_version": point.operator_version,
        "input_name": point.input_name, "input_sha256": point.input_sha256, "operations": point.operations if there else None,
        INSTRUCTIONS.name: point.per_op if there else None, "exact": point.exact if there else None,
        "counts": len(point.counts) if there else None, "instructions_min": min(point.counts, default=None),
        "instructions_max": max(point.counts, default=None), "spread": point.spread if there else None,
        CYCLES.name: point.cycles_per_op, "model": run.model, "model_labels": "; ".join(run.model_labels),
        "in_bytes": point.in_bytes if there else None, "isa": str(point.path.get("isa", "")), "library": str(point.path.get("library", "")),
        "verified": str(point.verified.get("how", "")), "architecture": run.architecture, "emulator": run.emulator, "emulated_cpu": run.cpu,
        "label": run.label, "failure": point.failure,
    }  # fmt: skip


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Return a table for LaTeX's package booktabs."""
    lines = [formats.latex_comment(f"dpubench, study counts: {'; '.join(run.label for run in runs)}")]
    rows = [
        (p.operator, wording.parameters_text(p), p.engine, wording.per_op_text(p), wording.repeats_text(p))
        for run in runs for p in run.points if p.there
    ]  # fmt: skip
    lines += common.tabular("lllrl", ["operator", "parameters", "engine", "instructions per operation", "repeats"], rows)
    lines += [rf"\par\footnotesize {formats.latex(f'{run.name}: {wording.how_text(run)}; {run.label}')}" for run in runs]
    return "\n".join(lines) + "\n"


EXPORT: Final = Export(SCHEMA, record, to_latex, _COUNTS, flags=("exact",), kept=("models", "target", "spec"))
