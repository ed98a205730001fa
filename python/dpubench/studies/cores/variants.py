"""Variants of a processor: settings of a plan that replace values of its description.

A path names a value as ``section/key``. Elements of lists (``queues``, ``units``) go by their name, and ``*`` stands for all of them. ``data_cache``,
``instruction_cache`` and ``first_caches`` (both) stand for the caches that the description names there. ``x4`` means four times the described value.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dpubench.errors import nearest
from dpubench.plans import quantities as q
from dpubench.studies.cores.organisations import DERIVED
from dpubench.studies.cores.plan import BASE, Sweep

_TIMES: Final = re.compile(r"x([0-9]{1,6}(?:\.[0-9]{1,6})?)")
#: Optional sections that a variant may add to a description.
_OPTIONAL: Final = ("dma", "tlbs")
_FIRST: Final = {"data_cache": ("data_cache",), "instruction_cache": ("instruction_cache",), "first_caches": ("instruction_cache", "data_cache")}


class Unfit(ValueError):
    """The error that a setting does not fit a description. The message names the setting and the nearest known name."""


def of_sweep(sweep: Sweep, named: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, settings) for each variant that ``sweep`` names, with every combination of the values that it varies. @raises KeyError"""
    combinations = list(itertools.product(*([(key, value) for value in values] for key, values in sweep.vary.items())))
    for name in sweep.variants:
        fixed = {} if name == BASE else dict(named[name])
        for combination in combinations:
            words = [f"{key}={value}" for key, value in combination]
            yield ", ".join([name, *words] if name != BASE or not words else words), fixed | dict(combination)


def applied(processor: Mapping[str, Any], settings: Mapping[str, Any], frame_bytes: int) -> dict[str, Any]:
    """Return ``processor`` with ``settings`` applied. A DMA agent from the settings without a frame size gets ``frame_bytes``. @raises Unfit"""
    changed = copy.deepcopy(dict(processor))
    for path, value in settings.items():
        if path in DERIVED:
            continue  # organisations.make applies it
        for full in spelled_out(changed, path):
            _lay(changed, full, path, value)
    dma = changed.get("dma")
    if isinstance(dma, dict) and "dma" in settings:
        dma.setdefault("frame_bytes", frame_bytes)
    return changed


def spelled_out(processor: Mapping[str, Any], path: str) -> Iterator[list[str]]:
    """Yield the steps of every path in the description of ``processor`` for which ``path`` stands."""
    first, *rest = path.split("/")
    if first in _FIRST and rest:
        # One cache may be both. Set it only once.
        for name in dict.fromkeys(str(processor[which]) for which in _FIRST[first]):
            yield ["caches", name, *rest]
    elif first == "first_caches":
        for name in dict.fromkeys(str(processor[which]) for which in _FIRST[first]):
            yield ["caches", name]
    else:
        yield [first, *rest]


def _lay(at: Any, steps: list[str], path: str, value: Any) -> None:
    """Put ``value`` below ``at``, at the place to which ``steps`` lead. @raises Unfit"""
    step, *rest = steps
    if isinstance(at, list):
        found = [element for element in at if step in ("*", element.get("name"))]
        if not found:
            raise Unfit(f"{path}: there is nothing called '{step}'{nearest(step, [e['name'] for e in at])}")
        if not rest:
            raise Unfit(f"{path}: names a whole element of a list: name a key of it")
        for element in found:
            _lay(element, rest, path, value)
        return
    if not isinstance(at, dict):
        raise Unfit(f"{path}: the part before '{step}' is a value, not a section")
    if not rest:
        at[step] = _value(at.get(step), value, step, path)
        return
    if step not in at:
        if step not in _OPTIONAL:
            raise Unfit(f"{path}: the processor has no '{step}'{nearest(step, at)}")
        at[step] = {}
    _lay(at[step], rest, path, value)


def _value(there: Any, value: Any, key: str, path: str) -> Any:
    """Return ``value`` as a number: ``32KiB`` in bytes if ``key`` ends in ``_bytes``, ``x4`` as a multiple of ``there``. @raises Unfit"""
    if isinstance(value, dict):
        return {k: _value(there.get(k) if isinstance(there, dict) else None, v, k, path) for k, v in value.items()}
    if not isinstance(value, str):
        return value
    if times := _TIMES.fullmatch(value):
        if isinstance(there, bool) or not isinstance(there, (int, float)):
            raise Unfit(f"{path}: {value} multiplies a number, and the processor has no number there")
        product = there * float(times[1])
        return round(product) if isinstance(there, int) else product
    if key.endswith("_bytes") and value[:1].isdigit():
        try:
            return q.size_bytes(value)
        except ValueError as error:
            raise Unfit(f"{path}: {error}") from None
    return value
