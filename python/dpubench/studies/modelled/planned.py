"""Uses: kernels at a frame size, each to be captured in one trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dpubench.catalog import inputs_of
from dpubench.simulation.kernels import Kernel
from dpubench.studies.modelled.plan import SIZE, KernelPlan, SimulatedPlan


@dataclass(frozen=True)
class PlannedKernel:
    """A kernel at a frame size, to be captured in one trace."""

    id: str  #: ``<kernel>`` or ``<kernel>/<frame>``
    kernel: str  #: name in the plan
    operator: str
    engine: str
    params: dict[str, str]  #: parameters that the plan gives, without the size
    message_bytes: int | None
    messages: int  #: messages in the trace, at least; rounded up to whole bursts
    footprint: str
    burst: int
    inputs: list[str] = field(default_factory=list)  #: kinds of input that it reads
    unavailable: str = ""  #: why it cannot be traced

    def traced(self, seed: int) -> Kernel:
        """Return the kernel to capture."""
        params = tuple(sorted(self.params.items()))
        return Kernel(self.operator, self.engine, params, self.message_bytes, self.footprint, self.messages, seed, self.burst)

    @property
    def bursts(self) -> int:
        """Return the number of bursts in the trace. The simulator counts each as one message."""
        return -(-self.messages // self.burst)

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> PlannedKernel:
        return cls(**record)


def parameters_of(kernel: KernelPlan, entry: Mapping[str, Any]) -> dict[str, str]:
    """Return every parameter of ``kernel`` with its value. ``entry``: the operator's entry in the catalog."""
    return {str(p["name"]): str(p["default"]) for p in entry["parameters"]} | dict(kernel.params)


def size_range(kernel: KernelPlan, entry: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the smallest and largest message of ``kernel`` in bytes, or None if its work does not depend on the size."""
    size = next((p for p in entry["parameters"] if p["name"] == SIZE), None)
    full = parameters_of(kernel, entry)
    if size is None or any(full.get(k) != v for k, v in (size.get("only_with") or {}).items()):
        return None
    return int(size.get("min") or 1), int(size.get("max") or 1 << 30)


def planned_kernel(plan: SimulatedPlan, kernel: KernelPlan, entry: Mapping[str, Any], message_bytes: int | None) -> PlannedKernel:
    """Return ``kernel`` at a message size, or without one, with the messages, footprint and burst of ``plan``."""
    messages = kernel.messages or plan.messages
    if kernel.messages is None and message_bytes is not None:
        messages = max(min(messages, plan.traced_bytes // message_bytes), plan.least_messages)
    engine = kernel.engine or str(entry["reference_engine"])
    state = next((e for e in entry["engines"] if e["name"] == engine), {"available": True, "reason": ""})
    inputs = sorted(inputs_of(entry, parameters_of(kernel, entry)))
    return PlannedKernel(
        f"{kernel.label}/{message_bytes}" if message_bytes is not None else kernel.label, kernel.label, kernel.operator, engine, dict(kernel.params),
        message_bytes, messages, kernel.footprint or plan.footprint, kernel.burst or plan.burst, inputs,
        "" if state["available"] else str(state["reason"]),
    )  # fmt: skip


def marked(use: PlannedKernel, missing: Mapping[str, str]) -> PlannedKernel:
    """Return ``use``, marked unavailable if it reads a kind of input that is ``missing`` (kind: reason)."""
    reason = next((missing[kind] for kind in use.inputs if kind in missing), "")
    return replace(use, unavailable=use.unavailable or reason)
