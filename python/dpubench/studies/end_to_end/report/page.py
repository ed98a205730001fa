"""The contents of the page of study ``end-to-end``, as plain data.

Vocabulary of the page: a *variant* is a set of points that differ only in frame size and load; they share engines, placement, port, parameters and
traffic. A *part* is a workload on links of one kind: software links and lines of hardware never stand in one figure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpubench.analysis.model import Interval
from dpubench.report.page import Page as PageOfStudy
from dpubench.studies.end_to_end.model import PointSummary


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant, as the vocabulary above has it."""

    run: int  #: index of its run
    label: str  #: words that tell it from the others of its part
    told: str  #: full description in words
    placement: str
    is_null: bool  #: whether it is the null workload, the floor of the others
    correctness_only: bool  #: whether its times mean nothing


@dataclass(frozen=True, slots=True)
class Beyond:
    """The cost of the application beyond the null workload, at the rates that both sustain."""

    ratio: Interval  #: rate over the null workload's rate
    extra_ns: Interval | None  #: time of one server CPU per packet beyond the null workload's time; None if one of both is not known
    why_no_extra: str = ""


@dataclass(slots=True)
class Sustained:
    """The rates that a variant sustains at one frame size."""

    ndr: PointSummary | None = None  #: None: not searched for
    pdr: PointSummary | None = None
    tried: PointSummary | None = None  #: without a search: the highest offered rate at which nothing was lost
    beyond: Beyond | None = None
    why_no_beyond: str = ""


@dataclass(slots=True)
class Row:
    """A variant over all frame sizes."""

    variant: Variant
    cells: list[Sustained | None]  #: one per frame size; None: not in the plan


@dataclass(frozen=True, slots=True)
class Ratio:
    """A variant against another, at one frame size and load."""

    frame: str
    load: str
    quantity: str  #: "throughput", "latency p50", "latency p99"
    variant: int  #: index into the part's variants
    ratio: Interval | None
    verdict: str  #: faster, slower, same, undecided, not comparable
    reason: str
    paired: bool  #: whether the ratio was formed round by round; else by independent rounds
    rounds: int
    against: int = -1  #: index of the variant of another run that it is set against; -1: the baseline of the part


@dataclass(slots=True)
class Part:
    """A workload on links of one kind."""

    workload: str
    anchor: str
    summary: str
    is_virtual: bool
    links: str  #: in words: "memif (net_memif)"
    labels: list[str]  #: labels that stand beside every figure of the part
    frames: list[str]  #: keys, smallest first
    frame_words: list[str]
    variants: list[Variant]
    rows: list[Row]
    baseline: int | None  #: index of the first run's variant that its others are set against; None: there are no others
    ratios: list[Ratio]  #: ratios of the first run's variants to the baseline
    across: dict[int, list[Ratio]]  #: run -> ratios of its variants, each to the same one in the first run
    answer: str  #: a sentence on the rate that it sustains
    tables: list[str] = field(
        default_factory=list
    )  #: a sentence for each state in which its flow tables began, with the share of packets that entered a flow; empty without such tables
    data: dict[str, Any] = field(default_factory=dict)  #: data of the figures

    @property
    def all_ratios(self) -> list[Ratio]:
        """Return the ratios within the first run and between runs."""
        return [*self.ratios, *(row for rows in self.across.values() for row in rows)]


@dataclass(frozen=True, slots=True)
class Account:
    """The checks of a variant besides time."""

    run: str
    workload: str
    told: str
    trials: int
    client_limited: int  #: trials discarded for this
    stall_limited: int  #: trials discarded for this
    tried_again: int
    flows: int
    duplicates: int
    reordered: int
    corrupted: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Link:
    """A port that the run used."""

    run: str
    kind: str
    driver: str
    summary: str
    is_virtual: bool
    points: int


@dataclass(slots=True)
class Trust:
    """The figures that tell how far to trust the numbers."""

    points: int
    trials: int
    discarded: str  #: trials that were discarded and why, in words
    left_out: int  #: points above the client's ceiling
    rounds: str
    trial_s: str
    why_nothing: str  #: the commonest reason, if nothing was measured
    not_converged: int  #: points whose throughput did not converge
    p99_not_converged: int  #: points whose p99 latency did not converge
    widest: float  #: relative half width of the worst point; nan if none
    widest_where: str
    client_limited: int  #: points with this limit
    stall_limited: int  #: points with this limit
    latency_withheld: int  #: points with a latency that may be the client's own lag
    correctness_only: int
    failed: int
    unavailable: int
    warnings: int
    worst: str
    worst_code: str


@dataclass(slots=True, kw_only=True)
class Page(PageOfStudy):
    """The page of study ``end-to-end``."""

    trust: Trust
    labels: list[str]  #: labels that every point has
    between: list[str]  #: a sentence for each further run against the first
    parts: list[Part]
    accounts: list[Account]
    links: list[Link]
    timestamps: list[str]
    requirements: list[str]  #: goals of the searches, one sentence each
    ceilings: list[tuple[str, str]]  #: (run, the client's ceiling on one link in words)
    latency_floor: str  #: p50 of the null workload, in words; empty if it was not measured
    traffic: str  #: settings of the traffic that all points share
