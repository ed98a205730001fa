"""The keys that every study's plan has, and the types of plans' values.

A study's own plan (``studies/<study>/plan.py``) adds its sweeps. Pydantic checks shapes; the study checks what needs a catalog (operators, engines,
ports, ranges).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationInfo, field_validator, model_validator

from dpubench.plans import quantities as q


def listed(value: object) -> object:
    """Return ``value`` as a list: one value is a list of one."""
    return value if isinstance(value, list) else [value]


def word(value: object) -> str:
    """Return ``value`` as text, because YAML reads some words as numbers."""
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
    """Numbers of rounds, which are fresh processes; after ``min`` whole ones points stop by precision."""

    min: Annotated[int, BeforeValidator(lambda v: q.count(v, "rounds", 1000))] = 6
    max: Annotated[int, BeforeValidator(lambda v: q.count(v, "rounds", 1000))] = 30

    @model_validator(mode="after")
    def _ordered(self) -> Rounds:
        if self.max < self.min:
            raise ValueError(f"rounds.max ({self.max}) is below rounds.min ({self.min}): raise rounds.max or lower rounds.min")
        return self


class Omission(Strict):
    """A sentence on what a plan leaves out, and the keys whose change makes it untrue."""

    what: str
    unless: list[Word] = Field(default_factory=list)  #: plan keys, such as ``sizes`` or ``search.last_trial``

    def holds_after(self, changed: Collection[str]) -> bool:
        """Return whether the omission still holds after the plan keys ``changed`` were set."""
        return not any(key == set_key or f"{set_key}.".startswith(f"{key}.") for key in self.unless for set_key in changed)


def _omission(value: object) -> object:
    """Return a sentence alone as an omission that always holds."""
    return {"what": value} if isinstance(value, str) else value


class StudyPlan(Strict):
    """Keys that every plan has."""

    #: Options of ``dpubench run`` for this study beside the common ones: option -> key.
    OPTIONS: ClassVar[Mapping[str, str]] = {}
    #: Lists that may be empty without leaving the plan nothing to measure.
    MAY_BE_EMPTY: ClassVar[frozenset[str]] = frozenset({"leaves_out", "exclude"})

    study: Word  #: the study whose plan it is
    plan: Word = "custom"  #: its name in run names and reports
    summary: str = ""  #: a line for lists and reports
    #: omissions, repeated in every report
    leaves_out: list[Annotated[Omission, BeforeValidator(_omission)]] = Field(default_factory=list)
    precision: Share = 0.05  #: half width of the 95 % interval to reach
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1  #: of the draw of inputs and of the order of points
    target: Annotated[list[Word], BeforeValidator(listed)] = Field(default=["local"])  #: where to measure; several take turns
    #: kind -> files, in place of the default inputs
    inputs: dict[str, Annotated[list[Word], BeforeValidator(listed)]] = Field(default_factory=dict)

    @field_validator("*", mode="after")
    @classmethod
    def _not_empty(cls, value: Any, info: ValidationInfo) -> Any:
        if value == [] and info.field_name not in cls.MAY_BE_EMPTY:
            raise ValueError("an empty list measures nothing: name at least one")
        return value

    @property
    def omissions(self) -> list[str]:
        """Return what the plan leaves out, as sentences."""
        return [omission.what for omission in self.leaves_out]

    def words(self) -> dict[str, Any]:
        """Return a mapping from which :func:`dpubench.plans.load.plan_from_words` makes the same plan."""
        return self.model_dump(mode="json")


class MeasuredPlan(StudyPlan):
    """Further keys of plans of measurements, which repeat, take time, and may hang."""

    budget: Duration = 180.0  #: time that a run may take
    rounds: Rounds = Field(default_factory=Rounds)
    silence: Duration = 120.0  #: seconds without an event after which a worker counts as hung
