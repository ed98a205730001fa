"""The keys of a plan of study ``end-to-end``, with their checks and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from dpubench.plans import quantities as q
from dpubench.plans.frames import Frame
from dpubench.plans.model import Duration, MeasuredPlan, Share, Strict, Word, listed, word

FLOOD: Final = "flood"
RECORDED: Final = "recorded"
MAX_BURST: Final = 256
#: The target that is this machine.
LOCAL: Final = "local"
#: Placements that tell where the client's link ends. The link of a split ends at the same place as the link of all-host.
LINK_ENDS: Final = ("all-host", "all-device")
#: A trial of at least this length is one of RFC 2544.
RFC2544_TRIAL_S: Final = 60.0


class Rate:
    """An offered load as it was written: ``2Mpps``, ``10Gb/s``, ``flood`` (as fast as the port takes packets) or ``recorded`` (a capture's times)."""

    __slots__ = ("bps", "pps", "word")

    def __init__(self, word: object) -> None:
        self.word = str(word).strip()
        self.pps: float | None = None
        self.bps: float | None = None
        if self.word in (FLOOD, RECORDED):
            return
        if self.word.endswith("pps"):
            self.pps = q.rate_pps(word)
        elif self.word.endswith("/s"):
            self.bps = q.rate_bps(word)
        else:
            raise ValueError(f"'{self.word[:40]}' is not a rate: write 2Mpps, 10Gb/s (of frames with FCS), {FLOOD} or {RECORDED}")

    def of_frames(self, mean_bytes: float) -> float | None:
        """Return the packets per second for frames of ``mean_bytes`` with FCS; None for ``flood`` and ``recorded``."""
        return self.bps / (8 * mean_bytes) if self.bps is not None else self.pps

    def __repr__(self) -> str:
        return self.word

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rate) and other.word == self.word

    def __hash__(self) -> int:
        return hash(self.word)


def _rate(value: object) -> Rate:
    return value if isinstance(value, Rate) else Rate(value)


def _share(value: object) -> float:
    """Return a share of packets as a fraction; 0 % and 100 % are allowed."""
    text = str(value).strip()
    return {"0%": 0.0, "100%": 1.0}[text] if text in ("0%", "100%") else q.fraction(value)


def _half_share(value: object) -> float:
    """Return a share of at most one half. @raises ValueError it is larger"""
    share = _share(value)
    if share > 0.5:
        raise ValueError(f"a share of the segments must lie between 0% and 50%, not {share * 100:g}%")
    return share


def _seconds(value: object) -> float:
    return 0.0 if str(value).strip() in ("0s", "0ms", "0us") else q.duration_s(value)


def _count(what: str, most: int) -> BeforeValidator:
    return BeforeValidator(lambda value: q.count(value, what, most))


def _processes(value: object) -> int:
    return 0 if str(value).strip() == "0" else q.count(value, "processes", 100)


def _ratio(value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        raise ValueError(f"'{str(value)[:40]}' is not a number") from None
    if not 0 <= number < 1e9:
        raise ValueError(f"must lie between 0 and a billion, not {value}")
    return number


def _argument(value: object) -> object:
    """Return an argument of a port as a word, or a mapping that holds the arguments of a placement with their values as words."""
    if not isinstance(value, dict):
        return word(value)
    for name, inner in value.items():
        if isinstance(inner, (dict, list)):
            raise ValueError(f"{name}: expected a word or a number, not {type(inner).__name__}")
    return {str(name): word(inner) for name, inner in value.items()}


def _workload(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


AnyShare = Annotated[float, BeforeValidator(_share), PlainSerializer(lambda v: f"{v * 100:g}%")]
HalfShare = Annotated[float, BeforeValidator(_half_share), PlainSerializer(lambda v: f"{v * 100:g}%")]
Seconds = Annotated[float, BeforeValidator(_seconds), PlainSerializer(q.format_duration)]
OfferedRate = Annotated[Any, BeforeValidator(_rate), PlainSerializer(str)]
Number = Annotated[float, BeforeValidator(_ratio)]
Argument = Annotated[str | dict[str, str], BeforeValidator(_argument)]
Words = Annotated[list[Word], BeforeValidator(listed)]


class Workload(Strict):
    """A network application. Several values of a parameter, or engines of a stage, are measured side by side."""

    name: Word
    params: dict[str, Words] = Field(default_factory=dict)
    engines: dict[str, Words] = Field(default_factory=dict)  #: stage -> engines, in place of the plan's ``engines``


class Payload(Strict):
    """The bytes behind the headers."""

    source: Literal["random", "capture", "corpus"] = "random"
    signature_share: AnyShare = 0.0  #: share of packets (with segments: of messages) that carry a signature of the rules


class Traffic(Strict):
    """A traffic model, or a capture."""

    source: Literal["model", "capture"] = "model"
    flows: Annotated[int, _count("flows", 16_000_000)] = 10_000
    popularity: Literal["zipf", "uniform"] = "zipf"
    zipf_exponent: Number = 1.0
    churn_per_s: Number = 0.0
    protocol: Literal["udp", "tcp"] = "udp"
    version: Literal[4, 6] = 4
    payload: Payload = Field(default_factory=Payload)
    segments: Annotated[int, _count("segments", 64)] = 1
    retransmit_share: HalfShare = 0.0  #: share of the segments that repeat an earlier one
    overlap_share: HalfShare = 0.0  #: share of the segments that begin with bytes of the one before

    @model_validator(mode="after")
    def _has_segments(self) -> Traffic:
        for key in ("retransmit_share", "overlap_share"):
            if getattr(self, key) and self.segments == 1:
                raise ValueError(f"traffic.{key} needs TCP messages of several segments: set traffic.segments above 1 and traffic.protocol to tcp")
        return self


class Trial(Strict):
    """The phases of a trial at one rate, in seconds: ``ramp`` does not count, ``duration`` is measured, and nothing is sent in ``drain``."""

    ramp: Seconds = 0.05
    duration: Duration = 0.5
    drain: Seconds = 0.05


class Search(Strict):
    """The search for the highest rate within a loss ratio, by multiple loss ratio search (RFC 9971)."""

    goals: Annotated[list[Literal["NDR", "PDR"]], BeforeValidator(listed)] = Field(default=["NDR", "PDR"])  #: [] for no search
    pdr_loss: Share = 0.005
    #: share of the trial time at a rate that may lose more than the goal while the rate still counts as within it (goal exceed ratio of RFC 9971)
    ndr_exceed: AnyShare = 0.0
    pdr_exceed: AnyShare = 0.5
    width: Share = 0.02  #: relative distance of the bounds at which a search ends
    min_rate: OfferedRate = Field(default=Rate("10kpps"), validate_default=True)
    max_rate: OfferedRate = Field(default=Rate("20Mpps"), validate_default=True)
    first_trial: Duration = 0.2
    last_trial: Duration = 0.5
    duration_sum: Duration = 1.0  #: total time of the trials at a rate that make it a bound
    limit: Duration = 60.0  #: a search that takes longer is recorded as failed

    @model_validator(mode="after")
    def _ordered(self) -> Search:
        if self.last_trial < self.first_trial:
            raise ValueError("search.last_trial is shorter than search.first_trial: lengthen one or shorten the other")
        if self.duration_sum < self.last_trial:
            raise ValueError(
                "search.duration_sum is shorter than search.last_trial: lengthen one or shorten the other, a bound needs one whole trial"
            )
        for key in ("ndr_exceed", "pdr_exceed"):
            if getattr(self, key) >= 1:
                raise ValueError(f"search.{key}: 100% of the trial time above the goal would accept every rate: write a smaller share")
        for key, rate in (("min_rate", self.min_rate), ("max_rate", self.max_rate)):
            if rate.pps is None:
                raise ValueError(f"search.{key} must be in packets per second: write it as 2Mpps")
        if self.max_rate.pps <= self.min_rate.pps:
            raise ValueError("search.max_rate is not above search.min_rate: raise one or lower the other")
        return self


class Calibration(Strict):
    """The calibration of the client. Before anything else, the null workload measures the highest rate that the client can offer on each link."""

    processes: Annotated[int, BeforeValidator(_processes)] = 3  #: fresh processes on each link; 0: no calibration, and no load is left out by it
    trial: Duration = 0.2
    share: Share = 0.1  #: largest share of the budget


class Memory(Strict):
    """The memory of each program."""

    huge_pages: Literal["auto", "yes", "no"] = "auto"
    mb: Annotated[int, BeforeValidator(lambda v: q.count(v, "MB", 1 << 20))] = 512

    @model_validator(mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        """Return ``value`` with ``yes`` and ``no`` as words again, since YAML reads them as truth values."""
        if isinstance(value, dict) and isinstance(value.get("huge_pages"), bool):
            return value | {"huge_pages": "yes" if value["huge_pages"] else "no"}
        return value


class Plan(MeasuredPlan):
    """A declared experiment of study ``end-to-end``."""

    OPTIONS: ClassVar[Mapping[str, str]] = {"--workload": "workloads", "--engine": "engines", "--size": "frame_sizes", "--param": "params"}
    MAY_BE_EMPTY: ClassVar[frozenset[str]] = frozenset({"leaves_out", "rates", "intervals"})

    study: Word = "end-to-end"
    workloads: Annotated[list[Annotated[Workload, BeforeValidator(_workload)]], BeforeValidator(listed)] = Field(
        default=[Workload(name="flow-table"), Workload(name="application-recognition")]
    )
    params: dict[str, Words] = Field(default_factory=dict)  #: parameter -> values, for every workload that has it
    #: engines of each stage: the default one, the best one (a short trial of each decides), all (one stage varied at a time), or those named
    engines: Literal["default", "best", "all"] | Words = "default"
    ports: Words = Field(default=["memif"])
    #: kind -> argument -> value; under a placement (one of LINK_ENDS) or a target the arguments of its links alone
    port_arguments: dict[str, dict[str, Argument]] = Field(default_factory=dict)
    placements: Annotated[list[Literal["all-host", "all-device", "split"]], BeforeValidator(listed)] = Field(default=["all-host"])
    client: Word = LOCAL  #: target of the client; the server is on each ``target`` in turn
    device: Word = LOCAL  #: target of all-device, and of a split's second part
    split: dict[str, Words] = Field(default_factory=dict)  #: workload -> stages of a split's first part; default: the first stage
    frame_sizes: Annotated[list[Frame], BeforeValidator(listed)] = Field(default=[64, 1518])
    traffic: Traffic = Field(default_factory=Traffic)
    schedule: Literal["constant", "poisson", "burst"] = "constant"  #: schedule of ``rates`` and of the search
    burst_packets: Annotated[int, _count("packets in a burst", 65536)] = 32  #: packets in a burst of schedule burst
    rates: Annotated[list[OfferedRate], BeforeValidator(listed)] = Field(default_factory=list)
    intervals: Annotated[list[Duration], BeforeValidator(listed)] = Field(default_factory=list)  #: times between one packet and the next
    search: Search = Field(default_factory=Search)
    trial: Trial = Field(default_factory=Trial)
    calibration: Calibration = Field(default_factory=Calibration)
    server_cpus: Annotated[list[Annotated[int, _count("CPUs", 1024)]], BeforeValidator(listed)] = Field(default=[1])
    burst: Annotated[int, _count("packets in a burst", MAX_BURST)] = 32
    verify: Literal["all", "sampled"] = "all"
    memory: Memory = Field(default_factory=Memory)
    silence: Duration = 60.0

    @model_validator(mode="after")
    def _has_loads(self) -> Plan:
        if not self.rates and not self.intervals and not self.search.goals:
            raise ValueError("the plan offers no load: set rates, intervals or search.goals")
        if self.traffic.source == "model" and any(rate.word == RECORDED for rate in self.rates):
            raise ValueError(f"rates: {RECORDED} needs a capture's own times: set traffic.source to capture")
        return self
