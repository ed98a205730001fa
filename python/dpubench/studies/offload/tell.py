"""The terminal summary at the end of a run of study ``offload``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

from dpubench.run.console import SUMMARY_LINES, failure_lines, tail_lines
from dpubench.studies.measured import text as measured
from dpubench.studies.measured.tell import FAILURE_LINES
from dpubench.studies.offload import text
from dpubench.studies.offload.model import RunSummary

_LEAST_ROOM: Final = 3


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """Return the summary: at most :data:`SUMMARY_LINES` lines, unless failures need more."""
    head = [f"{path.name}{'' if run.target == 'local' else f' on {run.target}'}: {measured.counts(run)}"]
    head += failure_lines(record["failures"][:2], FAILURE_LINES, path)
    head += text.withheld_lines(run)[:2]
    told = Counter(trend.verdict for trend in run.trends)
    head += [f"published trends: {', '.join(f'{number} {verdict}' for verdict, number in told.items())}"] if told else []
    head += [f"  {trend.verdict}: {trend.claim}" for trend in run.trends]
    tail = tail_lines(path, report, len(run.left_out))
    room = max(SUMMARY_LINES - len(head) - len(tail) - 2, _LEAST_ROOM)
    lines = [
        line for found in text.tables_of(run) if any(point.figures for point in found.points)
        for line in [*measured.heading(found), *measured.points_table(found).splitlines()]
    ]  # fmt: skip
    more = [f"... and {len(lines) - room} more lines: dpubench show {path}"] if len(lines) > room else []
    return [*head, *lines[:room], *more, *tail]
