"""The windows of a run as columns: finished rounds from Parquet, a round under way or interrupted from its events.

A million windows are a few arrays here, never a million objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from dpubench.errors import UserError
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_NUMBERS: Final = ("round", "cycle", "half", "operations", "elapsed_ns", "in_bytes", "ghz")


@dataclass(frozen=True, slots=True)
class Windows:
    """Columns of equal length, one row a window; canaries are among them, as the points ``canary-core`` and ``canary-memory`` of their group."""

    point_names: list[str]
    group_names: list[str]
    point: IntArray  #: index into ``point_names``
    group: IntArray  #: index into ``group_names``
    round: IntArray
    cycle: IntArray
    half: IntArray
    operations: FloatArray  #: of all threads
    elapsed_ns: FloatArray
    in_bytes: FloatArray
    ghz: FloatArray  #: estimated core clock; ``nan`` where absent
    metrics: dict[str, FloatArray]  #: ``nan`` where a window has no such metric

    def __len__(self) -> int:
        return len(self.point)


class DamagedRunError(UserError):
    """A file of a run directory cannot be read as what its name says."""


def read_windows(run_dir: Path) -> Windows:
    """All windows of the run in ``run_dir``; none is an empty set of columns. :class:`DamagedRunError` names a file that cannot be read."""
    tables = list(_tables(run_dir / "rounds"))
    if not tables:
        return _columns(pa.table({"point": pa.array([], pa.string()), "group": pa.array([], pa.string())}))
    # Columns of different rounds may differ in integer width or in what is absent; by name they are the same.
    return _columns(pa.concat_tables(tables, promote_options="permissive"))


def _tables(rounds: Path) -> Iterator[pa.Table]:
    finished = set()
    for path in sorted(rounds.glob("*.parquet")):
        finished.add(path.stem)
        try:
            yield _plain(pq.read_table(path))
        except (pa.ArrowException, OSError) as error:
            raise DamagedRunError(f"{path}: not a readable Parquet file ({error}); move it away to go on without its round") from error
    for path in sorted(rounds.glob("*.ndjson")):
        # Both exist if the program died between writing the one and removing the other.
        if path.stem not in finished and (table := _table_of_events(path)) is not None:
            yield table


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries decoded, so that tables of different writers concatenate."""
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(index, field.name, pc.cast(table.column(index), field.type.value_type))
    return table


def _table_of_events(path: Path) -> pa.Table | None:
    """Windows of an event file. Its last line may be torn: the writer was interrupted there, and only there may a line be unreadable."""
    rows = []
    lines = path.read_bytes().split(b"\n")
    last = len(lines) - 1
    for number, line in enumerate(lines):
        if b'"window"' not in line:
            continue
        try:
            event = json.loads(line)
        except ValueError as error:
            if number == last:
                break
            raise DamagedRunError(f"{path}:{number + 1}: not a JSON object ({error}); the file was damaged after it was written") from error
        if isinstance(event, dict) and event.get("event") == "window":
            rows.append(event)
    if not rows:
        return None
    columns: dict[str, Any] = {name: pa.array([_number(row.get(name)) for row in rows], pa.float64()) for name in _NUMBERS}
    columns["point"] = pa.array([str(row.get("point", "")) for row in rows], pa.string())
    columns["group"] = pa.array([str(row.get("group", "")) for row in rows], pa.string())
    metrics = [row.get("metrics") or {} for row in rows]
    columns["metrics"] = pa.array([list(m.items()) for m in metrics], pa.map_(pa.string(), pa.float64()))
    return pa.table(columns)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _columns(table: pa.Table) -> Windows:
    point_names, point = _encoded(table, "point")
    group_names, group = _encoded(table, "group")
    numbers = {name: _floats(table, name) for name in _NUMBERS}
    return Windows(
        point_names,
        group_names,
        point,
        group,
        _integers(numbers["round"]),
        _integers(numbers["cycle"]),
        _integers(numbers["half"]),
        numbers["operations"],
        numbers["elapsed_ns"],
        numbers["in_bytes"],
        numbers["ghz"],
        _metrics(table),
    )


def _encoded(table: pa.Table, name: str) -> tuple[list[str], IntArray]:
    if name not in table.column_names:
        raise DamagedRunError(f"rounds/*.parquet: column {name} is missing: these are not windows of dpubench")
    encoded = pc.dictionary_encode(pc.fill_null(table.column(name), "")).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _floats(table: pa.Table, name: str) -> FloatArray:
    if name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return np.asarray(pc.cast(table.column(name), pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _integers(values: FloatArray) -> IntArray:
    return np.nan_to_num(values).astype(np.int64)


def _metrics(table: pa.Table) -> dict[str, FloatArray]:
    """The column ``metrics`` (a map from name to value, or the same as JSON text) as one column per name."""
    if "metrics" not in table.column_names or not table.num_rows:
        return {}
    rows: dict[str, FloatArray] = {}
    start = 0
    for chunk in table.column("metrics").chunks:
        if pa.types.is_map(chunk.type):
            lengths = np.nan_to_num(pc.list_value_length(chunk).to_numpy(zero_copy_only=False).astype(np.float64)).astype(np.int64)
            entries = chunk.flatten() if hasattr(chunk, "flatten") else chunk.keys
            names = pc.dictionary_encode(entries.field(0))
            values = np.asarray(pc.cast(entries.field(1), pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
            owners = start + np.repeat(np.arange(len(chunk)), lengths)
            codes = names.indices.to_numpy(zero_copy_only=False)
            for code, name in enumerate(names.dictionary.to_pylist()):
                of_name = codes == code
                rows.setdefault(name, np.full(table.num_rows, np.nan))[owners[of_name]] = values[of_name]
        else:
            for row, text in enumerate(chunk.to_pylist(), start):
                found: Mapping[str, Any] = text if isinstance(text, dict) else json.loads(text) if text else {}
                for name, value in found.items():
                    if isinstance(value, (int, float)):
                        rows.setdefault(name, np.full(table.num_rows, np.nan))[row] = value
        start += len(chunk)
    return rows
