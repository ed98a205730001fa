"""The facts that the page shows about a run and its machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpubench.analysis.model import AnalysedRun
from dpubench.analysis.naming import size_text
from dpubench.report.page import RunInfo
from dpubench.report.words import count_text


def _flatten(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Return name and text of every fact of a machine description, with nested names joined and bytes in readable units."""
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
    """Return the first of ``names`` found anywhere in a machine description, because names differ between architectures."""
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


def run_info(run: AnalysedRun, name: str, lost: str = "", layouts: str = "") -> RunInfo:
    """Return the facts about a run called ``name``; ``lost`` is why its target was lost, ``layouts`` a sentence on its code layouts."""
    machine = run.machine
    return RunInfo(
        name=name,
        full_name=run.name,
        target=run.target,
        spec=run.spec,
        label=run.label,
        lost=lost,
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
        build=", ".join(f"{k} {v}" for k, v in run.build_info.items() if v not in (None, "") and k not in ("revision", "layouts")),
        machine=_flatten(machine),
        inputs=[(kind, str(entry.get("name", "")), str(entry.get("sha256", ""))) for kind, entry in sorted(run.inputs.items())],
        left_out=list(run.left_out),
        path=run.path,
        precision=run.precision_target,
        layouts=layouts,
    )


def cpu_text(info: RunInfo) -> str:
    """Return CPU and its counts as text."""
    counts = []
    if info.physical:
        counts.append(count_text(info.physical, "core"))
    if info.logical and info.logical != info.physical:
        counts.append(count_text(info.logical, "CPU"))
    return info.cpu + (f" ({', '.join(counts)})" if counts else "")


def bibtex(runs: Sequence[AnalysedRun], infos: Sequence[RunInfo], notes: Sequence[str]) -> str:
    """Return one BibTeX entry for each of ``runs``; ``notes`` say what was done, such as ``Measured``."""

    def clean(text: str) -> str:
        return "".join("\\" + c if c in "#$%&_{}" else c for c in text if c not in '\\~^"\r\n')

    entries = []
    for run, info, note in zip(runs, infos, notes, strict=True):
        key = "".join(c for c in run.name if c.isascii() and (c.isalnum() or c in "-"))
        entries.append(
            f"@misc{{dpubench-{key},\n  title        = {{dpubench run {clean(run.name)}: study {clean(run.study)}, plan {clean(run.plan)}, "
            f"on {clean(cpu_text(info))}}},\n  howpublished = {{dpubench {clean(run.version)}, revision {clean(info.revision)}}},\n"
            f"  year         = {{{clean(run.started[:4])}}},\n  note         = {{{note} {clean(run.started[:10])}. {clean(run.command)}}}\n}}"
        )
    return "\n\n".join(entries)
