"""Export the points of a run and their intervals, for all targets, as CSV, Parquet, JSON or LaTeX.

With --figures, export runs of any studies in one form: a row for each figure, with its quantity, unit, better direction, interval and origin
(measured, modelled, emulated or imported), or with the reason why there is none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpubench.storage.runs import RunDirectory


def export(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="A run's name or path, 'latest', or NAME@target; with --figures also several, or directories of runs."),
    ],
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV, one line per point.")] = False,
    as_parquet: Annotated[bool, typer.Option("--parquet", help="Parquet, one row per point; needs --output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON of the whole analysed run.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="LaTeX table for a paper (package booktabs).")] = False,
    figures: Annotated[
        bool, typer.Option("--figures", help="One row per figure instead of per point, for runs of any studies (--csv, --json).")
    ] = False,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="Leave out host, user, paths, addresses, serials; keep the CPU's model.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of standard output.")] = None,
    results: Annotated[Path | None, typer.Option("--results", help="Directory of runs.")] = None,
) -> None:
    from dpubench import studies
    from dpubench.cli import results_directory
    from dpubench.errors import UserError
    from dpubench.storage.runs import find_runs, writing

    if [as_csv, as_parquet, as_json, as_latex].count(True) != 1:
        raise UserError("choose one of --csv, --parquet, --json, --latex")
    if figures and not (as_csv or as_json):
        raise UserError("--figures: choose --csv or --json")
    if as_parquet and output is None:
        raise UserError("--parquet cannot be printed as text: name a file with --output FILE")
    found = [one for run in runs for one in find_runs(run, results_directory(results))]
    if len(found) > 1 and not figures:
        raise UserError(f"{len(found)} runs: name one run, or export the figures of all with --figures")
    if figures:
        made = _figures(found, anonymous, as_json)
    else:
        study = studies.of_run(found[0])
        analysed = study.summaries(found[0].path)
        if anonymous:
            analysed = study.anonymous(analysed)
        if as_parquet and output is not None:
            with writing(output):
                study.to_parquet(analysed, output)
            return
        made = study.export(analysed, "csv" if as_csv else "json" if as_json else "latex")
    if output is None:
        print(made, end="")
        return
    with writing(output), output.open("w", encoding="utf-8", newline="") as file:
        file.write(made)


def _figures(found: Sequence[RunDirectory], anonymous: bool, as_json: bool) -> str:
    """Return the figures of runs of any studies as JSON or CSV."""
    from dpubench import studies
    from dpubench.analysis import figures

    sides = [(study, study.summaries(run.path)) for run in found for study in [studies.of_run(run)]]
    if anonymous:
        # One name for a target in all runs: two devices must not become one, nor one two.
        names = list(dict.fromkeys(name for study, runs in sides for name in study.target_names(runs)))
        sides = [(study, study.anonymous(runs, names)) for study, runs in sides]
    told = [figure for study, runs in sides for figure in study.figures(runs)]
    return figures.json_of(told) if as_json else figures.csv(told)
