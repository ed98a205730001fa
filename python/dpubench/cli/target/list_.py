"""List the targets that have names."""

from __future__ import annotations

import typer


def command(json: bool = typer.Option(False, "--json", help="Print JSON.")) -> int:
    from dataclasses import asdict

    from dpubench.cli import print_table
    from dpubench.targets import _registry
    from dpubench.terminal import print_json

    known = _registry.load()
    if json:
        print_json([{"name": name, **asdict(entry)} for name, entry in known.items()])
        return 0
    if not known:
        print("no target has a name yet: dpubench target add NAME ssh://user@host")
        return 0
    rows = [(name, entry.spec, entry.directory, entry.bundle) for name, entry in known.items()]
    shown = [i for i in range(4) if any(row[i] for row in rows)]
    print_table([("name", "target", "directory", "bundle")[i] for i in shown], [[row[i] for i in shown] for row in rows], {"name"})
    return 0
