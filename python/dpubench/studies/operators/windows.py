"""The windows of a run as columns: whole rounds from Parquet, unfinished ones from their events.

A million windows become a few arrays and not a million objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpubench import schemas
from dpubench.storage.runs import DamagedRunError, RunDirectory
from dpubench.studies.operators.rounds import windows_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_NUMBERS: Final = ("round", "cycle", "half", "operations", "elapsed_ns", "ghz", "core_cycles", "energy_uj", "layout")
#: Columns that every window has; of those below, the numbers have bounds, which the schema of the event `window` declares.
_NAMED: Final = ("point", "group")
_BOUNDED: Final = ("round", "cycle", "half", "operations", "elapsed_ns")


@dataclass(frozen=True, slots=True)
class Windows:
    """Columns of equal length, one row per window.

    Canaries are among the windows, as the points ``canary-core`` and ``canary-memory`` of their group.
    """

    point_names: list[str]
    group_names: list[str]
    point: IntArray  #: index into ``point_names``
    group: IntArray  #: index into ``group_names``
    round: IntArray
    cycle: IntArray
    half: IntArray
    operations: FloatArray  #: operations of all threads
    elapsed_ns: FloatArray
    rate_bytes: FloatArray  #: bytes for Gb/s
    ghz: FloatArray  #: estimated core clock; ``nan`` where absent
    core_cycles: FloatArray  #: core cycles of all threads, from a hardware counter; ``nan`` where absent
    energy_uj: FloatArray  #: energy of the processor packages; ``nan`` where absent
    layout: FloatArray  #: code layout of the program; ``nan`` where the program does not tell it
    metrics: dict[str, FloatArray]  #: ``nan`` where a window has no such metric

    def __len__(self) -> int:
        return len(self.point)


def read_windows(run_dir: Path) -> Windows:
    """Return all windows of the run in ``run_dir``, of whole and of unfinished rounds. @raises DamagedRunError, EnvironmentFault as read_round"""
    try:
        table = windows_of(RunDirectory(run_dir))
        if fault := _fault(table):
            raise DamagedRunError(f"{run_dir / 'rounds'}: {fault}: move the file of its round away to go on without it")
        return _columns(table)
    except pa.ArrowException as error:
        raise DamagedRunError(f"{run_dir / 'rounds'}: an unfinished round is damaged ({error}); move its file away to go on without it") from error


def _fault(table: pa.Table) -> str:
    """Return a fault that no program's window can have, or an empty string. The file may have been changed or cut short."""
    if lacking := next((name for name in (*_NAMED, *_BOUNDED) if table.column(name).null_count), ""):
        return f"a window has no {lacking}"
    for field in schemas.window_fields() if table.num_rows else ():
        if field.name in _BOUNDED:
            found = pc.min_max(table.column(field.name)).as_py()
            if found["min"] < field.least or found["max"] > field.most:
                return f"a window's {field.name} is out of range"
    return ""


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
        _floats(table, "rate_bytes") if "rate_bytes" in table.column_names else _floats(table, "in_bytes"),
        numbers["ghz"],
        numbers["core_cycles"],
        numbers["energy_uj"],
        numbers["layout"],
        _metrics(table),
    )


def _encoded(table: pa.Table, name: str) -> tuple[list[str], IntArray]:
    encoded = table.column(name).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # Arrow before 15 returns this for a column without chunks.
        encoded = pa.concat_arrays(encoded.chunks) if encoded.num_chunks else pa.array([], encoded.type)
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _floats(table: pa.Table, name: str) -> FloatArray:
    return np.asarray(pc.cast(table.column(name), pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _integers(values: FloatArray) -> IntArray:
    return np.nan_to_num(values).astype(np.int64)


def _metrics(table: pa.Table) -> dict[str, FloatArray]:
    """Return the column ``metrics`` (a map from name to value) as one column per name."""
    found: dict[str, FloatArray] = {}
    start = 0
    for chunk in table.column("metrics").chunks:
        # A slice owns only the entries between its first and last offset, although its buffers may hold more.
        offsets = chunk.offsets.to_numpy(zero_copy_only=False)
        entries = slice(int(offsets[0]), int(offsets[-1]))
        names = pc.dictionary_encode(chunk.keys)
        codes = names.indices.to_numpy(zero_copy_only=False)[entries]
        values = np.asarray(pc.cast(chunk.items, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)[entries]
        owners = start + np.repeat(np.arange(len(chunk)), np.diff(offsets))
        for code, name in enumerate(names.dictionary.to_pylist()):
            of_name = codes == code
            if of_name.any():
                found.setdefault(name, np.full(table.num_rows, np.nan))[owners[of_name]] = values[of_name]
        start += len(chunk)
    return found
