"""Print the manual page: `dpubench manual | man -l -`."""

from __future__ import annotations


def command() -> int:
    from dpubench.cli import _manual, _surface

    print(_manual.page(_surface.commands()), end="")
    return 0
