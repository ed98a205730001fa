"""The terminal summary at the end of a run of headroom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpubench.run.console import SUMMARY_LINES, failure_lines, tail_lines
from dpubench.studies.headroom import text
from dpubench.studies.headroom.model import RunSummary
from dpubench.studies.measured.tell import FAILURE_LINES
from dpubench.studies.measured.text import counts


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """Return the summary: at most :data:`SUMMARY_LINES` lines, unless failures need more."""
    head = [f"{path.name}{'' if run.target == 'local' else f' on {run.target}'}: {counts(run)}"]
    head += failure_lines(record["failures"][:2], FAILURE_LINES, path)
    tail = tail_lines(path, report, len(run.left_out))
    fits = text.fit_lines(run)[:6]
    return [*head, *text.summary_lines(run, max(SUMMARY_LINES - len(head) - len(tail) - len(fits) - 2, 3)), *fits, *tail]
