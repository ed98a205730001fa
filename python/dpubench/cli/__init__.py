"""The command line. A command is a file here: file name = command name, found by a scan, imported when it is used; a folder is a group of commands.

Such a module holds a function ``command`` (or one called as the file) with Typer's annotations; its first docstring line is the command's help. What
is heavy to import belongs inside functions, so that ``dpubench --help`` answers at once. A command returns its exit status, or None for 0.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from dpubench.errors import UserError, nearest

_ORDER = (
    "doctor", "list", "describe", "run", "resume", "import", "show", "report", "compare", "export", "query", "target", "anchor", "bundle",
    "add", "save", "check", "remove",
)  # fmt: skip
_HERE = Path(__path__[0])


def command_names(folder: Path = _HERE) -> list[str]:
    """Return the commands of ``folder`` in the order in which users meet them."""
    found = [m.name for m in pkgutil.iter_modules([str(folder)]) if not m.name.startswith("_")]
    return sorted((n.removesuffix("_").replace("_", "-") for n in found), key=lambda n: (_ORDER.index(n) if n in _ORDER else len(_ORDER), n))


def _module_name(command: str, folder: Path) -> str:
    """Return the module of a command: ``list`` is ``list_.py``, because a module must not hide a Python name."""
    plain = command.replace("-", "_")
    return plain if (folder / f"{plain}.py").exists() or (folder / plain).is_dir() else f"{plain}_"


class _Commands(TyperGroup):
    """The commands in ``folder``, whose modules are in ``package``."""

    folder = _HERE
    package = __name__
    title = ""

    def list_commands(self, ctx: Any) -> list[str]:
        return command_names(self.folder)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in command_names(self.folder):
            raise UserError(f"unknown command '{self.title}{cmd_name}'{nearest(cmd_name, command_names(self.folder))}")
        name = _module_name(cmd_name, self.folder)
        if (self.folder / name).is_dir():
            return _group(self.folder / name, f"{self.package}.{name}", cmd_name)
        module = importlib.import_module(f"{self.package}.{name}")
        function = getattr(module, "command", None) or getattr(module, cmd_name.replace("-", "_"))
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(cmd_name, help=(module.__doc__ or "").strip())(function)
        return typer.main.get_command(app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        # Read the first docstring line without an import: help must not wait for the commands' libraries.
        rows = [(name, _docstring(name, self.folder).splitlines()[0]) for name in command_names(self.folder)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _group(folder: Path, package: str, command: str) -> Any:
    """Return a group of commands from a folder, such as ``dpubench target add``. Its ``__init__.py`` has the help."""
    commands = type("_Group", (_Commands,), {"folder": folder, "package": package, "title": f"{command} "})
    text = _docstring(command, folder.parent)
    app = typer.Typer(cls=commands, name=command, add_completion=False, rich_markup_mode=None, no_args_is_help=True, help=text)
    app.callback()(lambda: None)  # makes Typer build a group
    return typer.main.get_group(app)


def _docstring(command: str, folder: Path) -> str:
    path = folder / _module_name(command, folder)
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)) or " "


def application() -> Any:
    """Return the whole command line."""
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

    # A callback alone makes Typer build a group; the scan above finds its commands.
    return typer.main.get_group(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dpubench import __version__

        print(f"dpubench {__version__}")
        raise typer.Exit


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], whole: Collection[str] = ()) -> None:
    """Print a table on standard output, as wide as the terminal; a file or a pipe gets one line per row, which suits ``grep``.

    On a terminal that is too narrow for whole words, each row becomes a block of lines, one per cell. The columns ``whole`` are never wrapped.
    """
    from dpubench import terminal

    width = terminal.width()
    cells = [[row[i] for row in [header, *rows]] for i in range(len(header))]
    longest = [max(len(word) for cell in column for word in ([cell] if column[0] in whole else cell.split() or [""])) for column in cells]
    room = (width or 10_000) - sum(longest) - 2 * len(header)
    if room < 0:
        print("\n\n".join("\n".join(_block(header, row)) for row in rows))
        return
    # Share the rest of the width among the columns, in proportion to their needs.
    needs = [max(map(len, column)) - least for column, least in zip(cells, longest, strict=True)]
    share = min(1.0, room / max(sum(needs), 1))
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, least, need in zip(header, longest, needs, strict=True):
        table.add_column(name, overflow="fold", no_wrap=name in whole, width=least + int(need * share))
    for row in rows:
        table.add_row(*row)
    terminal.console(markup=False, width=width or 10_000).print(table)


def _block(header: Sequence[str], row: Sequence[str]) -> list[str]:
    """Return the non-empty cells of a row as lines below each other, with the first one as a head."""
    from dpubench import terminal

    names = 1 if header[0] else 2  # A column without a title marks the next cell.
    cells = [f"  {name}: {cell}" for name, cell in zip(header[names:], row[names:], strict=True) if cell]
    return [line for text in [" ".join(row[:names]), *cells] for line in terminal.wrapped(text)]


def results_directory(given: Path | None) -> Path:
    """Return ``--results``, else ``$DPUBENCH_RESULTS``, else ``results`` here."""
    import os

    return given if given is not None else Path(os.environ.get("DPUBENCH_RESULTS", "results"))
