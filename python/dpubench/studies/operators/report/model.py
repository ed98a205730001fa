"""The page's content from analysed runs: pure functions and plain data, so that tests need no browser."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Final

from dpubench.analysis.model import Comparison
from dpubench.analysis.naming import size_text
from dpubench.report.machine import cpu_text, run_info
from dpubench.report.outline import outline
from dpubench.report.page import RunInfo, Trouble, WarningGroup
from dpubench.report.troubles import Advice, warning_groups
from dpubench.report.words import anchor, count_text, number
from dpubench.studies.operators import layouts
from dpubench.studies.operators.model import PointSummary, RunSummary
from dpubench.studies.operators.report.figures import chart_data, heat_data, table_data
from dpubench.studies.operators.report.page import BEST, PAIRINGS, SAME, Cell, HeatCell, HeatMap, OperatorRow, Page, PathRow, Row, Trust, Versus
from dpubench.studies.operators.report.points import Configuration, OperatorPoints, best, engine_label, measured_points, rerun_command, set_targets
from dpubench.studies.operators.report.targets import baseline_index, correctness, display_names, path_rows, timed_runs
from dpubench.studies.operators.report.versus import Verdicts, with_cores

#: The engine of plain code, which a device without libraries runs.
PORTABLE: Final = "portable"

Compare = Callable[[RunSummary, RunSummary], Sequence[Comparison]]  #: (baseline, run) -> rows
Builds = Callable[[RunSummary], Sequence[Comparison]]  #: run -> rows of two builds that alternated in it


def _why_empty(points: Sequence[PointSummary]) -> str:
    for p in points:
        if p.failure:
            return f"{engine_label(p)} failed: {p.failure}"
    for p in points:
        if p.unavailable:
            return f"{engine_label(p)} cannot run: {p.unavailable}"
    return "nothing measured" if points else "not in this run"


def _spark(operator: OperatorPoints, configuration: Configuration, run: int) -> tuple[list[tuple[float, float]], str]:
    """Return the curve of the best engine's rate over the first axis parameter, and the curve in words.

    All else is as in ``configuration``. Both are empty with fewer than three values.
    """
    _, params, threads, burst, footprint = configuration
    axis = next((k for k in ("size", *operator.parameters) if operator.is_axis(k) and k in dict(params)), None)
    if axis is None:
        return [], ""
    rates: dict[float, float] = {}
    for (_, other, t, b, f), by_run in operator.configurations.items():
        if (t, b, f) == (threads, burst, footprint) and all(v == dict(other).get(k) for k, v in params if k != axis):
            top = best(by_run[run])
            at = dict(other).get(axis, "")
            if top is not None and top.primary is not None and top.primary.value > 0 and at.replace(".", "").isdigit() and float(at) > 0:
                rates[float(at)] = top.primary.value
    if len(rates) < 3:
        return [], ""
    xs, ys = sorted(rates), [rates[x] for x in sorted(rates)]
    x0, x1, y0, y1 = math.log(xs[0]), math.log(xs[-1]), math.log(min(ys)), math.log(max(ys))
    span = max(y1 - y0, math.log(2))
    coordinates = [((math.log(x) - x0) / (x1 - x0), (math.log(y) - y0) / span) for x, y in zip(xs, ys, strict=True)]
    words = f"best engine over {axis}: {number(ys[0])} at {size_text(int(xs[0]))} to {number(ys[-1])} at {size_text(int(xs[-1]))}"
    return coordinates, words


def _row(
    operator: OperatorPoints, configuration: Configuration, runs: Sequence[RunSummary], baseline: int | None, verdicts: Sequence[Verdicts | None]
) -> Row:
    by_run = operator.configurations[configuration]
    tops = [best(points) for points in by_run]
    cells = []
    for index, top in enumerate(tops):
        cell = Cell(top, engine_label(top, runs[index].target) if top else "", "" if top else _why_empty(by_run[index]))
        cell.portable = best(p for p in by_run[index] if p.engine == PORTABLE and top is not None and p.build == top.build)
        table = verdicts[index]
        if baseline is not None and table is not None:
            alike = [operator.alike(configuration, i) for i in (baseline, index)]
            cell.versus = with_cores(table.best(by_run[baseline], by_run[index]), *alike)
            cell.same = _same_cell(table.same(by_run[baseline], by_run[index]), runs[index], *alike)
        cells.append(cell)
    shown = baseline or 0
    spark, words = _spark(operator, configuration, shown)
    unit = next((t.primary_unit for t in tops if t), "")
    owner = next((r for r, p in zip(runs, by_run, strict=True) if p), runs[0])
    rerun = rerun_command(owner, configuration, set_targets(owner, runs))
    return Row(operator.name, operator.label(configuration), operator.at(configuration), unit, cells, rerun, spark, words)


def _same_cell(versus: Versus, run: RunSummary, base: Sequence[PointSummary], points: Sequence[PointSummary]) -> Cell:
    """Return the cell of ``run`` for one engine on both sides."""
    if versus.new is not None:
        engine = versus.new.engine_word
        versus = with_cores(versus, *([p for p in side if p.engine_word == engine] for side in (base, points)))
    return Cell(versus.new, engine_label(versus.new, run.target) if versus.new else "", versus=versus)


def _heat(operators: Sequence[OperatorPoints], run: int, baseline: int, verdicts: Verdicts, pairing: str) -> HeatMap:
    sizes: set[int] = set()
    found = []
    judge = verdicts.same if pairing == SAME else verdicts.best
    for operator in operators:
        default = operator.default
        params = dict(default[1])
        line: dict[int, HeatCell] = {}
        alone: HeatCell | None = None
        for configuration, by_run in operator.configurations.items():
            if configuration[2:] != default[2:] or {k: v for k, v in configuration[1] if k != "size"} != {
                k: v for k, v in params.items() if k != "size"
            }:
                continue
            versus = judge(by_run[baseline], by_run[run])
            ratio = versus.ratio.value if versus.ratio else math.nan
            shade = max(-1.0, min(1.0, math.log(ratio, 4))) if math.isfinite(ratio) and ratio > 0 and versus.verdict in {"faster", "slower"} else 0.0
            size = dict(configuration[1]).get("size", "")
            if size.isdigit():
                line[int(size)] = HeatCell(versus, shade)
            else:
                alone = HeatCell(versus, shade)
        sizes |= set(line)
        found.append((operator, default, line, alone))
    columns = sorted(sizes)
    return HeatMap(run, pairing, columns, [(o.name, o.label(d), [line.get(s) for s in columns], alone) for o, d, line, alone in found])


def _paths(operator: OperatorPoints, row: OperatorRow, baseline: int) -> list[PathRow]:
    """Return the paths that ran on each side of the ratios of one operator."""
    found = []
    for pairing in PAIRINGS:
        lines: list[tuple[str, list[PointSummary | None]]] = []
        for family in row.families:
            cells = [cell if pairing == BEST else cell.same for cell in family.cells]
            points = [cell.versus.new if cell and cell.versus else None for cell in cells]
            if pairing == BEST:
                points[baseline] = family.cells[baseline].point
            else:
                points[baseline] = next((c.versus.old for c in cells if c and c.versus and c.versus.old), None)
            lines.append((family.label, points))
        found += path_rows(operator, pairing, lines)
    return found


def _warning_groups(runs: Sequence[RunSummary], names: Sequence[str], advice: Advice) -> list[WarningGroup]:
    return warning_groups(((name, w) for run, name in zip(runs, names, strict=True) for w in run.all_warnings()), advice)


def _troubles(runs: Sequence[RunSummary], names: Sequence[str]) -> tuple[list[Trouble], list[Trouble]]:
    failures, unavailable = [], []
    for run, name in zip(runs, names, strict=True):
        told: set[str] = set()
        if run.lost:
            kept = "its measurements are kept" if run.points else "nothing was measured"
            failures.append(Trouble(name, f"target {run.target}", f"lost: {run.lost}; {kept}; continue with dpubench resume"))
        for f in run.failures:
            told.add(f.point or "")
            failures.append(Trouble(name, f.point or f.group or f"run ({f.phase})", f.message))
        failures += [Trouble(name, p.id, p.failure) for p in run.points if p.failure and p.id not in told]
        reasons: dict[tuple[str, str, str], int] = defaultdict(int)
        for p in run.points:
            if p.unavailable:
                reasons[(engine_label(p, run.target), p.unavailable, p.operator)] += 1
        merged: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for (engine, reason, operator), count in reasons.items():
            merged[(engine, reason)][operator] = count
        unavailable += [Trouble(name, f"{engine} ({', '.join(where)})", reason, sum(where.values())) for (engine, reason), where in merged.items()]
    return failures, unavailable


def _trust(runs: Sequence[RunSummary], warnings: Sequence[WarningGroup], failures: int) -> Trust:
    measured = [p for r in runs for p in measured_points(r.points)]
    loose = [p for p in measured if not p.converged]
    widest = max(loose, key=lambda p: p.precision if math.isfinite(p.precision) else math.inf, default=None)
    rounds = sorted({p.rounds for p in measured})
    worst = warnings[0] if warnings else None
    example = worst.items[0][2] + (f" ({worst.items[0][1].split('/')[0]})" if worst.items[0][1] else "") if worst else ""
    return Trust(
        points=len(measured),
        windows=sum(p.windows for p in measured),
        rounds="" if not rounds else str(rounds[0]) if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}",
        not_converged=len(loose),
        ratios=sum(p.ratio_to_next_best is not None for p in measured),
        ratios_not_converged=sum("ratio_to_next_best" in p.not_converged for p in measured),
        widest=widest.precision if widest else math.nan,
        widest_where=widest.id if widest else "",
        failed=failures,
        unavailable=sum(bool(p.unavailable) for r in runs for p in r.points),
        warnings=sum(len(g.items) + g.more for g in warnings),
        worst=example,
        worst_code=worst.code if worst else "",
    )


def build(
    all_runs: Sequence[RunSummary], baseline: str | None, compare: Compare, advice: Advice, builds: Builds = lambda run: [],
    same: Compare = lambda baseline, run: [], pairing: str = BEST,
) -> Page:  # fmt: skip
    """Return the page of ``all_runs``.

    ``baseline`` is the name of one run, or its target (default with several runs: the baseline of their set, else the first run). ``compare`` pairs
    the best engine of each side, ``same`` pairs the same engine on both; the page shows ``pairing`` at first. A run whose times mean nothing only
    shows the results of its verification.

    Raises :class:`ValueError` if there is no run or the baseline is not among them.
    """
    if not all_runs:
        raise ValueError("a report needs at least one run: name a run directory, or measure one with dpubench run")
    names = display_names(all_runs)
    chosen = baseline_index(all_runs, names, baseline)
    all_infos = [run_info(run, name, run.lost, layouts.told(run)) for run, name in zip(all_runs, names, strict=True)]
    timed = timed_runs(all_runs)
    runs, infos = [all_runs[i] for i in timed], [all_infos[i] for i in timed]
    emulated = [run for run in all_runs if run.times_mean_nothing]
    base = None if chosen is None else timed.index(chosen)
    verdicts = [
        None if base is None or i == base else Verdicts(runs[base], run, compare(runs[base], run), same(runs[base], run))
        for i, run in enumerate(runs)
    ]
    in_order = dict.fromkeys(name for run in runs for name in (*run.operators, *(p.operator for p in run.points)))
    operator_names = [name for name in in_order if any(p.operator == name for run in runs for p in run.points)]
    order = {"network": 0, "storage": 1, "security": 2}
    operators = [OperatorPoints(name, runs) for name in operator_names]
    operators.sort(key=lambda o: order.get(str(next(iter(o.catalog.get("scenarios", [])), "")), 9))  # stable: keeps the plan's order in a scenario
    rows = []
    for operator in operators:
        defaults = operator.defaults
        families = [_row(operator, c, runs, base, verdicts) for c in defaults]
        default = families[defaults.index(operator.default)]
        nothing = "" if any(measured_points(points) for points in operator.by_run) else default.cells[base or 0].why_empty
        scenarios = [str(s) for s in operator.catalog.get("scenarios", [])]
        summary, reference = (str(operator.catalog.get(k, "")) for k in ("summary", "reference_engine"))
        rows.append(OperatorRow(operator.name, anchor("op", operator.name), scenarios, summary, default, families, reference, nothing))
    ratios = [c.point.ratio_to_next_best.value for r in rows for f in r.families for c in f.cells
              if c.point and c.point.ratio_to_next_best and c.point.ratio_to_next_best.value > 0]  # fmt: skip
    warnings = _warning_groups(all_runs, names, advice)
    failures, unavailable = _troubles(all_runs, names)
    heat = [_heat(operators, i, base, v, p) for p in PAIRINGS for i, v in enumerate(verdicts) if base is not None and v is not None]
    is_set = bool(all_runs[0].run_set) and len({r.run_set for r in all_runs}) == 1
    about = outline(all_runs, all_infos, advice, warnings=warnings, failures=failures, unavailable=unavailable)
    about["title"] = f"dpubench {all_runs[0].study}: " + (all_runs[0].run_set if is_set else ", ".join(r.name for r in all_runs))
    only_verified = [info for info, run in zip(all_infos, all_runs, strict=True) if run.times_mean_nothing]
    absent = [info for info in all_infos if info not in infos and info not in only_verified]
    about["all_runs"] = [*infos, *only_verified, *absent]
    return Page(
        **about,
        measured=_measured(runs, infos, base, operators, emulated, is_set),
        runs=infos,
        emulated=only_verified,
        absent=absent,
        trust=_trust(runs, warnings, len(failures)),
        correctness=correctness(emulated),
        paths=[line for o, r in zip(operators, rows, strict=True) for line in _paths(o, r, base)] if base is not None else [],
        pairing=pairing,
        targets=is_set,
        set_name=all_runs[0].run_set if is_set else "",
        set_path=str(PurePath(all_runs[0].path).parent.parent) if is_set else "",
        baseline=base,
        common="1 thread, stream footprint, default burst unless a row says otherwise",
        over_size=any(f.spark for r in rows for f in r.families),
        scenarios=sorted({s for r in rows for s in r.scenarios}, key=lambda s: order.get(s, 9)),
        operators=rows,
        heat=heat,
        builds=[row for run in runs for row in builds(run)],
        ratio_range=(min([*ratios, 1.0]), max([*ratios, 2.0])),
        data={
            **chart_data(runs, infos, base, operators, verdicts),
            "table": table_data(rows, infos),
            "heat": heat_data(heat, infos),
            "pairing": pairing,
            "pairings": PAIRINGS,
        },
    )


def _measured(
    runs: Sequence[RunSummary], infos: Sequence[RunInfo], base: int | None, operators: Sequence[OperatorPoints], emulated: Sequence[RunSummary],
    is_set: bool,
) -> str:  # fmt: skip
    """Return the page's headline."""
    if not runs:
        points = [p for run in emulated for p in run.points]
        where = ", ".join(run.target for run in emulated)
        return f"{count_text(len({p.operator for p in points}), 'operator')} verified on {where}: right or wrong, no times"
    engines = {p.engine for r in runs for p in measured_points(r.points)}
    configurations = {c for o in operators for c, by_run in o.configurations.items() if any(measured_points(p) for p in by_run)}
    what = f"{count_text(len(operators), 'operator')} in {count_text(len(configurations), 'configuration')} on {count_text(len(engines), 'engine')}"
    if len(runs) == 1:
        where = "" if runs[0].target == "local" else f"{runs[0].target}, "
        return f"{what}: {where}{cpu_text(infos[0])}"
    others = [info.name for i, info in enumerate(infos) if i != base]
    told = " and ".join(others) if len(others) < 3 else f"{len(others)} {'targets' if is_set else 'runs'}"
    return f"{what}: {told} against {infos[base or 0].name}"
