"""A model beside what was published about the processor: what was measured, what gives our figure, and the error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpubench.cores.kernels import Kernel

if TYPE_CHECKING:
    from dpubench.cores.models import Model

#: Unit of each quantity.
UNITS: Final = {
    "cycles_per_byte": "cycles/B", "cycles_per_read": "cycles", "ns_per_read": "ns", "ns_beyond_first_level": "ns", "data_miss_percent": "%"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reads:
    """A generated trace that gives our figure: reads at random that depend on one another (:mod:`dpubench.cores.reads`)."""

    buffer_bytes: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One published figure of a processor."""

    what: str
    quantity: str  #: one of :data:`UNITS`
    value: float
    at_most: bool  #: what was published is a bound: a figure below it is no error
    source: str  #: the document, cited
    at: str  #: the place in it
    machine: str  #: what was measured
    clock_mhz: float | None  #: of that machine, where it decides: ours is modelled at it
    independent: bool  #: whether no figure of the description was taken from this measurement
    note: str
    kernel: Kernel | None  #: what gives our figure: this, message by message,
    reads: Reads | None  #: or that
    warm_up_messages: int  #: of a kernel's messages, simulated before counting begins

    @property
    def unit(self) -> str:
        return UNITS[self.quantity]

    def processor(self, model: Model) -> dict[str, Any]:
        """The description that our figure is simulated with: one core, at the clock of the machine that was measured."""
        return model.with_organisation(cores=1, clock_mhz=self.clock_mhz)


@dataclass(frozen=True, slots=True)
class Compared:
    """A published figure and ours."""

    comparison: Comparison
    modelled: float  #: in the comparison's unit
    error_percent: float  #: of the published figure; positive: ours is larger


def compare(comparison: Comparison, processor: Mapping[str, Any], result: Mapping[str, Any], *, message_bytes: float | None = None) -> Compared:
    """Our figure and its error.

    ``result`` is the ``result`` event of ``dpubench-cores`` for ``processor`` (:meth:`Comparison.processor`) and one context, with the
    kernel's trace, or with that of :func:`dpubench.cores.reads.write`. ``message_bytes`` is what a message of the trace holds, where that is
    not the kernel's own ``message_bytes`` (several items to a burst).

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
