"""SQL over runs. Views: ``windows`` (study operators), ``trials`` (study end-to-end), ``points`` and ``runs``.

The views live in an in-memory DuckDB that can neither read nor write files.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from dpubench.analysis.model import EMULATED
from dpubench.errors import EnvironmentFault, UserError
from dpubench.plans.load import DEFAULT_STUDY
from dpubench.storage.runs import RUN_SET, RunDirectory
from dpubench.studies.operators import export, windows_view
from dpubench.studies.operators.summary import summarize

VIEWS: Final = ("windows", "trials", "points", "runs")


class QueryError(UserError):
    """The SQL is wrong, or does more than read."""


def runs_in(results: Path) -> list[Path]:
    """Return the directories of runs and sets in ``results``, sorted by name and without links such as ``latest``.

    A ``results`` that is itself a run is the only one.
    """
    if (results / "run.json").is_file():
        return [results]
    if not results.is_dir():
        raise UserError(f"{results}: no such directory: name a run or a directory of runs")
    return sorted(p for p in results.iterdir() if (p / "run.json").is_file() and not p.is_symlink())


def query(run_dirs: Sequence[Path], sql: str, left_out: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """Return the rows of ``sql`` over the runs in ``run_dirs``, and over every target's run of the sets among them.

    Windows of an emulated target are not in the views: their times mean nothing.

    Raises:
        QueryError: with DuckDB's message when ``sql`` cannot be answered.
        UserError: a run is damaged. With ``left_out`` the message goes there instead, and the query covers the other runs.
    """
    runs = _each_run(run_dirs, left_out)
    connection = duckdb.connect(":memory:")
    scanned: list[windows_view.WindowsView] = []
    try:
        # Make only the views that the SQL names: the analysis of every run in a large directory takes a while.
        for view in VIEWS:
            if re.search(rf"\b{view}\b", sql, re.IGNORECASE):
                table = {"windows": _windows, "trials": _trials, "points": _points, "runs": _runs}[view](runs, left_out)
                scanned += [table] if isinstance(table, windows_view.WindowsView) else []
                connection.register(f"_{view}", table)
                connection.execute(f"CREATE VIEW {view} AS SELECT * FROM _{view}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        statements = connection.extract_statements(sql)
        kinds = [statement.type for statement in statements]
        if len(kinds) != 1 or kinds[0] not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
            raise QueryError("exactly one SELECT is expected: runs are only read here")
        result = connection.execute(statements[0])
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    except duckdb.Error as error:
        if fault := next((view.fault for view in scanned if view.fault is not None), None):
            raise fault from None
        raise QueryError(f"SQL: {error}\nviews: {', '.join(VIEWS)}; their columns: SELECT * FROM points LIMIT 0") from error
    finally:
        connection.close()


@dataclass(frozen=True)
class _Run:
    name: str
    path: Path
    record: dict[str, Any]
    label: str

    @property
    def study(self) -> str:
        return str(self.record.get("study", DEFAULT_STUDY))

    @property
    def metrics(self) -> list[str]:
        """Return the metrics that the run's operators declare (study operators); empty where ``run.json`` is malformed."""
        try:
            return [str(metric["name"]) for operator in self.record["operators"].values() for metric in operator.get("metrics", [])]
        except (AttributeError, KeyError, TypeError):
            return []


_LeftOut = Callable[[str], None] | None


def _each_run(run_dirs: Sequence[Path], left_out: _LeftOut) -> list[_Run]:
    """Return the runs of ``run_dirs`` under the names that other commands use, without targets whose run never began."""
    found: list[_Run] = []
    for run_dir in run_dirs:
        with _telling(left_out):
            found += _runs_of(run_dir)
    return found


def _runs_of(run_dir: Path) -> list[_Run]:
    directory = RunDirectory(run_dir)
    record = directory.record()
    if record["schema"] != RUN_SET:
        info = record.get("target_info")
        return [_Run(run_dir.name, run_dir, record, str(info.get("label", "")) if isinstance(info, dict) else "")]
    return [
        _Run(f"{run_dir.name}@{entry['name']}", member.path, member.record(), str(entry.get("label", "")))
        for entry, member in zip(record["targets"], directory.members(), strict=True)
        if member.run_file.is_file()
    ]


@contextlib.contextmanager
def _telling(left_out: _LeftOut) -> Iterator[None]:
    """Tell a damaged run to ``left_out`` and go on with the next run. @raises UserError without ``left_out``"""
    try:
        yield
    except EnvironmentFault:
        raise
    except UserError as error:
        if left_out is None:
            raise
        left_out(str(error))


def _windows(runs: Sequence[_Run], left_out: _LeftOut) -> windows_view.WindowsView:
    told: set[str] = set()  # a query may read the windows several times

    def tell_once(text: str) -> None:
        if left_out is not None and text not in told:
            told.add(text)
            left_out(text)

    of_view = [
        windows_view.RunOfView(run.name, RunDirectory(run.path), run.metrics) for run in runs if run.label != EMULATED and run.study == DEFAULT_STUDY
    ]
    return windows_view.view(of_view, lambda: _telling(None if left_out is None else tell_once))


def _trials(runs: Sequence[_Run], left_out: _LeftOut) -> pa.Table:
    """Return every trial of runs of study end-to-end, with the properties of its configuration.

    Trials that searched for the client's ceiling have the event ``calibration``.
    """
    from dpubench.studies.end_to_end import trials

    tables = [trials.schema().empty_table().add_column(0, "run", pa.array([], pa.string()))]
    for run in runs:
        if run.study == "end-to-end":
            with _telling(left_out):
                tables.append(_trials_of(run))
    return pa.concat_tables(tables, promote_options="default")


def _trials_of(run: _Run) -> pa.Table:
    from dpubench.studies.end_to_end import trials

    calibration = [row | {"event": trials.CALIBRATION} for row in trials.read_calibration(run.path)]
    table = pa.Table.from_pylist(calibration + trials.read(run.path), schema=trials.schema())
    of = {c["id"]: c for c in run.record.get("configurations", [])}
    for name in ("frame", "port", "placement", "workload"):
        values = [str(of.get(c, {}).get(name, "")) for c in table.column("configuration").to_pylist()]
        table = table.add_column(0, name, pa.array(values, pa.string()))
    return table.add_column(0, "run", pa.array([run.name] * table.num_rows, pa.string()))


def _points(runs: Sequence[_Run], left_out: _LeftOut) -> pa.Table:
    tables = []
    for run in runs:
        with _telling(left_out):
            tables.append(_points_of(run))
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({"run": pa.array([], pa.string())})


def _points_of(run: _Run) -> pa.Table:
    if run.study != DEFAULT_STUDY:
        package = f"dpubench.studies.{run.study.replace('-', '_')}"
        summaries = importlib.import_module(f"{package}.summary").summaries
        table = importlib.import_module(f"{package}.export").to_table(summaries(run.path))
        return table.set_column(0, "run", pa.array([run.name] * table.num_rows, pa.string()))
    table = export.to_table([summarize(run.path, label=run.label)]).replace_schema_metadata(None)
    return table.add_column(0, "run", pa.array([run.name] * table.num_rows, pa.string()))


def _runs(found: Sequence[_Run], _left_out: _LeftOut) -> pa.Table:
    names = ("target", "study", "plan", "status", "started", "finished", "command", "version")
    columns: dict[str, pa.Array] = {"run": pa.array([run.name for run in found], pa.string())}
    columns["label"] = pa.array([run.label for run in found], pa.string())
    columns |= {name: pa.array([str(run.record.get(name, "")) for run in found], pa.string()) for name in names}
    for name in ("host", "cpu", "kernel", "architecture"):
        columns[name] = pa.array([str(run.record.get("machine", {}).get(name, "")) for run in found], pa.string())
    columns["points"] = pa.array([len(run.record.get("points", [])) for run in found], pa.int64())
    columns["failures"] = pa.array([len(run.record.get("failures", [])) for run in found], pa.int64())
    columns["spent_s"] = pa.array([run.record.get("spent_s") for run in found], pa.float64())
    return pa.table(columns)
