"""What plans of studies of modelled processors may say alike: kernels, how much of a trace is simulated, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from dpubench.errors import Problem, nearest
from dpubench.plans import quantities as q
from dpubench.plans.frames import Frame
from dpubench.plans.model import Size, Strict, StudyPlan, Word, listed

if TYPE_CHECKING:
    from dpubench.plans.load import Where

#: Begins a target that is a model of a processor: ``model:neoverse-n1``.
MODEL_PREFIX: Final = "model:"
#: As many of something as there are: CPUs, kernels, cores of the modelled product.
ALL: Final = "all"
#: The operators' parameter that is the size of a message.
SIZE: Final = "size"
MAX_MESSAGES: Final = 10_000_000
MAX_PROCESSES: Final = 4096
MAX_BURST: Final = 256  #: items in a burst, see native/operators/lane.hpp


def counted(what: str, most: int) -> BeforeValidator:
    """A number of something, from 1 to ``most``."""
    return BeforeValidator(lambda value: q.count(value, what, most))


def word_or(word: str, value: object, otherwise: Any) -> Any:
    """``value`` where it is ``word``, else what ``otherwise`` makes of it."""
    return word if value == word else otherwise(value)


def kernel_words(value: object) -> object:
    """``md5`` or ``md5/openssl``."""
    if not isinstance(value, str):
        return value
    operator, slash, engine = value.partition("/")
    if not operator or (slash and not engine):
        raise ValueError(f"'{value[:40]}' is no kernel: write OPERATOR or OPERATOR/ENGINE, as md5/openssl")
    return {"operator": operator, "engine": engine} if engine else {"operator": operator}


def _part(value: object) -> float:
    """All of it among them."""
    return 1.0 if str(value).strip() == "100%" else q.fraction(value)


def _warm_up(value: object) -> float:
    """Nothing of it among them."""
    return 0.0 if str(value).strip() == "0%" else q.fraction(value)


def _scheduler(value: str) -> str:
    """As ``distributed`` takes it; whether somebody answers there shows when simulations begin."""
    if value and not re.fullmatch(r"(?:[a-z]+://)?[^\s/]+:[0-9]{1,5}|inproc://\S+", value):
        raise ValueError(f"'{value[:60]}' is no address of a Dask scheduler: write it as tcp://HOST:8786")
    return value


Processes = Annotated[int | Literal["all"], BeforeValidator(lambda v: word_or(ALL, v, lambda n: q.count(n, "processes", MAX_PROCESSES)))]
Part = Annotated[float, BeforeValidator(_part), PlainSerializer(lambda v: f"{v * 100:g}%")]
WarmUp = Annotated[float, BeforeValidator(_warm_up), PlainSerializer(lambda v: f"{v * 100:g}%")]
Burst = Annotated[int, counted("messages in a burst", MAX_BURST)]
Messages = Annotated[int, counted("messages", MAX_MESSAGES)]


def some(value: list[Any]) -> list[Any]:
    """A list in which something stands, as in lists of a plan itself."""
    if not value:
        raise ValueError("an empty list measures nothing: name at least one")
    return value


Words = Annotated[list[Word], BeforeValidator(listed), AfterValidator(some)]
Frames = Annotated[list[Frame], BeforeValidator(listed), AfterValidator(some)]
Footprint = Literal["stream", "resident"]


class KernelPlan(Strict):
    """An operator on one engine, whose trace is simulated."""

    operator: Word
    engine: Word = ""  #: default: the operator's reference engine
    name: Word = ""  #: what sweeps and the report call it; default: operator, or operator/engine where one is named
    params: dict[str, Word] = Field(default_factory=dict)
    messages: Messages | None = None  #: in its trace, in place of the plan's
    frames: Frames | None = None  #: in place of the plan's ``frame_sizes``
    footprint: Footprint | None = None  #: in place of the plan's
    burst: Burst | None = None  #: in place of the plan's

    @property
    def label(self) -> str:
        return self.name or (f"{self.operator}/{self.engine}" if self.engine else self.operator)


class Sample(Strict):
    """The first ``share`` of a context's bursts; of every ``every`` of them the first ``measured`` in time, while the others keep caches warm.

    A sample in pieces is biased: the first burst of a piece finds the pipeline empty, and what is kept warm takes no bandwidth of memory.
    """

    share: Part = 1.0
    every: Annotated[int, counted("messages", MAX_MESSAGES)] = 1
    measured: Annotated[int, counted("messages", MAX_MESSAGES)] = 1

    @model_validator(mode="after")
    def _some_are_measured(self) -> Sample:
        if self.measured > self.every:
            raise ValueError(f"sample.measured ({self.measured}) is above sample.every ({self.every}): of these no more can be measured")
        return self


Kernels = Annotated[list[Annotated[KernelPlan, BeforeValidator(kernel_words)]], BeforeValidator(listed)]


class SimulatedPlan(StudyPlan):
    """Keys that plans of all these studies have."""

    messages: Messages = 2000  #: in a kernel's trace
    #: a kernel whose messages have a size is traced over so many bytes at most, and over ``least_messages`` at least
    traced_bytes: Size = 1 << 20
    least_messages: Messages = 64
    footprint: Footprint = "stream"
    burst: Burst = 1  #: messages that an engine is given at once
    exact: bool = False  #: whole traces, every message in time; else ``sample``
    sample: Sample = Field(default_factory=Sample)
    warm_up: WarmUp = 0.4  #: share of a context's bursts, from its first on, that are simulated and not counted
    processes: Processes = ALL
    dask: Annotated[str, AfterValidator(_scheduler)] = ""  #: address of a Dask scheduler; empty: processes of this machine

    @property
    def samples(self) -> bool:
        """Whether some of a kernel's messages are not simulated in time. Those that warm up are: all of a trace is no sample."""
        return not self.exact and (self.sample.share < 1 or self.sample.measured < self.sample.every)


def check_kernel(kernel: KernelPlan, catalog: Mapping[str, Mapping[str, Any]], where: Where, *at: str | int) -> Iterator[Problem]:
    """What only the catalog shows of the kernel that stands at ``at`` in the plan."""
    if kernel.operator not in catalog:
        yield where.problem(f"unknown operator '{kernel.operator}'{nearest(kernel.operator, catalog)}", *at)
        return
    entry = catalog[kernel.operator]
    engines = [str(e["name"]) for e in entry["engines"]]
    if kernel.engine and kernel.engine not in engines:
        yield where.problem(f"operator {kernel.operator} has no engine '{kernel.engine}'{nearest(kernel.engine, engines)}", *at, "engine")
    known = [str(p["name"]) for p in entry["parameters"]]
    for name in kernel.params:
        if name == SIZE and SIZE in known:
            yield where.problem("the size of a message is that of its frame: give `frames`", *at, "params", name)
        elif name not in known:
            text = f"operator {kernel.operator} has no parameter '{name}'{nearest(name, known)}"
            yield where.problem(text, *at, "params", name)
