"""Facts about several targets besides their figures: verification on emulated targets, and the paths that ran side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.report.page import PathRow, Verified
from dpubench.studies.operators.report.points import OperatorPoints, path_text


def display_names(runs: Sequence[RunSummary]) -> list[str]:
    """Return the page's name of each of ``runs``: its target where all are of one set, else its name.

    The target follows a name that does not tell it.
    """
    if len({run.run_set for run in runs}) == 1 and runs[0].run_set:
        return [run.target for run in runs]
    return [run.name if run.run_set or run.target == "local" else f"{run.name} @{run.target}" for run in runs]


def timed_runs(runs: Sequence[RunSummary]) -> list[int]:
    """Return the indices of the runs that get columns: those with times, and with points if any run has some."""
    timed = [i for i, run in enumerate(runs) if not run.times_mean_nothing]
    return [i for i in timed if runs[i].points] or timed


def baseline_index(runs: Sequence[RunSummary], names: Sequence[str], baseline: str | None) -> int | None:
    """Return the index of the baseline, among the runs with times; None where there are not two.

    ``baseline`` is a run's name or path, or a target that one of them was made on. Without it: the baseline of the first set, else the first run.

    Raises :class:`ValueError` where ``baseline`` is none of them, or several.
    """
    timed = timed_runs(runs)
    if baseline is None:
        found = [i for i in timed if runs[i].is_baseline] or timed
        return found[0] if len(timed) > 1 else None
    chosen = [i for i, run in enumerate(runs) if baseline in (run.name, run.path, names[i])] or [
        i for i, run in enumerate(runs) if baseline == run.target
    ]
    if not chosen:
        known = ", ".join(run.name for run in runs)
        raise ValueError(f"baseline {baseline!r} is not among the runs of this report ({known}): name one of them with --baseline")
    if len(chosen) > 1:
        known = ", ".join(runs[i].name for i in chosen)
        raise ValueError(f"baseline {baseline!r} is in several runs of this report: name one of {known} with --baseline")
    if chosen[0] not in timed:
        run = runs[chosen[0]]
        why = f"is {run.label}: its times mean nothing" if run.times_mean_nothing else "holds no measurement"
        raise ValueError(f"baseline {baseline!r} {why}; name another with --baseline")
    return chosen[0] if len(timed) > 1 else None


def correctness(runs: Sequence[RunSummary]) -> list[tuple[str, list[Verified | None]]]:
    """Return, per operator, the results of verification in each of ``runs``, which have no times."""
    names = list(dict.fromkeys(p.operator for run in runs for p in run.points))
    return [(name, [_verified([p for p in run.points if p.operator == name]) for run in runs]) for name in names]


def _verified(points: Sequence[PointSummary]) -> Verified | None:
    if not points:
        return None
    right = [p for p in points if p.verified and not p.failure and not p.unavailable]
    return Verified(
        points=len(points),
        verified=len(right),
        known_answers=sum(_number(p.verified, "known_answers") for p in right),
        compared=sum(_number(p.verified, "compared") for p in right),
        engines=list(dict.fromkeys(p.engine for p in right)),
        wrong=[f"{p.engine}: {p.failure}" for p in points if p.failure],
        unavailable=list(dict.fromkeys(f"{p.engine}: {p.unavailable}" for p in points if p.unavailable)),
    )


def _number(of: Mapping[str, object], key: str) -> int:
    value = of.get(key)
    return value if isinstance(value, int) else 0


def path_rows(operator: OperatorPoints, pairing: str, rows: Sequence[tuple[str, Sequence[PointSummary | None]]]) -> list[PathRow]:
    """Return the paths of ``rows`` (modes, the compared point of each run), with equal paths merged.

    Rows that only one run measured are dropped, because they compare nothing.
    """
    merged: dict[tuple[tuple[str, str] | None, ...], list[str]] = {}
    for modes, points in rows:
        paths = tuple((p.engine_word, path_text(p)) if p is not None else None for p in points)
        if sum(path is not None for path in paths) > 1:
            merged.setdefault(paths, []).append(modes)
    return [PathRow(operator.name, pairing, modes, list(paths)) for paths, modes in merged.items()]
