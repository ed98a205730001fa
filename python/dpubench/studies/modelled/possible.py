"""Decides, before any capture, which parts of a plan can be traced. It asks the programs.

A plan names operators, engines, and operators with an engine or with frames of their own. Each name has to give at least one trace. If something
cannot be traced, and each of its names gives something else, it is left out with its reason. The same holds if it has no name: then it is in the
plan only through ``all``, or as a combination of two lists. If a name gives nothing, everything that it stands for stays in the plan as
unavailable, and fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from dpubench.simulation.kernels import parameters_of
from dpubench.studies.modelled.planned import PlannedKernel

#: Returns, per (operator, parameters), why it does not exist (empty if it does), and per engine why the engine cannot do it.
Check = Callable[[Sequence[tuple[str, dict[str, str]]]], Sequence[tuple[str, Mapping[str, str]]]]
T = TypeVar("T")


def all_done(combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """Return the answers of a check that finds no fault."""
    return [("", {}) for _ in combinations]


def checked(uses: Sequence[tuple[PlannedKernel, Mapping[str, Any]]], seed: int, check: Check) -> list[PlannedKernel]:
    """Return the use of each (use, its operator's entry in the catalog).

    Mark a use unavailable if the program says that its parameters do not exist or that its engine never does them.

    Raises:
        EnvironmentFault: the program gave no answer.
    """
    asked = [(use, entry) for use, entry in uses if not use.unavailable]
    answers = check([(use.operator, parameters_of(use.traced(seed), entry)) for use, entry in asked])
    reasons = iter([invalid or engines.get(use.engine, "") for (use, _), (invalid, engines) in zip(asked, answers, strict=True)])
    return [use if use.unavailable else replace(use, unavailable=next(reasons)) for use, _ in uses]


@dataclass(frozen=True)
class Asked(Generic[T]):
    """One thing that a plan asks for."""

    what: T
    names: Collection[str]  #: names by which the plan asks for it; empty: only `all` stands for it
    reason: str  #: why it cannot be traced; empty if it can


def parted(asked: Iterable[Asked[T]]) -> tuple[list[T], list[Asked[T]]]:
    """Return the things that stay in the plan (traceable or at fault), and the things that are left out."""
    asked = list(asked)
    given = {name for one in asked if not one.reason for name in one.names}
    stays = [not one.reason or not given.issuperset(one.names) for one in asked]
    return [one.what for one, stay in zip(asked, stays, strict=True) if stay], [one for one, stay in zip(asked, stays, strict=True) if not stay]
