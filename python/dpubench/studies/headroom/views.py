"""The SQL view of study ``headroom``: ``samples``, one row per sampled delay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dpubench.studies.headroom import rounds

if TYPE_CHECKING:
    from dpubench.storage.runs import KeptRun, Reading


def samples(runs: Sequence[KeptRun], reading: Reading) -> Any:
    """Return the samples of ``runs``: run, round, point, delay_ns, gbps, reference_gbps, burst_ns, left_ns, period_ns, lost.

    Samples on emulated targets are not among them: their times mean nothing.
    """
    import pyarrow as pa

    names = ["round", "point", "delay_ns", "reference_gbps", "burst_ns", "left_ns", "period_ns", "lost"]
    rows = []
    for kept in (run for run in runs if not run.emulated):
        with reading():
            rows += [{"run": kept.name, **{name: row[name] for name in names}, "gbps": row["value"]} for row in rounds.samples(kept.path)]
    columns = [pa.field("run", pa.string()), *(rounds.schema().field(name) for name in names), pa.field("gbps", pa.float64())]
    return pa.Table.from_pylist(rows, schema=pa.schema(columns))


VIEWS: Final = {"samples": samples}
