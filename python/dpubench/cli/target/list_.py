"""List the targets that have names."""

from __future__ import annotations

import typer


def command(json: bool = typer.Option(False, "--json", help="Print JSON.")) -> int:
    from dataclasses import asdict

    from dpubench.cli import print_json, table_console
    from dpubench.targets import _registry

    known = _registry.load()
    if json:
        print_json([{"name": name, **asdict(entry)} for name, entry in known.items()])
        return 0
    if not known:
        print("no target has a name yet: dpubench target add NAME ssh://user@host")
        return 0
    from rich.table import Table

    rows = [(name, entry.spec, entry.directory, entry.bundle) for name, entry in known.items()]
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [i for i in range(4) if any(row[i] for row in rows)]
    for i in shown:
        table.add_column(("name", "target", "directory", "bundle")[i], overflow="fold", no_wrap=i == 0)
    for row in rows:
        table.add_row(*(row[i] for i in shown))
    table_console().print(table)
    return 0
