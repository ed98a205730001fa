"""Text output of a run of study ``cores`` for a terminal, a pipe or a log: the counterpart of :mod:`dpubench.studies.operators.text`."""

from __future__ import annotations

from collections.abc import Sequence

from dpubench.analysis import tables
from dpubench.analysis.digits import percent, significant
from dpubench.analysis.tables import count, section, table
from dpubench.studies.cores import wording
from dpubench.studies.cores.model import Claim, PointSummary, RunSummary


def show(runs: Sequence[RunSummary]) -> str:
    """Return ``runs`` as text: every point with its rate, the line it sustains and the cores that lines need; the claims; what is missing."""
    return tables.of_runs(runs, _shown)


def _shown(run: RunSummary) -> list[str]:
    lines = [
        tables.title(run),
        f"models: {', '.join(f'{m.name} ({m.title}, {m.year})' for m in run.models)}; dpubench {run.version}",
        counts(run),
        f"all figures: {'; '.join(run.labels)}",
        f"lines: {wording.overhead_text(run.line_overhead_bytes)}",
    ]
    if run.points:
        lines += ["", points_table(run), "", *_notes(run)]
    if run.claims:
        own = "; ".join(
            label for label in (run.points[0].labels if run.points else []) if label not in run.labels
        )  # only the first model is used to judge claims
        lines += ["", f"Claims of Crowley et al. 1999{f' ({own})' if own else ''}", *(line for claim in run.claims for line in claim_lines(claim))]
    compared = [(model.name, *entry) for model in run.models for entry in model.comparisons]
    fits = [f"{name}: {what}: {value} published, {ours} modelled, {error}" for name, what, value, _, ours, error in compared if ours]
    return [
        *lines,
        *section("Models compared with published figures", fits),
        *tables.troubles(run),
    ]


def counts(run: RunSummary) -> str:
    """Return how much was simulated: points, simulations, instructions, and how many points converged."""
    done = [p for p in run.points if p.messages_per_s is not None]
    if not done:
        return "nothing was simulated"
    loose = sum(not p.converged for p in done)
    how = "whole traces" if run.exact else f"sampled messages, {loose} of {len(done)} points beyond ±{100 * run.precision_target:g} %"
    return (
        f"{count(len(run.points), 'point')}, {len(done)} with a result, from {count(run.simulations, 'simulation')} "
        f"({run.instructions / 1e6:,.0f} million instructions); {how}"
    )


def points_table(run: RunSummary) -> str:
    """Return a table with a line per point."""
    header = [
        "kernel",
        "frame",
        "model",
        "organisation",
        "MHz",
        "variant",
        *map(wording.modelled, ("messages/s", "Gb/s", "IPC")),
        *map(wording.line_text, run.lines_gbps),
        "unknown",
    ]
    flush = [False, False, False, False, True, False, True, True, True, *(True for _ in run.lines_gbps), True, False]
    return table([*header, "remarks"], [_row(point, run) for point in run.points], flush)


def _row(point: PointSummary, run: RunSummary) -> tuple[str, ...]:
    organisation = wording.organisation_text(point)
    head = (point.kernel, wording.frame_text(point), point.model, organisation, f"{point.clock_mhz:g}", point.variant)
    labels = [label for label in point.labels if label not in run.labels]
    if point.messages_per_s is None or point.line_gbps is None:
        return (*head, "-", "-", "-", *("-" for _ in run.lines_gbps), "-", "; ".join([point.failure or "not simulated", *labels]))
    lines = [wording.cores_text(line.cores) + {"yes": "", "no": "", "undecided": "?"}[line.sustains] for line in point.lines]
    remarks = [*(["composed of its sizes"] if point.composed else []), *(["interval wider than asked"] if not point.converged else []), *labels]
    return (
        *head, wording.interval_text(point.messages_per_s), wording.interval_text(point.line_gbps, 3) if point.every_byte else "headers",
        "-" if point.ipc is None else significant(point.ipc, 3), *lines,
        "-" if point.unknown_share is None else percent(point.unknown_share), "; ".join(remarks),
    )  # fmt: skip


def _notes(run: RunSummary) -> list[str]:
    """Return notes that explain the columns."""
    notes = [
        "messages/s and Gb/s are of the whole chip; Gb/s is the rate of the line that these messages fill.",
        "headers: the kernel looks at no bytes beyond headers. Its rate is one of messages, whatever their size, and no rate of bytes.",
        "Columns of lines: the number of such processors that sustain the line (cores of one chip if the steps of the organisation are cores).",
        "unknown: share of the simulated instructions that the model does not know; above 0.1 % it refuses the trace.",
        "*: more than the most cores simulated together, or more may be needed: extrapolated from the most, no interval.",
        "?: undecided, the interval of this point contains the line's rate.",
    ]
    if not run.exact:
        notes.append("[low, high]: 95 % interval over sampled messages. It does not say how well the model fits the processor.")
    return notes


def claim_lines(claim: Claim) -> list[str]:
    """Return the lines about a claim: its verdict, figure and criterion, and the settings that change the verdict."""
    lines = [f"  {claim.verdict.upper()}: {claim.text}", *([f"    {claim.part}"] if claim.part else [])]
    lines += [f"    here: {claim.measured}{f' ({claim.code})' if claim.code else ''}", f"    criterion: {claim.criterion}"]
    lines += [f"    the paper's own figures: {claim.arithmetic}"] if claim.arithmetic else []
    lines += [f"    {words}" for words in (claim.waits, claim.note) if words]
    lines += [f"    decided by {s.what}: {s.verdict} ({s.measured}{f'; {s.part}' if s.part else ''})" for s in claim.deciding]
    if (same := [s for s in claim.sensitivities if s.verdict == claim.verdict]) and claim.verdict != "not run":
        lines.append(f"    the same verdict with: {'; '.join(s.what for s in same)}")
    return lines
