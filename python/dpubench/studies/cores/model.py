"""Record types of an analysed run of study ``cores``. The terminal, the report, comparison and export all read them.

:mod:`dpubench.studies.cores.summary` builds them from a run directory. They are plain data without behaviour. No figure was measured: each comes
from a model of a processor. An :class:`Interval` is a 95 % interval over the sampled messages. A whole simulation has no sampling error: both ends
of its interval are ``nan``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from dpubench.analysis.model import AnalysedRun, Interval
from dpubench.studies.modelled.models import ModelInfo

Verdict = Literal["holds", "partly", "does not hold", "not decidable", "not run"]
#: The verdicts in the order in which they are counted.
VERDICTS: Final[tuple[Verdict, ...]] = ("holds", "partly", "does not hold", "not decidable", "not run")


@dataclass(frozen=True, slots=True)
class CoresNeeded:
    """The number of cores that sustain a line."""

    value: int
    low: int | None  #: with ``high`` the interval; None if extrapolated: no interval covers how cores share a chip that was not simulated
    high: int | None
    simulated: int  #: the most cores that were simulated together
    extrapolated: bool  #: ``value``, or the interval's end, is above ``simulated``


@dataclass(frozen=True, slots=True)
class OnLine:
    """The verdict on a point for one line."""

    line_gbps: float
    sustains: Literal["yes", "no", "undecided"]
    cores: CoresNeeded | None  #: cores of this kind that sustain the line together


@dataclass(frozen=True, slots=True)
class CacheUse:
    """The use of all caches of one name on the chip together."""

    name: str
    size_bytes: int  #: 0: the cache never misses
    ways: int
    accesses: int
    misses: int

    @property
    def miss_ratio(self) -> float | None:
        """Return misses over accesses; None without accesses."""
        return self.misses / self.accesses if self.accesses else None


@dataclass(frozen=True, slots=True)
class Share:
    """The part of one kernel in a point whose contexts run several kernels."""

    kernel: str
    frame_bytes: float
    contexts: int
    messages_per_s: Interval


@dataclass(slots=True)
class PointSummary:
    """One kernel (or mix) at one frame size, on one modelled processor."""

    id: str  #: ``<configuration>`` with the frame size
    configuration: str  #: configuration of the simulation; for a composed point (IMIX) those of its simulations, joined by " + "
    kernel: str  #: name of the kernel or mix in the plan
    operators: list[str]
    engines: list[str]
    params: dict[str, str]  #: parameters of the operator; empty for a mix
    frame: str  #: "64", ..., "imix"; for a mix of kernels their frames joined by "+"
    frame_bytes: float  #: bytes with FCS; the mean for a mix of frames
    model: str
    organisation: str  #: described, superscalar, fgmt, smt, cmp
    step: int  #: unit sets, contexts or cores
    unit_sets: int | None  #: unit sets of each core, if the organisation sets them
    cores: int
    contexts: int  #: contexts per core
    clock_mhz: float
    variant: str
    settings: dict[str, Any]  #: values of the variant that replace those of the description
    sweeps: list[str]
    labels: list[str]
    every_byte: bool = True  #: whether the kernel's work depends on the size of its message; else its rate is no rate of bytes
    messages_per_s: Interval | None = None  #: rate of the whole chip; None: nothing was simulated (see ``failure``)
    cycles_per_message: Interval | None = None  #: cycles per message of one context
    line_gbps: Interval | None = None  #: line rate that the point sustains
    lines: list[OnLine] = field(default_factory=list)
    ipc: float | None = None  #: instructions of all contexts per cycle of the chip
    instructions_per_message: float | None = None
    kinds: dict[str, float] = field(default_factory=dict)  #: kind of instruction -> share
    branches: float | None = None  #: share of the instructions
    mispredicted: float | None = None  #: share of the branches
    caches: list[CacheUse] = field(default_factory=list)
    instruction_cache: str = ""  #: name of the first-level instruction cache
    data_cache: str = ""
    stalls: dict[str, float] = field(default_factory=dict)  #: cause -> share of the contexts' cycles in which nothing entered the window
    shares: list[Share] = field(default_factory=list)  #: parts of the kernels of a mix
    unknown_share: float | None = None
    messages: int = 0  #: messages simulated in time
    instructions: int = 0
    sampled: bool = False  #: whether messages were sampled; else traces were simulated whole
    composed: bool = False  #: whether it combines several simulations, one per frame size
    converged: bool = True  #: whether the interval is as narrow as the plan asks
    cached: bool = False  #: whether the outcome came from the cache
    failure: str = ""

    def cache(self, name: str) -> CacheUse | None:
        """Return the cache called ``name``, or None."""
        return next((cache for cache in self.caches if cache.name == name), None)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A claim judged again with one setting changed from the paper's."""

    what: str
    verdict: Verdict
    measured: str
    part: str = ""  #: the part that holds, if the verdict is "partly"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of Crowley et al. 1999, and the verdict of this run."""

    id: str
    text: str  #: what the paper says, in our words
    criterion: str  #: the criterion, fixed beforehand
    verdict: Verdict
    measured: str  #: the figure of this run; the reason if it was not run
    part: str = ""  #: which part holds if the verdict is "partly", or what is undecided
    waits: str = ""  #: causes for which the kernels wait on the processor behind the figure; empty if not known
    sensitivities: list[Sensitivity] = field(default_factory=list)
    note: str = ""  #: the messages over which the figure is counted, if the report has another similar figure
    arithmetic: str = ""  #: what follows from the paper's own figures; shows where the paper contradicts itself
    code: str = ""  #: the instruction set that stands for the paper's, if it is another
    leading: bool = False  #: whether it is one of the claims that are shown first

    @property
    def deciding(self) -> list[Sensitivity]:
        """Return the sensitivities that change the verdict."""
        return [s for s in self.sensitivities if s.verdict != self.verdict]


@dataclass(frozen=True, slots=True)
class SweepInfo:
    """A sweep of the plan."""

    name: str
    title: str
    organisation: str
    varied: list[str]  #: paths of the values that it varies


@dataclass(slots=True, kw_only=True)
class RunSummary(AnalysedRun):
    """One analysed run."""

    models: list[ModelInfo]
    sweeps: list[SweepInfo]
    points: list[PointSummary]
    claims: list[Claim]
    labels: list[str]  #: labels that every point has
    lines_gbps: list[float]
    line_overhead_bytes: int
    exact: bool
    simulations: int  #: finished simulations
    instructions: int  #: instructions simulated in them
