"""What every study's plan may say, and the types that values of plans have.

A study's own plan (``studies/<study>/plan.py``) adds what it sweeps. Pydantic checks shapes; what needs a catalog (operators, engines, ports, ranges)
is checked by the study.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationInfo, field_validator, model_validator

from dpubench.plans import quantities as q


def listed(value: object) -> object:
    """One value where a list is expected is a list of one."""
    return value if isinstance(value, list) else [value]


def word(value: object) -> str:
    """YAML reads some words as numbers."""
    if isinstance(value, bool) or value is None or not isinstance(value, (str, int, float)):
        raise ValueError(f"expected a word or a number, not {type(value).__name__}")
    return str(value)


Size = Annotated[int, BeforeValidator(q.size_bytes), PlainSerializer(q.format_bytes)]
Duration = Annotated[float, BeforeValidator(q.duration_s), PlainSerializer(q.format_duration)]
Share = Annotated[float, BeforeValidator(q.fraction), PlainSerializer(lambda v: f"{v * 100:g}%")]
Word = Annotated[str, BeforeValidator(word)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rounds(Strict):
    """Rounds are fresh processes; after ``min`` whole ones points stop by precision."""

    min: Annotated[int, BeforeValidator(lambda v: q.count(v, "rounds", 1000))] = 6
    max: Annotated[int, BeforeValidator(lambda v: q.count(v, "rounds", 1000))] = 30

    @model_validator(mode="after")
    def _ordered(self) -> Rounds:
        if self.max < self.min:
            raise ValueError(f"rounds.max ({self.max}) is below rounds.min ({self.min}): raise one or lower the other")
        return self


class StudyPlan(Strict):
    """Keys that every plan has."""

    #: Options of ``dpubench run`` beyond the common ones that a plan of this study has: option -> key.
    OPTIONS: ClassVar[Mapping[str, str]] = {}
    #: Lists that measure something when nothing is in them.
    MAY_BE_EMPTY: ClassVar[frozenset[str]] = frozenset({"leaves_out", "exclude"})

    study: Word
    plan: Word = "custom"  #: its name in run names and reports
    summary: str = ""
    leaves_out: list[str] = Field(default_factory=list)  #: in words, repeated in every report
    precision: Share = 0.05
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    target: Annotated[list[Word], BeforeValidator(listed)] = Field(default=["local"])
    inputs: dict[str, Annotated[list[Word], BeforeValidator(listed)]] = Field(default_factory=dict)

    @field_validator("*", mode="after")
    @classmethod
    def _not_empty(cls, value: Any, info: ValidationInfo) -> Any:
        if value == [] and info.field_name not in cls.MAY_BE_EMPTY:
            raise ValueError("an empty list measures nothing: name at least one")
        return value

    def words(self) -> dict[str, Any]:
        """As a mapping that :func:`dpubench.plans.load.parse_plan` reads back to the same plan."""
        return self.model_dump(mode="json")


class MeasuredPlan(StudyPlan):
    """Keys that plans of measurements have beside them: measurements are repeated, take their time, and may hang."""

    budget: Duration = 180.0
    rounds: Rounds = Field(default_factory=Rounds)
    silence: Duration = 120.0  #: a worker without an event for this long hangs
