"""A run of study ``end-to-end`` as text for a terminal, a pipe or a log: the counterpart of :mod:`dpubench.results.text`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpubench.results.digits import significant
from dpubench.results.model import Interval, Warning_
from dpubench.results.text import LOOSE, count, cpus_text, failure_line, loose_note, precision_text, section, table, warning_lines
from dpubench.studies.end_to_end import wording
from dpubench.studies.end_to_end.model import PointSummary, RunSummary

_COLUMNS = (
    ("workload", False), ("engines", False), ("placement", False), ("port", False), ("frame", True), ("load", False), ("Mpps", True),
    ("Gb/s", True), ("interval", False), ("loss", True), ("CPU", True), ("p50 us", True), ("p99 us", True), ("p99.9 us", True), ("remarks", False),
)  # fmt: skip


def show(runs: Sequence[RunSummary]) -> str:
    """Every point of every run with its throughput, loss, CPU share, latency and limits, and what weakens or is missing from a run."""
    return "\n\n".join("\n".join(_shown(run)) for run in runs) + "\n"


def _shown(run: RunSummary) -> list[str]:
    lines = [
        f"{run.name}{f' [{run.label}]' if run.label else ''}: study {run.study}, plan {run.plan}, {run.status}, started {run.started}",
        ", ".join(
            filter(
                None, [str(run.machine.get("cpu", "")), cpus_text(run.machine), str(run.build_info.get("compiler", "")), f"dpubench {run.version}"]
            )
        ),
        _counts(run),
    ]
    shared = {key: value for key, value in _shared_settings(run).items() if value}
    lines += [f"{key}: {value}" for key, value in shared.items()]
    if run.points:
        rows = [_row(point, run) for point in _grouped(run.points)]
        lines += ["", table([name for name, _ in _COLUMNS], rows, [right for _, right in _COLUMNS]), "", *_notes(run)]
    return [
        *lines,
        *section("Warnings", warning_lines(_all_warnings(run))),
        *section("Failures", [failure_line(f.point or f.group, f.phase, f.message) for f in run.failures]),
        *section("Left out", run.left_out),
    ]


def _all_warnings(run: RunSummary) -> list[Warning_]:
    """Of the run and of its points, each once."""
    return list(dict.fromkeys([*run.warnings, *(w for point in run.points for w in point.warnings)]))


def _counts(run: RunSummary) -> str:
    measured = [p for p in run.points if not wording.why_empty(p)]
    if not measured:
        return "nothing was measured"
    loose = sum(not p.converged for p in measured)
    told = f"{loose} of them not converged" if loose else "all converged"
    tails = sum("latency.p99" in p.not_converged for p in measured)
    told += f" (throughput), {tails} in their p99 latency" if tails else ""
    limited = sum(not wording.says_of_the_server(p) for p in run.points)
    silent = f", {limited} limited by the client or by stalls" if limited else ""
    return f"{count(len(run.points), 'point')}, {len(measured)} measured, {told}{silent}; {count(run.rounds, 'round')}, {count(run.trials, 'trial')}"


def _shared_settings(run: RunSummary) -> dict[str, str]:
    """What stands above the table because all points share it."""
    return {
        "all figures": "; ".join(run.labels),
        "traffic": wording.assignments(wording.common(p.traffic for p in run.points), ", "),
        "timestamps": "; ".join(dict.fromkeys(p.timestamp_source for p in run.points if p.timestamp_source)),
    }


def _grouped(points: Sequence[PointSummary]) -> list[PointSummary]:
    """The loads of a configuration together, configurations of a workload together, each in the order of the run."""
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
    if why := wording.why_empty(point):
        return (*head, "-", "", "", "", "", "", "", "", "; ".join([why, *labels]))
    missing = [f"CPU withheld: {point.server_cpu_withheld}"] if point.server_cpu_withheld else []
    latency = point.latency
    times = [_us(getattr(latency, n)) + _loose(point, f"latency.{n}") for n in ("p50", "p99", "p99_9")] if latency else ["-", "-", "-"]
    told = [*wording.remarks(point), *missing, *labels]
    lost_at = wording.main_place(point)
    at_least = "" if wording.says_of_the_server(point) else ">= "
    return (
        *head,
        at_least + _scaled(point.throughput_pps, 1e-6),
        at_least + _scaled(point.throughput_gbps),
        precision_text(point.precision) + _loose(point, "throughput_pps"),
        _share(point.loss_ratio) + _loose(point, "loss_ratio"),
        _share(point.server_cpu_share, 1) + _loose(point, "server_cpu_share"),
        *times,
        "; ".join([f"lost at {lost_at}", *told] if lost_at else told),
    )


def _loose(point: PointSummary, name: str) -> str:
    return LOOSE if name in point.not_converged else ""


def _scaled(interval: Interval | None, factor: float = 1.0) -> str:
    return significant(interval.value * factor) if interval is not None else "-"


def _us(interval: Interval) -> str:
    return significant(interval.value / 1e3, 3)


def _share(interval: Interval | None, decimals: int | None = None) -> str:
    """A share in percent; what is small keeps its digits, and zero is zero."""
    if interval is None or not math.isfinite(interval.value):
        return "-"
    percent = 100 * interval.value
    return "0" if percent == 0 else f"{percent:.{decimals}f} %" if decimals is not None else f"{significant(percent, 3)} %"


def _notes(run: RunSummary) -> list[str]:
    """What the columns mean."""
    notes = [
        "Mpps and Gb/s: what came back to the client, frames with FCS (L2); of NDR and PDR the highest rate found within the loss goal.",
        "Loss: of what was due. CPU: polls of the server's loops that found packets, by time.",
        "Latency: from when a packet was due to the client's receive burst.",
    ]
    if any(p.not_converged for p in run.points):
        notes.append(loose_note(run.precision_target))
    floors = [p.floor.latency.p50.value for p in run.points if p.floor is not None and p.floor.latency is not None]
    if floors:
        notes.append(f"Floor of latency (null workload, same load, same link): p50 {_range_us(floors)} us.")
    return notes


def _range_us(values_ns: Sequence[float]) -> str:
    low, high = (significant(v / 1e3, 3) for v in (min(values_ns), max(values_ns)))
    return low if low == high else f"{low} to {high}"
