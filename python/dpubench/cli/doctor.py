"""Show what helps or harms a measurement here, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    results: Path | None = typer.Option(None, "--results", help="Folder of the runs: check its disk."),
) -> int:
    from dataclasses import asdict

    from dpubench.cli import print_table, results_directory
    from dpubench.machine import examine
    from dpubench.terminal import print_json

    findings = examine(results_directory(results))
    if json:
        print_json([asdict(f) for f in findings])
        return 0
    rows = [({"good": "ok", "harm": "!!", "note": "--"}[f.verdict], f.what, f.found, f.harm, f.remedy) for f in findings]
    print_table(("", "what", "found", "harm", "remedy"), rows)
    return 0
