"""Old against new: which points may be paired, by how much they differ, and what may be said about it.

Two builds that alternated within one run (``run --against``) are compared pair by pair (:func:`compare_builds`): what the machine does to both
cancels. Runs of different times on one target are compared through their canaries (:func:`compare`): a difference counts as one only if the plain
ratio and the ratio of rates over the canary both show it, and only beyond what the machine itself moved, as seen by both canaries and by all other
points. Different targets are compared plainly, by the medians of their independent rounds: a canary that ran on another machine watched nothing. The
reasoning is in ``docs/methodology.md``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from dpubench.results import layouts, statistics
from dpubench.results.model import Comparison, Interval, PointSummary, RunSummary
from dpubench.results.statistics import Difference, FloatArray

CANARY_CORE = "canary-core"
CANARY_MEMORY = "canary-memory"
#: Other points needed before their common shift says something about the machine.
MINIMUM_POPULATION = 8
#: Standard deviation of a normal distribution per median absolute deviation.
_DEVIATION_PER_MAD = 1.4826


@dataclass(frozen=True, slots=True)
class Movement:
    """What the machine did between two runs, on logarithms (new minus old); ``None``: not known."""

    core: float | None
    memory: float | None
    others: float | None  #: median change of the other points
    scatter: float | None  #: standard deviation of the other points' changes beyond their own errors
    watch: str = "canary"  #: what watched the machine, in words

    @property
    def known(self) -> bool:
        """Whether anything watched the machine."""
        return self.core is not None or self.memory is not None

    @property
    def size(self) -> float:
        """The largest of the movements: a difference below it cannot be told from the machine's.

        That of the other points is what 95 % of them stayed within: their median change and twice their scatter.
        """
        others = None if self.others is None else abs(self.others) + 2 * (self.scatter or 0.0)
        return max((abs(m) for m in (self.core, self.memory, others) if m is not None), default=0.0)

    def describe(self) -> str:
        """The parts in words, for a reason."""
        first = "core canary" if self.watch == "canary" else self.watch
        named = ((first, self.core), ("memory canary", self.memory), ("other points", self.others))
        scatter = f" scattered by {100 * self.scatter:.1f} %" if self.scatter else ""
        return ", ".join(f"{name} {_percent(value)}" for name, value in named if value is not None) + scatter


class Rates(NamedTuple):
    """Of one point, round by round."""

    plain: Sequence[float]
    over_canary: Sequence[float]  #: over what watched the machine in the same round; empty where it did not in every round


@dataclass(frozen=True, slots=True)
class Tested:
    """A pair with its differences, of which all have to show the same."""

    label: str
    old: str
    new: str
    differences: list[Difference]
    movement: Movement | None
    note: str = ""

    @property
    def p_value(self) -> float:
        return max(d.p_value for d in self.differences)


def compare(old: RunSummary, new: RunSummary, min_effect: float, *, best_engine: bool = False) -> list[Comparison]:
    """Every point of ``old`` against its partner in ``new``; those without a partner are *not comparable*, with the reason.

    ``min_effect`` is a share (0.03: 3 %). With ``best_engine`` the fastest engine of each configuration in ``old`` meets the fastest in ``new``,
    whichever they are. Rows come in the order of ``old``, then what only ``new`` has. Ratios are new rate / old rate: above one is faster.
    """
    _check_effect(min_effect)
    return judged(_rows(old, new, best_engine), min_effect)


def compare_targets(
    old: Sequence[RunSummary], new: Sequence[RunSummary], min_effect: float, *, best_engine: bool = False
) -> list[tuple[str, list[Comparison]]]:
    """Two runs of several targets, target by target: (target, rows as of :func:`compare`), in the order of ``old``, then what only ``new`` has.

    All rows are tested together. A target that one side lacks has its points listed as *not comparable*.
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
        raise ValueError(f"min_effect is {min_effect}: a share of at least 0, such as 0.03 for 3 %, is needed")


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
    movements = _movements(old, new, pairs) if same_machine(old, new) else [None] * len(pairs)
    apart = [] if same_machine(old, new) else [f"different {'machines' if old.target == new.target else 'targets'}: the ratio includes the machine"]
    labels = [f"{run.target}: {run.label}" for run in (old, new) if run.label]
    notes = [*apart, *dict.fromkeys(labels)]
    return [
        *(_difference_of_runs(a, b, movement, best_engine, names, notes) for (a, b), movement in zip(pairs, movements, strict=True)),
        *unpaired,
    ]


def compare_builds(run: RunSummary, min_effect: float) -> list[Comparison]:
    """The two builds that alternated in ``run``, point by point; no canary is needed, because both met the same machine. Empty without such pairs."""
    points = {point.id: point for point in run.points}
    rows: list[Comparison | Tested] = []
    for pair in run.build_pairs:
        label = label_of(points[pair.new]) if pair.new in points else pair.new
        difference = statistics.difference_of_rounds(*layouts.joined_rounds(pair.round_ratios, pair.round_cycles, pair.round_layouts))
        if difference is None:
            rows.append(Comparison(label, pair.old, pair.new, None, "not comparable", None, "fewer than two whole rounds hold both builds"))
            continue
        few = len(pair.round_ratios) < statistics.MINIMUM_ROUNDS
        rows.append(Tested(label, pair.old, pair.new, [difference], None, f"only {len(pair.round_ratios)} rounds" if few else ""))
    return judged(rows, min_effect)


def label_of(point: PointSummary, *, engine: bool = True) -> str:
    """``operator/param=value,.../t1/b32/stream/engine[~in_flight]``: a point without its target and build."""
    params = ",".join(f"{k}={v}" for k, v in sorted(point.params.items())) or "-"
    parts = [point.operator, params, f"t{point.threads}", f"b{point.burst}", point.footprint]
    return "/".join([*parts, point.engine_word] if engine else parts)


def machine_identity(run: RunSummary) -> tuple[str, str]:
    """What must agree for two runs to be of the same kind of machine: CPU model and number of CPUs, as far as they are known."""
    return (str(run.machine.get("cpu", "")), str(run.machine.get("cpus_online", "")))


def same_machine(old: RunSummary, new: RunSummary) -> bool:
    """Whether the canaries of two runs watched one machine at two times: the same target, and as far as is known the same kind of machine.

    A host's name is not asked: that of a container is another one each time.
    """
    return old.target == new.target and machine_identity(old) == machine_identity(new)


# --------------------------------------------------------------------------- pairing


def _key(point: PointSummary, best_engine: bool) -> Hashable:
    """Everything that must agree for two figures to be of the same work."""
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
    """The points of one side, found by what they measured."""

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
        """``in the new run``, or ``on bf2``."""
        return _in(self.name)


def _pair(old: _Side, new: _Side, best_engine: bool) -> tuple[list[tuple[PointSummary, PointSummary]], list[Comparison]]:
    """Partners by key, target and build; then by key and build, and by key alone, where one on each side is left (a host against a device)."""
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
    """Why ``point`` has no partner on the other side."""
    where = other_side.where
    here = other_side.of_configuration.get(point.configuration, [])
    alike = [p for p in here if best_engine or p.engine_word == point.engine_word]
    for other in alike:
        if other.operator_version != point.operator_version:
            versions = f"{point.operator_version}, {where} {other.operator_version}"
            return f"the operator's version differs ({versions}): the same parameters mean other work"
        if other.input_sha256 != point.input_sha256:
            return f"the input differs ({point.input_name} {point.input_sha256[:12]}, {where} {other.input_name} {other.input_sha256[:12]})"
    if alike:
        return f"several targets or builds {where} have this point, none of them {point.target}{'#' + point.build if point.build else ''}"
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
        return f"{asked} not measured {where} ({', '.join(map(str, threads))})"
    if point.operator in other_side.operators:
        return f"this configuration is not {where}"
    return f"operator {point.operator} is not {where}"


def why_missing(run: RunSummary, operator: str, engine: str) -> str:
    """Why ``engine`` could not run where ``run`` was made, as its catalog has it; empty where it could, or where nobody says."""
    engines = run.operators.get(operator, {}).get("engines", [])
    return next((str(e.get("reason", "")) for e in engines if e["name"] == engine and not e.get("available", True)), "")


def _work(point: PointSummary) -> Hashable:
    """A configuration but for its threads."""
    operator, params, _, burst, footprint = point.configuration
    return operator, params, burst, footprint


def _in(name: str) -> str:
    return f"in the {name}" if name in ("old run", "new run") else f"on {name}"


# --------------------------------------------------------------------------- differences


def _difference_of_runs(
    old: PointSummary, new: PointSummary, movement: Movement | None, best_engine: bool, names: tuple[str, str], remarks: Sequence[str]
) -> Comparison | Tested:
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
    few = [f"only {n} rounds {_in(which)}" for n, which in zip((old.rounds, new.rounds), names, strict=True) if n < statistics.MINIMUM_ROUNDS]
    note = "; ".join([*remarks, *few])
    found = tested(Tested(label, old.id, new.id, [], movement, note), _rates(old), _rates(new))
    if found is None:
        one = " and ".join(_in(which) for point, which in zip((old, new), names, strict=True) if point.rounds < 2)
        return not_comparable(f"an interval needs two rounds, and there is only one {one}")
    return found


def _rates(point: PointSummary) -> Rates:
    return Rates(*(layouts.joined_values(values, point.round_layouts) for values in (point.round_rates, point.round_canary_ratios)))


def tested(row: Tested, old: Rates, new: Rates) -> Tested | None:
    """``row`` with the differences of two points of different times; ``None`` below two rounds on a side."""
    plain = _unpaired(old.plain, new.plain, row.movement)
    if plain is None:
        return None
    against_canary = None if row.movement is None else _unpaired(old.over_canary, new.over_canary, row.movement)
    return replace(row, differences=[plain] if against_canary is None else [against_canary, plain])


def _unpaired(old: Sequence[float], new: Sequence[float], movement: Movement | None) -> Difference | None:
    a, b = _logs(old), _logs(new)
    if movement is None or min(a.size, b.size) < 2:
        return statistics.unpaired_difference(a, b)
    # Where too few other points tell how runs scatter, they are taken to scatter as their rounds do.
    scatter = math.hypot(*(float(statistics.estimate_logs(side).scatter[0]) for side in (a, b))) if movement.scatter is None else movement.scatter
    return statistics.unpaired_difference(a, b, scatter, movement.size)


def _movements(old: RunSummary, new: RunSummary, pairs: Sequence[tuple[PointSummary, PointSummary]]) -> list[Movement | None]:
    """What the machine did, as seen by each pair: both canaries, and the change of all points of other operators or engines.

    The pair's own operator and engine is left out, so that a slowdown of one engine at all its sizes is not taken for the machine's.
    """
    core, memory = (_canary_change(old, new, name) for name in (CANARY_CORE, CANARY_MEMORY))
    changes: dict[str, FloatArray] = {}
    errors: FloatArray = np.full(len(pairs), np.nan)
    for kind in ("round_rates", "round_canary_ratios"):
        found = [statistics.unpaired_difference(_logs(getattr(a, kind)), _logs(getattr(b, kind))) for a, b in pairs]
        changes[kind] = np.array([math.nan if d is None else d.log_ratio for d in found], dtype=np.float64)
        if kind == "round_rates":
            errors = np.array([math.nan if d is None else d.error for d in found], dtype=np.float64)
    owners = np.array([f"{a.operator}\0{a.engine}" for a, _ in pairs])
    by_owner: dict[str, tuple[float | None, float | None]] = {}
    for owner in np.unique(owners):
        keep = owners != owner
        shift: float | None = None
        scatter: float | None = None
        for values in changes.values():
            others, own_errors = values[keep], errors[keep]
            known = np.isfinite(others)
            if np.count_nonzero(known) < MINIMUM_POPULATION:
                continue
            centre = float(np.median(others[known]))
            if values is changes["round_rates"]:
                shift = centre
            # Their changes scatter by their own errors anyhow; what is beyond that is the machine's doing (an empirical null, Efron 2004).
            deviation = _DEVIATION_PER_MAD * float(np.median(np.abs(others[known] - centre)))
            scatter = max(scatter or 0.0, math.sqrt(max(0.0, deviation**2 - float(np.nanmedian(own_errors[known] ** 2)))))
        by_owner[str(owner)] = (shift, scatter)
    return [Movement(core, memory, *by_owner[str(owner)]) for owner in owners]


def _canary_change(old: RunSummary, new: RunSummary, name: str) -> float | None:
    a, b = _logs(old.canaries.get(name, [])), _logs(new.canaries.get(name, []))
    return float(np.median(b) - np.median(a)) if a.size and b.size else None


def _logs(values: Sequence[float]) -> FloatArray:
    rates = np.asarray(values, dtype=np.float64)
    return np.log(rates[np.isfinite(rates) & (rates > 0)])


# --------------------------------------------------------------------------- verdicts


def judged(rows: Sequence[Comparison | Tested], min_effect: float) -> list[Comparison]:
    """``rows`` with a verdict each; the false discovery rate is controlled over all that were tested."""
    adjusted = iter(statistics.benjamini_hochberg([row.p_value for row in rows if isinstance(row, Tested)]))
    return [_row(row, float(next(adjusted)), min_effect) if isinstance(row, Tested) else row for row in rows]


def _row(tested: Tested, adjusted_p: float, min_effect: float) -> Comparison:
    """All differences have to give the same verdict; the interval covers all of them, around the first (through the canary where there is one)."""
    intervals = [d.interval for d in tested.differences]
    ratio = Interval(intervals[0].value, min(i.low for i in intervals), max(i.high for i in intervals))
    verdicts = {statistics.verdict(d, adjusted_p, min_effect) for d in tested.differences}
    unwatched = tested.movement is not None and not tested.movement.known
    verdict = verdicts.pop() if len(verdicts) == 1 and not unwatched else "undecided"
    reason = tested.note
    if verdict == "undecided":
        watch = tested.movement.watch if tested.movement is not None else ""
        why = f"no {watch} watched the machine between the two runs" if unwatched else _why_undecided(tested, adjusted_p, min_effect)
        reason = "; ".join(filter(None, [why, tested.note]))
    return Comparison(tested.label, tested.old, tested.new, ratio, verdict, adjusted_p, reason)


def _why_undecided(tested: Tested, adjusted_p: float, min_effect: float) -> str:
    limit = math.log1p(min_effect)
    sizes = [d.log_ratio for d in tested.differences]
    if tested.movement is not None:
        if min(abs(s) for s in sizes) <= tested.movement.size and max(abs(s) for s in sizes) > limit:
            return f"the difference is within what the machine itself moved ({tested.movement.describe()})"
        if min(sizes) < 0 < max(sizes) and max(abs(s) for s in sizes) > limit:
            return f"the plain ratio ({_percent(sizes[-1])}) and the one over the {tested.movement.watch} ({_percent(sizes[0])}) disagree"
    if min(abs(s) for s in sizes) > limit and adjusted_p > statistics.FALSE_DISCOVERY_RATE:
        return f"a difference this large arises by chance too often (p = {adjusted_p:.2g} after false-discovery control)"
    return f"the interval reaches beyond the minimum effect of {100 * min_effect:g} %"


def _percent(log_ratio: float) -> str:
    return f"{100 * math.expm1(log_ratio):+.1f} %"
