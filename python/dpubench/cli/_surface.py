"""The command line described: every command with its options and arguments, for the manual page, shell completion and the reference.

All three are made from the parser itself, so that none of them can lag behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Kinds of values that only the user's machine knows.
FILES = "files"
RUNS = "runs"


@dataclass(frozen=True)
class Parameter:
    """An option or an argument of a command."""

    names: tuple[str, ...]  #: ``--plan``; of an argument its name as help shows it
    help: str
    is_option: bool
    takes_value: bool
    value: str = ""  #: name of the value: ``TEXT``, ``PATH``
    required: bool = False
    repeatable: bool = False
    words: tuple[str, ...] = ()  #: known values
    places: tuple[str, ...] = ()  #: where further values are found: :data:`FILES`, :data:`RUNS`


@dataclass(frozen=True)
class Command:
    """A command; ``path`` is empty for ``dpubench`` itself."""

    path: tuple[str, ...]
    help: str
    usage: str
    parameters: tuple[Parameter, ...] = ()
    commands: tuple[str, ...] = field(default=())  #: of a group

    @property
    def name(self) -> str:
        return " ".join(("dpubench", *self.path))

    @property
    def summary(self) -> str:
        """Return the first sentence of the help, without its full stop."""
        first = " ".join(self.help.partition("\n\n")[0].split())
        return first.removesuffix(".")


def commands(operators: Sequence[str] = ()) -> list[Command]:
    """Return ``dpubench`` and all its commands, groups before their own. ``operators`` are the names to offer for operators."""
    from dpubench.cli import application

    known = _words(operators)
    return list(_walk(application(), (), None, known))


def operators() -> list[str]:
    """Return the names of the operators of this installation; none where its programs are missing or cannot run."""
    from dpubench import catalog, programs
    from dpubench.errors import UserError

    try:
        return sorted(str(entry["name"]) for entry in catalog.read_here(programs.operators_program()).operators)
    except UserError:
        return []


def _walk(command: Any, path: tuple[str, ...], parent: Any, known: Mapping[str, tuple[str, ...]]) -> Iterator[Command]:
    context = command.make_context(path[-1] if path else "dpubench", [], parent=parent, resilient_parsing=True)
    below = tuple(command.list_commands(context)) if hasattr(command, "list_commands") else ()
    parameters = tuple(_parameter(p, context, " ".join(path), known) for p in command.get_params(context) if not getattr(p, "hidden", False))
    usage = " ".join(["dpubench", *path, *map(_once, command.collect_usage_pieces(context))])
    yield Command(path, (command.help or "").strip(), usage, parameters, below)
    for name in below:
        yield from _walk(command.get_command(context, name), (*path, name), context, known)


def _parameter(given: Any, context: Any, path: str, known: Mapping[str, tuple[str, ...]]) -> Parameter:
    is_option = given.param_type_name == "option"
    is_flag = is_option and bool(getattr(given, "is_flag", False))
    # What help and usage show, because the attributes behind them differ among the versions of Typer.
    shown = (given.get_help_record(context) or ("",))[0] if is_option else _once("".join(given.get_usage_pieces(context)))
    value = re.sub(r"^(?:\[default\] )?--?[\w-]+(?:, --?[\w-]+)*", "", shown).strip() if is_option else shown
    names = tuple(sorted(given.opts, key=lambda name: not name.startswith("--"))) if is_option else (value,)
    names += tuple(given.secondary_opts)
    words = known.get(names[0], ()) if is_option else known.get(f"{path} {given.name}", ())
    repeatable = (is_option and bool(given.multiple)) or given.nargs == -1
    return Parameter(
        names, " ".join((given.help or "").split()), is_option, not is_flag, "" if is_flag else _plain(value, given.metavar),
        repeatable=repeatable, required=bool(given.required), words=words, places=_places(given, value, path),
    )  # fmt: skip


def _once(piece: str) -> str:
    """Return a piece of usage without brackets in brackets, and with braces only where they are needed: ``[RUN]`` for ``[[RUN]]``."""
    return re.sub(r"\{([^{}]*)\}", r"\1", re.sub(r"\[\[([^\[\]]*)\]\]", r"[\1]", piece))


def _plain(value: str, metavar: str | None) -> str:
    """Return the name of a value in capitals, such as ``TEXT`` for ``<list[str]>``."""
    if metavar or not value.startswith("<"):
        return value
    return "PATH" if "path" in value.lower() else "NUMBER" if re.search(r"int|float", value) else "TEXT"


def _places(given: Any, value: str, path: str) -> tuple[str, ...]:
    """Return where values are found that only the user's machine knows."""
    argument = f"{path} {given.name}"
    if argument in ("show run", "resume run", "report runs", "compare old", "compare new", "export runs"):
        return (RUNS, FILES)
    is_file = "path" in value.lower() or given.name in ("against", "input") or argument in ("run what", "import files")
    return (FILES,) if is_file else ()


def _words(operators: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the known values: by the name of an option, and by ``COMMAND ARGUMENT``."""
    from dpubench import anchors, inputs, studies, targets
    from dpubench.bundles import archive
    from dpubench.cli import list_

    names = tuple(studies.names())
    plans = tuple(dict.fromkeys(plan for study in names for plan in studies.plan_names(study)))
    return {
        "run what": names, "list what": list_.WHAT, "--study": names, "--plan": plans, "--operator": tuple(operators),
        "describe operator": tuple(operators), "--footprint": ("resident", "stream", "both", "memory"), "--fail-on": ("regression",),
        "--engine": ("all", "devices", "best-and-reference"), "--target": tuple(f"{kind}:" if kind != "local" else kind for kind in targets.kinds()),
        "--threads": ("1", "2", "all"), "--arch": archive.ARCHITECTURES, "--against": (anchors.WORD,),
        "--input": tuple(f"{kind}=" for kind in inputs.KINDS), "completion shell": ("bash", "zsh", "fish"),
    }  # fmt: skip
