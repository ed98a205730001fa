"""Plan keys shared by the studies of modelled processors: kernels, the simulated part of a trace, and where simulations run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from dpubench.errors import Problem, nearest
from dpubench.plans import quantities as q
from dpubench.plans.bursts import MAX_BURST
from dpubench.plans.frames import Frame
from dpubench.plans.model import Size, Strict, StudyPlan, Word, listed

if TYPE_CHECKING:
    from dpubench.plans.load import Where

#: Prefix of a target that is a model of a processor: ``model:neoverse-n1``.
MODEL_PREFIX: Final = "model:"
#: Stands for all that there are: CPUs, kernels, cores of the modelled product.
ALL: Final = "all"
#: The operator parameter that holds the size of a message.
SIZE: Final = "size"
MAX_MESSAGES: Final = 10_000_000
MAX_PROCESSES: Final = 4096


def counted(what: str, most: int) -> BeforeValidator:
    """Return a validator for a number of ``what``, from 1 to ``most``."""
    return BeforeValidator(lambda value: q.count(value, what, most))


def word_or(word: str, value: object, otherwise: Any) -> Any:
    """Return ``value`` if it is ``word``, else ``otherwise(value)``."""
    return word if value == word else otherwise(value)


def kernel_words(value: object) -> object:
    """Return the keys of a kernel written as a word: ``md5`` or ``md5/openssl``. Return another value unchanged. @raises ValueError"""
    if not isinstance(value, str):
        return value
    operator, slash, engine = value.partition("/")
    if not operator or (slash and not engine):
        raise ValueError(f"'{value[:40]}' is not a kernel: write OPERATOR or OPERATOR/ENGINE, such as md5/openssl")
    return {"operator": operator, "engine": engine} if engine else {"operator": operator}


def _part(value: object) -> float:
    """Return a share; unlike in :func:`q.fraction`, ``100%`` is one."""
    return 1.0 if str(value).strip() == "100%" else q.fraction(value)


def _warm_up(value: object) -> float:
    """Return a share; unlike in :func:`q.fraction`, ``0%`` is one."""
    return 0.0 if str(value).strip() == "0%" else q.fraction(value)


def _scheduler(value: str) -> str:
    """Return an address in the form that ``distributed`` takes. The start of the simulations shows whether anything answers there."""
    if value and not re.fullmatch(r"(?:[a-z]+://)?[^\s/]+:[0-9]{1,5}|inproc://\S+", value):
        raise ValueError(f"'{value[:60]}' is not the address of a Dask scheduler: write it as tcp://HOST:8786")
    return value


Processes = Annotated[int | Literal["all"], BeforeValidator(lambda v: word_or(ALL, v, lambda n: q.count(n, "processes", MAX_PROCESSES)))]
Part = Annotated[float, BeforeValidator(_part), PlainSerializer(lambda v: f"{v * 100:g}%")]
WarmUp = Annotated[float, BeforeValidator(_warm_up), PlainSerializer(lambda v: f"{v * 100:g}%")]
Burst = Annotated[int, counted("messages in a burst", MAX_BURST)]
Messages = Annotated[int, counted("messages", MAX_MESSAGES)]


def some(value: list[Any]) -> list[Any]:
    """Return ``value``. @raises ValueError if it is empty"""
    if not value:
        raise ValueError("an empty list measures nothing: name at least one")
    return value


Words = Annotated[list[Word], BeforeValidator(listed), AfterValidator(some)]
Frames = Annotated[list[Frame], BeforeValidator(listed), AfterValidator(some)]
Footprint = Literal["stream", "resident"]


class KernelPlan(Strict):
    """An operator on one engine. The study simulates its trace."""

    operator: Word
    engine: Word = ""  #: default: the operator's reference engine
    name: Word = ""  #: its name in sweeps and in the report; default: operator, or operator/engine if an engine is named
    params: dict[str, Word] = Field(default_factory=dict)
    messages: Messages | None = None  #: messages in its trace, in place of the plan's
    frames: Frames | None = None  #: in place of the plan's ``frame_sizes``
    footprint: Footprint | None = None  #: in place of the plan's
    burst: Burst | None = None  #: in place of the plan's

    @property
    def label(self) -> str:
        return self.name or (f"{self.operator}/{self.engine}" if self.engine else self.operator)


class Sample(Strict):
    """The simulated part of a context: its first ``share`` of bursts.

    Of every ``every`` bursts the first ``measured`` are simulated in time. The others only keep the caches warm. A sample in pieces is biased: the
    first burst of a piece finds the pipeline empty, and the bursts that keep caches warm take no memory bandwidth.
    """

    share: Part = 1.0
    every: Annotated[int, counted("messages", MAX_MESSAGES)] = 1
    measured: Annotated[int, counted("messages", MAX_MESSAGES)] = 1

    @model_validator(mode="after")
    def _some_are_measured(self) -> Sample:
        if self.measured > self.every:
            raise ValueError(f"sample.measured ({self.measured}) is above sample.every ({self.every}): set it to sample.every or less")
        return self


Kernels = Annotated[list[Annotated[KernelPlan, BeforeValidator(kernel_words)]], BeforeValidator(listed)]


class SimulatedPlan(StudyPlan):
    """The plan keys that all these studies share."""

    messages: Messages = 2000  #: messages in a kernel's trace
    #: most bytes in the trace of a kernel whose messages have a size; ``least_messages`` takes precedence
    traced_bytes: Size = 1 << 20
    least_messages: Messages = 64
    footprint: Footprint = "stream"
    burst: Burst = 1  #: messages that an engine gets at once
    exact: bool = False  #: simulate whole traces, every message in time; else use ``sample``
    sample: Sample = Field(default_factory=Sample)
    warm_up: WarmUp = 0.4  #: share of a context's first bursts that are simulated but not counted
    processes: Processes = ALL
    dask: Annotated[str, AfterValidator(_scheduler)] = ""  #: address of a Dask scheduler; empty: processes on this machine

    @property
    def samples(self) -> bool:
        """Tell whether some messages of a kernel are not simulated in time. The messages that warm up are simulated in time."""
        return not self.exact and (self.sample.share < 1 or self.sample.measured < self.sample.every)


def check_kernel(kernel: KernelPlan, catalog: Mapping[str, Mapping[str, Any]], where: Where, *at: str | int) -> Iterator[Problem]:
    """Yield the problems that only the catalog shows of the kernel at place ``at`` in the plan."""
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
            yield where.problem("the frame sets the size of a message: give `frames` instead", *at, "params", name)
        elif name not in known:
            text = f"operator {kernel.operator} has no parameter '{name}'{nearest(name, known)}"
            yield where.problem(text, *at, "params", name)
