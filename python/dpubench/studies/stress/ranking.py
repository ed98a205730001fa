"""Targets side by side: relative performance, ranks and their intervals, classes, best and worst stressors, change of rank with duration.

Rules, which docs/stress-study.md repeats for readers:

- A stressor's rate on a target is the trimmed geometric mean of its repetitions. A rate of zero is a missing value.
- Its rank is 1 plus the number of targets with a higher rate. Targets with the same rate share a rank. A target without a rate has no rank, and the
  others are ranked without it: ``2 of 5 (1 missing)``.
- Targets are ranked at the longest duration at which as many of them have a rate as at any duration.
- The 95 % interval of a rank comes from a bootstrap over repetitions: each target's repetitions are drawn with replacement, their deviations from
  the rate widened by sqrt(n / (n - 1)), since a resampled mean of few values varies less than the mean does. Two repetitions on every target are
  the least.
- A stressor whose intervals reach over half of the targets or more, on any target, cannot be ranked and is named as such.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from dpubench.analysis import statistics
from dpubench.analysis.model import Interval, Warning_
from dpubench.analysis.statistics import FloatArray
from dpubench.analysis.verdicts import logs_of
from dpubench.studies.stress.model import RATE, PointSummary, Rank, RunSummary

#: Resamples of a bootstrap. The 2.5 % quantile of 999 is the 25th smallest.
RESAMPLES: Final = 999
#: Stressors of the lists of best and worst.
LISTED: Final = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One stressor at one duration on all targets."""

    stressor: str
    duration_s: float
    points: tuple[PointSummary | None, ...]  #: in the order of the runs; None where a run has no such point


@dataclass(frozen=True, slots=True)
class ClassMean:
    """The relative performance of one target over the stressors of a class that all targets have (Liu et al. 2021, Figure 8)."""

    name: str
    target: int  #: index of the run
    count: int
    mean: float  #: arithmetic, as in the paper
    deviation: float  #: sample standard deviation; nan for one stressor
    geometric: float  #: a ratio's natural mean: half and double speed come to 1


@dataclass(frozen=True, slots=True)
class Moved:
    """A stressor whose rank on a target is another at another duration (Liu et al. 2021, Table IV)."""

    stressor: str
    target: int
    before: Rank  #: at the shortest duration
    after: Rank  #: at the longest

    @property
    def decided(self) -> bool:
        """Return whether the two intervals do not overlap."""
        a, b = self.before, self.after
        if a.low is None or a.high is None or b.low is None or b.high is None:
            return False
        return a.high < b.low or b.high < a.low


@dataclass(slots=True)
class Ranking:
    """What several targets come to side by side."""

    runs: list[RunSummary]
    reference: int  #: index of the run that relative performance refers to
    rows: list[Row] = field(default_factory=list)  #: final rows, see the rules
    classes: list[ClassMean] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    durations: tuple[float, float] | None = None  #: those of ``moved``; None if there is one alone
    moved_of: int = 0  #: ranks that exist at both durations
    refused: str = ""  #: why nothing is compared; empty if it is

    def too_noisy(self) -> list[str]:
        """Return the stressors that cannot be ranked."""
        return [row.stressor for row in self.rows if any(p is not None and p.too_noisy for p in row.points)]

    def distribution(self, target: int) -> dict[int, int]:
        """Return rank -> number of stressors on a target, of those that can be ranked."""
        counts: dict[int, int] = defaultdict(int)
        for row in self.rows:
            point = row.points[target]
            if point is not None and point.rank is not None and not point.too_noisy:
                counts[point.rank.value] += 1
        return dict(sorted(counts.items()))

    def ordered(self, target: int) -> list[tuple[Row, PointSummary]]:
        """Return the stressors that can be ranked on a target, the most profitable first: by rank, then by relative performance."""
        found = [
            (row, point) for row in self.rows if (point := row.points[target]) is not None and point.rank is not None and not point.too_noisy
        ]  # fmt: skip
        return sorted(found, key=lambda pair: (_rank(pair[1]), -_value(pair[1].relative), pair[0].stressor))

    def best(self, target: int) -> list[tuple[Row, PointSummary]]:
        """Return the most profitable stressors of a target (Liu et al. 2021, Table III)."""
        return self.ordered(target)[:LISTED]

    def worst(self, target: int) -> list[tuple[Row, PointSummary]]:
        """Return the least profitable stressors of a target, the worst first."""
        return self.ordered(target)[::-1][:LISTED]


def _rank(point: PointSummary) -> int:
    return point.rank.value if point.rank is not None else 0


def _value(interval: Interval | None) -> float:
    return interval.value if interval is not None else 0.0


def versions_differ(runs: Sequence[RunSummary]) -> str:
    """Return which versions of stress-ng the runs have, if there are several; else an empty string."""
    found: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        found[run.stress_version or "of unknown version"].append(run.target)
    if len(found) < 2:
        return ""
    return "; ".join(f"{', '.join(targets)}: stress-ng {version}" for version, targets in found.items())


def rank(runs: Sequence[RunSummary], reference: str = "") -> Ranking:
    """Return the ranking of ``runs``, and set ``relative``, ``rank``, ``too_noisy`` and ``is_final`` of their points.

    ``reference``: target that relative performance refers to; empty: the one that the plan names, else ``local``, else the first run.
    Different versions of stress-ng are refused, or marked with a warning where a plan insists (``mixed_versions``).
    """
    found = Ranking(list(runs), _reference(runs, reference))
    for run in runs:
        run.refused = run.reference = ""
        for point in run.points:
            point.relative, point.rank, point.too_noisy, point.is_final = None, None, False, False
    mixed = versions_differ(runs)
    if mixed and not any(run.mixed_versions for run in runs):
        found.refused = f"not compared: {mixed}; versions differ in what a stressor does (to compare all the same: --set mixed_versions=true)"
        for run in runs:
            run.refused = found.refused
            _finals(rows_of([run]))
        return found
    for run in runs:
        run.reference = runs[found.reference].target if len(runs) > 1 else ""
        if mixed and not any(w.code == "mixed-versions" for w in run.warnings):
            run.warnings.append(Warning_("mixed-versions", mixed))
    rows = rows_of(runs)
    for row in rows:
        if len(runs) > 1:
            _compare(row, found.reference)
    found.rows = _finals(rows)
    found.classes = _classes(found)
    _set_moved(found, rows)
    return found


def _reference(runs: Sequence[RunSummary], wanted: str) -> int:
    names = [run.target for run in runs]
    for name in (wanted, *(run.wanted_reference for run in runs), "local"):
        if name and name in names:
            return names.index(name)
    return 0


def rows_of(runs: Sequence[RunSummary]) -> list[Row]:
    """Return a row for every stressor and duration of any run, sorted."""
    points = [{(p.stressor, p.duration_s): p for p in run.points} for run in runs]
    keys = sorted({key for run in points for key in run})
    return [Row(*key, tuple(run.get(key) for run in points)) for key in keys]


def _rates(point: PointSummary | None) -> FloatArray:
    """Return the logarithms of a point's rates, one for each repetition; empty where there is none."""
    return logs_of(point.rounds.get(RATE, []) if point is not None else [])


def _finals(rows: Iterable[Row]) -> list[Row]:
    """Mark and return, per stressor, the row at the longest duration at which as many targets have a rate as at any."""
    finals = []
    for _, group in itertools.groupby(rows, key=lambda row: row.stressor):
        found = list(group)
        most = max(sum(_rates(p).size > 0 for p in row.points) for row in found)
        final = [row for row in found if sum(_rates(p).size > 0 for p in row.points) == most][-1]
        for point in final.points:
            if point is not None:
                point.is_final = True
        finals.append(final)
    return finals


def _compare(row: Row, reference: int) -> None:
    logs = [_rates(point) for point in row.points]
    there = [i for i, values in enumerate(logs) if values.size]
    for i in there:
        point = row.points[i]
        if point is not None and logs[reference].size:
            point.relative = _relative(logs[i], logs[reference], itself=i == reference)
    if len(there) < 2:
        return
    ranks, lows, highs = ranks_of([logs[i] for i in there], f"{row.stressor}/{row.duration_s:g}")
    noisy = any(low is not None and high is not None and 2 * (high - low) >= len(there) for low, high in zip(lows, highs, strict=True))
    for i, value, low, high in zip(there, ranks, lows, highs, strict=True):
        point = row.points[i]
        if point is not None:
            point.rank = Rank(value, low, high, len(there), len(row.points) - len(there))
            point.too_noisy = noisy


def _relative(logs: FloatArray, reference: FloatArray, *, itself: bool) -> Interval:
    if itself:
        return Interval(1.0, 1.0, 1.0)
    if (difference := statistics.unpaired_difference(reference, logs)) is not None:
        return difference.interval
    ratio = math.exp(float(statistics.estimate_logs(logs).location[0] - statistics.estimate_logs(reference).location[0]))
    return Interval(ratio, math.nan, math.nan)


def ranks_of(logs: Sequence[FloatArray], seed: str) -> tuple[list[int], list[int | None], list[int | None]]:
    """Return rank, and best and worst rank of the 95 % interval, of each target, from the logarithms of its repetitions (at least one each)."""
    centres = np.array([float(statistics.estimate_logs(values).location[0]) for values in logs])
    ranks = [int(n) for n in _ranked(centres[None, :])[0]]
    if min(values.size for values in logs) < 2:
        return ranks, [None] * len(logs), [None] * len(logs)
    draw = np.random.default_rng(zlib.crc32(seed.encode()))
    resampled = np.column_stack([_resampled(values, draw) for values in logs])
    low, high = np.quantile(_ranked(resampled), [0.025, 0.975], axis=0, method="inverted_cdf")
    # The estimate itself always counts as possible.
    lows = [min(int(a), rank) for a, rank in zip(low, ranks, strict=True)]
    highs = [max(int(b), rank) for b, rank in zip(high, ranks, strict=True)]
    return ranks, list(lows), list(highs)


def _ranked(values: FloatArray) -> FloatArray:
    """Return the ranks within each row: 1 plus the number of higher values."""
    higher: FloatArray = (values[:, None, :] > values[:, :, None]).sum(axis=2) + 1
    return higher


def _resampled(values: FloatArray, draw: np.random.Generator) -> FloatArray:
    """Return :data:`RESAMPLES` trimmed means of repetitions drawn with replacement, widened about the estimate."""
    count = values.size
    trimmed = math.floor(statistics.TRIM * count)
    drawn = np.sort(draw.choice(values, (RESAMPLES, count)), axis=1)[:, trimmed : count - trimmed].mean(axis=1)
    centre = np.sort(values)[trimmed : count - trimmed].mean()
    widened: FloatArray = centre + (drawn - centre) * math.sqrt(count / (count - 1))
    return widened


def _classes(ranking: Ranking) -> list[ClassMean]:
    """Return the means per class and target, over stressors that all targets have: otherwise two means would be of different work."""
    if len(ranking.runs) < 2:
        return []
    members: dict[str, list[Row]] = defaultdict(list)
    for row in ranking.rows:
        if all(point is not None and point.relative is not None for point in row.points):
            for name in dict.fromkeys(name for point in row.points if point is not None for name in point.classes):
                members[name].append(row)
    means = []
    for name in sorted(members):
        for target in range(len(ranking.runs)):
            values = np.array([_value(point.relative) for row in members[name] if (point := row.points[target]) is not None])
            deviation = float(values.std(ddof=1)) if values.size > 1 else math.nan
            means.append(ClassMean(name, target, values.size, float(values.mean()), deviation, float(np.exp(np.log(values).mean()))))
    return means


def _set_moved(ranking: Ranking, rows: Sequence[Row]) -> None:
    durations = sorted({row.duration_s for row in rows})
    if len(durations) < 2 or len(ranking.runs) < 2:
        return
    ranking.durations = (durations[0], durations[-1])
    at = {(row.stressor, row.duration_s): row for row in rows}
    for stressor in dict.fromkeys(row.stressor for row in rows):
        short, long = (at.get((stressor, duration)) for duration in ranking.durations)
        if short is None or long is None:
            continue
        for target, (before, after) in enumerate(zip(short.points, long.points, strict=True)):
            # Ranks among different sets of targets cannot be compared.
            if before is not None and after is not None and before.rank is not None and after.rank is not None and _alike(short, long):
                ranking.moved_of += 1
                if before.rank.value != after.rank.value:
                    ranking.moved.append(Moved(stressor, target, before.rank, after.rank))


def _alike(short: Row, long: Row) -> bool:
    """Return whether the same targets have a rate in both rows."""
    return all((_rates(a).size > 0) == (_rates(b).size > 0) for a, b in zip(short.points, long.points, strict=True))


def kendall_tau(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> float:
    """Return Kendall's tau of two rankings of targets over many stressors: (concordant - discordant) pairs over all pairs of both.

    Values are rates, or anything that orders the targets of a stressor; nan is missing. Equal values are neither concordant nor discordant, and
    count among the pairs (tau-a).

    Raises:
        ValueError: the rankings have no pair in common.
    """
    balance = pairs = 0
    for stressor in first.keys() & second.keys():
        for (a, b), (c, d) in itertools.combinations(zip(first[stressor], second[stressor], strict=True), 2):
            product = (a - c) * (b - d)
            if not math.isnan(product):
                pairs += 1
                balance += (product > 0) - (product < 0)
    if not pairs:
        raise ValueError("the two rankings have no pair of targets in common")
    return balance / pairs
