"""Tests of reading many runs by threads: the same rows in the same order as one after another, and the same faults at the same runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from dpubench.errors import UserError
from dpubench.storage.runs import KeptRun, RunDirectory, read_by_threads
from dpubench.studies import query
from dpubench.studies.operators import views
from dpubench.studies.operators.rounds import tables_of_windows
from simulated_runs import SimulatedPoint, write_run

POINTS = [SimulatedPoint("aes", engine, rate, {"size": "1024"}) for engine, rate in (("portable", 1e6), ("openssl", 3e6))]


def kept(number: int) -> KeptRun:
    return KeptRun(f"r{number}", Path(f"/nowhere/r{number}"), {}, "", emulated=False)


def test_the_order_is_that_of_the_runs_whichever_is_read_first() -> None:
    """The first run is read only after the second one: that needs two threads, and fails in time where there is one CPU."""
    second = threading.Event()

    def read(run: KeptRun) -> str:
        if run.name == "r1":
            second.set()
        elif run.name == "r0":
            second.wait(0.2)
        return run.name

    runs = [kept(number) for number in range(200)]
    assert [result() for result in read_by_threads(runs, read)] == [run.name for run in runs]


def test_a_fault_is_raised_at_its_run_and_the_others_are_read() -> None:
    def read(run: KeptRun) -> str:
        if run.name in ("r3", "r150"):
            raise UserError(f"{run.name} is damaged")
        return run.name

    found, told = [], []
    for result in read_by_threads([kept(number) for number in range(200)], read):
        try:
            found.append(result())
        except UserError as error:
            told.append(str(error))
    assert len(found) == 198 and told == ["r3 is damaged", "r150 is damaged"]


def test_who_stops_early_leaves_no_thread() -> None:
    before = threading.active_count()
    read = list[str]()
    with contextlib.closing(read_by_threads([kept(number) for number in range(1000)], lambda run: read.append(run.name))) as results:
        next(iter(results))()
    assert threading.active_count() == before and len(read) < 200


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a folder of runs: whole ones, one with an unfinished round, one without any, and damaged ones of both kinds."""
    for number in range(8):
        write_run(tmp_path / f"r{number}", POINTS, rounds=3, cycles=2, seed=number, unfinished=number == 2)
    for file in (tmp_path / "r3/rounds").iterdir():
        file.unlink()
    (tmp_path / "r5/rounds/0001.parquet").write_bytes(b"PAR1 and nothing else")
    (tmp_path / "r6/rounds/0009.ndjson").write_text('{"event": "window", "operations": "many"}\n')
    return tmp_path


def test_the_windows_are_those_of_runs_read_one_after_another(results: Path) -> None:
    told: list[str] = []
    rows = query.query(sorted(results.iterdir()), "SELECT run, point, round, cycle, half, operations, elapsed_ns FROM windows", told.append)
    names = ["point", "round", "cycle", "half", "operations", "elapsed_ns"]
    expected = []
    for number in (0, 1, 2, 3, 4, 7):
        for table in tables_of_windows(RunDirectory(results / f"r{number}"), names):
            expected += [{"run": f"r{number}"} | row for row in table.to_pylist()]
    assert len(rows) > 100 and rows == expected
    assert [text.partition(": ")[0] for text in told] == [str(results / "r5/rounds/0001.parquet"), str(results / "r6/rounds/0009.ndjson")]


@pytest.mark.parametrize("small_bytes", [0, 1 << 30])
def test_a_file_is_read_alike_at_once_and_in_parts(results: Path, monkeypatch: pytest.MonkeyPatch, small_bytes: int) -> None:
    whole = pa.concat_tables(tables_of_windows(RunDirectory(results / "r0"), ["point", "operations"])).unify_dictionaries()
    monkeypatch.setattr("dpubench.storage.runs._SMALL_BYTES", small_bytes)
    again = pa.concat_tables(tables_of_windows(RunDirectory(results / "r0"), ["point", "operations"])).unify_dictionaries()
    assert again.num_rows > 0 and again.equals(whole)


def test_a_fault_of_a_run_that_must_be_read_ends_the_view(results: Path) -> None:
    @contextlib.contextmanager
    def strict() -> Iterator[None]:
        yield

    runs = [KeptRun(path.name, path, {}, "", emulated=False) for path in sorted(results.iterdir())]
    view = views.windows(runs, strict)
    with pytest.raises(UserError, match="this round is damaged"):
        view.scanner(["point"])
