"""From analysed runs to what the page shows: pure functions and plain data, so that every fact of the page can be tested without a browser."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from dpubench.report.figures import chart_data, heat_data, table_data
from dpubench.report.machine import cpu_text, run_info
from dpubench.report.page import Cell, HeatCell, HeatMap, OperatorRow, Page, Row, RunInfo, Trouble, Trust, WarningGroup
from dpubench.report.points import Configuration, OperatorPoints, best, engine_label, measured_points, rerun_command
from dpubench.report.versus import Verdicts, core_equivalents
from dpubench.report.words import anchor, count_text, number, size_text
from dpubench.results.model import Comparison, PointSummary, RunSummary

LISTED: Final = 1000  #: entries of one list of failures or warnings that the page holds; the rest is counted

#: Warning codes, the one that weakens a number most first.
SEVERITY: Final = (
    "canary-moved", "restarted", "clock-drift", "not-pinned", "oversubscribed", "few-rounds", "not-converged", "clock-coarse",
    "few-bursts", "footprint-capped", "expansion", "input-skipped", "passthrough",
)  # fmt: skip

Compare = Callable[[RunSummary, RunSummary], Sequence[Comparison]]  #: (baseline, run) -> rows
Builds = Callable[[RunSummary], Sequence[Comparison]]  #: run -> rows of two builds that alternated in it
Advice = Callable[[str], str]  #: warning code -> what to do, empty if unknown


def _why_empty(points: Sequence[PointSummary]) -> str:
    for p in points:
        if p.failure:
            return f"{engine_label(p)} failed: {p.failure}"
    for p in points:
        if p.unavailable:
            return f"{engine_label(p)} cannot run: {p.unavailable}"
    return "nothing measured" if points else "not in this run"


def _spark(operator: OperatorPoints, configuration: Configuration, run: int) -> tuple[list[tuple[float, float]], str]:
    """Rate of the best engine over the first parameter that is an axis, everything else as in ``configuration``."""
    _, params, threads, burst, footprint = configuration
    axis = next((k for k in ("size", *operator.parameters) if operator.is_axis(k) and k in dict(params)), None)
    if axis is None:
        return [], ""
    rates: dict[float, float] = {}
    for (_, other, t, b, f), by_run in operator.configurations.items():
        if (t, b, f) == (threads, burst, footprint) and all(v == dict(other).get(k) for k, v in params if k != axis):
            top = best(by_run[run])
            at = dict(other)[axis]
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
        cell = Cell(top, engine_label(top) if top else "", "" if top else _why_empty(by_run[index]))
        table = verdicts[index]
        if baseline is not None and table is not None:
            cell.versus = table.of(tops[baseline], top)
            same = [[p for c, pr in operator.configurations.items() if c[1] == configuration[1] and c[4] == configuration[4] for p in pr[i]]
                    for i in (baseline, index)]  # fmt: skip
            if cell.versus.verdict != "not comparable":
                cell.versus.cores = core_equivalents(*same)
        cells.append(cell)
    shown = baseline or 0
    spark, words = _spark(operator, configuration, shown)
    unit = next((t.primary_unit for t in tops if t), "")
    owner = next((r for r, p in zip(runs, by_run, strict=True) if p), runs[0])
    return Row(
        operator.name, operator.label(configuration), operator.at(configuration), unit, cells, rerun_command(owner, configuration), spark, words
    )


def _heat(operators: Sequence[OperatorPoints], run: int, baseline: int, verdicts: Verdicts) -> HeatMap:
    sizes: set[int] = set()
    found = []
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
            versus = verdicts.of(best(by_run[baseline]), best(by_run[run]))
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
    return HeatMap(run, columns, [(o.name, o.label(d), [line.get(s) for s in columns], alone) for o, d, line, alone in found])


def _warning_groups(runs: Sequence[RunSummary], advice: Advice) -> list[WarningGroup]:
    groups: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for run in runs:
        for w in run.all_warnings():
            groups[w.code].append((run.name, w.point or w.group or "", w.message))
    order = {code: i for i, code in enumerate(SEVERITY)}
    return [WarningGroup(code, advice(code), items[:LISTED], max(0, len(items) - LISTED))
            for code, items in sorted(groups.items(), key=lambda kv: (order.get(kv[0], -1), kv[0]))]  # fmt: skip


def _troubles(runs: Sequence[RunSummary]) -> tuple[list[Trouble], list[Trouble]]:
    failures, unavailable = [], []
    for run in runs:
        told: set[str] = set()
        for f in run.failures:
            told.add(f.point or "")
            failures.append(Trouble(run.name, f.point or f.group or f"run ({f.phase})", f.message))
        failures += [Trouble(run.name, p.id, p.failure) for p in run.points if p.failure and p.id not in told]
        reasons: dict[tuple[str, str, str], int] = defaultdict(int)
        for p in run.points:
            if p.unavailable:
                reasons[(engine_label(p), p.unavailable, p.operator)] += 1
        merged: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for (engine, reason, operator), count in reasons.items():
            merged[(engine, reason)][operator] = count
        unavailable += [
            Trouble(run.name, f"{engine} ({', '.join(where)})", reason, sum(where.values())) for (engine, reason), where in merged.items()
        ]
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
        widest=widest.precision if widest else math.nan,
        widest_where=widest.id if widest else "",
        failed=failures,
        unavailable=sum(bool(p.unavailable) for r in runs for p in r.points),
        warnings=sum(len(g.items) + g.more for g in warnings),
        worst=example,
        worst_code=worst.code if worst else "",
    )


def _bibtex(runs: Sequence[RunSummary], infos: Sequence[RunInfo]) -> str:
    def clean(text: str) -> str:
        return "".join("\\" + c if c in "#$%&_{}" else c for c in text if c not in '\\~^"\r\n')

    entries = []
    for run, info in zip(runs, infos, strict=True):
        key = "".join(c for c in run.name if c.isascii() and (c.isalnum() or c in "-"))
        entries.append(
            f"@misc{{dpubench-{key},\n  title        = {{dpubench run {clean(run.name)}: study {clean(run.study)}, plan {clean(run.plan)}, "
            f"on {clean(cpu_text(info))}}},\n  howpublished = {{dpubench {clean(run.version)}, revision {clean(info.revision)}}},\n"
            f"  year         = {{{clean(run.started[:4])}}},\n  note         = {{Measured {clean(run.started[:10])}. {clean(run.command)}}}\n}}"
        )
    return "\n\n".join(entries)


def _baseline_index(runs: Sequence[RunSummary], baseline: str | None) -> int | None:
    if baseline is None:
        return 0 if len(runs) > 1 else None
    for index, run in enumerate(runs):
        if baseline in (run.name, run.path):
            return index if len(runs) > 1 else None
    raise ValueError(
        f"baseline {baseline!r} is not among the runs of this report ({', '.join(r.name for r in runs)}): name one of them with --baseline"
    )


def build(runs: Sequence[RunSummary], baseline: str | None, compare: Compare, advice: Advice, builds: Builds = lambda run: []) -> Page:
    """The page of ``runs``; ``baseline`` is the name of one of them (default with several: the first).

    Raises :class:`ValueError` if there is no run or the baseline is not among them.
    """
    if not runs:
        raise ValueError("a report needs at least one run: name a run directory, or measure one with dpubench run")
    base = _baseline_index(runs, baseline)
    infos = [run_info(run) for run in runs]
    verdicts = [None if base is None or i == base else Verdicts(compare(runs[base], run)) for i, run in enumerate(runs)]
    names = list(dict.fromkeys(p.operator for run in runs for p in run.points))
    order = {"network": 0, "storage": 1, "security": 2}
    operators = [OperatorPoints(name, runs) for name in names]
    operators.sort(key=lambda o: order.get(str(next(iter(o.catalog.get("scenarios", [])), "")), 9))  # stable: the plan's order within a scenario
    rows = []
    for operator in operators:
        defaults = operator.defaults
        families = [_row(operator, c, runs, base, verdicts) for c in defaults]
        default = families[defaults.index(operator.default)]
        nothing = "" if any(measured_points(points) for points in operator.by_run) else default.cells[base or 0].why_empty
        scenarios = [str(s) for s in operator.catalog.get("scenarios", [])]
        summary, reference = (str(operator.catalog.get(k, "")) for k in ("summary", "reference_engine"))
        rows.append(OperatorRow(operator.name, anchor("op", operator.name), scenarios, summary, default, families, reference, nothing))
    ratios = [c.point.ratio_to_reference.value for r in rows for f in r.families for c in f.cells
              if c.point and c.point.ratio_to_reference and c.point.ratio_to_reference.value > 0]  # fmt: skip
    warnings = _warning_groups(runs, advice)
    failures, unavailable = _troubles(runs)
    heat = [_heat(operators, i, base, v) for i, v in enumerate(verdicts) if base is not None and v is not None]
    engines = {p.engine for r in runs for p in measured_points(r.points)}
    configurations = {c for o in operators for c, by_run in o.configurations.items() if any(measured_points(p) for p in by_run)}
    what = f"{count_text(len(rows), 'operator')} in {count_text(len(configurations), 'configuration')} on {count_text(len(engines), 'engine')}"
    devices = cpu_text(infos[0]) if len(runs) == 1 else f"{len(runs)} runs, each against {infos[base or 0].name}"
    return Page(
        title=f"dpubench {runs[0].study}: " + (", ".join(r.name for r in runs)),
        measured=f"{what}: {devices}",
        trust=_trust(runs, warnings, len(failures)),
        runs=infos,
        baseline=base,
        common="1 thread, stream footprint, default burst unless a row says otherwise",
        scenarios=sorted({s for r in rows for s in r.scenarios}, key=lambda s: order.get(s, 9)),
        operators=rows,
        heat=heat,
        builds=[row for run in runs for row in builds(run)],
        ratio_range=(min([*ratios, 1.0]), max([*ratios, 2.0])),
        warnings=warnings,
        failures=failures[:LISTED],
        failures_more=max(0, len(failures) - LISTED),
        unavailable=unavailable,
        bibtex=_bibtex(runs, infos),
        data={**chart_data(runs, infos, base, operators), "table": table_data(rows, infos), "heat": heat_data(heat, infos)},
    )
