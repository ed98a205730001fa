"""The terminal summary at the end of a run: the coverage, the simulations, the next commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from dpubench.analysis.tables import count, table
from dpubench.run.console import SUMMARY_LINES, failure_lines, tail_lines
from dpubench.simulation.characteristics import CHARACTERISTICS
from dpubench.studies.coverage import text, wording
from dpubench.studies.coverage.model import RunSummary
from dpubench.studies.modelled.models import labels_of_some

#: Most lines for the reasons of failures.
FAILURE_LINES: Final = 6


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """Return the summary: at most :data:`SUMMARY_LINES` lines, unless failures need more."""
    labels = "; ".join([*run.labels, *labels_of_some(run.points)]) or run.label
    head = [f"{path.name}: {text.counts(run)}", f"{labels}; {count(len(record['failures']), 'failure')}"]
    head += wording.answer(run)
    if run.space is not None and run.space.covered and run.space.hull.thin:
        head.append(f"warning: {wording.hull_text(run.space.hull)}: a small share says little; read the distances")
    head += failure_lines(record["failures"][:2], FAILURE_LINES, path)
    tail = tail_lines(path, report, len(run.left_out))
    room = max(SUMMARY_LINES - len(head) - len(tail) - 1, 3)
    rows = [
        (p.kind, p.name, *(wording.characteristic_text(p, name) for name in CHARACTERISTICS))
        for p in sorted((p for p in run.points if p.there), key=lambda p: p.kind == "operator")
    ]
    if len(rows) > room:
        rows = [*rows[: room - 1], ("", f"... and {len(rows) - room + 1} more", *("" for _ in rows[0][2:]))]
    shown = (
        table([wording.origin_word(run), "name", *text.SHORT.values()], rows, [False, False, *(True for _ in text.SHORT)]).splitlines()
        if rows
        else []
    )
    return [*head, *shown, *tail]
