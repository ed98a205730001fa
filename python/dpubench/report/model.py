"""From analysed runs to what the report's page shows: pure functions and plain data, so that every fact on the page can be tested without a browser.

Vocabulary of the page: a *family* is an operator with its modes fixed (AES in GCM, encrypting, 128 bit); its *default configuration* is the measured
one that is closest to the catalog's defaults, one thread, the default burst and the `stream` footprint. The first table has one row per operator and,
folded below it, one per family.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from dpubench.results.model import Comparison, Interval, PointSummary, RunSummary, Warning_

FEW_ROUNDS: Final = 6  #: below it an interval is a rough one (docs/methodology.md)
LISTED: Final = 1000  #: entries of one list of failures or warnings that the page holds; the rest is counted

#: Warning codes, the one that weakens a number most first.
SEVERITY: Final = (
    "canary-moved", "restarted", "clock-drift", "not-pinned", "oversubscribed", "few-rounds", "not-converged", "clock-coarse",
    "few-bursts", "footprint-capped", "expansion", "input-skipped", "passthrough",
)  # fmt: skip

Compare = Callable[[RunSummary, RunSummary], Sequence[Comparison]]  #: (baseline, run) -> rows
Builds = Callable[[RunSummary], Sequence[Comparison]]  #: run -> rows of two builds that alternated in it
Advice = Callable[[str], str]  #: warning code -> what to do, empty if unknown
Configuration = tuple[str, tuple[tuple[str, str], ...], int, int, str]


# --------------------------------------------------------------------------- numbers as text


def _decimals(value: float, half_width: float) -> int:
    """Decimal places that show at least three digits of ``value``, and one more where the interval is narrower than that."""
    if not (math.isfinite(value) and value):
        return 2
    places = 2 - math.floor(math.log10(abs(value)))
    if math.isfinite(half_width) and half_width > 0:
        places = max(places, min(places + 1, -math.floor(math.log10(half_width))))
    return max(places, 0)


def number(value: float) -> str:
    """``value`` with three significant digits, thousands separated."""
    return "–" if not math.isfinite(value) else f"{value:,.{_decimals(value, math.nan)}f}"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An interval as text, value and limits with the same decimal places; ``low`` and ``high`` are empty where there is no interval."""

    value: str
    low: str
    high: str

    @property
    def range(self) -> str:
        """The interval, or that there is none."""
        return f"{self.low}–{self.high}" if self.low else "no interval"


def quantity(interval: Interval) -> Quantity:
    """``interval`` rounded for reading."""
    places = _decimals(interval.value, (interval.high - interval.low) / 2)
    if not math.isfinite(interval.value):
        return Quantity("–", "", "")
    text = f"{interval.value:,.{places}f}"
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return Quantity(text, "", "")
    return Quantity(text, f"{interval.low:,.{places}f}", f"{interval.high:,.{places}f}")


def size_text(size: int) -> str:
    """A size in bytes as people say it: binary units only where they are exact."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} B"


def parameter_text(name: str, value: str, unit: str = "") -> str:
    """``size=1024`` as ``1 KiB``; a bare number keeps its name, a word speaks for itself."""
    if (unit == "B" and value.isdigit()) or (name == "size" and value.isdigit()):
        return size_text(int(value)) if name == "size" else f"{name.replace('_', ' ')} {size_text(int(value))}"
    if name.endswith("_bits") and value.isdigit():
        return f"{value} bit"
    return f"{name.replace('_', ' ')} {value}" if value.replace(".", "").isdigit() else value


def count_text(count: int, noun: str, plural: str = "") -> str:
    """``1 point``, ``2 points``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def independent_ratio(new: Interval, old: Interval) -> Interval:
    """``new / old`` of two estimates that were not taken in alternation: half widths add in quadrature on the logarithm."""

    def half(interval: Interval) -> float:
        return math.log(interval.high / interval.low) / 2 if interval.low > 0 and interval.high > 0 else math.nan

    value = new.value / old.value if old.value else math.nan
    width = math.exp(math.hypot(half(new), half(old)))
    return Interval(value, value / width, value * width)


# --------------------------------------------------------------------------- page


@dataclass(slots=True)
class Versus:
    """A run's best engine against the baseline's, for one configuration."""

    ratio: Interval | None
    verdict: str  #: faster, slower, undecided, same, not comparable
    reason: str
    cores: Interval | None = None  #: host-core equivalents


@dataclass(slots=True)
class Cell:
    """What one run says about one configuration: its best engine."""

    point: PointSummary | None
    engine: str = ""
    why_empty: str = ""  #: why there is no point
    versus: Versus | None = None  #: None for the baseline and for a single run

    @property
    def weak(self) -> str:
        """Why this number deserves less trust; empty if nothing is known against it."""
        return weakness(self.point) if self.point else ""


@dataclass(slots=True)
class Row:
    """One configuration over all runs."""

    operator: str
    label: str  #: modes in words
    at: str  #: the rest of the configuration in words
    unit: str
    cells: list[Cell]
    rerun: str  #: the command that measures this row again
    spark: list[tuple[float, float]] = field(default_factory=list)  #: best engine's rate over the axis, both in 0..1 of log range
    spark_text: str = ""


@dataclass(slots=True)
class OperatorRow:
    """One operator: its default configuration and all its families."""

    name: str
    anchor: str
    scenarios: list[str]
    summary: str
    default: Row
    families: list[Row]
    reference: str
    nothing: str = ""  #: why nothing of it was measured


@dataclass(slots=True)
class HeatCell:
    """Ratio of a run to the baseline at one size."""

    versus: Versus | None
    shade: float = 0.0  #: -1 (4 times slower) .. 1 (4 times faster)


@dataclass(slots=True)
class HeatMap:
    """Operator x size of one run against the baseline."""

    run: int
    sizes: list[int]
    rows: list[tuple[str, str, list[HeatCell | None], HeatCell | None]]  #: operator, modes, per size, and without a size


@dataclass(slots=True)
class WarningGroup:
    """All warnings of one code."""

    code: str
    advice: str
    items: list[tuple[str, str, str]]  #: run, where, message
    more: int


@dataclass(slots=True)
class Trouble:
    """A failure or an unavailable engine."""

    run: str
    where: str
    reason: str
    count: int = 1


@dataclass(slots=True)
class RunInfo:
    """What the page says about a run itself."""

    name: str
    cpu: str
    logical: int | None
    physical: int | None
    started: str
    status: str
    study: str
    plan: str
    command: str
    version: str
    revision: str
    build: str
    machine: list[tuple[str, str]]
    inputs: list[tuple[str, str, str]]
    left_out: list[str]
    path: str
    precision: float


@dataclass(slots=True)
class Trust:
    """The line on how far to trust the numbers."""

    points: int
    windows: int
    rounds: str
    not_converged: int
    widest: float  #: relative half width of the worst point, nan if none
    widest_where: str
    failed: int
    unavailable: int
    warnings: int
    worst: str  #: the worst warning in words
    worst_code: str


@dataclass(slots=True)
class Page:
    """Everything the template needs."""

    title: str
    measured: str
    trust: Trust
    runs: list[RunInfo]
    baseline: int | None  #: index of the baseline run; None with a single run
    common: str  #: what all default configurations share
    scenarios: list[str]
    operators: list[OperatorRow]
    heat: list[HeatMap]
    builds: list[Comparison]  #: two builds that alternated within a run
    ratio_range: tuple[float, float]  #: of the ratios to the reference, for the little plots of the table
    warnings: list[WarningGroup]
    failures: list[Trouble]
    failures_more: int
    unavailable: list[Trouble]
    bibtex: str
    data: dict[str, Any]  #: for the figures; see :func:`chart_data`


# --------------------------------------------------------------------------- small facts about points


def weakness(point: PointSummary) -> str:
    """In words, why the interval of ``point`` is not what was asked for; empty if it is."""
    parts = []
    if not point.converged:
        parts.append(f"not converged (±{100 * point.precision:.1f} %)" if math.isfinite(point.precision) else "not converged")
    if point.rounds < FEW_ROUNDS:
        parts.append(f"only {count_text(point.rounds, 'round')}")
    parts += sorted({w.code for w in point.warnings} - {"not-converged", "few-rounds"})
    return ", ".join(parts)


def engine_label(point: PointSummary) -> str:
    """Engine, with target and build where they are not the usual ones; a modelled figure always says so."""
    text = point.engine
    if point.target not in {"", "local"}:
        text += f" @{point.target}" + (" (modelled)" if point.target.startswith("model:") else "")
    return text + (f" #{point.build}" if point.build else "")


def _measured(points: Iterable[PointSummary]) -> list[PointSummary]:
    return [p for p in points if p.primary is not None and math.isfinite(p.primary.value) and not p.failure]


def best(points: Iterable[PointSummary]) -> PointSummary | None:
    """The fastest measured point by its primary metric, which is a rate in every operator."""
    return max(_measured(points), key=lambda p: p.primary.value if p.primary else 0.0, default=None)


class _Operator:
    """All points of one operator over all runs, grouped."""

    def __init__(self, name: str, runs: Sequence[RunSummary]) -> None:
        self.name = name
        self.catalog: dict[str, Any] = next((r.operators[name] for r in runs if r.operators.get(name)), {})
        self.parameters: dict[str, dict[str, Any]] = {p["name"]: p for p in self.catalog.get("parameters", [])}
        self.by_run: list[list[PointSummary]] = [[p for p in r.points if p.operator == name] for r in runs]
        self.configurations: dict[Configuration, list[list[PointSummary]]] = {}
        for index, points in enumerate(self.by_run):
            for point in points:
                self.configurations.setdefault(point.configuration, [[] for _ in runs])[index].append(point)

    def is_axis(self, name: str) -> bool:
        """Whether parameter ``name`` is a number to plot over rather than a mode."""
        entry = self.parameters.get(name)
        return name == "size" if entry is None else bool(entry.get("unit")) and not entry.get("is_mode")

    def family(self, configuration: Configuration) -> tuple[tuple[str, str], ...]:
        return tuple((k, v) for k, v in configuration[1] if not self.is_axis(k))

    def oddness(self, configuration: Configuration) -> tuple[int, ...]:
        """How far a configuration is from the default: compared in order; what no run measured comes last."""
        _, params, threads, burst, footprint = configuration
        measured = sum(1 for points in self.configurations[configuration] if _measured(points))
        unlike = sum(v != str(self.parameters.get(k, {}).get("default", v)) for k, v in params)
        usual_burst = int(self.catalog.get("default_burst", burst))
        size = dict(params).get("size", "0")
        return (int(measured == 0), unlike, threads - 1, int(footprint != "stream"), abs(burst - usual_burst), -measured,
                -int(size) if size.isdigit() else 0)  # fmt: skip

    @cached_property
    def defaults(self) -> list[Configuration]:
        """The default configuration of every family, in the order of the catalog's values."""
        families: dict[tuple[tuple[str, str], ...], tuple[tuple[int, ...], Configuration]] = {}
        for configuration in self.configurations:
            key, odd = self.family(configuration), self.oddness(configuration)
            if key not in families or odd < families[key][0]:
                families[key] = (odd, configuration)

        place = {name: i for i, name in enumerate(self.parameters)}
        known = {name: [str(v) for v in p.get("values", [])] for name, p in self.parameters.items()}

        def order(key: tuple[tuple[str, str], ...]) -> list[tuple[int, str]]:
            ordered = sorted(key, key=lambda kv: (place.get(kv[0], len(place)), kv[0]))
            return [(known[k].index(v) if v in known.get(k, []) else len(known.get(k, [])), v) for k, v in ordered]

        return [families[key][1] for key in sorted(families, key=order)]

    @cached_property
    def default(self) -> Configuration:
        """The operator's default configuration."""
        return min(self.defaults, key=self.oddness)

    def label(self, configuration: Configuration) -> str:
        order = {name: i for i, name in enumerate(self.parameters)}
        modes = sorted(self.family(configuration), key=lambda kv: (order.get(kv[0], 99), kv[0]))
        return " · ".join(parameter_text(k, v, str(self.parameters.get(k, {}).get("unit", ""))) for k, v in modes)

    def at(self, configuration: Configuration) -> str:
        axes = [parameter_text(k, v, str(self.parameters.get(k, {}).get("unit", ""))) for k, v in configuration[1] if self.is_axis(k)]
        return ", ".join([*axes, *_layout_text(configuration, int(self.catalog.get("default_burst", 32)))])


def _layout_text(configuration: Configuration, usual_burst: int) -> list[str]:
    _, _, threads, burst, footprint = configuration
    return ([count_text(threads, "thread")] if threads != 1 else []) + ([f"burst {burst}"] if burst != usual_burst else []) + (
        [footprint] if footprint != "stream" else [])  # fmt: skip


def rerun_command(run: RunSummary, configuration: Configuration) -> str:
    """The command that measures one row again, on its own."""
    operator, params, threads, burst, footprint = configuration
    words = ["dpubench", "run", run.study, "--plan", run.plan, "--operator", operator]
    for name, value in params:
        words += ["--size", f"{value}B"] if name == "size" else ["--param", f"{name}={value}"]
    words += ["--threads", str(threads), "--burst", str(burst), "--footprint", footprint]
    return " ".join(_shell(word) for word in words)


def _shell(word: str) -> str:
    safe = word and all(c.isalnum() or c in "-_./=:,@%+" for c in word)
    return word if safe else "'" + word.replace("'", "'\\''") + "'"


# --------------------------------------------------------------------------- comparison with the baseline


class _Verdicts:
    """Rows of the comparison of one run's best engines with the baseline's, found by their points."""

    def __init__(self, rows: Sequence[Comparison]) -> None:
        self.pairs = {(row.old, row.new): row for row in rows if row.old and row.new}
        self.alone: dict[str, Comparison] = {}
        for row in rows:
            for identifier in (row.old, row.new):
                if identifier and not (row.old and row.new):
                    self.alone.setdefault(identifier, row)

    def of(self, old: PointSummary | None, new: PointSummary | None) -> Versus:
        """The verdict on two points; what the comparison could not pair is *not comparable* with its reason."""
        if old is None or new is None:
            return Versus(None, "not comparable", f"not measured in {'the baseline' if old is None else 'this run'}")
        row = self.pairs.get((old.id, new.id)) or self.alone.get(new.id) or self.alone.get(old.id)
        if row is None:
            return Versus(None, "not comparable", "the comparison did not pair these two points (several targets or builds)")
        return Versus(row.ratio, row.verdict, row.reason)


def core_equivalents(base: Iterable[PointSummary], run: Iterable[PointSummary]) -> Interval | None:
    """Best rate of ``run`` (any engine, any threads) over the best rate of one core of ``base``; the points share parameters."""
    core = best(p for p in base if p.threads == 1)
    whole = best(run)
    if core is None or whole is None or core.ops_per_s is None or whole.ops_per_s is None:
        return None
    return independent_ratio(whole.ops_per_s, core.ops_per_s)


# --------------------------------------------------------------------------- the machine


def _flatten(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Name and text of every fact of a machine description, nested names joined; bytes in readable units."""
    if isinstance(value, dict):
        return [pair for k, v in value.items() for pair in _flatten(v, f"{prefix}{' ' if prefix else ''}{k}")]
    if isinstance(value, list):
        if any(isinstance(v, dict) for v in value):
            return [pair for i, v in enumerate(value) for pair in _flatten(v, f"{prefix} {i}")]
        return [(prefix.replace("_", " "), ", ".join(str(v) for v in value))]
    if isinstance(value, bool):
        return [(prefix.replace("_", " "), "yes" if value else "no")]
    if prefix.endswith("_bytes") and isinstance(value, int):
        return [(prefix.removesuffix("_bytes").replace("_", " "), size_text(value) if value < 1 << 30 else f"{value / (1 << 30):.1f} GiB")]
    return [] if value in (None, "") else [(prefix.replace("_", " "), str(value))]


def _fact(machine: dict[str, Any], *names: str) -> Any:
    """The first of ``names`` anywhere in a machine description (names differ between architectures' sources)."""
    for name in names:
        stack: list[Any] = [machine]
        while stack:
            here = stack.pop(0)
            if isinstance(here, dict):
                if here.get(name) not in (None, "", [], {}) and not isinstance(here[name], dict):
                    return here[name]
                stack += [v for v in here.values() if isinstance(v, dict)]
    return None


def _count(value: Any) -> int | None:
    if isinstance(value, list):
        return len(value)
    try:
        return int(value) if value is not None else None
    except (TypeError, ValueError):
        return None


def run_info(run: RunSummary) -> RunInfo:
    """What the page says about a run."""
    machine = run.machine
    return RunInfo(
        name=run.name,
        cpu=str(_fact(machine, "cpu", "cpu_model", "model_name") or _fact(machine, "architecture", "arch") or "unknown CPU"),
        logical=_count(_fact(machine, "cpus_online", "logical_cpus")),
        physical=_count(_fact(machine, "cores_online", "physical_cores")),
        started=run.started,
        status=run.status,
        study=run.study,
        plan=run.plan,
        command=run.command,
        version=run.version,
        revision=str(run.build_info.get("revision", "") or "unknown"),
        build=", ".join(f"{k} {v}" for k, v in run.build_info.items() if v not in (None, "") and k != "revision"),
        machine=_flatten(machine),
        inputs=[(kind, str(entry.get("name", "")), str(entry.get("sha256", ""))) for kind, entry in sorted(run.inputs.items())],
        left_out=list(run.left_out),
        path=run.path,
        precision=run.precision_target,
    )


def cpu_text(info: RunInfo) -> str:
    """CPU and its counts in words."""
    counts = []
    if info.physical:
        counts.append(count_text(info.physical, "core"))
    if info.logical and info.logical != info.physical:
        counts.append(count_text(info.logical, "CPU"))
    return info.cpu + (f" ({', '.join(counts)})" if counts else "")


# --------------------------------------------------------------------------- data of the figures


def _rounded(value: float | None) -> float | None:
    """Six significant digits, so that JSON stays short; ``None`` for what JSON has no number for."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


def _triple(interval: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if interval is None else (_rounded(interval.value), _rounded(interval.low), _rounded(interval.high))


def chart_data(runs: Sequence[RunSummary], infos: Sequence[RunInfo], baseline: int | None, operators: Sequence[_Operator]) -> dict[str, Any]:
    """What the figures, the point tables and the calculator are drawn from, as JSON-safe values.

    Points are arrays, texts that repeat are numbers into ``texts``: a page of many thousand points stays small. The order of a point's fields is in
    ``fields``.
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
        metrics = list(operator.catalog.get("metrics", []))
        points: list[list[Any]] = []
        unit = ""
        for index, run_points in enumerate(operator.by_run):
            for p in _measured(run_points):
                unit = unit or p.primary_unit
                params = tuple(sorted(p.params.items()))
                path = ", ".join(str(p.path[k]) for k in ("isa", "library", "detail") if p.path.get(k)) + (
                    ", hardware" if p.path.get("is_hardware") else ""
                )
                checked = (
                    f"{p.verified.get('known_answers', 0)} known answers, {p.verified.get('compared', 0)} compared ({p.verified.get('how', '')})"
                    if p.verified
                    else ""
                )
                points.append([
                    index, engines.setdefault(engine_label(p), len(engines)), param_sets.setdefault(params, len(param_sets)), p.threads, p.burst,
                    text(p.footprint), *_triple(p.primary), *_triple(p.ops_per_s), *_triple(p.ns_per_op),
                    _rounded(p.cycles_per_op.value if p.cycles_per_op else None), *_triple(p.ratio_to_reference), p.rounds,
                    int(p.converged), text(weakness(p)), text(path), text(checked),
                    [_rounded(p.metrics[m["name"]].value) if m["name"] in p.metrics else None for m in metrics],
                ])  # fmt: skip
        start = operator.default
        entries.append({
            "name": operator.name, "anchor": anchor("op", operator.name), "summary": operator.catalog.get("summary", ""), "unit": unit,
            "bytes": bool(operator.catalog.get("processes_all_bytes")), "reference": reference, "engines": list(engines),
            "params": [dict(p) for p in param_sets], "points": points,
            "metrics": [{"name": m["name"], "unit": m.get("unit", ""), "summary": m.get("summary", "")} for m in metrics],
            "parameters": [{"name": n, "axis": operator.is_axis(n), "unit": p.get("unit", ""), "summary": p.get("summary", "")}
                           for n, p in operator.parameters.items()],
            "start": {"params": dict(start[1]), "threads": start[2], "burst": start[3], "footprint": start[4]},
        })  # fmt: skip
    fields = ["run", "engine", "params", "threads", "burst", "footprint", "value", "low", "high", "ops", "opsLow", "opsHigh", "ns", "nsLow", "nsHigh",
              "cycles", "ratio", "ratioLow", "ratioHigh", "rounds", "converged", "weak", "path", "checked", "metrics"]  # fmt: skip
    return {
        "fields": fields,
        "texts": list(texts),
        "baseline": baseline,
        "fewRounds": FEW_ROUNDS,
        "runs": [{"name": i.name, "cpu": i.cpu, "logical": i.logical, "physical": i.physical, "study": r.study, "plan": r.plan}
                 for i, r in zip(infos, runs, strict=True)],
        "operators": entries,
    }  # fmt: skip


def table_data(rows: Sequence[OperatorRow], infos: Sequence[RunInfo]) -> dict[str, Any]:
    """The first table in full precision and long form, a line per configuration and run: what its CSV and LaTeX are made of."""
    columns = ["operator", "configuration", "default", "run", "engine", "unit", "value", "low95", "high95", "rounds", "converged", "reference",
               "ratio_to_reference", "ratio_low95", "ratio_high95", "ratio_to_baseline", "baseline_low95", "baseline_high95", "verdict", "reason",
               "host_cores", "host_cores_low95", "host_cores_high95", "note"]  # fmt: skip
    lines: list[list[Any]] = []
    for operator in rows:
        for row in operator.families:
            name = ", ".join(filter(None, (row.label, row.at)))
            for info, cell in zip(infos, row.cells, strict=True):
                p, v = cell.point, cell.versus
                lines.append([
                    operator.name, name, int(row is operator.default), info.name, cell.engine, row.unit, *_triple(p.primary if p else None),
                    p.rounds if p else 0, int(p.converged) if p else 0, operator.reference, *_triple(p.ratio_to_reference if p else None),
                    *_triple(v.ratio if v else None), v.verdict if v else "", v.reason if v else "", *_triple(v.cores if v else None),
                    cell.weak or cell.why_empty,
                ])  # fmt: skip
    return {"columns": columns, "rows": lines}


def heat_data(maps: Sequence[HeatMap], infos: Sequence[RunInfo]) -> list[dict[str, Any]]:
    """The heat maps for their downloads; a cell is ``[ratio, low, high, verdict, shade]`` or null."""

    def cell(c: HeatCell | None) -> list[Any] | None:
        return None if c is None or c.versus is None else [*_triple(c.versus.ratio), c.versus.verdict, round(c.shade, 3)]

    return [
        {"run": infos[m.run].name, "sizes": [size_text(s) for s in m.sizes],
         "rows": [{"operator": n, "modes": label, "cells": [cell(c) for c in [*sized, alone]]} for n, label, sized, alone in m.rows]}
        for m in maps
    ]  # fmt: skip


def anchor(kind: str, name: str) -> str:
    """An id for a fragment: letters, digits and hyphens whatever the name holds."""
    return f"{kind}-" + "".join(c if c.isascii() and c.isalnum() else "-" for c in name)


# --------------------------------------------------------------------------- the page


def _why_empty(points: Sequence[PointSummary]) -> str:
    for p in points:
        if p.failure:
            return f"{engine_label(p)} failed: {p.failure}"
    for p in points:
        if p.unavailable:
            return f"{engine_label(p)} cannot run: {p.unavailable}"
    return "nothing measured" if points else "not in this run"


def _spark(operator: _Operator, configuration: Configuration, run: int) -> tuple[list[tuple[float, float]], str]:
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
    operator: _Operator, configuration: Configuration, runs: Sequence[RunSummary], baseline: int | None, verdicts: Sequence[_Verdicts | None]
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


def _heat(operators: Sequence[_Operator], run: int, baseline: int, verdicts: _Verdicts) -> HeatMap:
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
        seen: set[tuple[str, str, str | None, str | None]] = set()
        everything: list[Warning_] = [*run.warnings, *(w for p in run.points for w in p.warnings)]
        for w in everything:
            key = (w.code, w.message, w.point, w.group)
            if key not in seen:  # a point's warning may be listed beside the point and in the run
                seen.add(key)
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
    measured = [p for r in runs for p in _measured(r.points)]
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
    verdicts = [None if base is None or i == base else _Verdicts(compare(runs[base], run)) for i, run in enumerate(runs)]
    names = list(dict.fromkeys(p.operator for run in runs for p in run.points))
    order = {"network": 0, "storage": 1, "security": 2}
    operators = [_Operator(name, runs) for name in names]
    operators.sort(key=lambda o: order.get(str(next(iter(o.catalog.get("scenarios", [])), "")), 9))  # stable: the plan's order within a scenario
    rows = []
    for operator in operators:
        defaults = operator.defaults
        families = [_row(operator, c, runs, base, verdicts) for c in defaults]
        default = families[defaults.index(operator.default)]
        nothing = "" if any(_measured(points) for points in operator.by_run) else default.cells[base or 0].why_empty
        scenarios = [str(s) for s in operator.catalog.get("scenarios", [])]
        summary, reference = (str(operator.catalog.get(k, "")) for k in ("summary", "reference_engine"))
        rows.append(OperatorRow(operator.name, anchor("op", operator.name), scenarios, summary, default, families, reference, nothing))
    ratios = [c.point.ratio_to_reference.value for r in rows for f in r.families for c in f.cells
              if c.point and c.point.ratio_to_reference and c.point.ratio_to_reference.value > 0]  # fmt: skip
    warnings = _warning_groups(runs, advice)
    failures, unavailable = _troubles(runs)
    heat = [_heat(operators, i, base, v) for i, v in enumerate(verdicts) if base is not None and v is not None]
    engines = {p.engine for r in runs for p in _measured(r.points)}
    configurations = {c for o in operators for c, by_run in o.configurations.items() if any(_measured(p) for p in by_run)}
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
