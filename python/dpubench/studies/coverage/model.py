"""What an analysed run of study ``coverage`` consists of: the one record type that the terminal, the report, comparison and export are fed from.

Built by :mod:`dpubench.studies.coverage.summary` from a run directory. Plain data, no behaviour. ``nan`` and None stand for what was not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpubench.cores.characteristics import Counts
from dpubench.cores.models import LABEL
from dpubench.results.model import Failure, Interval, Warning_
from dpubench.studies.modelled.models import ModelInfo

#: A hull of whose own points fewer than this share are mixtures of the others holds hardly anything but its corners.
FEW_INSIDE = 0.1
#: Where characteristics come from.
MODELLED = "modelled"
MEASURED = "measured"


@dataclass(slots=True)
class InputSummary:
    """A whole program on one of its inputs: one simulation."""

    id: str
    name: str
    instructions: int = 0
    phases: int = 0
    inside: int = 0  #: of the phases: those inside the operators' hull
    failure: str = ""


@dataclass(slots=True)
class PointSummary:
    """An operator, an application or a workload; a whole program is the sum over its inputs."""

    id: str
    kind: str  #: "operator", "application" or "workload"
    name: str
    operators: list[str]  #: of an application: what it is composed of; of an operator itself
    engine: str
    params: dict[str, str]
    message_bytes: int | None
    model: str
    origin: str  #: "modelled, of MODEL" or "measured"
    labels: list[str]
    characteristics: dict[str, float | None] = field(default_factory=dict)  #: None: not counted
    ipc: Interval | None = None  #: of sampled messages with an interval; None: see ``failure``
    instructions: int = 0
    unknown_share: float | None = None  #: of the instructions; None where nothing says so
    sampled: bool = False
    cached: bool = False
    inputs: list[InputSummary] = field(default_factory=list)  #: of a whole program
    failure: str = ""

    @property
    def there(self) -> bool:
        """Whether it has characteristics."""
        return bool(self.characteristics)


@dataclass(slots=True)
class Composition:
    """An application beside the mixture of its operators that is nearest to it."""

    application: str  #: id of the point
    weights: dict[str, float]  #: id of an operator's point -> share of the instructions; they sum to 1
    characteristics: dict[str, float]  #: of the mixture
    differences: dict[str, float]  #: application minus mixture, in standard deviations
    distance: float  #: to the mixture, in standard deviations of counts per instruction
    missing: list[str]  #: operators of the application that have no point


@dataclass(slots=True)
class Outside:
    """By what phases of a whole program are outside."""

    cost: str  #: counted per instruction (:data:`dpubench.cores.characteristics.COSTS`)
    above: bool  #: beyond the largest mixture; else below the smallest
    phases: int


@dataclass(slots=True)
class Covered:
    """How far operators cover a whole program."""

    point: str  #: id
    phases: int
    inside: int
    share: Interval
    near: int  #: phases inside or at most one standard deviation off
    whole_inside: bool  #: whether the program as a whole, all phases together, is a mixture of operators
    whole_distance: float
    median_distance: float  #: of the phases outside, in standard deviations; ``nan`` where there is none
    largest_distance: float
    outside: list[Outside]  #: what is farthest off, of each phase outside; most frequent first


@dataclass(slots=True)
class LeftOut:
    """What is covered without one operator."""

    operator: str
    share: float  #: of all applications
    change: float  #: to the share with all operators
    near_change: float  #: the same of phases inside or at most one standard deviation off
    in_hull: bool  #: whether the others' hull holds this operator


@dataclass(slots=True)
class Component:
    """A principal component."""

    variance: float  #: share that it explains
    loadings: dict[str, float]  #: characteristic -> entry of the unit vector


@dataclass(frozen=True, slots=True)
class Hull:
    """How much the operators' hull can hold."""

    points: int  #: operators, each with every engine and size of the run
    dimensions: int  #: of the space of counts per instruction, without those that are the same everywhere
    rank: int  #: dimensions that its points span
    own_inside: int  #: of its points: those that are mixtures of the others

    @property
    def thin(self) -> bool:
        """Whether it has so few points that what is outside says little: it is flat, or hardly one more operator would be inside either."""
        return self.rank < self.dimensions or self.own_inside < FEW_INSIDE * self.points


@dataclass(slots=True)
class Space:
    """The analysis of a run's points."""

    names: dict[str, str]  #: id of a point that is in it -> name
    operators: int  #: that the hull is made of; their points may be more
    hull: Hull
    characteristics: list[str]  #: that it is of: those that every point has
    dropped: list[str]  #: not counted of some point
    constant: list[str]  #: the same of every point
    mean: dict[str, float]
    deviation: dict[str, float]
    components: list[Component]
    scores: dict[str, list[float]]  #: id of a point -> coordinates by component
    phase_scores: dict[str, list[list[float]]]  #: id of a whole program's point -> those of its phases, first two components, thinned
    compositions: list[Composition]
    covered: list[Covered]
    share: Interval | None  #: of application phases inside; None without applications
    near_share: float | None  #: of applications' phases inside or at most one standard deviation off; they weigh alike
    workload_share: Interval | None
    few_inputs: dict[str, int]  #: applications with too few inputs for an interval, and how many: in that of all they count as they are
    left_out: list[LeftOut]


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
    machine: dict[str, Any]
    build_info: dict[str, Any]
    inputs: dict[str, dict[str, str]]
    models: list[ModelInfo]
    points: list[PointSummary]
    space: Space | None  #: None: too few points for one
    warnings: list[Warning_]
    failures: list[Failure]
    left_out: list[str]
    labels: list[str]  #: those that every point has
    exact: bool
    phase_instructions: int
    phases: int  #: of each input that were simulated at most; 0: all
    simulations: int  #: finished
    instructions: int  #: simulated in them
    target: str = ""
    spec: str = ""
    label: str = LABEL
    is_baseline: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted of one point, for the analysis: of a whole program its phases too, input by input."""

    point: str
    counts: Counts
    phases: list[list[Counts]] = field(default_factory=list)
