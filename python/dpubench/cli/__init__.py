"""The command line. A command is a file here: file name = command name, found by a scan, imported when it is used.

Such a module holds a function ``command`` (or one called as the file) with Typer's annotations; its first docstring line is the command's help. What
is heavy to import belongs inside functions, so that ``dpubench --help`` answers at once. A command returns its exit status, or None for 0.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from dpubench.errors import UserError, nearest

_ORDER = ("doctor", "list", "describe", "run", "resume", "show", "report", "compare", "export", "query", "bundle")


def command_names() -> list[str]:
    """Commands in the order in which they are met."""
    found = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    return sorted((n.removesuffix("_").replace("_", "-") for n in found), key=lambda n: (_ORDER.index(n) if n in _ORDER else len(_ORDER), n))


def _module_name(command: str) -> str:
    """``list`` is ``list_.py``: a module must not hide what Python calls by the same name."""
    plain = command.replace("-", "_")
    return plain if (Path(__path__[0]) / f"{plain}.py").exists() else f"{plain}_"


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return command_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in command_names():
            raise UserError(f"unknown command '{cmd_name}'{nearest(cmd_name, command_names())}")
        module = importlib.import_module(f"{__name__}.{_module_name(cmd_name)}")
        function = getattr(module, "command", None) or getattr(module, cmd_name.replace("-", "_"))
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(cmd_name, help=(module.__doc__ or "").strip())(function)
        return typer.main.get_command(app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        # The first docstring line is read, not imported: help must not wait for the commands' libraries.
        rows = [(name, _first_line(name)) for name in command_names()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _first_line(command: str) -> str:
    source = (Path(__path__[0]) / f"{_module_name(command)}.py").read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source)) or ""
    return text.splitlines()[0] if text else ""


def application() -> Any:
    """The whole command line."""
    app = typer.Typer(
        cls=_Commands,
        name="dpubench",
        add_completion=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        help="What is worth moving from the host CPU to the network device, how much does it save, and what is left on the device afterwards?",
    )

    @app.callback()
    def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True, callback=_print_version)) -> None:
        pass

    # A callback alone makes Typer build a group; its commands come from the scan above.
    return typer.main.get_group(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dpubench import __version__

        print(f"dpubench {__version__}")
        raise typer.Exit


def print_json(value: Any) -> None:
    """One JSON document on standard output, for ``--json``."""
    import json

    print(json.dumps(value, indent=1, ensure_ascii=False))


def table_console() -> Any:
    """For tables on standard output: as wide as the terminal; a file or a pipe gets a line a row, which is what ``grep`` wants."""
    import os
    import sys

    from rich.console import Console

    unlimited = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else 10_000
    return Console(highlight=False, markup=False, width=unlimited)


def results_directory(given: Path | None) -> Path:
    """``--results``, else ``$DPUBENCH_RESULTS``, else ``results`` here."""
    import os

    return given if given is not None else Path(os.environ.get("DPUBENCH_RESULTS", "results"))
