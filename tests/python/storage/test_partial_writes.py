"""Tests of writes that a full disk or a crash cuts short: what was written stays readable, and nothing half made takes the place of a whole file."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpubench.errors import EnvironmentFault
from dpubench.storage import runs
from dpubench.storage.runs import RoundWriter, RunWriter, read_ndjson

EVENT = {"event": "figure", "value": 1.5, "text": "ein Lüfter"}
LINE = json.dumps(EVENT, separators=(",", ":")).encode() + b"\n"


def make_table(events: list[dict[str, Any]]) -> pa.Table:
    return pa.table({"value": [event["value"] for event in events]})


class Writer(RunWriter):
    make_table = staticmethod(make_table)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer.create(tmp_path, "r", exact=True)


class Reluctant(io.RawIOBase):
    """A file that takes at most so many bytes at a time, and is full after some."""

    def __init__(self, at_a_time: int, room: int = 1 << 30) -> None:
        self.taken, self.calls = bytearray(), 0
        self._at_a_time, self._room = at_a_time, room

    def write(self, data: Any) -> int:
        self.calls += 1
        part = bytes(data)[: min(self._at_a_time, self._room - len(self.taken))]
        if not part:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.taken += part
        return len(part)


@pytest.mark.parametrize("at_a_time", [1, 2, 7, len(LINE) - 1, len(LINE), len(LINE) + 1])
def test_a_line_is_written_whole_however_little_the_file_takes(tmp_path: Path, at_a_time: int) -> None:
    writer = RoundWriter(tmp_path / "0000.ndjson", make_table)
    file = Reluctant(at_a_time)
    writer._file.close()
    writer._file = file  # type: ignore[assignment]
    for _ in range(3):
        writer.write(EVENT)
    assert bytes(file.taken) == 3 * LINE
    assert file.calls == 3 * -(-len(LINE) // at_a_time), "nothing is written again"


@pytest.mark.parametrize("room", [0, 1, len(LINE) - 1, len(LINE), len(LINE) + 1, 2 * len(LINE) - 1])
def test_a_full_disk_leaves_whole_lines_and_at_most_one_torn_one(tmp_path: Path, room: int) -> None:
    path = tmp_path / "0000.ndjson"
    writer = RoundWriter(path, make_table)
    file = Reluctant(1 << 20, room)
    writer._file.close()
    writer._file = file  # type: ignore[assignment]
    with pytest.raises(EnvironmentFault, match=r"0000\.ndjson: the disk is full.*what was measured is kept, continue with `dpubench resume`"):
        for _ in range(2):
            writer.write(EVENT)
    path.write_bytes(bytes(file.taken))
    assert read_ndjson(path) == [EVENT] * ((room + 1) // len(LINE)), "a line may lack its end alone"


@pytest.mark.parametrize("torn", [b"", b"{", LINE[:-2], b'{"a": 1e999}\n', b"[1, 2]\n", b"7\n", b"\n\n", b"\xff\xfe\n"])
def test_lines_that_are_no_events_are_left_out(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "0000.ndjson"
    path.write_bytes(LINE + torn)
    assert read_ndjson(path) == [EVENT]
    path.write_bytes(torn + b"\n" + LINE)
    assert read_ndjson(path) == [EVENT]


def test_events_reach_the_file_one_by_one(tmp_path: Path) -> None:
    """A process that is killed loses none: there is no buffer. A writer goes on behind what is there."""
    path = tmp_path / "0000.ndjson"
    writer = RoundWriter(path, make_table)
    writer.write(EVENT)
    assert path.read_bytes() == LINE
    again = RoundWriter(path, make_table)
    again.write(EVENT)
    assert path.read_bytes() == 2 * LINE


# --------------------------------------------------------------------------- rounds


def test_a_finished_round_is_columns_and_nothing_else(writer: Writer) -> None:
    round_ = writer.begin_round(3)
    for _ in range(2):
        round_.write(EVENT)
    assert round_.finish() == 2
    assert [file.name for file in writer.rounds_dir.iterdir()] == ["0003.parquet"]
    assert pq.read_table(writer.rounds_dir / "0003.parquet").to_pydict() == {"value": [1.5, 1.5]}


def test_an_empty_round_leaves_no_file(writer: Writer) -> None:
    assert writer.begin_round(0).finish() == 0
    assert list(writer.rounds_dir.iterdir()) == []


def fails(error: Exception) -> Callable[..., None]:
    def function(*_: Any, **__: Any) -> None:
        raise error

    return function


@pytest.mark.parametrize("what", ["begin", "write", "sync", "rename"])
def test_a_round_that_cannot_become_columns_stays_as_text(writer: Writer, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    round_ = writer.begin_round(0)
    round_.write(EVENT)
    full = OSError(errno.ENOSPC, "No space left on device")
    if what == "write":

        def half(_table: pa.Table, draft: Path, **_: Any) -> None:
            draft.write_bytes(b"PAR1")
            raise full

        monkeypatch.setattr(pq, "write_table", half)
    elif what == "begin":
        monkeypatch.setattr(pq, "write_table", fails(full))
    elif what == "sync":
        monkeypatch.setattr(os, "fsync", fails(full))
    else:
        monkeypatch.setattr(Path, "replace", fails(full))
    with pytest.raises(EnvironmentFault, match=r"0000\.parquet: the disk is full"):
        round_.finish()
    assert [file.name for file in writer.rounds_dir.iterdir()] == ["0000.ndjson"], "no draft is left"
    assert read_ndjson(writer.rounds_dir / "0000.ndjson") == [EVENT]


def test_a_round_is_synced_before_it_takes_its_place(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    sync, replace = os.fsync, Path.replace

    def syncing(number: int) -> None:
        order.append("sync")
        sync(number)

    def renaming(file: Path, to: Path) -> Path:
        order.append(f"rename to {to.name}")
        return replace(file, to)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(Path, "replace", renaming)
    round_ = writer.begin_round(0)
    round_.write(EVENT)
    round_.finish()
    writer.write_record({"schema": runs.RUN})
    assert order == ["sync", "rename to 0000.parquet", "sync", "rename to run.json"]


def test_what_a_killed_process_left_is_settled(writer: Writer) -> None:
    """A draft goes. A round with both files is the whole one. A round of text becomes columns."""
    folder = writer.rounds_dir
    pq.write_table(pa.table({"value": [9.0]}), folder / "0000.parquet")
    (folder / "0000.ndjson").write_bytes(LINE)
    (folder / "0001.ndjson").write_bytes(LINE + LINE[:5])
    (folder / "0002.parquet.new").write_bytes(b"PAR1")
    seen = writer.rows(pa.schema([("value", pa.float64())]), make_table)
    assert seen == [{"value": 9.0}, {"value": 1.5}], "no event counts twice"
    writer.settle()
    assert sorted(file.name for file in folder.iterdir()) == ["0000.parquet", "0001.parquet"]
    assert writer.rows(pa.schema([("value", pa.float64())]), make_table) == seen


# --------------------------------------------------------------------------- run.json


@pytest.mark.parametrize("what", ["sync", "rename"])
def test_a_record_is_the_former_or_the_new_one(writer: Writer, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    writer.write_record({"schema": runs.RUN, "status": "former"})
    full = OSError(errno.ENOSPC, "No space left on device")
    with monkeypatch.context() as patched:
        patched.setattr({"sync": "os.fsync", "rename": "pathlib.Path.replace"}[what], fails(full))
        with pytest.raises(EnvironmentFault, match=r"run\.json: the disk is full.*what was measured is kept"):
            writer.write_record({"schema": runs.RUN, "status": "new"})
    assert writer.record()["status"] == "former"
    assert sorted(file.name for file in writer.path.iterdir()) == ["lock", "rounds", "run.json"], "no draft is left"


def test_a_first_record_that_does_not_fit_says_that_nothing_was_measured(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fails(OSError(errno.EDQUOT, "Disk quota exceeded")))
        with pytest.raises(EnvironmentFault, match=r"the disk quota is used up.*nothing was measured yet, and nothing is left of this run"):
            writer.write_record({"schema": runs.RUN})
    writer.close()
    assert not writer.path.exists()


def test_a_run_with_a_record_stays_when_it_is_closed(writer: Writer) -> None:
    writer.write_record({"schema": runs.RUN})
    writer.close()
    assert writer.record() == {"schema": runs.RUN}


@pytest.mark.parametrize("at", [0, 1])
def test_columns_of_rounds_without_any(writer: Writer, at: int) -> None:
    """A query that counts rows needs no column: the table has a nameless one, of whole and unfinished rounds alike."""
    (writer.rounds_dir / "0001.ndjson").write_bytes(2 * LINE)
    pq.write_table(pa.table({"value": [9.0, 8.0, 7.0]}), writer.rounds_dir / "0000.parquet")
    table = list(writer.tables(pa.schema([]), make_table))[at]
    assert table.num_rows == (3, 2)[at]
