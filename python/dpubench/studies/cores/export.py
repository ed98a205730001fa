"""Export of an analysed run as CSV, Parquet, JSON or LaTeX: one record per point, with the same columns in every form.

The name of every figure holds its unit, and two further columns hold its interval. Every record has the labels of its figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dpubench.analysis import formats
from dpubench.analysis.export import Export, words
from dpubench.analysis.formats import spread
from dpubench.studies.cores import wording
from dpubench.studies.cores.figures import COUNTS, RATES, line_name
from dpubench.studies.cores.model import PointSummary, RunSummary
from dpubench.studies.modelled import export as common

SCHEMA: Final = "dpubench.cores-export/1"
_COUNTS: Final = ("step", "unit_sets", "cores", "contexts", "messages", "instructions")


def record(point: PointSummary, _run: RunSummary) -> dict[str, Any]:
    """Return one flat record of ``point``; None stands for a missing value."""
    row: dict[str, Any] = {
        "id": point.id, "configuration": point.configuration, "kernel": point.kernel, "operators": "+".join(point.operators),
        "engines": "+".join(point.engines), "params": words(point.params), "frame": point.frame, "frame_bytes": point.frame_bytes,
        "model": point.model, "organisation": point.organisation, "step": point.step, "unit_sets": point.unit_sets, "cores": point.cores,
        "contexts": point.contexts, "clock_mhz": point.clock_mhz, "variant": point.variant, "settings": words(point.settings),
        "sweeps": ",".join(point.sweeps), "labels": "; ".join(point.labels), "sampled": point.sampled, "composed": point.composed,
        "converged": point.converged, "cached": point.cached, "messages": point.messages, "instructions": point.instructions,
    }  # fmt: skip
    row |= {quantity.name: getattr(point, field) for quantity, field in COUNTS.items()}
    for quantity in RATES:
        row |= spread(quantity.name, getattr(point, quantity.name))
    for line in point.lines:
        name = line_name(line.line_gbps)
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


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Return two tables for LaTeX's package booktabs: the rates that each point sustains, and the claims."""
    lines = [formats.latex_comment(f"dpubench, study cores: {'; '.join(run.label for run in runs)}")]
    head = ["kernel", "frame", "model", "organisation", "MHz", "variant", *map(wording.modelled, ("messages/s", "Gb/s"))]
    points = [point for run in runs for point in run.points if point.messages_per_s is not None]
    lines += [*common.tabular("llllrlrr", head, [_latex_row(point) for point in points]), *common.labels(points)]
    claims = [(claim.text, wording.verdict_of_claim(claim), claim.measured) for run in runs for claim in run.claims]
    if claims:
        lines += ["", *common.tabular("p{0.35\\textwidth}lp{0.45\\textwidth}", ["claim", "verdict", "modelled here"], claims), *common.labels(points)]
    return "\n".join(lines) + "\n"


def _latex_row(point: PointSummary) -> tuple[str, ...]:
    assert point.messages_per_s is not None and point.line_gbps is not None  # the caller filters for it
    organisation = wording.organisation_text(point)
    return (
        point.kernel, wording.frame_text(point), point.model, organisation, f"{point.clock_mhz:g}", point.variant,
        wording.interval_text(point.messages_per_s), wording.interval_text(point.line_gbps, 3),
    )  # fmt: skip


EXPORT: Final = Export(SCHEMA, record, to_latex, _COUNTS, kept=("models", "target", "spec"))
