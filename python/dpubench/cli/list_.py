"""List operators, engines, workloads, ports, studies, plans, targets, inputs or models, and say why some cannot run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

#: Columns that users copy into commands, so that their values stay on one line.
_NAMES = ("operator", "engine", "workload", "port", "study", "plan", "target", "kind", "reference", "program", "model")
WHAT = ("operators", "engines", "workloads", "ports", "studies", "plans", "targets", "inputs", "models")


def command(
    what: str = typer.Argument("operators", help="operators, engines, workloads, ports, studies, plans, targets, inputs or models"),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    engine_dir: list[Path] = typer.Option([], "--engine-dir", help="Folder with further engine modules or contract programs (repeatable)."),
    device: list[str] = typer.Option([], "--device", help="Device for cryptodev, compressdev, dmadev, regexdev: PCI address or DPDK virtual device."),
    input: list[str] = typer.Option([], "--input", help="KIND=PATH: with `list inputs`, show this input instead of the default (repeatable)."),
) -> int:
    from dpubench.errors import UserError, nearest
    from dpubench.terminal import print_json

    if what not in WHAT:
        raise UserError(f"list: unknown '{what}'{nearest(what, WHAT)}")
    rows = _rows(what, engine_dir, input, device)
    if json:
        print_json(rows)
    else:
        _print_table(rows)
    return 0


def _rows(what: str, engine_dirs: list[Path], given: list[str], devices: list[str]) -> list[dict[str, Any]]:
    if what == "studies":
        from dpubench import studies

        return [
            {"study": n, "question": getattr(studies.find(n), "question", ""), "plans": ", ".join(studies.plan_names(n))} for n in studies.names()
        ]
    if what == "plans":
        from dpubench import studies
        from dpubench.plans.load import read_plan

        found = [(s, p, read_plan(studies.plan_path(s, p))[0]) for s in studies.names() for p in studies.plan_names(s)]
        return [{"study": s, "plan": p, "summary": plan.summary} for s, p, plan in found]
    if what == "targets":
        from dpubench import targets

        return [{"target": ", ".join(targets.kind_module(k).EXAMPLES), "summary": targets.kind_module(k).SUMMARY} for k in targets.kinds()]
    if what == "models":
        return _models()
    if what == "inputs":
        return _inputs(given)
    if what in ("workloads", "ports"):
        return _datapath(what)
    from dpubench import catalog, programs

    known = catalog.read_here(programs.operators_program(), engine_dirs, devices)
    if what == "engines":
        rows = [
            {
                "operator": o["name"], "engine": e["name"], "library": e["library"], "available": e["available"], "reason": e["reason"],
                "summary": e["summary"], "program": e.get("program", ""),
            }
            for o, e in known.engines()
        ]  # fmt: skip
        rows += [
            {
                "operator": operator or "-", "engine": engine or "-", "library": "", "available": False, "reason": reason,
                "summary": "" if engine else "a program of --engine-dir without a catalog", "program": str(other.path),
            }
            for other, operator, engine, reason in known.refused()
        ]  # fmt: skip
        if not known.others:
            for row in rows:
                del row["program"]
        return rows
    return [
        {
            "operator": o["name"], "scenarios": ", ".join(o["scenarios"]), "summary": o["summary"],
            "engines": ", ".join(e["name"] + ("" if e["available"] else " (cannot run)") for e in o["engines"]), "reference": o["reference_engine"],
        }
        for o in known.operators
    ]  # fmt: skip


def _datapath(what: str) -> list[dict[str, Any]]:
    """Return the workloads of the server's program, or its kinds of ports."""
    from dpubench.studies.end_to_end import catalog
    from dpubench.targets.local import LocalTarget

    known = catalog.read(LocalTarget())
    if what == "ports":
        return [
            {
                "port": p["name"], "summary": p["summary"], "arguments": ", ".join(a["name"] for a in p["arguments"]), "available": p["available"],
                "reason": p["reason"] + (f" ({p['remedy']})" if p["reason"] and p["remedy"] else ""), "virtual": p["is_virtual"],
            }
            for p in known.ports
        ]  # fmt: skip

    def engines(stage: dict[str, Any]) -> str:
        return ", ".join(e["name"] + ("" if e["available"] else " (cannot run)") for e in stage["engines"])

    return [
        {"workload": w["name"], "summary": w["summary"], "stages": "; ".join(f"{s['name']}: {engines(s)}" for s in w["stages"])}
        for w in known.workloads
    ]


def _models() -> list[dict[str, Any]]:
    """Return the processors and clusters that studies model, and how much of each description has a source."""
    from dpubench.simulation import models
    from dpubench.studies.offload import cluster, trends

    return [
        {
            "model": m.name, "title": m.title, "year": m.year, "clock_mhz": m.clock_mhz, "values": len(m.sources), "assumed": len(m.assumed),
            "published": len(m.comparisons),
        }
        for m in map(models.load, models.names())
    ] + [
        {
            "model": c.name, "title": c.title, "year": None, "clock_mhz": None, "values": len(c.sources),
            "assumed": sum(bool(s.assumed) for s in c.sources), "published": len(trends.CLAIMS),
        }
        for c in map(cluster.find, cluster.names())
    ]  # fmt: skip


def _inputs(given: list[str]) -> list[dict[str, Any]]:
    from dpubench import inputs

    resolved = inputs.resolve(inputs.KINDS, inputs.parse_option(given))
    rows = []
    for kind, summary in inputs.KINDS.items():
        found, missing = resolved.inputs.get(kind), resolved.missing.get(kind)
        rows.append(
            {
                "kind": kind, "what": summary, "name": found.name if found else "", "sha256": found.sha256 if found else "",
                "note": found.note if found else (missing.reason if missing else ""), "files": [str(f) for f in found.files] if found else [],
            }
        )  # fmt: skip
    return rows


def _print_table(rows: list[dict[str, Any]]) -> None:
    from dpubench.cli import print_table

    shown = [_for_people(row) for row in rows]
    keys = [k for k in (shown[0] if shown else {}) if any(row[k] for row in shown)]
    print_table(keys, [[row[k] for k in keys] for row in shown], _NAMES)


def _for_people(row: dict[str, Any]) -> dict[str, str]:
    """Return a row without the fields of --json. A reason why something cannot run replaces its summary, to avoid an almost empty column."""
    shown = {k: "" if v is None else str(v) for k, v in row.items() if k not in ("sha256", "files", "available", "reason", "unavailable")}
    if reason := row.get("reason") or row.get("unavailable"):
        shown["summary"] = f"cannot run here: {reason}"
    if row.get("clock_mhz") is not None:
        shown["clock_mhz"] = f"{row['clock_mhz']:g}"
    if "program" in row:
        shown["program"] = Path(row["program"]).name  # A whole path would squeeze the other columns.
    return shown
