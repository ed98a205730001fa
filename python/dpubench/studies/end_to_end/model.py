"""What an analysed run of study ``end-to-end`` consists of: the one record type that the terminal, the report, comparison and export are fed from.

Built by :mod:`dpubench.studies.end_to_end.summary` from a run directory. Plain data, no behaviour. Every :class:`Interval` is over rounds (fresh
processes on both sides); where fewer than two rounds exist its ``low`` and ``high`` are ``nan``. Rates count frames with FCS (L2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from dpubench.results.model import Failure, Interval, Warning_

#: Where a packet can be lost, in the order of its way; docs/end-to-end.md.
PLACES: Final = ("client_transmit", "server_receive", "server_drop", "server_transmit", "client_receive")
#: The workload that does nothing but send back: the instrument's floor.
NULL_WORKLOAD: Final = "forward"

#: Labels, as :attr:`PointSummary.labels` and :attr:`RunSummary.labels` hold them: said beside every figure.
VIRTUAL_LINK: Final = "virtual link"
SHORT_TRIALS: Final = "short trials, not RFC 2544"
SHARED_CPUS: Final = "split on too few CPUs: proves correctness only"
LAG_UNKNOWN: Final = "latencies not checked: the client's lag is not known packet by packet"

#: Goal exceed ratio of every search of before it was written down with the run.
FORMER_EXCEED: Final = 0.5
#: The rule of three: without a loss among N packets the loss ratio lies below 3 / N (95 %), were losses independent of each other.
RULE_OF_THREE: Final = 3.0

Placement = Literal["all-host", "all-device", "split"]
#: What a trial was limited by; "" where it was not.
Limit = Literal["", "client-limited", "stall-limited", "server-limited"]
#: What a point's load is: an offered rate, as fast as the port takes packets, a capture's own times, or what the search found.
LoadKind = Literal["rate", "flood", "recorded", "NDR", "PDR"]


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of a time, in ns; intervals over rounds of each round's percentile. All of one are ``nan`` where it is withheld."""

    p50: Interval
    p90: Interval
    p99: Interval
    p99_9: Interval
    max: Interval
    mean: Interval | None = None
    #: (upper end of a bucket in ns, packets) of all rounds together, ascending; empty where it was not kept
    buckets: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StageCost:
    """What a stage of the server's way costs; sampled on some bursts."""

    name: str  #: "parse" and "transmit" are the loop's own; the others are the workload's
    engine: str  #: "" for the loop's own
    ns_per_packet: Interval
    packets: int  #: that went through it, in all rounds
    sampled_packets: int  #: of which so many were timed
    path: dict[str, Any] = field(default_factory=dict)  #: isa, detail, library, is_hardware
    build_ns: float | None = None  #: median over rounds
    memory_bytes: int | None = None
    verified: str = ""  #: in words


@dataclass(frozen=True, slots=True)
class Floor:
    """The null workload at the same load, on the same link, in the same rounds: what the instrument itself costs."""

    point: str  #: id of that point
    throughput_pps: Interval | None
    latency: Percentiles | None
    residence: Percentiles | None
    server_cpu_share: Interval | None


@dataclass(frozen=True, slots=True)
class Required:
    """What a search asked of a rate: the goal of RFC 9971."""

    loss_ratio: float  #: of a trial, at most
    exceed_ratio: float  #: of the trial time at a rate, what may lose more
    first_trial_s: float  #: trials of a search lie between both lengths
    last_trial_s: float
    duration_sum_s: float  #: of the trials at a rate that decide about it
    width: float  #: of the two bounds at which the search ends, relative


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
    missed_pps: float | None  #: None: the client kept up with all that the plan asks for
    limit_pps: float | None  #: loads above it were left out
    margin: float
    processes: int
    trials: int
    seconds: float
    left_out: int  #: points


@dataclass(slots=True)
class PointSummary:
    """One configuration at one load, all its trials reduced to intervals over rounds."""

    id: str  #: ``<configuration>/<load>``
    configuration: str  #: what points share that differ in load only
    workload: str
    params: dict[str, str]
    engines: dict[str, str]  #: stage -> engine; empty for the null workload
    placement: Placement
    server_target: str  #: where the server (of a split: its first part) ran; "local" or a target's name
    device_target: str  #: where the second part of a split ran; else ""
    port: str  #: kind: "memif"
    port_driver: str  #: "net_memif"; "" before it was open
    is_virtual: bool  #: a software link
    server_cpus: int
    frame: str  #: "64", ..., or "imix"
    frame_bytes: float  #: with FCS; of a mix the mean
    traffic: dict[str, str]  #: what of the traffic model or capture is not in the other fields: flows, popularity, payload, signature_share
    schedule: str  #: constant, poisson, burst, interval, recorded, flood
    load: str  #: for people: "1 Mpps", "10 Gb/s", "interval 100 ns", "flood", "NDR", "PDR"
    load_kind: LoadKind
    offered_pps: float | None  #: of a rate: what was asked for; of NDR and PDR None (see ``throughput_pps``)
    loss_goal: float | None  #: of NDR and PDR: the loss ratio that was searched for
    is_null: bool = False  #: the null workload: other points' floor
    floor: Floor | None = None
    rounds: int = 0  #: that this point has valid trials of
    trials: int = 0
    trial_s: float = 0.0  #: measured part of a trial (of a search its longest)
    converged: bool = False  #: of the throughput, which the plan's precision asks for
    precision: float = float("nan")  #: relative half width reached, of the throughput
    not_converged: list[str] = field(default_factory=list)  #: figures known less precisely than the plan asks, as :mod:`.convergence` names them

    #: What came back to the client; of NDR and PDR the highest rate found. None: no valid trial (see ``limits``, ``failure``).
    throughput_pps: Interval | None = None
    throughput_gbps: Interval | None = None  #: L2
    loss_ratio: Interval | None = None  #: of what was due
    loss_by_place: dict[str, Interval] = field(default_factory=dict)  #: place -> share of what was due; all of :data:`PLACES` where it is known
    #: of the server's CPUs in the measured part: the application's time and the kernel's receive work for it
    server_cpu_share: Interval | None = None
    #: of that the application's: polls of the server's loops that found packets; None of an eBPF program, which runs in the kernel's receive work
    server_application_share: Interval | None = None
    #: of that the kernel's receive work; None where the loops themselves receive
    server_receive_work_share: Interval | None = None
    server_cpu_ns_per_packet: Interval | None = None  #: both, over the packets that the server received in the measured part
    server_cpu_withheld: str = ""  #: why there are no such figures ("the kernel's receive work runs on another CPU")
    inserted_share: Interval | None = None  #: of the packets of the measured part, those that entered a flow in the table; None without a table
    latency: Percentiles | None = None  #: due time to receive burst, both of the client's clock; of NDR and PDR at that load
    lag: Percentiles | None = None  #: of the client: due time to the reading before the transmit burst; None where it is not known
    latency_withheld: dict[str, str] = field(default_factory=dict)  #: figure of ``latency`` ("p99_9") -> why it is not shown
    latency_rounds: int = 0  #: that have a latency
    latency_packets: int = 0  #: that ``latency`` is of, in all rounds
    latency_packets_least: int = 0  #: in the round that has fewest
    timestamp_source: str = ""  #: "client's clock, read once per burst"
    residence: Percentiles | None = None  #: the server's receive burst to its transmit burst
    stages: list[StageCost] = field(default_factory=list)
    duplicates: int = 0
    reordered: int = 0
    corrupted: int = 0
    wrong: int = 0
    flows_checked: int = 0
    #: trials by their :data:`Limit`, all that were tried: client-limited and stall-limited ones were discarded
    tried: dict[str, int] = field(default_factory=dict)
    tried_again: int = 0  #: of them those that repeat a discarded one
    counted: int = 0  #: trials behind the figures; of a search all at the rates found, over all rounds
    counted_s: float = 0.0  #: how long they took together
    due: int = 0  #: packets of these trials
    lost: int = 0
    required: Required | None = None  #: of NDR and PDR
    over_goal: int = 0  #: of NDR and PDR: counted trials that lost more than the goal
    left_out: str = ""  #: reason why it was left out before anything was measured: the client's ceiling
    bounded_by: str = ""  #: of NDR and PDR: what ended most searches, where the server did not
    #: rounds by the :data:`Limit` of the trial that counts, of a search by what bounded it; "" among them
    limits: dict[str, int] = field(default_factory=dict)
    #: the verdict over its rounds: what most trials that were limited were limited by; never a statement on the server but with "server-limited"
    limit: Limit = ""
    labels: list[str] = field(default_factory=list)  #: to be said beside every figure: see above
    failure: str = ""  #: reason why the point failed
    unavailable: str = ""  #: reason why it cannot run here
    warnings: list[Warning_] = field(default_factory=list)
    round_pps: list[float] = field(default_factory=list)  #: throughput of each round, in round order
    round_p50_ns: list[float] = field(default_factory=list)
    round_p99_ns: list[float] = field(default_factory=list)


@dataclass(slots=True)
class RunSummary:
    """One analysed run."""

    name: str
    path: str
    study: str
    plan: str
    summary: str  #: of the plan, in words
    status: str  #: running, complete, interrupted, failed
    started: str  #: ISO 8601, UTC
    finished: str
    command: str
    version: str
    precision_target: float
    machine: dict[str, Any]
    build_info: dict[str, Any]
    inputs: dict[str, dict[str, str]]  #: kind -> {name, sha256, date?}
    workloads: dict[str, dict[str, Any]]  #: catalog entries (hello.catalog.workloads) of those involved
    ports: dict[str, dict[str, Any]]  #: catalog entries (hello.catalog.ports) of those involved
    points: list[PointSummary]
    warnings: list[Warning_]
    failures: list[Failure]
    left_out: list[str]  #: what the plan leaves out, in words
    labels: list[str]  #: those that every point has
    rounds: int
    trials: int
    target: str = "local"
    spec: str = ""
    label: str = ""  #: of the target, as in the other study
    ceilings: list[CeilingSummary] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)  #: trials of all rounds by their :data:`Limit`; those of a search once
    tried_again: int = 0
    is_baseline: bool = False  #: whether others are set against it, where a report holds several
