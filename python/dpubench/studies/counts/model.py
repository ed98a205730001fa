"""What an analysed run of study ``counts`` consists of: the one record type that the terminal, the report, comparison and export are fed from.

Built by :mod:`dpubench.studies.counts.summary` from a run directory. Plain data, no behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from dpubench.results.model import Failure, Warning_

#: Stands beside every figure.
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
    operations: int = 0  #: between the marks
    counts: list[int] = field(default_factory=list)  #: instructions between the marks, each time; empty: see ``failure``
    in_bytes: int = 0
    path: dict[str, Any] = field(default_factory=dict)  #: isa, detail, library: what ran
    verified: dict[str, Any] = field(default_factory=dict)
    footprint_bytes: int | None = None
    cycles: int | None = None  #: that a modelled processor needs for what was counted
    no_cycles: str = ""  #: why they could not be modelled
    failure: str = ""

    @property
    def there(self) -> bool:
        """Whether it has a count."""
        return bool(self.counts)

    @property
    def exact(self) -> bool:
        """Whether the count repeats itself."""
        return len(self.counts) > 1 and len(set(self.counts)) == 1

    @property
    def per_op(self) -> float:
        """Instructions per operation: of a count that does not repeat itself the mean."""
        return sum(self.counts) / len(self.counts) / self.operations

    @property
    def cycles_per_op(self) -> float | None:
        """Modelled cycles per operation, where there are any."""
        return None if self.cycles is None else self.cycles / self.operations

    @property
    def spread(self) -> float:
        """Largest less smallest count, relative to the mean; 0 of one that repeats itself."""
        return (max(self.counts) - min(self.counts)) * len(self.counts) / sum(self.counts)


@dataclass(slots=True)
class RunSummary:
    """One analysed run."""

    name: str
    path: str
    study: str
    plan: str
    summary: str
    status: str
    started: str
    finished: str
    command: str
    version: str
    precision_target: float  #: of no meaning here; what pages say of a run of any study has it
    machine: dict[str, Any]
    build_info: dict[str, Any]
    inputs: dict[str, dict[str, str]]
    points: list[PointSummary]
    warnings: list[Warning_]
    failures: list[Failure]
    left_out: list[str]
    architecture: str  #: of the code that was counted
    emulator: str  #: and its version
    cpu: str  #: the processor that it emulates
    model: str  #: whose cycles are modelled; "" where none are
    model_labels: list[str]  #: said beside them
    operators: dict[str, dict[str, Any]]
    not_counted: list[tuple[str, str, str]]  #: configuration, engine, why it cannot be counted
    target: str = "local"
    spec: str = ""
    label: str = LABEL
    models: list[Any] = field(default_factory=list)  #: of processors: none
