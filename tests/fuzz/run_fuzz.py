#!/usr/bin/env python3
"""Shows, exports, queries and reports files of a run directory, which may come from anywhere, or refuses them in words.

The first byte selects the file that the rest replaces: run.json, a running round, or a whole round.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import guided

sys.path.insert(0, str(guided.HERE.parents[0] / "python"))

RECORD, EVENTS, ROUND = range(3)
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
    kind = data[0] % 3
    file = {RECORD: place() / "run.json", EVENTS: next(f for f in originals() if f.suffix == ".ndjson"), ROUND: sorted(
        f for f in originals() if f.suffix == ".parquet")[0]}[kind]  # fmt: skip
    file.write_bytes(data[1:])
    try:
        with contextlib.suppress(UserError):
            query.query([place()], "SELECT count(*), max(operations / elapsed_ns) FROM windows")
        run = summarize(place())
        if kind == RECORD:
            # The shown text of a run.json with contradicting parts is not defined. run.schema.json defines which parts must agree.
            return
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


def imports() -> None:
    from dpubench.studies.operators import study  # noqa: F401


def seeds() -> Iterator[tuple[str, bytes]]:
    """Yield the files of a run."""
    with tempfile.TemporaryDirectory() as folder:
        run = made(Path(folder) / "r")
        yield "record", bytes([RECORD]) + (run / "run.json").read_bytes()
        for file in sorted((run / "rounds").iterdir()):
            yield file.name, bytes([EVENTS if file.suffix == ".ndjson" else ROUND]) + file.read_bytes()


FUZZER = guided.Fuzzer(
    "run", read, imports, watched=("dpubench",), covered=("dpubench.wire", "dpubench.studies.operators.windows"), least_percent=60.0, seeds=seeds,
    dictionary=lambda: ("1e999", "null", "[]", "{}", "-1", "\\\\ud800", "9223372036854775807", "../", '\\"schema\\":', '\\"points\\":'),
    max_length=16384,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(guided.main(FUZZER, __file__))
