"""Export of an analysed run as CSV, Parquet, JSON or LaTeX. Each format has the same records, one per point.

The name of every figure carries its unit, and two further columns hold its interval.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dpubench.analysis.digits import significant
from dpubench.analysis.export import Export, words
from dpubench.analysis.formats import latex, latex_comment, number, plain, spread
from dpubench.analysis.model import Interval
from dpubench.studies.operators.figures import INTERVALS
from dpubench.studies.operators.model import PointSummary, RunSummary

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA: Final = "dpubench.export/1"
SET_SCHEMA: Final = "dpubench.export-set/1"
_INTEGERS: Final = (
    "operator_version", "threads", "burst", "in_flight", "rounds", "windows", "layouts", "memory_bytes", "footprint_bytes", "touched_bytes",
    "distinct_messages", "distinct_keys", "known_answers", "compared", "size_bytes",
)  # fmt: skip
_OF_TABLES_AND_BUFFERS: Final = (
    "build_ns", "memory_bytes", "footprint_bytes", "touched_bytes", "distinct_messages", "distinct_keys", "touched_level", "state_level",
)  # fmt: skip


# --------------------------------------------------------------------------- records


def record(point: PointSummary, run: RunSummary) -> dict[str, Any]:
    """Return one flat record of ``point``: text, integers and floats, ``None`` for missing values, and its metrics as ``metric_<name>``."""
    return _record(point, run.label)


def _record(point: PointSummary, label: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": point.id, "operator": point.operator, "operator_version": point.operator_version, "params": words(point.params),
        "size_bytes": point.size_bytes, "threads": point.threads, "burst": point.burst, "footprint": point.footprint, "engine": point.engine,
        "in_flight": point.jobs_in_flight, "target": point.target, "label": label, "build": point.build,
    }  # fmt: skip
    row |= {name: getattr(point, name) for name in ("input_name", "input_sha256", "rounds", "windows", "layouts")}
    for quantity in INTERVALS:
        row |= spread(quantity.name, getattr(point, quantity.name))
    row |= {
        "primary_unit": point.primary_unit, "cycles_source": point.cycles_source, "precision": number(point.precision), "converged": point.converged,
        "not_converged": " ".join(point.not_converged), "is_best": point.is_best, "next_best": point.next_best,
        "next_best_unmeasured": " ".join(point.next_best_unmeasured),
    }  # fmt: skip
    row |= {name: getattr(point, name) for name in _OF_TABLES_AND_BUFFERS}
    row |= {name: str(point.path.get(name, "")) for name in ("isa", "library", "driver", "device")}
    row |= {
        "program": point.program, "is_hardware": bool(point.path.get("is_hardware", False)), "verified_how": str(point.verified.get("how", "")),
        "known_answers": point.verified.get("known_answers"), "compared": point.verified.get("compared"), "unavailable": point.unavailable,
        "failure": point.failure, "warnings": " ".join(sorted({w.code for w in point.warnings})), **spread("layout_share", point.layout_share),
        "layout_deviation": point.layout_deviation,
    }  # fmt: skip
    for name, interval in sorted(point.metrics.items()):
        row |= spread(f"metric_{name}", interval)
    return row


# --------------------------------------------------------------------------- formats


def to_latex(runs: Sequence[RunSummary]) -> str:
    """Return a ``tabular`` (not a ``longtable``; needs the package booktabs) of measured values with their intervals.

    Values are in each operator's primary unit.
    """
    lines = [
        *(latex_comment(f"dpubench run {run.name}, version {run.version}; {run.label or '95 % intervals'}") for run in runs),
        r"\begin{tabular}{lllrrlrl}",
        r"\toprule",
        r"Operator & Parameters & Engine & Threads & Value & Unit & 95\,\% interval & Ratio to the next best \\",
        r"\midrule",
    ]
    for run in runs:
        lines += [_latex_row(point, run) for point in run.points]
    loose = any(p.not_converged for run in runs for p in run.points)
    note = [r"\multicolumn{8}{l}{$^{*}$ known less precisely than the plan asks, or from too few rounds} \\"] if loose else []
    return "\n".join([*lines, r"\bottomrule", *note, r"\end{tabular}", ""])


def _latex_row(point: PointSummary, run: RunSummary) -> str:
    engine = engine_text(point) + (f" ({run.label})" if run.label else "")
    head = [latex(point.operator), latex(words(point.params)), latex(engine), str(point.threads)]
    if point.primary is None:
        reason = verified_text(point) if run.times_mean_nothing else point.failure or point.unavailable or "not measured"
        return " & ".join([*head, rf"\multicolumn{{4}}{{l}}{{{latex(reason)}}}"]) + r" \\"
    value = point.primary
    beside = point.ratio_to_next_best
    ratio = "" if beside is None else f"{beside.value:.3g}{_loose(point, 'ratio_to_next_best')} ({latex(point.next_best)})"
    shown = significant(value.value) + _loose(point, "primary")
    return " & ".join([*head, shown, latex(point.primary_unit), _range(value), ratio]) + r" \\"


def _loose(point: PointSummary, name: str) -> str:
    """Return the mark behind a figure that did not reach the plan's precision, or an empty string."""
    return "$^{*}$" if name in point.not_converged else ""


def verified_text(point: PointSummary) -> str:
    """Return whether the outputs of a point on an emulated target are right, or why that is unknown."""
    if point.failure or point.unavailable:
        return point.failure or point.unavailable
    if not point.verified:
        return "not verified"
    return f"verified: {point.verified.get('known_answers', 0)} known answers, {point.verified.get('compared', 0)} compared"


def engine_text(point: PointSummary) -> str:
    """Return ``engine[~in_flight][@target][#build]``, as in point ids."""
    return point.engine_word + (f"@{point.target}" if point.target != "local" else "") + (f"#{point.build}" if point.build else "")


def _range(interval: Interval) -> str:
    return f"{significant(interval.low)}--{significant(interval.high)}" if math.isfinite(interval.low) else "-"


# --------------------------------------------------------------------------- all forms


class _Export(Export):
    """The export of study ``operators``. A run of several targets has a schema of its own."""

    def records(self, runs: Sequence[RunSummary]) -> list[dict[str, Any]]:
        """Return the records of all points, each with the same columns; their ids tell the target."""
        return [{name: value for name, value in row.items() if name != "run"} for row in super().records(runs)]

    def json(self, runs: Sequence[RunSummary]) -> str:
        """Return everything that is known of the run, or of the runs of several targets, as JSON."""
        found = [plain(run) for run in runs]
        content = {"schema": SET_SCHEMA, "set": runs[0].run_set, "runs": found} if runs[0].run_set else {"schema": SCHEMA, "run": found[0]}
        return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def table(self, runs: Sequence[RunSummary]) -> pa.Table:
        """Return the records as an Arrow table with the columns of every run, whether it has points or not.

        The metadata holds the run, or the list of runs of a set.
        """
        import pyarrow as pa

        rows = self.records(runs)
        example = _record(_NONE, "") | {name: None for name in (rows[0] if rows else {}) if name.startswith("metric_")}
        columns = {name: pa.array([row.get(name) for row in rows], self._type(name, (value,))) for name, value in example.items()}
        described = [{f.name: plain(getattr(run, f.name)) for f in dataclasses.fields(run) if f.name != "points"} for run in runs]
        name, told = (SET_SCHEMA, described) if runs[0].run_set else (SCHEMA, described[0])
        return pa.table(columns).replace_schema_metadata({name: json.dumps(told, allow_nan=False)})

    def anonymous(self, runs: Sequence[RunSummary], names: Sequence[str] | None = None) -> list[RunSummary]:
        """Return copies that identify nobody, without the addresses of devices."""
        return [dataclasses.replace(copy, devices=[]) for copy in super().anonymous(runs, names)]


#: A point without any result: its record has every column.
_NONE: Final = PointSummary("", "", {}, 1, 1, "", "", "", "", 1, "", "")


def _targets(run: RunSummary) -> list[str]:
    return [run.target, *(p.target for p in run.points)]


EXPORT: Final = _Export(SCHEMA, record, to_latex, _INTEGERS, targets=_targets, kept=("label",))
