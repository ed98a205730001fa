"""Go on with a run that was interrupted or whose rounds are not complete.

Rounds that are whole stay; windows of the round that was interrupted count for the points that have them.
"""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    run: str = typer.Argument("latest", metavar="[RUN]", help="A run: path, name or `latest`."),
    results: Path | None = typer.Option(None, "--results", help="Folder of the runs (default: $DPUBENCH_RESULTS or ./results)."),
    json: bool = typer.Option(False, "--json", help="Stream events as JSON lines."),
) -> int:
    from dpubench import programs
    from dpubench.cli import _session, results_directory
    from dpubench.errors import UserError
    from dpubench.plans.load import read_plan
    from dpubench.results.store import RunWriter, find_run
    from dpubench.workers.process import StopRequest

    found = find_run(run, results_directory(results))
    with StopRequest() as stop, RunWriter(found.path) as writer:
        record = writer.record()
        if record["status"] == "complete":
            raise UserError(f"{found.path}: is complete: nothing is left to resume; repeat it with `dpubench run {found.plan_file}`")
        program = Path(record["setting"]["program"])
        if not program.is_file():
            program = programs.operators_program()
        files = [f for given in record["inputs"].values() for f in given["files"]]
        if gone := [f for f in files if not Path(f).exists()]:
            raise UserError(f"{gone[0]}: this input of the run is gone: put it back, or start anew with `dpubench run {found.plan_file}`")
        plan, _ = read_plan(found.plan_file)
        writer.settle()
        inputs = {kind: list(given["files"]) for kind, given in record["inputs"].items()}
        return _session.carry_out(writer, plan, record, program, inputs, stop, as_json=json)
