"""The plan model of study ``cores``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from dpubench.plans import quantities as q
from dpubench.plans.model import Share, Strict, Word, listed
from dpubench.studies.modelled.plan import ALL, MODEL_PREFIX, Frames, KernelPlan, Kernels, SimulatedPlan, Words, counted, some, word_or

#: The variant that changes nothing in a model.
BASE: Final = "base"
#: The clock of the model's description.
DESCRIBED: Final = "described"
MAX_STEPS: Final = 64
_LARGEST: Final = 1e15

Kind = Literal["described", "superscalar", "fgmt", "smt", "cmp"]


def _overhead(value: object) -> int:
    return 0 if str(value).strip() == "0B" else q.size_bytes(value)


def _setting(value: object) -> Any:
    """Return a value that replaces one in a processor's description: a number, a word, a truth value, or a section. @raises ValueError"""
    if isinstance(value, dict):
        return {str(key): _setting(inner) for key, inner in value.items()}
    if isinstance(value, (list, type(None))):
        raise ValueError(f"expected a number, a word or a section, not {'a list' if isinstance(value, list) else 'nothing'}")
    if isinstance(value, (int, float)) and not -_LARGEST <= value <= _LARGEST:  # also catches NaN
        raise ValueError(f"{str(value)[:40]} is out of range: numbers go up to {_LARGEST:g}")
    return value


Rate = Annotated[float, BeforeValidator(q.rate_bps), PlainSerializer(q.format_rate)]
Clock = Annotated[
    float | Literal["described"],
    BeforeValidator(lambda v: word_or(DESCRIBED, v, q.clock_mhz)),
    PlainSerializer(lambda v: v if v == DESCRIBED else q.format_clock(v)),
]
Step = Annotated[int | Literal["all"], BeforeValidator(lambda v: word_or(ALL, v, lambda n: q.count(n, "steps", MAX_STEPS)))]
Overhead = Annotated[int, BeforeValidator(_overhead), PlainSerializer(lambda v: "0B" if v == 0 else q.format_bytes(v))]
Settings = dict[str, Annotated[Any, BeforeValidator(_setting)]]


class Sweep(Strict):
    """The simulations behind one figure or table: every kernel on every model, organisation step, clock and variant."""

    name: Word
    title: str = ""
    kernels: Literal["all"] | Words = "all"  #: names of kernels, or of mixes; all: those that no sweep aside names
    models: Literal["all"] | Words = "all"  #: models such as ``model:neoverse-n1``, in place of the plan's targets
    aside: bool = False  #: leave it out, with the claims, where --operator replaces the kernels that it needs
    organisation: Kind = "described"
    #: numbers of unit sets (``superscalar``), of contexts (``fgmt``, ``smt``) or of cores (``cmp``, ``described``)
    steps: Annotated[list[Step], BeforeValidator(listed), AfterValidator(some)] = Field(default=[1])
    unit_sets: Annotated[int, counted("unit sets", MAX_STEPS)] | None = None  #: unit sets of each core, if the steps count something else
    clocks: Annotated[list[Clock], BeforeValidator(listed), AfterValidator(some)] = Field(default=[DESCRIBED])
    variants: Words = Field(default=[BASE])
    vary: dict[str, Annotated[list[Annotated[Any, BeforeValidator(_setting)]], BeforeValidator(listed)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _means_something(self) -> Sweep:
        if self.organisation == "superscalar" and self.unit_sets is not None:
            raise ValueError("unit_sets: the steps of a superscalar processor are its unit sets: remove unit_sets")
        if ALL in self.steps and self.organisation not in ("described", "cmp"):
            raise ValueError(f"steps: '{ALL}' means all cores of a modelled product, but steps of {self.organisation} are not cores: give numbers")
        if any(values == [] for values in self.vary.values()):
            raise ValueError("vary: an empty list varies nothing: name at least one value")
        return self


class Claims(Strict):
    """The kernels that stand for those of Crowley et al. 1999. In each list the first is nearest to the paper's, the others are alternatives."""

    lookup: Words
    md5: Words


def kernels_of(sweep: Sweep, plan: Plan) -> list[str]:
    """Return the names of a sweep's kernels and mixes. ``all`` stands for every kernel that no sweep aside names."""
    if sweep.kernels != ALL:
        return list(sweep.kernels)
    aside = {name for other in plan.sweeps if other.aside and other.kernels != ALL for name in other.kernels}
    return [kernel.label for kernel in plan.kernels if kernel.label not in aside]


def without_asides(plan: Plan) -> Plan:
    """Return ``plan`` without sweeps aside whose kernels it does not have, and without claims on such kernels."""
    known = {*(kernel.label for kernel in plan.kernels), *plan.mixes}
    sweeps = [s for s in plan.sweeps if not s.aside or s.kernels == ALL or known.issuperset(s.kernels)]
    if len(sweeps) == len(plan.sweeps):
        return plan
    claims = plan.claims if plan.claims is not None and known.issuperset([*plan.claims.lookup, *plan.claims.md5]) else None
    return plan.model_copy(update={"sweeps": sweeps, "claims": claims})


class Plan(SimulatedPlan):
    """A declared experiment of study ``cores``."""

    OPTIONS: ClassVar[Mapping[str, str]] = {"--operator": "kernels", "--size": "frame_sizes", "--exact": "exact", "--dask": "dask"}

    study: Word = "cores"
    target: Words = Field(default=[f"{MODEL_PREFIX}cortex-a72-bluefield2"])  #: models
    kernels: Kernels = Field(default=[KernelPlan(operator="lpm")])
    mixes: dict[str, Words] = Field(default_factory=dict)  #: name -> kernels; contexts take them in turn
    frame_sizes: Frames = Field(default=[64, 1518])
    line_overhead: Overhead = 20  #: bytes that a frame takes on a line besides its own: preamble, delimiter, gap
    lines: Annotated[list[Rate], BeforeValidator(listed)] = Field(default=[10e9, 25e9, 100e9])
    mix_instructions: Annotated[int, counted("instructions", 10**12)] = 1_000_000  #: instructions per context if a chip runs several kernels
    variants: dict[str, Settings] = Field(default_factory=dict)  #: name -> settings that replace values of the model's description
    sweeps: Annotated[list[Sweep], BeforeValidator(listed)] = Field(default=[Sweep(name="lines")])
    claims: Claims | None = None
    comparisons: bool = True  #: whether to compare the models with published figures of their processors
    precision: Share = 0.05

    @model_validator(mode="after")
    def _names_are_known(self) -> Plan:
        """Check that the names within the plan are unique. @raises ValueError"""
        kernels = [kernel.label for kernel in self.kernels]
        for names, what in ((kernels, "kernels"), ([s.name for s in self.sweeps], "sweeps")):
            if twice := next((n for n in names if names.count(n) > 1), None):
                raise ValueError(f"{what}: two are called '{twice}': give one of them another name")
        if BASE in self.variants:
            raise ValueError(f"variants.{BASE}: this name means the model as described: choose another name")
        if both := next((name for name in self.mixes if name in kernels), None):
            raise ValueError(f"mixes.{both}: a kernel has this name: choose another name")
        return self
