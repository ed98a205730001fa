"""Forget a saved build, and remove its files."""

from __future__ import annotations

import typer


def command(name: str = typer.Argument(..., help="The name that `dpubench anchor save` gave it.")) -> int:
    from dpubench import anchors

    print(f"anchor {anchors.remove(name).described()}: removed")
    return 0
