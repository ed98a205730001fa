"""What a plan may say. Pydantic checks shapes here; what needs the catalog (operators, engines, ranges) is checked by the study."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, field_validator, model_validator

from dpubench.plans import quantities as q

MAX_THREADS = 4096
MAX_BURST = 256  #: items in a burst, see native/operators/lane.hpp
MAX_IN_FLIGHT = 4096  #: jobs that a lane is given at once, likewise


def _threads(value: object) -> int | str:
    return "all" if value == "all" else q.count(value, "threads", MAX_THREADS)


def _listed(value: object) -> object:
    """One value where a list is expected is a list of one."""
    return value if isinstance(value, list) else [value]


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None or not isinstance(value, (str, int, float)):
        raise ValueError(f"expected a word or a number, not {type(value).__name__}")
    return str(value)


Size = Annotated[int, BeforeValidator(q.size_bytes), PlainSerializer(q.format_bytes)]
Duration = Annotated[float, BeforeValidator(q.duration_s), PlainSerializer(q.format_duration)]
Share = Annotated[float, BeforeValidator(q.fraction), PlainSerializer(lambda v: f"{v * 100:g}%")]
Threads = Annotated[int | Literal["all"], BeforeValidator(_threads)]
Word = Annotated[str, BeforeValidator(_text)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rounds(_Strict):
    """Rounds are fresh processes; after ``min`` whole ones points stop by precision."""

    min: Annotated[int, BeforeValidator(lambda v: q.count(v, "rounds", 1000))] = 6
    max: Annotated[int, BeforeValidator(lambda v: q.count(v, "rounds", 1000))] = 30

    @model_validator(mode="after")
    def _ordered(self) -> Rounds:
        if self.max < self.min:
            raise ValueError(f"rounds.max ({self.max}) is below rounds.min ({self.min}): raise one or lower the other")
        return self


class Cycles(_Strict):
    """Palindromic cycles of a configuration in a round; the planner chooses between these so that the rounds fit the budget."""

    min: Annotated[int, BeforeValidator(lambda v: q.count(v, "cycles", 10_000))] = 3
    max: Annotated[int, BeforeValidator(lambda v: q.count(v, "cycles", 10_000))] = 12

    @model_validator(mode="after")
    def _ordered(self) -> Cycles:
        if self.max < self.min:
            raise ValueError(f"cycles.max ({self.max}) is below cycles.min ({self.min}): raise one or lower the other")
        return self


class Window(_Strict):
    """How long one timed stretch is."""

    min: Duration = 0.003
    max: Duration = 0.05
    min_bursts: Annotated[int, BeforeValidator(lambda v: q.count(v, "bursts", 10**9))] = 100
    threaded_min: Duration = 0.2

    @model_validator(mode="after")
    def _ordered(self) -> Window:
        if self.max < self.min:
            raise ValueError("window.max is below window.min: raise one or lower the other")
        return self


class Exclude(_Strict):
    """What the plan leaves out on purpose, with the reason that every run of it repeats."""

    operator: Word
    engine: Word | None = None
    params: dict[str, Word] = Field(default_factory=dict)
    reason: str


class Plan(_Strict):
    """A declared experiment of study ``operators``."""

    study: Word = "operators"
    plan: Word = "custom"  #: its name in run names and reports
    summary: str = ""
    operators: Literal["all"] | Annotated[list[Word], BeforeValidator(_listed)] = "all"
    engines: Literal["best-and-reference", "all", "devices"] | Annotated[list[Word], BeforeValidator(_listed)] = "best-and-reference"
    sizes: Literal["default", "grid"] | Annotated[list[Size], BeforeValidator(_listed)] = "default"
    threads: Annotated[list[Threads], BeforeValidator(_listed)] = Field(default=[1])
    bursts: (
        Literal["default"]
        | Annotated[list[Annotated[int, BeforeValidator(lambda v: q.count(v, "items in a burst", MAX_BURST))]], BeforeValidator(_listed)]
    ) = "default"
    #: jobs under way at once on asynchronous engines; the others have one point whatever it says
    in_flight: (
        Literal["default"]
        | Annotated[list[Annotated[int, BeforeValidator(lambda v: q.count(v, "jobs in flight", MAX_IN_FLIGHT))]], BeforeValidator(_listed)]
    ) = "default"
    footprints: Annotated[list[Literal["stream", "resident"]], BeforeValidator(_listed)] = Field(default=["stream"])
    params: dict[str, Annotated[list[Word], BeforeValidator(_listed)]] = Field(default_factory=dict)
    exclude: list[Exclude] = Field(default_factory=list)
    leaves_out: list[str] = Field(default_factory=list)  #: in words, repeated in every report
    precision: Share = 0.05
    budget: Duration = 180.0
    rounds: Rounds = Field(default_factory=Rounds)
    cycles: Cycles = Field(default_factory=Cycles)
    window: Window = Field(default_factory=Window)
    silence: Duration = 120.0  #: a worker without an event for this long hangs
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    target: Annotated[list[Word], BeforeValidator(_listed)] = Field(default=["local"])
    inputs: dict[str, Annotated[list[Word], BeforeValidator(_listed)]] = Field(default_factory=dict)

    @field_validator("operators", "engines", "sizes", "threads", "bursts", "in_flight", "footprints", "target", mode="after")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        if value == []:
            raise ValueError("an empty list measures nothing: name at least one")
        return value

    def words(self) -> dict[str, Any]:
        """As a mapping that :func:`dpubench.plans.load.parse_plan` reads back to the same plan."""
        return self.model_dump(mode="json")
