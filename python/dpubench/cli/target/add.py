"""Give a target a name, after looking whether it can be reached."""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    name: str = typer.Argument(..., help="What it shall be called: letters, digits, '-', '_' and '.'."),
    spec: str = typer.Argument(..., help="Where it is: ssh://[user@]host[:port], or any other target (`dpubench list targets`)."),
    directory: str = typer.Option("", "--directory", help="Folder there for programs and inputs (default: ~/.local/share/dpubench)."),
    bundle: Path | None = typer.Option(None, "--bundle", help="Archive of `dpubench bundle` that is put there (default: made when it is needed)."),
    check: bool = typer.Option(True, "--check/--no-check", help="Look whether it can be reached first."),
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
        raise UserError(f"target add: '{name}' is {known.spec} already: `dpubench target remove {name}` first")
    if check:
        if reason := target.unavailable():
            raise UserError(f"target {name}: {reason}; --no-check adds it all the same")
        try:
            told = target.reach() if isinstance(target, SshTarget) else ""
        except UserError as error:
            raise type(error)(f"{error}; not added (--no-check adds it all the same)") from None
        if told:
            print(f"{name}: {told}")
    with _registry.change() as entries:
        entries[name] = entry
    print(f"{name} is {spec} from now on; `dpubench target check {name}` tells what is there, `dpubench run --target {name}` measures it")
    return 0
