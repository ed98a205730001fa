"""Take in results that were measured elsewhere, as a run of a study.

The result is an ordinary run directory: `dpubench show`, `report`, `compare`, `export` and `query` read it, and every figure of it says that it was
not measured here. Several platforms make a run of several targets. NAME=FILE names the platform of a file that does not tell it. Each study says
what files it reads.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from dpubench.cli._values import lay, pairs


def command(
    files: list[str] = typer.Argument(..., metavar="[NAME=]FILE...", help="Files of results; NAME is the platform that a file is of."),
    study: str = typer.Option(..., "--study", help="The study whose results they are (`dpubench list studies`)."),
    values: list[str] = typer.Option([], "--set", help="KEY=VALUE[,VALUE]: a key of the study's plan, for the analysis (repeatable)."),
    name: str = typer.Option("", "--name", help="Name of the run."),
    results: Path | None = typer.Option(None, "--results", help="Folder of the runs (default: $DPUBENCH_RESULTS or ./results)."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    from dpubench import studies, terminal
    from dpubench.cli import results_directory
    from dpubench.errors import UserError
    from dpubench.plans.load import Where, plan_from_words
    from dpubench.run.console import write_report
    from dpubench.run.importing import File, keep

    there = studies.find(study)
    if name and (name != Path(name).name or name in (".", "..", "latest")):
        raise UserError(f"--name {name}: invalid name: use one word without slashes, but not `latest`")
    given = pairs("--set", values, "seed=2")
    found = there.imports([File.of(text) for text in files])
    words = found.plan.words()
    for key, value in given.items():
        lay(words, there, key, value)
    where = Where(f"import of study {study}", {}, {key.partition(".")[0]: f"--set {key}" for key in given})
    imported = replace(found, plan=plan_from_words(words, where))
    path = keep(there, imported, studies.Request(name, results_directory(results)))
    runs = there.summaries(path)
    report = write_report(there, runs, path)
    for note in imported.notes:
        terminal.note(note)
    if json:
        names, points = [run.target for run in runs], sum(len(run.points) for run in runs)
        terminal.print_json({"run": str(path), "report": str(report or ""), "targets": names, "points": points})
    else:
        print(f"imported: {path} ({len(runs)} target{'s' if len(runs) > 1 else ''})")
        print(f"next: dpubench show {path}")
