"""Export the points of a run and their intervals, for all targets, as CSV, Parquet, JSON or LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[str, typer.Argument(help="A run's name or path, 'latest', or NAME@target.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV, one line per point.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="Parquet, one row per point; needs --output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON of the whole analysed run.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="LaTeX table for a paper (package booktabs).")] = False,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="Leave out host, user, paths, addresses, serials; keep the CPU's model.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of standard output.")] = None,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    """Export the points of a run and their intervals, for all targets, as CSV, Parquet, JSON or LaTeX."""
    from dpubench import studies
    from dpubench.cli import results_directory
    from dpubench.errors import UserError
    from dpubench.storage.runs import find_run, writing

    if [as_csv, as_parquet, as_json, as_latex].count(True) != 1:
        raise UserError("choose one of --csv, --parquet, --json, --latex")
    if as_parquet and output is None:
        raise UserError("--parquet cannot be printed as text: name a file with --output FILE")
    found = find_run(run, results_directory(results))
    study = studies.of_run(found)
    runs = study.summaries(found.path)
    if anonymous:
        runs = study.anonymous(runs)
    if as_parquet and output is not None:
        with writing(output):
            study.to_parquet(runs, output)
        return
    made = study.export(runs, "csv" if as_csv else "json" if as_json else "latex")
    if output is None:
        print(made, end="")
        return
    with writing(output), output.open("w", encoding="utf-8", newline="") as file:
        file.write(made)
