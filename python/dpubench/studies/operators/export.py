"""An analysed run for other programs, as CSV, Parquet, JSON or LaTeX. Each format has the same records, one per point.

The name of every figure carries its unit, and two further columns hold its interval. Anonymous exports keep the facts that explain a figure (CPU
model, caches, kernel, flags) and drop those that identify the machine's owner.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import getpass
import io
import json
import math
import re
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from dpubench.analysis.digits import significant
from dpubench.analysis.movement import Movement
from dpubench.studies.operators.model import Comparison, Interval, PointSummary, RunSummary
from dpubench.terminal import shown

SCHEMA: Final = "dpubench.export/1"
SET_SCHEMA: Final = "dpubench.export-set/1"
_INTERVALS: Final = (
    "ops_per_s",
    "ns_per_op",
    "gbps",
    "primary",
    "cycles_per_op",
    "energy_nj_per_op",
    "canary_ratio",
    "ratio_to_reference",
    "ratio_to_next_best",
)
_TEXT: Final = (
    "id",
    "operator",
    "engine",
    "target",
    "label",
    "build",
    "footprint",
    "input_name",
    "input_sha256",
    "primary_unit",
    "cycles_source",
    "next_best",
    "next_best_unmeasured",
    "not_converged",
    "touched_level",
    "state_level",
    "unavailable",
    "failure",
)
_INTEGERS: Final = (
    "operator_version",
    "threads",
    "burst",
    "in_flight",
    "rounds",
    "windows",
    "layouts",
    "memory_bytes",
    "footprint_bytes",
    "touched_bytes",
    "distinct_messages",
    "distinct_keys",
    "known_answers",
    "compared",
)

#: Fields of a machine's description that an anonymous export keeps. An allow-list: a field of a later version is dropped until it is named here.
KEPT_OF_MACHINE: Final = (
    "architecture",
    "cores_online",
    "cpu",
    "cpu_flags",
    "cpus_online",
    "cycle_counter",
    "clock_estimate",
    "energy",
    "governor",
    "isolated_cpus",
    "kernel",
    "kernel_clocksource",
    "l1d_bytes",
    "l2_bytes",
    "l3_bytes",
    "libc",
    "memory_bytes",
    "microcode",
    "os",
    "page_bytes",
    "smt",
    "virtual_machine",
)
_PATH: Final = re.compile(r"(?<![\w/.-])~?/(?:[^\s'\",;:()\[\]{}<>]+)|(?<![\w])[A-Za-z]:\\[^\s'\",;]+")
_ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b|\b[\w.-]+@(?!target-\d|local\b)[\w.-]+\b")


# --------------------------------------------------------------------------- records


def record(point: PointSummary, label: str = "") -> dict[str, Any]:
    """Return one flat record of ``point``: text, integers and floats, ``None`` for missing values, and its metrics as ``metric_<name>``.

    ``label`` is the label of its target, shown beside every figure.
    """
    row: dict[str, Any] = {
        "id": point.id,
        "operator": point.operator,
        "operator_version": point.operator_version,
        "params": ",".join(f"{k}={v}" for k, v in sorted(point.params.items())),
        "size_bytes": point.size_bytes,
        "threads": point.threads,
        "burst": point.burst,
        "footprint": point.footprint,
        "engine": point.engine,
        "in_flight": point.jobs_in_flight,
        "target": point.target,
        "label": label,
        "build": point.build,
        "input_name": point.input_name,
        "input_sha256": point.input_sha256,
        "rounds": point.rounds,
        "windows": point.windows,
        "layouts": point.layouts,
    }
    for name in _INTERVALS:
        row |= _spread(name, getattr(point, name))
    row |= {
        "primary_unit": point.primary_unit,
        "cycles_source": point.cycles_source,
        "precision": _number(point.precision),
        "converged": point.converged,
        "not_converged": " ".join(point.not_converged),
        "is_best": point.is_best,
        "next_best": point.next_best,
        "next_best_unmeasured": " ".join(point.next_best_unmeasured),
        "build_ns": point.build_ns,
        "memory_bytes": point.memory_bytes,
        "footprint_bytes": point.footprint_bytes,
        "touched_bytes": point.touched_bytes,
        "distinct_messages": point.distinct_messages,
        "distinct_keys": point.distinct_keys,
        "touched_level": point.touched_level,
        "state_level": point.state_level,
        "isa": str(point.path.get("isa", "")),
        "library": str(point.path.get("library", "")),
        "driver": str(point.path.get("driver", "")),
        "device": str(point.path.get("device", "")),
        "program": point.program,
        "is_hardware": bool(point.path.get("is_hardware", False)),
        "verified_how": str(point.verified.get("how", "")),
        "known_answers": point.verified.get("known_answers"),
        "compared": point.verified.get("compared"),
        "unavailable": point.unavailable,
        "failure": point.failure,
        "warnings": " ".join(sorted({w.code for w in point.warnings})),
        **_spread("layout_share", point.layout_share),
        "layout_deviation": point.layout_deviation,
    }
    for name, interval in sorted(point.metrics.items()):
        row |= _spread(f"metric_{name}", interval)
    return row


def records(runs: Sequence[RunSummary]) -> list[dict[str, Any]]:
    """Return the records of all points of ``runs``; every record has every column, in the same order."""
    rows = [record(point, run.label) for run in runs for point in run.points]
    columns: dict[str, None] = {name: None for row in rows for name in row}
    return [{name: row.get(name) for name in columns} for row in rows]


def _spread(name: str, interval: Interval | None) -> dict[str, float | None]:
    values = (interval.value, interval.low, interval.high) if interval else (None, None, None)
    return {key: _number(value) for key, value in zip((name, f"{name}_low", f"{name}_high"), values, strict=True)}


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


# --------------------------------------------------------------------------- formats


def to_csv(runs: Sequence[RunSummary]) -> str:
    """Return CSV with a header line (RFC 4180, ``\\r\\n`` line ends); a missing value is an empty field."""
    return csv_of(records(runs))


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return ``rows`` (all with the same keys) as CSV; a float has the shortest form that reads back to the same number.

    An apostrophe stands before a text that a spreadsheet would execute, and control characters are escaped.
    """
    if not rows:
        return ""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(rows[0].keys())
    for row in rows:
        writer.writerow([_csv_cell(v) for v in row.values()])
    return out.getvalue()


#: Characters that begin a formula (OWASP, CSV injection).
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def _csv_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    text = shown(value)
    return f"'{text}" if text.startswith(_FORMULA) and text != "-" else text


def to_json(runs: Sequence[RunSummary]) -> str:
    """Return the whole analysed run as JSON; a value that is no number becomes ``null``.

    The schema is ``dpubench.export/1``, or ``dpubench.export-set/1`` for several targets.
    """
    found = [{f.name: plain(getattr(run, f.name)) for f in dataclasses.fields(run)} for run in runs]
    content: dict[str, Any] = (
        {"schema": SET_SCHEMA, "set": runs[0].run_set, "runs": found} if runs[0].run_set else {"schema": SCHEMA, "run": found[0]}
    )
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def comparison_records(rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return one flat record per comparison."""
    return [
        {"configuration": c.configuration, "old": c.old, "new": c.new, **_spread("ratio", c.ratio)}
        | {"verdict": c.verdict, "p_value": _number(c.p_value), "reason": c.reason}
        for c in rows
    ]


def movement_record(moved: Movement) -> dict[str, Any]:
    """Return how the machine moved between two runs: changes as ratios new / old, ``scatter`` as a share."""

    def ratio(log: float | None) -> float | None:
        return None if log is None else _number(math.exp(log))

    null = moved.null
    return {
        "rates": "over the core canary" if moved.over_canary else "plain",
        **_spread("points", moved.interval),
        "scatter": None if null is None else math.expm1(null.scatter),
        "number": 0 if null is None else null.points,
        "owners": moved.owners,
        "canary_core": ratio(moved.core),
        "canary_memory": ratio(moved.memory),
        "remarks": list(moved.remarks),
    }


def plain(value: Any) -> Any:
    """Return ``value``, made of dataclasses, mappings and sequences, as types that JSON knows."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return _number(value)
    return value


def to_table(runs: Sequence[RunSummary]) -> pa.Table:
    """Return the records as an Arrow table whose types do not depend on the content of the runs.

    The metadata holds the run, or the list of runs of a set.
    """
    rows = records(runs)
    metrics = [name for name in (rows[0] if rows else {}) if name.startswith("metric_")]
    columns = list(record_columns()) + metrics
    arrays = [pa.array([row.get(name) for row in rows], _type_of(name)) for name in columns]
    described = [{f.name: plain(getattr(run, f.name)) for f in dataclasses.fields(run) if f.name != "points"} for run in runs]
    name, told = (SET_SCHEMA, described) if runs[0].run_set else (SCHEMA, described[0])
    return pa.table(dict(zip(columns, arrays, strict=True))).replace_schema_metadata({name: json.dumps(told, allow_nan=False)})


def record_columns() -> tuple[str, ...]:
    """Return the names of the columns that every record has."""
    return tuple(record(PointSummary("", "", {}, 1, 1, "", "", "", "", 1, "", "")))


def _type_of(column: str) -> pa.DataType:
    if column in (*_TEXT, "params", "isa", "library", "driver", "device", "program", "verified_how", "warnings"):
        return pa.string()
    if column in (*_INTEGERS, "size_bytes"):
        return pa.int64()
    return pa.bool_() if column in ("converged", "is_best", "is_hardware") else pa.float64()


def to_parquet(runs: Sequence[RunSummary], path: Path) -> None:
    """Write the records to ``path``."""
    pq.write_table(to_table(runs), path)


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
    head = [latex(point.operator), latex(record(point)["params"]), latex(engine), str(point.threads)]
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


_LATEX: Final = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\n": " "} | {c: f"\\{c}" for c in "&%$#_{}"}


def latex(text: str) -> str:
    """Return ``text`` with the special characters of LaTeX and control characters escaped."""
    return "".join(_LATEX.get(c, c) for c in shown(text))


def latex_comment(text: str) -> str:
    """Return ``text`` as a LaTeX comment of one line."""
    return f"% {' '.join(shown(text).split())}"


# --------------------------------------------------------------------------- anonymous


def anonymous(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return copies of ``runs`` without host and user names, paths, addresses and serials.

    The CPU model stays, because figures mean nothing without it. Targets other than ``local`` become ``target-1``, ``target-2``, ... in order of
    appearance, the same in all runs.
    """
    targets = list(dict.fromkeys(t for run in runs for t in (run.target, *(p.target for p in run.points)) if t != "local"))
    scrub = scrubber([run.machine for run in runs], {name: f"target-{i}" for i, name in enumerate(targets, 1)})
    copies: list[RunSummary] = []
    for run in runs:
        copy: RunSummary = scrubbed(run, scrub)
        copy.path = copy.spec = ""
        copy.devices, copy.label = [], run.label
        copy.machine = {key: scrubbed(value, scrub) for key, value in run.machine.items() if key in KEPT_OF_MACHINE}
        copy.inputs = {kind: {k: scrub(v) for k, v in given.items() if k != "files"} for kind, given in run.inputs.items()}
        copies.append(copy)
    return copies


def scrubber(machines: Sequence[Mapping[str, Any]], targets: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that removes what identifies a machine from a text: hosts and users of ``machines``, paths, addresses.

    ``targets`` maps names of targets to new names.
    """
    names: dict[str, str] = {}
    for key, word in (("host", "host"), ("hostname", "host"), ("domain", "host"), ("user", "user"), ("login", "user")):
        names |= {str(machine[key]): word for machine in machines if machine.get(key)}
    names.setdefault(socket.gethostname(), "host")
    with contextlib.suppress(OSError, KeyError):  # A container's user may have no name.
        names.setdefault(getpass.getuser(), "user")
    # "root" identifies nobody and is a word of file systems; "local" and the like are words of this program.
    for word in ("root", "local", "localhost", ""):
        names.pop(word, None)
    known, named = _any_of(names), _any_of(targets)

    def scrub(text: str) -> str:
        # Replace targets first, because their names may look like an address or a path.
        text = named.sub(lambda match: targets[match.group()], text) if named else text
        text = _PATH.sub("<path>", text)
        text = _ADDRESS.sub("<address>", text)
        return known.sub(lambda match: names[match.group()], text) if known else text

    return scrub


def _any_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern for any of ``names`` as a whole word, the longest first; None without names."""
    words = sorted(names, key=len, reverse=True)
    return re.compile("|".join(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" for word in words)) if words else None


def scrubbed(value: Any, scrub: Callable[[str], str]) -> Any:
    """Return ``value`` with ``scrub`` applied to every text in it, at any depth."""
    if isinstance(value, str):
        return scrub(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{f.name: scrubbed(getattr(value, f.name), scrub) for f in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {k: scrubbed(v, scrub) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(scrubbed(v, scrub) for v in value)
    return value
