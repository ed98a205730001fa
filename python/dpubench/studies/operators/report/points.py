"""The points of a page: their groups, the best of them, and the trust they deserve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from dpubench.analysis.naming import parameter_text
from dpubench.catalog import inputs_of
from dpubench.report.words import FEW_ROUNDS, count_text
from dpubench.studies.operators.model import PointSummary, RunSummary

Configuration = tuple[str, tuple[tuple[str, str], ...], int, int, str]


def weakness(point: PointSummary) -> str:
    """Return why the interval of ``point`` falls short of the plan, in words; empty if it does not."""
    parts = []
    if not point.converged:
        parts.append(f"not converged (±{100 * point.precision:.1f} %)" if math.isfinite(point.precision) else "not converged")
    if point.rounds < FEW_ROUNDS:
        parts.append(f"only {count_text(point.rounds, 'round')}")
    parts += sorted({w.code for w in point.warnings} - {"not-converged", "few-rounds"})
    return ", ".join(parts)


def engine_label(point: PointSummary, own_target: str = "local") -> str:
    """Return the engine, with jobs in flight, target and build where they are unusual; a modelled figure always says so.

    ``own_target`` is the run's target, which stands above the column.
    """
    return base_label(point, own_target, f" ~{point.in_flight} in flight" if point.in_flight else "")


def base_label(point: PointSummary, own_target: str = "local", between: str = "") -> str:
    """Return :func:`engine_label` without the jobs in flight: the common label of the points of a curve over them."""
    text = point.engine + between
    modelled = point.target.startswith("model:")
    if point.target not in {"", "local", own_target} or modelled:
        text += f" @{point.target}" + (" (modelled)" if modelled else "")
    return text + (f" #{point.build}" if point.build else "")


def path_text(point: PointSummary) -> str:
    """Return the path that ran: instruction set or driver, device, library, and whether hardware did the work."""
    path = point.path
    parts = [
        str(path.get("isa") or ""),
        f"driver {path['driver']}" if path.get("driver") else "",
        f"device {path['device']}" if path.get("device") else "",
    ]
    parts += [str(path.get("library") or ""), str(path.get("detail") or "")]
    parts.append("hardware" if path.get("is_hardware") else "software" if path.get("driver") else "")
    parts += [f"{point.jobs_in_flight} jobs in flight" if point.jobs_in_flight else "", f"program {point.program}" if point.program else ""]
    parts.append(layouts_text(point))
    return ", ".join(filter(None, parts))


def layouts_text(point: PointSummary) -> str:
    """Return the number of code layouts of its rounds, and their share of the rounds' scatter where it is known; empty with one."""
    if point.layouts == 0:
        return ""
    share = point.layout_share
    beside = f" ({100 * share.value:.0f} % of the rounds' variance, {100 * share.low:.0f} to {100 * share.high:.0f} %)" if share is not None else ""
    return f"{point.layouts} code layouts{beside}"


def measured_points(points: Iterable[PointSummary]) -> list[PointSummary]:
    return [p for p in points if p.primary is not None and math.isfinite(p.primary.value) and not p.failure]


def best(points: Iterable[PointSummary]) -> PointSummary | None:
    """Return the fastest measured point by its primary metric, which is a rate in every operator."""
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
        """Return whether parameter ``name`` is a number to plot over, and not a mode."""
        entry = self.parameters.get(name)
        return name == "size" if entry is None else bool(entry.get("unit")) and not entry.get("is_mode")

    def family(self, configuration: Configuration) -> tuple[tuple[str, str], ...]:
        return tuple((k, v) for k, v in configuration[1] if not self.is_axis(k))

    def oddness(self, configuration: Configuration) -> tuple[int, ...]:
        """Return the distance of a configuration from the default, as a tuple to compare; configurations without a measurement come last."""
        _, params, threads, burst, footprint = configuration
        measured = sum(1 for points in self.configurations[configuration] if measured_points(points))
        unlike = sum(v != str(self.parameters.get(k, {}).get("default", v)) for k, v in params)
        usual_burst = int(self.catalog.get("default_burst", burst))
        size = dict(params).get("size", "0")
        return (int(measured == 0), unlike, threads - 1, int(footprint != "stream"), abs(burst - usual_burst), -measured,
                -int(size) if size.isdigit() else 0)  # fmt: skip

    @cached_property
    def defaults(self) -> list[Configuration]:
        """Return the default configuration of every family, in the order of the catalog's values."""
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
        """Return the operator's default configuration."""
        return min(self.defaults, key=self.oddness)

    def alike(self, configuration: Configuration, run: int) -> list[PointSummary]:
        """Return the points of ``run`` with the parameters and footprint of ``configuration``, with any threads and burst."""
        return [p for c, by_run in self.configurations.items() if (c[1], c[4]) == (configuration[1], configuration[4]) for p in by_run[run]]

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


def rerun_command(run: RunSummary, configuration: Configuration, targets: Sequence[str] = ()) -> str:
    """Return the command that measures one row again, alone; on ``targets``, or where ``run`` was made."""
    operator, params, threads, burst, footprint = configuration
    words = ["dpubench", "run", run.study, "--plan", run.plan, "--operator", operator]
    for name, value in params:
        words += ["--size", f"{value}B"] if name == "size" else ["--param", f"{name}={value}"]
    words += ["--threads", str(threads), "--burst", str(burst), "--footprint", footprint]
    if run.given_inputs:
        reads = inputs_of(run.operators[operator], dict(params))
        words += [w for kind, paths in run.given_inputs.items() if kind in reads for path in paths for w in ("--input", f"{kind}={path}")]
    flights = sorted({p.in_flight for p in run.points if p.in_flight and p.configuration == configuration})
    words += ["--in-flight", ",".join(map(str, flights))] if flights else []
    return " ".join(_shell(word) for word in [*words, *rerun_tail(run, targets)])


def set_targets(run: RunSummary, runs: Sequence[RunSummary]) -> list[str]:
    """Return the targets of the set of ``run``, among ``runs``; none where it belongs to no set."""
    return [other.target for other in runs if other.run_set == run.run_set] if run.run_set else []


def rerun_tail(run: RunSummary, targets: Sequence[str] = ()) -> list[str]:
    """Return the words of a command that depend on the run alone: engines, devices, targets."""
    words = [word for directory in run.engine_dirs for word in ("--engine-dir", directory)]
    words += [word for device in run.devices for word in ("--device", device)]
    wanted = list(targets) or [run.target]
    return words + ([word for target in wanted for word in ("--target", target)] if wanted != ["local"] else [])


def _shell(word: str) -> str:
    safe = word and all(c.isalnum() or c in "-_./=:,@%+" for c in word)
    return word if safe else "'" + word.replace("'", "'\\''") + "'"
