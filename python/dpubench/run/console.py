"""Messages at the end of a run of any study: failures, the place of the report, the next command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpubench import programs, terminal
from dpubench.errors import UserError
from dpubench.run.progress import JsonEvents, Lines
from dpubench.run.record import named_again

if TYPE_CHECKING:
    from dpubench.studies import Study

#: Most lines of a summary, unless failures need more. The line that names a page (:func:`page_lines`) comes after them.
SUMMARY_LINES: Final = 19


def named(path: Path) -> str:
    """Return how a command can name this run: its name in the default results folder, else its path."""
    default = Path(os.environ.get("DPUBENCH_RESULTS", "results"))
    return path.name if path.parent.resolve() == default.resolve() else str(path)


def going_on(path: Path, setting: Mapping[str, Any] | None = None) -> str:
    """Return how to continue an interrupted run; ``setting`` is the run's, which may name programs of others."""
    return "continue with `" + " ".join(["dpubench resume", shlex.quote(named(path)), *named_again(setting or {})]) + "`"


def write_report(study: Study, analysed: list[Any], path: Path) -> Path | None:
    """Write the run's HTML report and return its path; None, with the reason on standard error, when it cannot be written."""
    from dpubench.report import frame

    file = path / "report.html"
    try:
        frame.write([study.section(analysed)], file)
    except (UserError, ValueError, OSError) as error:
        # The measurement is done and kept: a missing report must not make it look lost.
        terminal.note(f"no report: {error}; try `dpubench report {named(path)}`")
        return None
    return file


def failure_lines(failures: Sequence[dict[str, Any]], room: int, path: Path) -> list[str]:
    """Return the failures with their reasons, wrapped to the terminal; beyond ``room`` lines, tell where to find the rest."""
    lines: list[str] = []
    for failure in failures:
        told = f"failed: {failure.get('point', failure.get('group', 'the run'))}: {failure['message']}"
        lines += terminal.wrapped(" ".join(told.split()))
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], f"  ... the rest of the reasons: dpubench show {named(path)}"]


def tail_lines(path: Path, report: Path | None, left_out: int = 0) -> list[str]:
    """Return lines on omissions, the report and the next command."""
    lines = [f"left out: {left_out} things, listed in the report and in run.json"] if left_out else []
    lines += [f"report: {report}"] if report is not None else [f"results: {path}"]
    return [*lines, f"next: dpubench show {named(path)}"]


def page_lines(page: str) -> list[str]:
    """Return a line that names the documentation's ``page`` on the figures above; none where the documentation is not installed."""
    file = programs.documentation(page)
    if file is None:
        return []
    try:
        return [f"explained in: {file.relative_to(Path.cwd())}"]
    except (ValueError, OSError):  # elsewhere, or the working folder is gone
        return [f"explained in: {file}"]


def summary_event(path: Path, report: Path | None, status: int, failures: int, points: int) -> dict[str, Any]:
    """Return the summary event of ``--json``."""
    return {"event": "summary", "run": str(path), "report": str(report or ""), "status": status, "failures": failures, "points": points}


def conclude(display: Lines, path: Path, event: dict[str, Any], lines: Sequence[str]) -> None:
    """Show the end of a run, as an event or in lines. If standard output cannot be written, report on standard error that the run is kept."""
    heard = display.emit(event) if isinstance(display, JsonEvents) else terminal.tell("\n".join(lines))
    if not heard:
        terminal.note(f"standard output can no longer be written; the run went on to its end all the same: `dpubench show {named(path)}`")
