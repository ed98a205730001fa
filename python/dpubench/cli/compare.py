"""Compare two runs point by point: faster, slower, same, undecided, or not comparable and why.

Name two targets of a run as NAME@local and NAME@bf2: their best engines are compared, or with --same-engine each engine with itself. Two runs of
several targets are compared target by target; in a single one, the targets are compared with the baseline. Runs of one target are compared engine by
engine, unless --best-engine is given.

OLD and NEW may be directories of runs of several studies: runs of a study pair by name, or because each side has one. The others are named with the
reason why they are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from dpubench.studies import Part
    from dpubench.studies.pairing import Pair

SCHEMA: Final = "dpubench.comparison/1"
SET_SCHEMA: Final = "dpubench.comparison-set/1"  #: several pairs of runs, perhaps of several studies


def compare(
    old: Annotated[str, typer.Argument(help="A run's name or path, 'latest', NAME@target, or a directory of runs.")],
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

    from dpubench.analysis import formats
    from dpubench.cli import results_directory
    from dpubench.errors import Exit, UserError
    from dpubench.plans import quantities
    from dpubench.storage.runs import find_runs
    from dpubench.studies import pairing

    if as_json and as_csv:
        raise UserError("--json and --csv: choose one")
    if fail_on not in (None, "regression"):
        raise UserError(f"--fail-on {fail_on}: only 'regression' is known")
    if best_engine and same_engine:
        raise UserError("--best-engine and --same-engine: choose one")
    sides = [find_runs(run, results_directory(results)) for run in (old, new) if run is not None]
    pairs = pairing.pairs(sides[0], sides[1] if new is not None else None, (old, new or ""))
    try:
        effects = {pair.study.name: quantities.fraction(min_effect or pair.study.default_effect) for pair in pairs}
    except ValueError as error:
        raise UserError(f"--min-effect {min_effect}: {error}") from None
    compared = pairing.compared(pairs, effects, best_engine if best_engine or same_engine else None)
    if as_json:
        print(json.dumps(_json(compared, effects, old, new), indent=1, allow_nan=False, ensure_ascii=False))
    elif as_csv:
        print(formats.csv_of(_records(compared)), end="")
    else:
        print("\n".join(_pages(compared, effects)), end="")
    if fail_on == "regression" and any(row.verdict in ("slower", "more") for _, parts in compared for part in parts for row in part.rows):
        raise typer.Exit(Exit.REGRESSION)


def _records(compared: Sequence[tuple[Pair, list[Part]]]) -> list[dict[str, Any]]:
    """Return a record for each row; of several pairs of runs, each names its study and runs."""
    from dpubench.analysis import formats

    titled = any(part.title for _, parts in compared for part in parts)
    return [
        ({"study": pair.study.name, **_runs(pair)} if len(compared) > 1 else {}) | ({"target": part.title} if titled else {}) | record
        for pair, parts in compared for part in parts for record in formats.comparison_records(part.rows)
    ]  # fmt: skip


def _runs(pair: Pair) -> dict[str, str]:
    return {name: run.path.name if run is not None else "" for name, run in (("old_run", pair.old), ("new_run", pair.new))}


def _json(compared: Sequence[tuple[Pair, list[Part]]], effects: Mapping[str, float], old: str, new: str | None) -> dict[str, Any]:
    """Return the comparison for ``--json``; of several pairs of runs in a form of its own."""
    from dpubench.analysis import formats

    moved = [
        ({"study": pair.study.name, **_runs(pair)} if len(compared) > 1 else {}) | {"target": part.title or None} | formats.movement_record(movement)
        for pair, parts in compared for part in parts if (movement := part.movement) is not None
    ]  # fmt: skip
    if len(compared) > 1:
        return {"schema": SET_SCHEMA, "old": old, "new": new, "min_effects": dict(effects), "rows": _records(compared), "machine": moved}
    [effect] = effects.values()
    return {"schema": SCHEMA, "old": old, "new": new, "min_effect": effect, "rows": _records(compared), "machine": moved}


def _pages(compared: Sequence[tuple[Pair, list[Part]]], effects: Mapping[str, float]) -> Iterator[str]:
    """Yield the text of each comparison; of several pairs of runs, each below its study and runs."""
    from dpubench.analysis import tables

    for pair, parts in compared:
        for part in parts:
            page = tables.compare(part.rows, effects[pair.study.name], targets=part.between_targets, what=part.what, moved=part.movement)
            titles = [pair.title if len(compared) > 1 else "", part.title]
            yield "".join(f"{title}\n\n" for title in titles if title) + page
