"""Compare two runs point by point: faster, slower, same, undecided, or not comparable and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    old: Annotated[str, typer.Argument(help="A run's name or path, or 'latest'.")],
    new: Annotated[str | None, typer.Argument(help="The run to judge; without it, the two builds that alternated in OLD (run --against).")] = None,
    min_effect: Annotated[str, typer.Option("--min-effect", help="Smallest change that counts, such as 3%.")] = "3%",
    fail_on: Annotated[str | None, typer.Option("--fail-on", help="'regression': exit with status 3 if a point is slower.")] = None,
    best_engine: Annotated[bool, typer.Option("--best-engine", help="The fastest engine of each configuration against the fastest.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="One line a pair.")] = False,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    """Compare two runs point by point: faster, slower, same, undecided, or not comparable and why."""
    import json

    from dpubench.cli import results_directory
    from dpubench.errors import Exit, UserError
    from dpubench.plans import quantities
    from dpubench.results import comparison, export, text
    from dpubench.results.store import find_run
    from dpubench.results.summary import summarize

    if as_json and as_csv:
        raise UserError("--json and --csv: choose one")
    if fail_on not in (None, "regression"):
        raise UserError(f"--fail-on {fail_on}: only 'regression' is known")
    try:
        effect = quantities.fraction(min_effect)
    except ValueError as error:
        raise UserError(f"--min-effect {min_effect}: {error}") from None
    before = summarize(find_run(old, results_directory(results)).path)
    if new is None:
        if best_engine:
            raise UserError("--best-engine: needs two runs")
        rows = comparison.compare_builds(before, effect)
        if not rows:
            raise UserError(f"{before.path}: only one build is in this run: name a second run, or measure with `dpubench run --against BUILD`")
    else:
        rows = comparison.compare(before, summarize(find_run(new, results_directory(results)).path), effect, best_engine=best_engine)
    if as_json:
        content = {"schema": "dpubench.comparison/1", "old": old, "new": new, "min_effect": effect, "rows": export.comparison_records(rows)}
        typer.echo(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False))
    else:
        typer.echo(export.csv_of(export.comparison_records(rows)) if as_csv else text.compare(rows, effect), nl=False)
    if fail_on == "regression" and any(row.verdict == "slower" for row in rows):
        raise typer.Exit(Exit.REGRESSION)
