"""A kernel as a trace is captured of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dpubench.cores.kernels import Kernel


@dataclass(frozen=True)
class Use:
    """A kernel at a frame size: what a trace is captured of."""

    id: str  #: ``<kernel>`` or ``<kernel>/<frame>``
    kernel: str  #: name in the plan
    operator: str
    engine: str
    params: dict[str, str]  #: as the plan gives them, without the size
    message_bytes: int | None
    messages: int  #: at least; whole bursts
    footprint: str
    burst: int
    inputs: list[str] = field(default_factory=list)  #: kinds that it reads
    unavailable: str = ""  #: why it cannot be traced

    def traced(self, seed: int) -> Kernel:
        """What is to be captured."""
        params = tuple(sorted(self.params.items()))
        return Kernel(self.operator, self.engine, params, self.message_bytes, self.footprint, self.messages, seed, self.burst)

    @property
    def bursts(self) -> int:
        """In its trace; each of them is a message to the simulator."""
        return -(-self.messages // self.burst)

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Use:
        return cls(**record)
