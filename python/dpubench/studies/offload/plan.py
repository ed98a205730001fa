"""The keys of a plan of study ``offload``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator, model_validator

from dpubench.plans import quantities as q
from dpubench.plans.model import Duration, MeasuredPlan, Word, listed
from dpubench.studies.modelled.plan import word_or

AUTO: Final = "auto"
MOST_RANKS: Final = 65_536
LARGEST: Final = 64 << 20

Pattern = Literal["broadcast", "scatter", "gather", "allgather", "allgather-shared", "all-to-all", "reduce", "allreduce"]
Path = Literal["staged", "direct"]
Assignment = Literal["block", "cyclic", "topology"]
Work = Literal["cache", "memory"]

Cpu = Annotated[int, Field(ge=0, le=65_535)]
Hosts = Annotated[int | Literal["auto"], BeforeValidator(lambda v: word_or(AUTO, v, lambda n: q.count(n, "hosts", MOST_RANKS)))]
Workers = Annotated[int | Literal["auto"], BeforeValidator(lambda v: word_or(AUTO, v, lambda n: q.count(n, "workers", MOST_RANKS)))]
Message = Annotated[
    int | Literal["auto"], BeforeValidator(lambda v: word_or(AUTO, v, q.size_bytes)), PlainSerializer(lambda v: v if v == AUTO else q.format_bytes(v))
]


def _ratio(value: object) -> float:
    """Return a number of at least a hundredth and at most a hundred. @raises ValueError"""
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0.01 <= number <= 100:
        raise ValueError(f"'{str(value)[:40]}' is not a ratio of times: write a number from 0.01 to 100")
    return number


class Plan(MeasuredPlan):
    """Collectives that workers move, over message size, number of workers and assignment, here or on a modelled cluster."""

    OPTIONS: ClassVar[Mapping[str, str]] = {"--size": "sizes", "--workload": "patterns"}
    MAY_BE_EMPTY: ClassVar[frozenset[str]] = MeasuredPlan.MAY_BE_EMPTY | {"host_cpus", "worker_cpus"}

    patterns: Annotated[list[Pattern], BeforeValidator(listed)] = Field(default=["broadcast", "gather", "allgather", "allgather-shared"])
    paths: Annotated[list[Path], BeforeValidator(listed)] = Field(default=["staged", "direct"])
    assignments: Annotated[list[Assignment], BeforeValidator(listed)] = Field(default=["block"])
    #: bytes of a block; ``auto``: some for a look, or those of a cluster's published setting
    sizes: Annotated[list[Message], BeforeValidator(listed)] = Field(default=["auto"])
    work: Annotated[list[Work], BeforeValidator(listed)] = Field(default=["cache"])  #: of the hosts: within their caches, or bound by memory
    #: time of pure compute over that of the reference
    ratios: Annotated[list[Annotated[float, BeforeValidator(_ratio)]], BeforeValidator(listed)] = Field(default=[1.0])
    hosts: Hosts = "auto"  #: ranks that compute; ``auto``: half of the CPUs, or those of a modelled cluster
    #: numbers of ranks that move data; ``auto``: 1, and as many as hosts
    workers: Annotated[list[Workers], BeforeValidator(listed)] = Field(default=["auto"])
    launcher: Literal["auto", "openmpi", "mpich", "slurm"] = "auto"
    host_file: str = ""  #: file with the machines of the hosts, in the form of Open MPI: NAME or NAME slots=N
    worker_file: str = ""  #: file with the machines of the workers: the devices
    host_cpus: Annotated[list[Cpu], BeforeValidator(listed)] = Field(default_factory=list)  #: CPUs of the host ranks of a machine, in turn
    worker_cpus: Annotated[list[Cpu], BeforeValidator(listed)] = Field(default_factory=list)
    attached: dict[str, Word] = Field(default_factory=dict)  #: name of a device's node -> that of the host it belongs to, for assignment topology
    transport: Word = "ucx"
    emulated: Literal["refuse", "allow"] = "refuse"  #: what to do where transfers are not truly one-sided
    window: Duration = 0.05  #: seconds of the iterations of a phase
    iterations: Annotated[int, Field(ge=0, le=10_000)] = 0  #: 0: as many as fill the window
    limit: Duration = 60.0  #: seconds that one phase may take
    #: values of a modelled cluster in place of its description's, such as ``cluster.nodes=512``
    cluster: dict[str, float] = Field(default_factory=dict)

    @field_validator("sizes")
    @classmethod
    def _fit(cls, value: list[int | str]) -> list[int | str]:
        if wrong := [size for size in value if isinstance(size, int) and size > LARGEST]:
            raise ValueError(f"{q.format_bytes(wrong[0])} is out of range: messages have 1 B to {q.format_bytes(LARGEST)}")
        return value

    @field_validator("window")
    @classmethod
    def _is_window(cls, value: float) -> float:
        if not 1e-3 <= value <= 60:
            raise ValueError("is out of range: a window lasts from 1ms to 60s")
        return value

    @field_validator("limit")
    @classmethod
    def _is_limit(cls, value: float) -> float:
        if not 0.1 <= value <= 86_400:
            raise ValueError("is out of range: a phase may take from 100ms to 24h")
        return value

    @model_validator(mode="after")
    def _both_files(self) -> Plan:
        if bool(self.host_file) != bool(self.worker_file):
            there, lacking = ("host_file", "worker_file") if self.host_file else ("worker_file", "host_file")
            raise ValueError(f"{there} needs {lacking}: name the machines of hosts and of workers")
        if bool(self.host_cpus) != bool(self.worker_cpus):
            there, lacking = ("host_cpus", "worker_cpus") if self.host_cpus else ("worker_cpus", "host_cpus")
            raise ValueError(f"{there} needs {lacking}: hosts and workers are pinned apart, or nobody is")
        return self
