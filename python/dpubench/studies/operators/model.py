"""The record of an analysed run of study ``operators``, on which the terminal, the report, the comparison and the export build.

:mod:`dpubench.studies.operators.summary` builds it from a run directory. It is plain data without behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from dpubench.analysis.model import AnalysedRun, Interval, Warning_

#: Meaning of energy, shown with every energy figure.
ENERGY: Final = "package energy, including the package's idle power and other work on it"


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
    in_flight: int = 0  #: jobs in flight that the plan asks for; 0: a synchronous engine, or the engine's default (``path`` has the effective number)
    rounds: int = 0
    windows: int = 0
    ops_per_s: Interval | None = None  #: None: nothing was measured (see ``failure``/``unavailable``)
    ns_per_op: Interval | None = None  #: window wall time / operations of all threads
    gbps: Interval | None = None  #: bits per ns; set only where the operator processes all bytes in this mode
    primary: Interval | None = None  #: in ``primary_unit``
    primary_unit: str = ""  #: "Gb/s", "Mops/s" or "kops/s"
    metrics: dict[str, Interval] = field(default_factory=dict)  #: metrics of the operator (ratio, matches)
    cycles_per_op: Interval | None = None  #: core cycles of all threads
    cycles_source: str = ""  #: one of :data:`COUNTED`, perhaps "..., user mode only", or "estimated"; "" without cycles
    energy_nj_per_op: Interval | None = None  #: energy of the processor packages, including idle power and other work on them
    canary_ratio: Interval | None = None  #: rate / core canary's rate, in the same alternation
    converged: bool = False  #: whether the rate reached the precision that the plan asks for
    precision: float = float("nan")  #: relative half width of the rate's interval
    not_converged: list[str] = field(default_factory=list)  #: figures below the plan's precision or with too few rounds: fields and metrics
    ratio_to_reference: Interval | None = None  #: pairwise within rounds; 1.0 for the reference itself
    is_best: bool = False  #: the fastest engine of its configuration, on its target and build
    next_best: str = ""  #: on the best point: next best measured engine of another library (:mod:`.headline`); "" if there is none
    ratio_to_next_best: Interval | None = None  #: pairwise within rounds
    next_best_unmeasured: list[str] = field(default_factory=list)  #: engines that may be the next best but were not measured (earlier versions)
    build_ns: float | None = None  #: time to build tables, median over rounds
    memory_bytes: int | None = None  #: bytes of tables or compiled rules
    footprint_bytes: int | None = None  #: bytes that the items of a thread's buffers span
    touched_bytes: int | None = None  #: bytes of cache lines that every engine reads or writes in a thread's buffers; None: unknown (earlier version)
    distinct_messages: int | None = None  #: number of different messages in these buffers
    distinct_keys: int | None = None  #: number of different keys that are looked up or hashed; None: the operator has none
    touched_level: str = ""  #: smallest cache that holds the touched lines: "L1d", "L2", "L3", "memory"; "" where it is unknown
    state_level: str = ""  #: the same for ``memory_bytes``
    path: dict[str, Any] = field(default_factory=dict)  #: isa, detail, library, is_hardware; for a device engine also driver, device, in_flight
    program: str = ""  #: name of the contract program that has the engine; "" for an engine of dpubench
    verified: dict[str, Any] = field(default_factory=dict)  #: known_answers, compared, how
    unavailable: str = ""  #: reason why the engine cannot run here
    failure: str = ""  #: reason why the point failed
    warnings: list[Warning_] = field(default_factory=list)
    round_rates: list[float] = field(default_factory=list)  #: median ops/s of each round, in round order
    round_canary_ratios: list[float] = field(default_factory=list)  #: median of rate / core canary's rate of each round that has both
    round_layouts: list[int] = field(default_factory=list)  #: code layout of each round of ``round_rates``; empty where a program did not say
    layouts: int = 0  #: number of code layouts among its rounds; 0: one or unknown, so that no interval holds their effect
    layout_share: Interval | None = None  #: share of its rounds' variance between code layouts (0 to 1); None where no layout came twice
    layout_deviation: float | None = None  #: relative standard deviation of its rate between code layouts (0.01: 1 %)

    #: Median of memory canary / core canary beside the point, for each round of ``round_rates``; ``nan`` where a round lacks them.
    round_memory: list[float] = field(default_factory=list)

    @property
    def configuration(self) -> tuple[str, tuple[tuple[str, str], ...], int, int, str]:
        """Return the key that two points share when they differ only in engine, jobs in flight, target or build."""
        return (self.operator, tuple(sorted(self.params.items())), self.threads, self.burst, self.footprint)

    @property
    def engine_word(self) -> str:
        """Return the engine, with the jobs in flight where the plan gives them: ``cryptodev~128``."""
        return f"{self.engine}~{self.in_flight}" if self.in_flight else self.engine

    @property
    def jobs_in_flight(self) -> int:
        """Return the effective jobs in flight; where the program does not tell them, the number that the plan asks for."""
        found = self.path.get("in_flight")
        return found if isinstance(found, int) else self.in_flight

    @property
    def size_bytes(self) -> int | None:
        """Return the message size in bytes, or None where the operator has none."""
        size = self.params.get("size", "")
        return int(size) if size.isdecimal() else None


@dataclass(frozen=True, slots=True)
class BuildPair:
    """The same point in two builds that alternated within one run (``run --against``), reduced to one ratio per round."""

    old: str  #: point id
    new: str  #: point id
    round_ratios: list[float]  #: median over the round's cycles of new rate / old rate
    round_cycles: list[int]  #: number of cycles behind each ratio
    round_layouts: list[int] = field(default_factory=list)  #: code layout of each, from the build with more layouts; empty where it is unknown


@dataclass(slots=True, kw_only=True)
class RunSummary(AnalysedRun):
    """One analysed run."""

    operators: dict[str, dict[str, Any]]  #: catalog entries of the run's operators (docs/architecture.md, hello.catalog)
    points: list[PointSummary]
    canaries: dict[str, list[float]] = field(default_factory=dict)  #: canary-core, canary-memory -> median steps/s of each round
    canary_window_ms: dict[str, float] = field(default_factory=dict)  #: canary -> median length of its windows
    build_pairs: list[BuildPair] = field(default_factory=list)  #: only where two builds are in the run
    engine_dirs: list[str] = field(default_factory=list)  #: ``--engine-dir``
    given_inputs: dict[str, list[str]] = field(default_factory=dict)  #: kind -> values of ``--input``, without defaults
    devices: list[str] = field(default_factory=list)  #: ``--device``
    times_mean_nothing: bool = False  #: whether the run only tells right outputs from wrong ones; it then has no time, rate or ratio
    run_set: str = ""  #: name of the run of several targets that it belongs to
    lost: str = ""  #: why its target was lost before it was complete

    def all_warnings(self) -> list[Warning_]:
        """Return the warnings of the run and of its points, each once, although both lists have those that name a point."""
        return list(dict.fromkeys([*self.warnings, *(w for p in self.points for w in p.warnings)]))
