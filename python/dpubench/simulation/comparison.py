"""Comparison of a model with published figures of its processor: the published figure, ours, and the error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpubench.simulation.kernels import Kernel

if TYPE_CHECKING:
    from dpubench.simulation.models import Model

#: Unit of each quantity.
UNITS: Final = {
    "cycles_per_byte": "cycles/B", "cycles_per_read": "cycles", "ns_per_read": "ns", "ns_beyond_first_level": "ns", "data_miss_percent": "%"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reads:
    """A generated trace behind our figure: random reads that depend on one another (:mod:`dpubench.simulation.reads`)."""

    buffer_bytes: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One published figure of a processor."""

    what: str
    quantity: str  #: one of :data:`UNITS`
    value: float
    at_most: bool  #: whether the published figure is an upper bound: a smaller figure of ours is no error
    source: str  #: citation of the document
    at: str  #: place in the document
    machine: str  #: the measured machine
    clock_mhz: float | None  #: clock of that machine, if it matters: our figure is modelled at it
    independent: bool  #: whether no figure of the description was taken from this measurement
    note: str
    kernel: Kernel | None  #: the kernel that gives our figure, message by message; None: ``reads`` gives it
    reads: Reads | None  #: the generated reads that give our figure; None: ``kernel`` gives it
    warm_up_messages: int  #: messages of the kernel that are simulated before counting begins

    @property
    def unit(self) -> str:
        return UNITS[self.quantity]

    def processor(self, model: Model) -> dict[str, Any]:
        """Return the description for the simulation of our figure: one core, at the clock of the measured machine if it matters."""
        return model.with_organisation(cores=1, clock_mhz=self.clock_mhz)


@dataclass(frozen=True, slots=True)
class Compared:
    """A published figure and ours."""

    comparison: Comparison
    modelled: float  #: in the comparison's unit
    error_percent: float  #: error relative to the published figure; positive: ours is larger


def compare(comparison: Comparison, processor: Mapping[str, Any], result: Mapping[str, Any], *, message_bytes: float | None = None) -> Compared:
    """Return our figure and its error.

    ``result`` is the ``result`` event of ``dpubench-cores`` for ``processor`` (:meth:`Comparison.processor`) and one context, with the kernel's trace
    or the trace of :func:`.reads.write`. ``message_bytes`` is the size of a message of the trace, if it differs from the kernel's own
    ``message_bytes`` (several items to a burst).

    Raises:
        ValueError: the result counts no message, read or access.
    """
    ours = _figure(comparison, processor, result, message_bytes)
    error = 100 * (ours - comparison.value) / comparison.value
    return Compared(comparison, ours, max(0.0, error) if comparison.at_most else error)


def _figure(comparison: Comparison, processor: Mapping[str, Any], result: Mapping[str, Any], message_bytes: float | None) -> float:
    (context,) = result["contexts"]
    if comparison.quantity == "data_miss_percent":
        cache = result["caches"][processor["data_cache"]]
        return 100 * _per(cache["misses"], cache["accesses"], "accesses of the data cache")
    if comparison.quantity == "cycles_per_byte":
        held = message_bytes if message_bytes is not None else comparison.kernel and comparison.kernel.message_bytes
        return _per(context["cycles"], context["messages"] * (held or 0), "bytes")
    cycles = _per(context["cycles"], context["loads"], "reads")
    if comparison.quantity == "cycles_per_read":
        return cycles
    if comparison.quantity == "ns_beyond_first_level":
        cycles -= float(processor["caches"][processor["data_cache"]]["latency_cycles"])
    return cycles * 1000 / float(result["clock_mhz"])


def _per(amount: float, count: float, what: str) -> float:
    if count <= 0:
        raise ValueError(f"the result has no {what}")
    return amount / count
