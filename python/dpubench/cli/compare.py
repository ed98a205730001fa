"""Compare two runs point by point: faster, slower, same, undecided, or not comparable and why.

Name two targets of a run as NAME@local and NAME@bf2: their best engines are compared, or with --same-engine each engine with itself. Two runs of
several targets are compared target by target; in a single one, the targets are compared with the baseline. Runs of one target are compared engine by
engine, unless --best-engine is given.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    old: Annotated[str, typer.Argument(help="A run's name or path, 'latest', or NAME@target.")],
    new: Annotated[
        str | None,
        typer.Argument(help="The run to judge. Without it: compare the two builds that alternated in OLD (run --against), or its targets."),
    ] = None,
    min_effect: Annotated[str, typer.Option("--min-effect", help="Smallest change that counts (default: 3%; for instruction counts 0.5%).")] = "",
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", help="'regression': exit with status 3 if a point is slower (for counts: takes more instructions).")
    ] = None,
    best_engine: Annotated[bool, typer.Option("--best-engine", help="Compare only the fastest engines of each configuration.")] = False,
    same_engine: Annotated[bool, typer.Option("--same-engine", help="Compare each engine with itself, between targets too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one line per pair.")] = False,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    import json

    from dpubench import studies
    from dpubench.analysis import formats, tables
    from dpubench.cli import results_directory
    from dpubench.errors import Exit, UserError
    from dpubench.plans import quantities
    from dpubench.storage.runs import find_run

    if as_json and as_csv:
        raise UserError("--json and --csv: choose one")
    if fail_on not in (None, "regression"):
        raise UserError(f"--fail-on {fail_on}: only 'regression' is known")
    if best_engine and same_engine:
        raise UserError("--best-engine and --same-engine: choose one")
    found = [find_run(run, results_directory(results)) for run in (old, new) if run is not None]
    study = studies.of_run(found[0])
    if len(found) > 1 and (other := studies.of_run(found[1])) is not study:
        raise UserError(f"{old} is of study {study.name} and {new} of {other.name}: only runs of one study can be compared")
    given = min_effect or study.default_effect
    try:
        effect = quantities.fraction(given)
    except ValueError as error:
        raise UserError(f"--min-effect {given}: {error}") from None
    before, after = study.summaries(found[0].path), study.summaries(found[1].path) if len(found) > 1 else None
    if new is None and len(before) == 1 and best_engine:
        raise UserError("--best-engine needs two runs: name NEW too")
    parts = study.compare(before, after, effect, best_engine if best_engine or same_engine else None)
    told = [({"target": part.title} if part.title else {}) | record for part in parts for record in formats.comparison_records(part.rows)]
    if as_json:
        content = {"schema": "dpubench.comparison/1", "old": old, "new": new, "min_effect": effect, "rows": told}
        content["machine"] = [{"target": p.title or None} | formats.movement_record(p.movement) for p in parts if p.movement is not None]
        print(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False))
    elif as_csv:
        print(formats.csv_of(told), end="")
    else:
        pages = []
        for part in parts:
            page = tables.compare(part.rows, effect, targets=part.between_targets, what=part.what, moved=part.movement)
            pages.append((f"{part.title}\n\n" if part.title else "") + page)
        print("\n".join(pages), end="")
    if fail_on == "regression" and any(row.verdict in ("slower", "more") for part in parts for row in part.rows):
        raise typer.Exit(Exit.REGRESSION)
