"""Write the report of one or several runs: one HTML file that needs no network.

With several runs every figure is set against the baseline run (default: the first). A run of another device is its run directory, copied here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="Runs: paths, names, or 'latest' (default).", show_default=False)] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="RUN", help="The run that others are set against (default: the first).")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The file to write (default: report.html in the run's directory, or here for several)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
    results: Annotated[Path | None, typer.Option("--results", metavar="DIR", help="Directory of runs.")] = None,
) -> int:
    from dpubench import report
    from dpubench.cli import print_json, results_directory
    from dpubench.errors import EnvironmentFault, UserError
    from dpubench.results.store import find_run
    from dpubench.results.summary import summarize

    folder = results_directory(results)
    chosen = [find_run(run, folder).path for run in runs or ["latest"]]
    base = find_run(baseline, folder).path if baseline is not None else chosen[0]
    if base not in chosen:
        if not runs:
            raise UserError(f"--baseline {baseline}: name the runs to set against it too (dpubench report RUN --baseline {baseline})")
        chosen.insert(0, base)
    if len(set(chosen)) != len(chosen):
        raise UserError("a run is named twice: every run stands in a report once")
    target = output if output is not None else chosen[0] / "report.html" if len(chosen) == 1 else Path("report.html")
    if target.is_dir():
        raise UserError(f"-o {target}: this is a directory; name a file, such as {target / 'report.html'}")
    summaries = [summarize(path) for path in chosen]
    try:
        report.write(summaries, target, baseline=summaries[chosen.index(base)].path)
    except OSError as error:
        raise EnvironmentFault(f"{target}: the report cannot be written ({error.strerror or error}): choose another file with -o") from error
    except ValueError as error:
        raise UserError(str(error)) from error
    if json:
        print_json({"report": str(target), "bytes": target.stat().st_size, "runs": [summary.name for summary in summaries]})
    else:
        print(f"report: {target} ({target.stat().st_size / 1e6:.1f} MB, needs no network)")
    return 0
