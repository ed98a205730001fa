"""Show a run: each point with its interval, and what weakens it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    run: Annotated[str, typer.Argument(help="A run's name or path, 'latest', or NAME@target.", show_default=True)] = "latest",
    operator: Annotated[
        list[str] | None, typer.Option("--operator", "--workload", help="Only points of this operator, or of this workload; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the analysed run as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one line per point.")] = False,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    """Show a run: each point with its interval, and what weakens it."""
    from dpubench import studies, terminal
    from dpubench.cli import results_directory
    from dpubench.errors import UserError
    from dpubench.storage.runs import find_run

    if as_json and as_csv:
        raise UserError("--json and --csv: choose one")
    found = find_run(run, results_directory(results))
    study = studies.of_run(found)
    runs = study.summaries(found.path)
    if operator:
        runs = study.only(runs, operator)
    text = study.export(runs, "json") if as_json else study.export(runs, "csv") if as_csv else terminal.fitted(study.show(runs))
    print(text, end="")
