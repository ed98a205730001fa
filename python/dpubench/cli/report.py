"""Write the report of one or several runs: one HTML file that needs no network.

Runs of several studies get a section for each study. A section shows the targets of a run, or several runs, side by side, each compared with the
baseline (default: local). For a run of another device, copy its run directory here. Readers choose in the page: the best engine of each side, or the
same engine on both. --pairing sets the first choice.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dpubench.storage.runs import RunDirectory

_PAIRINGS = {"best-engine": "best", "same-engine": "same"}


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN", help="Runs, of any studies: paths, names, NAME@target, directories of runs, or 'latest' (default).", show_default=False
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="RUN|TARGET", help="Compare the others with this: a target, NAME@target, or a run (default: local)."),
    ] = None,
    pairing: Annotated[str, typer.Option("--pairing", help="best-engine: the fastest of each side; same-engine: the same on both.")] = "best-engine",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The file to write (default: report.html in the run's directory, or here for several)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    results: Annotated[Path | None, typer.Option("--results", metavar="DIR", help="Directory of runs.")] = None,
) -> int:
    from dpubench import studies
    from dpubench.cli import results_directory
    from dpubench.errors import EnvironmentFault, UserError, nearest
    from dpubench.report import frame
    from dpubench.storage.runs import find_run, find_runs
    from dpubench.terminal import print_json

    if pairing not in _PAIRINGS:
        raise UserError(f"--pairing {pairing}: unknown pairing{nearest(pairing, _PAIRINGS)}")
    folder = results_directory(results)
    chosen = [found for run in runs or ["latest"] for found in find_runs(run, folder)]
    analysed: dict[str, list[Any]] = {}  # by study, in the order in which the runs name them
    for found in chosen:
        study = studies.of_run(found)
        analysed.setdefault(study.name, []).extend(study.summaries(found.path))
    everything = [run for found_runs in analysed.values() for run in found_runs]
    base = baseline
    if baseline is not None and not any(baseline in (run.target, run.name, run.path) for run in everything):
        base, study_name, added = _baseline_run(find_run(baseline, folder), analysed)
        if added:
            if not runs:
                raise UserError(f"--baseline {baseline}: the latest run lacks it: name runs to compare (dpubench report RUN --baseline {baseline})")
            analysed[study_name] = added + analysed[study_name]
            everything = added + everything
    if len({run.path for run in everything}) != len(everything):
        raise UserError("a run is named twice: name every run once")
    target = output if output is not None else chosen[0].path / "report.html" if len(chosen) == 1 and base == baseline else Path("report.html")
    if target.is_dir():
        raise UserError(f"-o {target}: this is a directory: name a file, such as {target / 'report.html'}")
    try:
        sections = [studies.find(name).section(found, _of(base, found), _PAIRINGS[pairing]) for name, found in analysed.items()]
        frame.write(sections, target)
    except OSError as error:
        raise EnvironmentFault(f"{target}: the report cannot be written ({error.strerror or error}): choose another file with -o") from error
    except ValueError as error:
        raise UserError(str(error)) from error
    if json:
        print_json({"report": str(target), "bytes": target.stat().st_size, "runs": [run.name for run in everything]})
    else:
        print(f"report: {target} ({target.stat().st_size / 1e6:.1f} MB, needs no network)")
    return 0


def _of(baseline: str | None, runs: list[Any]) -> str | None:
    """Return ``baseline`` if it is one of ``runs``, which are of one study; else None: it is of another study's runs."""
    return baseline if any(baseline in (run.target, run.name, run.path) for run in runs) else None


def _baseline_run(directory: RunDirectory, analysed: dict[str, list[Any]]) -> tuple[str, str, list[Any]]:
    """Return the path of the baseline in ``directory``, a run or a set, its study, and the runs that the report must add for it."""
    from dpubench import studies
    from dpubench.errors import UserError

    study = studies.of_run(directory)
    if study.name not in analysed:
        raise UserError(f"--baseline {directory.path}: it is of study {study.name}, and the runs are of {', '.join(analysed)}: name one of theirs")
    found = study.summaries(directory.path)
    base = next((run for run in found if run.is_baseline), found[0])
    known = {run.path for run in analysed[study.name]}
    return base.path, study.name, [] if base.path in known else found
