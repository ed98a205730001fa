"""Storage of outcomes: one line per simulation as it ends, columns at the end of a round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench.storage.runs import DamagedRunError, Event, RunDirectory, RunWriter

if TYPE_CHECKING:
    import pyarrow as pa

OUTCOME: Final = "outcome"
_COUNTS: Final = ("cycles", "instructions")
_REALS: Final = ("clock_mhz", "messages_per_s", "unknown_share")


def kept(configuration: str, result: dict[str, Any] | None, failure: str, *, cached: bool) -> Event:
    """Return the record of a simulation (or measurement): its ``result`` event, or the failure if there is none."""
    return {"event": OUTCOME, "configuration": configuration, "failure": failure, "cached": cached, "result": result}


def schema() -> pa.Schema:
    """Return the columns of a round's parquet file: one row per simulation. ``result`` is the whole event of dpubench-cores as JSON."""
    import pyarrow as pa

    return pa.schema(
        [
            ("configuration", pa.string()), ("failure", pa.string()), ("cached", pa.bool_()), *((name, pa.int64()) for name in _COUNTS),
            *((name, pa.float64()) for name in _REALS), ("result", pa.string()),
        ]
    )  # fmt: skip


def table(events: list[Event]) -> pa.Table:
    """Return the kept events as a table of :func:`schema`."""
    import pyarrow as pa

    return pa.Table.from_pylist([_row(event) for event in events if event.get("event") == OUTCOME], schema=schema())


def _row(event: Event) -> dict[str, Any]:
    result = event["result"]
    row = {name: event[name] for name in ("configuration", "failure", "cached")}
    if result is None:
        return row
    return row | {name: result.get(name) for name in (*_COUNTS, *_REALS)} | {"result": json.dumps(result, separators=(",", ":"))}


class OutcomesWriter(RunWriter):
    """The writer of a run whose rounds hold outcomes."""

    @staticmethod
    def make_table(events: list[Event]) -> pa.Table:
        return table(events)


def read(path: Path) -> dict[str, Event]:
    """Return the outcome of every configuration that has one, from finished and unfinished rounds. @raises UserError when a file cannot be read"""
    run = RunDirectory(path)
    found = {}
    for row in run.rows(schema(), table):
        try:
            result = json.loads(row["result"]) if row["result"] else None
        except ValueError as error:
            raise DamagedRunError(f"{run.rounds_dir}: a round is damaged ({error}); move its file away to go on without it") from error
        found[str(row["configuration"])] = kept(row["configuration"], result, row["failure"] or "", cached=bool(row["cached"]))
    return found
