"""Text output of a run of study ``coverage`` for a terminal, a pipe or a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from dpubench.analysis import tables
from dpubench.analysis.digits import percent
from dpubench.analysis.tables import count, table
from dpubench.simulation.characteristics import CHARACTERISTICS, WORDS
from dpubench.studies.coverage import wording
from dpubench.studies.coverage.model import Composition, PointSummary, RunSummary, Space

SHORT: Final = {
    "ipc": "IPC", "itlb_miss_ratio": "iTLB miss", "dtlb_miss_ratio": "dTLB miss", "l1d_miss_ratio": "L1D miss", "integer_share": "integer",
    "branch_share": "branch", "load_store_share": "load/store",
}  # fmt: skip


def show(runs: Sequence[RunSummary]) -> str:
    """Return ``runs`` as text: the answer, every point with its characteristics, the coverage, compositions, components, and what is missing."""
    return tables.of_runs(runs, _shown)


def _shown(run: RunSummary) -> list[str]:
    lines = [
        tables.title(run),
        f"on: {', '.join(f'{m.name} ({m.title}, {m.year})' for m in run.models) or 'this machine'}; dpubench {run.version}",
        counts(run),
        f"all figures: {'; '.join(run.labels)}",
        "",
        *wording.answer(run),
        *([f"warning: {thin}"] if run.space is not None and run.space.covered and (thin := wording.thin_text(run.space)) else []),
    ]
    if run.points:
        lines += ["", f"Characteristics, {wording.origin_word(run)}", points_table(run), "", *_notes(run)]
    if run.space is not None:
        lines += _space(run, run.space)
    return [
        *lines,
        *tables.troubles(run),
    ]


def counts(run: RunSummary) -> str:
    """Return how much was simulated: points, simulations, instructions and the part of the traces."""
    there = [p for p in run.points if p.there]
    if not there:
        return "nothing was simulated" if run.models else "nothing was measured"
    of = f"{count(run.simulations, 'simulation' if run.models else 'measurement')} ({run.instructions / 1e6:,.1f} million instructions)"
    return f"{count(len(run.points), 'point')}, {len(there)} with a result, from {of}; {how_text(run)}"


def how_text(run: RunSummary) -> str:
    """Return the simulated part of the traces in words; for measurements, how they are made."""
    if not run.models:
        return "two runs each, the second with twice the messages: figures are their difference"
    if run.exact:
        return "whole traces"
    kinds = {p.kind == "operator" for p in run.points if p.there}
    told = []
    if True in kinds:
        told.append("operators sampled" if any(p.sampled for p in run.points) else "operators with all messages of their traces")
    if False in kinds:
        most = run.phases * run.phase_instructions
        cut = run.phases and any(i.instructions >= most for p in run.points for i in p.inputs)
        told.append(f"whole programs with the first {run.phases} phases of each input" if cut else "whole programs with all their phases")
    return ", ".join(told) or "nothing"


def points_table(run: RunSummary) -> str:
    """Return a table with a line per point."""
    header = ["", "name", "of", *(SHORT[name] for name in CHARACTERISTICS), "instructions", "unknown", "remarks"]
    flush = [False, False, False, *(True for _ in CHARACTERISTICS), True, True, False]
    return table(header, [_row(point, run) for point in run.points], flush)


def _row(point: PointSummary, run: RunSummary) -> tuple[str, ...]:
    head = (point.kind, point.name, wording.told(point))
    labels = [label for label in point.labels if label not in run.labels]
    failed = [f"{i.name or i.id}: {i.failure}" for i in point.inputs if i.failure]
    if not point.there:
        return (*head, *("-" for _ in CHARACTERISTICS), "-", "-", "; ".join([point.failure, *labels]))
    values = [wording.characteristic_text(point, name) for name in CHARACTERISTICS]
    unknown = "-" if point.unknown_share is None else wording.value_text("unknown", point.unknown_share)
    return (*head, *values, f"{point.instructions:,}", unknown, "; ".join([*failed, *labels]))


def _notes(run: RunSummary) -> list[str]:
    notes = ["Misses are shares of accesses; integer, branch and load/store are shares of instructions. The rest is vector, crypto or other."]
    if any(p.ipc is not None and math.isfinite(p.ipc.low) for p in run.points):
        notes.append("[low, high]: 95 % interval over sampled messages. It does not say how well the model fits the processor.")
    return notes


def _space(run: RunSummary, space: Space) -> list[str]:
    names = space.names
    rows = [
        (
            names[c.point], f"{c.inside} of {c.phases}", wording.share_text(c.share), percent(c.near / c.phases),
            wording.distance_text(c.median_distance), wording.distance_text(c.largest_distance), wording.reason_text(c),
        )
        for c in space.covered
    ]  # fmt: skip
    lines = []
    if rows:
        header = ["", "phases inside", "share", "within 1", "median off", "most off", "outside by"]
        lines += ["", f"Phases of {run.phase_instructions:,} instructions inside the operators' hull; off: distance in standard deviations"]
        lines.append(wording.hull_text(space.hull))
        lines += [table(header, rows, [False, True, True, True, True, True, False])]
    if space.left_out:
        for what, changes in (
            ("inside", [(e.operator, e.change) for e in space.left_out]),
            ("inside or at most one standard deviation off", [(e.operator, e.near_change) for e in space.left_out]),
        ):
            shown = ", ".join(f"{operator} {100 * change:+.3g}" for operator, change in sorted(changes, key=lambda kv: kv[1]) if change)
            lines += ["", f"Without one operator the share {what} changes by (percentage points): {shown or '0 for each operator'}"]
    if space.compositions:
        lines += [
            "",
            "Applications compared with the nearest mixture of their operators",
            *(line for c in space.compositions for line in _composed(c, names)),
        ]
    variance = ", ".join(f"{100 * c.variance:.1f} %" for c in space.components)
    lines += ["", f"Principal components explain {variance} of the variance"]
    if space.dropped:
        lines.append(f"not counted for every point, so left out of the space: {', '.join(WORDS[name] for name in space.dropped)}")
    if space.constant:
        lines.append(f"the same for every point: {', '.join(WORDS[name] for name in space.constant)}")
    return lines


def _composed(composition: Composition, names: dict[str, str]) -> list[str]:
    if not composition.weights:
        return [f"  {names[composition.application]}: none of its operators is in the run"]
    parts = ", ".join(f"{names[name]} {percent(w)}" for name, w in sorted(composition.weights.items(), key=lambda kv: -kv[1]) if w > 0.0005)
    apart = sorted(composition.differences.items(), key=lambda kv: -abs(kv[1]))[:2]
    most = ", ".join(f"{WORDS[name]} {value:+.2g}" for name, value in apart)
    lost = f"; not in the run: {', '.join(composition.missing)}" if composition.missing else ""
    return [f"  {names[composition.application]}: {parts}; off by {composition.distance:.3g} standard deviations (most: {most}){lost}"]
