"""What an analysed run consists of: the one record type that the terminal, the report, comparison and export are fed from.

Built by :mod:`dpubench.results.summary` from a run directory; consumed by ``cli``, ``studies`` and ``report``. Plain data, no behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

#: Where cycles come from: a counter of the core, in the words of the program that counts, which may add that it does so in user mode only; or the
#: core canary beside.
COUNTED: Final = ("hardware counter", "counter of the virtual machine")
ESTIMATED: Final = "estimated"
#: What energy is, wherever a figure of it is shown.
ENERGY: Final = "package energy, including the package's idle power and other work on it"
#: Label of a target whose outputs are right or wrong, and whose times mean nothing.
EMULATED: Final = "emulated: correctness only"


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate (over rounds a trimmed mean) with its 95 % interval, in the unit of the quantity; ``low == high == nan`` below two rounds."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Warning_:
    """One entry of the closed set in :mod:`dpubench.results.warnings`, beside the number it weakens."""

    code: str
    message: str
    point: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """What did not work: a point, a group or the run."""

    phase: str
    message: str
    point: str | None = None
    group: str | None = None


@dataclass(slots=True)
class PointSummary:
    """One configuration on one engine, target and build, with all its windows reduced to intervals."""

    id: str
    operator: str
    params: dict[str, str]  #: all parameters, ``size`` in bytes as text
    threads: int
    burst: int
    footprint: str  #: "resident", "stream" or "memory"
    engine: str
    target: str  #: "local" or the target's name
    build: str  #: label of the program's build; "" unless two builds are in the run
    operator_version: int
    input_name: str
    input_sha256: str
    in_flight: int = 0  #: jobs in flight that the plan asked for; 0: a synchronous engine, or the engine's default (``path`` has the effective one)
    rounds: int = 0
    windows: int = 0
    ops_per_s: Interval | None = None  #: None: nothing was measured (see ``failure``/``unavailable``)
    ns_per_op: Interval | None = None  #: window wall time / operations of all threads
    gbps: Interval | None = None  #: bits per ns; only where the operator processes all bytes, in this mode
    primary: Interval | None = None  #: in ``primary_unit``
    primary_unit: str = ""  #: "Gb/s", "Mops/s" or "kops/s"
    metrics: dict[str, Interval] = field(default_factory=dict)  #: what belongs to the operator (ratio, matches)
    cycles_per_op: Interval | None = None  #: core cycles of all threads
    cycles_source: str = ""  #: one of :data:`COUNTED`, perhaps "..., user mode only", or "estimated"; "" without cycles
    energy_nj_per_op: Interval | None = None  #: of the processor packages: their idle power and other work on them included
    canary_ratio: Interval | None = None  #: rate over the core-bound canary's rate, same alternation
    converged: bool = False  #: of the rate, which the plan's precision asks for
    precision: float = float("nan")  #: relative half width of the interval reached, of the rate
    not_converged: list[str] = field(default_factory=list)  #: figures known less precisely than the plan asks, by field, metrics by name
    ratio_to_reference: Interval | None = None  #: pairwise within rounds; 1.0 for the reference itself
    is_best: bool = False  #: the fastest engine of its configuration, on its target and build
    next_best: str = ""  #: of the best: the next best measured engine of another library (:mod:`~dpubench.results.headline`); "" if there is none
    ratio_to_next_best: Interval | None = None  #: pairwise within rounds
    next_best_unmeasured: list[str] = field(default_factory=list)  #: engines that may be the next best: an earlier version did not measure them
    build_ns: float | None = None  #: time to build tables, median over rounds
    memory_bytes: int | None = None  #: of tables, compiled rules
    footprint_bytes: int | None = None  #: of a thread's buffers as they lie
    touched_bytes: int | None = None  #: of a thread's buffers: cache lines that every engine reads or writes; None: not known (earlier versions)
    distinct_messages: int | None = None  #: that differ among these buffers
    distinct_keys: int | None = None  #: that they look up or hash; None: the operator has none
    touched_level: str = ""  #: the smallest cache that holds the touched lines: "L1d", "L2", "L3", "memory"; "" where it is not known
    state_level: str = ""  #: likewise for ``memory_bytes`` of tables, compiled rules
    path: dict[str, Any] = field(default_factory=dict)  #: isa, detail, library, is_hardware; of a device engine driver, device, in_flight
    program: str = ""  #: name of the contract program that has the engine; "" for one of our own
    verified: dict[str, Any] = field(default_factory=dict)  #: known_answers, compared, how
    unavailable: str = ""  #: reason why the engine cannot run here
    failure: str = ""  #: reason why the point failed
    warnings: list[Warning_] = field(default_factory=list)
    round_rates: list[float] = field(default_factory=list)  #: median ops/s of each round, in round order
    round_canary_ratios: list[float] = field(default_factory=list)  #: median of rate / core canary of each round that has both
    round_layouts: list[int] = field(default_factory=list)  #: code layout of each round of ``round_rates``; empty where a program did not say
    layouts: int = 0  #: code layouts among its rounds; 0: all rounds had one, whose effect on the figure no interval holds
    layout_share: Interval | None = None  #: of the variance of its rounds, between code layouts (0 to 1); None where no layout came twice
    layout_deviation: float | None = None  #: relative standard deviation of its rate between code layouts (0.01: 1 %)

    #: Median of memory canary / core canary beside the point, of each of ``round_rates``; ``nan`` where a round lacks them.
    round_memory: list[float] = field(default_factory=list)

    @property
    def configuration(self) -> tuple[str, tuple[tuple[str, str], ...], int, int, str]:
        """What two points share when they differ in engine, jobs in flight, target or build only."""
        return (self.operator, tuple(sorted(self.params.items())), self.threads, self.burst, self.footprint)

    @property
    def engine_word(self) -> str:
        """The engine, with the jobs in flight where the plan gave them: ``cryptodev~128``."""
        return f"{self.engine}~{self.in_flight}" if self.in_flight else self.engine

    @property
    def jobs_in_flight(self) -> int:
        """As many as really were; 0: a synchronous engine, or it was not measured."""
        found = self.path.get("in_flight")
        return found if isinstance(found, int) else self.in_flight

    @property
    def size_bytes(self) -> int | None:
        """Message size, where the operator has one."""
        size = self.params.get("size", "")
        return int(size) if size.isdecimal() else None


@dataclass(frozen=True, slots=True)
class BuildPair:
    """The same point in two builds that alternated within one run (``run --against``), reduced to one ratio per round."""

    old: str  #: point id
    new: str  #: point id
    round_ratios: list[float]  #: median over the round's cycles of new rate / old rate
    round_cycles: list[int]  #: cycles behind each of them
    round_layouts: list[int] = field(default_factory=list)  #: code layout of each, of the build that has more; empty where neither said


@dataclass(slots=True)
class RunSummary:
    """One analysed run."""

    name: str
    path: str
    study: str
    plan: str
    status: str  #: running, complete, interrupted, failed
    started: str  #: ISO 8601, UTC
    finished: str
    command: str
    version: str
    precision_target: float  #: relative half width asked for
    machine: dict[str, Any]
    build_info: dict[str, Any]
    inputs: dict[str, dict[str, str]]  #: kind -> {name, sha256, date?}
    operators: dict[str, dict[str, Any]]  #: catalog entries (see docs/architecture.md, hello.catalog) of the operators involved
    points: list[PointSummary]
    warnings: list[Warning_]
    failures: list[Failure]
    left_out: list[str]  #: what the plan leaves out, in words
    canaries: dict[str, list[float]] = field(default_factory=dict)  #: canary-core, canary-memory -> median steps/s of each round
    canary_window_ms: dict[str, float] = field(default_factory=dict)  #: canary -> median length of its windows
    build_pairs: list[BuildPair] = field(default_factory=list)  #: only where two builds are in the run
    engine_dirs: list[str] = field(default_factory=list)  #: ``--engine-dir``
    given_inputs: dict[str, list[str]] = field(default_factory=dict)  #: kind -> ``--input``; defaults are not in it
    devices: list[str] = field(default_factory=list)  #: ``--device``
    target: str = "local"  #: where it was measured, as in point ids
    spec: str = ""  #: what ``target`` stands for; "" for runs of earlier versions
    label: str = ""  #: words that stand beside every figure of it; "" where there is nothing to say
    run_set: str = ""  #: name of the run of several targets that it belongs to
    is_baseline: bool = False  #: whether the other targets of its set are set against it
    lost: str = ""  #: why its target was lost before it was complete

    @property
    def times_mean_nothing(self) -> bool:
        """Whether it tells right from wrong only: it has no time, rate or ratio then."""
        return self.label == EMULATED

    def all_warnings(self) -> list[Warning_]:
        """Those of the run and of its points, each once: one that concerns a point is listed in both places."""
        return list(dict.fromkeys([*self.warnings, *(w for p in self.points for w in p.warnings)]))


#: Of rates; ``more`` and ``fewer`` are of counts, which are no times.
Verdict = Literal["faster", "slower", "more", "fewer", "undecided", "same", "not comparable"]


@dataclass(slots=True)
class Comparison:
    """One row of old against new (or of a run against the baseline run)."""

    configuration: str
    old: str | None  #: point id
    new: str | None
    ratio: Interval | None  #: new rate / old rate
    verdict: Verdict
    p_value: float | None
    reason: str  #: why undecided or not comparable; else ""
