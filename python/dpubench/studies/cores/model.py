"""What an analysed run of study ``cores`` consists of: the one record type that the terminal, the report, comparison and export are fed from.

Built by :mod:`dpubench.studies.cores.summary` from a run directory. Plain data, no behaviour. Nothing in it was measured: every figure is of a model
of a processor. An :class:`Interval` is of 95 % over the messages that were sampled; of what was simulated whole its ends are ``nan``: such a figure
has no sampling error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from dpubench.cores.models import LABEL
from dpubench.results.model import Failure, Interval, Warning_
from dpubench.studies.modelled.models import ModelInfo

Verdict = Literal["reproduced", "partly", "not reproduced", "not run"]


@dataclass(frozen=True, slots=True)
class CoresNeeded:
    """Cores that sustain a line."""

    value: int
    low: int | None  #: with ``high`` the interval; None of what is extrapolated: how cores share a chip that nobody simulated is in no interval
    high: int | None
    simulated: int  #: the most cores that were simulated together
    extrapolated: bool  #: more are needed, or may be by the interval, than were simulated together


@dataclass(frozen=True, slots=True)
class OnLine:
    """What a point means for one line."""

    line_gbps: float
    sustains: Literal["yes", "no", "undecided"]
    cores: CoresNeeded | None  #: of this kind, side by side


@dataclass(frozen=True, slots=True)
class CacheUse:
    """A cache, all of that name on the chip together."""

    name: str
    size_bytes: int  #: 0: one that never misses
    ways: int
    accesses: int
    misses: int

    @property
    def miss_ratio(self) -> float | None:
        """Misses of accesses; None without accesses."""
        return self.misses / self.accesses if self.accesses else None


@dataclass(frozen=True, slots=True)
class Share:
    """What one kernel has of a point whose contexts run several."""

    kernel: str
    frame_bytes: float
    contexts: int
    messages_per_s: Interval


@dataclass(slots=True)
class PointSummary:
    """One kernel (or mix) at one frame size, on one modelled processor."""

    id: str  #: ``<configuration>`` with the frame size
    configuration: str  #: of the simulation; of a composed point (IMIX) those that it is made of, joined by " + "
    kernel: str  #: name of the kernel or mix in the plan
    operators: list[str]
    engines: list[str]
    params: dict[str, str]  #: of the operator; of a mix empty
    frame: str  #: "64", ..., "imix"; of a mix its frames joined by "+"
    frame_bytes: float  #: with FCS; of a mix of frames the mean
    model: str
    organisation: str  #: described, superscalar, fgmt, smt, cmp
    step: int  #: unit sets, contexts or cores
    unit_sets: int | None  #: of each core, where the organisation sets them
    cores: int
    contexts: int  #: of a core
    clock_mhz: float
    variant: str
    settings: dict[str, Any]  #: what the variant puts in the place of the description's values
    sweeps: list[str]
    labels: list[str]
    messages_per_s: Interval | None = None  #: of the whole chip; None: nothing was simulated (see ``failure``)
    cycles_per_message: Interval | None = None  #: of one context
    line_gbps: Interval | None = None  #: what it sustains
    lines: list[OnLine] = field(default_factory=list)
    ipc: float | None = None  #: instructions of all contexts per cycle of the chip
    instructions_per_message: float | None = None
    kinds: dict[str, float] = field(default_factory=dict)  #: kind of instruction -> share
    branches: float | None = None  #: share of the instructions
    mispredicted: float | None = None  #: of the branches
    caches: list[CacheUse] = field(default_factory=list)
    instruction_cache: str = ""  #: name of the first level's
    data_cache: str = ""
    stalls: dict[str, float] = field(default_factory=dict)  #: cause -> share of the contexts' cycles in which nothing entered the window
    shares: list[Share] = field(default_factory=list)  #: of a mix
    unknown_share: float | None = None
    messages: int = 0  #: simulated in time
    instructions: int = 0
    sampled: bool = False  #: else whole traces
    composed: bool = False  #: of several simulations, one a frame size
    converged: bool = True  #: whether the interval is as narrow as the plan asks
    cached: bool = False  #: whether the outcome was there already
    failure: str = ""

    def cache(self, name: str) -> CacheUse | None:
        """The cache called ``name``."""
        return next((cache for cache in self.caches if cache.name == name), None)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A claim judged once more, with something else in the place of what the paper's own setting is."""

    what: str
    verdict: Verdict
    measured: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of Crowley et al. 1999, and what this run says of it."""

    id: str
    text: str  #: what the paper claims
    criterion: str  #: what counts as reproduced and as partly, fixed beforehand
    verdict: Verdict
    measured: str  #: the figure of this run; of what was not run why
    waits: str  #: what the kernels wait for where the figure is from; empty where that is not known
    sensitivities: list[Sensitivity] = field(default_factory=list)
    note: str = ""  #: what the figure is counted over, where another of this run looks like it

    @property
    def deciding(self) -> list[Sensitivity]:
        """Those by which the verdict would be another."""
        return [s for s in self.sensitivities if s.verdict != self.verdict]


@dataclass(frozen=True, slots=True)
class SweepInfo:
    """A sweep of the plan."""

    name: str
    title: str
    organisation: str
    varied: list[str]  #: paths that it varies


@dataclass(slots=True)
class RunSummary:
    """One analysed run."""

    name: str
    path: str
    study: str
    plan: str
    summary: str
    status: str
    started: str
    finished: str
    command: str
    version: str
    precision_target: float
    machine: dict[str, Any]  #: that simulated: no figure depends on it
    build_info: dict[str, Any]
    inputs: dict[str, dict[str, str]]
    models: list[ModelInfo]
    sweeps: list[SweepInfo]
    points: list[PointSummary]
    claims: list[Claim]
    warnings: list[Warning_]
    failures: list[Failure]
    left_out: list[str]
    labels: list[str]  #: those that every point has
    lines_gbps: list[float]
    line_overhead_bytes: int
    exact: bool
    simulations: int  #: finished
    instructions: int  #: simulated in them
    target: str = ""
    spec: str = ""
    label: str = LABEL
    is_baseline: bool = False
