"""The plan of study ``headroom``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, field_validator

from dpubench.plans import quantities as q
from dpubench.plans.model import Duration, MeasuredPlan, Share, Size, Strict, Word, listed

#: Least and largest packet, without FCS: headers and number of a packet; a UDP datagram (native/headroom/job.hpp).
LEAST_PACKET: Final = 66
MOST_PACKET: Final = 65_549
MOST_THREADS: Final = 256
MOST_BURST: Final = 256
#: The word for the highest rate that a configuration reaches.
PEAK: Final = "peak"
WORKS: Final = ("spacing", "spin", "cache", "memory")

#: ``separated``: the target is an endpoint, it sends. ``embedded``: packets cross the target.
Placement = Literal["separated", "embedded"]
Work = Literal["spacing", "spin", "cache", "memory"]
Count = Annotated[int, BeforeValidator(lambda v: q.count(v, "them", MOST_THREADS))]
Counts = Annotated[list[Count], BeforeValidator(listed)]


def rate_word(value: object) -> str:
    """Return a rate as a plan names it: ``peak``, a share of the peak (``50%``), or a bit rate (``25Gb/s``). @raises ValueError"""
    text = str(value).strip()
    if text == PEAK:
        return PEAK
    try:
        return f"{100 * q.fraction(text):g}%" if text.endswith("%") else q.format_rate(q.rate_bps(text))
    except ValueError as error:
        raise ValueError(f"'{text[:40]}' is no rate: write peak, a share of the peak such as 50%, or a bit rate such as 25Gb/s ({error})") from None


Rate = Annotated[str, BeforeValidator(rate_word)]


def packet_text(size: int) -> str:
    """Return a packet's size as people who know packets write it: ``1024B`` and not ``1KiB``."""
    return f"{size}B"


def wanted_gbps(rate: str, peak_gbps: float) -> float:
    """Return a rate of a plan in Gb/s, where the peak is ``peak_gbps``."""
    if rate == PEAK:
        return peak_gbps
    return q.fraction(rate) * peak_gbps if rate.endswith("%") else q.rate_bps(rate) / 1e9


class Memory(Strict):
    """Memory for packets of DPDK's ports."""

    huge_pages: bool = False


class Plan(MeasuredPlan):
    """What is sent, over which back-ends, and how the edge is searched."""

    OPTIONS: ClassVar[Mapping[str, str]] = {"--size": "sizes", "--threads": "threads", "--burst": "bursts"}
    MAY_BE_EMPTY: ClassVar[frozenset[str]] = MeasuredPlan.MAY_BE_EMPTY

    placement: Annotated[list[Placement], BeforeValidator(listed)] = Field(default=["separated"])
    backends: Annotated[list[Word], BeforeValidator(listed)] = Field(default=["null", "memif", "udp"])
    sizes: Annotated[list[Size], BeforeValidator(listed)] = Field(default=[128, 1500])  #: bytes of a packet, without FCS
    works: Annotated[list[Work], BeforeValidator(listed)] = Field(default=list(WORKS))
    rates: Annotated[list[Rate], BeforeValidator(listed)] = Field(default=[PEAK])
    threads: Counts = Field(default=[1, 2, 4, 8])  #: of step 1; numbers beyond the CPUs are left out
    bursts: Counts = Field(default=[1, 8, 32])  #: of step 1
    reuse: Annotated[list[Annotated[int, BeforeValidator(lambda v: q.count(v, "uses", 65_535))]], BeforeValidator(listed)] = Field(default=[1])
    tolerance: Share = 0.03  #: by how much a rate may be lower and still count as the same
    resolution: Share = 0.02  #: width of the bracket around an edge, as a share of the pacing limit
    trial: Duration = 0.01
    selection: Annotated[int, BeforeValidator(lambda v: q.count(v, "trials", 100))] = 3  #: trials of each configuration in step 1
    #: back-end -> arguments: ``local``, ``peer`` of udp; ``interface`` of others and of pktgen; ``address`` of pci; ``socket`` of memif elsewhere.
    #: Embedded: the same with ``in_`` and ``out_`` before the names for the two sides of the device, and ``local``, ``peer`` of sender and sink.
    arguments: dict[str, dict[str, Word]] = Field(default_factory=dict)
    peer: Word = ""  #: target of the sink (embedded: and of the sender); empty: the sink that comes with a link made here, or none
    destination_mac: Word = "02:00:00:00:00:02"
    memory: Memory = Field(default_factory=Memory)
    operators: Word = ""  #: run of study operators on the same target, to say which operators fit; empty: none

    @field_validator("sizes")
    @classmethod
    def _sizes(cls, sizes: list[int]) -> list[int]:
        for size in sizes:
            if not LEAST_PACKET <= size <= MOST_PACKET:
                raise ValueError(f"a packet has {LEAST_PACKET} B to {MOST_PACKET} B (headers, number, largest UDP datagram), not {size} B")
        return list(dict.fromkeys(sizes))

    @field_validator("destination_mac")
    @classmethod
    def _mac(cls, mac: str) -> str:
        if not re.fullmatch("[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", mac):
            raise ValueError(f"'{mac[:40]}' is not a MAC address: write one such as 02:00:00:00:00:02")
        return mac

    @field_validator("placement", "backends", "works", "rates", "threads", "bursts", "reuse")
    @classmethod
    def _once(cls, values: list[str] | list[int]) -> list[str] | list[int]:
        return list(dict.fromkeys(values))  # type: ignore[return-value]  # a list of the same type
