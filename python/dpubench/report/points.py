"""The points of a page: which belong together, which is the best, how far each can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

from dpubench.catalog import inputs_of
from dpubench.report.words import count_text, parameter_text
from dpubench.results.model import PointSummary, RunSummary

FEW_ROUNDS: Final = 6  #: below it an interval is a rough one (docs/methodology.md)

Configuration = tuple[str, tuple[tuple[str, str], ...], int, int, str]


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


def measured_points(points: Iterable[PointSummary]) -> list[PointSummary]:
    return [p for p in points if p.primary is not None and math.isfinite(p.primary.value) and not p.failure]


def best(points: Iterable[PointSummary]) -> PointSummary | None:
    """The fastest measured point by its primary metric, which is a rate in every operator."""
    return max(measured_points(points), key=lambda p: p.primary.value if p.primary else 0.0, default=None)


class OperatorPoints:
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
        measured = sum(1 for points in self.configurations[configuration] if measured_points(points))
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
    if run.given_inputs:
        reads = inputs_of(run.operators[operator], dict(params))
        words += [w for kind, paths in run.given_inputs.items() if kind in reads for path in paths for w in ("--input", f"{kind}={path}")]
    words += [word for directory in run.engine_dirs for word in ("--engine-dir", directory)]
    return " ".join(_shell(word) for word in words)


def _shell(word: str) -> str:
    safe = word and all(c.isalnum() or c in "-_./=:,@%+" for c in word)
    return word if safe else "'" + word.replace("'", "'\\''") + "'"
