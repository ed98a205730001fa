"""What a plan of study ``cores`` may say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from dpubench.plans import quantities as q
from dpubench.plans.frames import Frame
from dpubench.plans.model import Share, Size, Strict, StudyPlan, Word, listed

#: Begins a target that is a model of a processor: ``model:neoverse-n1``.
MODEL_PREFIX: Final = "model:"
#: The variant that changes nothing of a model.
BASE: Final = "base"
#: As many cores as the modelled product has; the clock that it has.
ALL: Final = "all"
DESCRIBED: Final = "described"
MAX_MESSAGES: Final = 10_000_000
MAX_STEPS: Final = 64
MAX_PROCESSES: Final = 4096
MAX_BURST: Final = 256  #: items in a burst, see native/operators/lane.hpp

Kind = Literal["described", "superscalar", "fgmt", "smt", "cmp"]


def _count(what: str, most: int) -> BeforeValidator:
    return BeforeValidator(lambda value: q.count(value, what, most))


def _word_or(word: str, value: object, otherwise: Any) -> Any:
    return word if value == word else otherwise(value)


def _kernel(value: object) -> object:
    """``md5`` or ``md5/openssl``."""
    if not isinstance(value, str):
        return value
    operator, slash, engine = value.partition("/")
    if not operator or (slash and not engine):
        raise ValueError(f"'{value[:40]}' is no kernel: write OPERATOR or OPERATOR/ENGINE, as md5/openssl")
    return {"operator": operator, "engine": engine} if engine else {"operator": operator}


def _overhead(value: object) -> int:
    return 0 if str(value).strip() == "0B" else q.size_bytes(value)


def _part(value: object) -> float:
    """All of it among them."""
    return 1.0 if str(value).strip() == "100%" else q.fraction(value)


def _warm_up(value: object) -> float:
    """Nothing of it among them."""
    return 0.0 if str(value).strip() == "0%" else q.fraction(value)


def _setting(value: object) -> Any:
    """What takes the place of a value of a processor's description: a number, a word, a truth value, or a whole section."""
    if isinstance(value, dict):
        return {str(key): _setting(inner) for key, inner in value.items()}
    if isinstance(value, (list, type(None))):
        raise ValueError(f"expected a number, a word or a section, not {'a list' if isinstance(value, list) else 'nothing'}")
    return value


Rate = Annotated[float, BeforeValidator(q.rate_bps), PlainSerializer(q.format_rate)]
Clock = Annotated[
    float | Literal["described"],
    BeforeValidator(lambda v: _word_or(DESCRIBED, v, q.clock_mhz)),
    PlainSerializer(lambda v: v if v == DESCRIBED else q.format_clock(v)),
]
Step = Annotated[int | Literal["all"], BeforeValidator(lambda v: _word_or(ALL, v, lambda n: q.count(n, "steps", MAX_STEPS)))]
Processes = Annotated[int | Literal["all"], BeforeValidator(lambda v: _word_or(ALL, v, lambda n: q.count(n, "processes", MAX_PROCESSES)))]
Overhead = Annotated[int, BeforeValidator(_overhead), PlainSerializer(lambda v: "0B" if v == 0 else q.format_bytes(v))]
Part = Annotated[float, BeforeValidator(_part), PlainSerializer(lambda v: f"{v * 100:g}%")]
WarmUp = Annotated[float, BeforeValidator(_warm_up), PlainSerializer(lambda v: f"{v * 100:g}%")]
Settings = dict[str, Annotated[Any, BeforeValidator(_setting)]]
Burst = Annotated[int, _count("messages in a burst", MAX_BURST)]
Messages = Annotated[int, _count("messages", MAX_MESSAGES)]
Words = Annotated[list[Word], BeforeValidator(listed)]
Frames = Annotated[list[Frame], BeforeValidator(listed)]
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
    every: Annotated[int, _count("messages", MAX_MESSAGES)] = 1
    measured: Annotated[int, _count("messages", MAX_MESSAGES)] = 1

    @model_validator(mode="after")
    def _some_are_measured(self) -> Sample:
        if self.measured > self.every:
            raise ValueError(f"sample.measured ({self.measured}) is above sample.every ({self.every}): of these no more can be measured")
        return self


class Sweep(Strict):
    """Simulations that one figure or table is made of: every kernel on every model, organisation step, clock and variant."""

    name: Word
    title: str = ""
    kernels: Literal["all"] | Words = "all"  #: names of kernels, or of mixes
    organisation: Kind = "described"
    #: of ``superscalar`` unit sets, of ``fgmt`` and ``smt`` contexts, of ``cmp`` and ``described`` cores
    steps: Annotated[list[Step], BeforeValidator(listed)] = Field(default=[1])
    unit_sets: Annotated[int, _count("unit sets", MAX_STEPS)] | None = None  #: of each core, where they are not the steps
    clocks: Annotated[list[Clock], BeforeValidator(listed)] = Field(default=[DESCRIBED])
    variants: Words = Field(default=[BASE])
    vary: dict[str, Annotated[list[Annotated[Any, BeforeValidator(_setting)]], BeforeValidator(listed)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _means_something(self) -> Sweep:
        if self.organisation == "superscalar" and self.unit_sets is not None:
            raise ValueError("unit_sets: the steps of a superscalar processor are its unit sets: leave one of them out")
        if ALL in self.steps and self.organisation not in ("described", "cmp"):
            raise ValueError(f"steps: '{ALL}' is the number of cores of a modelled product, and {self.organisation} counts something else")
        if any(values == [] for values in self.vary.values()):
            raise ValueError("vary: an empty list varies nothing: name at least one value")
        return self


class Claims(Strict):
    """Which kernels stand for those of Crowley et al. 1999; of each the first is the paper's, the others are today's engines."""

    lookup: Words
    md5: Words


class Plan(StudyPlan):
    """A declared experiment of study ``cores``."""

    OPTIONS: ClassVar[Mapping[str, str]] = {"--operator": "kernels", "--size": "frame_sizes", "--exact": "exact", "--dask": "dask"}

    study: Word = "cores"
    target: Words = Field(default=[f"{MODEL_PREFIX}cortex-a72-bluefield2"])  #: models
    kernels: Annotated[list[Annotated[KernelPlan, BeforeValidator(_kernel)]], BeforeValidator(listed)] = Field(default=[KernelPlan(operator="lpm")])
    mixes: dict[str, Words] = Field(default_factory=dict)  #: name -> kernels, which contexts take in turn
    frame_sizes: Frames = Field(default=[64, 1518])
    line_overhead: Overhead = 20  #: bytes that a frame takes of a line besides its own: preamble, delimiter, gap
    lines: Annotated[list[Rate], BeforeValidator(listed)] = Field(default=[10e9, 25e9, 100e9])
    messages: Messages = 2000  #: in a kernel's trace
    #: a kernel whose messages have a size is traced over so many bytes at most, and over ``least_messages`` at least
    traced_bytes: Size = 1 << 20
    least_messages: Messages = 64
    footprint: Footprint = "stream"
    burst: Burst = 1  #: messages that an engine is given at once
    exact: bool = False  #: whole traces, every message in time; else ``sample``
    sample: Sample = Field(default_factory=Sample)
    warm_up: WarmUp = 0.4  #: share of a context's bursts, from its first on, that are simulated and not counted
    mix_instructions: Annotated[int, _count("instructions", 10**12)] = 1_000_000  #: of every context whose chip runs several kernels
    variants: dict[str, Settings] = Field(default_factory=dict)  #: name -> what differs from the model's description
    sweeps: Annotated[list[Sweep], BeforeValidator(listed)] = Field(default=[Sweep(name="lines")])
    claims: Claims | None = None
    comparisons: bool = True  #: whether what was published of the models' processors is simulated beside
    processes: Processes = ALL
    dask: str = ""  #: address of a Dask scheduler; empty: processes of this machine
    precision: Share = 0.05

    @model_validator(mode="after")
    def _names_are_known(self) -> Plan:
        """What refers to something within the plan."""
        kernels = [kernel.label for kernel in self.kernels]
        for names, what in ((kernels, "kernels"), ([s.name for s in self.sweeps], "sweeps")):
            if twice := next((n for n in names if names.count(n) > 1), None):
                raise ValueError(f"{what}: two are called '{twice}': give one of them another name")
        if BASE in self.variants:
            raise ValueError(f"variants.{BASE}: is the model as it is described: choose another name")
        if both := next((name for name in self.mixes if name in kernels), None):
            raise ValueError(f"mixes.{both}: a kernel is called so: choose another name")
        return self
