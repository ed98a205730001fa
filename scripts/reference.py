"""The reference of the documentation, made from what it describes: the command line's parser, the models of plans, the catalogs.

Nothing of it is written by hand, so that it cannot lag behind the programs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from dpubench import catalog, inputs, programs, studies, targets
from dpubench.analysis.warnings import kinds as warning_kinds
from dpubench.cli import _manual, _surface
from dpubench.plans.load import read_plan
from dpubench.plans.model import StudyPlan
from dpubench.simulation import models
from pydantic import BaseModel

MADE: Final = "*This page is made from the programs themselves, by `make docs`.*"


def commands() -> str:
    """Return the page on all commands, from the parser."""
    known = _surface.commands()
    lines = ["# Commands", "", MADE, ""]
    for command in known:
        lines += [f"## {command.name}", "", _prose(command.help), "", "```text", command.usage, "```", ""]
        rows = [(_names(p), _prose(p.help)) for p in command.parameters if p.help and p.names[0] != "--help"]
        lines += _table(("", "meaning"), rows) if rows else []
    lines += ["## Exit status", ""]
    lines += _table(("status", "meaning"), [(str(int(status)), _prose(meaning)) for status, meaning in _manual.STATUS.items()])
    lines += ["## Environment", ""]
    lines += _table(("variable", "meaning"), [(", ".join(f"`{n}`" for n in name.split(", ")), _prose(text)) for name, text in _manual.ENVIRONMENT])
    return "\n".join(lines)


def _names(parameter: _surface.Parameter) -> str:
    names = ", ".join(f"`{name}`" for name in parameter.names)
    return f"{names} *{_escaped(parameter.value)}*" if parameter.is_option and parameter.takes_value else names


def plans() -> str:
    """Return the page on the keys of every study's plans, from the models that read them, and on the plans that come along."""
    lines = ["# Plans", "", MADE, "", "A plan is a YAML file; `dpubench run FILE.yaml` carries it out. `--set KEY=VALUE` replaces any key.", ""]
    lines += ["## Keys of every plan", "", *_keys(StudyPlan, StudyPlan.model_fields)]
    for name in studies.names():
        study = studies.find(name)
        lines += [f"## Study {name}", "", f"{study.question[:1].upper()}{study.question[1:]}?".replace("??", "?"), ""]
        found = [(plan, read_plan(studies.plan_path(name, plan))[0].summary) for plan in studies.plan_names(name)]
        lines += _table(("plan", "what it measures"), [(f"`{plan}`", _escaped(summary)) for plan, summary in found])
        own = {key: field for key, field in study.plan_model.model_fields.items() if key not in StudyPlan.model_fields}
        lines += _keys(study.plan_model, own)
        if study.plan_model.OPTIONS:
            lines += ["Options of `dpubench run` for keys: " + ", ".join(f"`{o}` (`{k}`)" for o, k in study.plan_model.OPTIONS.items()) + ".", ""]
    return "\n".join(lines)


def _keys(model: type[BaseModel], fields: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return a table of keys, with those of nested models below them."""
    return _table(("key", "default", "meaning"), list(_key_rows(model, fields, prefix)))


def _key_rows(model: type[BaseModel], fields: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, str, str]]:
    said = _comments(model)
    for key, field in fields.items():
        nested = field.annotation if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel) else None
        default = "*required*" if field.is_required() else _default(model, key, field)
        meaning = said.get(key, "") or (" ".join((nested.__doc__ or "").split()) if nested is not None else "")
        yield f"`{prefix}{key}`", "" if nested is not None else default, _prose(meaning)
        if nested is not None:
            yield from _key_rows(nested, nested.model_fields, f"{prefix}{key}.")


def _default(model: type[BaseModel], key: str, field: Any) -> str:
    """Return a default as a plan file writes it."""
    value = field.get_default(call_default_factory=True)
    if value in (None, "", [], {}):
        return ""
    written = model.model_construct(**{key: value}).model_dump(mode="json", include={key}, warnings=False)[key]
    return f"`{yaml.safe_dump(written, default_flow_style=True, width=1000).removesuffix('...' + chr(10)).strip()}`"


def _comments(model: type[BaseModel]) -> dict[str, str]:
    """Return what the comments of a model's source say of its fields: behind them, or on the lines above."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if not issubclass(one, BaseModel) or one is BaseModel:
            continue
        above: list[str] = []
        for line in inspect.getsource(one).splitlines():
            if said := re.match(r"    #: ?(.*)", line):
                above.append(said[1])
            elif field := re.match(r"    (\w+): .*?(?:#: ?(.*))?$", line):
                text = " ".join([*above, field[2] or ""]).strip()
                found |= {field[1]: text} if text else {}
                above = []
            elif not line.startswith("     "):
                above = []
    return found


def operators() -> str:
    """Return the page on operators and their engines, from the native program's catalog."""
    known = catalog.read_here(programs.operators_program())
    lines = ["# Operators and engines", "", MADE, "", "`dpubench describe OPERATOR` says more, and which engines can run on your machine.", ""]
    for operator in known.operators:
        lines += [f"## {operator['name']}", "", _escaped(f"{operator['summary'][:1].upper()}{operator['summary'][1:]}."), ""]
        lines += [_escaped(operator["definition"]), "", f"Equivalence of engines: {_escaped(operator['equivalence_text'])}.", ""]
        rows = [(f"`{p['name']}`", _values(p), f"`{p['default']}`", _escaped(p["summary"])) for p in operator["parameters"]]
        lines += _table(("parameter", "values", "default", "meaning"), rows) if rows else []
        engines = [(f"`{e['name']}`", _escaped(re.sub(r" \d.*", "", e["library"])), _escaped(e["summary"])) for e in operator["engines"]]
        lines += _table(("engine", "library", "how"), engines)
        lines += ["Known answers: " + _escaped("; ".join(operator["sources"])) + ".", ""]
    return "\n".join(lines)


def _values(parameter: Mapping[str, Any]) -> str:
    if parameter["values"]:
        return ", ".join(f"`{value}`" for value in parameter["values"])
    return f"{parameter['min']} to {parameter['max']} {parameter['unit']}".strip()


def surroundings() -> str:
    """Return the page on targets, inputs and modelled processors."""
    lines = ["# Targets, inputs, models", "", MADE, "", "## Kinds of target", ""]
    kinds = [targets.kind_module(kind) for kind in targets.kinds()]
    lines += _table(("written as", "what it is"), [(", ".join(f"`{e}`" for e in kind.EXAMPLES), _escaped(kind.SUMMARY)) for kind in kinds])
    lines += ["## Kinds of input", "", "`--input KIND=PATH` gives a file in place of the default.", ""]
    lines += _table(("kind", "what it is"), [(f"`{name}`", _prose(summary)) for name, summary in inputs.KINDS.items()])
    lines += ["## Models of processors", ""]
    described = [(name, models.load(name)) for name in models.names()]
    lines += _table(("model", "processor"), [(f"`model:{name}`", _escaped(f"{m.title}, {m.year}, {m.architecture}")) for name, m in described])
    return "\n".join(lines)


def warnings() -> str:
    """Return the page on the codes of warnings, from their closed set."""
    lines = ["# Warnings", "", MADE, "", "A warning stands beside the number that it weakens, in the terminal, in the report and in exports.", ""]
    rows = [(f"`{k.code}`", _prose(k.meaning), _prose(k.advice)) for k in sorted(warning_kinds().values(), key=lambda k: k.code)]
    return "\n".join(lines + _table(("code", "what it says of the number", "what to do"), rows))


#: Page below ``reference/`` -> title in the navigation, and what makes it.
PAGES: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "commands.md": ("Commands", commands), "plans.md": ("Plans", plans), "operators.md": ("Operators and engines", operators),
    "surroundings.md": ("Targets, inputs, models", surroundings), "warnings.md": ("Warnings", warnings),
}  # fmt: skip


def write(folder: Path) -> None:
    """Write all pages to ``folder``. @raises UserError when the native programs are missing"""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (_, make) in PAGES.items():
        (folder / name).write_text(make().rstrip() + "\n", encoding="utf-8")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = "|" + "|".join("---" for _ in header) + "|"
    return [f"| {' | '.join(header)} |", rule, *(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows), ""]


def _prose(text: str) -> str:
    """Return help as Markdown; it has its names between backticks already."""
    return "\n\n".join(" ".join(_escaped(part).split()) for part in text.replace("``", "`").split("\n\n"))


def _escaped(text: str) -> str:
    """Return ``text`` without what Markdown would take for markup, outside of backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<\[\]])", r"\\\1", part) for part in parts)
