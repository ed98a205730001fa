"""The rounds of a run of figures on disk: one line per figure as it is measured, columns at the end of a round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench.storage.runs import Event, RunDirectory, RunWriter

if TYPE_CHECKING:
    import pyarrow as pa

FIGURE: Final = "figure"


def kept(number: int, point: str, quantity: str, value: float) -> Event:
    """Return the record of a figure that round ``number`` measured."""
    return {"event": FIGURE, "round": number, "point": point, "quantity": quantity, "value": value}


def schema() -> pa.Schema:
    """Return the columns of a round's parquet file: one row per figure."""
    import pyarrow as pa

    return pa.schema([("round", pa.int64()), ("point", pa.string()), ("quantity", pa.string()), ("value", pa.float64())])


def table(events: list[Event]) -> pa.Table:
    """Return the kept figures as a table of :func:`schema`."""
    import pyarrow as pa

    rows = [{name: event[name] for name in ("round", "point", "quantity", "value")} for event in events if event.get("event") == FIGURE]
    return pa.Table.from_pylist(rows, schema=schema())


class FiguresWriter(RunWriter):
    """The writer of a run whose rounds hold figures."""

    @staticmethod
    def make_table(events: list[Event]) -> pa.Table:
        return table(events)


def read(path: Path) -> list[dict[str, Any]]:
    """Return every figure of the run in ``path``, of whole and of unfinished rounds. @raises UserError when a file cannot be read"""
    return RunDirectory(path).rows(schema(), table)
