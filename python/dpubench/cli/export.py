"""Export a run's points, of all its targets, with their intervals as CSV, Parquet, JSON or LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[str, typer.Argument(help="A run's name or path, 'latest', or NAME@target.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="One line a point.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="One row a point; needs --output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The whole analysed run.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="A table for a paper (package booktabs).")] = False,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="Without host, user, paths, addresses, serials; the CPU's model stays.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of standard output.")] = None,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    """Export a run's points, of all its targets, with their intervals as CSV, Parquet, JSON or LaTeX."""
    from dpubench import studies
    from dpubench.cli import results_directory
    from dpubench.errors import UserError
    from dpubench.storage.runs import find_run, writing

    if [as_csv, as_parquet, as_json, as_latex].count(True) != 1:
        raise UserError("choose one of --csv, --parquet, --json, --latex")
    if as_parquet and output is None:
        raise UserError("--parquet: is no text: name a file with --output FILE")
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
