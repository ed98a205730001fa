"""Builds the content of the page from analysed runs: pure functions and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpubench.report.figures import triple
from dpubench.report.machine import run_info
from dpubench.report.outline import baseline_first, outline
from dpubench.report.page import RunInfo
from dpubench.report.troubles import Advice
from dpubench.simulation.characteristics import CHARACTERISTICS, WORDS
from dpubench.simulation.hull import LEAST_INPUTS
from dpubench.studies.coverage import wording
from dpubench.studies.coverage.model import PointSummary, RunSummary
from dpubench.studies.coverage.report.page import ComposedRow, CoveredRow, Page, RunPart, Trust
from dpubench.studies.coverage.text import how_text

_NOTE: Final = "Modelled, not measured; run of"


def build(all_runs: Sequence[RunSummary], advice: Advice, baseline: str | None = None) -> Page:
    """Return the page of ``all_runs``, one below the other, ``baseline`` (a run's name or path) first.

    Raises :class:`ValueError` without runs or with a baseline that is none of them.
    """
    runs = baseline_first(all_runs, baseline)
    infos = [run_info(run, run.name) for run in runs]
    parts = [_part(run, info) for run, info in zip(runs, infos, strict=True)]
    return Page(
        **outline(runs, infos, advice, note=[_NOTE if run.models else "Measured" for run in runs]),
        measured=_headline(runs),
        parts=parts,
        labels=[label for label in runs[0].labels if all(label in run.labels for run in runs)] or [label for label in (runs[0].label,) if label],
        modelled=all(run.models for run in runs),
        least_inputs=LEAST_INPUTS,
        data={
            "study": runs[0].study,
            "runs": [_run_data(part, run) for part, run in zip(parts, runs, strict=True)],
        },
    )


def _headline(runs: Sequence[RunSummary]) -> str:
    """Return the question of the runs and the processors that they study, in words."""
    if not any(run.models for run in runs):
        return "How operators behave on this machine, by its hardware counters"
    models = {model.name: model.title for run in runs for model in run.models}
    on = f"a modelled {next(iter(models.values()))}" if len(models) == 1 else f"{len(models)} modelled processors: {', '.join(models)}"
    return f"How operators behave, and how much of whole applications they cover, on {on}"


def _part(run: RunSummary, info: RunInfo) -> RunPart:
    there = [p for p in run.points if p.there]
    names = run.space.names if run.space is not None else {}
    by_id = {p.id: p for p in run.points}
    covered = {c.point: c for c in run.space.covered} if run.space is not None else {}
    composed = [
        ComposedRow(by_id[c.application], c, sorted(((names[k], w) for k, w in c.weights.items() if w > 0.0005), key=lambda kv: -kv[1]))
        for c in (run.space.compositions if run.space is not None else [])
        if c.application in by_id
    ]
    trust = Trust(
        len(run.points), run.simulations, run.instructions / 1e6, how_text(run), len(run.failures), len(run.warnings),
        max((p.unknown_share or 0.0 for p in there), default=0.0),
    )  # fmt: skip
    hull = (wording.hull_text(run.space.hull), wording.thin_text(run.space)) if run.space is not None and run.space.covered else ("", "")
    return RunPart(
        info, run.labels, list(dict.fromkeys(p.origin for p in run.points)), wording.answer(run), [(name, WORDS[name]) for name in CHARACTERISTICS],
        _largest(there), [CoveredRow(p, covered.get(p.id)) for p in run.points if p.kind != "operator"], composed,
        run.space, *hull, run.phase_instructions, run.models, run.points, trust,
    )  # fmt: skip


def _largest(points: Sequence[PointSummary]) -> dict[str, list[str]]:
    """Return, per characteristic, the points with its largest value."""
    found = {}
    for name in CHARACTERISTICS:
        most = max((p.characteristics.get(name) or 0.0 for p in points), default=0.0)
        found[name] = [p.id for p in points if most and p.characteristics.get(name) == most]
    return found


# --------------------------------------------------------------------------- data of the script


def _run_data(part: RunPart, run: RunSummary) -> dict[str, object]:
    """Return the numbers for figures and downloads."""
    there = [p for p in run.points if p.there]
    mixtures = [row.composition.characteristics for row in part.composed]
    largest = [
        max([*(p.characteristics.get(name) or 0.0 for p in there), *(m.get(name, 0.0) for m in mixtures)], default=0.0) for name in CHARACTERISTICS
    ]
    space = run.space
    return {
        "name": run.name, "modelled": bool(run.models), "labels": part.labels,
        "characteristics": [[name, WORDS[name], wording.OF[name]] for name in CHARACTERISTICS],
        "largest": [number(v) for v in largest], "points": [_point(p) for p in run.points],
        "composed": [
            {
                "id": row.point.id, "values": [number(row.composition.characteristics.get(name)) for name in CHARACTERISTICS],
                "weights": [[name, number(weight)] for name, weight in row.weights], "distance": number(row.composition.distance),
            }
            for row in part.composed if row.composition.weights
        ],
        "components": [[number(c.variance), [number(c.loadings.get(name)) for name in CHARACTERISTICS]] for c in space.components] if space else [],
        "scores": {name: [number(v) for v in row] for name, row in space.scores.items()} if space else {},
        "phases": {name: [[number(v) for v in row] for row in rows] for name, rows in space.phase_scores.items()} if space else {},
    }  # fmt: skip


def number(value: float | None) -> float | None:
    """Return ``value`` with six digits; None if it is not a number."""
    return None if value is None or value != value else float(f"{value:.6g}")


def _point(point: PointSummary) -> dict[str, object]:
    return {
        "id": point.id, "kind": point.kind, "name": point.name, "told": wording.told(point), "origin": point.origin,
        "values": [number(point.characteristics.get(name)) for name in CHARACTERISTICS], "ipc": triple(point.ipc), "instructions": point.instructions,
        "unknown": number(point.unknown_share), "labels": point.labels, "why": point.failure,
    }  # fmt: skip
