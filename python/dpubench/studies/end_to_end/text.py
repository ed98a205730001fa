"""A run of study ``end-to-end`` as text for a terminal, a pipe or a log: the counterpart of :mod:`dpubench.studies.operators.text`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpubench.analysis import tables
from dpubench.analysis.digits import significant
from dpubench.analysis.model import Interval, Warning_
from dpubench.analysis.tables import LOOSE, count, loose_note, precision_text, table
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PointSummary, RunSummary

_COLUMNS = (
    ("workload", False), ("engines", False), ("placement", False), ("port", False), ("frame", True), ("load", False), ("Mpps", True),
    ("Gb/s", True), ("interval", False), ("loss", True), ("packets", True), ("CPU", True), ("ns/packet", True), ("inserts", True),
    ("p50 us (lag)", True), ("p99 us (lag)", True), ("p99.9 us (lag)", True), ("max us (lag)", True), ("behind p99.9", True), ("trials", True),
    ("remarks", False),
)  # fmt: skip
#: Columns that say which point it is.
_NAMED = 6


def show(runs: Sequence[RunSummary]) -> str:
    """Return every point of every run with its throughput, loss, CPU share, latency and limits, and each run's warnings, failures and gaps."""
    return tables.of_runs(runs, _shown)


def _shown(run: RunSummary) -> list[str]:
    lines = [
        tables.title(run),
        tables.origin(run),
        _counts(run),
    ]
    shared = {key: value for key, value in _shared_settings(run).items() if value}
    lines += [f"{key}: {value}" for key, value in shared.items()]
    lines += [f"the client's ceiling: {wording.ceiling_text(c)}" for c in run.ceilings]
    if run.points:
        rows = [_row(point, run) for point in _grouped(run.points) if not point.left_out]
        columns: Sequence[tuple[str, bool]] = _COLUMNS
        notes = ["", *_notes(run)]
        if run.times_mean_nothing:  # without the columns of figures
            columns, rows, notes = (*_COLUMNS[:_NAMED], _COLUMNS[-1]), [(*row[:_NAMED], row[-1]) for row in rows], []
        lines += ["", table([name for name, _ in columns], rows, [right for _, right in columns]), *notes]
    return [
        *lines,
        *tables.troubles(run, _all_warnings(run)),
    ]


def _all_warnings(run: RunSummary) -> list[Warning_]:
    """Return the warnings of the run and of its points, each once."""
    return list(dict.fromkeys([*run.warnings, *(w for point in run.points for w in point.warnings)]))


def _counts(run: RunSummary) -> str:
    if run.times_mean_nothing:
        return wording.verified_text(run)
    measured = [p for p in run.points if not wording.why_empty(p)]
    if not measured:
        return "nothing was measured"
    loose = sum(not p.converged for p in measured)
    told = f"{loose} of them not converged" if loose else "all converged"
    tails = sum("latency.p99" in p.not_converged for p in measured)
    told += f" (throughput), {tails} not converged (p99 latency)" if tails else ""
    limited = sum(not wording.says_of_the_server(p) for p in run.points)
    silent = f", {limited} limited by the client or by stalls" if limited else ""
    above = sum(bool(p.left_out) for p in run.points)
    silent += f", {above} left out above the client's ceiling" if above else ""
    trials = ", ".join(filter(None, [count(run.trials, "trial"), wording.discarded(run.tried, run.tried_again)]))
    return f"{count(len(run.points), 'point')}, {len(measured)} measured, {told}{silent}; {count(run.rounds, 'round')}, {trials}"


def _shared_settings(run: RunSummary) -> dict[str, str]:
    """Return the settings that all points share; they stand above the table."""
    return {
        "all figures": "; ".join(run.labels),
        "traffic": wording.assignments(wording.common(p.traffic for p in run.points), ", "),
        "timestamps": "; ".join(dict.fromkeys(p.timestamp_source for p in run.points if p.timestamp_source)),
        "server CPU": f"withheld: {why}" if (why := _withheld_everywhere(run)) else "",
    }


def _withheld_everywhere(run: RunSummary) -> str:
    """Return why no measured point of a run has a CPU time, if all have the same reason; else an empty string."""
    reasons = {p.server_cpu_withheld for p in run.points if not wording.why_empty(p)}
    return next(iter(reasons)) if len(reasons) == 1 else ""


def _grouped(points: Sequence[PointSummary]) -> list[PointSummary]:
    """Return the points in groups: loads of a configuration together, configurations of a workload together, each in the order of the run."""
    workloads = list(dict.fromkeys(p.workload for p in points))
    configurations = list(dict.fromkeys(p.configuration for p in points))
    return sorted(points, key=lambda p: (workloads.index(p.workload), configurations.index(p.configuration)))


def _row(point: PointSummary, run: RunSummary) -> tuple[str, ...]:
    shared = wording.common(p.traffic for p in run.points)
    own = {**point.params, **{k: v for k, v in point.traffic.items() if k not in shared}}
    workload = point.workload + (" (null)" if point.is_null else f" {wording.assignments(own)}" if own else "")
    port = point.port + (f" x{point.server_cpus}" if point.server_cpus > 1 else "")
    frame = point.frame if point.frame.isdigit() else f"{point.frame} {point.frame_bytes:g}"
    head = (workload, wording.engines_text(point) or "-", wording.placement_text(point), port, frame, point.load)
    labels = [label for label in point.labels if label not in run.labels]
    tried = wording.discarded(point.tried, point.tried_again)
    if why := wording.why_empty(point):
        empty = [""] * (len(_COLUMNS) - len(head) - 3)
        return (*head, "-", *empty, str(point.trials or ""), "; ".join(filter(None, [why, tried, *labels])))
    is_own = point.server_cpu_withheld and not _withheld_everywhere(run)
    missing = [f"CPU withheld: {point.server_cpu_withheld}"] if is_own else wording.cpu_parts(point)
    times = [wording.latency_text(point, name, _loose(point, f"latency.{name}")) for name in ("p50", "p99", "p99_9", "max")]
    told = [*wording.remarks(point), *filter(None, [tried]), *missing, *labels]
    lost_at = wording.main_place(point)
    at_least = "" if wording.says_of_the_server(point) else ">= "
    return (
        *head,
        at_least + _scaled(point.throughput_pps, 1e-6),
        at_least + _scaled(point.throughput_gbps),
        precision_text(point.precision) + _loose(point, "throughput_pps"),
        wording.loss_text(point) + _loose(point, "loss_ratio"),
        wording.packets(point.due) if point.due else "-",
        _share(point.server_cpu_share) + _loose(point, "server_cpu_share"),
        _scaled(point.server_cpu_ns_per_packet) + _loose(point, "server_cpu_ns_per_packet"),
        _share(point.inserted_share) + _loose(point, "inserted_share"),
        *times,
        "-" if point.latency is None else str(wording.behind_p99_9(point)),
        str(point.trials),
        "; ".join([f"lost at {lost_at}", *told] if lost_at else told),
    )


def _loose(point: PointSummary, name: str) -> str:
    return LOOSE if name in point.not_converged else ""


def _scaled(interval: Interval | None, factor: float = 1.0) -> str:
    return significant(interval.value * factor) if interval is not None else "-"


def _share(interval: Interval | None) -> str:
    """Return a share in percent with one decimal; ``0`` if it is exactly zero."""
    if interval is None or not math.isfinite(interval.value):
        return "-"
    return "0" if interval.value == 0 else f"{100 * interval.value:.1f} %"


def _notes(run: RunSummary) -> list[str]:
    """Return the notes that explain the columns."""
    notes = [
        "Mpps and Gb/s: frames with FCS (L2) that came back to the client; for NDR and PDR the highest rate found that met the goal.",
        *wording.requirements(run.points),
        "Loss: share of the packets due in the trials behind the figures (column packets); for NDR and PDR in all trials at the rate found.",
        "If none was lost, the brackets hold the smallest loss ratio that so many packets can show (3 / N, the rule of three, 95 %).",
        "Trials: all trials. Those that the client or a stall limited were discarded, and tried again a few times.",
        "CPU: share of the server's CPU time in the measured part: the application's time and the kernel's receive work for it.",
        "ns/packet: that time per packet. Inserts: share of the measured part's packets that entered a flow in the table.",
        "Latency: from a packet's due time to the client's receive burst. In parentheses the client's own lag, how late it sent (?: not known).",
        "A latency is withheld (-) if the lag of the same percentile is more than a tenth of it.",
        "Behind p99.9: packets beyond it in the round with the fewest.",
    ]
    if any(p.not_converged for p in run.points):
        notes.append(loose_note(run.precision_target))
    floors = [p.floor.latency.p50.value for p in run.points if p.floor is not None and p.floor.latency is not None]
    floors = [value for value in floors if math.isfinite(value)]  # a withheld latency is nan
    if floors:
        notes.append(f"Floor of latency (null workload, same load, same link): p50 {_range_us(floors)} us.")
    return notes


def _range_us(values_ns: Sequence[float]) -> str:
    low, high = (significant(v / 1e3, 3) for v in (min(values_ns), max(values_ns)))
    return low if low == high else f"{low} to {high}"
