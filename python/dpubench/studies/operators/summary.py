"""The analysis of a run directory into a :class:`~dpubench.studies.operators.model.RunSummary`: from windows to cycles, rounds and intervals.

It works round by round, on matrices of points by cycles. The geometric mean joins a point's two windows of a cycle. Ratios (to the reference engine,
to the canary, between builds) are taken cycle by cycle. The value of a round is the median of its cycles. Intervals are over rounds
(:mod:`dpubench.analysis.statistics`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpubench.analysis import statistics, warnings
from dpubench.analysis.model import COUNTED, EMULATED, ESTIMATED, Interval, Warning_, head_of, is_emulated, mapping, words_of
from dpubench.errors import UserError
from dpubench.storage.runs import RUN_SET, DamagedRunError, RunDirectory
from dpubench.studies.operators import footprint, headline, layouts, superseded, undecided
from dpubench.studies.operators.comparison import CANARY_CORE, CANARY_MEMORY
from dpubench.studies.operators.model import BuildPair, PointSummary, RunSummary
from dpubench.studies.operators.windows import FloatArray, IntArray, Windows, read_windows

CANARIES: Final = (CANARY_CORE, CANARY_MEMORY)
#: A canary's movement up to this share gives no warning.
CANARY_LIMIT: Final = 0.05
#: A point gets a warning where a canary moved by this factor more than beside the run's other configurations.
CANARY_FACTOR: Final = 2.0
_DECIDED_HERE: Final = ("canary-moved", "few-rounds", "not-converged")
#: Codes of warnings that concern times only.
_OF_TIMES: Final = (*_DECIDED_HERE, "clock-coarse", "clock-drift", "few-bursts", "not-pinned", "oversubscribed")
#: Note for runs whose program assumed three cycles for a multiplication on every processor.
NO_ESTIMATE: Final = (
    "cycles per operation that this run estimated: its version assumed three cycles for a multiplication on every x86-64 processor, which is not "
    "true of all, and did not record the processor"
)
_PRIMARY: Final = {"gbps": ("Gb/s", 1.0), "mops": ("Mops/s", 1e-6), "kops": ("kops/s", 1e-3)}


def summaries(path: Path, label: str = "") -> list[RunSummary]:
    """Analyse the run in ``path``, or every run of the set in it, in the set's order. ``label``: as for :func:`summarize`.

    A lost target has the results up to its loss. Raises :class:`~dpubench.errors.UserError` as :func:`summarize`.
    """
    directory = RunDirectory(path)
    record = directory.record()
    if record["schema"] != RUN_SET:
        return [summarize(path, label=label)]
    members = directory.members()
    entries = list(record["targets"])
    baseline = baseline_target([(str(e["name"]), is_emulated(e)) for e in entries], str(record.get("baseline", "")))
    set_name = str(record.get("name", path.name))
    found = []
    for entry, member in zip(entries, members, strict=True):
        if member.run_file.is_file():
            run = summarize(member.path, label=str(entry.get("label", "")))
        else:  # The target was lost before its run began.
            run = _described_run({**record, "machine": {}, "status": entry.get("status", "failed")}, member.path)
        name = str(entry["name"])
        run.name, run.run_set, run.target = f"{set_name}@{name}", set_name, name
        run.spec, run.label, run.lost = (str(entry.get(key, "")) for key in ("spec", "label", "lost"))
        run.times_mean_nothing = is_emulated(entry)
        run.is_baseline = name == baseline
        run.command = str(record.get("command", run.command))
        found.append(run)
    return found


def baseline_target(targets: Sequence[tuple[str, bool]], wanted: str = "") -> str:
    """Return the baseline among ``targets`` (name, emulated): ``wanted`` if it has times, else ``local``, else the first target with times."""
    timed = [name for name, emulated in targets if not emulated]
    return next((name for name in (wanted, "local", *timed) if name in timed), "")


def summarize(run_dir: Path, *, label: str = "") -> RunSummary:
    """Analyse the run in ``run_dir``, whatever its status; a ``UserError`` tells why it is no readable run directory.

    ``label`` is the label of its target in the set, used where the run itself has none.
    """
    run = RunDirectory(run_dir).record()
    if run["schema"] == RUN_SET:
        raise UserError(f"{run_dir}: is a run of several targets: name one of them, as {run_dir.name}@{run['targets'][0]['name']}")
    try:
        summary = _described_run(run, run_dir)
        dropped = headline.dropped_unseen(run.get("configurations", []))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedRunError(f"{run_dir / 'run.json'}: does not follow dpubench.run/1 ({error!r})") from error
    summary.label = summary.label or label
    summary.times_mean_nothing = summary.times_mean_nothing or label == EMULATED
    # This analysis decides these warnings itself, from all windows: an earlier warning of the runner may rest on a part of them.
    passed_over = _OF_TIMES if summary.times_mean_nothing else _DECIDED_HERE
    summary.warnings = [w for w in summary.warnings if not ((w.point or summary.times_mean_nothing) and w.code in passed_over)]
    _attach(summary)
    for point in summary.points:
        footprint.place(point, summary.machine)
    if summary.times_mean_nothing:
        for point in summary.points:
            point.build_ns = None
    else:
        _fill(summary, read_windows(run_dir), dropped)
        summary.warnings += superseded.warnings(summary.points)
    summary.warnings = warnings.of_the_run(summary.warnings, [p for p in summary.points if p.rounds])
    return summary


def _described_run(run: Mapping[str, Any], run_dir: Path) -> RunSummary:
    setting = mapping(run, "setting")
    return RunSummary(
        **head_of(run, run_dir),
        operators={str(name): dict(info) for name, info in mapping(run, "operators").items()},
        points=[_described(entry) for entry in run.get("points", [])],
        engine_dirs=[str(d) for d in setting.get("engine_dirs", [])],
        devices=[str(d) for d in setting.get("devices", [])],
        times_mean_nothing=is_emulated(mapping(run, "target_info")),
        given_inputs={str(kind): [str(w) for w in entry["given"]] for kind, entry in mapping(run, "inputs").items() if entry.get("given")},
    )


# --------------------------------------------------------------------------- what run.json says of points


def clock_is_known(summary: RunSummary) -> bool:
    """Return whether the core canary's clock can be trusted: the run names the processor whose multiplication latency it used."""
    return "multiply_cycles" in mapping(summary.machine, "clock_estimate")


def _count(entry: Mapping[str, Any], name: str) -> int | None:
    """Return a count that programs of earlier versions do not tell. @raises ValueError it is no count"""
    value = entry.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError(f"{name} is no count: {value!r}")
    return value


def _verified(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the verification of a point compared. @raises ValueError its counts are none"""
    found = dict(mapping(entry, "verified"))
    for name in ("known_answers", "compared"):
        _count(found, name)
    if not isinstance(found.get("undecided_share", 0.0), (int, float)):
        raise ValueError(f"undecided_share is no number: {found['undecided_share']!r}")
    return found


def _needed(entry: Mapping[str, Any], name: str) -> int:
    """Return a count that every point has. @raises ValueError, KeyError"""
    found = _count(entry, name)
    if found is None:
        raise KeyError(name)
    return found


def _described(entry: Mapping[str, Any]) -> PointSummary:
    source = mapping(entry, "input")
    builds = entry.get("build_ns") or []
    return PointSummary(
        id=str(entry["id"]),
        operator=str(entry["operator"]),
        params=words_of(mapping(entry, "params")),
        threads=_needed(entry, "threads"),
        burst=_needed(entry, "burst"),
        footprint=str(entry["footprint"]),
        engine=str(entry["engine"]),
        target=str(entry["target"]),
        build=str(entry["build"]),
        operator_version=_needed(entry, "operator_version"),
        input_name=str(source.get("name", "")),
        input_sha256=str(source.get("sha256", "")),
        in_flight=_count(entry, "in_flight") or 0,
        build_ns=float(np.median(builds)) if builds else None,
        memory_bytes=_count(entry, "memory_bytes"),
        footprint_bytes=_count(entry, "footprint_bytes"),
        touched_bytes=_count(entry, "touched_bytes"),
        distinct_messages=_count(entry, "distinct_messages"),
        distinct_keys=_count(entry, "distinct_keys"),
        path=dict(mapping(entry, "path")),
        program=Path(str(entry.get("program", ""))).name,
        verified=_verified(entry),
        unavailable=str(entry["unavailable"]),
        failure=str(entry["failure"]),
    )


# --------------------------------------------------------------------------- windows to rounds


@dataclass(slots=True)
class _Rounds:
    """The values of rounds, one column per round, with rows as in ``_fill``: points, then two canaries per group. Logs, ``nan`` where missing."""

    rate: list[FloatArray] = field(default_factory=list)
    gbps: list[FloatArray] = field(default_factory=list)
    counted_cycles: list[FloatArray] = field(default_factory=list)  #: per operation, from a hardware counter
    estimated_cycles: list[FloatArray] = field(default_factory=list)
    energy_nj: list[FloatArray] = field(default_factory=list)  #: per operation
    to_reference: list[FloatArray] = field(default_factory=list)
    to_canary: list[FloatArray] = field(default_factory=list)
    memory: list[FloatArray] = field(default_factory=list)  #: memory canary's rate over the core canary's, beside each point
    to_next_best: list[FloatArray] = field(default_factory=list)  #: ratios of the best engines
    pairs: list[FloatArray] = field(default_factory=list)
    pair_cycles: list[IntArray] = field(default_factory=list)
    metrics: dict[str, list[FloatArray]] = field(default_factory=lambda: defaultdict(list))  #: not logs
    canaries: list[FloatArray] = field(default_factory=list)  #: cycles of the canary rows, for their movement
    cycles: list[FloatArray] = field(default_factory=list)  #: rates of the points' cycles, for the best engines, known only after all rounds
    layout: list[IntArray] = field(default_factory=list)  #: code layout of each point's program


def _row_medians(matrix: FloatArray) -> FloatArray:
    """Return the median of each row without its ``nan``; ``nan`` for a row without values. Sorting is several times faster than ``nanmedian``."""
    if matrix.shape[1] == 0:
        return np.full(matrix.shape[0], np.nan)
    ordered = np.sort(matrix, axis=1)  # nan goes last
    count = np.isfinite(ordered).sum(axis=1)
    rows = np.arange(matrix.shape[0])
    median = (ordered[rows, np.maximum(count - 1, 0) // 2] + ordered[rows, np.minimum(count // 2, matrix.shape[1] - 1)]) / 2
    return np.where(count > 0, median, np.nan)


def _fill(summary: RunSummary, windows: Windows, dropped: Mapping[tuple[Any, ...], Sequence[str]]) -> None:
    points = summary.points
    if not len(windows) or not points:
        return
    # An output that disagreed discards every figure of its point: the timed work may have been wrong all along.
    disagreed = {failure.point for failure in summary.failures if failure.phase == "verify"}
    index = {point.id: i for i, point in enumerate(points) if point.id not in disagreed}
    groups = len(windows.group_names)
    # Row of every window: its point, or the canary of its group; -1 for points that run.json does not list.
    of_name = np.array([index.get(name, -1) for name in windows.point_names], dtype=np.int64)
    row = of_name[windows.point]
    for kind, name in enumerate(CANARIES):
        if name in windows.point_names:
            of_canary = windows.point == windows.point_names.index(name)
            row = np.where(of_canary, len(points) + 2 * windows.group + kind, row)
            summary.canary_window_ms[name] = round(float(np.median(windows.elapsed_ns[of_canary])) / 1e6, 3)
    usable = (row >= 0) & (windows.operations > 0) & (windows.elapsed_ns > 0)
    group_of = np.full(len(points), -1, dtype=np.int64)
    measured = usable & (row < len(points))
    group_of[row[measured]] = windows.group[measured]
    canary_of = np.where(group_of >= 0, len(points) + 2 * group_of, -1)

    estimates = clock_is_known(summary)
    reference = _references(summary)
    old, new = _build_pairs(points)
    cpus = int(summary.machine.get("cpus_online") or 0)
    busy = np.array([min(p.threads, cpus) if cpus else p.threads for p in points] + [1] * (2 * groups), dtype=np.float64)

    chosen = np.flatnonzero(usable)
    chosen = chosen[np.argsort(windows.round[chosen], kind="stable")]
    numbers, starts = np.unique(windows.round[chosen], return_index=True)
    rounds = _Rounds()
    for part in np.split(chosen, starts[1:]):
        columns, column = np.unique(windows.cycle[part], return_inverse=True)
        shape = (2, len(points) + 2 * groups, len(columns))
        place = (np.minimum(windows.half[part], 1), row[part], column)

        def cycles(values: FloatArray, shape: tuple[int, ...] = shape, place: tuple[IntArray, ...] = place) -> FloatArray:
            """Return both halves of every cycle joined; ``nan`` where one is missing."""
            halves = np.full(shape, np.nan)
            halves[place] = values
            joined: FloatArray = halves.mean(axis=0)
            return joined

        elapsed, operations = windows.elapsed_ns[part], windows.operations[part]
        rate = cycles(np.log(operations / elapsed * 1e9))
        rounds.rate.append(_row_medians(rate))
        with np.errstate(divide="ignore"):
            rounds.gbps.append(_row_medians(cycles(_finite(np.log(windows.rate_bytes[part] * 8 / elapsed)))))
            rounds.counted_cycles.append(_row_medians(cycles(_finite(np.log(windows.core_cycles[part] / operations)))))
            clock = cycles(_finite(np.log(windows.ghz[part])))
        if not estimates:
            clock[len(points) :] = np.nan  # The processor's latency is unknown, so that the clock is wrong.
        # A window may carry its own clock; otherwise take the clock of the core canary beside it, in the same cycle.
        clock[: len(points)] = np.where(np.isfinite(clock[: len(points)]) | (canary_of < 0)[:, None], clock[: len(points)], clock[canary_of])
        rounds.estimated_cycles.append(_row_medians(cycles(np.log(elapsed / operations * busy[row[part]])) + clock))
        rounds.energy_nj.append(_energy_per_op(windows.energy_uj[part], operations, row[part], len(rate)))
        own = rate[: len(points)]
        rounds.to_reference.append(_row_medians(np.where((reference >= 0)[:, None], own - own[reference], np.nan)))
        beside = (canary_of >= 0)[:, None]
        rounds.to_canary.append(_row_medians(np.where(beside, own - rate[canary_of], np.nan)))
        rounds.memory.append(_row_medians(np.where(beside, rate[canary_of + 1] - rate[canary_of], np.nan)))
        paired = own[new] - own[old]
        rounds.pairs.append(_row_medians(paired))
        rounds.pair_cycles.append(np.isfinite(paired).sum(axis=1))
        rounds.canaries.append(rate[len(points) :])
        rounds.cycles.append(own)
        rounds.layout.append(_layouts_of(points, row[part], windows.layout[part]))
        for name, values in windows.metrics.items():
            rounds.metrics[name].append(_row_medians(cycles(values[part])[: len(points)]))
    if not estimates and not np.isfinite(windows.core_cycles).any():
        if reason := str(mapping(summary.machine, "clock_estimate").get("unavailable", "")):
            summary.left_out.append(f"cycles per operation: there is no hardware counter, and {reason}")
        elif np.isfinite(windows.ghz[usable & (row >= len(points))]).any():
            summary.left_out.append(NO_ESTIMATE)
    counts = np.bincount(row[measured], minlength=len(points))
    _intervals(summary, rounds, counts, len(numbers))
    _withhold_undecided(summary)
    _next_best(summary, rounds, dropped)
    _not_converged(summary, rounds)
    _canary_rates(summary, rounds, group_of)
    for pair, (a, b) in enumerate(zip(old, new, strict=True)):
        logs = np.array([values[pair] for values in rounds.pairs])
        known = np.isfinite(logs)
        cycles_of = np.array([values[pair] for values in rounds.pair_cycles])[known]
        of = max((np.array([values[i] for values in rounds.layout])[known] for i in (b, a)), key=lambda of: np.unique(of).size)
        layouts_of = [] if layouts.UNKNOWN in of else of.tolist()
        summary.build_pairs.append(BuildPair(points[a].id, points[b].id, np.exp(logs[known]).tolist(), cycles_of.tolist(), layouts_of))


def _layouts_of(points: Sequence[PointSummary], row: IntArray, layout: FloatArray) -> IntArray:
    """Return the code layout of each point in a round, from its build's program; a point without a window has it too."""
    found = np.full(len(points), layouts.UNKNOWN, dtype=np.int64)
    known = np.flatnonzero(np.isfinite(layout) & (row < len(points)))
    rows, first = np.unique(row[known], return_index=True)
    of_build = {points[r].build: int(layout[known[i]]) for r, i in zip(rows, first, strict=True) if not points[r].program}
    for i, point in enumerate(points):
        if not point.program:
            found[i] = of_build.get(point.build, layouts.UNKNOWN)
    return found


def _energy_per_op(energy_uj: FloatArray, operations: FloatArray, row: IntArray, rows: int) -> FloatArray:
    """Return the log of nJ per operation of each row in a round: all its energy over all its operations.

    The counter advances about once a millisecond, and a window lasts only a few milliseconds: the steps of the counter dominate the energy of one
    window.
    """
    known = np.isfinite(energy_uj)
    energy = np.bincount(row[known], energy_uj[known], rows)
    done = np.bincount(row[known], operations[known], rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _finite(np.log(1000 * energy / done))


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, np.nan)


def _references(summary: RunSummary) -> IntArray:
    """Return the index of the point that is each point's reference, with the operator's reference engine on the same target and build; -1: none."""
    engine = {name: str(info.get("reference_engine", "")) for name, info in summary.operators.items()}
    found = {(p.configuration, p.target, p.build): i for i, p in enumerate(summary.points) if p.engine == engine.get(p.operator)}
    return np.array([found.get((p.configuration, p.target, p.build), -1) for p in summary.points], dtype=np.int64)


def _build_pairs(points: Iterable[PointSummary]) -> tuple[IntArray, IntArray]:
    """Return indices (old, new) of points that differ in build only. The unnamed build is the new one, a named one is old."""
    alike: dict[tuple[Any, ...], dict[str, int]] = defaultdict(dict)
    for i, point in enumerate(points):
        alike[(point.configuration, point.engine_word, point.target)][point.build] = i
    found = [(builds[name], builds[""]) for builds in alike.values() if "" in builds for name in sorted(builds) if name]
    return np.array([a for a, _ in found], dtype=np.int64), np.array([b for _, b in found], dtype=np.int64)


# --------------------------------------------------------------------------- rounds to intervals


def _intervals(summary: RunSummary, rounds: _Rounds, counts: IntArray, number: int) -> None:
    points = summary.points
    rate = np.stack(rounds.rate, axis=1)[: len(points)]
    layout = np.stack(rounds.layout, axis=1)

    def intervals(columns: Sequence[FloatArray]) -> list[Interval]:
        return statistics.intervals_of_logs(layouts.joined(np.stack(columns, axis=1)[: len(points)], layout))

    rates, gbps, counted, estimated, energy = (
        intervals(c) for c in (rounds.rate, rounds.gbps, rounds.counted_cycles, rounds.estimated_cycles, rounds.energy_nj)
    )
    counter = str(mapping(summary.machine, "cycle_counter").get("source", ""))
    to_canary_logs, memory_logs = np.stack(rounds.to_canary, axis=1), np.stack(rounds.memory, axis=1)
    to_canary, to_reference = intervals(rounds.to_canary), intervals(rounds.to_reference)
    metrics = {name: np.stack(values, axis=1) for name, values in rounds.metrics.items()}
    for i, point in enumerate(points):
        point.windows = int(counts[i])
        known = np.isfinite(rate[i])
        point.rounds = int(known.sum())
        if not point.rounds:
            continue
        info = summary.operators.get(point.operator, {})
        measured = rates[i]
        point.ops_per_s = measured
        point.ns_per_op = Interval(1e9 / measured.value, 1e9 / measured.high, 1e9 / measured.low)
        if info.get("processes_all_bytes"):
            point.gbps = _known(gbps[i])  # None where the windows have no rate_bytes: this mode does not process all bytes.
        unit, factor = _PRIMARY.get(str(info.get("primary_metric", "mops")), _PRIMARY["mops"])
        point.primary_unit = unit
        point.primary = _known(gbps[i]) if unit == "Gb/s" else Interval(measured.value * factor, measured.low * factor, measured.high * factor)
        point.cycles_per_op = _known(counted[i])
        point.cycles_source = counter if counter.startswith(COUNTED) else COUNTED[0]
        if point.cycles_per_op is None:
            point.cycles_per_op = _known(estimated[i])
            point.cycles_source = ESTIMATED if point.cycles_per_op else ""
        point.energy_nj_per_op = _known(energy[i])
        point.canary_ratio = _known(to_canary[i])
        point.ratio_to_reference = _known(to_reference[i])
        point.round_rates = np.exp(rate[i][known]).tolist()
        point.round_memory = np.exp(memory_logs[i][known]).tolist()
        _tell_layouts(point, rate[i][known], layout[i][known])
        ratios = to_canary_logs[i]
        point.round_canary_ratios = np.exp(ratios[np.isfinite(ratios)]).tolist()
        point.metrics = {name: statistics.linear_interval_of_rounds(values[i]) for name, values in metrics.items() if np.isfinite(values[i]).any()}
        point.precision = statistics.precision(measured)
        point.converged = point.rounds >= statistics.MINIMUM_ROUNDS and point.precision <= summary.precision_target
        if point.rounds < statistics.MINIMUM_ROUNDS:
            message = f"{point.rounds} of at least {statistics.MINIMUM_ROUNDS} rounds ({number} in the run)"
            point.warnings.append(Warning_("few-rounds", message, point.id))
        elif not point.converged and math.isfinite(summary.precision_target):
            message = f"known to ±{100 * point.precision:.1f} %, the plan asks for ±{100 * summary.precision_target:g} %"
            point.warnings.append(Warning_("not-converged", message, point.id))


def _tell_layouts(point: PointSummary, logs: FloatArray, of: IntArray) -> None:
    """Set the code layouts of ``point`` and their share of its scatter; nothing where a layout is unknown."""
    if layouts.UNKNOWN in of:
        return
    point.round_layouts = of.tolist()
    number = int(np.unique(of).size)
    point.layouts = number if number > 1 else 0
    if (share := layouts.share(logs, of)) is not None:
        point.layout_share, point.layout_deviation = share.share, share.deviation


def _withhold_undecided(summary: RunSummary) -> None:
    """Remove ratios of points where the engine or its reference left more work undecided than :data:`undecided.LIMIT`."""
    for point, reference in zip(summary.points, _references(summary), strict=True):
        if point.ratio_to_reference is None or summary.points[reference] is point:
            continue
        if reason := undecided.reason_of(point, summary.points[reference]):
            point.ratio_to_reference = None
            point.warnings.append(Warning_("undecided", f"no ratio to {summary.points[reference].engine}: {reason}", point.id))


def _next_best(summary: RunSummary, rounds: _Rounds, dropped: Mapping[tuple[Any, ...], Sequence[str]]) -> None:
    """Set the ratios of the best engines to the next best of another library, from the same cycles as all ratios."""
    pairs = headline.set_next_best(summary.points, summary.operators, dropped)
    if not pairs:
        return
    best, beside = (np.array(side) for side in zip(*pairs, strict=True))
    for cycles in rounds.cycles:
        logs = np.full(len(summary.points), np.nan)
        logs[best] = _row_medians(cycles[best] - cycles[beside])
        rounds.to_next_best.append(logs)
    intervals = statistics.intervals_of_logs(layouts.joined(np.stack(rounds.to_next_best, axis=1), np.stack(rounds.layout, axis=1)))
    for index in best:
        summary.points[index].ratio_to_next_best = _known(intervals[index])


def _not_converged(summary: RunSummary, rounds: _Rounds) -> None:
    """List, at every point, the figures with too few rounds for inference, and those less precise than the plan asks."""
    known = {
        "ops_per_s": rounds.rate, "ns_per_op": rounds.rate, "primary": rounds.rate, "gbps": rounds.gbps, "energy_nj_per_op": rounds.energy_nj,
        "canary_ratio": rounds.to_canary, "ratio_to_reference": rounds.to_reference, "ratio_to_next_best": rounds.to_next_best,
    }  # fmt: skip
    behind = {name: _rounds_known(logs) for name, logs in known.items() if logs}
    counted, estimated = _rounds_known(rounds.counted_cycles), _rounds_known(rounds.estimated_cycles)
    of_metrics = {name: _rounds_known(values) for name, values in rounds.metrics.items()}
    for i, point in enumerate(summary.points):
        cycles = counted if point.cycles_source.startswith(COUNTED) else estimated
        judged = [(name, getattr(point, name), count[i]) for name, count in behind.items()] + [("cycles_per_op", point.cycles_per_op, cycles[i])]
        judged += [(name, interval, of_metrics[name][i]) for name, interval in point.metrics.items()]
        point.not_converged = [
            name for name, interval, count in judged
            if interval is not None and not (count >= statistics.MINIMUM_ROUNDS and statistics.is_known(interval, summary.precision_target))
        ]  # fmt: skip


def _rounds_known(logs: Sequence[FloatArray]) -> IntArray:
    """Return the number of rounds in which each row has a value."""
    known: IntArray = np.isfinite(np.stack(logs, axis=1)).sum(axis=1)
    return known


def _known(interval: Interval) -> Interval | None:
    return interval if math.isfinite(interval.value) else None


def _canary_rates(summary: RunSummary, rounds: _Rounds, group_of: IntArray) -> None:
    """Set the run's canary rates, and warn where the canaries moved.

    The run gets a warning where the machine moved beside most configurations. A point gets one where it moved by far more beside this point than
    beside the others. A movement is the distance from the 10th to the 90th percentile of a canary's cycles, on the logarithm.
    """
    offset = len(summary.points)
    per_round = np.stack(rounds.rate, axis=1)[offset:]
    cycles = np.concatenate(rounds.canaries, axis=1)
    measured = np.unique(group_of[group_of >= 0])
    for kind, name in enumerate(CANARIES):
        medians = _row_medians(per_round[kind::2].T)
        if np.isfinite(medians).any():
            summary.canaries[name] = np.exp(medians[np.isfinite(medians)]).tolist()
        moved = {int(group): movement for group in measured if (movement := _movement(cycles[kind::2][group])) is not None}
        if not moved:
            continue
        typical = float(np.median(list(moved.values())))
        if typical > math.log1p(CANARY_LIMIT):
            whole = math.expm1(_movement(cycles[kind::2].ravel()) or 0.0)
            message = f"{name} moved by {100 * whole:.0f} % in the whole run, and by {100 * math.expm1(typical):.0f} % beside a typical configuration"
            summary.warnings.append(Warning_("canary-moved", message))
        for group, movement in moved.items():
            others = float(np.median([m for g, m in moved.items() if g != group])) if len(moved) > 1 else movement
            if movement > max(math.log1p(CANARY_LIMIT), CANARY_FACTOR * others):
                message = (
                    f"{name} moved by {100 * math.expm1(movement):.0f} % beside this point, and by {100 * math.expm1(others):.0f} % beside others"
                )
                for i in np.flatnonzero(group_of == group):
                    if summary.points[i].rounds:
                        summary.points[i].warnings.append(Warning_("canary-moved", message, summary.points[i].id))


def _movement(cycles: FloatArray) -> float | None:
    """Return the distance from the 10th to the 90th percentile of ``cycles`` (logs, ``nan``: missing); None below two values."""
    known = cycles[np.isfinite(cycles)]
    if known.size < 2:
        return None
    low, high = np.quantile(known, [0.1, 0.9])
    return float(high - low)


def _attach(summary: RunSummary) -> None:
    """Add the run's warnings and failures that name a point to that point too."""
    by_id = {point.id: point for point in summary.points}
    for warning in summary.warnings:
        if warning.point in by_id and warning not in (known := by_id[warning.point].warnings):
            known.append(warning)
    for failure in summary.failures:
        if failure.point in by_id and not by_id[failure.point].failure:
            by_id[failure.point].failure = f"{failure.phase}: {failure.message}"
