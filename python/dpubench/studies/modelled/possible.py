"""What of a plan can be traced, decided before anything is: the programs are asked, and a name that gives nothing is at fault.

Plans name operators, engines, and operators with an engine or with frames of their own. Each of these names has to give one trace at least. What
cannot be traced is left out with its reason where all its names give something else, or where it has none: then only ``all``, or a list against
another, stands for it. Where a name gives nothing, all that it stands for stays in the plan as unavailable, and fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from dpubench.cores.kernels import parameters_of
from dpubench.studies.modelled.use import Use

#: Of each (operator, parameters) why it does not exist, empty if it does, and by engine why that cannot do it.
Check = Callable[[Sequence[tuple[str, dict[str, str]]]], Sequence[tuple[str, Mapping[str, str]]]]
T = TypeVar("T")


def all_done(combinations: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """A check that finds nothing."""
    return [("", {}) for _ in combinations]


def checked(uses: Sequence[tuple[Use, Mapping[str, Any]]], seed: int, check: Check) -> list[Use]:
    """Each of (use, its operator's entry in the catalog), unavailable where the program says that there is no such thing or its engine never does it.

    Raises:
        EnvironmentFault: the program gave no answer.
    """
    asked = [(use, entry) for use, entry in uses if not use.unavailable]
    answers = check([(use.operator, parameters_of(use.traced(seed), entry)) for use, entry in asked])
    reasons = iter([invalid or engines.get(use.engine, "") for (use, _), (invalid, engines) in zip(asked, answers, strict=True)])
    return [use if use.unavailable else replace(use, unavailable=next(reasons)) for use, _ in uses]


@dataclass(frozen=True)
class Asked(Generic[T]):
    """Something that a plan comes to."""

    what: T
    names: Collection[str]  #: by which the plan's author named it; none: `all` stands for it
    reason: str  #: why it cannot be traced; empty: it can


def parted(asked: Iterable[Asked[T]]) -> tuple[list[T], list[Asked[T]]]:
    """What stays in the plan, whether it can be traced or is at fault; and what is left out of it."""
    asked = list(asked)
    given = {name for one in asked if not one.reason for name in one.names}
    stays = [not one.reason or not given.issuperset(one.names) for one in asked]
    return [one.what for one, stay in zip(asked, stays, strict=True) if stay], [one for one, stay in zip(asked, stays, strict=True) if not stay]
