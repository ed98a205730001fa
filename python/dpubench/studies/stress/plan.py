"""The plan of study ``stress``: which stressors of stress-ng run, how long, and what they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from dpubench.plans.model import Duration, MeasuredPlan, Share, Word, listed

ALL: Literal["all"] = "all"
Words = Annotated[list[Word], BeforeValidator(listed)]


class Plan(MeasuredPlan):
    """A run of stress-ng on each target."""

    OPTIONS: ClassVar[Mapping[str, str]] = {"--workload": "stressors"}
    MAY_BE_EMPTY: ClassVar[frozenset[str]] = MeasuredPlan.MAY_BE_EMPTY | {"classes"}

    #: Names of stressors; ``all``: those that may run there. Only a name asks for one that stress-ng calls pathological.
    stressors: Words = Field(default=[ALL])
    #: Only stressors of these classes of stress-ng; empty: of all.
    classes: Words = Field(default=[])
    exclude: Words = Field(default=[])
    #: Times for which a stressor runs, in whole seconds. Targets are ranked at the longest.
    duration: Annotated[list[Duration], BeforeValidator(listed)] = Field(default=[60.0])
    #: Time beyond ``duration`` after which a stressor is ended and has failed.
    overtime: Duration = 60.0
    #: Whether short runs (the shortest of two durations) decide which stressors need long ones (``schedule.py``).
    adaptive: bool = False
    #: In adaptive mode: change of a ratio from short to long runs that short runs allow for.
    drift: Share = 0.2
    #: Target whose rates are 1; empty: ``local``, or the first target.
    reference: Word = ""
    #: Whether targets with different versions of stress-ng are compared all the same. Every figure is marked then.
    mixed_versions: bool = False

    @field_validator("duration")
    @classmethod
    def _whole_seconds(cls, value: list[float]) -> list[float]:
        if wrong := [seconds for seconds in value if seconds != int(seconds) or seconds < 1]:
            raise ValueError(f"stress-ng counts whole seconds, at least 1s: not {wrong[0]:g}s")
        if len(set(value)) != len(value):
            raise ValueError("a duration is named twice: name each once")
        return sorted(value)

    @field_validator("adaptive")
    @classmethod
    def _needs_two_durations(cls, value: bool, info: ValidationInfo) -> bool:
        if value and len(info.data.get("duration", [1.0, 2.0])) != 2:
            raise ValueError("adaptive mode needs two durations, a short and a long one: --set duration=10s,60s")
        return value
