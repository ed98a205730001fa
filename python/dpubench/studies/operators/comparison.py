"""The comparison of old against new: it pairs points, estimates their differences, and gives verdicts.

Two builds that alternated within one run (``run --against``) are compared pair by pair (:func:`compare_builds`): the machine's influence on both
cancels. Runs of different times on one target are compared through everything that both measured (:func:`compare`, :mod:`.movement`): a difference
counts only beyond the movement of the other points and of both canaries. Different targets are compared plainly, by the medians of their independent
rounds, because no canary watched both machines. ``docs/methodology.md`` has the reasons.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from dpubench.analysis import statistics
from dpubench.analysis.model import Comparison
from dpubench.analysis.movement import LEAST_OWNERS, Machine, Movement
from dpubench.analysis.statistics import FloatArray
from dpubench.analysis.verdicts import Tested, judged, logs_of, percent_of_log
from dpubench.studies.operators import layouts, sensitivity, undecided
from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.windows import IntArray

CANARY_CORE = "canary-core"
CANARY_MEMORY = "canary-memory"
#: Earlier versions timed the memory canary in windows of 0.5 to about 1 ms.
SHORT_CANARY_MS = 2.0
#: Share of the rounds that is dropped at each end to estimate a point's change between two runs. With two disturbed rounds of eight on either side,
#: a smaller share would leave a difference of 20 % uncertain. The loss of precision is small beside the scatter of points between the two times.
TRIM_APART = 0.3


def compare(old: RunSummary, new: RunSummary, min_effect: float, *, best_engine: bool = False) -> list[Comparison]:
    """Return every point of ``old`` against its partner in ``new``; a point without a partner is *not comparable*, with the reason.

    ``min_effect`` is a share (0.03: 3 %). With ``best_engine``, the fastest engine of each configuration in ``old`` is compared with the fastest one
    in ``new``, even if they differ. Rows come in the order of ``old``, then the rows that only ``new`` has. Ratios are new rate / old rate: above
    one is faster.
    """
    _check_effect(min_effect)
    return judged(_rows(old, new, best_engine), min_effect)


def compare_targets(
    old: Sequence[RunSummary], new: Sequence[RunSummary], min_effect: float, *, best_engine: bool = False
) -> list[tuple[str, list[Comparison]]]:
    """Return (target, rows as of :func:`compare`) for two runs of several targets, in the order of ``old``, then the targets of ``new`` alone.

    False-discovery control covers the rows of all targets together. The points of a target that one side lacks are *not comparable*.
    """
    _check_effect(min_effect)
    partners = {run.target: run for run in new}
    parts: list[tuple[str, list[Comparison | Tested]]] = []
    for run in old:
        partner = partners.pop(run.target, None)
        parts.append((run.target, _alone(run, "new", old=True) if partner is None else _rows(run, partner, best_engine)))
    parts += [(run.target, _alone(run, "old", old=False)) for run in new if run.target in partners]
    verdicts = iter(judged([row for _, rows in parts for row in rows], min_effect))
    return [(target, [next(verdicts) for _ in rows]) for target, rows in parts]


def _check_effect(min_effect: float) -> None:
    if not (min_effect >= 0 and math.isfinite(min_effect)):
        raise ValueError(f"min_effect is {min_effect}: give a share of at least 0, such as 0.03 for 3 %")


def _alone(run: RunSummary, where: str, *, old: bool) -> list[Comparison | Tested]:
    reason = f"target {run.target} is not in the {where} run"
    return [Comparison(label_of(p), p.id if old else None, None if old else p.id, None, "not comparable", None, reason) for p in run.points]


def _rows(old: RunSummary, new: RunSummary, best_engine: bool) -> list[Comparison | Tested]:
    old_points, new_points = (_best_engines(run.points) if best_engine else run.points for run in (old, new))
    names = ("old run", "new run") if old.target == new.target else (old.target, new.target)
    pairs, unpaired = _pair(_Side(old, old_points, names[0]), _Side(new, new_points, names[1]), best_engine)
    meaningless = [f"{run.target} is {run.label}" for run in (old, new) if run.times_mean_nothing]
    if meaningless:
        return [
            *(Comparison(label_of(b, engine=not best_engine), a.id, b.id, None, "not comparable", None, "; ".join(meaningless)) for a, b in pairs),
            *unpaired,
        ]
    machine = machine_between(old, new, pairs) if same_machine(old, new) else None
    apart = [] if same_machine(old, new) else [f"different {'machines' if old.target == new.target else 'targets'}: the ratio includes the machine"]
    labels = [f"{run.target}: {run.label}" for run in (old, new) if run.label]
    notes = [*apart, *dict.fromkeys(labels)]
    return [
        *(_difference_of_runs(pair, number, machine, best_engine, names, notes) for number, pair in enumerate(pairs)),
        *unpaired,
    ]


def compare_builds(run: RunSummary, min_effect: float) -> list[Comparison]:
    """Return the comparison of the two builds that alternated in ``run``, point by point; empty without such pairs.

    It needs no canary, because both builds ran on the same machine at the same time.
    """
    points = {point.id: point for point in run.points}
    rows: list[Comparison | Tested] = []
    for pair in run.build_pairs:
        label = label_of(points[pair.new]) if pair.new in points else pair.new
        difference = statistics.difference_of_rounds(*layouts.joined_rounds(pair.round_ratios, pair.round_cycles, pair.round_layouts))
        if difference is None:
            sides = [point for name in (pair.old, pair.new) if (point := points.get(name)) is not None]
            why = next((p.unavailable or p.failure for p in sides if p.unavailable or p.failure), "fewer than two whole rounds have both builds")
            rows.append(Comparison(label, pair.old, pair.new, None, "not comparable", None, why))
            continue
        few = len(pair.round_ratios) < statistics.MINIMUM_ROUNDS
        rows.append(Tested(label, pair.old, pair.new, [difference], f"only {len(pair.round_ratios)} rounds" if few else ""))
    return judged(rows, min_effect)


def label_of(point: PointSummary, *, engine: bool = True) -> str:
    """Return a point's name without target and build: ``operator/param=value,.../t1/b32/stream/engine[~in_flight]``."""
    params = ",".join(f"{k}={v}" for k, v in sorted(point.params.items())) or "-"
    parts = [point.operator, params, f"t{point.threads}", f"b{point.burst}", point.footprint]
    return "/".join([*parts, point.engine_word] if engine else parts)


def machine_identity(run: RunSummary) -> tuple[str, str]:
    """Return the key that two runs on the same kind of machine share: CPU model and number of CPUs, as far as they are known."""
    return (str(run.machine.get("cpu", "")), str(run.machine.get("cpus_online", "")))


def same_machine(old: RunSummary, new: RunSummary) -> bool:
    """Return whether two runs measured one machine: the same target, and, as far as is known, the same kind of machine.

    The host's name does not count, because a container has another one each time.
    """
    return old.target == new.target and machine_identity(old) == machine_identity(new)


# --------------------------------------------------------------------------- pairing


def _key(point: PointSummary, best_engine: bool) -> Hashable:
    """Return the key that two figures share when they measure the same work."""
    return (*point.configuration, point.operator_version, point.input_sha256, "" if best_engine else point.engine_word)


def _best_engines(points: Sequence[PointSummary]) -> list[PointSummary]:
    best: dict[Hashable, PointSummary] = {}
    for point in points:
        key = (point.configuration, point.target, point.build)
        if point.ops_per_s is None:
            best.setdefault(key, point)
            continue
        rival = best.get(key)
        if rival is None or rival.ops_per_s is None or rival.ops_per_s.value < point.ops_per_s.value:
            best[key] = point
    return list(best.values())


class _Side:
    """The points of one side, indexed by configuration and by work."""

    def __init__(self, run: RunSummary, points: Sequence[PointSummary], name: str) -> None:
        self.run, self.points, self.name = run, points, name
        self.of_configuration: dict[Hashable, list[PointSummary]] = defaultdict(list)
        self.threads_of_work: dict[Hashable, set[int]] = defaultdict(set)
        for point in points:
            self.of_configuration[point.configuration].append(point)
            self.threads_of_work[_work(point)].add(point.threads)
        self.operators = {point.operator for point in points}

    @property
    def where(self) -> str:
        """Return ``in the new run``, or ``on bf2``."""
        return _in(self.name)


def _pair(old: _Side, new: _Side, best_engine: bool) -> tuple[list[tuple[PointSummary, PointSummary]], list[Comparison]]:
    """Return pairs of partners, and a row for each point without a partner.

    Partners agree in key, target and build; failing that in key and build; failing that in key alone (a host against a device). Each step takes a
    pair only where one point is left on each side.
    """
    waiting: dict[Hashable, list[PointSummary]] = defaultdict(list)
    for point in new.points:
        waiting[_key(point, best_engine)].append(point)
    partners: dict[int, PointSummary] = {}
    for alike in (lambda p: (p.target, p.build), lambda p: p.build, lambda p: ""):
        left: dict[tuple[Hashable, Hashable], list[PointSummary]] = defaultdict(list)
        for point in old.points:
            if id(point) not in partners:
                left[(_key(point, best_engine), alike(point))].append(point)
        for (key, what), mine in left.items():
            same = [p for p in waiting[key] if alike(p) == what]
            if len(mine) == len(same) == 1:
                partners[id(mine[0])] = same[0]
                waiting[key] = [p for p in waiting[key] if p is not same[0]]
    pairs = [(point, partners[id(point)]) for point in old.points if id(point) in partners]
    paired_new = {id(p) for p in partners.values()}

    def alone(point: PointSummary, is_old: bool) -> Comparison:
        label, reason = label_of(point, engine=not best_engine), _why_alone(point, new if is_old else old, best_engine)
        return Comparison(label, point.id if is_old else None, None if is_old else point.id, None, "not comparable", None, reason)

    unpaired = [alone(p, True) for p in old.points if id(p) not in partners]
    unpaired += [alone(p, False) for p in new.points if id(p) not in paired_new]
    return pairs, unpaired


def _why_alone(point: PointSummary, other_side: _Side, best_engine: bool) -> str:
    """Return why ``point`` has no partner on the other side."""
    where = other_side.where
    here = other_side.of_configuration.get(point.configuration, [])
    alike = [p for p in here if best_engine or p.engine_word == point.engine_word]
    for other in alike:
        if other.operator_version != point.operator_version:
            versions = f"{point.operator_version}, {where} {other.operator_version}"
            return f"the operator's version differs ({versions}): the same parameters mean different work"
        if other.input_sha256 != point.input_sha256:
            return f"the input differs ({point.input_name} {point.input_sha256[:12]}, {where} {other.input_name} {other.input_sha256[:12]})"
    if alike:
        return f"several targets or builds {where} have this point, but none is {point.target}{'#' + point.build if point.build else ''}"
    flights = sorted({p.in_flight for p in here if p.engine == point.engine})
    if flights:
        told = ", ".join(str(n) if n else "the engine's default" for n in flights)
        return f"jobs in flight differ ({point.in_flight or 'the default'} of engine {point.engine}, {where} {told})"
    if not best_engine and (missing := why_missing(other_side.run, point.operator, point.engine)):
        return f"engine {point.engine} cannot run {where}: {missing}"
    if here:
        return f"engine {point.engine} is not {where} for this configuration"
    if threads := sorted(other_side.threads_of_work.get(_work(point), ())):
        asked = "1 thread was" if point.threads == 1 else f"{point.threads} threads were"
        return f"{asked} not measured {where} (only {', '.join(map(str, threads))})"
    if point.operator in other_side.operators:
        return f"this configuration is not {where}"
    return f"operator {point.operator} is not {where}"


def why_missing(run: RunSummary, operator: str, engine: str) -> str:
    """Return why ``engine`` could not run in ``run``, from its catalog; empty where it could, or where the catalog gives no reason."""
    engines = run.operators.get(operator, {}).get("engines", [])
    return next((str(e.get("reason", "")) for e in engines if e["name"] == engine and not e.get("available", True)), "")


def _work(point: PointSummary) -> Hashable:
    """Return the configuration without its threads."""
    operator, params, _, burst, footprint = point.configuration
    return operator, params, burst, footprint


def _in(name: str) -> str:
    return f"in the {name}" if name in ("old run", "new run") else f"on {name}"


# --------------------------------------------------------------------------- differences


def _difference_of_runs(
    pair: tuple[PointSummary, PointSummary], number: int, machine: Machine | None, best_engine: bool, names: tuple[str, str], remarks: Sequence[str]
) -> Comparison | Tested:
    """Return the row of a pair, whose index in ``machine`` is ``number``; ``None`` for ``machine`` means two machines, compared plainly."""
    old, new = pair
    label = label_of(new, engine=not best_engine)
    if best_engine:
        used, uses = old.engine_word, new.engine_word
        label += f"/{used}" if used == uses else f"/{used} -> {uses}"

    def not_comparable(reason: str) -> Comparison:
        return Comparison(label, old.id, new.id, None, "not comparable", None, reason)

    for point, which in zip((old, new), names, strict=True):
        if point.ops_per_s is None:
            what = "cannot run" if point.unavailable and which == point.target else "not measured"
            return not_comparable(f"{what} {_in(which)}: {point.failure or point.unavailable or 'the run ended before it'}")
    if old.engine != new.engine and (reason := undecided.reason_of(old, new)):
        return not_comparable(reason)
    if reason := undecided.other_work(old, new):
        return not_comparable(reason)
    few = [f"only {n} rounds {_in(which)}" for n, which in zip((old.rounds, new.rounds), names, strict=True) if n < statistics.MINIMUM_ROUNDS]
    note = "; ".join([*remarks, *few])
    beyond = None if machine is None else machine.difference(number)
    before, after = (logs_of(layouts.joined_values(p.round_rates, p.round_layouts)) for p in (old, new))
    difference = beyond or statistics.unpaired_difference(before, after)
    if difference is None:
        one = " and ".join(_in(which) for point, which in zip((old, new), names, strict=True) if point.rounds < 2)
        return not_comparable(f"an interval needs two rounds, but there is only one {one}")
    if machine is None:
        return Tested(label, old.id, new.id, [difference], note)
    unwatched = "" if machine.movement().watched else "no canary watched the machine between the two runs"
    if beyond is None:
        others = len({o for o in machine.owners if o != machine.owners[number]})
        unwatched = (
            f"too little to tell how the machine moved: {others or 'no'} other pairs of operator and engine in both runs, "
            f"but at least {LEAST_OWNERS} are needed"
        )
    # A slope may rest on one disturbed round. Its correction may hide a difference, but must not create one.
    plain = machine.as_measured.difference(number) if machine.as_measured is not None and beyond is not None else None
    differences = [difference] if plain is None else [difference, plain]
    return Tested(label, old.id, new.id, differences, note, moved=describe(machine.movement()), unwatched=unwatched)


def movement(old: RunSummary, new: RunSummary, *, best_engine: bool = False) -> Movement | None:
    """Return how the machine moved between two runs; ``None`` where they are of different machines, or their times mean nothing."""
    if not same_machine(old, new) or old.times_mean_nothing or new.times_mean_nothing:
        return None
    sides = [_Side(run, _best_engines(run.points) if best_engine else run.points, name) for run, name in ((old, "old run"), (new, "new run"))]
    return machine_between(old, new, _pair(sides[0], sides[1], best_engine)[0]).movement()


def machine_between(old: RunSummary, new: RunSummary, pairs: Sequence[tuple[PointSummary, PointSummary]]) -> Machine:
    """Return the evidence on the machine's movement between two runs, by plain rates or by rates over the core canary's.

    Rates over the canary's are taken where they scatter less over the points.
    """
    core, memory = (_canary_change(old, new, name) for name in (CANARY_CORE, CANARY_MEMORY))
    memory, remarks = _comparable_memory(old, new, memory)
    operators, engines = [a.operator for a, _ in pairs], [a.engine_word for a, _ in pairs]

    def matrices(logs: Callable[[PointSummary], FloatArray]) -> list[FloatArray]:
        rounds = [max((pair[side].rounds for pair in pairs), default=0) for side in (0, 1)]
        return [_rows_of([logs(pair[side]) for pair in pairs], rounds[side]) for side in (0, 1)]

    found = _followed(matrices(lambda p: logs_of(p.round_canary_ratios)), matrices(_memory)) if memory is not None else None

    def by(kind: str, zero: float | None = None) -> Machine:
        before, after = matrices(lambda point: logs_of(getattr(point, kind)))

        def apart(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            old_side, new_side = (layouts.joined(logs, _layouts(logs, [p[i] for p in pairs])) for i, logs in enumerate((before, after)))
            return statistics.unpaired_differences(old_side, new_side, TRIM_APART)

        measured = Machine(operators, engines, *apart(before, after), core, memory, zero, remarks)
        if found is None:
            return measured
        alike = apart(before - found.explained[0], after - found.explained[1])
        return Machine(operators, engines, *alike, core, memory, zero, remarks, found.errors, measured)

    plain = by("round_rates")
    if core is None:
        return plain
    over_canary = by("round_canary_ratios", core)
    mine, theirs = plain.movement().null, over_canary.movement().null
    return over_canary if mine is not None and theirs is not None and theirs.points == mine.points and theirs.scatter < mine.scatter else plain


class _Followed(NamedTuple):
    """The part of points' rates that the memory canary explains (logs)."""

    explained: list[FloatArray]  #: for the old and the new run, points by rounds; 0 in rounds without canaries
    errors: FloatArray  #: standard errors of the explained change between the runs


def _followed(rates: list[FloatArray], memory: list[FloatArray]) -> _Followed:
    """Return how points follow the memory canary; ``rates`` and ``memory`` are over the core canary, old and new run, points by rounds."""
    found = sensitivity.slopes(rates, memory)
    level = sensitivity.medians(np.concatenate(memory, axis=1))[:, None]
    explained = [found.values[:, None] * np.where(np.isfinite(x), x - level, 0.0) for x in memory]
    moved, _, _ = statistics.unpaired_differences(memory[0], memory[1], TRIM_APART)
    return _Followed(explained, np.where(np.isfinite(moved), np.abs(moved), 0.0) * found.errors)


def _memory(point: PointSummary) -> FloatArray:
    """Return logs of the memory canary over the core canary in the rounds of ``point``; empty where its rates are from other rounds."""
    alike = len(point.round_memory) == len(point.round_rates) == len(point.round_canary_ratios)
    return np.log(np.asarray(point.round_memory if alike else [], dtype=np.float64))


def _layouts(logs: FloatArray, points: Sequence[PointSummary]) -> IntArray:
    """Return the code layouts of the rounds in ``logs``, one row per point; unknown where a point's layouts do not match its rounds."""
    found = np.full(logs.shape, layouts.UNKNOWN, dtype=np.int64)
    for row, values, point in zip(found, logs, points, strict=True):
        if len(point.round_layouts) == np.count_nonzero(np.isfinite(values)):
            row[: len(point.round_layouts)] = point.round_layouts
    return found


def _rows_of(values: Sequence[FloatArray], width: int) -> FloatArray:
    """Return ``values`` as the rows of a matrix of ``width`` columns, padded with ``nan``."""
    matrix = np.full((len(values), width), np.nan)
    for row, own in zip(matrix, values, strict=True):
        row[: len(own)] = own
    return matrix


def _comparable_memory(old: RunSummary, new: RunSummary, memory: float | None) -> tuple[float | None, tuple[str, ...]]:
    """Return the memory canary's change if it can be used, and remarks on it."""
    windows = [run.canary_window_ms.get(CANARY_MEMORY, math.nan) for run in (old, new)]
    if memory is None or not all(math.isfinite(w) for w in windows):
        return memory, ()
    told = " and ".join(f"{w:.1f} ms" for w in windows)
    if max(windows) > 2 * min(windows):
        return None, (f"the memory canary was timed in windows of {told}: it cannot be compared, and is ignored",)
    if max(windows) < SHORT_CANARY_MS:
        return memory, (f"the memory canary was timed in windows of {told}, too short to show more than its table's return to the caches",)
    return memory, ()


def _canary_change(old: RunSummary, new: RunSummary, name: str) -> float | None:
    a, b = logs_of(old.canaries.get(name, [])), logs_of(new.canaries.get(name, []))
    return float(np.median(b) - np.median(a)) if a.size and b.size else None


def describe(moved: Movement) -> str:
    """Return the machine's movement in words."""
    parts = [f"{name} {percent_of_log(c)}" for name, c in (("core canary", moved.core), ("memory canary", moved.memory)) if c is not None]
    if moved.null is not None:
        parts.insert(0, f"all points {percent_of_log(moved.null.centre)}, single points within {100 * moved.null.scatter:.1f} % of that")
    return ", ".join(parts)


# --------------------------------------------------------------------------- verdicts
