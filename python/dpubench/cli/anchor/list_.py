"""List the saved builds."""

from __future__ import annotations

import typer


def command(json: bool = typer.Option(False, "--json", help="Print JSON.")) -> int:
    from dataclasses import asdict

    from dpubench import anchors
    from dpubench.cli import print_table
    from dpubench.terminal import print_json

    known = anchors.saved()
    if json:
        print_json([asdict(anchor) | {"path": str(anchor.bundle)} for anchor in known])
        return 0
    if not known:
        print("no build is saved yet: dpubench anchor save")
        return 0
    header = ("name", "saved", "version", "revision", "architecture", "MiB", "plan", "note")
    rows = [(a.name, a.saved, a.version, a.revision, a.architecture, f"{a.bytes / (1 << 20):.1f}", "yes" if a.plan else "-", a.note) for a in known]
    print_table(header, rows, {"name", "saved"})
    return 0
