"""Export of analysed runs as CSV, JSON, Parquet or LaTeX. Every form has the same records, one per point, which a study makes.

The name of every figure carries its unit, and two further columns hold its interval.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench.analysis import formats

if TYPE_CHECKING:
    import pyarrow as pa

#: Facts on an input that an anonymous copy keeps.
_OF_INPUTS: Final = ("name", "sha256", "date", "note")


def words(values: Mapping[str, Any]) -> str:
    """Return ``values`` as text: ``a=1,b=2``."""
    return ",".join(f"{k}={v}" for k, v in sorted(values.items()))


@dataclass(frozen=True)
class Export:
    """The export of one study."""

    schema: str
    record: Callable[[Any, Any], Mapping[str, Any]]  #: (point, run) -> flat record: text, numbers, None for a missing value
    latex: Callable[[Sequence[Any]], str]  #: runs -> tables. @raises UserError if the study has none
    counts: Collection[str]  #: names of the columns of whole numbers; those that hold neither text nor yes or no are numbers
    #: names of the columns of text, and of yes or no, that may be empty in every record
    text: Collection[str] = ()
    flags: Collection[str] = ()
    targets: Callable[[Any], Iterable[str]] = lambda _run: ()  #: run -> names of targets that an anonymous copy replaces
    kept: Collection[str] = ()  #: fields of a run that identify nobody, although they may look so

    def records(self, runs: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the records of all points, each with the same columns."""
        rows = [{"run": run.name, **self.record(point, run)} for run in runs for point in run.points]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        return [{name: row.get(name) for name in columns} for row in rows]

    def csv(self, runs: Sequence[Any]) -> str:
        """Return CSV with a header line (RFC 4180); a missing value is an empty field."""
        return formats.csv_of(self.records(runs))

    def json(self, runs: Sequence[Any]) -> str:
        """Return everything that is known of the runs as JSON; a value that is no number becomes ``null``."""
        content = {"schema": self.schema, "runs": [formats.plain(dataclasses.asdict(run)) for run in runs]}
        return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def table(self, runs: Sequence[Any]) -> pa.Table:
        """Return the records as an Arrow table, with nulls for missing values."""
        import pyarrow as pa

        rows = self.records(runs)
        columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
        return pa.table({name: pa.array(values, self._type(name, values)) for name, values in columns.items()})

    def _type(self, name: str, values: Sequence[Any]) -> pa.DataType:
        import pyarrow as pa

        if name in self.text or any(isinstance(value, str) for value in values):
            return pa.string()
        if name in self.flags or any(isinstance(value, bool) for value in values):
            return pa.bool_()
        return pa.int64() if name in self.counts else pa.float64()

    def write_parquet(self, runs: Sequence[Any], path: Path) -> None:
        """Write the records to ``path``, one row per point."""
        import pyarrow.parquet as pq

        pq.write_table(self.table(runs), path)

    def target_names(self, runs: Sequence[Any]) -> list[str]:
        """Return the targets of ``runs`` that an anonymous copy renames, each once."""
        return list(dict.fromkeys(name for run in runs for name in self.targets(run) if name not in ("local", "")))

    def anonymous(self, runs: Sequence[Any], names: Sequence[str] | None = None) -> list[Any]:
        """Return copies without host and user names, paths, addresses and serial numbers.

        The CPU model stays, because figures mean nothing without it. Targets become ``target-1``, ``target-2``, ... in the order of ``names``, by
        default that of their appearance in ``runs``.
        """
        renamed = {name: f"target-{i}" for i, name in enumerate(self.target_names(runs) if names is None else names, 1)}
        scrub = formats.scrubber([run.machine for run in runs], renamed)
        copies = []
        for run in runs:
            copy = formats.scrubbed(run, scrub)
            copy.path = copy.spec = ""
            for name in self.kept:
                setattr(copy, name, getattr(run, name))
            copy.machine = {key: formats.scrubbed(value, scrub) for key, value in run.machine.items() if key in formats.KEPT_OF_MACHINE}
            copy.inputs = {kind: {k: scrub(v) for k, v in given.items() if k in _OF_INPUTS} for kind, given in run.inputs.items()}
            copies.append(copy)
        return copies
