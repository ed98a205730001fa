"""The rounds of a run of study ``operators`` on disk: one line per window as it ends, columns at the end of a round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from dpubench.storage.runs import Event, RoundWriter, RunDirectory, RunWriter

if TYPE_CHECKING:
    import pyarrow as pa

SELECTION: Final = "selection"  #: file of the windows that chose the best engine, which are never part of an interval


def windows_schema() -> pa.Schema:
    """Return the columns of a round's parquet file, which are those of the window event.

    A file of an earlier version lacks some columns; they are read as nulls.
    """
    import pyarrow as pa

    counts = [(n, pa.int64()) for n in ("round", "cycle", "half", "operations", "in_bytes", "out_bytes", "rate_bytes", "bursts", "layout")]
    names = [(n, pa.dictionary(pa.int32(), pa.string())) for n in ("point", "group")]
    floats = [(n, pa.float64()) for n in ("elapsed_ns", "ghz", "energy_uj")]
    return pa.schema([*names, *counts, ("core_cycles", pa.int64()), *floats, ("metrics", pa.map_(pa.string(), pa.float64()))])


def windows_table(events: list[Event]) -> pa.Table:
    """Return window events as a table of :func:`windows_schema`."""
    import pyarrow as pa

    windows = [e for e in events if e.get("event") == "window"]
    columns: dict[str, list[Any]] = {}
    schema = windows_schema()
    for name in schema.names:
        columns[name] = [list(w.get("metrics", {}).items()) for w in windows] if name == "metrics" else [w.get(name) for w in windows]
    return pa.Table.from_pydict(columns, schema=schema)


class WindowsWriter(RunWriter):
    """The writer of a run whose rounds hold windows."""

    @staticmethod
    def make_table(events: list[Event]) -> pa.Table:
        return windows_table(events)

    def begin_selection(self) -> RoundWriter:
        return RoundWriter(self.path / f"{SELECTION}.ndjson", self.make_table)


def windows_of(run: RunDirectory) -> pa.Table:
    """Return every window of every round, whole or not, except the selection's. @raises DamagedRunError, EnvironmentFault as read_round"""
    import pyarrow as pa

    tables = list(tables_of_windows(run, windows_schema().names))
    return pa.concat_tables(tables).unify_dictionaries() if tables else windows_schema().empty_table()


def tables_of_windows(run: RunDirectory, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Return a table of ``columns`` of :func:`windows_schema` for each round, see :meth:`dpubench.storage.runs.RunDirectory.tables`."""
    import pyarrow as pa

    return run.tables(pa.schema([windows_schema().field(name) for name in columns]), windows_table)
