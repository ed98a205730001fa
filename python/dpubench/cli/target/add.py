"""Check that a target can be reached, and give it a name."""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    name: str = typer.Argument(..., help="Name of the target: letters, digits, '-', '_' and '.'."),
    spec: str = typer.Argument(..., help="Where it is: ssh://[user@]host[:port], or any other target (`dpubench list targets`)."),
    directory: str = typer.Option("", "--directory", help="Folder on the target for programs and inputs (default: ~/.local/share/dpubench)."),
    bundle: Path | None = typer.Option(None, "--bundle", help="Archive of `dpubench bundle` to put there (default: made when it is needed)."),
    check: bool = typer.Option(True, "--check/--no-check", help="First check that the target can be reached."),
) -> int:
    from dpubench import targets
    from dpubench.errors import UserError
    from dpubench.remote import deploy
    from dpubench.targets import _registry
    from dpubench.targets.ssh import SshTarget

    if fault := _registry.name_fault(name):
        raise UserError(f"target add: {fault}")
    archive = bundle.expanduser().absolute() if bundle is not None else None
    if archive is not None:
        deploy.inspect(archive)
    entry = _registry.Entry(spec, directory, str(archive or ""))
    target = targets.named(name, entry)
    known = _registry.load().get(name)
    if known not in (None, entry):
        raise UserError(f"target add: '{name}' already means {known.spec}: remove it first with `dpubench target remove {name}`")
    if check:
        if reason := target.unavailable():
            raise UserError(f"target {name}: {reason}; --no-check adds it anyway")
        try:
            told = target.reach() if isinstance(target, SshTarget) else ""
        except UserError as error:
            raise type(error)(f"{error}; the target is not added (--no-check adds it anyway)") from None
        if told:
            print(f"{name}: {told}")
    with _registry.change() as entries:
        entries[name] = entry
    print(f"{name} now means {spec}; `dpubench target check {name}` shows what is there, `dpubench run --target {name}` measures it")
    return 0
