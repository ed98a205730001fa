"""Seven characteristics of a program's work on a processor (DPUBench, Figure 8), from the counts of a simulation or of hardware counters.

They are IPC; the miss ratios of the instruction TLB, of the data TLB and of the first-level data cache; and the shares of integer, branch, and load
and store instructions. Integer instructions are those of the integer units: arithmetic, logic, multiplications and divisions. Vector, floating-point
and crypto instructions, and those that the model does not know, belong to none of the three.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

#: The seven, in the order of every table and figure.
CHARACTERISTICS: Final = ("ipc", "itlb_miss_ratio", "dtlb_miss_ratio", "l1d_miss_ratio", "integer_share", "branch_share", "load_store_share")
#: Their names for people.
WORDS: Final[Mapping[str, str]] = {
    "ipc": "IPC",
    "itlb_miss_ratio": "instruction-TLB misses",
    "dtlb_miss_ratio": "data-TLB misses",
    "l1d_miss_ratio": "L1D misses",
    "integer_share": "integer",
    "branch_share": "branches",
    "load_store_share": "loads and stores",
}
#: The counts behind the seven, in the same order. Per instruction they add up by shares of instructions; ratios do not.
COSTS: Final = ("cycles", "itlb_misses", "dtlb_misses", "l1d_misses", "integer", "branches", "loads_and_stores")
#: Their names for people.
COST_WORDS: Final[Mapping[str, str]] = {
    "cycles": "cycles",
    "itlb_misses": "instruction-TLB misses",
    "dtlb_misses": "data-TLB misses",
    "l1d_misses": "L1D misses",
    "integer": "integer instructions",
    "branches": "branches",
    "loads_and_stores": "loads and stores",
}
_INTEGER: Final = ("integer", "multiply", "divide")


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of some work; ``nan`` if not counted. Per instruction they add up by shares of instructions; ratios do not."""

    instructions: float
    cycles: float
    itlb_accesses: float
    itlb_misses: float
    dtlb_accesses: float
    dtlb_misses: float
    l1d_accesses: float
    l1d_misses: float
    integer: float
    branches: float
    loads_and_stores: float

    def characteristics(self) -> tuple[float, ...]:
        """Return the seven, in the order of :data:`CHARACTERISTICS`; ``nan`` if not counted. Without accesses the miss ratio is 0."""
        return (
            _ratio(self.instructions, self.cycles),
            _ratio(self.itlb_misses, self.itlb_accesses),
            _ratio(self.dtlb_misses, self.dtlb_accesses),
            _ratio(self.l1d_misses, self.l1d_accesses),
            _ratio(self.integer, self.instructions),
            _ratio(self.branches, self.instructions),
            _ratio(self.loads_and_stores, self.instructions),
        )

    def per_instruction(self) -> Counts:
        """Return the counts per instruction."""
        return Counts(*(_ratio(value, self.instructions) for value in self._values()))

    def costs(self) -> tuple[float, ...]:
        """Return :data:`COSTS` per instruction."""
        one = self.per_instruction()
        return tuple(getattr(one, name) for name in COSTS)

    def _values(self) -> tuple[float, ...]:
        return tuple(float(getattr(self, field.name)) for field in fields(self))


def total(parts: Iterable[Counts]) -> Counts:
    """Return the sum of ``parts``."""
    return Counts(*(sum(column) for column in zip(*(part._values() for part in parts), strict=True)))


def mixed(parts: Sequence[Counts], shares: Sequence[float]) -> Counts:
    """Return the counts per instruction of a program in which ``parts`` have these shares of the instructions."""
    ones = [part.per_instruction()._values() for part in parts]
    return Counts(*(math.fsum(share * value for share, value in zip(shares, column, strict=True)) for column in zip(*ones, strict=True)))


def of_result(result: Mapping[str, Any], data_cache: str) -> Counts:
    """Return the counts of a ``result`` event of dpubench-cores (docs/cores.md) with one context; ``data_cache``: the name of its first level."""
    (context,) = result["contexts"]
    tlbs = result["tlbs"]
    return _counts(context, tlbs["instruction"], tlbs["data"], result["caches"][data_cache])


def of_phases(context: Mapping[str, Any], least: float) -> list[Counts]:
    """Return the counts of each phase of a context with at least ``least`` instructions. Only the last phase may be partial."""
    return [_counts(phase, phase["itlb"], phase["dtlb"], phase["l1d"]) for phase in context["phases"] if phase["instructions"] >= least]


def _counts(of: Mapping[str, Any], itlb: Mapping[str, Any], dtlb: Mapping[str, Any], l1d: Mapping[str, Any]) -> Counts:
    kinds = of["kinds"]
    return Counts(
        of["instructions"], of["cycles"], itlb["accesses"], itlb["misses"], dtlb["accesses"], dtlb["misses"], l1d["accesses"], l1d["misses"],
        sum(kinds.get(kind, 0) for kind in _INTEGER), of["branches"], of["loads"] + of["stores"],
    )  # fmt: skip


def _ratio(part: float, whole: float) -> float:
    return 0.0 if whole == 0 and not math.isnan(part) else part / whole
