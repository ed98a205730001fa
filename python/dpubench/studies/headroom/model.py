"""The types of a run of study ``headroom``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from dpubench.analysis.model import Quantity
from dpubench.studies.headroom.plan import Placement
from dpubench.studies.measured.model import PointSummary as MeasuredPoint
from dpubench.studies.measured.model import RunSummary as MeasuredSummary

TAKEN: Final = "cpu_percent"
LEFT: Final = "left_percent"
DELAY: Final = "delay_us"
RATE: Final = "gbps"
PEAK_RATE: Final = "peak_gbps"
BURST: Final = "burst_us"
LEFT_NS: Final = "left_ns_per_packet"
LEFT_CYCLES: Final = "left_cycles_per_packet"
MACHINE: Final = "machine_left_percent"
IDLE: Final = "idle_percent"
KERNEL: Final = "kernel_percent"

#: The first one is never zero, so that its logarithm decides when a point is known well enough.
QUANTITIES: Final = (
    Quantity(TAKEN, "CPU taken", "%", "less"),
    Quantity(LEFT, "CPU left", "%", "more"),
    Quantity(LEFT_NS, "left per packet", "ns", "more"),
    Quantity(LEFT_CYCLES, "left per packet", "cycles", "more"),
    Quantity(DELAY, "largest delay", "us", "more"),
    Quantity(BURST, "time per burst", "us", "less"),
    Quantity(RATE, "rate", "Gb/s", "more"),
    Quantity(PEAK_RATE, "highest rate", "Gb/s", "more"),
    Quantity(MACHINE, "left of the machine", "%", "more"),
    Quantity(IDLE, "in empty polls", "%", "more"),
    Quantity(KERNEL, "in kernel threads", "%", "less"),
)
#: Quantities that may be zero: their intervals are linear, and a comparison of their ratios would be none.
MAY_BE_ZERO: Final = frozenset({LEFT, LEFT_NS, LEFT_CYCLES, DELAY, MACHINE, IDLE, KERNEL})

#: What limits the highest rate of a configuration. ``device``: it refused packets; in embedded placement it has no time left, or packets were lost
#: on the way to it. ``sink``: packets were lost on the way to it. ``generator``: neither, so that the sending threads are at their limit.
#: ``line``: the rate of the line, as far as a table tells it.
Limit = Literal["device", "sink", "generator", "line", "unknown"]


@dataclass(frozen=True, slots=True)
class Tried:
    """A configuration of step 1."""

    threads: int
    burst: int
    gbps: float  #: mean over its trials
    blocked: float  #: share of the threads' time in which the device took nothing
    lost: float  #: share of the packets that the sink did not get; 0 without a sink
    free: float | None = None  #: embedded: share of the device's time in which it found nothing to do
    lost_in: float | None = None  #: embedded: share of the packets that the device did not get
    dropped: float | None = None  #: embedded: share of the packets for which the device had no room on its way out


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome of step 1 for one packet size: the smallest configuration that reaches the highest rate."""

    backend: str
    size: int  #: bytes, without FCS
    reuse: int
    threads: int
    burst: int
    gbps: float
    limit: Limit
    is_rising: bool  #: whether the largest number of threads reached a higher rate than fewer
    tried: list[Tried]
    line_gbps: float = 0.0  #: rate of the line, as far as a table tells it; 0: not known
    placement: Placement = "separated"

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, record: dict[str, Any]) -> Selection:
        """Return the selection that :meth:`record` wrote. @raises KeyError, TypeError"""
        return cls(**{**record, "tried": [Tried(**entry) for entry in record["tried"]]})


@dataclass(slots=True)
class Sample:
    """The rate at one delay, over all rounds."""

    delay_us: float
    gbps: float
    low_gbps: float
    high_gbps: float
    number: int


@dataclass(slots=True)
class Fit:
    """An operator set against what is left of the CPU."""

    operator: str
    engine: str
    params: str
    ns_per_packet: float  #: CPU time of the operator on a packet
    low_ns: float
    high_ns: float
    verdict: Literal["fits", "does not fit", "undecided"]
    predicted_gbps: float | None = None  #: rate with the operator in the transmit loop, from both runs
    measured_gbps: float | None = None  #: the same, measured; None: not validated
    low_gbps: float | None = None
    high_gbps: float | None = None


@dataclass(slots=True)
class PointSummary(MeasuredPoint):
    """A back-end in a placement, at a packet size, at a rate, with a kind of work."""

    samples: list[Sample] = field(default_factory=list)
    wanted_gbps: float | None = None  #: the rate to survive, as a mean over rounds; None: nothing was measured
    fits: list[Fit] = field(default_factory=list)

    @property
    def backend(self) -> str:
        return self.parameters["backend"]

    @property
    def placement(self) -> str:
        return self.parameters.get("placement", "separated")

    @property
    def work(self) -> str:
        return self.parameters["work"]


@dataclass(slots=True, kw_only=True)
class RunSummary(MeasuredSummary):
    """One analysed run."""

    points: list[PointSummary]  # type: ignore[assignment]  # each point of this study is one of its own
    selections: list[Selection]
    links: dict[str, str]  #: back-end -> how its two ends are joined
    cpus: int  #: usable CPUs of the target; 0: a table does not tell
    clock: str  #: where the cycles come from; empty: they are not known
    tolerance: float
    imported: bool = False  #: measured elsewhere, and read from files
    operators_run: str = ""  #: run of study operators whose operators were set against what is left
