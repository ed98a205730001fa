"""The record of an analysed run of study ``end-to-end``. It is the one input of the terminal, the report, comparison and export.

:mod:`dpubench.studies.end_to_end.summary` builds it from a run directory. It is plain data without behaviour. Every :class:`Interval` is over rounds
(fresh processes on both sides); with fewer than two rounds its ``low`` and ``high`` are ``nan``. Rates count frames with FCS (L2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from dpubench.analysis.model import AnalysedRun, Interval, Warning_

#: Places where a packet can be lost, in the order of its way; see docs/end-to-end.md.
PLACES: Final = ("client_transmit", "server_receive", "server_drop", "server_transmit", "client_receive")
#: The workload that only sends packets back. It shows the cost of the instrument itself.
NULL_WORKLOAD: Final = "forward"

#: Labels that stand beside every figure. :attr:`PointSummary.labels` and :attr:`RunSummary.labels` hold them.
VIRTUAL_LINK: Final = "virtual link"
SHORT_TRIALS: Final = "short trials, not RFC 2544"
SHARED_CPUS: Final = "split on too few CPUs: proves correctness only"
LAG_UNKNOWN: Final = "latencies not checked: the client's lag is not known packet by packet"

#: Goal exceed ratio of all searches in runs that do not record one.
FORMER_EXCEED: Final = 0.5
#: The rule of three: if none of N packets is lost, the loss ratio lies below 3 / N (95 %), provided that losses are independent of each other.
RULE_OF_THREE: Final = 3.0

Placement = Literal["all-host", "all-device", "split"]
#: The limit of a trial; "" for none.
Limit = Literal["", "client-limited", "stall-limited", "server-limited"]
#: Kind of a point's load: an offered rate, as fast as the port takes packets, a capture's own times, or a rate that the search found.
LoadKind = Literal["rate", "flood", "recorded", "NDR", "PDR"]


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The percentiles of a time in ns, as intervals over the percentiles of the rounds. A withheld percentile has ``nan`` in all its fields."""

    p50: Interval
    p90: Interval
    p99: Interval
    p99_9: Interval
    max: Interval
    mean: Interval | None = None
    #: (upper end of a bucket in ns, packets) of all rounds together, ascending; empty if buckets were not kept
    buckets: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StageCost:
    """The cost of one stage of the server, sampled on some bursts."""

    name: str  #: "parse" and "transmit" belong to the loop, all others to the workload
    engine: str  #: "" for the stages of the loop
    ns_per_packet: Interval
    packets: int  #: packets that passed the stage, in all rounds
    sampled_packets: int  #: packets that were timed
    path: dict[str, Any] = field(default_factory=dict)  #: keys: isa, detail, library, is_hardware
    build_ns: float | None = None  #: median over rounds
    memory_bytes: int | None = None
    verified: str = ""  #: the engine's verification, in words


@dataclass(frozen=True, slots=True)
class Floor:
    """The null workload at the same load, on the same link, in the same rounds. It shows the cost of the instrument itself."""

    point: str  #: id of the null workload's point
    throughput_pps: Interval | None
    latency: Percentiles | None
    residence: Percentiles | None
    server_cpu_share: Interval | None


@dataclass(frozen=True, slots=True)
class Required:
    """The goal that a search sets for a rate (RFC 9971)."""

    loss_ratio: float  #: highest loss ratio of a trial
    exceed_ratio: float  #: share of the trial time at a rate that may lose more
    first_trial_s: float  #: shortest trial of the search
    last_trial_s: float  #: longest trial of the search
    duration_sum_s: float  #: total time of the trials at a rate that decide about it
    width: float  #: relative distance of the two bounds at which the search ends


@dataclass(frozen=True, slots=True)
class CeilingSummary:
    """The highest rate that the client could offer on a link with one schedule; see :mod:`dpubench.studies.end_to_end.ceiling`."""

    port: str
    frame: str
    server_cpus: int
    end: str
    schedule: str
    asked_pps: float
    held_pps: float | None
    missed_pps: float | None  #: None: the client kept up with every rate of the plan
    limit_pps: float | None  #: loads above it were left out
    margin: float
    processes: int
    trials: int
    seconds: float
    left_out: int  #: points left out


@dataclass(slots=True)
class PointSummary:
    """One configuration at one load. Its trials are reduced to intervals over rounds."""

    id: str  #: ``<configuration>/<load>``
    configuration: str  #: id shared by all points that differ only in their load
    workload: str
    params: dict[str, str]
    engines: dict[str, str]  #: stage -> engine; for the null workload only those that its port needs
    placement: Placement
    server_target: str  #: target of the server, or of the first part of a split: "local" or a name
    device_target: str  #: target of the second part of a split; else ""
    port: str  #: kind of port, such as "memif"
    port_driver: str  #: such as "net_memif"; "" if the port was never open
    is_virtual: bool  #: a software link
    server_cpus: int
    frame: str  #: "64", ..., or "imix"
    frame_bytes: float  #: bytes with FCS; for a mix the mean
    traffic: dict[str, str]  #: settings of the traffic model or capture that no other field holds: flows, popularity, payload, signature_share
    schedule: str  #: constant, poisson, burst, interval, recorded, flood
    load: str  #: for people: "1Mpps", "10Gb/s", "interval 100ns", "flood", "NDR", "PDR"
    load_kind: LoadKind
    offered_pps: float | None  #: the rate asked for; None without one: NDR and PDR (see ``throughput_pps``), flood, recorded
    loss_goal: float | None  #: loss ratio that the search was for; NDR and PDR only
    is_null: bool = False  #: whether this is the null workload, the floor of other points
    floor: Floor | None = None
    rounds: int = 0  #: rounds with a valid trial; for NDR and PDR with a rate found
    trials: int = 0
    trial_s: float = 0.0  #: measured part of a trial; for a search the longest
    converged: bool = False  #: whether the throughput is as precise as the plan asks
    precision: float = float("nan")  #: relative half width that the throughput reached
    not_converged: list[str] = field(default_factory=list)  #: figures less precise than the plan asks, as :mod:`.convergence` names them

    #: Packets that came back to the client; for NDR and PDR the highest rate found. None: no valid trial (see ``limits``, ``failure``).
    throughput_pps: Interval | None = None
    throughput_gbps: Interval | None = None  #: L2
    loss_ratio: Interval | None = None  #: share of the packets due
    loss_by_place: dict[str, Interval] = field(default_factory=dict)  #: place -> share of the packets due; all of :data:`PLACES`, or none
    #: share of the server's CPU time in the measured part: the application's time and the kernel's receive work for it
    server_cpu_share: Interval | None = None
    #: the application's part: polls of the server's loops that found packets; None for an eBPF program, which runs in the kernel's receive work
    server_application_share: Interval | None = None
    #: the kernel's part, its receive work; None if the loops themselves receive
    server_receive_work_share: Interval | None = None
    #: both parts by the packets that the server received in the measured part; for an eBPF program by those that came back to the client
    server_cpu_ns_per_packet: Interval | None = None
    server_cpu_withheld: str = ""  #: why there are no CPU figures ("the kernel's receive work runs on another CPU")
    inserted_share: Interval | None = None  #: share of the measured part's packets that entered a flow in the table; None without a table
    latency: Percentiles | None = None  #: due time to receive burst, both by the client's clock; for NDR and PDR at the rate found
    lag: Percentiles | None = None  #: the client's lag: due time to the reading before the transmit burst; None if not known
    latency_withheld: dict[str, str] = field(default_factory=dict)  #: figure of ``latency`` ("p99_9") -> why it is not shown
    latency_rounds: int = 0  #: rounds with a latency
    latency_packets: int = 0  #: packets behind ``latency``, in all rounds
    latency_packets_least: int = 0  #: packets behind it in the round with the fewest
    timestamp_source: str = ""  #: "client's clock, read once per burst"
    residence: Percentiles | None = None  #: time from the server's receive burst to its transmit burst
    stages: list[StageCost] = field(default_factory=list)
    duplicates: int = 0
    reordered: int = 0
    corrupted: int = 0
    wrong: int = 0
    flows_checked: int = 0
    #: all trials by their :data:`Limit`; client-limited and stall-limited ones were discarded
    tried: dict[str, int] = field(default_factory=dict)
    tried_again: int = 0  #: trials that repeat a discarded one
    counted: int = 0  #: trials behind the figures; for a search all valid ones at the rates found, over all rounds
    counted_s: float = 0.0  #: total time of these trials
    due: int = 0  #: packets due in these trials
    lost: int = 0
    required: Required | None = None  #: goal of the search; NDR and PDR only
    over_goal: int = 0  #: counted trials that lost more than the goal; NDR and PDR only
    left_out: str = ""  #: why the point was left out before anything was measured: the client's ceiling
    bounded_by: str = ""  #: the reason that ended most searches, if it was not the server; NDR and PDR only
    #: rounds by their :data:`Limit`, "" included: the limit of the last trial, or for a search the limit of its upper bound
    limits: dict[str, int] = field(default_factory=dict)
    #: verdict over the rounds: the limit of most of them; for a rate of most valid ones, if there are any.
    #: No other limit than "server-limited" is a statement on the server
    limit: Limit = ""
    labels: list[str] = field(default_factory=list)  #: labels that stand beside every figure: see above
    failure: str = ""  #: why the point failed
    unavailable: str = ""  #: why the point cannot run here
    verified: str = ""  #: what was right at a point of an emulated target, in words; it has no figures, since its times mean nothing
    warnings: list[Warning_] = field(default_factory=list)
    round_pps: list[float] = field(default_factory=list)  #: throughput of each round, in round order
    round_p50_ns: list[float] = field(default_factory=list)
    round_p99_ns: list[float] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class RunSummary(AnalysedRun):
    """One analysed run."""

    workloads: dict[str, dict[str, Any]]  #: catalog entries (hello.catalog.workloads) of the run's workloads
    ports: dict[str, dict[str, Any]]  #: catalog entries (hello.catalog.ports) of the run's kinds of port
    points: list[PointSummary]
    labels: list[str]  #: labels that every point has
    rounds: int
    trials: int
    times_mean_nothing: bool = False  #: whether the run only tells right answers from wrong ones; it then has no time or rate
    ceilings: list[CeilingSummary] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)  #: trials of all rounds by their :data:`Limit`; a search's trials count once, not per goal
    tried_again: int = 0
