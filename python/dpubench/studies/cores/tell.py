"""The terminal summary at the end of a run: the simulations, the line rates, the verdicts on claims, the next commands."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

from dpubench.analysis.tables import count, table
from dpubench.run.console import SUMMARY_LINES, failure_lines, tail_lines
from dpubench.studies.cores import text, wording
from dpubench.studies.cores.model import VERDICTS, PointSummary, RunSummary
from dpubench.studies.cores.plan import BASE
from dpubench.studies.modelled.models import labels_of_some

#: Most lines for the reasons of failures.
FAILURE_LINES: Final = 6


def summary(run: RunSummary, record: dict[str, Any], path: Path, report: Path | None) -> list[str]:
    """Return the summary: at most :data:`SUMMARY_LINES` lines, unless failures need more."""
    labels = "; ".join([*run.labels, *labels_of_some(run.points)]) or run.label
    head = [f"{path.name}: {text.counts(run)}", f"{labels}; {count(len(record['failures']), 'failure')}"]
    if run.claims:
        verdicts = Counter(claim.verdict for claim in run.claims)
        head.append("claims of Crowley et al. 1999: " + ", ".join(f"{verdicts[v]} {v}" for v in VERDICTS if verdicts[v]))
    head += failure_lines(record["failures"][:2], FAILURE_LINES, path)
    tail = tail_lines(path, report, len(run.left_out))
    shown = [p for p in run.points if p.line_gbps is not None and p.variant == BASE]
    room = max(SUMMARY_LINES - len(head) - len(tail) - 1, 3)
    rows = [_row(point) for point in shown]
    if len(rows) > room:
        rows = [*rows[: room - 1], (f"... and {len(rows) - room + 1} more", "", "", "", "", "")]
    return [*head, *(table(_HEADER, rows, [False, False, False, False, True, True]).splitlines() if rows else []), *tail]


_HEADER: Final = ("kernel", "frame", "model", "organisation", "MHz", wording.modelled("sustained"))


def _row(point: PointSummary) -> tuple[str, ...]:
    assert point.line_gbps is not None  # the caller filters for it
    organisation = wording.organisation_text(point)
    return (
        point.kernel, wording.frame_text(point), point.model, organisation, f"{point.clock_mhz:g}", wording.rate_text(point)
    )  # fmt: skip
