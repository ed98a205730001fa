"""The plan model of study ``coverage``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from dpubench.plans.frames import IMIX
from dpubench.plans.model import Share, Size, Strict, Word, listed
from dpubench.studies.modelled.plan import ALL, MODEL_PREFIX, Frames, Kernels, Messages, SimulatedPlan, Words, counted

#: Replaces a list of applications or workloads: none of them.
NONE: Final = "none"
#: Replaces a list of engines: each operator's reference engine.
REFERENCE: Final = "reference"
#: Target: this machine's hardware counters instead of a model.
LOCAL: Final = "local"
MAX_PHASES: Final = 1_000_000
MAX_INPUTS: Final = 1000


def _named(value: object) -> object:
    """Return the mapping for a bare name: ``{name: ips}`` for ``ips``. Return another value unchanged."""
    return {"name": value} if isinstance(value, str) else value


class ApplicationPlan(Strict):
    """An application, traced whole on each of its inputs."""

    name: Word
    params: dict[str, Word] = Field(default_factory=dict)
    limit: Size | None = None  #: in place of the plan's ``limit``


class WorkloadPlan(Strict):
    """A workload of study end-to-end, traced on frames of its traffic model."""

    name: Word
    engines: dict[str, Word] = Field(default_factory=dict)  #: stage -> engine; other stages use their default
    params: dict[str, Word] = Field(default_factory=dict)


Applications = Annotated[list[Annotated[ApplicationPlan, BeforeValidator(_named)]], BeforeValidator(listed)]
Workloads = Annotated[list[Annotated[WorkloadPlan, BeforeValidator(_named)]], BeforeValidator(listed)]


class Plan(SimulatedPlan):
    """A declared experiment of study ``coverage``."""

    OPTIONS: ClassVar[Mapping[str, str]] = {
        "--operator": "operators", "--engine": "engines", "--workload": "workloads", "--size": "frame_sizes", "--exact": "exact", "--dask": "dask",
    }  # fmt: skip

    study: Word = "coverage"
    target: Words = Field(default=[f"{MODEL_PREFIX}cortex-a72-bluefield2"])  #: a model, or ``local``
    operators: Literal["all"] | Kernels = "all"
    engines: Literal["reference", "all"] | Words = "reference"  #: engines of operators that name none
    frame_sizes: Frames = Field(default=[64])
    operator_messages: dict[str, Messages] = Field(default_factory=dict)  #: in place of ``messages``, by operator; for operators with slow messages
    applications: Literal["all", "none"] | Applications = "all"
    workloads: Literal["all", "none"] | Workloads = "all"
    limit: Literal["all"] | Size = "all"  #: most bytes that an application reads of each input
    application_limits: dict[str, Size] = Field(default_factory=dict)  #: in place of ``limit``, by application; for those with little work per byte
    inputs_each: Annotated[int, counted("inputs", MAX_INPUTS)] = 4  #: most inputs per application: files of the kind that it reads one at a time
    frames: Messages = 3200  #: frames in a workload's traffic
    traffics: Annotated[int, counted("traffics", MAX_INPUTS)] = 3  #: inputs per workload: its traffic is drawn this often, with new seeds
    phase: Annotated[int, counted("instructions", 10**9)] = 1_000_000
    phases: Literal["all"] | Annotated[int, counted("phases", MAX_PHASES)] = "all"  #: first phases simulated of each input; ``exact``: all
    precision: Share = 0.05

    @model_validator(mode="after")
    def _means_something(self) -> Plan:
        if IMIX in self.frame_sizes or any(IMIX in (kernel.frames or ()) for kernel in (self.operators if self.operators != ALL else ())):
            raise ValueError(f"frame_sizes: {IMIX} is a mix of sizes, and a point of an operator has one size: name sizes")
        if len(self.target) > 1:
            raise ValueError("target: a run has only one processor: start one run for each, and compare them with `dpubench compare`")
        labels = [kernel.label for kernel in self.operators] if self.operators != ALL else []
        if twice := next((name for name in labels if labels.count(name) > 1), None):
            raise ValueError(f"operators: two are called '{twice}': give one of them another name")
        for what, chosen in (("applications", self.applications), ("workloads", self.workloads)):
            names = [] if isinstance(chosen, str) else [part.name for part in chosen]
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"{what}: '{twice}' is named twice: name it once")
        return self
