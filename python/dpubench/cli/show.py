"""Show a run: each point with its interval, and what weakens it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    run: Annotated[str, typer.Argument(help="A run's name or path, 'latest', or NAME@target.", show_default=True)] = "latest",
    operator: Annotated[list[str] | None, typer.Option("--operator", help="Only points of this operator; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The analysed run as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="One line a point.")] = False,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    """Show a run: each point with its interval, and what weakens it."""
    from dataclasses import replace

    from dpubench.cli import results_directory
    from dpubench.errors import UserError, nearest
    from dpubench.results import export, text
    from dpubench.results.store import find_run
    from dpubench.results.summary import summaries

    if as_json and as_csv:
        raise UserError("--json and --csv: choose one")
    runs = summaries(find_run(run, results_directory(results)).path)
    if operator:
        known = {point.operator for found in runs for point in found.points}
        for name in operator:
            if name not in known:
                raise UserError(f"--operator {name}: the run has no such operator{nearest(name, sorted(known))}")
        runs = [replace(found, points=[point for point in found.points if point.operator in operator]) for found in runs]
    typer.echo(export.to_json(runs) if as_json else export.to_csv(runs) if as_csv else text.show(runs), nl=False)
