"""A YAML parser that records the line of every value. It refuses tags that build objects, alias bombs, and repeated keys."""

from __future__ import annotations

from typing import Any, Final

import yaml
from yaml.constructor import SafeConstructor

from dpubench.errors import PlanError, Problem

#: A plan larger than this is a mistake or an attack.
MAX_CHARACTERS: Final = 256 * 1024
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 32
_EXAMPLES: Final = {
    "plan": "study: operators",
    "file of targets": "bf2: {spec: ssh://ubuntu@bluefield}",
    "processor model": "title: Arm Cortex-A72",
    "description of a cluster": "title: eight nodes",
}

Path = tuple[str | int, ...]
Lines = dict[Path, int]

#: A plan is text, numbers, lists and mappings; sets, binary data and objects have no meaning in it.
_TAGS: Final = {f"tag:yaml.org,2002:{t}" for t in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "map", "seq")}


class _Builder:
    def __init__(self, what: str) -> None:
        self._what = what
        self.problems: list[Problem] = []
        self.lines: Lines = {}
        self.nodes = 0
        self._scalars = SafeConstructor()

    def build(self, node: yaml.Node, path: Path) -> Any:
        self.nodes += 1
        line = node.start_mark.line + 1
        self.lines[path] = line
        if self.nodes > MAX_NODES or len(path) > MAX_DEPTH:
            raise PlanError("", [Problem("has too many values, or nests them too deeply (is an alias repeated?)", line=line)])
        if node.tag not in _TAGS:
            self.problems.append(Problem(f"the YAML tag {node.tag} is not allowed in a {self._what}", _dotted(path), line))
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(child, (*path, i)) for i, child in enumerate(node.value)]
        if node.tag.endswith(("timestamp", "merge", "value")):  # `2026-11-21`, `<<`, `=`: plain text in a plan
            return node.value
        try:
            return self._scalars.construct_object(node)
        except (ValueError, yaml.YAMLError):
            return node.value

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem("a key must be a word", _dotted(path), line))
                continue
            key = str(key_node.value)
            if key in result:
                self.problems.append(Problem(f"'{key}' is given twice: remove one", _dotted((*path, key)), line))
                continue
            inner = (*path, key)
            result[key] = self.build(value_node, inner)
            self.lines[inner] = line
        return result


def _dotted(path: Path) -> str:
    return ".".join(str(p) for p in path)


def parse(text: str, source: str, what: str = "plan") -> tuple[dict[str, Any], Lines]:
    """Return the mapping in ``text``, a ``what``, and the line (from 1) of every value in it.

    Raises:
        PlanError: with all its faults as YAML, with ``source`` and lines.
    """
    if len(text) > MAX_CHARACTERS:
        raise PlanError(source, [Problem(f"is larger than {MAX_CHARACTERS // 1024} KiB, the limit of a {what}")])
    builder = _Builder(what)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise PlanError(source, [Problem(f"is empty: a {what} needs at least `{_EXAMPLES[what]}`", line=1)])
        if not isinstance(root, yaml.MappingNode):
            raise PlanError(
                source, [Problem(f"a {what} must be a mapping of keys to values, such as `{_EXAMPLES[what]}`", line=root.start_mark.line + 1)]
            )
        data = builder.build(root, ())
    except PlanError as error:
        raise PlanError(source, error.problems) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise PlanError(source, [Problem(f"is not YAML: {message}", line=mark.line + 1 if mark else None)]) from None
    except (yaml.YAMLError, ValueError) as error:  # ReaderError (control characters), a bad escape in a character code
        raise PlanError(source, [Problem(f"is not YAML: {str(error).splitlines()[0]}")]) from None
    except RecursionError:
        raise PlanError(source, [Problem("is nested too deeply")]) from None
    if builder.problems:
        raise PlanError(source, builder.problems)
    assert isinstance(data, dict)  # a MappingNode builds one
    return data, builder.lines
