"""Query runs in SQL; the query changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT over the views windows, trials, points and runs, each with a column 'run'.")],
    run: Annotated[str | None, typer.Option("--run", help="Only this run: a name, a path, 'latest', or NAME@target.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array of objects.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    """Query runs in SQL; the query changes nothing."""
    import json

    from dpubench import terminal
    from dpubench.analysis import formats, tables
    from dpubench.cli import results_directory
    from dpubench.errors import UserError
    from dpubench.storage.runs import find_run, runs_in
    from dpubench.studies import query as queries

    if as_json and as_csv:
        raise UserError("--json and --csv: choose one")
    run_dirs = runs_in(results_directory(results)) if run is None else [find_run(run, results_directory(results)).path]
    # A damaged run in a folder must not prevent a query of the others; for a named run it is an error.
    rows = queries.query(run_dirs, sql, (lambda text: terminal.note(f"left out: {text}")) if run is None else None)
    if as_json:
        print(json.dumps([formats.plain(row) for row in rows], indent=1, allow_nan=False, ensure_ascii=False, default=str))
    else:
        print(formats.csv_of(rows) if as_csv else tables.rows(rows), end="")
