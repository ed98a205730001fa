#!/usr/bin/env python3
"""Shows, exports, queries and reports files of a run directory, which may come from anywhere, or refuses them in words.

The first byte selects what the rest is: the content of run.json, of a running round or of a whole round; or edits of these files, which stay valid
JSON or Parquet: values of other kinds, missing and doubled parts.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any, Final

import guided

sys.path.insert(0, str(guided.HERE.parents[0] / "python"))

RECORD, EVENTS, ROUND, EDITED_RECORD, EDITED_EVENTS, EDITED_ROUND = range(6)
#: Values that replace one of a file.
WRONGS: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 7, 1 << 40, (1 << 63) - 1, 0.5, -0.5, 1e308, -1e308, 1e-308, "", "x", "1", "-", "a/b=c/t1", "\x1b[2J", "\u202e",
    "../..", "\u00e9" * 300, [], {}, [None], [[]], [{}], {"": ""}, {"value": 1}, ["x", "x"],
)  # fmt: skip
_inputs = 0


@cache
def place() -> Path:
    """Return a run directory. Each input replaces one of its files and restores it afterwards."""
    return made(Path(tempfile.mkdtemp()) / "r")


def made(at: Path) -> Path:
    from simulated_runs import SimulatedPoint, write_run

    points = [SimulatedPoint("aes", engine, rate, {"mode": "gcm", "size": "64"}) for engine, rate in (("portable", 1e6), ("openssl", 3e6))]
    return write_run(at, points, rounds=2, cycles=2, unfinished=True)


@cache
def originals() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in place().rglob("*") if path.is_file()}


def read(data: bytes) -> None:
    """Read one input."""
    from dpubench import terminal
    from dpubench.errors import UserError
    from dpubench.report import frame
    from dpubench.studies import query
    from dpubench.studies.operators import export, text
    from dpubench.studies.operators.study import STUDY
    from dpubench.studies.operators.summary import summarize

    global _inputs
    if not data:
        return
    _inputs += 1
    kind = data[0] % 6
    what = kind % 3
    file = {RECORD: place() / "run.json", EVENTS: next(f for f in originals() if f.suffix == ".ndjson"), ROUND: sorted(
        f for f in originals() if f.suffix == ".parquet")[0]}[what]  # fmt: skip
    file.write_bytes(data[1:] if kind < EDITED_RECORD else (edited_record, edited_events, edited_round)[what](file, data[1:]))
    try:
        with contextlib.suppress(UserError):
            query.query([place()], "SELECT count(*), max(operations / elapsed_ns) FROM windows")
        run = summarize(place())
        shown = terminal.shown(text.show([run]))
        assert not guided.controls(shown)
        for form in ("json", "csv", "latex"):
            STUDY.export([run], form)
        export.EXPORT.table([run])
        if _inputs % 20 == 0:  # one report takes as long as twenty other inputs
            frame.write([STUDY.section([run])], place() / "report.html")
            (place() / "report.html").unlink()
    except UserError as refusal:
        assert str(refusal), "a refusal without words"
    finally:
        for path, content in originals().items():
            if path.read_bytes() != content:
                path.write_bytes(content)


# --------------------------------------------------------------------------- edits


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in ``value``."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places_in(inner, (*path, key))


def edit(document: Any, data: bytes) -> None:
    """Change ``document`` as ``data`` says: three bytes an edit, of which two choose the place and one chooses what happens there."""
    for at in range(0, len(data) - 2, 3):
        paths = list(places_in(document))
        if not paths:
            return
        *outer, last = paths[int.from_bytes(data[at : at + 2], "big") % len(paths)]
        holder = reduce(getitem, outer, document)
        choice = data[at + 2]
        if choice < 4 * len(WRONGS):
            holder[last] = copy.deepcopy(WRONGS[choice % len(WRONGS)])
        elif choice < 200:
            del holder[last]
        elif choice < 230:  # a part of another place
            holder[last] = copy.deepcopy(reduce(getitem, paths[(choice * 7) % len(paths)], document))
        elif isinstance(holder, list):
            holder.insert(last, copy.deepcopy(holder[last]))


def edited_record(file: Path, data: bytes) -> bytes:
    record = json.loads(originals()[file])
    edit(record, data)
    return json.dumps(record).encode()


def edited_events(file: Path, data: bytes) -> bytes:
    events = [json.loads(line) for line in originals()[file].splitlines()[:-1]]
    edit(events, data)
    return b"\n".join(json.dumps(event).encode() for event in events)


def edited_round(file: Path, data: bytes) -> bytes:
    """Return a round as Parquet after edits of its rows. A value that no column of its kind can hold makes the column one of texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pq.read_table(pa.BufferReader(originals()[file])).to_pylist()
    edit(rows, data)
    rows = [row for row in rows if isinstance(row, dict)]
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError):
            columns[name] = pa.array([None if value is None else str(value) for value in values])
    out = io.BytesIO()
    with contextlib.suppress(pa.ArrowException):  # a column of structs without a field is not written
        pq.write_table(pa.table(columns), out)
    return out.getvalue()


def imports() -> None:
    from dpubench import wire  # noqa: F401
    from dpubench.storage import runs  # noqa: F401
    from dpubench.studies.operators import export, study, summary, text, windows  # noqa: F401


def seeds() -> Iterator[tuple[str, bytes]]:
    """Yield the files of a run."""
    with tempfile.TemporaryDirectory() as folder:
        run = made(Path(folder) / "r")
        yield "record", bytes([RECORD]) + (run / "run.json").read_bytes()
        for file in sorted((run / "rounds").iterdir()):
            yield file.name, bytes([EVENTS if file.suffix == ".ndjson" else ROUND]) + file.read_bytes()
        draw = random.Random(1)
        for number in range(60):
            edits = draw.choice((1, 1, 2, 4))
            yield f"edits{number}", bytes([draw.choice((EDITED_RECORD, EDITED_RECORD, EDITED_EVENTS, EDITED_ROUND))]) + draw.randbytes(3 * edits)


FUZZER = guided.Fuzzer(
    "run", read, imports, watched=("dpubench",), covered=("dpubench.wire", "dpubench.studies.operators.windows"), least_percent=60.0, seeds=seeds,
    dictionary=lambda: ("1e999", "null", "[]", "{}", "-1", "\\\\ud800", "9223372036854775807", "../", '\\"schema\\":', '\\"points\\":'),
    max_length=16384,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(guided.main(FUZZER, __file__))
