"""Values of options as people write them: lists with commas, and ``KEY=VALUE`` for a key of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpubench.studies import Study


def split(values: list[str]) -> list[str]:
    """Return the words of options that may be repeated or hold several with commas between them."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def pairs(option: str, texts: list[str], example: str) -> dict[str, list[str]]:
    """Return the values of ``NAME=VALUE[,VALUE]`` options by name. @raises UserError for a malformed option"""
    from dpubench.errors import UserError

    found: dict[str, list[str]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise UserError(f"{option} {text}: write {'KEY' if option == '--set' else 'NAME'}=VALUE, such as {option} {example}")
        if key in found:
            raise UserError(f"{option} {key} is given twice: give it once, with commas between its values")
        found[key] = split([value])
    return found


def lay(words: dict[str, Any], study: Study, key: str, values: list[str]) -> None:
    """Replace the value of ``key``, which may be ``part.key``, in a plan's words by ``values``. @raises UserError for an unknown key"""
    from dpubench.errors import UserError, nearest

    first, *rest = key.split(".")
    known = [k for k in study.plan_model.model_fields if k != "study"]
    if first not in known:
        raise UserError(f"--set {key}: plans of study '{study.name}' have no such key{nearest(first, known)}")
    value: Any = values[0] if len(values) == 1 else values
    at = words
    for step in [first, *rest][:-1]:
        inner = at.get(step, {})  # A mapping with the user's own keys may lack this one.
        if not isinstance(inner, dict):
            raise UserError(f"--set {key}: {step} has no keys of its own: write --set {step}=VALUE")
        at[step] = at = dict(inner)
    at[[first, *rest][-1]] = value
