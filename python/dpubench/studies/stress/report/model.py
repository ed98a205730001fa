"""Builds the content of the page from analysed runs: pure functions and plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dpubench.analysis import warnings
from dpubench.report.figures import rounded, triple
from dpubench.report.machine import run_info
from dpubench.report.outline import outline
from dpubench.report.page import Trouble
from dpubench.studies.measured import text as measured
from dpubench.studies.stress import ranking, text
from dpubench.studies.stress.model import RATE, PointSummary, RunSummary
from dpubench.studies.stress.ranking import Ranking
from dpubench.studies.stress.report.page import ClassPart, Page, RunPart, TargetPart


def build(runs: Sequence[RunSummary], baseline: str | None = None) -> Page:
    """Return the page of ``runs``, side by side; ``baseline`` (a target, or a run's name or path) is the reference. @raises ValueError"""
    if not runs:
        raise ValueError("a report needs at least one run")
    reference = next((run.target for run in runs if baseline is not None and baseline in (run.target, run.name, run.path)), "")
    if baseline is not None and not reference:
        known = ", ".join(name for run in runs for name in (run.target, run.name))
        raise ValueError(f"baseline {baseline!r} is not among the runs of this report ({known}): name one of them with --baseline")
    found = ranking.rank(runs, reference)
    twice = Counter(run.target for run in runs).most_common(1)[0][1] > 1  # runs of one target at different times
    infos = [run_info(run, run.name if twice or len(runs) == 1 else run.target) for run in runs]
    imported = all(run.origin == "imported" for run in runs)
    several = len(runs) > 1 and not found.refused
    return Page(
        **outline(
            runs,
            infos,
            warnings.advice,
            note=["Imported" if run.origin == "imported" else "Measured" for run in runs],
            unavailable=_unavailable(runs),
        ),
        measured="Which kinds of operations are profitable on a device, by stress-ng",
        parts=[RunPart(info, measured.counts(run), text.stress_ng(run), run) for run, info in zip(runs, infos, strict=True)],
        refused=found.refused,
        reference=infos[found.reference].name if several else "",
        targets=[_target(found, i, info.name) for i, info in enumerate(infos)] if several else [],
        classes=_classes(found),
        too_noisy=found.too_noisy() if several else [],
        moved=sorted(found.moved, key=lambda moved: (not moved.decided, moved.stressor)),
        moved_of=found.moved_of,
        durations=None if found.durations is None else (f"{found.durations[0]:g} s", f"{found.durations[1]:g} s"),
        imported=imported,
        data=_data(found, [info.name for info in infos], several=several),
    )


def _target(found: Ranking, index: int, name: str) -> TargetPart:
    shares = found.distribution(index)
    values = sorted(p.relative.value for row in found.rows if (p := row.points[index]) is not None and p.relative is not None)
    return TargetPart(
        name, found.runs[index].label, index == found.reference, [shares.get(place, 0) for place in range(1, len(found.runs) + 1)],
        sum(shares.values()), values[len(values) // 2] if values else None, found.best(index), found.worst(index),
    )  # fmt: skip


def _classes(found: Ranking) -> list[ClassPart]:
    names = dict.fromkeys(mean.name for mean in found.classes)
    return [ClassPart(name, means[0].count, means) for name in names if (means := [mean for mean in found.classes if mean.name == name])]


def _unavailable(runs: Sequence[RunSummary]) -> list[Trouble]:
    """Return the stressors that cannot run, by run and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for point in run.points:
            if point.unavailable:
                found.setdefault((run.name, point.unavailable), []).append(point.id)
    return [Trouble(name, ", ".join(points), reason, len(points)) for (name, reason), points in found.items()]


def _data(found: Ranking, names: Sequence[str], *, several: bool) -> dict[str, Any]:
    """Return the numbers for figures and downloads."""
    rows = found.rows if several else []
    return {
        "study": "stress", "names": list(names), "labels": [run.label for run in found.runs], "reference": found.reference,
        "mark": next((i for i in range(len(names)) if i != found.reference), 0),
        "rows": [
            {
                "stressor": row.stressor, "seconds": row.duration_s,
                "classes": list(dict.fromkeys(name for point in row.points if point is not None for name in point.classes)),
                "points": [_point(point) for point in row.points],
            }
            for row in rows
        ],
        "classes": [
            {
                "name": part.name, "count": part.count,
                "means": [[rounded(mean.mean), rounded(mean.deviation), rounded(mean.geometric)] for mean in part.means],
            }
            for part in _classes(found)
        ],
    }  # fmt: skip


def _point(point: PointSummary | None) -> dict[str, Any] | None:
    if point is None or not point.figures:
        return None
    rank = point.rank
    return {
        "rate": triple(point.figures.get(RATE)), "relative": triple(point.relative), "noisy": point.too_noisy,
        "rank": None if rank is None else [rank.value, rank.low, rank.high, rank.of, rank.missing],
    }  # fmt: skip
