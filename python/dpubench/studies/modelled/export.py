"""Export code shared by the studies of modelled processors: columns, tables, LaTeX, and anonymous copies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpubench.analysis import formats
from dpubench.analysis.model import Interval
from dpubench.studies.modelled.models import Labelled, ModelInfo

if TYPE_CHECKING:
    import pyarrow as pa


def words(values: Mapping[str, Any]) -> str:
    """Return ``values`` as text: ``a=1,b=2``."""
    return ",".join(f"{k}={v}" for k, v in sorted(values.items()))


def spread(name: str, interval: Interval | None) -> dict[str, float | None]:
    """Return the columns of a value and of both ends of its interval; None in each if there is no interval."""
    found = (None, None, None) if interval is None else (interval.value, interval.low, interval.high)
    return {name + end: formats.plain(value) for end, value in zip(("", "_low", "_high"), found, strict=True)}


def same_columns(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return ``rows``, each with the columns of all of them; None stands for a missing value."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]


def table(rows: Sequence[Mapping[str, Any]], text: Collection[str], booleans: Collection[str], counts: Collection[str]) -> pa.Table:
    """Return ``rows``, which have the same columns, as an Arrow table; a column of numbers has nulls for missing values."""
    import pyarrow as pa

    columns = {}
    for name in rows[0] if rows else []:
        values = [row[name] for row in rows]
        kind = pa.float64()
        if name in text or any(isinstance(v, str) for v in values):
            kind = pa.string()
        elif name in booleans:
            kind = pa.bool_()
        elif name in counts:
            kind = pa.int64()
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def tabular(columns: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for LaTeX's package booktabs."""

    def line(cells: Sequence[str]) -> str:
        return "  " + " & ".join(formats.latex(cell) for cell in cells) + r" \\"

    return [rf"\begin{{tabular}}{{{columns}}}", r"  \toprule", line(head), r"  \midrule", *map(line, rows), r"  \bottomrule", r"\end{tabular}"]


def labels(points: Iterable[Labelled]) -> list[str]:
    """Return the notes below a table of ``points``: a line per set of labels, with the models that have it."""
    models: dict[str, dict[str, None]] = {}
    for point in points:
        models.setdefault("; ".join(point.labels), {})[point.model] = None
    texts = (": ".join(filter(None, (", ".join(filter(None, names)), text))) for text, names in models.items())
    return [rf"\par\footnotesize {formats.latex(text)}" for text in texts]


class _Run(Protocol):
    path: str
    target: str
    spec: str
    machine: dict[str, Any]
    inputs: dict[str, dict[str, str]]
    models: list[ModelInfo]


_R = TypeVar("_R", bound=_Run)


def anonymous(runs: Sequence[_R]) -> list[_R]:
    """Return copies without host and user names, paths, addresses and serial numbers. Models stay: they identify nobody."""
    scrub = formats.scrubber([run.machine for run in runs], {})
    copies = []
    for run in runs:
        copy: _R = formats.scrubbed(run, scrub)
        copy.path = ""
        copy.models, copy.target, copy.spec = run.models, run.target, run.spec
        copy.machine = {key: formats.scrubbed(value, scrub) for key, value in run.machine.items() if key in formats.KEPT_OF_MACHINE}
        copy.inputs = {kind: {k: scrub(v) for k, v in given.items() if k in ("name", "sha256", "date", "note")} for kind, given in run.inputs.items()}
        copies.append(copy)
    return copies
