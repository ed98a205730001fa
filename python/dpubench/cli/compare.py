"""Compare two runs point by point: faster, slower, same, undecided, or not comparable and why.

Two targets of a run are NAME@local and NAME@bf2: best engine against best engine, unless --same-engine asks otherwise. Two runs of several targets
are compared target by target; one alone has its targets set against the baseline. Runs of one target are compared engine by engine, unless
--best-engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpubench.results.model import Comparison, RunSummary


def compare(
    old: Annotated[str, typer.Argument(help="A run's name or path, 'latest', or NAME@target.")],
    new: Annotated[
        str | None,
        typer.Argument(help="The run to judge; without it, the two builds that alternated in OLD (run --against), or its targets."),
    ] = None,
    min_effect: Annotated[str, typer.Option("--min-effect", help="Smallest change that counts, such as 3%.")] = "3%",
    fail_on: Annotated[str | None, typer.Option("--fail-on", help="'regression': exit with status 3 if a point is slower.")] = None,
    best_engine: Annotated[bool, typer.Option("--best-engine", help="The fastest engine of each configuration against the fastest.")] = False,
    same_engine: Annotated[bool, typer.Option("--same-engine", help="Each engine against itself, between targets too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="One line a pair.")] = False,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    import json

    from dpubench.cli import results_directory
    from dpubench.errors import Exit, UserError
    from dpubench.plans import quantities
    from dpubench.results import export, text
    from dpubench.results.store import find_run
    from dpubench.results.summary import summaries

    if as_json and as_csv:
        raise UserError("--json and --csv: choose one")
    if fail_on not in (None, "regression"):
        raise UserError(f"--fail-on {fail_on}: only 'regression' is known")
    try:
        effect = quantities.fraction(min_effect)
    except ValueError as error:
        raise UserError(f"--min-effect {min_effect}: {error}") from None
    if best_engine and same_engine:
        raise UserError("--best-engine and --same-engine: choose one")
    before, after = (None if run is None else summaries(find_run(run, results_directory(results)).path) for run in (old, new))
    assert before is not None  # old is always given
    if new is None and len(before) == 1 and best_engine:
        raise UserError("--best-engine: needs two runs")
    parts = _compared(before, after, effect, best_engine if best_engine or same_engine else None)
    told = [({"target": part.title} if part.title else {}) | record for part in parts for record in export.comparison_records(part.rows)]
    if as_json:
        content = {"schema": "dpubench.comparison/1", "old": old, "new": new, "min_effect": effect, "rows": told}
        typer.echo(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False))
    elif as_csv:
        typer.echo(export.csv_of(told), nl=False)
    else:
        pages = ((f"{part.title}\n\n" if part.title else "") + text.compare(part.rows, effect, targets=part.between_targets) for part in parts)
        typer.echo("\n".join(pages), nl=False)
    if fail_on == "regression" and any(row.verdict == "slower" for part in parts for row in part.rows):
        raise typer.Exit(Exit.REGRESSION)


class _Part(NamedTuple):
    title: str  #: what is compared; empty where there is one comparison only
    rows: Sequence[Comparison]
    between_targets: bool = False


def _compared(before: Sequence[RunSummary], after: Sequence[RunSummary] | None, effect: float, best: bool | None) -> list[_Part]:
    """What there is to compare. ``best``: best engine against best engine; None where the user did not say."""
    from dpubench.errors import UserError
    from dpubench.results import comparison

    if after is None:
        live = [(run, rows) for run in before if (rows := comparison.compare_builds(run, effect))]
        if live:
            return [_Part(run.target if len(before) > 1 else "", rows) for run, rows in live]
        base = next((run for run in before if run.is_baseline), before[0])
        others = [run for run in before if run is not base]
        if not others:
            raise UserError(
                f"{base.path}: only one build is in this run, of one target: name a second run, or measure with `dpubench run --against BUILD`"
            )
        return [
            _Part(f"{run.target} against {base.target}", _nothing(run) or comparison.compare(base, run, effect, best_engine=best is not False), True)
            for run in others
        ]
    if len(before) == len(after) == 1:
        apart = before[0].target != after[0].target
        return [_Part("", comparison.compare(before[0], after[0], effect, best_engine=apart if best is None else best), apart)]
    # A run of one target meets that target of a set.
    shared = {run.target for run in before} & {run.target for run in after}
    if not shared:
        raise UserError("these runs have no target in common: name one target of each, as NAME@local and OTHER@bf2")
    if min(len(before), len(after)) == 1:
        before, after = ([run for run in side if run.target in shared] for side in (before, after))
    return [_Part(target, rows) for target, rows in comparison.compare_targets(before, after, effect, best_engine=bool(best))]


def _nothing(run: RunSummary) -> list[Comparison]:
    """One row in place of all where ``run`` has nothing to compare; empty where it has."""
    from dpubench.results.model import Comparison

    reason = run.label if run.times_mean_nothing else "" if run.points else f"nothing was measured: {run.lost or run.status}"
    return [Comparison("every configuration", None, None, None, "not comparable", None, reason)] if reason else []
