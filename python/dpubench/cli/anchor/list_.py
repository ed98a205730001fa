"""List the builds that were kept."""

from __future__ import annotations

import typer


def command(json: bool = typer.Option(False, "--json", help="Print JSON.")) -> int:
    from dataclasses import asdict

    from dpubench import anchors
    from dpubench.cli import print_json, table_console

    known = anchors.saved()
    if json:
        print_json([asdict(anchor) | {"path": str(anchor.bundle)} for anchor in known])
        return 0
    if not known:
        print("no build is kept yet: dpubench anchor save")
        return 0
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("name", "saved", "version", "revision", "architecture", "MiB", "plan", "note"):
        table.add_column(title, overflow="fold", no_wrap=title in ("name", "saved"))
    for a in known:
        size = f"{a.bytes / (1 << 20):.1f}"
        table.add_row(a.name, a.saved, a.version, a.revision, a.architecture, size, "yes" if a.plan else "-", a.note)
    table_console().print(table)
    return 0
