"""Runs of stress-ng as plain text for a terminal, a pipe or a log."""

from __future__ import annotations

from collections.abc import Sequence

from dpubench.analysis.digits import significant
from dpubench.analysis.model import Interval
from dpubench.analysis.tables import count, cpus_text, failure_line, section, table, warning_lines
from dpubench.studies.measured import text as measured
from dpubench.studies.stress import ranking
from dpubench.studies.stress.model import QUANTITIES, PointSummary, Rank, RunSummary
from dpubench.studies.stress.ranking import Ranking

#: Most names in a line.
NAMES = 40


def show(runs: Sequence[RunSummary]) -> str:
    """Return ``runs`` as text: every stressor with its rate, ranks of several targets, classes, best and worst, warnings, failures, omissions."""
    parts = ["\n".join(_shown(run)) for run in runs]
    if len(runs) > 1:
        parts.append("\n".join(side_by_side(ranking.rank(runs))))
    elif runs[0].reference:  # one target of a set
        parts.append(f"ranks are among the targets of its set; relative to {runs[0].reference}")
    return "\n\n".join(parts) + "\n"


def _shown(run: RunSummary) -> list[str]:
    label = f" [{run.label}]" if run.label else ""
    origin = [
        str(run.machine.get("cpu", "") or run.machine.get("architecture", "")),
        cpus_text(run.machine),
        stress_ng(run),
        f"dpubench {run.version}",
    ]
    return [
        f"{run.name}{label}: study {run.study}, plan {run.plan}, {run.status}, started {run.started}",
        ", ".join(filter(None, origin)),
        measured.counts(run),
        *(["", points_table(run.points)] if run.points else []),
        *section("Warnings", warning_lines(run.warnings)),
        *section("Failures", [failure_line(f.point or f.group, f.phase, f.message) for f in run.failures]),
        *section("Left out", run.left_out),
    ]


def stress_ng(run: RunSummary) -> str:
    """Return version and instances: ``stress-ng 0.15.06, 8 instances``."""
    return f"stress-ng {run.stress_version or 'of unknown version'}" + (f", {count(run.instances, 'instance')}" if run.instances else "")


def points_table(points: Sequence[PointSummary]) -> str:
    """Return a table of ``points``; ranks and relative performance only where there are any."""
    ranked = any(p.rank is not None for p in points)
    quantities = [] if any(p.verified for p in points) else QUANTITIES  # points of an emulated target have no figures
    header = ["stressor", "duration", *(f"{q.title} ({q.unit})" for q in quantities), *(["relative", "rank"] if ranked else []), "remarks"]
    rows = []
    for p in points:
        figures = [measured.interval_text(p.figures.get(q.name)) for q in quantities]
        beside = [relative_text(p.relative), rank_text(p)] if ranked else []
        rows.append([p.stressor, f"{p.duration_s:g}s", *figures, *beside, remarks(p)])
    return table(header, rows, [False, *(True for _ in header[1:-1]), False])


def remarks(point: PointSummary) -> str:
    return " ".join(filter(None, [point.spared or measured.remarks(point), "too noisy to be ranked" if point.too_noisy else ""]))


def relative_text(relative: Interval | None) -> str:
    return "-" if relative is None else "1" if relative.low == relative.high == 1 else measured.interval_text(relative)


def rank_text(point: PointSummary | None) -> str:
    """Return the rank with its interval: ``2 of 5``, ``2 [1-3] of 5``, ``2 of 5 (1 missing)``; ``-`` without a rank."""
    return "-" if point is None or point.rank is None else rank_words(point.rank)


def rank_words(rank: Rank) -> str:
    span = "" if rank.decided else " [?]" if rank.low is None else f" [{rank.low}-{rank.high}]"
    return f"{rank.value}{span} of {rank.of}" + (f" ({rank.missing} missing)" if rank.missing else "")


# --------------------------------------------------------------------------- several targets


def side_by_side(found: Ranking) -> list[str]:
    """Return what several targets come to: ranks, classes, best and worst stressors, change of rank."""
    if found.refused:
        return [found.refused]
    names = [run.target for run in found.runs]
    lines = [f"Targets side by side, relative to {names[found.reference]}; rank 1 is the highest rate", "", distribution_table(found)]
    lines += section("Not ranked: repetitions scatter more than the targets differ", _wrapped(found.too_noisy()))
    if found.classes:
        lines += [
            "",
            "Relative performance by class: mean ± standard deviation (geometric mean) over stressors that all targets have",
            classes_table(found),
        ]
    for target, name in enumerate(names):
        if target != found.reference:
            lines += section(f"Best stressors of {name}", [listed(found.best(target))])
            lines += section(f"Worst stressors of {name}", [listed(found.worst(target))])
    if found.durations is not None:
        short, long = (f"{seconds:g}s" for seconds in found.durations)
        decided = sum(moved.decided for moved in found.moved)
        lines += ["", f"Rank from {short} to {long}: {len(found.moved)} of {found.moved_of} change, {decided} beyond both intervals"]
        rows = [(m.stressor, names[m.target], rank_words(m.before), rank_words(m.after)) for m in found.moved if m.decided]
        lines += [table(("stressor", "target", short, long), rows)] if rows else []
    return lines


def distribution_table(found: Ranking) -> str:
    """Return how often each target has each rank."""
    shares = [found.distribution(target) for target in range(len(found.runs))]
    places = sorted({rank for share in shares for rank in share})
    header = ("target", *(f"rank {place}" for place in places), "ranked", "median relative")
    rows = []
    for target, (run, share) in enumerate(zip(found.runs, shares, strict=True)):
        values = sorted(p.relative.value for row in found.rows if (p := row.points[target]) is not None and p.relative is not None)
        middle = significant(values[len(values) // 2], 3) if values else "-"
        rows.append((run.target, *(str(share.get(place, 0)) for place in places), str(sum(share.values())), middle))
    return table(header, rows, [False, *(True for _ in header[1:])])


def classes_table(found: Ranking) -> str:
    """Return the class means of every target but the reference."""
    others = [target for target in range(len(found.runs)) if target != found.reference]
    by_class: dict[str, dict[int, str]] = {}
    sizes = {}
    for mean in found.classes:
        deviation = f" ± {significant(mean.deviation, 2)}" if mean.deviation == mean.deviation else ""
        by_class.setdefault(mean.name, {})[mean.target] = f"{significant(mean.mean, 3)}{deviation} ({significant(mean.geometric, 3)})"
        sizes[mean.name] = mean.count
    header = ("class", "stressors", *(found.runs[target].target for target in others))
    rows = [(name, str(sizes[name]), *(cells[target] for target in others)) for name, cells in by_class.items()]
    return table(header, rows, [False, *(True for _ in header[1:])])


def listed(pairs: Sequence[tuple[ranking.Row, PointSummary]]) -> str:
    """Return stressors with rank and relative performance in a line."""
    return ", ".join(f"{row.stressor} ({point.rank.value if point.rank else '-'}; {_times(point.relative)})" for row, point in pairs) or "none"


def _times(relative: Interval | None) -> str:
    return "-" if relative is None else f"{significant(relative.value, 3)}x"


def _wrapped(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return [", ".join(names[:NAMES]) + more]
