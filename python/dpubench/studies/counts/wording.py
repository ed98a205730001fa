"""Wording of counts for both the terminal and the report."""

from __future__ import annotations

from dpubench.analysis.digits import significant
from dpubench.analysis.tables import count
from dpubench.studies.counts.model import PointSummary, RunSummary


def per_op_text(point: PointSummary) -> str:
    """Return instructions per operation: with two decimals if the count is exact, else with three significant digits."""
    if not point.there:
        return "-"
    return f"{point.per_op:,.2f}" if point.exact else f"{significant(point.per_op, 3)}"


def repeats_text(point: PointSummary) -> str:
    """Return how well the count repeats itself: ``exact``, its scatter, or ``counted once``; empty without a count."""
    if not point.there:
        return ""
    if point.exact:
        return "exact"
    return f"differs by {significant(100 * point.spread, 2)} % in {len(point.counts)} counts" if len(point.counts) > 1 else "counted once"


def cycles_text(point: PointSummary) -> str:
    """Return modelled cycles per operation; a dash if there are none."""
    return "-" if point.cycles_per_op is None else f"{point.cycles_per_op:,.2f}"


def model_text(run: RunSummary) -> str:
    """Return the name of the model that gives the cycles, with its labels; empty if no cycles are modelled."""
    return f"cycles/op are modelled on {run.model}: {'; '.join(run.model_labels)}" if run.model else ""


def parameters_text(point: PointSummary) -> str:
    return ",".join(f"{k}={v}" for k, v in sorted(point.params.items()))


def path_text(point: PointSummary) -> str:
    """Return the code that ran: its instruction set, detail and library."""
    return ", ".join(str(point.path[key]) for key in ("isa", "detail", "library") if point.path.get(key))


def how_text(run: RunSummary) -> str:
    """Return how the run counted: the architecture, the emulator and the processor that it shows."""
    return f"{run.architecture} code under {run.emulator}, -cpu {run.cpu}"


def counts_text(run: RunSummary) -> str:
    """Return the number of points and operators counted, and how many counts repeat themselves."""
    there = [p for p in run.points if p.there]
    if not there:
        return "nothing was counted"
    loose = sum(not p.exact for p in there)
    exact = "every count repeats exactly" if not loose else f"{len(there) - loose} exact, {loose} differ from count to count"
    return f"{count(len(run.points), 'point')} of {count(len({p.operator for p in run.points}), 'operator')}, {len(there)} counted: {exact}"
