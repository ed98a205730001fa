"""The path from text to the plan of a study. It reports all problems at once, each with its line and the nearest valid word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from dpubench import studies
from dpubench.errors import PlanError, Problem, UserError, nearest
from dpubench.plans import yaml_lines
from dpubench.plans.model import StudyPlan

#: The study of a plan that names none.
DEFAULT_STUDY = "operators"


@dataclass(frozen=True)
class Where:
    """The origin of a plan's values, for messages: a file with lines, or the option that replaced a value."""

    source: str
    lines: yaml_lines.Lines = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)  #: plan key -> command line option that set it

    def named(self, problem: Problem) -> Problem:
        """Return ``problem`` under the name of the option that set the value, if one did."""
        option = self.options.get(problem.field.split(".")[0])
        return problem if option is None else Problem(problem.message, option)

    def problem(self, message: str, *path: str | int) -> Problem:
        """Return a problem with the value at ``path``."""
        return self.named(Problem(message, ".".join(str(p) for p in path), _line_of(tuple(path), self.lines)))


def parse_plan(text: str, source: str) -> tuple[StudyPlan, yaml_lines.Lines]:
    """Return the plan in ``text`` and the line of every value.

    Raises:
        PlanError: with all problems.
    """
    data, lines = yaml_lines.parse(text, source)
    return _validated(data, lines, source), lines


def plan_from_words(words: dict[str, Any], where: Where) -> StudyPlan:
    """Return a plan from a mapping of values: those of a file, with the command line's options applied."""
    try:
        return _validated(words, where.lines, where.source)
    except PlanError as error:
        raise PlanError(where.source, [where.named(p) for p in error.problems]) from None


def read_plan(path: Path) -> tuple[StudyPlan, yaml_lines.Lines]:
    """Return the plan in a file. Raises :class:`UserError` when it cannot be read, :class:`PlanError` when it is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PlanError(str(path), [Problem(f"is not UTF-8 at byte {error.start}: save the plan as UTF-8 text")]) from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}: check the path of the plan") from None
    return parse_plan(text, str(path))


def plan_text(plan: StudyPlan) -> str:
    """Return the complete plan as YAML; :func:`parse_plan` makes the same plan of it."""
    return yaml.safe_dump(plan.words(), sort_keys=False, allow_unicode=True, width=140)


def _validated(data: dict[str, Any], lines: yaml_lines.Lines, source: str) -> StudyPlan:
    model = _model_of(data, lines, source)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise PlanError(source, _problems(error, data, lines, model)) from None


def _model_of(data: dict[str, Any], lines: yaml_lines.Lines, source: str) -> type[StudyPlan]:
    """Return the plan model of the study that ``data`` names. @raises PlanError with the nearest name"""
    word = data.get("study", DEFAULT_STUDY)
    if isinstance(word, str) and word not in studies.names():
        raise PlanError(source, [Problem(f"unknown study '{word[:40]}'{nearest(word, studies.names())}", "study", _line_of(("study",), lines))])
    return studies.find(word if isinstance(word, str) else DEFAULT_STUDY).plan_model


def problems_of(error: ValidationError, data: dict[str, Any], lines: yaml_lines.Lines, model: type[BaseModel]) -> list[Problem]:
    """Return pydantic's errors on ``data``, read as ``model``, in this program's words; for other files that are checked like plans."""
    return _problems(error, data, lines, model)


def _problems(error: ValidationError, data: dict[str, Any], lines: yaml_lines.Lines, model: type[BaseModel]) -> list[Problem]:
    seen: dict[tuple[str, int | None], Problem] = {}
    for item in error.errors(include_url=False):
        path = _path_in(data, item["loc"])
        field = ".".join(str(p) for p in path)
        problem = Problem(_message(dict(item), path, model), field, _line_of(path, lines))
        # A union reports each of its alternatives: the message of its list form fits the user's intention.
        known = seen.get((field, problem.line))
        if known is None or known.message.startswith("must be"):
            seen[(field, problem.line)] = problem
    deepest = {field: problem for (field, _), problem in seen.items()}
    return [p for (field, _), p in seen.items() if not any(other.startswith(field + ".") and p.message.startswith("must be") for other in deepest)]


def _path_in(data: Any, loc: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return pydantic's location without the names of union branches and validators, which are no keys of the plan."""
    path: list[str | int] = []
    at = data
    for step in loc:
        if isinstance(at, dict) and isinstance(step, str) and (step in at or not path):
            path.append(step)
            at = at.get(step)
        elif isinstance(at, list) and isinstance(step, int) and step < len(at):
            path.append(step)
            at = at[step]
        elif isinstance(at, dict) and step == loc[-1] and isinstance(step, str):
            path.append(step)
    return tuple(path)


def _line_of(path: tuple[str | int, ...], lines: yaml_lines.Lines) -> int | None:
    while path not in lines and path:
        path = path[:-1]
    return lines.get(path)


def _part(model: type[BaseModel], path: tuple[str | int, ...]) -> type[BaseModel] | None:
    """Return the model of the value at ``path`` in a value of ``model``; None where keys are not fixed."""
    for step in path:
        if isinstance(step, int):  # An element of a list, whose model is that of the field.
            continue
        found = model.model_fields.get(step)
        inner = _model_in(found.annotation) if found is not None else None
        if inner is None:
            return None
        model = inner
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((inner for argument in get_args(annotation) if (inner := _model_in(argument)) is not None), None)


def _message(item: dict[str, Any], path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    kind = item["type"]
    if kind == "extra_forbidden":
        part = _part(model, path[:-1])
        return f"unknown key '{path[-1]}'" + nearest(str(path[-1]), part.model_fields if part else [])
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(item["ctx"]["error"])
    value = str(item.get("input"))
    if kind == "literal_error":
        expected = str(item["ctx"]["expected"])
        return f"must be {expected}, not '{value[:40]}'" + nearest(value, [w.strip(" '") for w in expected.replace(" or ", ",").split(",")])
    return f"must be valid: {item['msg'][0].lower()}{item['msg'][1:]} (found '{value[:40]}')"
