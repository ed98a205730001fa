"""Export of an analysed run as CSV, Parquet, JSON or LaTeX: one record per point, with the same columns in every form.

Every record has the labels of its figures and their origin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dpubench.analysis import formats
from dpubench.analysis.export import Export, words
from dpubench.analysis.formats import spread
from dpubench.analysis.model import Interval
from dpubench.simulation.characteristics import CHARACTERISTICS
from dpubench.studies.coverage import wording
from dpubench.studies.coverage.figures import SHARE_INSIDE
from dpubench.studies.coverage.model import PointSummary, RunSummary
from dpubench.studies.modelled import export as common

SCHEMA: Final = "dpubench.coverage-export/1"
#: Number of components whose coordinates are columns.
_COMPONENTS: Final = 3
_COUNTS: Final = ("message_bytes", "instructions", "inputs", "phases", "phases_inside", "phases_near")


def record(point: PointSummary, run: RunSummary) -> dict[str, Any]:
    """Return one flat record of ``point``; None stands for a missing value."""
    space = run.space
    row: dict[str, Any] = {
        "id": point.id, "kind": point.kind, "name": point.name, "operators": "+".join(point.operators), "engine": point.engine,
        "params": words(point.params), "message_bytes": point.message_bytes, "model": point.model, "origin": point.origin,
        "labels": "; ".join(point.labels), "sampled": point.sampled, "cached": point.cached, "instructions": point.instructions,
        "inputs": len(point.inputs) or None, "unknown_share": point.unknown_share,
    }  # fmt: skip
    row |= {name: formats.plain(value) for name, value in wording.ordered(point.characteristics)}
    ipc = point.ipc or Interval(math.nan, math.nan, math.nan)
    row |= {"ipc_low": formats.plain(ipc.low), "ipc_high": formats.plain(ipc.high)}
    scores = space.scores.get(point.id, []) if space is not None else []
    row |= {f"component_{i + 1}": scores[i] if i < len(scores) else None for i in range(_COMPONENTS)}
    covered = next((c for c in space.covered if c.point == point.id), None) if space is not None else None
    share = covered.share if covered is not None else None
    row |= {
        "phases": covered.phases if covered else None,
        "phases_inside": covered.inside if covered else None,
        "phases_near": covered.near if covered else None,
    }
    row |= spread(SHARE_INSIDE.name, share)
    row |= {
        "median_distance_outside": formats.plain(covered.median_distance) if covered else None,
        "largest_distance_outside": formats.plain(covered.largest_distance) if covered else None,
        "outside_by": wording.reason_text(covered) if covered else None,
    }
    composition = next((c for c in space.compositions if c.application == point.id), None) if space is not None else None
    weights = {name.partition("/")[2]: f"{weight:.6g}" for name, weight in composition.weights.items()} if composition else {}
    row["composition"] = words(weights) if composition else None
    for name in CHARACTERISTICS:
        row[f"composed_{name}"] = composition.characteristics.get(name) if composition else None
    row["composed_distance"] = formats.plain(composition.distance) if composition else None
    return row | {"failure": point.failure}


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Return two tables for LaTeX's package booktabs: the characteristics, and the coverage."""
    lines = [formats.latex_comment(f"dpubench, study coverage: {'; '.join(run.label for run in runs)}")]
    head = ["", "", "name", "IPC", "iTLB", "dTLB", "L1D", "integer", "branches", "loads and stores", "instructions"]
    points = [p for run in runs for p in run.points if p.there]
    rows = [
        (wording.origin_word(run), p.kind, p.name, *(wording.characteristic_text(p, name) for name in CHARACTERISTICS), f"{p.instructions:,}")
        for run in runs for p in run.points if p.there
    ]  # fmt: skip
    lines += [*common.tabular("lllrrrrrrrr", head, rows), *common.labels(points)]
    covered = [
        (c.point.partition("/")[2], str(c.phases), wording.share_text(c.share), wording.distance_text(c.median_distance), wording.reason_text(c))
        for run in runs if run.space is not None for c in run.space.covered
    ]  # fmt: skip
    if covered:
        lines += [
            "",
            *common.tabular("lrrrp{0.4\\textwidth}", ["whole program", "phases", "inside", "median off", "outside by"], covered),
            *common.labels(points),
        ]
    return "\n".join(lines) + "\n"


EXPORT: Final = Export(SCHEMA, record, to_latex, _COUNTS, ("composition", "outside_by"), kept=("models", "target", "spec"))
