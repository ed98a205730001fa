"""Continue a run that was interrupted, or that has incomplete rounds.

Complete rounds stay. Measurements of the interrupted round count for the points that have them.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from dpubench.storage.runs import RunDirectory
    from dpubench.studies import Request


def command(
    run: str = typer.Argument("latest", metavar="[RUN]", help="A run: path, name or `latest`."),
    results: Path | None = typer.Option(None, "--results", help="Folder of the runs (default: $DPUBENCH_RESULTS or ./results)."),
    engine_dir: list[Path] = typer.Option(
        [], "--engine-dir", help="Folder with engines of the run: dpubench executes files there only if you name it again (repeatable)."
    ),
    against: Path | None = typer.Option(None, "--against", help="The other build of the run: name it again, too."),
    anyway: bool = typer.Option(
        False, "--anyway", help="If inputs, machine or build have changed: carry out the whole plan, as a new run beside the first one."
    ),
    json: bool = typer.Option(False, "--json", help="Stream events as JSON lines."),
) -> int:
    from dpubench import studies
    from dpubench.cli import results_directory
    from dpubench.errors import OtherThingError
    from dpubench.run import session
    from dpubench.storage.runs import find_run

    found = find_run(run, results_directory(results))
    request = studies.Request(as_json=json, engine_dirs=engine_dir, against=against)
    try:
        return session.resume(studies.of_run(found), found, request)
    except OtherThingError as error:
        if not anyway:
            raise
        return _apart(found, request, error)


def _apart(found: RunDirectory, request: Request, why: Exception) -> int:
    """Carry out the plan of ``found`` on the present machine and files, as a new run, so that no figure mixes both. @raises UserError"""
    from dpubench import anchors, studies, terminal
    from dpubench.plans.load import Where, read_plan
    from dpubench.run import session

    path = found.path
    name = next(n for i in itertools.count(2) if not (path.parent / (n := f"{path.name}-{i}")).exists())
    terminal.note(f"{why}")
    terminal.note(f"--anyway: {path.parent / name} is a new run; compare both with `dpubench compare {path} {path.parent / name}`")
    plan, lines = read_plan(found.plan_file)
    records = [member.record() for member in found.members() if member.run_file.is_file()]
    settings = {str(record["target"]): record.get("setting", {}) for record in records}
    devices = [f"{target}={device}" for target, setting in settings.items() for device in setting.get("devices", [])]
    anchor = next((anchors.again(setting["anchor"]) for setting in settings.values() if setting.get("anchor")), None)
    again = replace(request, name=name, results=path.parent, devices=devices, anchor=anchor)
    return session.start(studies.of_run(found), plan, Where(str(found.plan_file), lines), again)
