"""Export of an analysed run as CSV, Parquet, JSON or LaTeX: one record per point, with the same columns in every form.

The name of every figure holds its unit, and two further columns hold its interval. Every record has the labels of its figures.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench.analysis import formats
from dpubench.analysis.digits import significant
from dpubench.studies.cores import wording
from dpubench.studies.cores.model import PointSummary, RunSummary
from dpubench.studies.modelled import export as common

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA: Final = "dpubench.cores-export/1"
_TEXT: Final = (
    "run", "id", "configuration", "kernel", "operators", "engines", "params", "frame", "model", "organisation", "variant", "settings", "sweeps",
    "labels", "failure",
)  # fmt: skip
_BOOLEANS: Final = ("sampled", "composed", "converged", "cached")
_COUNTS: Final = ("step", "unit_sets", "cores", "contexts", "messages", "instructions")


def record(point: PointSummary) -> dict[str, Any]:
    """Return one flat record of ``point``; None stands for a missing value."""
    row: dict[str, Any] = {
        "id": point.id, "configuration": point.configuration, "kernel": point.kernel, "operators": "+".join(point.operators),
        "engines": "+".join(point.engines), "params": common.words(point.params), "frame": point.frame, "frame_bytes": point.frame_bytes,
        "model": point.model, "organisation": point.organisation, "step": point.step, "unit_sets": point.unit_sets, "cores": point.cores,
        "contexts": point.contexts, "clock_mhz": point.clock_mhz, "variant": point.variant, "settings": common.words(point.settings),
        "sweeps": ",".join(point.sweeps), "labels": "; ".join(point.labels), "sampled": point.sampled, "composed": point.composed,
        "converged": point.converged, "cached": point.cached, "messages": point.messages, "instructions": point.instructions,
        "ipc": point.ipc, "instructions_per_message": point.instructions_per_message, "branch_share": point.branches,
        "mispredicted_share": point.mispredicted, "unknown_share": point.unknown_share,
    }  # fmt: skip
    for name in ("messages_per_s", "cycles_per_message", "line_gbps"):
        row |= common.spread(name, getattr(point, name))
    for line in point.lines:
        name = f"line_{wording.line_text(line.line_gbps).replace('/', 'p').replace(' ', '_')}"
        cores = line.cores
        row |= {
            f"{name}_sustained": line.sustains, f"{name}_cores": cores.value if cores else None,
            f"{name}_cores_extrapolated": str(cores.extrapolated).lower() if cores else None,
        }  # fmt: skip
    for kind, share in sorted(point.kinds.items()):
        row[f"kind_{kind}_share"] = share
    for cache in point.caches:
        row |= {f"cache_{cache.name}_bytes": float(cache.size_bytes), f"cache_{cache.name}_ways": float(cache.ways)}
        row |= {f"cache_{cache.name}_miss_ratio": cache.miss_ratio}
    return row | {"failure": point.failure}


def records(runs: Sequence[RunSummary]) -> list[dict[str, Any]]:
    """Return the records of all points, each with the same columns."""
    rows = [{"run": run.name, **record(point)} for run in runs for point in run.points]
    return common.same_columns(rows)


def to_csv(runs: Sequence[RunSummary]) -> str:
    return formats.csv_of(records(runs))


def to_json(runs: Sequence[RunSummary]) -> str:
    """Return everything known about the runs, including the claims, as JSON."""
    content = {"schema": SCHEMA, "runs": [formats.plain(dataclasses.asdict(run)) for run in runs]}
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def to_table(runs: Sequence[RunSummary]) -> pa.Table:
    """Return the records as an Arrow table; a column of numbers has nulls for missing values."""
    return common.table(records(runs), _TEXT, _BOOLEANS, _COUNTS)


def to_parquet(runs: Sequence[RunSummary], path: Path) -> None:
    """Write one row per point to ``path``."""
    import pyarrow.parquet as pq

    pq.write_table(to_table(runs), path)


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Return two tables for LaTeX's package booktabs: the rates that each point sustains, and the claims."""
    lines = [formats.latex_comment(f"dpubench, study cores: {'; '.join(run.label for run in runs)}")]
    head = ["kernel", "frame", "model", "organisation", "MHz", "variant", "messages/s", "Gb/s"]
    points = [point for run in runs for point in run.points if point.messages_per_s is not None]
    lines += [*common.tabular("llllrlrr", head, [_latex_row(point) for point in points]), *common.labels(points)]
    claims = [(claim.text, claim.verdict, claim.measured) for run in runs for claim in run.claims]
    if claims:
        lines += ["", *common.tabular("p{0.35\\textwidth}lp{0.45\\textwidth}", ["claim", "verdict", "here"], claims), *common.labels(points)]
    return "\n".join(lines) + "\n"


def _latex_row(point: PointSummary) -> tuple[str, ...]:
    assert point.messages_per_s is not None and point.line_gbps is not None  # the caller filters for it
    organisation = wording.organisation_text(point)
    return (
        point.kernel, wording.frame_text(point), point.model, organisation, f"{point.clock_mhz:g}", point.variant,
        significant(point.messages_per_s.value), significant(point.line_gbps.value, 3),
    )  # fmt: skip


def anonymous(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return copies without data that identifies the machine or its owner."""
    return common.anonymous(runs)
