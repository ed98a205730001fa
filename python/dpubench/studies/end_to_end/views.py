"""The SQL view of study ``end-to-end``: the trials of many runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from dpubench.storage.runs import KeptRun, Reading
from dpubench.studies.end_to_end import trials as rows

#: Properties of a trial's configuration that are columns of the view.
_OF_CONFIGURATION: Final = ("frame", "port", "placement", "workload")


def trials(runs: Sequence[KeptRun], reading: Reading) -> pa.Table:
    """Return every trial of ``runs``, with the properties of its configuration. Times of emulated targets mean nothing, so these have none.

    Trials that searched for the client's ceiling have the event ``calibration``.
    """
    tables = [rows.schema().empty_table().add_column(0, "run", pa.array([], pa.string()))]
    for run in (run for run in runs if not run.emulated):
        with reading():
            tables.append(_of(run))
    return pa.concat_tables(tables, promote_options="default")


def _of(run: KeptRun) -> pa.Table:
    calibration = [row | {"event": rows.CALIBRATION} for row in rows.read_calibration(run.path)]
    table = pa.Table.from_pylist(calibration + rows.read(run.path), schema=rows.schema())
    of = {c["id"]: c for c in run.record.get("configurations", [])}
    for name in _OF_CONFIGURATION:
        values = [str(of.get(c, {}).get(name, "")) for c in table.column("configuration").to_pylist()]
        table = table.add_column(0, name, pa.array(values, pa.string()))
    return table.add_column(0, "run", pa.array([run.name] * table.num_rows, pa.string()))


VIEWS: Final = {"trials": trials}
