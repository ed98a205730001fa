"""Go on with a run that was interrupted or whose rounds are not complete.

Rounds that are whole stay; windows of the round that was interrupted count for the points that have them.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from dpubench.cli._session import Part
    from dpubench.results.store import RunWriter

_COMPLETE: Final = "is complete: nothing is left to resume; repeat it with `dpubench run {plan}`"


def command(
    run: str = typer.Argument("latest", metavar="[RUN]", help="A run: path, name or `latest`."),
    results: Path | None = typer.Option(None, "--results", help="Folder of the runs (default: $DPUBENCH_RESULTS or ./results)."),
    json: bool = typer.Option(False, "--json", help="Stream events as JSON lines."),
) -> int:
    from dpubench.cli import _session, results_directory
    from dpubench.errors import UserError
    from dpubench.plans.load import read_plan
    from dpubench.results.store import RunSetWriter, RunWriter, find_run
    from dpubench.workers.process import StopRequest

    found = find_run(run, results_directory(results))
    with StopRequest() as stop, contextlib.ExitStack() as opened:
        if not found.is_set:
            writer = opened.enter_context(RunWriter(found.path))
            return _session.carry_out(_part(writer, opened), stop, as_json=json)
        together = opened.enter_context(RunSetWriter(found.path))
        record = together.record()
        owing = [entry for entry in record["targets"] if entry["status"] != "complete"]
        if not owing:
            raise UserError(f"{found.path}: {_COMPLETE.format(plan=found.plan_file)}")
        members = [opened.enter_context(together.member(entry["name"])) for entry in owing]
        parts = [_part(member, opened) for member in members]
        for entry in owing:
            entry |= {"status": "running", "lost": ""}
        plan, _ = read_plan(found.plan_file)
        return _session.carry_out_together(together, record, parts, plan.budget, stop, as_json=json)


def _part(writer: RunWriter, opened: contextlib.ExitStack) -> Part:
    """What an interrupted run needs to go on; its target is open until ``opened`` closes.

    Raises:
        UserError: it is complete, an input is gone, or its target cannot be reached.
    """
    from dpubench import targets
    from dpubench.cli import _session
    from dpubench.errors import UserError
    from dpubench.plans.load import read_plan

    record = writer.record()
    if record["status"] == "complete":
        raise UserError(f"{writer.path}: {_COMPLETE.format(plan=writer.plan_file)}")
    inputs = {kind: list(given["files"]) for kind, given in record["inputs"].items()}
    if gone := [f for files in inputs.values() for f in files if not Path(f).exists()]:
        raise UserError(f"{gone[0]}: this input of the run is gone: put it back, or start anew with `dpubench run {writer.plan_file}`")
    plan, _ = read_plan(writer.plan_file)
    target = targets.find(record["target"])
    opened.callback(target.close)
    target.open()
    if target.spec != "local" or not Path(record["setting"]["program"]).is_file():
        record["setting"]["program"] = target.operators_program()
    writer.settle()
    return _session.Part(writer, plan, record, target, inputs)
