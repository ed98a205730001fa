"""Forget a target's name; with --purge, also remove what dpubench put there."""

from __future__ import annotations

import typer


def command(
    name: str = typer.Argument(..., help="The name that `dpubench target add` gave it."),
    purge: bool = typer.Option(False, "--purge", help="Remove programs and inputs of dpubench from the machine, too."),
) -> int:
    from dpubench import targets
    from dpubench.errors import UserError, nearest
    from dpubench.targets import _registry
    from dpubench.targets.ssh import SshTarget

    known = _registry.load()
    if name not in known:
        raise UserError(f"target remove: there is no target called '{name}'{nearest(name, known)}")
    if purge:
        target = targets.named(name, known[name])
        if isinstance(target, SshTarget):  # first: without the name, the target cannot be reached any more
            print(f"{name}: {target.purge()}: no files of dpubench are left there")
        else:
            print(f"{name}: this target is on this machine, and has no files of its own")
    with _registry.change() as entries:
        entries.pop(name, None)
    print(f"{name}: forgotten")
    return 0
