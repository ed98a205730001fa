"""Record types of an analysed run of study ``counts``. The terminal, the report, comparison and export all read them.

:mod:`dpubench.studies.counts.summary` builds them from a run directory. They are plain data without behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from dpubench.analysis.model import AnalysedRun

#: Label printed beside every figure.
LABEL: Final = "instructions counted under an emulator, no times"


@dataclass(slots=True)
class PointSummary:
    """One configuration on one engine."""

    id: str
    operator: str
    params: dict[str, str]
    burst: int
    footprint: str
    engine: str
    operator_version: int = 0
    input_name: str = ""
    input_sha256: str = ""
    operations: int = 0  #: operations between the marks
    counts: list[int] = field(default_factory=list)  #: instructions between the marks, one entry per count; empty: see ``failure``
    in_bytes: int = 0
    path: dict[str, Any] = field(default_factory=dict)  #: the code that ran: isa, detail, library
    verified: dict[str, Any] = field(default_factory=dict)
    footprint_bytes: int | None = None
    cycles: int | None = None  #: cycles that the modelled processor needs for the counted code
    no_cycles: str = ""  #: why the cycles could not be modelled
    failure: str = ""

    @property
    def there(self) -> bool:
        """Tell whether the point has a count."""
        return bool(self.counts)

    @property
    def exact(self) -> bool:
        """Tell whether the point was counted more than once with the same result each time."""
        return len(self.counts) > 1 and len(set(self.counts)) == 1

    @property
    def per_op(self) -> float:
        """Return instructions per operation: the mean over all counts."""
        return sum(self.counts) / len(self.counts) / self.operations

    @property
    def cycles_per_op(self) -> float | None:
        """Return modelled cycles per operation, or None if no cycles were modelled."""
        return None if self.cycles is None else self.cycles / self.operations

    @property
    def spread(self) -> float:
        """Return the largest minus the smallest count, relative to the mean; 0 if all counts are equal."""
        return (max(self.counts) - min(self.counts)) * len(self.counts) / sum(self.counts)


@dataclass(slots=True, kw_only=True)
class RunSummary(AnalysedRun):
    """One analysed run."""

    points: list[PointSummary]
    architecture: str  #: architecture of the counted code
    emulator: str  #: the emulator and its version
    cpu: str  #: the processor that the emulator shows
    model: str  #: the processor model that gives the cycles; "" if no cycles are modelled
    model_labels: list[str]  #: labels printed beside the modelled cycles
    operators: dict[str, dict[str, Any]]
    not_counted: list[tuple[str, str, str]]  #: configuration, engine, why the engine cannot be counted
    models: list[Any] = field(default_factory=list)  #: processor models: always empty in this study
