"""Data of the figures and downloads of study ``operators``, as JSON-safe values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dpubench.analysis.naming import size_text
from dpubench.report.figures import rounded, triple
from dpubench.report.page import RunInfo
from dpubench.report.words import FEW_ROUNDS, anchor
from dpubench.studies.operators import footprint as working_set
from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.report.page import PAIRINGS, HeatCell, HeatMap, OperatorRow, Versus
from dpubench.studies.operators.report.points import (
    OperatorPoints,
    base_label,
    best,
    engine_label,
    measured_points,
    path_text,
    rerun_tail,
    set_targets,
    weakness,
)
from dpubench.studies.operators.report.versus import Verdicts, whole_machine

_GBPS: Final = "gbps"  #: name of Gb/s among a point's metrics


def _metrics(operator: OperatorPoints) -> list[dict[str, str]]:
    """Return the metrics besides the primary rate: the operator's own, and Gb/s where only some modes process all bytes."""
    metrics = [{"name": m["name"], "unit": m.get("unit", ""), "summary": m.get("summary", "")} for m in operator.catalog.get("metrics", [])]
    if any(p.gbps is not None and p.primary_unit != "Gb/s" for points in operator.by_run for p in points):
        metrics.append({"name": _GBPS, "unit": "Gb/s", "summary": "where the mode processes all bytes"})
    return metrics


def _metric(point: PointSummary, name: str) -> float | None:
    interval = point.gbps if name == _GBPS else point.metrics.get(name)
    return None if interval is None else rounded(interval.value)


def chart_data(
    runs: Sequence[RunSummary], infos: Sequence[RunInfo], baseline: int | None, operators: Sequence[OperatorPoints],
    verdicts: Sequence[Verdicts | None],
) -> dict[str, Any]:  # fmt: skip
    """Return the data for the figures, the point tables and the calculator, as JSON-safe values.

    Points are arrays, and repeated texts are indices into ``texts``, so that a page of many thousand points stays small. ``fields`` names the fields
    of a point in order, ``ratioFields`` those of a ratio.
    """
    texts: dict[str, int] = {}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    entries = []
    for operator in operators:
        param_sets: dict[tuple[tuple[str, str], ...], int] = {}
        engines: dict[str, int] = {}
        reference = str(operator.catalog.get("reference_engine", ""))
        for name in [reference, *(str(e["name"]) for e in operator.catalog.get("engines", []))]:
            if name and any(p.engine == name for points in operator.by_run for p in points):
                engines.setdefault(name, len(engines))
        metrics = _metrics(operator)
        points: list[list[Any]] = []
        unit = ""
        for index, run_points in enumerate(operator.by_run):
            for p in measured_points(run_points):
                unit = unit or p.primary_unit
                params = tuple(sorted(p.params.items()))
                own = runs[index].target
                checked = (
                    f"{p.verified.get('known_answers', 0)} known answers, {p.verified.get('compared', 0)} compared ({p.verified.get('how', '')})"
                    if p.verified
                    else ""
                )
                points.append([
                    index, engines.setdefault(engine_label(p, own), len(engines)), param_sets.setdefault(params, len(param_sets)), p.threads, p.burst,
                    text(p.footprint), *triple(p.primary), *triple(p.ops_per_s), *triple(p.ns_per_op),
                    rounded(p.cycles_per_op.value if p.cycles_per_op else None), text(p.cycles_source), *triple(p.energy_nj_per_op),
                    *triple(p.ratio_to_reference), p.rounds,
                    int(p.converged), text(weakness(p)), text(path_text(p)), text(working_set.words(p)), text(checked),
                    [_metric(p, m["name"]) for m in metrics], p.jobs_in_flight, text(base_label(p, own)),
                    text(p.next_best), *triple(p.ratio_to_next_best), text(" ".join(p.not_converged)),
                ])  # fmt: skip
        ratios = [] if baseline is None else [
            [index, param_sets[params], threads, burst, text(footprint), *_ratio_fields(versus, text), *_ratio_fields(same, text)]
            for (_, params, threads, burst, footprint), by_run in operator.configurations.items() if params in param_sets
            for index, judge in enumerate(verdicts) if judge is not None
            for versus, same in [(judge.best(by_run[baseline], by_run[index]), judge.same(by_run[baseline], by_run[index]))]
            if versus.ratio or same.ratio
        ]  # fmt: skip
        whole = [] if baseline is None else _whole_machines(operator, baseline, runs, param_sets, text)
        start = operator.default
        entries.append({
            "name": operator.name, "anchor": anchor("op", operator.name), "summary": operator.catalog.get("summary", ""), "unit": unit,
            "bytes": bool(operator.catalog.get("processes_all_bytes")), "reference": reference, "engines": list(engines),
            "params": [dict(p) for p in param_sets], "points": points, "ratios": ratios, "whole": whole,
            "metrics": metrics, "inputs": operator.catalog.get("inputs", []),
            "parameters": [{"name": n, "axis": operator.is_axis(n), "unit": p.get("unit", ""), "summary": p.get("summary", "")}
                           for n, p in operator.parameters.items()],
            "start": {"params": dict(start[1]), "threads": start[2], "burst": start[3], "footprint": start[4]},
        })  # fmt: skip
    fields = ["run", "engine", "params", "threads", "burst", "footprint", "value", "low", "high", "ops", "opsLow", "opsHigh", "ns", "nsLow", "nsHigh",
              "cycles", "cyclesSource", "energy", "energyLow", "energyHigh",
              "ratio", "ratioLow", "ratioHigh", "rounds", "converged", "weak", "path", "extent", "checked", "metrics", "flight", "base",
              "nextBest", "next", "nextLow", "nextHigh", "loose"]  # fmt: skip
    return {
        "fields": fields,
        "ratioFields": ["run", "params", "threads", "burst", "footprint",
                        *(p + n for p in PAIRINGS for n in ("", "Low", "High", "Verdict", "Reason", "Engines", "Rounds", "Weak"))],
        "texts": list(texts),
        "baseline": baseline,
        "fewRounds": FEW_ROUNDS,
        "runs": [{"name": i.name, "cpu": i.cpu, "logical": i.logical, "physical": i.physical, "study": r.study, "plan": r.plan,
                  "label": i.label, "given": r.given_inputs, "tail": rerun_tail(r, set_targets(r, runs))}
                 for i, r in zip(infos, runs, strict=True)],
        "operators": entries,
    }  # fmt: skip


def _ratio_fields(versus: Versus, text: Callable[[str], int]) -> list[Any]:
    if versus.ratio is None or versus.old is None or versus.new is None:
        return [None] * 8
    weak = "; ".join(dict.fromkeys(filter(None, (weakness(versus.old), weakness(versus.new)))))
    engines = f"{versus.new.engine_word} / {versus.old.engine_word}"
    rounds = min(versus.old.rounds, versus.new.rounds)
    return [*triple(versus.ratio), text(versus.verdict), text(versus.reason), text(engines), rounds, text(weak)]


def _whole_machines(
    operator: OperatorPoints, baseline: int, runs: Sequence[RunSummary], param_sets: Mapping[tuple[tuple[str, str], ...], int],
    text: Callable[[str], int],
) -> list[list[Any]]:  # fmt: skip
    """Return, for each parameter set with several thread counts, every run's best over all of them against the baseline's."""
    found = []
    by_params: dict[tuple[tuple[tuple[str, str], ...], int, str], list[list[PointSummary]]] = {}
    for (_, params, _, burst, footprint), by_run in operator.configurations.items():
        sides = by_params.setdefault((params, burst, footprint), [[] for _ in runs])
        for side, points in zip(sides, by_run, strict=True):
            side.extend(points)
    for (params, burst, footprint), sides in by_params.items():
        if len({p.threads for p in sides[baseline]}) < 2:
            continue
        for index, side in enumerate(sides):
            ratio = None if index == baseline else whole_machine(sides[baseline], side)
            old, new = best(sides[baseline]), best(side)
            if ratio is not None and old is not None and new is not None:
                told = f"{new.engine_word}, {new.threads} threads / {old.engine_word}, {old.threads} threads"
                found.append([index, param_sets[params], burst, text(footprint), *triple(ratio), text(told)])
    return found


def table_data(rows: Sequence[OperatorRow], infos: Sequence[RunInfo]) -> dict[str, Any]:
    """Return the first table in full precision and long form, a line per configuration and run, for its CSV and LaTeX."""
    columns = ["operator", "configuration", "default", "run", "target", "label", "engine", "unit", "value", "low95", "high95", "rounds", "converged",
               "not_converged", "next_best", "ratio_to_next_best", "next_low95", "next_high95", "next_best_unmeasured",
               "portable", "portable_low95", "portable_high95",
               "reference", "ratio_to_reference", "ratio_low95", "ratio_high95", "ratio_to_baseline", "baseline_low95", "baseline_high95", "verdict",
               "reason", "host_cores", "host_cores_low95", "host_cores_high95", "same_engine", "same_engine_ratio", "same_engine_low95",
               "same_engine_high95", "same_engine_verdict", "same_engine_reason", "note"]  # fmt: skip
    lines: list[list[Any]] = []
    for operator in rows:
        for row in operator.families:
            name = ", ".join(filter(None, (row.label, row.at)))
            for info, cell in zip(infos, row.cells, strict=True):
                p, v, same = cell.point, cell.versus, cell.same
                s = same.versus if same else None
                lines.append([
                    operator.name, name, int(row is operator.default), info.name, info.target, info.label, cell.engine, row.unit,
                    *triple(p.primary if p else None), p.rounds if p else 0, int(p.converged) if p else 0,
                    " ".join(p.not_converged) if p else "",
                    p.next_best if p else "", *triple(p.ratio_to_next_best if p else None), " ".join(p.next_best_unmeasured) if p else "",
                    *triple(cell.portable.primary if cell.portable else None),
                    operator.reference, *triple(p.ratio_to_reference if p else None),
                    *triple(v.ratio if v else None), v.verdict if v else "", v.reason if v else "", *triple(v.cores if v else None),
                    same.engine if same else "", *triple(s.ratio if s else None), s.verdict if s else "", s.reason if s else "",
                    cell.weak or cell.why_empty,
                ])  # fmt: skip
    return {"columns": columns, "rows": lines}


def heat_data(maps: Sequence[HeatMap], infos: Sequence[RunInfo]) -> list[dict[str, Any]]:
    """Return the heat maps for their downloads; a cell is ``[ratio, low, high, verdict, shade]`` or null."""

    def cell(c: HeatCell | None) -> list[Any] | None:
        return None if c is None or c.versus is None else [*triple(c.versus.ratio), c.versus.verdict, round(c.shade, 3)]

    return [
        {"run": infos[m.run].name, "label": infos[m.run].label, "pairing": m.pairing, "sizes": [size_text(s) for s in m.sizes],
         "rows": [{"operator": n, "modes": label, "cells": [cell(c) for c in [*sized, alone]]} for n, label, sized, alone in m.rows]}
        for m in maps
    ]  # fmt: skip
