"""The rounds of a run of headroom on disk: figures, as of any measured study, and beside them the samples of the search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench.storage.runs import DamagedRunError, Event, RunDirectory, read_ndjson, read_round
from dpubench.studies.measured import rounds as measured
from dpubench.studies.measured.rounds import FIGURE, FiguresWriter

if TYPE_CHECKING:
    import pyarrow as pa

#: The quantity of a sample: its value is the rate in Gb/s at a delay.
SAMPLE: Final = "sample"
#: Columns of a sample. Figures have none of them.
_OF_SAMPLES: Final = ("delay_ns", "reference_gbps", "burst_ns", "left_ns", "period_ns", "lost")


def kept_sample(number: int, point: str, gbps: float, of: dict[str, float]) -> Event:
    """Return the record of a sample; ``of`` has the values of the further columns."""
    return {**measured.kept(number, point, SAMPLE, gbps), **of}


def schema() -> pa.Schema:
    """Return the columns of a round's parquet file: one row per figure or sample."""
    import pyarrow as pa

    whole = measured.schema()
    for name in _OF_SAMPLES:
        whole = whole.append(pa.field(name, pa.float64()))
    return whole


def table(events: list[Event]) -> pa.Table:
    """Return the kept figures and samples as a table of :func:`schema`."""
    import pyarrow as pa

    names = schema().names
    rows = [{name: event.get(name) for name in names} for event in events if event.get("event") == FIGURE]
    return pa.Table.from_pylist(rows, schema=schema())


class SamplesWriter(FiguresWriter):
    """The writer of a run of headroom."""

    @staticmethod
    def make_table(events: list[Event]) -> pa.Table:
        return table(events)


def samples(path: Path) -> list[dict[str, Any]]:
    """Return every sample of the run in ``path``, of whole and of unfinished rounds. @raises UserError when a file cannot be read"""
    import pyarrow as pa

    run = RunDirectory(path)
    rows: list[dict[str, Any]] = []
    try:
        for file in run.whole_rounds():
            rows += read_round(file, schema()).to_pylist()
        for file in run.open_rounds():
            if not file.with_suffix(".parquet").exists():
                rows += table(read_ndjson(file)).to_pylist()
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise DamagedRunError(f"{run.rounds_dir}: a round is damaged ({error}); move its file away to go on without it") from error
    return [row for row in rows if row["quantity"] == SAMPLE]
