"""SQL over runs. Views: those that studies supply (``windows``, ``trials``), ``points`` and ``runs``.

The views live in an in-memory DuckDB that can neither read nor write files.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dpubench import studies
from dpubench.analysis.model import is_emulated
from dpubench.errors import EnvironmentFault, UserError
from dpubench.plans.load import DEFAULT_STUDY
from dpubench.storage.runs import RUN_SET, KeptRun, RunDirectory


def views() -> list[str]:
    """Return the names of all views: those of studies, then those over all runs."""
    return [view for name in studies.names() for view in studies.find(name).views] + ["points", "runs"]


class QueryError(UserError):
    """The SQL is wrong, or does more than read."""


def query(run_dirs: Sequence[Path], sql: str, left_out: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """Return the rows of ``sql`` over the runs in ``run_dirs``, and over every target's run of the sets among them.

    Windows of an emulated target are not in the views: their times mean nothing.

    Raises:
        QueryError: with DuckDB's message when ``sql`` cannot be answered.
        UserError: a run is damaged. With ``left_out`` the message goes there instead, and the query covers the other runs.
    """
    runs = _each_run(run_dirs, left_out)
    connection = duckdb.connect(":memory:")
    scanned: list[Any] = []
    try:
        # Make only the views that the SQL names: the analysis of every run in a large directory takes a while.
        for view in views():
            if re.search(rf"\b{view}\b", sql, re.IGNORECASE):
                table = _points(runs, left_out) if view == "points" else _runs(runs) if view == "runs" else _of_study(view, runs, left_out)
                scanned.append(table)
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
        # A view that is read while DuckDB scans it keeps the error, which DuckDB replaces by one of its own.
        if fault := next((found for table in scanned if (found := getattr(table, "fault", None)) is not None), None):
            raise fault from None
        raise QueryError(f"SQL: {error}\nviews: {', '.join(views())}; their columns: SELECT * FROM points LIMIT 0") from error
    finally:
        connection.close()


_LeftOut = Callable[[str], None] | None


def _each_run(run_dirs: Sequence[Path], left_out: _LeftOut) -> list[KeptRun]:
    """Return the runs of ``run_dirs`` under the names that other commands use, without targets whose run never began."""
    found: list[KeptRun] = []
    for run_dir in run_dirs:
        with _telling(left_out):
            found += _runs_of(run_dir)
    return found


def _runs_of(run_dir: Path) -> list[KeptRun]:
    directory = RunDirectory(run_dir)
    record = directory.record()
    if record["schema"] != RUN_SET:
        info = record.get("target_info")
        return [_kept_run(run_dir.name, run_dir, record, info if isinstance(info, dict) else {})]
    return [
        _kept_run(f"{run_dir.name}@{entry['name']}", member.path, member.record(), entry)
        for entry, member in zip(record["targets"], directory.members(), strict=True)
        if member.run_file.is_file()
    ]


def _kept_run(name: str, path: Path, record: dict[str, Any], target: Mapping[str, Any]) -> KeptRun:
    return KeptRun(name, path, record, str(target.get("label", "")), is_emulated(target))


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


def _once(left_out: _LeftOut) -> _LeftOut:
    """Return a receiver that passes on each text once: a query may read a view several times."""
    told: set[str] = set()

    def tell(text: str) -> None:
        if left_out is not None and text not in told:
            told.add(text)
            left_out(text)

    return None if left_out is None else tell


def _of_study(view: str, runs: Sequence[KeptRun], left_out: _LeftOut) -> Any:
    """Return the view of the study that has it, over its own runs."""
    study = next(study for study in map(studies.find, studies.names()) if view in study.views)
    tell = _once(left_out)
    return study.view(view, [run for run in runs if _study_of(run) == study.name], lambda: _telling(tell))


def _study_of(run: KeptRun) -> str:
    return str(run.record.get("study", DEFAULT_STUDY))


def _points(runs: Sequence[KeptRun], left_out: _LeftOut) -> pa.Table:
    tables = []
    for run in runs:
        with _telling(left_out):
            tables.append(_points_of(run))
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({"run": pa.array([], pa.string())})


def _points_of(run: KeptRun) -> pa.Table:
    study = studies.find(_study_of(run))
    table = study.table(study.summaries(run.path, label=run.label)).replace_schema_metadata(None)
    name = pa.array([run.name] * table.num_rows, pa.string())
    return table.set_column(0, "run", name) if "run" in table.column_names else table.add_column(0, "run", name)


def _runs(found: Sequence[KeptRun]) -> pa.Table:
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
