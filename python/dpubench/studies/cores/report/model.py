"""Builds the content of the page from analysed runs: pure functions and plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dpubench.report.figures import triple
from dpubench.report.machine import run_info
from dpubench.report.outline import baseline_first, outline
from dpubench.report.page import RunInfo
from dpubench.report.troubles import Advice
from dpubench.report.words import anchor
from dpubench.studies.cores import crowley, wording
from dpubench.studies.cores.model import VERDICTS, PointSummary, RunSummary
from dpubench.studies.cores.plan import BASE
from dpubench.studies.cores.report.figures import figures_of, organisations
from dpubench.studies.cores.report.page import Case, CountRow, Figure, LineRow, Page, RunPart, SweepPart, Trust
from dpubench.studies.modelled.models import ModelInfo


def build(all_runs: Sequence[RunSummary], advice: Advice, baseline: str | None = None) -> Page:
    """Return the page of ``all_runs``, one below the other, ``baseline`` (a run's name or path) first.

    Raises :class:`ValueError` without runs or with a baseline that is none of them.
    """
    runs = baseline_first(all_runs, baseline)
    infos = [run_info(run, run.name) for run in runs]
    parts = [_part(run, info, i) for i, (run, info) in enumerate(zip(runs, infos, strict=True))]
    return Page(
        **outline(runs, infos, advice, note="Modelled, not measured; run of"),
        measured=_headline(runs),
        parts=parts,
        labels=[label for label in runs[0].labels if all(label in run.labels for run in runs)] or [runs[0].label],
        data={"study": runs[0].study, "runs": [_run_data(part, run) for part, run in zip(parts, runs, strict=True)]},
    )


def _headline(runs: Sequence[RunSummary]) -> str:
    """Return the question of the runs and the processors that they study, in words."""
    models = {model.name: model.title for run in runs for model in run.models}
    if len(models) == 1:
        return f"Which line rates a modelled {next(iter(models.values()))} sustains"
    return f"Which line rates {len(models)} modelled processors sustain: {', '.join(models)}"


def _part(run: RunSummary, info: RunInfo, index: int) -> RunPart:
    verdicts = Counter(claim.verdict for claim in run.claims)
    sweeps = [
        SweepPart(s.name, anchor(f"s{index}", s.name), s.title, _sweep_words(s.name, run), figures)
        for s in run.sweeps
        if (figures := figures_of(s, run))
    ]
    if together := organisations(run):
        sweeps.append(SweepPart("", anchor(f"s{index}", "organisations"), "Organisations on one axis", "superscalar, FGMT, SMT and CMP", together))
    done = [p for p in run.points if p.messages_per_s is not None]
    trust = Trust(
        len(run.points), run.simulations, run.instructions / 1e6, run.exact, sum(not p.converged for p in done), len(run.failures), len(run.warnings),
        max((p.unknown_share or 0.0 for p in done), default=0.0),
    )  # fmt: skip
    return RunPart(
        info, run.labels or [run.label], run.claims, [(v, verdicts[v]) for v in VERDICTS if verdicts[v]], _kernels(run),
        [(f"{line:g}", wording.line_text(line)) for line in run.lines_gbps], wording.overhead_text(run.line_overhead_bytes), run.models,
        _line_rows(run), _counts(run), sweeps, run.points, trust, _paper_counts() if run.claims else "", _line_models(run),
    )  # fmt: skip


def _paper_counts() -> str:
    """Return the paper's Table 2 in words, to stand below the kernels' own figures."""
    rows = [
        f"{row.kernel} {row.instructions:,} instructions a message, {100 * row.memory:.1f} % loads and stores, {100 * row.control:.1f} % control flow"
        for row in crowley.TABLE_2.values()
    ]
    return f"The paper's Table 2: {'; '.join(rows)}."


def _sweep_words(name: str, run: RunSummary) -> str:
    """Return in words the organisation, steps, clocks and number of points of a sweep."""
    points = [p for p in run.points if name in p.sweeps]
    steps, clocks = sorted({p.step for p in points}), sorted({p.clock_mhz for p in points})
    organisation = points[0].organisation if points else "described"
    many = f"{wording.STEPS[organisation]}s {_span(steps)}" if steps else ""
    return ", ".join(filter(None, (wording.ORGANISATIONS[organisation], many, f"{_span(clocks)} MHz" if clocks else "", f"{len(points)} points")))


def _span(values: Sequence[float]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"


def case_of(point: PointSummary) -> Case:
    """Return the kernel and frame of a point."""
    return Case(point.kernel, point.frame, wording.kernel_text(point), wording.frame_text(point))


def _kernels(run: RunSummary) -> list[PointSummary]:
    """Return, per case, the point on the smallest base processor of the kernel's first model: its smallest step at the highest clock."""
    shown_on: dict[str, str] = {}
    found: dict[tuple[str, str], PointSummary] = {}
    for point in run.points:
        if point.variant != BASE or point.messages_per_s is None or point.composed or point.shares:
            continue
        if point.model != shown_on.setdefault(point.kernel, point.model):
            continue
        known = found.get((point.kernel, point.frame))
        if known is None or (point.step, -point.clock_mhz) < (known.step, -known.clock_mhz):
            found[(point.kernel, point.frame)] = point
    # All frames of a kernel whose work does not depend on the size share one simulation. Keep the first.
    kept: dict[tuple[str, str], PointSummary] = {}
    for point in found.values():
        kept.setdefault((point.kernel, point.configuration), point)
    return list(kept.values())


def _line_rows(run: RunSummary) -> list[LineRow]:
    """Return a row per case with each model's smallest number of cores, at the highest clock, without variants."""
    of_cores = [p for p in run.points if p.organisation in ("described", "cmp") and p.variant == BASE and not p.shares]
    cells: dict[Case, dict[str, PointSummary]] = {}
    for point in of_cores:
        known = cells.setdefault(case_of(point), {}).get(point.model)
        if known is None or (point.step, -point.clock_mhz) < (known.step, -known.clock_mhz):
            cells[case_of(point)][point.model] = point
    shown = _line_models(run)
    return [LineRow(case, [found.get(model.name) for model in shown]) for case, found in cells.items()]


def _line_models(run: RunSummary) -> list[ModelInfo]:
    """Return the models that the table of lines has columns for: those with cores as steps."""
    with_cores = {p.model for p in run.points if p.organisation in ("described", "cmp") and p.variant == BASE and not p.shares}
    return [model for model in run.models if model.name in with_cores]


def _counts(run: RunSummary) -> list[CountRow]:
    """Return, for sweeps over organisations, how many of their processors sustain each line."""
    rows: dict[tuple[str, str, str, Case], CountRow] = {}
    none = [0] * len(run.lines_gbps)
    for sweep in run.sweeps:
        for point in (p for p in run.points if sweep.name in p.sweeps and not sweep.varied and p.organisation != "described"):
            variant = "" if point.variant == BASE else point.variant
            key = (sweep.name, point.model, variant, case_of(point))
            organisation = wording.ORGANISATIONS[point.organisation]
            row = rows.setdefault(key, CountRow(sweep.title, organisation, point.model, variant, key[3], 0, list(none), list(none), 0, point.labels))
            row.of += 1
            row.failed += point.messages_per_s is None
            for i, line in enumerate(point.lines):
                row.sustained[i] += line.sustains == "yes"
                row.undecided[i] += line.sustains == "undecided"
    return [row for row in rows.values() if row.of > 1]


# --------------------------------------------------------------------------- data of the script


def _run_data(part: RunPart, run: RunSummary) -> dict[str, object]:
    return {
        "name": run.name,
        "lines": [words for _, words in part.lines],
        "figures": [{**_figure(figure), "sweep": sweep.title} for sweep in part.sweeps for figure in sweep.figures],
        "points": [_point(p) for p in run.points],
    }


def _figure(figure: Figure) -> dict[str, object]:
    return {
        "id": figure.id, "title": figure.title, "x": figure.x, "y": figure.y, "logX": figure.logarithmic_x, "logY": figure.logarithmic_y,
        "series": [{"name": s.name, "points": [_mark(p) for p in s.points], "apart": [_mark(p) for p in s.apart]} for s in figure.series],
        "references": [[words, _number(value)] for words, value in figure.references], "gone": figure.gone, "labels": figure.labels,
        "note": figure.note,
    }  # fmt: skip


def _mark(point: tuple[float, float, float | None, float | None, str]) -> list[object]:
    x, y, low, high, name = point
    return [_number(x), _number(y), _number(low), _number(high), name]


def _number(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _point(point: PointSummary) -> dict[str, object]:
    return {
        "id": point.id, "kernel": point.kernel, "told": wording.kernel_text(point), "frame": wording.frame_text(point), "model": point.model,
        "organisation": wording.organisation_text(point), "mhz": point.clock_mhz, "variant": point.variant, "rate": triple(point.messages_per_s),
        "gbps": triple(point.line_gbps if point.every_byte else None), "cycles": triple(point.cycles_per_message), "ipc": _number(point.ipc),
        "instructions": _number(point.instructions_per_message), "mispredicted": _number(point.mispredicted),
        "misses": [_number(cache.miss_ratio if (cache := point.cache(name)) else None) for name in (point.instruction_cache, point.data_cache)],
        "lines": [[line.sustains, wording.cores_text(line.cores)] for line in point.lines], "labels": point.labels, "why": point.failure,
        "sampled": point.sampled,
    }  # fmt: skip
