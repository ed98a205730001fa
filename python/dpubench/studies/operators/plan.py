"""The plan model of study ``operators``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from dpubench.plans import quantities as q
from dpubench.plans.bursts import MAX_BURST, MAX_IN_FLIGHT
from dpubench.plans.model import Duration, MeasuredPlan, Size, Strict, Word, listed

MAX_THREADS = 4096


def _threads(value: object) -> int | str:
    return "all" if value == "all" else q.count(value, "threads", MAX_THREADS)


Threads = Annotated[int | Literal["all"], BeforeValidator(_threads)]


def footprints(value: object) -> object:
    """Return ``value`` as a list of footprints; ``both`` stands for ``stream`` and ``resident``."""
    given = value if isinstance(value, list) else [value]
    named = [one for word in given for one in (["stream", "resident"] if word == "both" else [word])]
    return [one for i, one in enumerate(named) if one not in named[:i]]


Footprints = Annotated[list[Literal["resident", "stream", "memory"]], BeforeValidator(footprints)]


class Cycles(Strict):
    """Bounds on the palindromic cycles of a configuration in a round. The planner chooses between them so that the rounds fit the budget."""

    min: Annotated[int, BeforeValidator(lambda v: q.count(v, "cycles", 10_000))] = 3
    max: Annotated[int, BeforeValidator(lambda v: q.count(v, "cycles", 10_000))] = 12

    @model_validator(mode="after")
    def _ordered(self) -> Cycles:
        if self.max < self.min:
            raise ValueError(f"cycles.max ({self.max}) is below cycles.min ({self.min}): raise one or lower the other")
        return self


class Window(Strict):
    """Bounds on the length of a timed window."""

    min: Duration = 0.003
    max: Duration = 0.05
    min_bursts: Annotated[int, BeforeValidator(lambda v: q.count(v, "bursts", 10**9))] = 100
    threaded_min: Duration = 0.2

    @model_validator(mode="after")
    def _ordered(self) -> Window:
        if self.max < self.min:
            raise ValueError("window.max is below window.min: raise one or lower the other")
        return self


class Exclude(Strict):
    """A rule that leaves something out on purpose, with a reason that every run of the plan repeats."""

    operator: Word
    engine: Word | None = None
    params: dict[str, Word] = Field(default_factory=dict)
    reason: str


class Plan(MeasuredPlan):
    """A declared experiment of study ``operators``."""

    OPTIONS: ClassVar[Mapping[str, str]] = {
        "--operator": "operators", "--engine": "engines", "--size": "sizes", "--threads": "threads", "--burst": "bursts",
        "--in-flight": "in_flight", "--footprint": "footprints", "--param": "params",
    }  # fmt: skip

    study: Word = "operators"
    #: names, or `all`
    operators: Literal["all"] | Annotated[list[Word], BeforeValidator(listed)] = "all"
    #: names; `all`; `devices`: those that use a device; `best-and-reference`: the best, the next best of another library, and the reference
    engines: Literal["best-and-reference", "all", "devices"] | Annotated[list[Word], BeforeValidator(listed)] = "best-and-reference"
    #: message sizes; `default`: that of each operator; `grid`: all that the operator declares
    sizes: Literal["default", "grid"] | Annotated[list[Size], BeforeValidator(listed)] = "default"
    #: thread counts; `all`: one for each CPU
    threads: Annotated[list[Threads], BeforeValidator(listed)] = Field(default=[1])
    #: items in a burst
    bursts: (
        Literal["default"]
        | Annotated[list[Annotated[int, BeforeValidator(lambda v: q.count(v, "items in a burst", MAX_BURST))]], BeforeValidator(listed)]
    ) = "default"
    #: jobs in flight on asynchronous engines; the other engines always have one point
    in_flight: (
        Literal["default"]
        | Annotated[list[Annotated[int, BeforeValidator(lambda v: q.count(v, "jobs in flight", MAX_IN_FLIGHT))]], BeforeValidator(listed)]
    ) = "default"
    #: where the buffers lie: `stream` (beyond L2), `resident` (32 buffers), `both` of these, `memory` (beyond L3)
    footprints: Footprints = Field(default=["stream"])
    #: parameter -> values, in place of the default
    params: dict[str, Annotated[list[Word], BeforeValidator(listed)]] = Field(default_factory=dict)
    #: what is left out on purpose, with the reason
    exclude: list[Exclude] = Field(default_factory=list)
    cycles: Cycles = Field(default_factory=Cycles)
    window: Window = Field(default_factory=Window)
