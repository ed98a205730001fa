"""The SQL view of study ``operators``: the windows of many runs, which reads only the columns that a query asks for.

DuckDB tells an Arrow dataset which columns it needs (projection pushdown). A folder of 3,000 runs has 18,000 rounds of 16 columns each, and reading
columns takes most of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from dpubench.storage.runs import KeptRun, Reading, RunDirectory, read_by_threads
from dpubench.studies.operators.rounds import tables_of_windows, windows_schema

_METRIC: Final = "metric_"
_NAMES: Final = ("point", "group")
_WHOLE: Final = ("round", "cycle", "half", "layout")
_REAL: Final = ("operations", "elapsed_ns", "rate_bytes", "ghz", "core_cycles", "energy_uj")


def schema(runs: Sequence[KeptRun]) -> pa.Schema:
    """Return the columns of the view; ``metrics`` holds all metrics of a window, declared or not."""
    names = sorted({metric for run in runs for metric in _metrics_of(run.record)})
    return pa.schema(
        [
            *((name, pa.string()) for name in ("run", *_NAMES)),
            *((name, pa.int64()) for name in _WHOLE),
            *((name, pa.float64()) for name in _REAL),
            *((f"{_METRIC}{name}", pa.float64()) for name in names),
            ("metrics", pa.map_(pa.string(), pa.float64())),
        ]
    )


def _metrics_of(record: Mapping[str, Any]) -> list[str]:
    """Return the metrics that a run's operators declare; empty where ``run.json`` is malformed."""
    try:
        return [str(metric["name"]) for operator in record["operators"].values() for metric in operator.get("metrics", [])]
    except (AttributeError, KeyError, TypeError):
        return []


class WindowsView(ds.InMemoryDataset):  # type: ignore[misc]  # pyarrow has no types
    """The dataset that :func:`view` returns. It reads the runs when DuckDB scans it."""

    runs: Sequence[KeptRun]
    telling: Reading
    fault: BaseException | None = None  #: error of a scan, kept because DuckDB replaces it by an error of its own

    def scanner(self, columns: Sequence[str] | None = None, **options: Any) -> ds.Scanner:
        """Return a scanner as every dataset does; DuckDB calls this."""
        names = list(self.schema.names) if columns is None else list(columns) or ["run"]  # A table without a column has no rows.
        # The options may hold a condition on a column that the query does not ask for.
        condition = str(options.get("filter", ""))
        needed = [name for name in self.schema.names if name in names or name in condition]
        try:
            table = self._read(needed)
        except BaseException as error:
            self.fault = error
            raise
        return ds.dataset(table).scanner(columns=names, **options)

    def _read(self, needed: Sequence[str]) -> pa.Table:
        physical = sorted({"metrics" if name.startswith(_METRIC) else name for name in needed} - {"run"})
        tables: list[pa.Table] = []
        lengths = np.zeros(len(self.runs), dtype=np.int64)
        reads = read_by_threads(self.runs, lambda run: list(tables_of_windows(RunDirectory(run.path), physical)))
        for i, tables_of_run in enumerate(reads):
            with self.telling():
                of_run = tables_of_run()
                lengths[i] = sum(table.num_rows for table in of_run)
                tables += of_run
        empty = windows_schema().empty_table().select(physical)
        found = pa.concat_tables(tables).unify_dictionaries().combine_chunks() if tables and physical else empty
        return pa.table(dict(self._columns(needed, found, lengths)), schema=pa.schema([self.schema.field(name) for name in needed]))

    def _columns(self, needed: Sequence[str], found: pa.Table, lengths: np.ndarray[Any, Any]) -> Iterator[tuple[str, Any]]:
        for name in needed:
            if name == "run":
                owners = pa.array(np.repeat(np.arange(len(self.runs)), lengths))
                yield name, pa.array([run.name for run in self.runs], pa.string()).take(owners)
            elif name.startswith(_METRIC):
                yield name, _metric(found.column("metrics"), name.removeprefix(_METRIC))
            elif name in _NAMES:
                yield name, pc.cast(found.column(name), pa.string())
            elif name in ("round", "cycle", "half"):
                yield name, pc.fill_null(found.column(name), 0)
            elif name in _REAL:
                yield name, pc.cast(found.column(name), pa.float64(), safe=False)
            else:
                yield name, found.column(name)


def _metric(maps: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return the value of one metric in each window, null where the window lacks it."""
    return pc.cast(pc.map_lookup(maps, pa.scalar(name), "first"), pa.float64(), safe=False)


def windows(runs: Sequence[KeptRun], reading: Reading) -> WindowsView:
    """Return every window of ``runs``. Windows of an emulated target are not in the view: their times mean nothing."""
    timed = [run for run in runs if not run.emulated]
    made = WindowsView(schema(timed).empty_table())
    made.runs, made.telling = timed, reading
    return made


VIEWS: Final = {"windows": windows}
