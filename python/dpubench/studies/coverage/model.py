"""Record types of an analysed run of study ``coverage``. The terminal, the report, comparison and export all read them.

:mod:`dpubench.studies.coverage.summary` builds them from a run directory. They are plain data without behaviour. ``nan`` and None mean: not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dpubench.analysis.model import AnalysedRun, Interval
from dpubench.simulation.characteristics import Counts
from dpubench.studies.modelled.models import ModelInfo

#: Least share of a hull's points that are mixtures of the others. Below it the hull holds hardly anything but its corners.
FEW_INSIDE = 0.1
#: Origins of characteristics.
MODELLED = "modelled"
MEASURED = "measured"


@dataclass(slots=True)
class InputSummary:
    """A whole program on one of its inputs: one simulation."""

    id: str
    name: str
    instructions: int = 0
    phases: int = 0
    inside: int = 0  #: phases inside the operators' hull
    failure: str = ""


@dataclass(slots=True)
class PointSummary:
    """An operator, an application or a workload; a whole program is the sum over its inputs."""

    id: str
    kind: str  #: "operator", "application" or "workload"
    name: str
    operators: list[str]  #: for an application its operators; for an operator itself
    engine: str
    params: dict[str, str]
    message_bytes: int | None
    model: str
    origin: str  #: "modelled, of MODEL" or "measured"
    labels: list[str]
    characteristics: dict[str, float | None] = field(default_factory=dict)  #: None: not counted
    ipc: Interval | None = None  #: has an interval if messages were sampled; None: not counted, or see ``failure``
    instructions: int = 0
    unknown_share: float | None = None  #: share of instructions that the model does not know; None if nothing counted them
    sampled: bool = False
    cached: bool = False
    inputs: list[InputSummary] = field(default_factory=list)  #: inputs of a whole program
    failure: str = ""

    @property
    def there(self) -> bool:
        """Tell whether the point has characteristics."""
        return bool(self.characteristics)


@dataclass(slots=True)
class Composition:
    """An application beside the nearest mixture of its operators."""

    application: str  #: id of the point
    weights: dict[str, float]  #: id of an operator's point -> share of the instructions; they sum to 1
    characteristics: dict[str, float]  #: characteristics of the mixture
    differences: dict[str, float]  #: application minus mixture, in standard deviations
    distance: float  #: distance to the mixture, in standard deviations of counts per instruction
    missing: list[str]  #: operators of the application without a point


@dataclass(slots=True)
class Outside:
    """One cause that puts phases of a whole program outside the hull."""

    cost: str  #: the count per instruction (:data:`dpubench.simulation.characteristics.COSTS`) that is farthest off
    above: bool  #: above the nearest mixture; else below it
    phases: int


@dataclass(slots=True)
class Covered:
    """The part of a whole program that operators cover."""

    point: str  #: id of the point
    phases: int
    inside: int
    share: Interval
    near: int  #: phases inside or at most one standard deviation off
    whole_inside: bool  #: whether the program as a whole, all phases together, is a mixture of operators
    whole_distance: float
    median_distance: float  #: median distance of the phases outside, in standard deviations; ``nan`` if there are none
    largest_distance: float
    outside: list[Outside]  #: causes of the phases outside, one per phase, counted; most frequent first


@dataclass(slots=True)
class LeftOut:
    """The coverage of applications without one operator."""

    operator: str
    share: float  #: share of all applications' phases inside
    change: float  #: that share minus the share with all operators
    near_change: float  #: the same difference for phases inside or at most one standard deviation off
    in_hull: bool  #: whether the others' hull holds this operator


@dataclass(slots=True)
class Component:
    """A principal component."""

    variance: float  #: share of the variance that it explains
    loadings: dict[str, float]  #: characteristic -> entry of the unit vector


@dataclass(frozen=True, slots=True)
class Hull:
    """The size of the operators' hull."""

    points: int  #: points of operators: one per engine and size of the run
    dimensions: int  #: dimensions of the space of counts per instruction, without counts that are the same everywhere
    rank: int  #: dimensions that its points span
    own_inside: int  #: points that are mixtures of the others

    @property
    def thin(self) -> bool:
        """Tell whether the hull has too few points to judge by: it is flat, or hardly any of its own points is a mixture of the others."""
        return self.rank < self.dimensions or self.own_inside < FEW_INSIDE * self.points


@dataclass(slots=True)
class Space:
    """The analysis of a run's points."""

    names: dict[str, str]  #: id of each point in the space -> name
    operators: int  #: operators in the hull; one operator may have several points
    hull: Hull
    characteristics: list[str]  #: characteristics that every point has
    dropped: list[str]  #: characteristics that were not counted for some point
    constant: list[str]  #: characteristics that are the same for every point
    mean: dict[str, float]
    deviation: dict[str, float]
    components: list[Component]
    scores: dict[str, list[float]]  #: id of a point -> coordinates by component
    phase_scores: dict[str, list[list[float]]]  #: id of a whole program's point -> coordinates of some phases by the first two components
    compositions: list[Composition]
    covered: list[Covered]
    share: Interval | None  #: share of application phases inside; None without applications
    near_share: float | None  #: share of application phases inside or at most one standard deviation off; applications weigh equally
    workload_share: Interval | None
    few_inputs: dict[str, int]  #: application -> its inputs, if too few for an interval; the common interval takes its share as certain
    left_out: list[LeftOut]


@dataclass(slots=True, kw_only=True)
class RunSummary(AnalysedRun):
    """One analysed run."""

    models: list[ModelInfo]
    points: list[PointSummary]
    space: Space | None  #: None: too few points for a space
    labels: list[str]  #: labels that every point has
    exact: bool
    phase_instructions: int
    phases: int  #: most phases simulated of each input; 0: all
    simulations: int  #: finished simulations
    instructions: int  #: instructions simulated in them


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one point for the analysis. For a whole program it also has the phases, input by input."""

    point: str
    counts: Counts
    phases: list[list[Counts]] = field(default_factory=list)
