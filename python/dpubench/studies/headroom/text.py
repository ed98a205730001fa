"""Runs of headroom as plain text for a terminal, a pipe or a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpubench.analysis.digits import significant
from dpubench.analysis.model import Interval, Quantity
from dpubench.analysis.tables import count, cpus_text, failure_line, section, table, warning_lines
from dpubench.studies.headroom import execute, model
from dpubench.studies.headroom.model import Limit, PointSummary, RunSummary, Selection
from dpubench.studies.headroom.plan import packet_text
from dpubench.studies.headroom.points import placed
from dpubench.studies.measured import text as measured
from dpubench.studies.measured.text import interval_text

#: What limits the highest rate, in words.
LIMITS: Final[dict[Limit, str]] = {
    "device": "the device: it refuses packets", "sink": "the sink: packets are lost", "generator": "the sending threads",
    "line": "the line", "unknown": "not known",
}  # fmt: skip
_NOTES: Final = 12
_SHOWN: Final = (model.LEFT, model.IDLE, model.KERNEL, model.LEFT_NS, model.LEFT_CYCLES, model.DELAY, model.BURST, model.RATE)


def show(runs: Sequence[RunSummary]) -> str:
    """Return ``runs`` as text: step 1, what is left at each rate, operators that fit, warnings, failures, and omissions."""
    return "\n\n".join("\n".join(_shown(run)) for run in runs) + "\n"


def _shown(run: RunSummary) -> list[str]:
    label = f" [{run.label}]" if run.label else ""
    origin = [str(run.machine.get("cpu", "")), cpus_text(run.machine), str(run.build_info.get("compiler", "")), f"dpubench {run.version}"]
    return [
        f"{run.name}{label}: study {run.study}, plan {run.plan}, {run.status}, started {run.started}",
        ", ".join(filter(None, origin)),
        measured.counts(run),
        *section("Highest rate, and the smallest configuration that reaches it", selection_table(run).splitlines() if run.selections else []),
        *section("CPU time left", points_table(run, run.points).splitlines() if run.points else []),
        *section("Operators", fit_lines(run)),
        *section("Notes on points", notes(run)),
        *section("Links", [f"{backend}: {how}" for backend, how in run.links.items()]),
        *section("Warnings", warning_lines(run.warnings)),
        *section("Failures", [failure_line(f.point or f.group, f.phase, f.message) for f in run.failures]),
        *section("Left out", run.left_out),
    ]


def notes(run: RunSummary) -> list[str]:
    """Return what the warnings of single points say of them, some of them."""
    told = [f"{w.point}: {w.code}, {w.message}" for w in run.warnings if w.point and w.message and w.code not in ("few-rounds", "not-converged")]
    return told[:_NOTES] + ([f"... and {len(told) - _NOTES} more, in the report"] if len(told) > _NOTES else [])


def selection_table(run: RunSummary) -> str:
    """Return a table of step 1: the rate of each packet size, and what limits it."""
    header = ("back-end", "packet", "highest rate (Gb/s)", "Mpps", "threads", "burst", "limited by")
    rows = [
        (
            placed(s.backend, s.placement), packet_text(s.size) + (f" x{s.reuse}" if s.reuse > 1 else ""),
            significant(s.gbps), significant(s.gbps * 1e3 / (8 * s.size)), str(s.threads), str(s.burst), limit_words(s),
        )
        for s in run.selections
    ]  # fmt: skip
    return table(header, rows, [False, False, True, True, True, True, False])


def limit_words(selection: Selection) -> str:
    """Return what limits a rate, in words."""
    rising = "; more threads might reach more" if selection.limit == "generator" and selection.is_rising else ""
    words = (_crossing_words(selection) if selection.placement == "embedded" else LIMITS[selection.limit]) + rising
    if not selection.line_gbps:
        return words
    return f"{words}; {100 * selection.gbps / selection.line_gbps:.0f} % of the line's {significant(selection.line_gbps)} Gb/s"


def _crossing_words(selection: Selection) -> str:
    """Return what limits the rate at which packets cross a device, with the share of its time in which it found nothing to do."""
    of = next((t for t in selection.tried if (t.threads, t.burst) == (selection.threads, selection.burst)), None)
    if of is None or of.free is None:
        return LIMITS[selection.limit]
    idle = f"the device is idle for {100 * of.free:.0f} %"
    if selection.limit == "device":
        lost = f"{100 * (of.lost_in or 0):.1f} % of the packets do not come in"
        return f"the device: {'it has no time left' if of.free < execute.NO_TIME else lost}; it is idle for {100 * of.free:.0f} %"
    if selection.limit == "sink":
        where = f", {100 * of.dropped:.1f} % at the device's way out" if of.dropped else ""
        return f"the sink: {100 * of.lost:.1f} % of the packets are lost{where}; {idle}"
    return f"{LIMITS[selection.limit]}; {idle}"


def points_table(run: RunSummary, points: Sequence[PointSummary]) -> str:
    """Return a table of ``points``: what is left of the CPU time of the threads at work, with 95 % intervals."""
    shown = shown_quantities(run)
    header = ("back-end", "packet", "rate", "work", *(f"{q.title} ({q.unit})" for q in shown), "remarks")
    rows = [
        (
            placed(p.backend, p.placement), packet_text(int(p.parameters["size"])), p.parameters["rate"], p.work,
            *(interval_text(p.figures.get(q.name)) for q in shown), measured.remarks(p),
        )
        for p in points
    ]  # fmt: skip
    return table(header, rows, [False, False, False, False, *(True for _ in shown), False])


def shown_quantities(run: RunSummary) -> list[Quantity]:
    """Return the quantities of the tables: those that tell what is left, where a point has them."""
    return [q for q in run.quantities if q.name in _SHOWN and any(q.name in p.figures for p in run.points)]


def fit_lines(run: RunSummary) -> list[str]:
    """Return, for each point that operators were set against, a sentence on what is left and on which operators fit."""
    lines = []
    for point in run.points:
        if not point.fits:
            continue
        lines.append(left_sentence(run, point) + ":")
        for fit in sorted(point.fits, key=lambda f: f.ns_per_packet):
            needs = interval_text(Interval(fit.ns_per_packet, fit.low_ns, fit.high_ns))
            lines.append(f"  {fit.verdict}: {fit.operator} by {fit.engine} ({fit.params}), {needs} ns per packet{_validated(point, fit)}")
    return lines


def left_sentence(run: RunSummary, point: PointSummary) -> str:
    """Return the number that a user acts on: ``at 12.5 Gb/s of 1500 B packets, memif on local has 210 ns (610 cycles) per packet left``."""
    left, cycles = point.figures[model.LEFT_NS], point.figures.get(model.LEFT_CYCLES)
    estimated = " estimated" if run.clock == "estimated" else ""
    also = f" ({significant(cycles.value)}{estimated} cycles)" if cycles is not None else ""
    rate = significant(point.wanted_gbps or point.figures[model.RATE].value)
    size, backend = packet_text(int(point.parameters["size"])), placed(point.backend, point.placement)
    return f"at {rate} Gb/s of {size} packets, {backend} on {run.target} has {significant(left.value)} ns{also} per packet left ({point.work})"


def _validated(point: PointSummary, fit: model.Fit) -> str:
    if fit.predicted_gbps is None or fit.measured_gbps is None:
        return ""
    measured = interval_text(Interval(fit.measured_gbps, fit.low_gbps or 0.0, fit.high_gbps or 0.0))
    loop = "forwarding" if point.placement == "embedded" else "transmit"
    return f"; in the {loop} loop predicted {significant(fit.predicted_gbps)} Gb/s, measured {measured}"


def summary_lines(run: RunSummary, room: int) -> list[str]:
    """Return the measured points as a table of at most ``room`` lines, for the end of a run."""
    measured = [point for point in run.points if point.figures or point.verified]
    more = [f"... and {count(len(measured) - room, 'more point')}"] if len(measured) > room else []
    return [*(points_table(run, measured[:room]).splitlines() if measured else []), *more]
