"""The plan model of study ``counts``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from dpubench.plans import quantities as q
from dpubench.plans.bursts import MAX_BURST
from dpubench.plans.model import Duration, Size, StudyPlan, Word, listed
from dpubench.studies.modelled.plan import ALL, Messages, Processes
from dpubench.studies.operators.plan import Exclude, footprints
from dpubench.studies.operators.plan import Plan as OperatorsPlan

MAX_REPEATS: Final = 100
#: Fewer operations for operators whose one operation takes up to some million instructions.
SLOW: Final[Mapping[str, int]] = {"rsa": 32, "dsa": 32, "ecdsa": 32, "deflate": 256, "regex": 256}
Footprints = Annotated[list[Literal["stream", "resident"]], BeforeValidator(footprints)]
#: Keys that plans of study ``operators`` share.
_ALIKE: Final = ("operators", "sizes", "bursts", "footprints", "params", "exclude", "inputs", "seed")


class Plan(StudyPlan):
    """A declared count of instructions: no times, one thread."""

    OPTIONS: ClassVar[Mapping[str, str]] = {
        "--operator": "operators", "--engine": "engines", "--size": "sizes", "--burst": "bursts", "--footprint": "footprints", "--param": "params",
    }  # fmt: skip

    study: Word = "counts"
    target: Annotated[list[Word], BeforeValidator(listed)] = Field(default=["local"])  #: ``local``: the engines as built for this machine
    operators: Literal["all"] | Annotated[list[Word], BeforeValidator(listed)] = "all"
    engines: Literal["all"] | Annotated[list[Word], BeforeValidator(listed)] = "all"
    sizes: Literal["default", "grid"] | Annotated[list[Size], BeforeValidator(listed)] = "default"
    bursts: (
        Literal["default"]
        | Annotated[list[Annotated[int, BeforeValidator(lambda v: q.count(v, "items in a burst", MAX_BURST))]], BeforeValidator(listed)]
    ) = "default"
    footprints: Footprints = Field(default=["stream"])
    params: dict[str, Annotated[list[Word], BeforeValidator(listed)]] = Field(default_factory=dict)
    exclude: list[Exclude] = Field(default_factory=list)
    operations: Messages = 1024  #: operations between the marks; rounded up to whole bursts
    operator_operations: dict[str, Messages] = Field(default_factory=lambda: dict(SLOW))  #: in place of ``operations``, by operator
    repeats: Annotated[int, BeforeValidator(lambda v: q.count(v, "repeats", MAX_REPEATS))] = 2  #: counts of each point, at least
    limit: Duration = 300.0  #: time limit of one count
    model: Word = ""  #: processor model that gives the cycles of the counted code; only for 64-bit Arm, the one architecture with traces
    processes: Processes = ALL

    @model_validator(mode="after")
    def _means_something(self) -> Plan:
        if len(self.target) > 1:
            raise ValueError("target: a run counts the code of one architecture: start one run for each target")
        if self.repeats < 2:
            raise ValueError("repeats: a count is known to be exact only after counting twice: give 2 or more")
        return self

    def as_operators(self) -> OperatorsPlan:
        """Return the plan of study ``operators`` with the same configurations."""
        words = self.words()
        return OperatorsPlan.model_validate({"threads": [1]} | {name: words[name] for name in (*_ALIKE, "engines", "plan", "leaves_out")})

    def operations_of(self, operator: str) -> int:
        """Return how many operations of ``operator`` are counted, at least."""
        return self.operator_operations.get(operator, self.operations)


def words_from(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a plan that counts the configurations that ``words``, a plan of study ``operators``, would measure.

    Every engine takes part unless ``words`` lists some. There is one thread.
    """
    engines = words["engines"] if isinstance(words["engines"], list) else "all"
    return {"study": "counts", "plan": words["plan"], **{name: words[name] for name in _ALIKE}, "engines": engines, "leaves_out": []}
