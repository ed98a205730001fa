"""Describe an operator: definition, modes, engines, parameters, equivalence, sources."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import typer

_COLUMN = 18  #: where texts begin


def command(
    operator: str = typer.Argument(help="Name of an operator (`dpubench list`)."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    engine_dir: list[Path] = typer.Option([], "--engine-dir", help="Folder with further engine modules or contract programs (repeatable)."),
    device: list[str] = typer.Option([], "--device", help="Device for cryptodev, compressdev, dmadev, regexdev: PCI address or DPDK virtual device."),
) -> int:
    from dpubench import catalog, programs
    from dpubench.cli import print_json

    entry = catalog.read_here(programs.operators_program(), engine_dir, device).operator(operator)
    if json:
        print_json(entry)
    else:
        print("\n".join(_lines(entry)))
    return 0


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
    lines += ["", "parameters"]
    for p in entry["parameters"]:
        values = ", ".join(p["values"]) + (f"; any from {p['min']} to {p['max']}" if p["unit"] else "")
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
        words = ", ".join(f"{k}={v}" for k, v in c["params"].items()) or "the one"
        lines.append(f"  {words}" + (f"  ({'; '.join(missing)})" if missing else ""))
    lines += ["", "sources"]
    lines += [f"  {s}" for s in entry["sources"]]
    return lines


def _wrapped(head: str, text: str) -> list[str]:
    # A name that fills its column has a line of its own.
    first = [] if len(head) < _COLUMN else [head]
    indent = " " * _COLUMN
    return first + (textwrap.wrap(text, 100, initial_indent=indent if first else f"{head:<{_COLUMN}}", subsequent_indent=indent) or [head])
