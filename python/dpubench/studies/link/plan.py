"""The keys of a plan of study ``link``."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from dpubench.plans import quantities as q
from dpubench.plans.model import Duration, MeasuredPlan, Size, Word, listed

Test = Literal["throughput", "latency", "transfer", "rdma"]
#: Ways in which a file is protected on its way, from none to encryption by the network card.
Protection = Literal["plain", "tls", "ktls", "ktls-nic"]
LatencyTool = Literal["dpubench-link", "sockperf", "qperf"]
#: Operations of RDMA verbs that perftest measures.
Verb = Literal["send", "write", "read"]

Streams = Annotated[int, BeforeValidator(lambda v: q.count(v, "streams", 128))]


class Plan(MeasuredPlan):
    """The ends are the plan's targets. One target alone, this machine, has two ends: namespaces joined by a virtual link."""

    OPTIONS: ClassVar[Mapping[str, str]] = {"--size": "sizes", "--workload": "tests"}

    tests: Annotated[list[Test], BeforeValidator(listed)] = Field(default=["throughput", "latency", "transfer"])
    directions: Annotated[list[Literal["forward", "backward"]], BeforeValidator(listed)] = Field(default=["forward", "backward"])
    #: bytes that a program hands to the kernel at once (throughput), or that go each way (latency)
    sizes: Annotated[list[Size], BeforeValidator(listed)] = Field(default=[1, 64, 1024, 65536, 1 << 20])
    latency_sizes: Annotated[list[Size], BeforeValidator(listed)] = Field(default=[1, 64, 1024, 65536])
    streams: Annotated[list[Streams], BeforeValidator(listed)] = Field(default=[1])
    latency_tools: Annotated[list[LatencyTool], BeforeValidator(listed)] = Field(default=["dpubench-link"])
    file: Size = 64 << 20  #: bytes of the file of test transfer
    protections: Annotated[list[Protection], BeforeValidator(listed)] = Field(default=["plain", "tls", "ktls", "ktls-nic"])
    verbs: Annotated[list[Verb], BeforeValidator(listed)] = Field(default=["send", "write", "read"])
    duration: Duration = 1.0  #: seconds of one measurement
    #: ``veth``: namespaces and a virtual link that are made for the run; ``loopback``: no network at all; ``network``: what joins the targets
    path: Literal["auto", "veth", "loopback", "network"] = "auto"
    mtu: Annotated[int, Field(ge=576, le=65535)] = 1500  #: bytes of an IP packet on a virtual link
    #: address of a target for the others, where its name in ssh is not the one to measure
    addresses: dict[str, Word] = Field(default_factory=dict)

    @field_validator("addresses")
    @classmethod
    def _are_addresses(cls, value: dict[str, str]) -> dict[str, str]:
        for name, address in value.items():
            try:
                ipaddress.ip_address(address)
            except ValueError:
                raise ValueError(f"{name}: '{address[:40]}' is not an IP address") from None
        return value

    @field_validator("sizes", "latency_sizes")
    @classmethod
    def _fit(cls, value: list[int]) -> list[int]:
        if wrong := [size for size in value if not 1 <= size <= 1 << 20]:
            raise ValueError(f"{q.format_bytes(wrong[0])} is out of range: messages have 1 B to 1 MiB")
        return value

    @field_validator("duration")
    @classmethod
    def _lasts(cls, value: float) -> float:
        if not 1 <= value <= 3600:
            raise ValueError("is out of range: a measurement lasts from 1s to 1h (iperf3 counts whole seconds)")
        return value

    @field_validator("file")
    @classmethod
    def _is_file(cls, value: int) -> int:
        if not 4096 <= value <= 16 << 30:
            raise ValueError("is out of range: a file has 4 KiB to 16 GiB")
        return value
