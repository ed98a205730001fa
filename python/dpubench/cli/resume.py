"""Go on with a run that was interrupted or whose rounds are not complete.

Rounds that are whole stay; what was measured in the round that was interrupted counts for the points that have it.
"""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    run: str = typer.Argument("latest", metavar="[RUN]", help="A run: path, name or `latest`."),
    results: Path | None = typer.Option(None, "--results", help="Folder of the runs (default: $DPUBENCH_RESULTS or ./results)."),
    engine_dir: list[Path] = typer.Option(
        [], "--engine-dir", help="Folder of engines that the run measures: has to be named again before what lies there is executed (repeatable)."
    ),
    against: Path | None = typer.Option(None, "--against", help="The other build of the run, likewise."),
    json: bool = typer.Option(False, "--json", help="Stream events as JSON lines."),
) -> int:
    from dpubench import studies
    from dpubench.cli import results_directory
    from dpubench.results.store import find_run

    found = find_run(run, results_directory(results))
    return studies.of_run(found).resume(found, studies.Request(as_json=json, engine_dirs=engine_dir, against=against))
