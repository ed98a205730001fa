"""A kernel as a trace is captured of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dpubench.catalog import inputs_of
from dpubench.cores.kernels import Kernel
from dpubench.studies.modelled.plan import SIZE, KernelPlan, SimulatedPlan


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


def parameters_of(kernel: KernelPlan, entry: Mapping[str, Any]) -> dict[str, str]:
    """Every parameter of ``kernel`` with its value; ``entry`` is its operator's in the catalog."""
    return {str(p["name"]): str(p["default"]) for p in entry["parameters"]} | dict(kernel.params)


def size_range(kernel: KernelPlan, entry: Mapping[str, Any]) -> tuple[int, int] | None:
    """Bytes that a message of ``kernel`` may have, both ends included; None where its work does not depend on them."""
    size = next((p for p in entry["parameters"] if p["name"] == SIZE), None)
    full = parameters_of(kernel, entry)
    if size is None or any(full.get(k) != v for k, v in (size.get("only_with") or {}).items()):
        return None
    return int(size.get("min") or 1), int(size.get("max") or 1 << 30)


def use_of(plan: SimulatedPlan, kernel: KernelPlan, entry: Mapping[str, Any], message_bytes: int | None) -> Use:
    """``kernel`` at a size, or without one, as ``plan`` wants it traced."""
    messages = kernel.messages or plan.messages
    if kernel.messages is None and message_bytes is not None:
        messages = max(min(messages, plan.traced_bytes // message_bytes), plan.least_messages)
    engine = kernel.engine or str(entry["reference_engine"])
    state = next((e for e in entry["engines"] if e["name"] == engine), {"available": True, "reason": ""})
    inputs = sorted(inputs_of(entry, parameters_of(kernel, entry)))
    return Use(
        f"{kernel.label}/{message_bytes}" if message_bytes is not None else kernel.label, kernel.label, kernel.operator, engine, dict(kernel.params),
        message_bytes, messages, kernel.footprint or plan.footprint, kernel.burst or plan.burst, inputs,
        "" if state["available"] else str(state["reason"]),
    )  # fmt: skip
