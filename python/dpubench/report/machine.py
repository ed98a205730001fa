"""What the page says about a run and the machine it was made on."""

from __future__ import annotations

from typing import Any

from dpubench.report.page import RunInfo
from dpubench.report.words import count_text, size_text
from dpubench.results.model import RunSummary


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


def run_info(run: RunSummary, name: str) -> RunInfo:
    """What the page says about a run, which it calls ``name``."""
    machine = run.machine
    return RunInfo(
        name=name,
        full_name=run.name,
        target=run.target,
        spec=run.spec,
        label=run.label,
        lost=run.lost,
        cpu=str(_fact(machine, "cpu", "cpu_model", "model_name", "architecture", "arch") or ("unknown CPU" if machine else "")),
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
