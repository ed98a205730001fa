"""Describe an operator or a workload: definition, parameters, stages, engines, equivalence, sources."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import typer

_COLUMN = 18  #: column where texts begin


def command(
    operator: str = typer.Argument(metavar="NAME", help="An operator (`dpubench list`) or a workload (`dpubench list workloads`)."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    engine_dir: list[Path] = typer.Option([], "--engine-dir", help="Folder with further engine modules or contract programs (repeatable)."),
    device: list[str] = typer.Option([], "--device", help="Device for cryptodev, compressdev, dmadev, regexdev: PCI address or DPDK virtual device."),
) -> int:
    from dpubench import catalog, programs, terminal
    from dpubench.errors import UserError, nearest
    from dpubench.terminal import print_json

    known = catalog.read_here(programs.operators_program(), engine_dir, device)
    found = known.operator(operator) if operator in known.names else None
    workloads = {} if found is not None else _workloads()
    entry = found if found is not None else workloads.get(operator)
    if entry is None:
        raise UserError(f"unknown operator or workload '{operator}'{nearest(operator, [*known.names, *workloads])}")
    if json:
        print_json(entry)
    else:
        print(terminal.fitted("\n".join(_lines(entry) if found is not None else _workload_lines(entry))))
    return 0


def _workloads() -> dict[str, dict[str, Any]]:
    """Return the workloads of the server's program; none where it is not built."""
    from dpubench.errors import UserError
    from dpubench.studies.end_to_end import catalog
    from dpubench.targets.local import LocalTarget

    try:
        return {str(w["name"]): w for w in catalog.read(LocalTarget()).workloads}
    except UserError:
        return {}


def _workload_lines(entry: dict[str, Any]) -> list[str]:
    lines = [f"{entry['name']} (workload): {entry['summary']}", "", *_wrapped("definition", entry.get("definition", ""))]
    lines += _wrapped("inputs", ", ".join(map(_input, entry["inputs"])) or "only the packets")
    lines += ["", "parameters"] if entry["parameters"] else []
    for p in entry["parameters"]:
        values = ", ".join(p.get("values", [])) + (f"; any value from {p['min']} to {p['max']}" if p.get("unit") else "")
        lines += _wrapped(f"  {p['name']}", f"{p['summary']}: {values} (default {p['default']})")
    for stage in entry["stages"]:
        of = f" (engines of operator {stage['operator']})" if stage.get("operator") else ""
        lines += ["", f"stage {stage['name']}: {stage.get('summary', '')}{of}"]
        for e in stage["engines"]:
            default = " (default)" if e["name"] == stage.get("default_engine") else ""
            lines += _wrapped(f"  {e['name']}", f"{e['summary']}{default}" + ("" if e["available"] else f"; cannot run here: {e['reason']}"))
    return [*lines, "", "sources", *(f"  {s}" for s in entry.get("sources", []))]


def _input(kind: dict[str, Any]) -> str:
    return str(kind["name"]) + "".join(f" (with {k}={v})" for k, v in kind.get("only_with", {}).items())


def _lines(entry: dict[str, Any]) -> list[str]:
    unit = {"gbps": "Gb/s of input", "mops": "million operations a second", "kops": "thousand operations a second"}[entry["primary_metric"]]
    lines = [f"{entry['name']} ({', '.join(entry['scenarios'])}): {entry['summary']}", ""]
    lines += _wrapped("definition", entry["definition"])
    if entry["processes_all_bytes"] and entry["primary_metric"] != "gbps":
        unit += "; Gb/s of input in modes that process all of it"
    lines += _wrapped("measured in", unit + "".join(f"; {m['name']} ({m['unit']}): {m['summary']}" for m in entry["metrics"]))
    lines += _wrapped("equivalence", entry["equivalence_text"])
    lines += _wrapped("inputs", ", ".join(map(_input, entry["inputs"])) or "generated from a seed")
    lines += _wrapped("burst", f"{entry['default_burst']} by default")
    lines += _wrapped("messages", f"at most {entry['distinct_messages']:,} distinct ones") if "distinct_messages" in entry else []
    lines += _wrapped("footprints", "stream (beyond L2; default), memory (beyond L3), resident (32 buffers: caches and predictors learn them)")
    lines += ["", "parameters"]
    for p in entry["parameters"]:
        values = ", ".join(p["values"]) + (f"; any value from {p['min']} to {p['max']}" if p["unit"] else "")
        lines += _wrapped(f"  {p['name']}", f"{p['summary']}: {values} (default {p['default']}{'; every value is measured' if p['is_mode'] else ''})")
    lines += ["", "engines"]
    for e in entry["engines"]:
        reference = " (reference)" if e["name"] == entry["reference_engine"] else ""
        if "program" in e:
            reference = f" ({e['name_in_program']} of {e['program']})"
        lines += _wrapped(f"  {e['name']}", f"{e['summary']}{reference}" + ("" if e["available"] else f"; cannot run here: {e['reason']}"))
    lines += ["", f"configurations ({len(entry['configurations'])})"]
    for c in entry["configurations"]:
        missing = [f"not {name}: {reason}" for name, reason in c["engines"].items() if reason]
        words = ", ".join(f"{k}={v}" for k, v in c["params"].items()) or "without parameters"
        lines.append(f"  {words}" + (f"  ({'; '.join(missing)})" if missing else ""))
    lines += ["", "sources"]
    lines += [f"  {s}" for s in entry["sources"]]
    return lines


def _wrapped(head: str, text: str) -> list[str]:
    from dpubench import terminal

    # A name that fills its column gets its own line.
    first = [] if len(head) < _COLUMN else [head]
    indent = " " * _COLUMN
    columns = min(terminal.columns(), 100)
    start = indent if first else f"{head:<{_COLUMN}}"
    wrap = textwrap.TextWrapper(columns, initial_indent=start, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return first + (wrap.wrap(text) or [head])
